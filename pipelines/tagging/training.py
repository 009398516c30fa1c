"""Trains a tagger on sentences that are cut into pieces already."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import keras
import numpy as np

from keras_encoder.losses import CrfLoss, SmoothCrossentropy
from pipelines.classification.metrics import softmax
from pipelines.data.examples import TaggedExample
from pipelines.data.labels import order_names
from pipelines.data.tagged.sources import TaggedSplits
from pipelines.model_folder import FineTuned
from pipelines.options import TagOptions
from pipelines.reports.outcome import Outcome
from pipelines.tagging import schemes
from pipelines.tagging.alignment import Windows, gather, token_rows
from pipelines.tagging.decoding import crf_transitions
from pipelines.tagging.entities import choose_labels
from pipelines.tagging.metrics import tag_scores
from pipelines.tagging.outcome import tag_outcome
from pipelines.tagging.pieces import Sentence, StoredPieces
from pipelines.tagging.sentences import (
    choose_tags,
    label_examples,
    windows_of,
)
from pipelines.training.inputs import Rows
from pipelines.training.recipe import Pretrained, make_stages, make_trainer
from pipelines.training.stages import TrainingData, run_stages
from pipelines.training.updates import reduction


def train(
    fine_tuned: FineTuned,
    options: TagOptions,
    start: Pretrained,
    splits: TaggedSplits,
    pieces: dict[str, StoredPieces],
    weights: dict[str, float],
    callbacks: Sequence[keras.callbacks.Callback] = (),
):
    """Runs the stages and scores the tagger.

    Args:
        fine_tuned: the tagger, which is left at its best.
        options: of the recipe.
        start: the encoder that it began with.
        splits: sentences with inner tags.
        pieces: the same sentences as the tokenizer cuts them, by split.
        weights: of the labels in the loss; 1 where a label is absent.
        callbacks: see `pipelines.training.stages.Trainer`.

    Returns:
        The records of the stages, the best state, the metrics (`validation`,
        `test`), and what was answered on the test data, or else on the
        validation data.
    """
    model, scheme = fine_tuned.model, fine_tuned.settings["scheme"]
    windows = {
        name: windows_of(
            fine_tuned.tokenizer,
            pieces[name],
            fine_tuned.settings,
            getattr(splits, name).documents,
        )
        for name in ("train", "validation")
    }
    stages, best = run_stages(
        model,
        make_stages(options, start.is_random),
        _training_data(
            windows["train"],
            pieces["train"],
            splits.train,
            fine_tuned.labels,
            weights,
        ),
        windows["validation"].inputs,
        make_trainer(
            options,
            loss=_loss(model, options),
            score=_scorer(
                fine_tuned,
                windows["validation"],
                pieces["validation"],
                splits.validation,
            ),
            monitor="accuracy" if scheme == schemes.PLAIN else "f1",
            callbacks=callbacks,
        ),
    )
    # Known from the best epoch; the model need not run once more.
    by_word = _by_word(
        windows["validation"], best.outputs, pieces["validation"]
    )
    results = {"validation": choose_tags(fine_tuned, by_word)}
    if splits.test:
        results["test"] = label_examples(
            fine_tuned, splits.test, options.batch_size
        )
    scores = {}
    for part, found in results.items():
        scores[part], outcome = _judge(
            part, getattr(splits, part), found, scheme
        )
    return stages, best, scores, outcome


def tag_names(examples: Sequence[TaggedExample]) -> tuple[str, ...]:
    """All tags in a stable order, `O` first."""
    names = order_names(set(all_tags(examples)))
    return tuple(sorted(names, key=lambda name: name != schemes.OUTSIDE))


def all_tags(examples: Iterable[TaggedExample]) -> Iterator[str]:
    """The tags of all words, one after the other."""
    return itertools.chain.from_iterable(e.tags for e in examples)


def _loss(model, options):
    how = reduction(options.gradient_accumulation_steps)
    if model.crf is not None:
        # The words that count in a window are a sequence of their own here;
        # when words are labelled, those of the whole sentence are one.
        return CrfLoss(model.crf, reduction=how)
    return SmoothCrossentropy(
        options.label_smoothing, options.focal, reduction=how
    )


def _training_data(windows, sentences, examples, labels, weights):
    column = {label: i for i, label in enumerate(labels)}
    weight_of = np.array([weights.get(label, 1.0) for label in labels])

    def ids():
        return ([column[tag] for tag in e.tags] for e in examples)

    by_word = (weight_of[some] for some in ids())
    return TrainingData(
        windows.inputs,
        token_rows(windows, sentences, ids(), "int32"),
        token_rows(windows, sentences, by_word, "float32"),
    )


def _scorer(fine_tuned, windows, sentences, examples):
    """The validation metrics of a tagger, from its outputs by window."""
    labels, settings = fine_tuned.labels, fine_tuned.settings
    gold = [example.tags for example in examples]
    column = {label: i for i, label in enumerate(labels)}

    def score(outputs):
        crf = crf_transitions(fine_tuned.model.crf)
        constrained = settings["constrained"]
        predicted, right = [], []
        for tags, words in zip(
            gold, _by_word(windows, outputs, sentences), strict=True
        ):
            best, found = choose_labels(words, labels, constrained, crf)
            predicted.append([labels[i] for i in best])
            ids = np.array([column.get(tag, -1) for tag in tags], "int64")
            known = np.flatnonzero(ids >= 0)
            right.append(found[known, ids[known]])
        losses = -np.log(np.maximum(np.concatenate(right), 1e-12))
        loss = float(losses.sum() / max(1, len(losses)))
        return {"loss": loss, **tag_scores(gold, predicted, settings["scheme"])}

    return score


def _by_word(
    windows: Windows, outputs: Rows, sentences: Iterable[Sentence]
) -> Iterator[np.ndarray]:
    """Probabilities (words, labels) of each sentence, by first sub-words.

    Args:
        windows: of the sentences.
        outputs: logits of each window.
        sentences: as the tokenizer cut them.
    """
    found = zip(sentences, gather(windows, outputs), strict=True)
    for sentence, logits in found:
        yield softmax(logits[sentence.is_first].astype("float64"))


def _judge(part, examples, results, scheme) -> tuple[dict, Outcome]:
    """Metrics of a split, and what its report shows."""
    gold = [example.tags for example in examples]
    tags = [tags for tags, _ in results]
    scores = tag_scores(gold, tags, scheme)
    return scores, tag_outcome(part, examples, results, scheme)
