"""How a head keeps its encoder: shared by all heads."""

import keras


def config_with_encoder(model, config):
    """The config of a model and, in it, that of its encoder.

    Args:
        model: a head; has an `encoder`.
        config: dict, the rest of the model's config.
    """
    encoder = keras.saving.serialize_keras_object(model.encoder)
    return {**config, "encoder": encoder}


def model_from_config(cls, config):
    """Makes a head from `config_with_encoder`; its `from_config`."""
    encoder = keras.saving.deserialize_keras_object(config["encoder"])
    return cls(**{**config, "encoder": encoder})
