"""Tag schemes: how tags of words spell the spans of entities.

Inside, the scheme is IOB2. The user's scheme is detected, converted on the
way in, and converted back on the way out.
"""

import re
from collections.abc import Iterable, Sequence

from pipelines.errors import InputError

INNER = "IOB2"
PLAIN = "plain"
SCHEMES = ("IOB1", "IOB2", "BIOES", "BILOU", PLAIN)
OUTSIDE = "O"

_ENTITY_TAG = re.compile("[BIESLU](-.+)?", re.DOTALL)
# BILOU is BIOES by other letters.
_CANONICAL = {"L": "E", "U": "S"}
_BILOU = {"E": "L", "S": "U"}


def split_tag(tag: str) -> tuple[str, str]:
    """Splits a tag into prefix and type: `"B-per-son"` is `("B", "per-son")`.

    `O` and tags without a type (`B`) have the type `""`.
    """
    prefix, _, type_ = tag.partition("-")
    return prefix, type_


def is_entity_tag(tag: str) -> bool:
    """Tells whether a tag other than `O` has the form of an entity tag."""
    return _ENTITY_TAG.fullmatch(tag) is not None


def detect_scheme(sequences: Iterable[Sequence[str]]) -> str:
    """Returns the scheme that the tags of a data set are written in.

    Tags that are not all `O`, `B-...`, `I-...` and the like are plain labels,
    such as parts of speech. IOB1 and IOB2 share their prefixes: in IOB1 an
    entity begins with `I-` unless one of its type stands right before it. Where
    tags of both kinds occur, the more frequent kind decides. Tags that are all
    `O` count as IOB2.

    Returns:
        One of `"IOB1"`, `"IOB2"`, `"BIOES"`, `"BILOU"`, `"plain"`.

    Raises:
        InputError: if entity tags are mixed with a few others or of two
            schemes, which is no scheme at all.
    """
    distinct, inside_starts, begin_starts = set(), 0, 0
    for tags in sequences:
        distinct.update(tags)
        inside_starts += _starts(tags, "I")
        begin_starts += _starts(tags, "B")
    distinct.discard(OUTSIDE)
    if not distinct:
        return INNER
    if not _are_entity_tags(distinct):
        return PLAIN
    prefixes = {tag[0] for tag in distinct}
    if prefixes & set("ES") and prefixes & set("LU"):
        raise InputError(
            "Tags: expected one scheme, found the prefixes of BIOES (E, S) "
            f"and of BILOU (L, U): {_shown(distinct)}."
        )
    if prefixes & set("LU"):
        return "BILOU"
    if prefixes & set("ES"):
        if prefixes <= set("IE"):
            raise InputError(
                "Tags: expected IOB1, IOB2, BIOES, BILOU or plain labels, "
                f"found only I and E, which is IOE: {_shown(distinct)}; "
                "convert them to IOB2."
            )
        return "BIOES"
    return "IOB1" if inside_starts > begin_starts else "IOB2"


def scheme_of_labels(labels: Iterable[str]) -> str:
    """Returns the scheme of a model's labels, which stand in no sequence.

    In IOB1 a type may lack its `B-`, in IOB2 never.

    Returns:
        One of `"IOB1"`, `"IOB2"`, `"BIOES"`, `"BILOU"`, `"plain"`.
    """
    pairs = {split_tag(tag) for tag in labels if tag != OUTSIDE}
    prefixes = {prefix for prefix, _ in pairs}
    bare = any(not type_ for _, type_ in pairs)
    if not prefixes <= set("BIESLU") or (bare and not {"B", "I"} <= prefixes):
        return PLAIN
    if prefixes & set("LU"):
        return "BILOU"
    if prefixes & set("ES"):
        return "BIOES"
    begin, inside = ({t for p, t in pairs if p == name} for name in "BI")
    return "IOB1" if inside - begin else INNER


def _are_entity_tags(distinct):
    """Decides between entity tags and plain labels."""
    typed = {tag for tag in distinct if is_entity_tag(tag) and "-" in tag}
    if not typed:
        return distinct <= set("BIES") and bool(distinct & set("BI"))
    others = distinct - typed
    if len(typed) <= len(others):
        return False
    if others:
        raise InputError(
            "Tags: expected all tags to be O, B-TYPE, I-TYPE and the like, "
            f"found also {_shown(others)}; mend them, or check that the "
            "column of the tags is the right one."
        )
    return True


