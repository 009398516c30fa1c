"""Opens `.keras` files in a process of its own; tests run it by path.

Usage: python open_keras_file.py FOLDER

For every NAME.keras writes NAME.npy, what the model predicts on inputs.npz.
"""

import pathlib
import sys

import keras
import numpy as np

import keras_encoder  # noqa: F401  (registers the layers)


def main(folder):
    with np.load(folder / "inputs.npz") as file:
        inputs = dict(file)
    for path in sorted(folder.glob("*.keras")):
        model = keras.saving.load_model(path)
        np.save(path.with_suffix(".npy"), model.predict(inputs, verbose=0))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
