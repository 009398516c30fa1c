"""Options are frozen, typed, and have valid defaults."""

import dataclasses

import pytest

from pipelines import options
from pipelines.arguments import check_value
from pipelines.cli import COMMANDS

pytestmark = pytest.mark.backend_free
ALL = [kind for _, kind in COMMANDS.values()]


@pytest.mark.parametrize("kind", ALL)
def test_defaults_are_valid(kind):
    for field in dataclasses.fields(kind):
        if field.default is not dataclasses.MISSING:
            found = check_value(field.default, field, field.name)
            assert found == field.default


@pytest.mark.parametrize("kind", ALL)
def test_options_cannot_change(kind):
    needed = {
        field.name: "x"
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING
    }
    some = kind(**needed)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(some, dataclasses.fields(kind)[0].name, "y")


def test_the_shipped_recipe_is_the_one_of_the_design():
    """Adapt until it stops to improve, then 2 epochs at 2e-5."""
    some = options.ClassifyOptions()
    assert (some.encoder, some.max_length, some.batch_size) == (
        "minilm-l6",
        128,
        32,
    )
    assert (some.finetune_epochs, some.finetune_learning_rate) == (2, 2e-5)
    assert (some.warmup, some.weight_decay, some.clip_norm) == (0.1, 0.01, 1.0)
    assert some.adapt_patience is not None
