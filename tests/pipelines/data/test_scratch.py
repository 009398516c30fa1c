import gc
import os
import tempfile

import numpy as np
import pytest

from pipelines.data.examples import TextExample
from pipelines.data.scratch import (
    Scratch,
    ScratchArray,
    empty_array,
    scratch_folder,
    where_kept,
)
from pipelines.data.stored import StoredExamples, have_pairs, labels_of
from pipelines.errors import InputError, RunFailed

EXAMPLES = [
    TextExample("a", None, "x", "f:1", 7),
    TextExample("é\0\u2028 \ud800", "b", ("x", "y"), "f:2", "id"),
    TextExample("", "", 2.5, "f:3"),
    TextExample("a", None, None, "f:4"),
]


@pytest.fixture(params=["memory", "disk"])
def place(request, monkeypatch):
    if request.param == "disk":
        monkeypatch.setattr("pipelines.data.scratch._SMALL", 1)


def test_bytes_come_back_whatever_was_written_between(place):
    scratch = Scratch()
    assert [scratch.append(raw) for raw in (b"abc", b"", b"de")] == [0, 3, 3]
    assert scratch.read(1, 3) == b"bcd"
    assert scratch.append(b"f") == 5
    assert scratch.read(3, 3) == b"def"
    assert scratch.size == 6


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_slices_of_an_array_are_those_of_numpy(place, dtype):
    found, expected = ScratchArray(dtype), np.arange(10).astype(dtype)
    found.append(expected[:4])
    found.append(expected[4:])
    assert (len(found), found.shape, found.dtype) == (10, (10,), dtype)
    for start, stop in ((0, 10), (3, 7), (5, 5), (8, 99), (-2, None)):
        np.testing.assert_array_equal(found[start:stop], expected[start:stop])


def test_a_full_disk_is_told(monkeypatch):
    scratch = Scratch()

    def fail(raw):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scratch._file, "write", fail)
    with pytest.raises(RunFailed, match="No space left.*TMPDIR"):
        scratch.append(b"a")


@pytest.mark.parametrize("smallest", [0, 1 << 20])
def test_an_array_is_filled_and_read_wherever_it_stands(monkeypatch, smallest):
    monkeypatch.setattr("pipelines.data.scratch._SMALL_ARRAY", smallest)
    array = empty_array((3, 1, 5))
    expected = np.arange(15, dtype="float32").reshape(3, 1, 5)
    array[[2, 0]], array[1] = expected[[2, 0]], expected[1]
    flat = array.reshape(-1, 5)
    flat[:] = 2 * flat
    np.testing.assert_array_equal(array, 2 * expected)
    assert (type(array), array.dtype) == (np.ndarray, "float32")


def test_the_folder_of_a_run_is_made_used_and_left_empty(tmp_path):
    folder = tmp_path / "new" / "cache"
    with scratch_folder(str(folder)):
        assert tempfile.gettempdir() == str(folder)
        array = np.zeros(1 << 26, "float32")  # 2 ** 28 bytes
        assert where_kept([array]) == f"268.4 MB on disk in {folder}"
        assert where_kept([array[:2000]] * 3) == "0.0 MB in memory"
    assert tempfile.gettempdir() != str(folder)
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="--cache-dir .*expected a folder"):
        with scratch_folder(str(file)):
            pass


def test_an_array_that_no_disk_holds_is_told(monkeypatch):
    if not hasattr(os, "posix_fallocate"):
        pytest.skip("the disk cannot be asked")
    with pytest.raises(RunFailed, match="no room .* TMPDIR"):
        empty_array((1 << 40, 1 << 10))


def test_nothing_is_left_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.data.scratch._SMALL", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened = len(os.listdir("/proc/self/fd")) if os.name == "posix" else 0
    examples = StoredExamples(EXAMPLES)
    part = examples.take(np.array([1]))
    del examples
    assert part[0] == EXAMPLES[1]  # the file lives as long as a part of it
    del part
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    if os.name == "posix":
        assert len(os.listdir("/proc/self/fd")) <= opened


def test_stored_examples_are_like_a_list(place):
    stored = StoredExamples(iter(EXAMPLES))
    assert len(stored) == 4
    assert list(stored) == EXAMPLES
    assert stored == EXAMPLES
    assert stored != EXAMPLES[:3]
    assert stored[-1] == EXAMPLES[-1]
    assert stored[1:3] == EXAMPLES[1:3]
    assert stored[::-1] == EXAMPLES[::-1]
    assert not StoredExamples()
    with pytest.raises(IndexError):
        stored[4]


def test_parts_share_the_file_and_keep_labels_and_hashes(place):
    stored = StoredExamples(EXAMPLES)
    part = stored.take(np.array([3, 1, 0]))
    assert part == [EXAMPLES[i] for i in (3, 1, 0)]
    assert part.labels == [None, ("x", "y"), "x"]
    assert part.take(np.array([2])) == EXAMPLES[:1]
    assert part.hashes[0] == part.hashes[2] == stored.hashes[0]
    assert len(set(stored.hashes)) == 3


def test_equal_labels_share_an_object():
    rows = [TextExample("t", label="".join(["x", "y"])) for _ in range(3)]
    stored = StoredExamples(rows)
    assert stored[0].label is stored[2].label is stored.labels[1]


def test_labels_and_pairs_of_any_sequence():
    for examples in (EXAMPLES, StoredExamples(EXAMPLES)):
        assert labels_of(examples) == ["x", ("x", "y"), 2.5, None]
        assert have_pairs(examples)
    for examples in (EXAMPLES[:1], StoredExamples(EXAMPLES[:1])):
        assert not have_pairs(examples)
