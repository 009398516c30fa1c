import collections
import json
import os
import pickle
import random
import zipfile

import numpy as np
import pytest
import torch

from keras_encoder.checkpoints import huggingface, torch_files
from keras_encoder.checkpoints.errors import CheckpointError
from tests.keras_encoder.checkpoints.references import (
    assert_encoder_same,
    bert,
    random_inputs,
)

both_formats = pytest.mark.parametrize("zipped", [True, False])


def save(folder, state, zipped=True, name=torch_files.SINGLE):
    torch.save(state, folder / name, _use_new_zipfile_serialization=zipped)
    return folder / name


def read(folder):
    with torch_files.open_tensors(folder) as tensors:
        return {name: np.array(tensors[name]()) for name in tensors}


def some_tensors():
    ramp = torch.arange(24.0).reshape(2, 3, 4)
    return collections.OrderedDict(
        float32=ramp,
        float16=ramp.half(),
        float64=ramp.double() / 3,
        int64=ramp.long(),
        int8=ramp.to(torch.int8),
        bool=ramp > 3,
        view=ramp[1, 1:, ::2],
        transposed=ramp.permute(2, 0, 1),
        expanded=torch.ones(1, 4).expand(3, 4),
        scalar=torch.tensor(7.5),
        empty=torch.zeros(0, 3),
        parameter=torch.nn.Parameter(ramp[0]),
    )


class Touch:
    """Unpickled by `pickle`, makes a file."""

    def __init__(self, path):
        self.command = f"echo run > {path}"

    def __reduce__(self):
        return os.system, (self.command,)


@both_formats
def test_a_folder_of_transformers_gives_the_same_encoder(tmp_path, zipped):
    model = bert()
    model.config.save_pretrained(tmp_path)
    save(tmp_path, model.state_dict(), zipped)
    encoder, report = huggingface.load_encoder(tmp_path)
    assert_encoder_same(encoder, model, random_inputs())
    assert not report.missing
    assert not report.unexpected


def test_safetensors_are_preferred(tmp_path):
    model = bert()
    model.save_pretrained(tmp_path)
    (tmp_path / torch_files.SINGLE).write_bytes(b"damaged")
    assert huggingface.load_encoder(tmp_path)[1].matched


@pytest.mark.backend_free
@both_formats
def test_every_kind_of_tensor_is_read(tmp_path, zipped):
    state = some_tensors()
    save(tmp_path, state, zipped)
    tensors = read(tmp_path)
    assert list(tensors) == list(state)
    for name, tensor in state.items():
        expected = tensor.detach().numpy()
        assert tensors[name].dtype == expected.dtype
        np.testing.assert_array_equal(tensors[name], expected, err_msg=name)


@pytest.mark.backend_free
@both_formats
def test_bfloat16_becomes_float32(tmp_path, zipped):
    tensor = torch.tensor([[1.5, -2.25e-20], [3e38, 0.0]]).bfloat16()
    save(tmp_path, {"a": tensor}, zipped)
    array = read(tmp_path)["a"]
    assert array.dtype == "float32"
    np.testing.assert_array_equal(array, tensor.float().numpy())


@pytest.mark.backend_free
def test_shards_are_one_mapping(tmp_path):
    weight_map = {}
    for number, name in enumerate("abc"):
        shard = f"pytorch_model-{number}.bin"
        save(tmp_path, {name: torch.full((2,), number)}, name=shard)
        weight_map[name] = shard
    index = tmp_path / torch_files.INDEX
    index.write_text(json.dumps({"weight_map": weight_map}))
    tensors = read(tmp_path)
    assert {name: array[0] for name, array in tensors.items()} == {
        "a": 0,
        "b": 1,
        "c": 2,
    }


@pytest.mark.backend_free
def test_a_tensor_in_two_shards_is_refused(tmp_path):
    for number, names in enumerate(("a", "ab")):
        state = {name: torch.full((2,), number) for name in names}
        save(tmp_path, state, name=f"pytorch_model-{number}.bin")
    weight_map = {"a": "pytorch_model-0.bin", "b": "pytorch_model-1.bin"}
    index = tmp_path / torch_files.INDEX
    index.write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(CheckpointError, match="'a' stands in another shard"):
        read(tmp_path)


@pytest.mark.backend_free
@pytest.mark.parametrize("where", ["alone", "in a zip", "inside a state dict"])
def test_a_pickle_that_would_run_a_command_runs_nothing(tmp_path, where):
    marker = tmp_path / "marker"
    path = tmp_path / torch_files.SINGLE
    if where == "alone":
        path.write_bytes(pickle.dumps({"a": Touch(marker)}))
    elif where == "in a zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x/data.pkl", pickle.dumps({"a": Touch(marker)}))
    else:
        save(tmp_path, {"a": torch.ones(2), "b": Touch(marker)})
    with pytest.raises(CheckpointError, match="(posix|nt).system.*nothing was"):
        read(tmp_path)
    assert not marker.exists()
    pickle.loads(pickle.dumps(Touch(marker)))  # this is what would run it
    assert marker.exists()


