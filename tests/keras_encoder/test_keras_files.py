"""A `.keras` file saved on one backend opens on every other."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_encoder.heads import SequenceClassifier, TokenTagger
from keras_encoder.layers.crf import CRF
from keras_encoder.losses import CrfLoss
from tests.keras_encoder.fixed_weights import (
    encoder_inputs,
    set_sine_weights,
    tiny_encoder,
)

SCRIPT = pathlib.Path(__file__).with_name("open_keras_file.py")
ROOT = pathlib.Path(__file__).parents[2]
MODELS = {
    "classifier": lambda: SequenceClassifier(tiny_encoder(), 4),
    "tagger": lambda: TokenTagger(
        tiny_encoder(norm_first=True, activation="gelu_tanh"), 4
    ),
    **{
        positions: lambda positions=positions: SequenceClassifier(
            tiny_encoder(
                positions=positions, norm="rms_norm", activation="geglu"
            ),
            4,
        )
        for positions in ("sinusoidal", "relative", "rotary")
    },
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder of files from this backend, and what their models predict."""
    folder = tmp_path_factory.mktemp("files")
    np.savez(folder / "inputs.npz", **encoder_inputs())
    expected = {}
    for name, make in MODELS.items():
        model = set_sine_weights(make())
        model.save(folder / f"{name}.keras")
        expected[name] = model.predict(encoder_inputs(), verbose=0)
    return folder, expected


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_a_file_of_this_backend_opens_on(saved, backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    folder, expected = saved
    run = subprocess.run(
        [sys.executable, SCRIPT, folder],
        env={**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    for name, logits in expected.items():
        found = np.load(folder / f"{name}.npy")
        np.testing.assert_allclose(found, logits, rtol=0, atol=1e-5)
        (folder / f"{name}.npy").unlink()


def test_an_encoder_alone_opens_again(tmp_path):
    encoder = tiny_encoder()
    encoder.save(tmp_path / "encoder.keras")
    opened = keras.saving.load_model(tmp_path / "encoder.keras")
    found = opened.predict(encoder_inputs(), verbose=0)
    expected = encoder.predict(encoder_inputs(), verbose=0)
    np.testing.assert_array_equal(
        found["pooled_output"], expected["pooled_output"]
    )


def test_a_crf_and_its_loss_are_one_layer_after_loading_too(tmp_path):
    """Else training would go on without the transitions."""
    model = set_sine_weights(TokenTagger(tiny_encoder(), 4, crf=CRF(4)))
    model.compile(loss=CrfLoss(model.crf))
    model.optimizer.build(model.trainable_variables)
    model.save(tmp_path / "tagger.keras")
    opened = keras.saving.load_model(tmp_path / "tagger.keras")
    assert opened.loss.crf is opened.crf
    for old, new in zip(
        model.crf.get_weights(), opened.crf.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(new, old)
