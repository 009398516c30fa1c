"""Which column is the text, the second text, the label and the id."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipelines.data.examples import TextExample
from pipelines.errors import InputError

# "question" alone is a text, but beside "sentence" (QNLI) it is the first
# half of a pair, so pairs are looked for first.
_PAIRS = (
    ("text", "text_pair"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
)
_TEXTS = (
    "text",
    "sentence",
    "content",
    "review",
    "document",
    "sentence1",
    "premise",
    "question",
)
_SECOND_TEXTS = ("text_pair", "sentence2", "hypothesis")
_LABELS = ("label", "labels", "category", "class", "target", "score")


class MissingColumn(InputError):
    """A column that was asked for is not there."""


@dataclasses.dataclass(frozen=True)
class Columns:
    """The names of the columns to read; None where there is no such column."""

    text: str
    text_pair: str | None = None
    label: str | None = None
    id: str | None = None

    def names(self) -> list[str]:
        """The columns in use, each once."""
        used = (self.text, self.text_pair, self.label, self.id)
        return list(dict.fromkeys(name for name in used if name is not None))


def choose_columns(
    found: Sequence[str],
    where: str,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
) -> Columns:
    """Takes the columns that were asked for and detects the others.

    Detection knows the usual English names in any case. A second text is
    detected only where the first one is, too: `--text` alone means one text.

    Args:
        found: all columns of the data.
        where: the place to name in messages.
        text, text_pair, label: names asked for, or None to detect.
        labelled: whether data without a label column is an error.

    Raises:
        InputError: if a column is missing or stands twice.
    """
    asked = {"--text": text, "--text-pair": text_pair, "--label": label}
    for option, name in asked.items():
        if name is not None and name not in found:
            raise MissingColumn(
                f'{where}: no column "{name}" ({option}); '
                f"found {list_names(found)}."
            )
    free = [name for name in found if name not in asked.values()]
    if text is None:
        text, pair = _detect_texts(free, text_pair)
        text_pair = text_pair or pair
    if text is None:
        raise InputError(
            f"{where}: expected a column of texts such as "
            f'"text", found {list_names(found)}; name it with --text.'
        )
    label = label or _first(_LABELS, [n for n in free if n != text])
    if label is None and labelled:
        raise InputError(
            f"{where}: expected a column of labels such as "
            f'"label", found {list_names(found)}; name it with --label.'
        )
    taken = (text, text_pair, label)
    identifier = _first(("id",), [n for n in free if n not in taken])
    columns = Columns(text, text_pair, label, identifier)
    _check_once(columns, found, where)
    return columns


def find_text_pair(found: Sequence[str], text: str) -> str | None:
    """The column that holds the second text beside `text`, or None."""
    others = [name for name in found if name != text]
    partners = tuple(b for a, b in _PAIRS if a == text.lower())
    return _first(partners + _SECOND_TEXTS, others)


def example_from(
    row: Mapping, columns: Columns, where: str, labelled: bool = True
) -> TextExample:
    """Makes the example of one row; checks that texts are texts."""
    label = None
    if columns.label is not None:
        if labelled and columns.label not in row:
            raise _missing_field(row, columns.label, where)
        label = row.get(columns.label)
    text_pair = None
    if columns.text_pair is not None and row.get(columns.text_pair) is not None:
        text_pair = _text(row, columns.text_pair, where)
    return TextExample(
        text=_text(row, columns.text, where),
        text_pair=text_pair,
        label=label,
        where=where,
        id=_identifier(row.get(columns.id) if columns.id else None, where),
    )


def examples_from_rows(
    rows: Iterable[tuple[str, Mapping | TextExample]],
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
) -> Iterator[TextExample]:
    """Makes the examples of rows that need not have the same fields.

    The first row decides which fields hold text and label; a second text
    that was not asked for, and an id, may be there in some rows only.

    Args:
        rows: `(where, row)` pairs; a row that is an example stays as it is.
        text, text_pair, label: field names; None to detect.
        labelled: whether rows without a label are an error.
    """
    columns = None
    for where, row in rows:
        if isinstance(row, TextExample):
            yield row
            continue
        if columns is None:
            columns = choose_columns(
                list(row), where, text, text_pair, label, labelled
            )
            if "id" not in columns.names():  # later rows may have one
                columns = dataclasses.replace(columns, id="id")
        elif text is None and text_pair is None:
            pair = find_text_pair(list(row), columns.text)
            columns = dataclasses.replace(
                columns, text_pair=pair or columns.text_pair
            )
        if text_pair is not None and text_pair not in row:
            raise InputError(f'{where}: missing field "{text_pair}".')
        yield example_from(row, columns, where, labelled or label is not None)


def list_names(names: Sequence[str]) -> str:
    """Names for a message, shortened where there are many or long ones."""
    if not names:
        return "no columns"
    shown = [n if len(n) <= 40 else n[:37] + "..." for n in names[:20]]
    rest = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return "the columns " + ", ".join(f'"{n}"' for n in shown) + rest


def _detect_texts(
    free: Sequence[str], text_pair: str | None
) -> tuple[str | None, str | None]:
    if text_pair is None:
        for first, second in _PAIRS:
            pair = _first((first,), free), _first((second,), free)
            if None not in pair:
                return pair
    text = _first(_TEXTS, free)
    if text is None or text_pair is not None:
        return text, None
    return text, find_text_pair(free, text)


def _first(wanted: Sequence[str], found: Sequence[str]) -> str | None:
    """The first wanted name that was found, as the data spells it."""
    by_name = {name.strip().lower(): name for name in reversed(found)}
    return next((by_name[name] for name in wanted if name in by_name), None)


def _check_once(columns: Columns, found: Sequence[str], where: str) -> None:
    used = [columns.text, columns.text_pair, columns.label]
    for name in columns.names():
        if used.count(name) > 1:
            raise InputError(
                f'{where}: column "{name}" is asked for twice; text, second '
                "text and label must be different columns."
            )
        if list(found).count(name) > 1:
            raise InputError(
                f'{where}: column "{name}" stands twice; rename one of them.'
            )


def _missing_field(row: Mapping, name: str, where: str) -> InputError:
    return InputError(
        f'{where}: missing field "{name}"; found {list_names(list(row))}.'
    )


def _text(row: Mapping, name: str, where: str) -> str:
    if name not in row:
        raise _missing_field(row, name, where)
    value = row[name]
    if isinstance(value, str):
        return value
    found = "null" if value is None else f"{type(value).__name__} {value!r:.40}"
    raise InputError(
        f'{where}: field "{name}": expected a text (string), found {found}.'
    )


def _identifier(value, where: str) -> str | int | None:
    if isinstance(value, float):  # integers beside nulls in pandas' tables
        value = None if value != value else value
        value = int(value) if value and value.is_integer() else value
    if value is None or (
        isinstance(value, str | int) and not isinstance(value, bool)
    ):
        return value
    raise InputError(
        f'{where}: field "id": expected a string or an integer, found '
        f"{type(value).__name__} {value!r:.40}."
    )
