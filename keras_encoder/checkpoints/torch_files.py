"""PyTorch's `.bin` files, single or sharded, without PyTorch or trust.

A `.bin` is a pickle, and a pickle can run any code. This reader knows the few
names that a state dict needs and stops at any other before it is looked up.
"""

import collections
import contextlib
import pathlib
import pickle
import struct
import zipfile
from typing import NamedTuple

import numpy as np

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.weight_files import (
    check_content,
    check_new,
    find_weight_files,
    widen_bfloat16,
)

SINGLE = "pytorch_model.bin"
INDEX = "pytorch_model.bin.index.json"

# torch.NAMEStorage -> NumPy's dtype, little-endian; NumPy has no bfloat16.
STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
}
# The first of the five pickles in a file of torch.save before 1.6.
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
# What a damaged or hostile file makes the readers below raise.
DAMAGE = (
    OSError,
    zipfile.BadZipFile,
    struct.error,
    NotImplementedError,
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    MemoryError,
    OverflowError,
    RecursionError,
)


class StoredTensor(NamedTuple):
    """Where a tensor lies: the unit is one element of its storage.

    A tuple, so that no pickle can change one after it was made.
    """

    key: str
    dtype: str
    storage_size: int
    offset: int
    shape: tuple
    strides: tuple


def is_in(folder):
    """Whether a folder holds PyTorch weights, single or sharded."""
    folder = pathlib.Path(folder)
    return (folder / SINGLE).exists() or (folder / INDEX).exists()


@contextlib.contextmanager
def open_tensors(folder):
    """Opens the `.bin` files of a folder as one mapping of lazy tensors.

    Args:
        folder: path that holds `pytorch_model.bin`, or shards and their
            `pytorch_model.bin.index.json`.

    Yields:
        Dict of tensor name -> function that reads it as a NumPy array;
        bfloat16 is widened to float32.

    Raises:
        CheckpointError: if a file is absent, truncated, a Git LFS pointer or
            outside the folder, or needs more than tensors.
    """
    with contextlib.ExitStack() as stack:
        tensors = {}
        for path in find_weight_files(folder, SINGLE, INDEX):
            check_content(path)
            file = stack.enter_context(open(path, "rb"))
            state, read_storage = _open(path, file)
            for name, tensor in _checked(state, path).items():
                check_new(name, tensors, path)
                tensors[name] = _reader(tensor, name, path, read_storage)
        yield tensors


class _Unpickler(pickle.Unpickler):
    """Builds `StoredTensor`s in dicts, and nothing else."""

    def __init__(self, file, path):
        super().__init__(file)
        self.path = path

    def find_class(self, module, name):
        if module == "torch" and name in STORAGES:
            return name
        known = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch", "Size"): tuple,
            ("torch._utils", "_rebuild_tensor"): self.rebuild_tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self.rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): self.rebuild_parameter,
        }
        if (module, name) not in known:
            raise CheckpointError(
                f"{self.path}: the pickle asks for {module}.{name}, which no "
                "file of weights needs. It was refused and nothing was run. "
                "Get the weights as safetensors from somebody you trust."
            )
        return known[module, name]

    def persistent_load(self, pid):
        _, storage, key, _, size, *view = pid
        offset = view[0][1] if view and view[0] else 0
        return StoredTensor(key, STORAGES[storage], size, offset, (), ())

    def rebuild_tensor(self, storage, offset, shape, strides, *_):
        return storage._replace(
            offset=storage.offset + offset, shape=shape, strides=strides
        )

    def rebuild_parameter(self, tensor, *_):
        return tensor


def _open(path, file):
    """Returns the state dict of a file and a function that reads storages."""
    try:
        if zipfile.is_zipfile(file):
            return _open_zip(path, file)
        file.seek(0)
        return _open_legacy(path, file)
    except CheckpointError:
        raise
    except DAMAGE as error:
        raise CheckpointError(
            f"{path}: damaged or not a PyTorch file ({error!r})."
        ) from error


