import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file as save_torch_file

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.safetensors_files import open_tensors
from tests.keras_encoder.bert_folders import (
    INDEX,
    SINGLE,
    write_index,
    write_shards,
    write_tensors,
)
from tests.keras_encoder.fixed_weights import sine

pytestmark = pytest.mark.backend_free

TENSORS = {"a": sine((3, 2)), "b": sine((4,), 0.2), "c": sine((5, 1), 0.4)}


def read(folder):
    with open_tensors(folder) as tensors:
        return {name: get() for name, get in tensors.items()}


def assert_same(found, expected=TENSORS):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.fixture
def folder(tmp_path):
    write_tensors(tmp_path, TENSORS)
    return tmp_path


def test_a_single_file_is_read(folder):
    assert_same(read(folder))


def test_shards_are_one_mapping(folder):
    write_shards(folder, TENSORS, ["x-1.safetensors", "x-2.safetensors"])
    assert_same(read(folder))


def test_a_tensor_in_two_shards_is_refused(folder):
    write_shards(folder, TENSORS, ["x-1.safetensors", "x-2.safetensors"])
    write_tensors(
        folder, {"b": TENSORS["b"], "a": 9 + TENSORS["a"]}, "x-2.safetensors"
    )
    with pytest.raises(CheckpointError, match="'a' stands in another shard"):
        read(folder)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_read(tmp_path, dtype):
    tensors = {
        name: torch.tensor(array).to(dtype) for name, array in TENSORS.items()
    }
    save_torch_file(tensors, tmp_path / SINGLE)
    expected = {name: each.float().numpy() for name, each in tensors.items()}
    found = {n: each.astype("float32") for n, each in read(tmp_path).items()}
    assert_same(found, expected)


def test_no_file_is_an_error_that_says_what_was_looked_for(tmp_path):
    with pytest.raises(CheckpointError, match=f"{SINGLE} or {INDEX}"):
        read(tmp_path)


@pytest.mark.parametrize("kept", [0, 3, 7, 8, 9, 60, -1])
def test_a_truncated_file_is_an_error_that_names_it(folder, kept):
    path = folder / SINGLE
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=SINGLE):
        read(folder)


def test_a_git_lfs_pointer_is_an_error_that_says_what_to_do(tmp_path):
    (tmp_path / SINGLE).write_text(
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:0000\nsize 90868376\n"
    )
    with pytest.raises(CheckpointError, match="git lfs pull"):
        read(tmp_path)


@pytest.mark.parametrize("content", [b"no tensors" * 9, b"\0" * 99])
def test_another_file_under_the_name_is_an_error(tmp_path, content):
    (tmp_path / SINGLE).write_bytes(content)
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        read(tmp_path)


def test_a_folder_under_the_name_is_an_error(tmp_path):
    (tmp_path / SINGLE).mkdir()
    with pytest.raises(CheckpointError, match=SINGLE):
        read(tmp_path)


def test_a_missing_shard_is_an_error_that_names_it(folder):
    write_shards(folder, TENSORS, ["x-1.safetensors", "x-2.safetensors"])
    (folder / "x-2.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"x-2\.safetensors.* missing"):
        read(folder)


@pytest.mark.parametrize(
    "name",
    ["../x.safetensors", "/etc/passwd", "a/../../x", "..\\x", "..", ".", ""],
)
def test_an_index_that_points_outside_its_folder_is_an_error(folder, name):
    inner = folder / "inner"
    inner.mkdir()
    (folder / SINGLE).rename(folder / "x.safetensors")
    write_index(inner, {"a": name})
    with pytest.raises(CheckpointError, match="outside its folder"):
        read(inner)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": ["a"]}', "\x00"],
)
def test_a_damaged_index_is_an_error(tmp_path, content):
    (tmp_path / INDEX).write_text(content)
    with pytest.raises(CheckpointError, match=r"weight_map|expected JSON"):
        read(tmp_path)


@pytest.mark.parametrize("value", [3, None, {"x": "y"}, True])
def test_an_index_that_names_no_files_is_an_error(tmp_path, value):
    text = json.dumps({"weight_map": {"a": value, "b": "x.safetensors"}})
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(CheckpointError, match=INDEX):
        read(tmp_path)
