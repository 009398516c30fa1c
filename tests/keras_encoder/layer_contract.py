"""One call that proves what every layer of the library promises."""

import contextlib
import json
import pathlib
import tempfile

import keras
import numpy as np
from keras import tree

from tests.keras_encoder.fixed_weights import set_sine_weights, sine


def check_layer(
    cls,
    arguments,
    inputs,
    *,
    call_arguments=None,
    output=lambda result: result,
    unmoved=(),
    mixed_dtype="bfloat16",
):
    """Proves the contract of a layer or model on the running backend.

    The contract: its config is JSON and makes an equal layer; it states its
    output's shape; it runs on symbolic and on concrete inputs; one `fit` step
    moves every trainable weight; it runs under mixed precision; a `.keras`
    file of a model around it gives the same outputs.

    Args:
        cls: the class of the layer.
        arguments: function that returns a dict of constructor arguments, so
            that a layer among them is made anew, under the policy in force.
        inputs: array, or dict of arrays, whose first axes are (batch, seq).
        call_arguments: dict of further arrays, by argument name.
        output: picks the tensor to train on from what the layer returns.
        unmoved: ends of the paths of weights whose gradient is 0. A layer
            without any other weights is not fitted.
        mixed_dtype: dtype of `output` under the policy `mixed_bfloat16`.
    """
    inputs = (inputs, call_arguments or {})
    check_config(cls, arguments())
    layer = set_sine_weights(built(cls(**arguments()), inputs))
    check_shapes(layer, inputs)
    check_mixed_precision(cls, arguments, inputs, output, mixed_dtype)
    model = model_around(layer, inputs, output)
    check_file(model, flat_inputs(inputs))
    moving = [
        variable
        for variable in layer.trainable_weights
        if not variable.path.endswith(tuple(unmoved))
    ]
    if moving:
        check_fit(model, moving, flat_inputs(inputs))


def check_config(cls, arguments):
    layer = cls(**arguments)
    for name in arguments:
        assert hasattr(layer, name), f"`{name}` is not kept under its name"
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    for _ in range(2):  # reading a config leaves it as it was
        copy = keras.saving.deserialize_keras_object(config)
        assert type(copy) is cls
        assert copy.get_config() == layer.get_config()
    assert cls.from_config(layer.get_config()).get_config() == (
        layer.get_config()
    )


def check_shapes(layer, inputs):
    outputs = call(layer, inputs)
    for array in tree.flatten(outputs):
        assert np.isfinite(to_numpy(array)).all()
    shapes = tree.map_structure(lambda array: tuple(array.shape), outputs)
    specs = call(layer, symbolic(inputs))
    assert_same_shapes(specs, outputs)
    if not isinstance(layer, keras.Model):
        assert layer.compute_output_shape(inputs[0].shape) == shapes
        unknown = (None, None, *inputs[0].shape[2:])
        for found, real in zip(
            layer.compute_output_shape(unknown), shapes, strict=True
        ):
            assert found in (None, real)
    for spec, array in zip(
        tree.flatten(specs), tree.flatten(outputs), strict=True
    ):
        assert spec.dtype == keras.backend.standardize_dtype(array.dtype)


def assert_same_shapes(specs, outputs):
    """Symbolic results fit the real ones; unknown axes fit any size."""
    tree.assert_same_structure(specs, outputs)
    for spec, array in zip(
        tree.flatten(specs), tree.flatten(outputs), strict=True
    ):
        assert len(spec.shape) == len(array.shape)
        for found, real in zip(spec.shape, array.shape, strict=True):
            assert found in (None, real), (spec.shape, array.shape)


def check_mixed_precision(cls, arguments, inputs, output, dtype):
    with policy("mixed_bfloat16"):
        layer = set_sine_weights(built(cls(**arguments()), inputs))
        result = output(call(layer, inputs))
    assert keras.backend.standardize_dtype(result.dtype) == dtype
    assert np.isfinite(to_numpy(result)).all()
    for variable in layer.weights:
        assert variable.dtype == "float32", variable.path


def check_file(model, inputs):
    expected = model.predict(inputs, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        model.save(path)
        opened = keras.saving.load_model(path)
    np.testing.assert_array_equal(opened.predict(inputs, verbose=0), expected)


def check_fit(model, moving, inputs):
    before = [variable.numpy() for variable in moving]
    targets = sine(model.compute_output_shape(model_shapes(inputs)), 0.9)
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
    history = model.fit(
        inputs, targets, batch_size=len(targets), epochs=1, verbose=0
    )
    assert np.isfinite(history.history["loss"]).all()
    still = [
        variable.path
        for variable, old in zip(moving, before, strict=True)
        if np.array_equal(variable.numpy(), old)
    ]
    assert not still, f"one step did not move {still}"


def model_shapes(inputs):
    return {name: array.shape for name, array in inputs.items()}


def model_around(layer, inputs, output):
    """A functional model; its inputs have unknown batch and length."""
    made = symbolic(inputs)
    flat = flat_inputs(made)
    return keras.Model(flat, output(call(layer, made)))


def symbolic(inputs):
    """The same inputs with unknown batch and length, as Keras tensors."""
    made = {
        name: keras.Input(
            shape=(None, *array.shape[2:]), dtype=str(array.dtype), name=name
        )
        for name, array in flat_inputs(inputs).items()
    }
    further = {name: made.pop(name) for name in inputs[1]}
    return (made if isinstance(inputs[0], dict) else made["first"], further)


def flat_inputs(inputs):
    """All arrays as one dict, the form that a functional model takes."""
    first, further = inputs
    first = first if isinstance(first, dict) else {"first": first}
    return {**first, **further}


def call(layer, inputs):
    return layer(inputs[0], **inputs[1])


def built(layer, inputs):
    """Builds a layer the way a user does: by calling it."""
    call(layer, inputs)
    return layer


def to_numpy(tensor):
    """Any backend's tensor, on any device and of any float type."""
    return keras.ops.convert_to_numpy(keras.ops.cast(tensor, "float32"))


@contextlib.contextmanager
def policy(name):
    """Runs the block under a global dtype policy."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
