"""A classifier and its texts: token ids in, probabilities and scores out."""

import array
from collections.abc import Iterator, Sequence

import numpy as np
from keras import ops

from pipelines.classification import decisions, windows
from pipelines.console import Progress, say
from pipelines.data.examples import TextExample
from pipelines.data.scratch import ScratchArray
from pipelines.data.stored import have_pairs
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from pipelines.reports.data_report import TokenCounts
from pipelines.training.batching import predict_all
from pipelines.training.inputs import Inputs, Rows

# Texts, and characters of them, that the tokenizer takes at once: it makes a
# hundred bytes of each token.
_CHUNK, _CHARACTERS = 1024, 1 << 22
# A token of each text beside [CLS] and two [SEP].
_ROOM_FOR_PAIR = 5


def tokenise(
    tokenizer,
    examples: Sequence[TextExample],
    max_length: int,
    cut: windows.Cut | None = None,
) -> tuple[Inputs, TokenCounts]:
    """Tokenises once, in parallel chunks; many tokens are kept on disk.

    Args:
        tokenizer: `keras_encoder.tokenizer.Tokenizer`.
        examples: texts or pairs of texts.
        max_length: tokens to keep, special tokens included.
        cut: None, or how longer texts become windows.

    Returns:
        `Inputs` with `token_ids` and, for pairs, `segment_ids`, and with
        `owners` if there may be windows; and what was counted.
    """
    has_pairs = have_pairs(examples)
    if has_pairs and max_length < _ROOM_FOR_PAIR:
        raise InputError(
            f"{max_length} tokens (--max-length) have no room for a pair of "
            f"texts; expected {_ROOM_FOR_PAIR} or more."
        )
    special = tokenizer.backend.num_special_tokens_to_add(has_pairs)
    ids, segments = ScratchArray("int32"), ScratchArray("int32")
    kept, lengths, unknown = array.array("i"), array.array("i"), 0
    owned = array.array("i")  # windows of each text
    with Progress("tokenise", len(examples)) as progress:
        for chunk in _chunks(examples):
            texts = [e.text for e in chunk]
            pairs = [e.text_pair for e in chunk] if has_pairs else None
            if cut is None:
                encodings = tokenizer.encode(texts, pairs, max_length)
                full = _full_lengths(tokenizer, encodings, texts, pairs)
                lengths.extend(full)
                rows = [np.array(e.ids, "int32") for e in encodings]
                types = [e.type_ids for e in encodings]
            else:
                encodings = tokenizer.encode(texts, pairs)
                lengths.extend(map(len, encodings))
                found = [cut.windows(e) for e in encodings]
                owned.extend(len(some) for some, _ in found)
                rows = [row for some, _ in found for row in some]
                types = [row for _, some in found for row in some]
            ids.append(np.concatenate(rows))
            if has_pairs:
                segments.append(np.concatenate(types))
            kept.extend(map(len, rows))
            unknown += sum(int((r == tokenizer.unk_id).sum()) for r in rows)
            progress.add(len(chunk))
    kept = np.array(kept, "int64")
    columns = {"token_ids": Rows(ids, kept)}
    if has_pairs:
        columns["segment_ids"] = Rows(segments, kept)
    counts = TokenCounts(
        lengths=np.array(lengths, "int64"),
        special=special,
        read=int(kept.sum()) - special * len(kept),
        unknown=unknown,
        windows=None if cut is None else np.array(owned, "int64"),
    )
    owners = None
    if cut is not None:
        owners = np.repeat(np.arange(len(owned)), owned)
    pad_values = {"token_ids": tokenizer.pad_id}
    return Inputs(columns, pad_values, max_length, owners), counts


def _chunks(examples: Sequence[TextExample]) -> Iterator[list[TextExample]]:
    chunk, size = [], 0
    for example in examples:
        chunk.append(example)
        size += len(example.text) + len(example.text_pair or "")
        if len(chunk) == _CHUNK or size > _CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _full_lengths(tokenizer, encodings, texts, pairs) -> Iterator[int]:
    """Tokens of each text as if nothing had been cut."""
    special = tokenizer.backend.num_special_tokens_to_add(False)
    for row, encoding in enumerate(encodings):
        pair = None if pairs is None else pairs[row]
        if not encoding.overflowing:
            yield len(encoding)
        elif pair is None:
            # What is cut off comes in pieces with special tokens of their own.
            yield len(encoding) + sum(
                len(piece) - special for piece in encoding.overflowing
            )
        else:
            (whole,) = tokenizer.encode([texts[row]], [pair])
            yield len(whole)


def check_segments(encoder) -> None:
    """Raises InputError if an encoder cannot tell two texts apart."""
    if encoder.num_segments < 2:
        raise InputError(
            "The encoder knows one segment only, but the data have pairs of "
            "texts."
        )


def predict_scores(
    fine_tuned: FineTuned,
    examples: Sequence[TextExample],
    batch_size: int = 32,
) -> np.ndarray:
    """Probabilities (or values) of each example, (texts, classes)."""
    settings = fine_tuned.settings
    inputs, counts = tokenise(
        fine_tuned.tokenizer,
        examples,
        settings["max_length"],
        cut_of(settings),
    )
    if empty := int((counts.lengths <= counts.special).sum()):
        say(
            f"Texts without a token: {empty} of {len(examples)}; what is "
            "answered to them tells nothing."
        )
    if "segment_ids" in inputs.columns:
        check_segments(fine_tuned.model.encoder)
    logits = row_logits(fine_tuned, inputs, batch_size)
    logits = text_logits(logits, inputs.owners, settings)
    return decisions.to_scores(logits, settings["problem"])


def row_logits(
    fine_tuned: FineTuned, inputs: Inputs, batch_size: int
) -> np.ndarray:
    """Logits (rows, classes) of each row of `Inputs`, text or window."""
    with Progress("predict", len(inputs)) as progress:
        return predict_all(fine_tuned.model, inputs, batch_size, progress.add)


def cut_of(settings: dict) -> windows.Cut | None:
    """How a model with these settings reads long texts; None cuts them."""
    if settings.get("windows", windows.NONE) == windows.NONE:
        return None
    return windows.Cut(settings["max_length"], settings.get("stride"))


def text_logits(
    logits: np.ndarray, owners: np.ndarray | None, settings: dict
) -> np.ndarray:
    """Logits (texts, classes) from those of the rows of `Inputs`."""
    if owners is None:
        return logits
    combined = windows.combine(
        logits,
        owners.astype("int32"),
        int(owners[-1]) + 1,
        settings["windows"],
        settings["problem"],
    )
    return ops.convert_to_numpy(combined)


def text_results(
    fine_tuned: FineTuned, examples: list[TextExample], batch_size: int = 32
) -> list[dict]:
    """What `predict` writes for each example."""
    scores = predict_scores(fine_tuned, examples, batch_size)
    return decisions.decide(scores, fine_tuned.labels, fine_tuned.settings)
