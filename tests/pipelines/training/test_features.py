"""What the frozen part gives, stored, is what the whole model computes."""

import numpy as np
import pytest

from keras_encoder.heads import SequenceClassifier, TokenTagger
from keras_encoder.layers.crf import CRF
from pipelines.training.features import (
    Above,
    Below,
    StandardisedHead,
    compute_states,
    head_features,
)
from pipelines.training.freezing import set_trainable
from pipelines.training.inputs import Inputs, Rows
from tests.keras_encoder.fixed_weights import (
    HIDDEN,
    LAYERS,
    VOCABULARY,
    set_sine_weights,
    sine,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import to_numpy

# All within one padded length: each is a program to compile.
LENGTHS = np.array([3, 8, 2, 6, 8, 5, 7])
ALL = np.arange(len(LENGTHS))
HEADS = [SequenceClassifier, TokenTagger]


def task_model(head, dropout=0.0):
    encoder = tiny_encoder(
        max_sequence_length=16, dropout=dropout, attention_dropout=dropout
    )
    return set_sine_weights(head(encoder, 3, dropout=dropout))


def inputs(lengths=LENGTHS):
    total = int(np.sum(lengths))
    order = np.arange(total)
    return Inputs(
        {
            "token_ids": Rows(
                (7 * order % VOCABULARY).astype("int32"), lengths
            ),
            "segment_ids": Rows((order % 3 == 0).astype("int32"), lengths),
        },
        {"token_ids": 5},
    )


def logits(model, data):
    """Logits of all rows in one batch; those at padding are 0."""
    batch = data.batch(ALL, 8)
    outputs = to_numpy(model(batch))
    if outputs.ndim == 3:
        outputs = outputs * (np.arange(8) < LENGTHS[:, None])[..., None]
    return outputs


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("cut", range(LAYERS + 1))
def test_stored_states_give_the_logits_of_the_whole_model(head, cut):
    task = task_model(head)
    states = compute_states(Below(task, cut), inputs(), batch_size=3)
    np.testing.assert_allclose(
        logits(Above(task, cut), states),
        logits(task, inputs()),
        rtol=0,
        atol=1e-6,
    )


def test_only_the_first_token_is_stored_where_no_other_is_read():
    task = task_model(SequenceClassifier)
    states = compute_states(Below(task, LAYERS), inputs(), batch_size=3)
    assert states.columns["states"].shape == (len(LENGTHS), 1, HIDDEN)
    assert states.lengths is None
    below = compute_states(Below(task, LAYERS - 1), inputs(), batch_size=3)
    np.testing.assert_array_equal(below.lengths, LENGTHS)


def test_progress_counts_the_rows_of_the_frozen_part():
    done = []
    task = task_model(SequenceClassifier)
    compute_states(Below(task, 1), inputs(), batch_size=3, progress=done.append)
    assert sum(done) == len(LENGTHS)


@pytest.mark.parametrize("cut", [0, 1, LAYERS])
def test_the_frozen_part_never_drops_out(cut):
    batch = inputs().batch(ALL, 8)
    noisy = Below(task_model(SequenceClassifier, dropout=0.5), cut)
    calm = Below(task_model(SequenceClassifier, dropout=0.0), cut)
    noisy.trainable = False
    # The backend's kernel for attention may round otherwise under a tape.
    np.testing.assert_allclose(
        to_numpy(noisy(batch, training=True)),
        to_numpy(calm(batch)),
        atol=1e-6,
    )


@pytest.mark.parametrize("blocks", range(LAYERS + 1))
def test_frozen_blocks_of_the_whole_model_never_drop_out(blocks):
    task = task_model(SequenceClassifier, dropout=0.5)
    set_trainable(task, blocks)
    batch = inputs().batch(ALL, 8)
    cut = LAYERS - blocks

    def states(training):
        encoder = task.encoder
        return to_numpy(
            encoder.encode(
                encoder.embed(batch, training=training),
                batch["padding_mask"],
                stop=cut,
                training=training,
            )
        )

    np.testing.assert_allclose(states(True), states(False), atol=1e-6)


def test_the_trained_part_drops_out():
    task = task_model(SequenceClassifier, dropout=0.5)
    set_trainable(task, 1)
    states = compute_states(Below(task, LAYERS - 1), inputs(), batch_size=3)
    batch = states.batch(ALL, 8)
    above = Above(task, LAYERS - 1)
    calm = to_numpy(above(batch))
    noisy = to_numpy(above(batch, training=True))
    assert np.abs(noisy - calm).max() > 1e-3


def features(rows=50):
    """Of different mean and spread, one of them constant."""
    raw = sine((rows, HIDDEN), scale=2.0) * np.arange(HIDDEN) + 3.0
    return raw.astype("float32")


def as_inputs():
    return Inputs({"features": features()})


def test_standardised_features_have_mean_zero_and_variance_one():
    head = StandardisedHead(task_model(SequenceClassifier), as_inputs())
    some = head.standardise(as_inputs()).columns["features"]
    np.testing.assert_allclose(some.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(some.std(axis=0)[1:], 1, atol=1e-5)
    assert (some[:, 0] == 0).all()
    assert some.dtype == "float32"


def test_unfolding_keeps_the_logits():
    task = task_model(SequenceClassifier)
    expected = to_numpy(task.logits(features()))
    head = StandardisedHead(task, as_inputs())
    head.unfold()
    found = to_numpy(head(head.standardise(as_inputs()).columns))
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)


def test_folding_keeps_the_logits():
    task = task_model(SequenceClassifier)
    head = StandardisedHead(task, as_inputs())
    expected = to_numpy(head(head.standardise(as_inputs()).columns))
    head.fold()
    found = to_numpy(task.logits(features()))
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)


def test_folding_undoes_unfolding():
    task = task_model(SequenceClassifier)
    before = task.logits.get_weights()
    head = StandardisedHead(task, as_inputs())
    head.unfold()
    head.fold()
    for one, other in zip(task.logits.get_weights(), before, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=1e-5)


def test_the_standardised_head_trains_the_last_layer_alone():
    task = task_model(SequenceClassifier)
    head = StandardisedHead(task, as_inputs())
    assert {v.path for v in head.trainable_variables} == {
        v.path for v in task.logits.trainable_variables
    }


@pytest.mark.parametrize("part", ["whole", "above", "head"])
def test_transitions_are_trained_with_every_part_of_a_tagger(part):
    task = TokenTagger(tiny_encoder(), 3, crf=CRF(3))
    parts = {
        "whole": task,
        "above": Above(task, 1),
        "head": StandardisedHead(task, as_inputs()),
    }
    set_trainable(task, None if part == "whole" else 0)
    found = {v.path for v in parts[part].trainable_variables}
    assert {v.path for v in task.crf.weights} < found


def test_head_features_are_what_the_last_layer_reads():
    """Also where a pre-norm encoder's last norm comes between."""
    for kind in (SequenceClassifier, TokenTagger):
        encoder = tiny_encoder(norm_first=True)
        set_sine_weights(encoder)
        task = kind(encoder, 3)
        lengths = np.array([4, 2, 5])
        ids = Rows(np.arange(11, dtype="int32") % VOCABULARY, lengths)
        inputs = Inputs({"token_ids": ids})
        states = compute_states(Below(task, encoder.num_layers), inputs, 2)
        found = head_features(task, states).columns["features"]
        for row in range(3):
            batch = inputs.batch(np.array([row]), lengths[row])
            sequence = encoder(batch)["sequence_output"]
            expected = to_numpy(task.features(sequence))
            np.testing.assert_allclose(
                found[row], np.squeeze(expected, 0), atol=1e-5
            )
