"""What it means to equal transformers: every state, at every real position.

transformers runs in float64, so a difference is ours; its own float32 run is
off by half of the tolerance.
"""

import numpy as np

from tests.keras_encoder.checkpoints.references import outputs_of
from tests.keras_encoder.layer_contract import to_numpy

TOLERANCE = 1e-5


def assert_equals_transformers(encoder, reference, inputs):
    """Compares an `Encoder` with a `BertModel` on the same inputs.

    Args:
        encoder: `Encoder` in float32.
        reference: `transformers.BertModel` in float64 that outputs hidden
            states and attentions.
        inputs: dict of token_ids, segment_ids and padding_mask.
    """
    ours = encoder(inputs, return_attention_scores=True)
    theirs = outputs_of(reference, inputs)
    real = inputs["padding_mask"] != 0
    states = [encoder.embed(inputs), *ours["encoder_outputs"]]
    for found, expected in zip(states, theirs.hidden_states, strict=True):
        assert_close(found, expected, real)
    assert_close(ours["sequence_output"], theirs.last_hidden_state, real)
    assert_close(ours["pooled_output"], theirs.pooler_output)
    queries = np.broadcast_to(
        real[:, None, :, None], theirs.attentions[0].shape
    )
    for found, expected in zip(
        ours["attention_scores"], theirs.attentions, strict=True
    ):
        assert_close(found, expected, queries)


def assert_close(found, expected, where=slice(None)):
    np.testing.assert_allclose(
        to_numpy(found)[where],
        expected.numpy()[where],
        rtol=0,
        atol=TOLERANCE,
    )


def difference(encoder, reference, inputs):
    """Largest difference of the pooled outputs."""
    ours = to_numpy(encoder(inputs)["pooled_output"])
    theirs = outputs_of(reference, inputs).pooler_output.numpy()
    return np.abs(ours - theirs).max()
