"""How Keras reads batches on TensorFlow."""

import keras


def tunes_itself(batches: keras.utils.PyDataset) -> bool:
    """Whether tf.data tunes the reading, which may hold up the end of `fit`."""
    # No public name leads to the data set that Keras makes of the batches.
    from keras.src.trainers.data_adapters.py_dataset_adapter import (
        PyDatasetAdapter,
    )

    options = PyDatasetAdapter(batches).get_tf_dataset().options()
    return options.autotune.enabled is not False
