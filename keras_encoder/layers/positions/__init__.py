"""How an encoder learns about word order: one file a kind.

A kind is a Keras layer with four things:

- `for_encoder(max_sequence_length, num_heads, embeddings_initializer,
  **kwargs)`: class method that makes it from the sizes of an encoder, of
  which it takes what it needs. The width comes with `build`.
- `call(embeddings)`: the embeddings (batch, seq, hidden), with positions
  added or as they are.
- `attention_arguments(length)`: dict of arguments for every `SelfAttention`
  of the encoder on inputs of that length: `position_bias`, `rotate` or none.
- `longest_input`: the most tokens that it has positions for, or `math.inf`.
"""

from keras_encoder.layers.positions.learned import LearnedPositions
from keras_encoder.layers.positions.relative import RelativePositions
from keras_encoder.layers.positions.rotary import RotaryPositions
from keras_encoder.layers.positions.sinusoidal import SinusoidalPositions

POSITIONS = {
    "learned": LearnedPositions,
    "sinusoidal": SinusoidalPositions,
    "relative": RelativePositions,
    "rotary": RotaryPositions,
}


def check_positions(positions):
    """Raises ValueError unless `positions` is None or a kind of the table."""
    known = isinstance(positions, str) and positions in POSITIONS
    if positions is not None and not known:
        raise ValueError(
            f"`positions` must be None or one of {sorted(POSITIONS)}. "
            f"Received: positions={positions!r}"
        )
