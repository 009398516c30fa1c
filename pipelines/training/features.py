"""The frozen part of a model runs once; what it gives is stored."""

import keras
import numpy as np

from keras_encoder.layers import Dropout
from pipelines.training.batching import predict_all
from pipelines.training.inputs import Inputs, Rows

# Rows of states that are worked on at once: a tagger's are too many to copy.
_CHUNK = 8192


class Below(keras.Model):
    """The frozen part of a task model: its input -> states at block `cut`.

    Runs in inference mode, whatever it is called in.
    """

    def __init__(self, task, cut: int):
        super().__init__()
        self.task = task
        self.cut = cut
        self.built = True

    def call(self, inputs):
        encoder = self.task.encoder
        return encoder.encode(
            encoder.embed(inputs, training=False),
            padding_mask=inputs.get("padding_mask"),
            stop=self.cut,
            first_token_only=_first_token(self.task, self.cut),
            training=False,
        )


class Above(keras.Model):
    """The trained part of a task model: states at block `cut` -> logits."""

    def __init__(self, task, cut: int):
        super().__init__()
        self.task = task
        self.cut = cut
        self.built = True

    def call(self, inputs, training=None):
        states = self.task.encoder.encode(
            inputs["states"],
            padding_mask=inputs.get("padding_mask"),
            start=self.cut,
            first_token_only=self.task.reads_first_token,
            training=training,
        )
        return self.task.head(states, training=training)


class StandardisedHead(keras.Model):
    """The last layer of a task model, on features of mean 0 and variance 1.

    Standardised features let a linear layer converge in a few epochs. The
    layer's weights are those of the task: `unfold` puts them into the
    standardised coordinates before training, `fold` brings them back, so that
    the task model gives the same logits on raw features.
    """

    def __init__(self, task, features: Inputs):
        super().__init__()
        values = _values(features.columns["features"])
        self.dropout_layer = Dropout(task.dropout)
        self.logits = task.logits
        self.crf = getattr(task, "crf", None)  # the loss trains it, too
        self.mean = values.mean(axis=0, dtype="float64")
        squares = sum(
            np.square(some - self.mean).sum(axis=0) for some in _chunks(values)
        )
        deviation = np.sqrt(squares / len(values))
        # A feature that never varies is left as it is.
        self.deviation = np.where(deviation < 1e-6, 1.0, deviation)
        self.built = True

    def call(self, inputs, training=None):
        return self.logits(
            self.dropout_layer(inputs["features"], training=training)
        )

    def standardise(self, features: Inputs) -> Inputs:
        """Features as this model reads them; overwrites those given."""
        for some in _chunks(_values(features.columns["features"])):
            some[:] = (some - self.mean) / self.deviation
        return features

    def unfold(self):
        """Rewrites the task's last layer for standardised features."""
        kernel, bias = self.logits.get_weights()
        self.logits.set_weights(
            [kernel * self.deviation[:, None], bias + self.mean @ kernel]
        )

    def fold(self):
        """Rewrites the task's last layer for raw features."""
        kernel, bias = self.logits.get_weights()
        kernel = kernel / self.deviation[:, None]
        self.logits.set_weights([kernel, bias - self.mean @ kernel])


def compute_states(
    below: Below, inputs: Inputs, batch_size: int, progress=None
) -> Inputs:
    """Stores the states that reach block `below.cut`, without padding.

    Args:
        below: the frozen part of a task model; what it compiled serves for
            all inputs.
        inputs: `Inputs` of the whole model.
        batch_size: int.
        progress: as in `predict_rows`.

    Returns:
        `Inputs` with `states`: an array (rows, 1, hidden) where only the
        first token is read, else `Rows` of (length, hidden).
    """
    states = predict_all(below, inputs, batch_size, progress)
    return Inputs({"states": states}, owners=inputs.owners)


def kept_values(inputs: Inputs) -> np.ndarray:
    """The array of `Inputs` from `compute_states`."""
    return _values(inputs.columns["states"])


def head_features(task, inputs: Inputs) -> Inputs:
    """What the task's last layer reads, from the states of its last block.

    Args:
        task: task model.
        inputs: from `compute_states` with `cut` = `num_layers`; overwritten.

    Returns:
        `Inputs` with `features`: (rows, hidden), or `Rows` of (length,
        hidden) for a tagger.
    """
    column = inputs.columns["states"]
    encoder = task.encoder
    values = _values(column).reshape(-1, encoder.hidden_dim)
    for some in _chunks(values):
        # No block is left to run, but a pre-norm encoder's last norm is.
        states = encoder.encode(some[:, None], start=encoder.num_layers)
        features = keras.ops.convert_to_numpy(task.features(states))
        some[:] = features.reshape(some.shape)
    features = {"features": _like(column, values)}
    return Inputs(features, owners=inputs.owners)


def _chunks(values):
    """Views of some rows at a time."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _values(column):
    return column.values if isinstance(column, Rows) else column


def _like(column, values):
    if isinstance(column, Rows):
        return Rows(values, column.lengths)
    return values


def _first_token(task, cut: int) -> bool:
    """Whether only the first token's state is read above block `cut`."""
    return task.reads_first_token and cut == task.encoder.num_layers
