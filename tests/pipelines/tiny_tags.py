"""Tiny taggers, and sentences whose entities can be learnt in seconds."""

import pathlib

import numpy as np
from safetensors.numpy import load_file, save_file

from keras_encoder.checkpoints.load import load_encoder
from keras_encoder.heads import TokenTagger
from pipelines.model_folder import FineTuned
from pipelines.tagging.metrics import tag_scores
from pipelines.tagging.schemes import INNER, convert, scheme_of_labels
from pipelines.tagging.sentences import label_examples
from tests.pipelines.tiny import COMMON, TOPICS, sine, vocabulary, write_bert

IOB2 = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def make_tagger(folder: pathlib.Path, labels=IOB2, settings=None, **changes):
    """A `FineTuned` that was never trained.

    Args:
        folder: where its encoder is written.
        labels: its tags.
        settings: what differs from the usual.
        changes: keys of the encoder's config.
    """
    encoder, tokenizer, _ = load_encoder(str(write_bert(folder, **changes)))
    model = TokenTagger(encoder, len(labels), dropout=0.0)
    balance(model)
    usual = {
        "task": "tag",
        "max_length": 16,
        "stride": None,
        "document_context": False,
        "constrained": True,
        "scheme": scheme_of_labels(labels),
        "words": "tokenizer",
    }
    return FineTuned(model, tokenizer, labels, {**usual, **(settings or {})})


def write_blind_bert(folder: pathlib.Path, **changes) -> str:
    """Writes a BERT of one block whose words see no word and no position."""
    usual = {"num_hidden_layers": 1, "max_position_embeddings": 64}
    path = write_bert(folder, **{**usual, **changes}) / "model.safetensors"
    tensors = load_file(path)
    for name, tensor in tensors.items():
        if "attention.output.dense" in name or "position" in name:
            tensors[name] = np.zeros_like(tensor)
    save_file(tensors, path, metadata={"format": "pt"})
    return str(folder)


def balance(model):
    """Gives the head weights with which no tag is rare over all words."""
    words = np.arange(5, len(vocabulary()))
    ids = np.stack([0 * words + 2, words, 0 * words + 3], axis=1)
    kernel = sine(model.logits.kernel.shape, 0.2, 1.0)
    model.logits.set_weights([kernel, np.zeros(model.num_classes)])
    logits = model.predict_on_batch({"token_ids": ids.astype("int32")})
    bias = -np.asarray(logits)[:, 1].mean(axis=0)
    model.logits.set_weights([kernel, bias])


def sentences(count: int) -> list[tuple[list[str], list[str]]]:
    """(words, IOB2 tags): animals of two words, fruits of one.

    Two fruits may stand side by side, so that IOB1 needs its `B-`.
    """
    common, fruit = COMMON[:4], TOPICS["apple"][:3]
    first, second = TOPICS["zebra"][:2], TOPICS["zebra"][4:6]
    made = []
    for i in range(count):
        pairs = [(common[i % 4], "O")]
        if i % 3:
            pairs += [(first[i % 2], "B-ANIMAL")]
            pairs += [(second[i // 2 % 2], "I-ANIMAL")]
        pairs += [(common[5 * i % 4], "O")] * (i % 2)
        pairs += [(fruit[i % 3], "B-FRUIT")]
        if i % 4 == 0:
            pairs += [(fruit[(i + 1) % 3], "B-FRUIT")]
        words, tags = zip(*pairs, strict=True)
        made.append((list(words), list(tags)))
    return made


def write_conll(path: pathlib.Path, rows, scheme=INNER) -> str:
    """Writes sentences as CoNLL columns and returns the path as a string."""
    lines = []
    for words, tags in rows:
        tags = convert(tags, INNER, scheme)
        lines += [f"{w} {t}" for w, t in zip(words, tags, strict=True)]
        lines.append("")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def score_sentences(fine_tuned, examples):
    """Metrics of a tagger on sentences with inner tags."""
    results = label_examples(fine_tuned, examples)
    return tag_scores(
        [example.tags for example in examples],
        [tags for tags, _ in results],
        fine_tuned.settings["scheme"],
    )
