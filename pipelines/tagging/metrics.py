"""Scores of taggers: entities as seqeval counts them, and single tokens."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pipelines.tagging.schemes import INNER, OUTSIDE, PLAIN, split_tag

DEFAULT = "default"
STRICT = "strict"
_SEQEVAL_SCHEMES = {
    "IOB1": "IOB1",
    "IOB2": "IOB2",
    "BIOES": "IOBES",
    "BILOU": "BILOU",
}
# seqeval's default mode knows no L and U.
_BIOES_LETTERS = {"L": "E", "U": "S"}


@dataclasses.dataclass(frozen=True)
class EntityScores:
    """Precision, recall and F1 over entities.

    Attributes:
        precision, recall, f1: over all entities (micro average).
        macro_precision, macro_recall, macro_f1: mean over the types.
        support: number of true entities.
        per_type: for each type `precision`, `recall`, `f1`, `support`.
    """

    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0
    macro_precision: float = 0.0
    macro_recall: float = 0.0
    macro_f1: float = 0.0
    support: int = 0
    per_type: dict[str, dict] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class TokenScores:
    """Accuracy and F1 over words, each word counted once.

    Attributes:
        accuracy: share of words with the right label.
        micro_f1: F1 over all decisions; equal to accuracy, as every word has
            one label.
        macro_f1: mean F1 over the labels that occur in truth or prediction.
        support: number of words.
        per_label: for each label `precision`, `recall`, `f1`, `support`.
    """

    accuracy: float = 0.0
    micro_f1: float = 0.0
    macro_f1: float = 0.0
    support: int = 0
    per_label: dict[str, dict] = dataclasses.field(default_factory=dict)


def entity_scores(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    mode: str = DEFAULT,
    scheme: str = INNER,
) -> EntityScores:
    """Scores predicted entities by seqeval.

    Types that only `gold` has (unseen in training) count as missed, those
    that only `predicted` has as wrong. Without any entity all scores are 0.

    Args:
        gold: true tags, one sequence a sentence; sentences may be empty.
        predicted: predicted tags, of the same lengths.
        mode: `"default"` reads irregular tags as conlleval does; `"strict"`
            counts only entities that are regular in `scheme`.
        scheme: the scheme of all tags.
    """
    if mode not in (DEFAULT, STRICT):
        raise ValueError(
            f"mode: expected {DEFAULT!r} or {STRICT!r}, found {mode!r}."
        )
    if scheme not in _SEQEVAL_SCHEMES:
        raise ValueError(
            f"scheme: expected one of {tuple(_SEQEVAL_SCHEMES)}, found "
            f"{scheme!r}."
        )
    _check_lengths(gold, predicted)
    types = sorted(
        {split_tag(t)[1] for tags in (*gold, *predicted) for t in tags}
    )
    gold = _for_seqeval(gold, types, mode)
    predicted = _for_seqeval(predicted, types, mode)
    report = _seqeval_report(gold, predicted, mode, scheme)
    if report is None:
        return EntityScores()
    micro = _row(report.pop("micro avg"))
    macro = _row(report.pop("macro avg"))
    del report["weighted avg"]
    return EntityScores(
        precision=micro["precision"],
        recall=micro["recall"],
        f1=micro["f1"],
        macro_precision=macro["precision"],
        macro_recall=macro["recall"],
        macro_f1=macro["f1"],
        support=micro["support"],
        per_type={
            types[int(name[1:])] or "_": _row(row)
            for name, row in sorted(report.items(), key=lambda r: int(r[0][1:]))
        },
    )


def token_scores(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> TokenScores:
    """Scores predicted labels word by word."""
    _check_lengths(gold, predicted)
    true = [tag for tags in gold for tag in tags]
    guess = [tag for tags in predicted for tag in tags]
    if not true:
        return TokenScores()
    labels, ids = np.unique(np.array(true + guess, object), return_inverse=True)
    true_ids, guess_ids = np.split(ids, 2)
    hits = true_ids == guess_ids
    size = len(labels)
    right = np.bincount(true_ids[hits], minlength=size)
    support = np.bincount(true_ids, minlength=size)
    guessed = np.bincount(guess_ids, minlength=size)
    precision = right / np.maximum(guessed, 1)
    recall = right / np.maximum(support, 1)
    f1 = 2 * right / (support + guessed)
    accuracy = float(hits.mean())
    return TokenScores(
        accuracy=accuracy,
        micro_f1=accuracy,
        macro_f1=float(f1.mean()),
        support=len(true),
        per_label={
            label: {
                "precision": float(precision[i]),
                "recall": float(recall[i]),
                "f1": float(f1[i]),
                "support": int(support[i]),
            }
            for i, label in enumerate(labels)
        },
    )


def tag_scores(gold: list, predicted: list, scheme: str) -> dict:
    """Metrics of tags in the inner scheme.

    Returns:
        `accuracy`, `macro_token_f1` and, for entity tags, strict `f1`,
        `precision`, `recall`, `macro_f1`, `default_f1` (seqeval's default
        mode) and `per_type`; for plain labels `per_label`. Beside them the
        accuracy and the macro token F1 of always choosing the most frequent
        label, as `majority_accuracy` and `majority_macro_token_f1`.
    """
    tokens = token_scores(gold, predicted)
    scores = {
        "accuracy": tokens.accuracy,
        "macro_token_f1": tokens.macro_f1,
    }
    counts = {label: row["support"] for label, row in tokens.per_label.items()}
    if any(counts.values()):
        majority = max(counts.values()) / tokens.support
        scores["majority_accuracy"] = majority
        # All the other labels that occur have an F1 of 0.
        f1 = 2 * majority / (1 + majority)
        scores["majority_macro_token_f1"] = f1 / sum(map(bool, counts.values()))
    if scheme == PLAIN:
        return {**scores, "per_label": tokens.per_label}
    strict = entity_scores(gold, predicted, mode="strict")
    default = entity_scores(gold, predicted, mode="default")
    return {
        "f1": strict.f1,
        "precision": strict.precision,
        "recall": strict.recall,
        "macro_f1": strict.macro_f1,
        "default_f1": default.f1,
        **scores,
        "entities": strict.support,
        "per_type": strict.per_type,
    }


def _check_lengths(gold, predicted):
    if len(gold) != len(predicted):
        raise ValueError(
            f"Expected a prediction for each of {len(gold)} sentences, found "
            f"{len(predicted)}."
        )
    for i, (true, guess) in enumerate(zip(gold, predicted, strict=True)):
        if len(true) != len(guess):
            raise ValueError(
                f"Expected one tag a word, found {len(guess)} for the "
                f"{len(true)} words of sentence {i}."
            )


def _for_seqeval(sequences, types, mode):
    """Returns tags with a number for each type.

    seqeval's strict mode strips hyphens from types, its report has rows named
    "micro avg" beside the types, and a tag without a type is special in both.
    """
    numbers = {type_: f"-T{i}" for i, type_ in enumerate(types)}

    def rename(tag):
        if tag == OUTSIDE:
            return tag
        prefix, type_ = split_tag(tag)
        if mode == DEFAULT:
            prefix = _BIOES_LETTERS.get(prefix, prefix)
        return prefix + numbers[type_]

    return [[rename(tag) for tag in tags] for tags in sequences]


def _seqeval_report(gold, predicted, mode, scheme):
    """Returns seqeval's report, or None if neither side has an entity."""
    # Here, as it takes a second to import all of scikit-learn.
    from seqeval import metrics
    from seqeval import scheme as schemes
    from seqeval.metrics import v1

    if mode == DEFAULT:
        if not any(tag != OUTSIDE for tags in gold + predicted for tag in tags):
            return None
        return metrics.classification_report(
            gold, predicted, output_dict=True, zero_division=0
        )
    token = getattr(schemes, _SEQEVAL_SCHEMES[scheme])
    if not v1.unique_labels(gold, predicted, token):
        return None
    return v1.classification_report(
        gold, predicted, output_dict=True, zero_division=0, scheme=token
    )


def _row(row):
    return {
        "precision": float(row["precision"]),
        "recall": float(row["recall"]),
        "f1": float(row["f1-score"]),
        "support": int(row["support"]),
    }
