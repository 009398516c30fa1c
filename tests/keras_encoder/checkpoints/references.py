"""Small models of transformers with fixed weights, and equality with ours."""

import numpy as np
import torch
import transformers
from keras import ops

from tests.keras_encoder.fixed_weights import (
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    LAYERS,
    MAX_SEQ,
    SEGMENTS,
    VOCABULARY,
    sine,
)

# Every id has a token, and one of them a capital.
TOKENS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "news",
    "##paper",
    "Zürich",
]
TOKENS += [f"word{i}" for i in range(VOCABULARY - len(TOKENS))]
BERT = dict(
    vocab_size=VOCABULARY,
    hidden_size=HIDDEN,
    num_hidden_layers=LAYERS,
    num_attention_heads=HEADS,
    intermediate_size=INTERMEDIATE,
    max_position_embeddings=MAX_SEQ,
    type_vocab_size=SEGMENTS,
)
DISTILBERT = dict(
    vocab_size=VOCABULARY,
    dim=HIDDEN,
    n_layers=LAYERS,
    n_heads=HEADS,
    hidden_dim=INTERMEDIATE,
    max_position_embeddings=MAX_SEQ,
)


def bert(name="BertModel", **config):
    """A BERT of transformers, by the name of its class, in inference mode."""
    config = transformers.BertConfig(**{**BERT, **config})
    return with_sine_weights(getattr(transformers, name)(config))


def distilbert(name="DistilBertModel", **config):
    """A DistilBERT of transformers, in inference mode."""
    config = transformers.DistilBertConfig(**{**DISTILBERT, **config})
    return with_sine_weights(getattr(transformers, name)(config))


def with_sine_weights(model):
    """Gives a PyTorch model fixed weights; those of norms lie around 1."""
    with torch.no_grad():
        for index, (name, weight) in enumerate(model.named_parameters()):
            values = sine(tuple(weight.shape), phase=index, scale=0.3)
            weight.copy_(torch.tensor(values))
            weight += "LayerNorm.weight" in name or "norm.weight" in name
    return model.eval()


def random_inputs(segments=SEGMENTS, batch=3, seq=7, seed=3):
    """Inputs whose mask has holes anywhere but at the first token."""
    rng = np.random.default_rng(seed)
    mask = (rng.random((batch, seq)) < 0.6).astype("int32")
    mask[:, 0] = 1
    return {
        "token_ids": rng.integers(0, VOCABULARY, (batch, seq)).astype("int32"),
        "segment_ids": rng.integers(0, segments, (batch, seq)).astype("int32"),
        "padding_mask": mask,
    }


def torch_inputs(inputs, segments=True):
    """The inputs under the names of transformers, as tensors."""
    names = {"token_ids": "input_ids", "padding_mask": "attention_mask"}
    if segments:
        names["segment_ids"] = "token_type_ids"
    return {
        theirs: torch.tensor(inputs[ours]).long()
        for ours, theirs in names.items()
    }


def outputs_of(model, inputs, segments=True):
    """What a model of transformers computes."""
    with torch.no_grad():
        return model(**torch_inputs(inputs, segments))


def assert_same(ours, theirs, mask=None):
    """Ours equal theirs within 1e-5 and are not 0; padding is left out."""
    ours = ops.convert_to_numpy(ours)
    theirs = np.asarray(
        theirs.detach() if hasattr(theirs, "detach") else theirs
    )
    if mask is not None:
        ours, theirs = ours[mask == 1], theirs[mask == 1]
    assert np.abs(theirs).max() > 0.01
    np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=1e-5)


def assert_encoder_same(encoder, model, inputs, pooled=True, segments=True):
    """An encoder computes what a model of transformers does."""
    ours, theirs = encoder(inputs), outputs_of(model, inputs, segments)
    mask = inputs["padding_mask"]
    assert_same(ours["sequence_output"], theirs.last_hidden_state, mask)
    if pooled:
        assert_same(ours["pooled_output"], theirs.pooler_output)


def write_vocabulary(path, tokens=TOKENS):
    """Writes a `vocab.txt`, one token a line."""
    text = "".join(f"{token}\n" for token in tokens)
    path.write_text(text, encoding="utf-8")
