"""The section of a report that quotes what was answered wrongly."""

from collections.abc import Iterator

from pipelines.reports.markup import Html, escape, paragraph
from pipelines.reports.outcome import Outcome

# Characters of a text, and words on each side of a wrong one.
_QUOTED, _AROUND = 400, 12


def mistakes(outcome: Outcome | None) -> Iterator[Html]:
    """A warning, and the mistakes as a list.

    Args:
        outcome: what the model answered; None where it was not asked.
    """
    if outcome is None:
        return
    if not outcome.mistakes:
        yield paragraph(f"None on the {outcome.part} data.")
        return
    is_numbers = outcome.values is not None
    what = "largest errors" if is_numbers else "worst mistakes"
    yield paragraph(
        f"The {what} on the {outcome.part} data. They quote your texts: look "
        "through them before you publish this page."
    )
    items = "".join(map(_item, outcome.mistakes))
    yield Html(f'<ol class="mistakes">{items}</ol>')


def _item(mistake: dict) -> str:
    where = f'<span class="soft">{escape(mistake["where"])}</span>'
    if "tokens" in mistake:
        return (
            f'<li><p class="quote">{_sentence(mistake)}</p><p>{where}</p></li>'
        )
    quote = escape(_cut(mistake["text"]))
    if "text_pair" in mistake:
        pair = escape(_cut(mistake["text_pair"]))
        quote = f'{quote} <span class="soft">/</span> {pair}'
    return (
        f'<li><p class="quote">{quote}</p><p>'
        f'<span class="soft">predicted</span> {_answer(mistake, "predicted")}'
        f' · <span class="soft">true</span> {_answer(mistake, "gold")}'
        f" · {where}</p></li>"
    )


def _answer(mistake: dict, key: str) -> str:
    """The labels of an answer, each with the probability that it was given."""
    answer, score = mistake[key], mistake.get("score")
    if isinstance(answer, float):
        return f"<b>{answer:.4g}</b>"
    if isinstance(answer, list):  # several labels; `score` has all of them
        named = [_label(name, score.get(name)) for name in answer]
        return ", ".join(named) or "no label"
    if key == "gold":
        score = mistake["gold_score"]
    return _label(answer, score)


def _label(name, score):
    chance = "" if score is None else f" {score:.3f}"
    return f"<b>{escape(name)}</b>{chance}"


def _sentence(mistake: dict) -> str:
    """The words around the surest mistake, every wrong one with its tags."""
    scores, wrong = mistake["scores"], set(mistake["wrong"])
    worst = max(mistake["wrong"], key=lambda word: scores[word])
    start = max(0, worst - _AROUND)
    words = []
    for i, word in enumerate(mistake["tokens"][start:], start):
        if i > worst + _AROUND:
            words.append("…")
            break
        if i in wrong:
            words.append(
                f"<mark>{escape(word)}</mark> <small>"
                f"{_label(mistake['predicted'][i], scores[i])} instead of "
                f"<b>{escape(mistake['gold'][i])}</b></small>"
            )
        else:
            words.append(escape(word))
    return ("… " if start else "") + " ".join(words)


def _cut(text):
    return text if len(text) <= _QUOTED else text[:_QUOTED] + " …"
