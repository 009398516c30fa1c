"""Parameters and operations of an encoder as a table."""

import pathlib

from keras_encoder.checkpoints.config import encoder_arguments, read_config
from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.presets import PRESETS, preset_config
from pipelines.costs import operations, parameters
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
    print(
        "attention's scores and weighted sum overtake the feed-forward at "
        f"length {size['intermediate_dim']}"
    )


def _size(spec):
    if spec in PRESETS:
        return preset_config(spec)
    folder = pathlib.Path(find_folder(spec))
    return encoder_arguments(read_config(folder), f"{folder}/config.json")


def _print_table(title, rows):
    total = sum(rows.values())
    print(f"\n{title}: {total:,}")
    for name, value in rows.items():
        print(f"  {name:<26}{value:>20,}{value / total:>8.1%}")