def _shown(tags):
    return ", ".join(repr(tag) for tag in sorted(tags)[:8])


def _starts(tags, prefix):
    """Counts entities that only one of IOB1 and IOB2 begins with `prefix`."""
    count = 0
    previous_prefix, previous_type = OUTSIDE, ""
    for tag in tags:
        current, type_ = split_tag(tag)
        after_own_type = previous_prefix != OUTSIDE and previous_type == type_
        count += current == prefix and not after_own_type
        previous_prefix, previous_type = current, type_
    return count


def to_spans(
    tags: Sequence[str], scheme: str = INNER
) -> list[tuple[int, int, str]]:
    """Returns the entities as `(start, end, type)`, `end` exclusive.

    Tags that break the scheme are read as conlleval and seqeval read them: an
    entity begins at `B` and `S`, after `O`, `E` and `S`, and wherever the type
    changes.
    """
    if scheme == PLAIN:
        raise ValueError("Plain labels have no spans.")
    spans = []
    start = None
    previous_prefix, previous_type = OUTSIDE, ""
    for i, tag in enumerate((*tags, OUTSIDE)):
        if tag != OUTSIDE and not is_entity_tag(tag):
            raise ValueError(f"Expected a tag of {scheme}, found {tag!r}.")
        prefix, type_ = split_tag(tag)
        prefix = _CANONICAL.get(prefix, prefix)
        continues = (
            start is not None
            and prefix in ("I", "E")
            and previous_prefix in ("B", "I")
            and type_ == previous_type
        )
        if start is not None and not continues:
            spans.append((start, i, previous_type))
            start = None
        if prefix != OUTSIDE and not continues:
            start = i
        previous_prefix, previous_type = prefix, type_
    return spans


def from_spans(
    spans: Iterable[tuple[int, int, str]], length: int, scheme: str = INNER
) -> tuple[str, ...]:
    """Writes entities as the tags of a sentence of `length` words."""
    if scheme not in SCHEMES or scheme == PLAIN:
        raise ValueError(
            f"Expected a scheme for spans, one of {SCHEMES[:-1]}, found "
            f"{scheme!r}."
        )
    tags = [OUTSIDE] * length
    previous_end, previous_type = 0, None
    for start, end, type_ in sorted(spans):
        if not previous_end <= start < end <= length:
            raise ValueError(
                "Expected spans inside the sentence that do not overlap, "
                f"found {(start, end, type_)} after word {previous_end} of "
                f"{length}."
            )
        touches = start == previous_end and type_ == previous_type
        for i, prefix in enumerate(_prefixes(end - start, scheme, touches)):
            tags[start + i] = f"{prefix}-{type_}" if type_ else prefix
        previous_end, previous_type = end, type_
    return tuple(tags)


def _prefixes(length, scheme, touches_own_type):
    if scheme == "IOB2":
        return "B" + "I" * (length - 1)
    if scheme == "IOB1":
        return ("B" if touches_own_type else "I") + "I" * (length - 1)
    prefixes = "S" if length == 1 else "B" + "I" * (length - 2) + "E"
    if scheme == "BILOU":
        return "".join(_BILOU.get(prefix, prefix) for prefix in prefixes)
    return prefixes


def convert(tags: Sequence[str], source: str, target: str) -> tuple[str, ...]:
    """Rewrites the tags of a sentence in another scheme.

    Plain labels stay as they are, and cannot become anything else. Tags that
    break the source scheme come out regular, even where both schemes are one.
    """
    if PLAIN in (source, target):
        if source != target:
            raise ValueError(f"Cannot convert {source} tags to {target}.")
        return tuple(tags)
    return from_spans(to_spans(tags, source), len(tags), target)


def count_irregular(sequences: Iterable[Sequence[str]], scheme: str) -> int:
    """Counts the tags that break their scheme, as an `I-` after `O` in IOB2."""
    return sum(
        tag != regular
        for tags in sequences
        for tag, regular in zip(
            tags, convert(tags, scheme, scheme), strict=True
        )
    )
