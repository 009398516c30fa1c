"""Texts -> token ids in rows, the inputs of a classifier."""

import numpy as np

from pipelines.batching import Inputs, Rows
from pipelines.console import Progress
from pipelines.data.examples import TextExample

_CHUNK = 1024


def tokenise(
    tokenizer, examples: list[TextExample], max_length: int
) -> tuple[Inputs, int]:
    """Tokenises once, in parallel chunks.

    Args:
        tokenizer: `keras_encoder.tokenizer.Tokenizer`.
        examples: texts or pairs of texts.
        max_length: tokens to keep, special tokens included.

    Returns:
        `Inputs` with `token_ids` and, for pairs, `segment_ids`; and how many
        texts were cut.
    """
    has_pairs = any(example.text_pair is not None for example in examples)
    ids, segments, cut = [], [], 0
    with Progress("tokenise", len(examples)) as progress:
        for start in range(0, len(examples), _CHUNK):
            chunk = examples[start : start + _CHUNK]
            pairs = [e.text_pair for e in chunk] if has_pairs else None
            for encoding in tokenizer.encode(
                [e.text for e in chunk], pairs, max_length
            ):
                ids.append(np.array(encoding.ids, "int32"))
                if has_pairs:
                    segments.append(np.array(encoding.type_ids, "int32"))
                cut += bool(encoding.overflowing)
            progress.add(len(chunk))
    columns = {"token_ids": _rows(ids)}
    if has_pairs:
        columns["segment_ids"] = _rows(segments)
    return Inputs(columns, {"token_ids": tokenizer.pad_id}), cut


def _rows(arrays):
    return Rows(np.concatenate(arrays), np.array([len(a) for a in arrays]))
