"""What the recipes share: stages and class weights."""

import pytest

from pipelines.errors import InputError
from pipelines.options import ClassifyOptions
from pipelines.training.class_weights import weights_by_label
from pipelines.training.recipe import make_stages

pytestmark = pytest.mark.backend_free


def test_a_random_encoder_has_nothing_to_adapt_to():
    stages = make_stages(ClassifyOptions(), is_random=True)
    assert [stage.epochs for stage in stages] == [0, 2]
    stages = make_stages(ClassifyOptions(), is_random=False)
    assert [stage.epochs for stage in stages] == [100, 2]


def test_balanced_weights_give_every_class_the_same_say():
    found = weights_by_label("balanced", ("a", "b"), {"a": 3, "b": 1})
    assert found == {"a": 4 / (2 * 3), "b": 4 / (2 * 1)}


def test_given_weights_are_taken_and_others_are_one():
    found = weights_by_label("b = 3 ,x=y=0.5", ("a", "b", "x=y"), {})
    assert found == {"a": 1.0, "b": 3.0, "x=y": 0.5}


def test_a_run_without_epochs_is_refused():
    options = ClassifyOptions(finetune_epochs=0)
    assert len(make_stages(options, is_random=False)) == 2
    with pytest.raises(InputError, match="--finetune-epochs"):
        make_stages(options, is_random=True)
