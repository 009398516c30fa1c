"""`verify`: every backend against the reference, and its verdict."""

import numpy as np
import pytest

from keras_encoder.checkpoints import huggingface
from keras_encoder.checkpoints.load import load_encoder, load_encoder_only
from keras_encoder.tokenizer import Tokenizer
from pipelines import cli, verify
from pipelines.errors import RunFailed
from pipelines.options import VerifyOptions
from tests.pipelines.tiny import vocabulary

pytestmark = pytest.mark.backend_free

LARGEST = {"layer_1": 2.0, "pooled": 1.0}
OPTIONS = VerifyOptions(tolerance=1e-4, bfloat16_tolerance=0.1)


@pytest.mark.parametrize(
    ("run", "found", "expected"),
    [
        ("jax float32", {"layer_1": 1e-5, "pooled": 1e-4}, None),
        ("jax float32", {"layer_1": 1e-5, "pooled": 2e-4}, "pooled: 2.00e-04"),
        ("jax bfloat16", {"layer_1": 0.19, "pooled": 0.09}, None),
        ("jax bfloat16", {"layer_1": 0.21, "pooled": 0.09}, "layer_1: 2.10"),
        ("jax bfloat16", {"layer_1": 0.1, "pooled": np.nan}, "pooled: nan"),
    ],
)
def test_a_difference_beyond_its_tolerance_is_named(run, found, expected):
    lines = verify.beyond({run: found}, LARGEST, OPTIONS)
    assert len(lines) == (expected is not None)
    assert all(run in line and expected in line for line in lines)


def test_the_table_has_a_row_a_layer_and_a_column_a_run():
    runs = {
        "jax float32": {"layer_1": 1e-5, "pooled": 1e-6},
        "torch float32": {"layer_1": 2e-5},
    }
    names, precisions, *rows = lines = verify.table(runs, LARGEST)
    assert {len(line) for line in lines} == {len(names)}
    assert names.split() == ["largest", "jax", "torch"]
    assert precisions.split() == ["value", "float32", "float32"]
    assert rows[0].split() == ["layer_1", "2.00", "1.00e-05", "2.00e-05"]
    assert rows[1].split() == ["pooled", "1.00", "1.00e-06", "-"]


def test_all_backends_agree_on_a_checkpoint(bert, capsys):
    differences = verify.verify(VerifyOptions(encoder=bert))
    shown = capsys.readouterr()
    assert "largest difference from transformers float32" in shown.out
    assert "Verdict: the same" in shown.out
    assert {*differences} == {
        f"{name} {precision}"
        for name in ("transformers", "tensorflow", "jax", "torch")
        for precision in ("float32", "bfloat16")
    } - {"transformers float32"}
    for run, found in differences.items():
        assert {*found} == {"layer_1", "layer_2", "pooled"}
        limit = 1e-5 if run.endswith("float32") else 0.3
        assert max(found.values()) < limit
        # Half precision is really used: it is not the same to the digit.
        assert run.endswith("float32") or max(found.values()) > 1e-4


def test_random_weights_are_written_once_for_all_processes(tmp_path):
    folder, batch = verify._prepare("bert-tiny", tmp_path)
    assert folder == tmp_path / "encoder"
    first, again = (load_encoder_only(folder)[0] for _ in range(2))
    for one, other in zip(first.weights, again.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert batch["token_ids"].shape == batch["padding_mask"].shape
    lengths = batch["padding_mask"].sum(axis=1)
    assert min(lengths) < max(lengths)


def test_a_folder_of_transformers_is_read_where_it_lies(bert, tmp_path):
    assert str(verify._prepare(bert, tmp_path)[0]) == bert


def test_what_transformers_cannot_read_is_converted(tmp_path):
    encoder, _, _ = load_encoder("bert-tiny", norm_first=True)
    huggingface.save_encoder(encoder, tmp_path / "own")
    Tokenizer.from_vocabulary(vocabulary()).save(tmp_path / "own")
    folder, _ = verify._prepare(str(tmp_path / "own"), tmp_path)
    assert folder == tmp_path / "encoder"


def test_missing_backends_are_named_and_a_difference_ends_the_run(
    bert, capsys, monkeypatch
):
    """Without transformers the first backend is the reference."""
    ones = np.ones((4, 3, 2), "float32")
    found = {
        "float32/layer_1": ones,
        "bfloat16/layer_1": ones + np.array([0.0, 0.5, 9.0])[:, None],
    }
    monkeypatch.setattr(verify, "BACKENDS", {"jax": "jax", "mxnet": "mxnet"})
    monkeypatch.setattr(verify, "_run", lambda *args: found)
    mask = np.tile([1, 1, 0], (4, 1))  # the 9 is padding's
    monkeypatch.setattr(
        verify, "_prepare", lambda *args: (bert, {"padding_mask": mask})
    )
    find = verify.importlib.util.find_spec
    monkeypatch.setattr(
        verify.importlib.util,
        "find_spec",
        lambda name: None if name in ("transformers", "mxnet") else find(name),
    )
    assert cli.main(["verify"]) == cli.FAILED
    shown = capsys.readouterr()
    assert "transformers: not installed, skipped" in shown.err
    assert "mxnet: not installed, skipped" in shown.err
    assert "largest difference from jax float32" in shown.out
    expected = "beyond the tolerance:\n  jax bfloat16, layer_1: 5.00e-01"
    assert expected in shown.err
    assert cli.main(["verify", "--bfloat16-tolerance", "0.5"]) == cli.DONE


def test_a_process_that_breaks_is_named(tmp_path, monkeypatch):
    with pytest.raises(
        RunFailed, match="jax: ended with code 1:(.|\n)*No such"
    ):
        verify._run("keras", {"KERAS_BACKEND": "jax"}, tmp_path, tmp_path)
