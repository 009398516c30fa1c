"""A tagger and its sentences: windows in, a label for every word out."""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from pipelines.classification import metrics
from pipelines.console import Progress
from pipelines.data.examples import TaggedExample, TextExample, in_chunks
from pipelines.data.tagged.punctuation import restore, strip_word
from pipelines.data.tagged.stored import StoredSentences
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from pipelines.tagging.alignment import Windows, gather, make_windows
from pipelines.tagging.decoding import crf_transitions
from pipelines.tagging.entities import (
    choose_labels,
    find_entities,
    word_probabilities,
)
from pipelines.tagging.pieces import Sentence, split_text, split_words
from pipelines.tagging.schemes import (
    INNER,
    OUTSIDE,
    PLAIN,
    convert,
    is_entity_tag,
    scheme_of_labels,
)
from pipelines.training.batching import predict_all


def windows_of(
    tokenizer,
    sentences: Sequence[Sentence],
    settings: dict,
    documents: Sequence[int] | None = None,
) -> Windows:
    """Windows as the model's settings have them."""
    return make_windows(
        tokenizer,
        sentences,
        settings["max_length"],
        settings["stride"],
        documents if settings["document_context"] else None,
    )


def predict_pieces(
    fine_tuned: FineTuned,
    sentences: Sequence[Sentence],
    documents: Sequence[int] | None = None,
    batch_size: int = 32,
) -> list[np.ndarray]:
    """Probabilities (pieces, labels) of each sentence."""
    if not sentences:
        return []
    windows = windows_of(
        fine_tuned.tokenizer, sentences, fine_tuned.settings, documents
    )
    with Progress("predict", len(windows.inputs)) as progress:
        outputs = predict_all(
            fine_tuned.model, windows.inputs, batch_size, progress.add
        )
    return [
        metrics.softmax(logits.astype("float64"))
        for logits in gather(windows, outputs)
    ]


def label_words(
    fine_tuned: FineTuned,
    sentences: Sequence[Sequence[str]],
    documents: Sequence[int] | None = None,
    batch_size: int = 32,
) -> list[tuple[list[str], np.ndarray]]:
    """Labels and their probabilities for sentences of given words.

    Returns:
        For each sentence one label (in the inner scheme) and one score a
        word, always.
    """
    split = list(split_words(fine_tuned.tokenizer, sentences))
    by_piece = predict_pieces(fine_tuned, split, documents, batch_size)
    by_word = [
        word_probabilities(pieces, sentence, "first")
        for sentence, pieces in zip(split, by_piece, strict=True)
    ]
    return choose_tags(fine_tuned, by_word)


def choose_tags(
    fine_tuned: FineTuned, by_word: Iterable[np.ndarray]
) -> list[tuple[list[str], np.ndarray]]:
    """`label_words`, from probabilities (words, labels) by sentence."""
    constrained = fine_tuned.settings["constrained"]
    crf = crf_transitions(fine_tuned.model.crf)
    # Models of ours have inner labels or plain ones; others what they like.
    scheme = scheme_of_labels(fine_tuned.labels)
    is_inner = scheme == INNER or PLAIN in (
        scheme,
        fine_tuned.settings["scheme"],
    )
    results = []
    for words in by_word:
        chosen, words = choose_labels(
            words, fine_tuned.labels, constrained, crf
        )
        tags = [fine_tuned.labels[i] for i in chosen]
        if not is_inner:
            tags = list(convert(tags, scheme, INNER))
        results.append((tags, words[np.arange(len(chosen)), chosen]))
    return results


def label_examples(
    fine_tuned: FineTuned,
    examples: Sequence[TaggedExample],
    batch_size: int = 32,
) -> list[tuple[list[str], np.ndarray]]:
    """`label_words` of sentences whose inner tags it is compared with.

    They are read in chunks.

    Raises:
        InputError: if the model finds entities and the tags are no entities.
    """
    if fine_tuned.settings["scheme"] != PLAIN:
        _check_entity_tags(examples)
    results = []
    for chunk in in_chunks(examples, fine_tuned.settings["document_context"]):
        results += label_words(
            fine_tuned,
            [example.tokens for example in chunk],
            [example.document for example in chunk],
            batch_size,
        )
    return results


