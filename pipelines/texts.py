"""A classifier and its texts: token ids in, probabilities and scores out."""

import numpy as np

from pipelines import decisions
from pipelines.batching import Inputs, Rows, predict_rows
from pipelines.console import Progress
from pipelines.data.examples import TextExample
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned

_CHUNK = 1024
# A token of each text beside [CLS] and two [SEP].
_ROOM_FOR_PAIR = 5


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
    if has_pairs and max_length < _ROOM_FOR_PAIR:
        raise InputError(
            f"{max_length} tokens (--max-length) have no room for a pair of "
            f"texts; expected {_ROOM_FOR_PAIR} or more."
        )
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
    columns = {"token_ids": Rows.join(ids, "int32")}
    if has_pairs:
        columns["segment_ids"] = Rows.join(segments, "int32")
    pad_values = {"token_ids": tokenizer.pad_id}
    return Inputs(columns, pad_values, longest=max_length), cut


def check_segments(encoder) -> None:
    """Raises InputError if an encoder cannot tell two texts apart."""
    if encoder.num_segments < 2:
        raise InputError(
            "The encoder knows one segment only, but the data have pairs of "
            "texts."
        )


def predict_scores(
    fine_tuned: FineTuned, examples: list[TextExample], batch_size: int = 32
) -> np.ndarray:
    """Probabilities (or values) of each example, (texts, classes)."""
    inputs, _ = tokenise(
        fine_tuned.tokenizer, examples, fine_tuned.settings["max_length"]
    )
    if "segment_ids" in inputs.columns:
        check_segments(fine_tuned.model.encoder)
    logits = np.empty((len(examples), len(fine_tuned.labels)), "float32")
    with Progress("predict", len(examples)) as progress:
        for rows, some in predict_rows(
            fine_tuned.model, inputs, batch_size, progress.add
        ):
            logits[rows] = some
    return decisions.to_scores(logits, fine_tuned.settings["problem"])


def score_texts(
    fine_tuned: FineTuned, examples: list[TextExample], batch_size: int = 32
) -> dict:
    """Metrics of a fine-tuned classifier on labelled examples."""
    return decisions.score(
        [example.label for example in examples],
        predict_scores(fine_tuned, examples, batch_size),
        fine_tuned.labels,
        fine_tuned.settings,
    )


def text_results(
    fine_tuned: FineTuned, examples: list[TextExample], batch_size: int = 32
) -> list[dict]:
    """What `predict` writes for each example."""
    scores = predict_scores(fine_tuned, examples, batch_size)
    return decisions.decide(scores, fine_tuned.labels, fine_tuned.settings)
