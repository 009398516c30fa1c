"""Parameters and operations of an encoder as a table."""

import pathlib

from keras_encoder.checkpoints import distilbert, keras_hub
from keras_encoder.checkpoints.config import (
    config_path,
    encoder_arguments,
    read_config,
)
from keras_encoder.checkpoints.load import KERAS_HUB, load_encoder_only
from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.encoder import ARGUMENTS
from keras_encoder.presets import PRESETS, preset_config
from pipelines.measuring.costs import crossover_length, operations, parameters
from pipelines.options import InfoOptions


def info(options: InfoOptions) -> None:
    """Runs the recipe: prints where parameters and operations are.

    Args:
        options: see `InfoOptions`.
    """
    size = _size(options.encoder)
    print(f"{options.encoder}:", *(f"{k}={v}" for k, v in size.items()))
    _print_table("parameters", parameters(size))
    _print_table(
        f"operations of a forward pass at length {options.length}",
        operations(size, options.length),
    )
    length = crossover_length(size)
    print(
        "attention's scores and weighted sum overtake the feed-forward at "
        f"length {length} ({length / size['hidden_dim']:.3g} x hidden)"
    )


def _size(spec):
    if spec in PRESETS:
        return preset_config(spec)
    if not spec.startswith(KERAS_HUB):
        folder = pathlib.Path(find_folder(spec))
        read = None if keras_hub.is_in(folder) else encoder_arguments
        if distilbert.is_in(folder):
            read = distilbert.encoder_arguments
        if read is not None:  # the config is enough, weights or not
            return read(read_config(folder), config_path(folder))
    encoder, _ = load_encoder_only(spec)
    return {name: getattr(encoder, name) for name in ARGUMENTS}


def _print_table(title, rows):
    total = sum(rows.values())
    print(f"\n{title}: {total:,}")
    for name, value in rows.items():
        print(f"  {name:<26}{value:>20,}{value / total:>8.1%}")
