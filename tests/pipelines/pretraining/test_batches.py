"""Batches to pretrain on: shapes, weights, what changes between epochs."""

import keras
import numpy as np
import pytest

from keras_encoder.tokenizer import Tokenizer
from pipelines.pretraining.batches import MaskedBatches
from pipelines.pretraining.masking import Masking
from pipelines.pretraining.rows import sentence_pairs, single_texts
from pipelines.pretraining.sentence_rows import tokenise_documents
from tests.pipelines.tiny import rows, vocabulary
from tests.pipelines.training.reading import tunes_itself

pytestmark = pytest.mark.backend_free


def batches(make=single_texts, fixed=False, seed=3, batch_size=4):
    tokenizer = Tokenizer.from_vocabulary(vocabulary())
    texts = [text for text, _ in rows(40)]
    documents = [texts[i : i + 1 + i % 4] for i in range(0, 36, 3)]
    sentences = tokenise_documents(tokenizer, documents, longest=8)
    return MaskedBatches(
        make(sentences, tokenizer, 24),
        Masking.of(tokenizer),
        batch_size,
        seed,
        fixed,
    )


def content(made):
    return [made[i][0]["token_ids"].tobytes() for i in range(len(made))]


def test_each_shape_of_inputs_is_one_of_outputs():
    made, shapes = batches(), set()
    for i in range(len(made)):
        inputs, tokens, weights = made[i]
        places = inputs["masked_positions"]
        assert places.shape == tokens.shape == weights.shape
        assert inputs["token_ids"].shape == inputs["padding_mask"].shape
        assert inputs["token_ids"].shape[0] == 4
        shapes.add((inputs["token_ids"].shape[1], places.shape[1]))
    lengths = [length for length, _ in shapes]
    assert sorted(lengths) == sorted({*lengths})
    assert {*lengths} <= {*made.shapes}


def test_an_epoch_has_every_row_once_and_fillers_count_nothing():
    made = batches(batch_size=5)
    assert len(made.rows.inputs) % 5
    counted = [(made[i][2].sum(axis=1) > 0).sum() for i in range(len(made))]
    assert sum(counted) == len(made.rows.inputs)


def test_masks_are_new_each_epoch_and_the_same_for_a_seed():
    made, again = batches(), batches()
    first = content(made)
    assert content(made) == first  # whichever batch is asked for when
    made.on_epoch_end()
    second = content(made)
    assert {*second} != {*first}
    again.on_epoch_end()
    assert content(again) == second
    assert content(batches(seed=4)) != first


def test_held_out_masks_stay():
    made = batches(sentence_pairs, fixed=True)
    first = content(made)
    made.on_epoch_end()
    assert content(made) == first


def test_hidden_tokens_can_be_counted_alone():
    made = batches(fixed=True)
    hidden = made.hidden_only()
    assert content(hidden) == content(made)
    seen = 0
    for i in range(len(made)):
        (inputs, tokens, all_weights), (_, same, weights) = made[i], hidden[i]
        shown = np.take_along_axis(
            inputs["token_ids"], inputs["masked_positions"], axis=1
        )
        is_hidden = shown == made.masking.mask_id
        np.testing.assert_array_equal(weights, all_weights * is_hidden)
        np.testing.assert_array_equal(tokens, same)
        seen += (all_weights > weights).sum()
    assert seen  # some are shown as they are, or as others


def test_pairs_have_targets_and_weights_of_both_tasks():
    made = batches(sentence_pairs)
    epochs = []
    for _ in range(2):
        labels = []
        for i in range(len(made)):
            inputs, targets, weights = made[i]
            assert inputs["segment_ids"].shape == inputs["token_ids"].shape
            assert targets["masked_lm"].shape == weights["masked_lm"].shape
            counts = weights["next_sentence"] == 1
            labels += targets["next_sentence"][counts].tolist()
            np.testing.assert_array_equal(
                weights["masked_lm"].sum(axis=1) > 0, counts
            )
        assert sum(labels) == len(labels) // 2
        epochs.append(content(made))
        made.on_epoch_end()
    assert epochs[0] != epochs[1]


def test_longer_rows_of_a_later_epoch_have_a_shape():
    made = batches(sentence_pairs)
    assert made.shapes[-1] == 24


def test_tensorflow_does_not_tune_the_reading(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "tensorflow")
    assert not tunes_itself(batches())
