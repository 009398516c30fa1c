"""Which files of a folder hold its weights, whatever their format."""

import json
import pathlib

from keras_encoder.checkpoints.errors import CheckpointError


def find_weight_files(folder, single, index):
    """Finds one weight file, or the shards that an index names.

    Args:
        folder: path of a folder.
        single: str, the name of the file where it is one.
        index: str, the name of a JSON file with a `weight_map` of tensor ->
            file, or list of files.

    Returns:
        List of paths, all inside the folder.

    Raises:
        CheckpointError: if a file is absent or outside the folder.
    """
    folder = pathlib.Path(folder)
    if (folder / single).exists():
        return [folder / single]
    path = folder / index
    try:
        values = json.loads(path.read_bytes())["weight_map"].values()
        shards = [v if isinstance(v, list) else [v] for v in values]
        names = sorted({name for shard in shards for name in shard})
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{folder}: expected {single} or {index}, found neither."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path}: expected JSON with a `weight_map` ({error!r})."
        ) from error
    for name in names:
        if not _is_plain(name):
            raise CheckpointError(
                f"{path}: names {name!r}, which is outside its folder."
            )
        if not (folder / name).exists():
            raise CheckpointError(
                f"{folder / name}: a shard of {path} is missing."
            )
    return [folder / name for name in names]


def _is_plain(name):
    """Whether a name from an index is that of a file beside it."""
    return (
        isinstance(name, str)
        and name not in ("", ".", "..")
        and not {"/", "\\", "\0"} & set(name)
    )


def check_content(path):
    """Raises if a file is empty or a Git LFS pointer instead of tensors."""
    try:
        with open(path, "rb") as file:
            start = file.read(24)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error}).") from error
    if not start:
        raise CheckpointError(f"{path}: expected tensors, the file is empty.")
    if start.startswith(b"version https://git-lfs"):
        raise CheckpointError(
            f"{path}: expected tensors, found a Git LFS pointer; run "
            "`git lfs pull` where the folder was cloned."
        )


def check_new(name, tensors, path):
    """Raises if another shard has a tensor of this name, too."""
    if name in tensors:
        raise CheckpointError(
            f"{path}: the tensor {name!r} stands in another shard, too; which "
            "one is meant cannot be told."
        )


def widen_bfloat16(array):
    """float32 array of bfloat16 numbers, which NumPy lacks.

    Args:
        array: any dtype of two bytes. They are the upper half of a float32.
    """
    return (array.view("<u2").astype("<u4") << 16).view("<f4")