def _open_zip(path, file):
    """Opens the format of today: a pickle and a file for each storage."""
    archive = zipfile.ZipFile(file)
    names = archive.namelist()
    pickles = [name for name in names if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise CheckpointError(
            f"{path}: expected a PyTorch archive with one data.pkl, found "
            f"{len(pickles)} among {len(names)} entries."
        )
    root = pickles[0].removesuffix("data.pkl")
    if f"{root}byteorder" in names and (
        archive.read(f"{root}byteorder") != b"little"
    ):
        raise CheckpointError(f"{path}: expected little-endian tensors.")

    def read_storage(tensor, size):
        entry = archive.getinfo(f"{root}data/{tensor.key}")
        # Before it is read: a compressed entry can be any number of bytes.
        if entry.file_size != size:
            raise ValueError(f"expected {size} bytes, found {entry.file_size}")
        return archive.read(entry)

    with archive.open(pickles[0]) as data:
        return _Unpickler(data, path).load(), read_storage


def _open_legacy(path, file):
    """Opens the format before PyTorch 1.6: pickles, then the storages."""
    if _Unpickler(file, path).load() != LEGACY_MAGIC:
        raise CheckpointError(f"{path}: not a file of torch.save.")
    _Unpickler(file, path).load()  # protocol version
    system = _Unpickler(file, path).load()
    if not system["little_endian"]:
        raise CheckpointError(f"{path}: expected little-endian tensors.")
    state = _Unpickler(file, path).load()
    keys = _Unpickler(file, path).load()
    tensors = {tensor.key: tensor for tensor in _checked(state, path).values()}
    starts = {}
    for key in keys:
        (count,) = struct.unpack("<q", file.read(8))
        starts[key] = file.tell()
        file.seek(count * _item_size(tensors[key].dtype), 1)

    def read_storage(tensor, size):
        file.seek(starts[tensor.key])
        return file.read(size)

    return state, read_storage


def _checked(state, path):
    """A state dict, once it is known to be one."""
    if not isinstance(state, dict):
        raise CheckpointError(
            f"{path}: expected a dict of tensors, found {type(state).__name__}."
        )
    for name, tensor in state.items():
        if not isinstance(name, str) or not isinstance(tensor, StoredTensor):
            raise CheckpointError(
                f"{path}: expected a dict of tensors, found "
                f"{type(tensor).__name__} under {name!r}."
            )
    return state


def _reader(tensor, name, path, read_storage):
    def read():
        try:
            _check_bounds(tensor)
            size = tensor.storage_size * _item_size(tensor.dtype)
            data = read_storage(tensor, size)
            if len(data) != size:
                raise ValueError(f"expected {size} bytes, found {len(data)}")
            return _to_array(tensor, data)
        except DAMAGE as error:
            raise CheckpointError(
                f"{path}: tensor {name!r} cannot be read ({error})."
            ) from error

    return read


def _check_bounds(tensor):
    """Raises if a tensor would reach beyond its storage."""
    numbers = (*tensor.shape, *tensor.strides, tensor.offset)
    end = tensor.offset + sum(
        (size - 1) * stride
        for size, stride in zip(tensor.shape, tensor.strides, strict=True)
    )
    end += 0 not in tensor.shape
    if min(numbers) < 0 or end > tensor.storage_size:
        raise ValueError(
            f"shape {tensor.shape} from element {tensor.offset} on is more "
            f"than the {tensor.storage_size} elements of its storage"
        )


def _to_array(tensor, data):
    if tensor.dtype == "bfloat16":
        flat = widen_bfloat16(np.frombuffer(data, "<u2"))
    else:
        flat = np.frombuffer(data, tensor.dtype)
    return np.lib.stride_tricks.as_strided(
        flat[tensor.offset :],
        tensor.shape,
        [stride * flat.itemsize for stride in tensor.strides],
        writeable=False,
    )


def _item_size(dtype):
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
