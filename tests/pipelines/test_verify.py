"""`verify`: every backend against the reference, and its verdict."""

import numpy as np
import pytest

from pipelines import cli, verify
from pipelines.errors import RunFailed
from pipelines.options import VerifyOptions

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
    header, *rows = verify.table(runs, LARGEST)
    assert [len(row) for row in rows] == [len(header)] * 2
    assert header.split("  ")[-1].strip() == "torch float32"
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


def test_a_missing_backend_is_named_and_what_fails_ends_the_run(
    bert, capsys, monkeypatch
):
    """A size: random weights, the same in each process."""
    monkeypatch.setattr(verify, "BACKENDS", {"jax": "jax", "mxnet": "mxnet"})
    find = verify.importlib.util.find_spec
    monkeypatch.setattr(
        verify.importlib.util,
        "find_spec",
        lambda name: None if name == "transformers" else find(name),
    )
    argv = ["verify", "--encoder", "bert-tiny", "--bfloat16-tolerance", "1e-9"]
    assert cli.main(argv) == cli.FAILED
    shown = capsys.readouterr()
    assert "transformers: not installed, skipped" in shown.err
    assert "mxnet: not installed, skipped" in shown.err
    assert "largest difference from jax float32" in shown.out
    assert "beyond the tolerance:\n  jax bfloat16, layer_1" in shown.err


def test_a_process_that_breaks_is_named(tmp_path, monkeypatch):
    with pytest.raises(
        RunFailed, match="jax: ended with code 1:(.|\n)*No such"
    ):
        verify._run("keras", {"KERAS_BACKEND": "jax"}, tmp_path, tmp_path)
