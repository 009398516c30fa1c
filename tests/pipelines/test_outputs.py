"""Files and folders appear whole or not at all."""

import json
import os
import pathlib

import pytest

from pipelines.errors import InputError
from pipelines.outputs import SETTINGS, choose_output, new_file, new_folder

pytestmark = pytest.mark.backend_free


def old_model(path):
    path.mkdir(parents=True)
    (path / SETTINGS).write_text("{}")
    (path / "old").write_text("old")
    return path


def content(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_a_new_folder_takes_its_place_when_whole(tmp_path):
    path = tmp_path / "some" / "model"
    with new_folder(path) as folder:
        (folder / "file").write_text("new")
        assert not path.exists()
    assert content(tmp_path / "some") == ["model", "model/file"]


def test_an_old_model_is_replaced_as_a_whole(tmp_path):
    path = old_model(tmp_path / "model")
    with new_folder(path) as folder:
        (folder / "file").write_text("new")
        assert (path / "old").exists()
    assert content(tmp_path) == ["model", "model/file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_folder_and_nothing_else(tmp_path, error):
    path = old_model(tmp_path / "model")
    with pytest.raises(error):
        with new_folder(path) as folder:
            (folder / "file").write_text("new")
            raise error
    assert content(tmp_path) == [
        "model",
        f"model/{SETTINGS}",
        "model/old",
    ]


def test_a_folder_that_cannot_take_its_place_gives_the_old_one_back(
    tmp_path, monkeypatch
):
    path = old_model(tmp_path / "model")
    rename = pathlib.Path.rename

    def fail_on_new(self, target):
        if target == path and (self / "file").exists():
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(pathlib.Path, "rename", fail_on_new)
    with pytest.raises(KeyboardInterrupt):
        with new_folder(path) as folder:
            (folder / "file").write_text("new")
    assert content(tmp_path) == ["model", f"model/{SETTINGS}", "model/old"]


def test_others_can_read_a_new_folder(tmp_path):
    with new_folder(tmp_path / "model") as folder:
        (folder / "file").write_text("new")
    assert (tmp_path / "model").stat().st_mode & 0o555 == 0o555


def test_outputs_are_numbered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(choose_output(None, False, "tag")) == "runs/tag-1"
    (tmp_path / "runs" / "tag-1").mkdir(parents=True)
    assert str(choose_output(None, False, "tag")) == "runs/tag-2"


def test_an_absent_or_empty_folder_may_be_written(tmp_path):
    assert choose_output(str(tmp_path), False, "tag") == tmp_path
    path = tmp_path / "a" / "b"
    assert choose_output(str(path), False, "tag") == path


def test_a_model_is_replaced_on_request_only(tmp_path):
    path = old_model(tmp_path / "model")
    with pytest.raises(InputError, match="--overwrite"):
        choose_output(str(path), False, "tag")
    assert choose_output(str(path), True, "tag") == path


@pytest.mark.parametrize("overwrite", [False, True])
def test_other_content_is_never_replaced(tmp_path, overwrite):
    (tmp_path / "thesis.tex").write_text("three years of work")
    with pytest.raises(InputError, match="other content"):
        choose_output(str(tmp_path), overwrite, "tag")


@pytest.mark.parametrize("below", ["", "model", "some/model"])
def test_a_file_is_no_folder(tmp_path, below):
    path = tmp_path / "file"
    path.write_text("text")
    with pytest.raises(InputError, match="file"):
        choose_output(str(path / below), True, "tag")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_found_at_once(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match="cannot be written"):
        choose_output(str(tmp_path / "model"), False, "tag")


def test_a_new_file_is_utf8_with_unix_lines(tmp_path):
    path = tmp_path / "sub" / "out.jsonl"
    with new_file(str(path)) as file:
        file.write("Łódź\n")
        assert not path.exists()
    assert path.read_bytes() == "Łódź\n".encode()
    assert content(tmp_path) == ["sub", "sub/out.jsonl"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(error):
        with new_file(str(path)) as file:
            file.write("new")
            raise error
    assert path.read_text() == "old"
    assert content(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["folder", "file/out"])
def test_a_file_that_cannot_be_written_is_found_at_once(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("text")
    with pytest.raises(InputError, match="--output"):
        with new_file(str(tmp_path / name)):
            raise AssertionError("not reached")


def test_a_device_is_written_not_replaced(tmp_path):
    """`--output /dev/stdout` and the like."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with new_file(str(pipe)) as file:
        file.write("line\n")
    assert os.read(reader, 100) == b"line\n"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_stays_a_link(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)
    with new_file(str(link)) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_is_no_unicode_is_written_as_json_spells_it(tmp_path):
    """Such as the name of a file, in the place of a mistake."""
    path = tmp_path / "a.jsonl"
    with new_file(str(path)) as file:
        file.write(json.dumps({"where": "K\udcf6ln.csv:2"}, ensure_ascii=False))
    assert path.read_bytes() == b'{"where": "K\\udcf6ln.csv:2"}'
    assert json.loads(path.read_text("utf-8"))["where"] == "K\udcf6ln.csv:2"
