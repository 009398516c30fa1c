"""BERT-style Transformer encoders in Keras 3, block by block."""

from keras_encoder.encoder import Encoder
from keras_encoder.heads import SequenceClassifier, TokenTagger

__version__ = "0.1.0"

__all__ = ["Encoder", "SequenceClassifier", "TokenTagger"]
