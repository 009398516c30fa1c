"""Where a tagger is wrong, the worst first."""

from collections.abc import Iterator, Sequence

from pipelines.data.examples import TaggedExample
from pipelines.tagging.sentences import outer_tags


def sentence_mistakes(
    examples: Sequence[TaggedExample], results: list, scheme: str
) -> Iterator[dict]:
    """Yields the sentences with a wrong tag.

    The first is the one with the wrong tag that the model was most certain
    of.

    Args:
        examples: sentences with inner tags.
        results: for each its inner tags and their scores, from
            `label_examples`.
        scheme: of the model, in which tags are told.

    Yields:
        `text` (the words with blanks between), `tokens`, `gold`,
        `predicted`, `scores` (of the predicted tags), `wrong` (the words, by
        number from 0), `score` (the highest of a wrong tag), `where` the
        sentence stands and its `id` if it has one.
    """
    found = []
    for number, (example, (tags, scores)) in enumerate(
        zip(examples, results, strict=True)
    ):
        pairs = zip(example.tags, tags, strict=True)
        wrong = [i for i, (gold, tag) in enumerate(pairs) if gold != tag]
        if wrong:
            found.append((-max(scores[i] for i in wrong), number, wrong))
    for badness, number, wrong in sorted(found):
        example, (tags, scores) = examples[number], results[number]
        row = {
            "text": " ".join(example.tokens),
            "tokens": list(example.tokens),
            "gold": outer_tags(example.tags, scheme),
            "predicted": outer_tags(tags, scheme),
            "scores": [float(score) for score in scores],
            "wrong": wrong,
            "score": float(-badness),
            "where": example.where,
        }
        yield row if example.id is None else {**row, "id": example.id}
