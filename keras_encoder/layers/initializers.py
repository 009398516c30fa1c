"""How BERT's weights are drawn."""

import keras


def bert_initializer():
    """A truncated normal distribution of deviation 0.02, as in BERT."""
    return keras.initializers.TruncatedNormal(stddev=0.02)
