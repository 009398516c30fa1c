"""Task heads: an encoder with a few more layers on top, one head a file."""

# One line a head, and nothing else: whoever needs all heads looks here.
from keras_encoder.heads.masked_lm import MaskedLM as MaskedLM
from keras_encoder.heads.next_sentence import NextSentence as NextSentence
from keras_encoder.heads.pretraining import Pretraining as Pretraining
from keras_encoder.heads.sequence_classifier import (
    SequenceClassifier as SequenceClassifier,
)
from keras_encoder.heads.span import Span as Span
from keras_encoder.heads.token_tagger import TokenTagger as TokenTagger
