"""A masked LM and its texts: the likeliest tokens for each [MASK]."""

import numpy as np

from pipelines.data.examples import TextExample
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from pipelines.training.batching import predict_rows
from pipelines.training.inputs import Inputs, Rows

TOP = 5


def mask_results(
    fine_tuned: FineTuned, examples: list[TextExample], batch_size: int = 32
) -> list[dict]:
    """What `predict` writes for each example.

    Args:
        fine_tuned: with a `MaskedLM`.
        examples: texts with one mask token or more.
        batch_size: texts a step.

    Returns:
        A dict a text. Its `fills` are a list of the five likeliest tokens as
        transformers' fill-mask pipeline gives them: `score`, `token`,
        `token_str` and `sequence`, the text with it. Where a text has
        several masks, there is a list for each, and each `sequence` leaves
        the other masks as they are.

    Raises:
        InputError: if a text has no mask, or one beyond the model's length.
    """
    tokenizer = fine_tuned.tokenizer
    rows = _encode(tokenizer, [example.text for example in examples])
    longest = fine_tuned.settings["max_length"]
    rows = [
        ids if len(ids) <= longest else ids[: longest - 1] + ids[-1:]
        for ids in rows
    ]
    places = [
        np.flatnonzero(np.array(ids) == tokenizer.mask_id) for ids in rows
    ]
    for example, found in zip(examples, places, strict=True):
        if not len(found):
            mask = tokenizer.special_tokens["mask_token"]
            raise InputError(
                f"{example.where}: expected {mask} among the first {longest} "
                "tokens of the text, found none; the model guesses what "
                "stands there."
            )
    probabilities = _probabilities(fine_tuned, rows, places, batch_size)
    results = []
    for ids, found, some in zip(rows, places, probabilities, strict=True):
        fills = [
            _top(tokenizer, ids, place, shares, alone=len(found) == 1)
            for place, shares in zip(found, some, strict=True)
        ]
        results.append({"fills": fills[0] if len(fills) == 1 else fills})
    return results


def _encode(tokenizer, texts):
    """Token ids of texts in which a special token is one, for once."""
    tokenizer.backend.encode_special_tokens = False
    try:
        return [encoding.ids for encoding in tokenizer.encode(texts)]
    finally:
        tokenizer.backend.encode_special_tokens = True


def _probabilities(fine_tuned, rows, places, batch_size):
    """A list of arrays (masks, vocabulary), one a text."""
    most = max(len(found) for found in places)
    positions = np.zeros((len(rows), most), "int32")
    for row, found in zip(positions, places, strict=True):
        row[: len(found)] = found
    inputs = Inputs(
        {
            "token_ids": Rows.join([np.array(r) for r in rows], "int32"),
            "masked_positions": positions,
        },
        {"token_ids": fine_tuned.tokenizer.pad_id},
        longest=fine_tuned.settings["max_length"],
    )
    results = [None] * len(rows)
    for indices, logits in predict_rows(fine_tuned.model, inputs, batch_size):
        for index, some in zip(indices, logits, strict=True):
            some = some[: len(places[index])]
            shares = np.exp(some - some.max(-1, keepdims=True))
            results[index] = shares / shares.sum(-1, keepdims=True)
    return results


def _top(tokenizer, ids, place, shares, alone):
    """The likeliest tokens for one mask."""
    decode, filled, fills = tokenizer.backend.decode, list(ids), []
    known = tokenizer.vocabulary_size  # the model may have rows to spare
    for token in np.argsort(-shares[:known], kind="stable")[:TOP].tolist():
        filled[place] = token
        fills.append(
            {
                "score": float(shares[token]),
                "token": token,
                "token_str": decode([token], skip_special_tokens=False),
                # With other masks the special tokens stay, as transformers
                # has it.
                "sequence": decode(filled, skip_special_tokens=alone),
            }
        )
    return fills
