"""Windows lose no token; their logits combine as a plain loop does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_encoder.tokenizer import Tokenizer
from pipelines.classification.texts import tokenise
from pipelines.classification.windows import Cut, combine
from pipelines.data.examples import TextExample
from tests.keras_encoder.layer_contract import to_numpy
from tests.pipelines.tiny import vocabulary

WORDS = [w for w in vocabulary() if len(w) > 2 and w.isalpha()]
HOWS = ("mean", "max", "vote")
PROBLEMS = ("single_label", "multi_label", "regression")


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_vocabulary(vocabulary())


def text(count, first=0):
    """A text of `count` tokens; neighbours differ."""
    return " ".join(WORDS[(first + i) % len(WORDS)] for i in range(count))


def windows(tokenizer, example, max_length, stride=None):
    """Tokens and segment ids of each window of one example."""
    cut = Cut(max_length, stride)
    inputs, counts = tokenise(tokenizer, [example], max_length, cut)
    ids = inputs.columns["token_ids"]
    assert counts.windows.tolist() == [len(ids)]
    assert inputs.owners.tolist() == [0] * len(ids)
    segments = inputs.columns.get("segment_ids")
    names = [[vocabulary()[i] for i in ids[row]] for row in range(len(ids))]
    if segments is None:
        return names
    return list(zip(names, (list(s) for s in segments), strict=True))


@pytest.mark.backend_free
@given(st.integers(0, 300), st.integers(1, 40), st.none() | st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_windows_cover_a_text_in_order(length, room, stride):
    spans = Cut(99, stride).spans(length, room)
    starts, ends = spans.T
    if length <= room:
        assert spans.tolist() == [[0, length]]
        return
    assert (ends - starts == room).all()
    assert starts[0] == 0 and ends[-1] == length
    assert (np.diff(starts) > 0).all()
    overlap = min(room // 4 if stride is None else stride, room // 2)
    assert (ends[:-1] - starts[1:] >= overlap).all()
    # One window less would not reach the end.
    reached = room + (len(spans) - 2) * (room - overlap)
    assert reached < length


@pytest.mark.backend_free
def test_the_first_window_is_what_cutting_leaves(tokenizer):
    """So transformers, which cuts, reads the first window."""
    for example in (TextExample(text(30)), TextExample(text(30), text(2, 9))):
        inputs, _ = tokenise(tokenizer, [example], 9, Cut(9))
        cut, _ = tokenise(tokenizer, [example], 9)
        for name, column in cut.columns.items():
            assert inputs.columns[name][0].tolist() == column[0].tolist()


@pytest.mark.backend_free
def test_every_window_has_its_special_tokens(tokenizer):
    words = text(7).split()
    assert windows(tokenizer, TextExample(text(7)), 6, stride=1) == [
        ["[CLS]", *words[0:4], "[SEP]"],
        ["[CLS]", *words[3:7], "[SEP]"],
    ]
    assert len(windows(tokenizer, TextExample(""), 6)) == 1


@pytest.mark.backend_free
@pytest.mark.parametrize("long_first", [True, False])
def test_windows_slide_over_the_longer_text_of_a_pair(tokenizer, long_first):
    long, short = text(6), text(2, 20)
    pair = (long, short) if long_first else (short, long)
    found = windows(tokenizer, TextExample(*pair), 9, stride=1)
    parts = [long.split()[0:4], long.split()[2:6]]
    assert len(found) == 2
    for (tokens, segments), part in zip(found, parts, strict=True):
        one, two = (
            (part, short.split()) if long_first else (short.split(), part)
        )
        assert tokens == ["[CLS]", *one, "[SEP]", *two, "[SEP]"]
        expected = [0] * (len(one) + 2) + [1] * (len(two) + 1)
        assert segments == expected


@pytest.mark.backend_free
def test_the_shorter_text_of_a_pair_takes_half_of_the_room(tokenizer):
    found = windows(tokenizer, TextExample(text(9), text(7, 20)), 9, stride=0)
    for tokens, _ in found:
        assert len(tokens) == 9
        assert tokens[-4:-1] == text(3, 20).split()
    seen = [token for tokens, _ in found for token in tokens[1:4]]
    assert seen == text(9).split()


@pytest.mark.backend_free
def test_tokens_and_windows_are_counted_by_text(tokenizer):
    examples = [TextExample(text(n)) for n in (30, 0, 6, 7)]
    inputs, counts = tokenise(tokenizer, examples, 8, Cut(8, 0))
    assert counts.lengths.tolist() == [32, 2, 8, 9]
    assert counts.windows.tolist() == [5, 1, 1, 2]
    assert inputs.owners.tolist() == [0, 0, 0, 0, 0, 1, 2, 3, 3]
    assert Cut(8, 0).mean_windows(counts.lengths, counts.special) == 9 / 4


def reference(logits, how, problem):
    """One text's logits, written as one reads the definition."""
    logits = logits.astype("float64")
    if how == "max":
        return logits.max(axis=0)
    if how == "mean" or problem == "regression":
        return logits.mean(axis=0)
    if problem == "single_label":
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        return np.log(chances.mean(axis=0))
    chance = (1 / (1 + np.exp(-logits))).mean(axis=0)
    return np.log(chance / (1 - chance))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("how", HOWS)
def test_logits_combine_as_in_a_loop(how, problem):
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 6, 11)
    owners = np.repeat(np.arange(11), counts)
    logits = rng.normal(0, 3, (len(owners), 4)).astype("float32")
    expected = [reference(logits[owners == i], how, problem) for i in range(11)]
    mixed = rng.permutation(len(owners))
    found = combine(
        logits[mixed], owners[mixed].astype("int32"), 11, how, problem
    )
    np.testing.assert_allclose(to_numpy(found), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("how", HOWS)
def test_one_window_decides_alone_and_none_gives_zero(how, problem):
    logits = np.array([[-90.0, 2.0, 60.0]], "float32")
    owners = np.array([1], "int32")
    found = to_numpy(combine(logits, owners, 3, how, problem))
    assert np.isfinite(found).all()
    assert (found[[0, 2]] == 0).all()
    expected = logits[0]
    if (how, problem) == ("vote", "single_label"):  # equal but for a constant
        expected = expected - 60.0
    np.testing.assert_allclose(found[1], expected, rtol=1e-5)