def sentence_results(
    fine_tuned: FineTuned,
    examples: list[TextExample | TaggedExample],
    batch_size: int = 32,
    aggregation: str = "first",
) -> list[dict]:
    """What `predict` writes: entities of a text, labels of given words.

    A text is a document of its own; sentences of given words say themselves
    whose neighbours they are.
    """
    results = [None] * len(examples)
    texts = [i for i, e in enumerate(examples) if isinstance(e, TextExample)]
    words = [i for i, e in enumerate(examples) if isinstance(e, TaggedExample)]
    if fine_tuned.settings["words"] == "punctuation":
        found = _restored(
            fine_tuned, [examples[i].text for i in texts], batch_size
        )
    else:
        found = _entities(
            fine_tuned,
            [examples[i].text for i in texts],
            batch_size,
            aggregation,
        )
    for i, result in zip(texts, found, strict=True):
        results[i] = result
    labelled = label_words(
        fine_tuned,
        [examples[i].tokens for i in words],
        [examples[i].document for i in words],
        batch_size,
    )
    for i, (tags, scores) in zip(words, labelled, strict=True):
        results[i] = {
            "tokens": list(examples[i].tokens),
            "labels": outer_tags(tags, fine_tuned.settings["scheme"]),
            "scores": [float(score) for score in scores],
        }
    return results


def to_inner(
    examples: Sequence[TaggedExample], scheme: str
) -> Sequence[TaggedExample]:
    """Examples with their tags in the inner scheme."""
    if scheme == PLAIN:
        return examples
    return StoredSentences(
        dataclasses.replace(e, tags=tuple(convert(e.tags, scheme, INNER)))
        for e in examples
    )


def check_words(name: str, examples: Sequence[TaggedExample]) -> None:
    """Raises InputError if there are sentences, but not one word."""
    if examples and not any(example.tokens for example in examples):
        raise InputError(
            f"{name}: expected words, found {len(examples)} sentences without "
            f"any, the first at {examples[0].where}."
        )


def outer_tags(tags: Sequence[str], scheme: str) -> list[str]:
    """Tags of the inner scheme in the user's."""
    if scheme == PLAIN:
        return list(tags)
    return list(convert(tags, INNER, scheme))


def _check_entity_tags(examples):
    for example in examples:
        for tag in example.tags:
            if tag != OUTSIDE and not is_entity_tag(tag):
                raise InputError(
                    f"{example.where}: expected tags of entities (O, B-TYPE, "
                    f"I-TYPE), as the model has, found {tag!r}; check --tag."
                )


def _entities(fine_tuned, texts, batch_size, aggregation):
    split = split_text(fine_tuned.tokenizer, texts)
    by_piece = predict_pieces(fine_tuned, split, range(len(split)), batch_size)
    crf = crf_transitions(fine_tuned.model.crf)
    return [
        {
            "entities": find_entities(
                text,
                pieces,
                sentence,
                fine_tuned.labels,
                aggregation,
                fine_tuned.settings["constrained"],
                crf,
            )
        }
        for text, sentence, pieces in zip(texts, split, by_piece, strict=True)
    ]


def _restored(fine_tuned, texts, batch_size):
    """Texts with the punctuation and capitals that the model gives them."""
    bare = [
        [pair[0] for pair in map(strip_word, text.split()) if pair]
        for text in texts
    ]
    return [
        {
            "text": restore(words, tags),
            "tokens": words,
            "labels": tags,
            "scores": [float(score) for score in scores],
        }
        for words, (tags, scores) in zip(
            bare,
            label_words(fine_tuned, bare, batch_size=batch_size),
            strict=True,
        )
    ]
