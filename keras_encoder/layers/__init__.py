"""The blocks of an encoder, one a file."""

from keras_encoder.layers.attention import SelfAttention
from keras_encoder.layers.dropout import Dropout
from keras_encoder.layers.embeddings import Embeddings
from keras_encoder.layers.encoder_block import EncoderBlock
from keras_encoder.layers.feed_forward import FeedForward
from keras_encoder.layers.pooler import Pooler
from keras_encoder.layers.positions.learned import LearnedPositions

__all__ = [
    "Dropout",
    "Embeddings",
    "EncoderBlock",
    "FeedForward",
    "LearnedPositions",
    "Pooler",
    "SelfAttention",
]
