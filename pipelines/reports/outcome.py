"""What a model answered on one part of the data, as its report shows it."""

import dataclasses

import numpy as np

# Mistakes that a report quotes.
SHOWN = 12


@dataclasses.dataclass(frozen=True)
class Outcome:
    """All answers on one part of the data.

    Attributes:
        part: `test` or `validation`.
        mistakes: the worst, worst first, from `text_mistakes` or
            `sentence_mistakes`.
        confidences: float array (answers,): the probability that each answer
            was given; of several labels a text, that of each label. None for
            a regression.
        right: bool array (answers,): whether the answer is right, or the
            label applies.
        values: right and predicted numbers of a regression, (texts,) each.
    """

    part: str
    mistakes: list[dict]
    confidences: np.ndarray | None = None
    right: np.ndarray | None = None
    values: tuple[np.ndarray, np.ndarray] | None = None
