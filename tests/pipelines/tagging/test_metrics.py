import dataclasses
import json
import warnings

import hypothesis
import pytest
from hypothesis import strategies as st
from seqeval import metrics as seqeval
from seqeval.scheme import IOB2, IOBES
from sklearn.metrics import f1_score

from pipelines.tagging.metrics import (
    EntityScores,
    TokenScores,
    entity_scores,
    token_scores,
)
from pipelines.tagging.schemes import convert

MODES = ("default", "strict")
TAGS = st.sampled_from(["O", "B-A", "I-A", "B-b-c", "I-b-c"])
PAIRS = st.lists(
    st.lists(st.tuples(TAGS, TAGS), max_size=6), min_size=1, max_size=4
)


def unzip(pairs):
    gold = [[g for g, _ in sentence] for sentence in pairs]
    return gold, [[p for _, p in sentence] for sentence in pairs]


@pytest.mark.parametrize(
    ("gold", "predicted", "scheme", "mode", "f1"),
    [
        ("B-LOC I-LOC O", "I-LOC I-LOC O", "IOB2", "default", 1.0),
        ("B-LOC I-LOC O", "I-LOC I-LOC O", "IOB2", "strict", 0.0),
        ("B-LOC E-LOC", "B-LOC I-LOC", "BIOES", "default", 1.0),
        ("B-LOC E-LOC", "B-LOC I-LOC", "BIOES", "strict", 0.0),
        ("B-LOC L-LOC", "B-LOC L-LOC", "BILOU", "default", 1.0),
        ("B-LOC L-LOC", "B-LOC L-LOC", "BILOU", "strict", 1.0),
    ],
)
def test_default_is_lenient_and_strict_is_not(
    gold, predicted, scheme, mode, f1
):
    scores = entity_scores([gold.split()], [predicted.split()], mode, scheme)
    assert scores.f1 == f1