@pytest.mark.backend_free
@pytest.mark.parametrize(
    "value",
    [torch.nn.Linear(2, 2), np.ones(2), print, range(3)],
    ids=["module", "numpy", "function", "range"],
)
def test_anything_but_tensors_is_refused_by_name(tmp_path, value):
    save(tmp_path, {"a": value})
    with pytest.raises(
        CheckpointError, match=r"asks for \w+\.[\w.]+, which no"
    ):
        read(tmp_path)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    "state",
    [torch.ones(2), [torch.ones(2)], {"a": {"b": torch.ones(2)}}, {"a": 1}],
    ids=["tensor", "list", "nested", "number"],
)
@both_formats
def test_a_file_that_is_no_dict_of_tensors_is_refused(tmp_path, state, zipped):
    save(tmp_path, state, zipped)
    with pytest.raises(CheckpointError, match="expected a dict of tensors"):
        read(tmp_path)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [
        (0, (5,), (1,)),
        (3, (2,), (1,)),
        (0, (2, 2), (3, 1)),
        (-1, (2,), (1,)),
        (4, (2,), (-1,)),
        (0, (-2,), (1,)),
        (0, (2,), ()),
        (0, ("2",), (1,)),
        (0, None, None),
        (2**70, (1,), (1,)),
    ],
)
def test_a_tensor_never_reaches_beyond_its_storage(
    tmp_path, monkeypatch, offset, shape, strides
):
    save(tmp_path, {"weight": torch.ones(4)})

    def rebuild_tensor(self, storage, *_):
        return storage._replace(offset=offset, shape=shape, strides=strides)

    monkeypatch.setattr(
        torch_files._Unpickler, "rebuild_tensor", rebuild_tensor
    )
    with pytest.raises(CheckpointError, match="'weight' cannot be read"):
        read(tmp_path)


@pytest.mark.backend_free
def test_a_storage_of_another_size_is_refused(tmp_path):
    path = save(tmp_path, {"weight": torch.ones(4)})
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            longer = bytes(10**6) if name.endswith("data/0") else data
            archive.writestr(name, longer)
    with pytest.raises(
        CheckpointError, match="expected 16 bytes, found 1000000"
    ):
        read(tmp_path)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"text", "damaged or not a PyTorch file"),
        (pickle.dumps(5), "not a file of torch.save"),
        (pickle.dumps({"a": [1.0]}), "not a file of torch.save"),
    ],
)
def test_a_file_that_is_no_checkpoint_is_named(tmp_path, content, message):
    (tmp_path / torch_files.SINGLE).write_bytes(content)
    with pytest.raises(
        CheckpointError, match=f"pytorch_model.bin: .*{message}"
    ):
        read(tmp_path)


@pytest.mark.backend_free
@both_formats
def test_a_truncated_file_is_refused_at_any_length(tmp_path, zipped):
    path = save(tmp_path, some_tensors(), zipped)
    content = path.read_bytes()
    for length in range(1, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="pytorch_model.bin"):
            read(tmp_path)


@pytest.mark.backend_free
@both_formats
def test_damage_anywhere_raises_nothing_else(tmp_path, zipped):
    path = save(tmp_path, some_tensors(), zipped)
    content = path.read_bytes()
    rng = random.Random(0)
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 1, 5])):
            damaged[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            read(tmp_path)
        except CheckpointError as error:
            assert "pytorch_model.bin" in str(error)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    "name", ["../secret.bin", "/etc/passwd", "a/b.bin", "..\\x.bin", "", ".."]
)
def test_an_index_that_points_outside_its_folder_is_refused(tmp_path, name):
    folder = tmp_path / "model"
    folder.mkdir()
    save(tmp_path, {"a": torch.ones(2)}, name="secret.bin")
    index = folder / torch_files.INDEX
    index.write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(CheckpointError, match="outside its folder"):
        read(folder)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": 3}}'],
)
def test_a_damaged_index_is_named(tmp_path, content):
    (tmp_path / torch_files.INDEX).write_text(content)
    with pytest.raises(CheckpointError, match="bin.index.json"):
        read(tmp_path)


@pytest.mark.backend_free
def test_a_missing_shard_is_named(tmp_path):
    index = tmp_path / torch_files.INDEX
    index.write_text(json.dumps({"weight_map": {"a": "pytorch_model-1.bin"}}))
    with pytest.raises(CheckpointError, match="pytorch_model-1.bin: a shard"):
        read(tmp_path)


@pytest.mark.backend_free
def test_a_pickle_cannot_change_what_it_is_given(tmp_path):
    """BUILD sets attributes; of what the reader hands out it must not."""
    path = tmp_path / torch_files.SINGLE
    for name in (
        b"ctorch._utils\n_rebuild_tensor_v2\n",
        b"ccollections\nOrderedDict\n",
        b"ctorch\nSize\n",
        b"ctorch\nFloatStorage\n",
    ):
        state = b"N}X\x0c\x00\x00\x00__defaults__K\x05s\x86b."
        path.write_bytes(b"\x80\x02" + name + state)
        with pytest.raises(CheckpointError, match="damaged"):
            read(tmp_path)
