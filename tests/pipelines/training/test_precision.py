"""`--precision auto`: bfloat16 where products gain from it."""

import pytest

from pipelines.training import precision


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ({"float32": 0.02, "bfloat16": 0.01}, "bfloat16"),
        ({"float32": 0.014, "bfloat16": 0.01}, "bfloat16"),
        ({"float32": 0.012, "bfloat16": 0.01}, "float32"),
        ({"float32": 0.02, "bfloat16": 0.4}, "float32"),
    ],
)
def test_the_faster_one_is_chosen_and_told(
    monkeypatch, capsys, seconds, expected
):
    monkeypatch.setattr(
        precision, "_seconds", lambda size, dtype: seconds[dtype]
    )
    assert precision.choose_precision("auto") == expected
    told = capsys.readouterr().err
    assert f"Precision: {expected} (products are" in told


def test_a_product_is_long_enough_to_be_measured(monkeypatch):
    sizes = []

    def of_an_accelerator(size, dtype):
        sizes.append((size, dtype))
        return 1e-4 + (size / 2048) ** 3 * (
            1e-3 if dtype == "float32" else 1e-4
        )

    monkeypatch.setattr(precision, "_seconds", of_an_accelerator)
    assert precision.times_as_fast_in_bfloat16() > 5
    assert sizes[-1] == (4096, "bfloat16")


@pytest.mark.parametrize("chosen", list(precision.POLICIES))
def test_a_given_precision_is_not_measured(monkeypatch, capsys, chosen):
    monkeypatch.setattr(precision, "_seconds", None)
    assert precision.choose_precision(chosen) == chosen
    assert not capsys.readouterr().err


def test_the_running_backend_is_measured():
    assert 0.01 < precision.times_as_fast_in_bfloat16() < 1000
