"""The one score that a run is judged by, and what it is judged against."""

import dataclasses
import math

# Ends of an interval that holds 95 % of a normal distribution.
_Z = 1.96


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A score beside the score of who learned nothing.

    Attributes:
        part: `test`, or `validation` where there are no test data.
        metric: key of the score in `metrics[part]`.
        name: what people call it.
        value: the score.
        baseline: the score of who learned nothing.
        baseline_name: what that one does.
        interval: ends that hold the true score with 95 % confidence, or
            None.
        is_better: whether the score beats the baseline, by more than the
            interval where there is one.
    """

    part: str
    metric: str
    name: str
    value: float
    baseline: float
    baseline_name: str
    interval: tuple[float, float] | None = None
    lower_is_better: bool = False

    @property
    def is_better(self) -> bool:
        if self.lower_is_better:
            return self.value < self.baseline
        low = self.interval[0] if self.interval else self.value
        return low > self.baseline


def verdict(metrics: dict, settings: dict) -> Verdict:
    """The verdict on a run.

    Args:
        metrics: the content of `metrics.json`.
        settings: the content of `keras_encoder.json`.
    """
    part = "test" if metrics.get("test") else "validation"
    scores = metrics[part]
    if metrics["task"] == "pretrain":
        return _verdict_of_pretraining(part, metrics)
    if metrics["task"] == "tag":
        return _verdict_of_tagger(part, scores)
    problem = settings["problem"]
    if problem == "regression":
        return Verdict(
            part, "r2", "R²", scores["r2"], 0.0, "always answering the mean"
        )
    if problem == "multi_label":
        supports = [row["support"] for row in scores["per_class"].values()]
        texts, most = metrics["rows"][part], max(supports, default=0)
        baseline = 2 * most / max(1, texts + sum(supports))
        return Verdict(
            part,
            "micro_f1",
            "micro F1",
            scores["micro_f1"],
            baseline,
            "always naming the most frequent label",
        )
    texts = metrics["rows"][part]
    return Verdict(
        part,
        "accuracy",
        "accuracy",
        scores["accuracy"],
        scores["majority_baseline"],
        "always naming the most frequent label",
        interval=wilson(scores["accuracy"], texts),
    )


def wilson(share: float, count: int) -> tuple[float, float]:
    """95 % confidence interval of a share.

    Args:
        share: observed, 0 to 1.
        count: how many were observed.

    Reference:
        Wilson 1927, https://doi.org/10.1080/01621459.1927.10502953
    """
    if not count:
        return 0.0, 1.0
    z2 = _Z * _Z / count
    middle = share + z2 / 2
    half = _Z * math.sqrt(share * (1 - share) / count + z2 / (4 * count))
    return (
        max(0.0, (middle - half) / (1 + z2)),
        min(1.0, (middle + half) / (1 + z2)),
    )


def _verdict_of_tagger(part, scores):
    if "f1" in scores:
        return Verdict(
            part, "f1", "entity F1", scores["f1"], 0.0, "finding no entity"
        )
    return Verdict(
        part,
        "accuracy",
        "accuracy",
        scores["accuracy"],
        scores.get("majority_accuracy", 0.0),
        "always naming the most frequent label",
    )


def _verdict_of_pretraining(part, metrics):
    # Over all asked tokens, who only copies those that stand there unchanged
    # is below the entropy, too. But very little text shows no [MASK].
    hidden = metrics["mask_token"]
    return Verdict(
        part,
        "mask_token_loss" if hidden else "masked_lm_loss",
        "loss on [MASK]" if hidden else "loss",
        hidden["loss"] if hidden else metrics[part]["masked_lm_loss"],
        metrics["unigram_entropy"],
        "knowing only how often each token comes",
        lower_is_better=True,
    )