@pytest.mark.parametrize("mode", MODES)
@hypothesis.given(pairs=PAIRS)
@hypothesis.settings(max_examples=100, deadline=None)
def test_equal_to_seqeval(mode, pairs):
    gold, predicted = unzip(pairs)
    options = {"zero_division": 0}
    if mode == "strict":
        options |= {"mode": "strict", "scheme": IOB2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = entity_scores(gold, predicted, mode)
    hypothesis.assume(scores.per_type)
    for name in ("precision", "recall", "f1"):
        score = getattr(seqeval, f"{name}_score")
        assert getattr(scores, name) == pytest.approx(
            score(gold, predicted, average="micro", **options)
        )
        assert getattr(scores, f"macro_{name}") == pytest.approx(
            score(gold, predicted, average="macro", **options)
        )
        per_type = score(gold, predicted, average=None, **options)
        assert [row[name] for row in scores.per_type.values()] == (
            pytest.approx(list(per_type))
        )


def test_bioes_equal_to_seqeval():
    gold = [["B-A", "E-A", "S-A", "O"], ["S-B", "B-A", "I-A", "E-A"]]
    predicted = [["B-A", "E-A", "O", "S-A"], ["S-B", "B-A", "E-A", "S-A"]]
    assert entity_scores(gold, predicted, "strict", "BIOES").f1 == (
        pytest.approx(
            seqeval.f1_score(gold, predicted, mode="strict", scheme=IOBES)
        )
    )


@pytest.mark.parametrize("mode", MODES)
@hypothesis.given(pairs=PAIRS)
@hypothesis.settings(max_examples=50, deadline=None)
def test_the_same_scores_in_every_scheme(mode, pairs):
    """Also where the prediction was irregular before it was converted."""
    scores = []
    for scheme in ("IOB1", "IOB2", "BIOES", "BILOU"):
        gold, predicted = (
            [convert(tags, "IOB2", scheme) for tags in side]
            for side in unzip(pairs)
        )
        inner = [
            [convert(tags, scheme, "IOB2") for tags in side]
            for side in (gold, predicted)
        ]
        scores.append(entity_scores(*inner, mode))
        if scheme != "IOB1":
            assert entity_scores(gold, predicted, mode, scheme) == scores[0]
    assert all(score == scores[0] for score in scores)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gold", [[], [[]], [[], ["O", "O"], []]])
def test_without_entities_all_is_zero(mode, gold):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert entity_scores(gold, gold, mode) == EntityScores()


@pytest.mark.parametrize("mode", MODES)
def test_strictly_no_entity_is_zero(mode):
    scores = entity_scores([["O"]], [["I-A"]], mode)
    assert (scores.f1, scores.support) == (0.0, 0)


@pytest.mark.parametrize("mode", MODES)
def test_empty_sentences_do_not_count(mode):
    gold = [[], ["B-A"], []]
    assert entity_scores(gold, gold, mode).f1 == 1.0


@pytest.mark.parametrize("mode", MODES)
def test_sentences_do_not_run_together(mode):
    scores = entity_scores([["B-A"], ["B-A"]], [["B-A"], ["O"]], mode)
    assert (scores.precision, scores.recall) == (1.0, 0.5)


@pytest.mark.parametrize("mode", MODES)
def test_a_type_that_the_model_does_not_know_is_missed(mode):
    scores = entity_scores([["B-A", "B-NEW"]], [["B-A", "O"]], mode)
    assert (scores.precision, scores.recall, scores.support) == (1.0, 0.5, 2)
    assert scores.per_type["NEW"]["recall"] == 0.0
    assert scores.macro_f1 == 0.5


@pytest.mark.parametrize("mode", MODES)
def test_odd_names_of_types(mode):
    types = ["-x", "x", "x-", "a-b", "micro avg", "O"]
    gold = [[f"B-{kind}" for kind in types]]
    scores = entity_scores(gold, gold, mode)
    assert scores.f1 == 1.0
    assert set(scores.per_type) == set(types)
    assert all(row["support"] == 1 for row in scores.per_type.values())


@pytest.mark.parametrize("mode", MODES)
def test_tags_without_a_type(mode):
    scores = entity_scores([["B", "I", "O"]], [["B", "I", "B"]], mode)
    assert (scores.precision, scores.recall) == (0.5, 1.0)
    assert set(scores.per_type) == {"_"}


def test_scores_are_json():
    scores = entity_scores([["B-A"]], [["B-A"]])
    assert json.loads(json.dumps(dataclasses.asdict(scores)))["f1"] == 1.0
    tokens = token_scores([["X"]], [["X"]])
    assert json.loads(json.dumps(dataclasses.asdict(tokens)))["support"] == 1


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["O"]], [], "for each of 1 sentences, found 0"),
        ([["O"], ["O"]], [["O"], []], "found 0 for the 1 words of sentence 1"),
    ],
)
def test_other_lengths_are_refused(gold, predicted, message):
    for score in (entity_scores, token_scores):
        with pytest.raises(ValueError, match=message):
            score(gold, predicted)


def test_unknown_mode_and_scheme():
    with pytest.raises(ValueError, match="mode: expected 'default' or"):
        entity_scores([], [], "lenient")
    with pytest.raises(ValueError, match="scheme: expected one of"):
        entity_scores([], [], scheme="plain")


@hypothesis.given(PAIRS)
@hypothesis.settings(max_examples=50, deadline=None)
def test_token_scores_equal_scikit_learn(pairs):
    gold, predicted = unzip(pairs)
    flat = [tag for tags in gold for tag in tags]
    guess = [tag for tags in predicted for tag in tags]
    hypothesis.assume(flat)
    scores = token_scores(gold, predicted)
    for average in ("micro", "macro"):
        assert getattr(scores, f"{average}_f1") == pytest.approx(
            f1_score(flat, guess, average=average, zero_division=0)
        )


def test_token_scores_of_nothing():
    assert token_scores([[]], [[]]) == TokenScores()


def test_a_label_that_the_model_does_not_know_is_wrong():
    scores = token_scores([["NEW", "X"]], [["X", "X"]])
    assert scores.accuracy == 0.5
    assert scores.per_label["NEW"] == {
        "precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1
    }  # fmt: skip
