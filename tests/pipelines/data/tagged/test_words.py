import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.tagged.words import cut_words, locate_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n\u00a0\u2028", []),
        ("Ines lives.", ["Ines", "lives", "."]),
        ("don't", ["don", "'", "t"]),
        ("🙂🙂 call", ["🙂🙂", "call"]),
        ("e\u0301te\u0301 co\u00adop", ["e\u0301te\u0301", "co\u00adop"]),
        ("a\u200bb \u200b", ["a\u200bb", "\u200b"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("x\U00020000y", ["x", "\U00020000", "y"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("a\u00a0b\u2028c\x85d", ["a", "b", "c", "d"]),
    ],
)  # fmt: skip
def test_words_of_a_text(text, words):
    assert [text[a:b] for a, b in cut_words(text)] == words


@hypothesis.given(st.text(st.characters(), max_size=40))
@hypothesis.settings(max_examples=200, deadline=None)
def test_words_are_in_order_and_leave_only_white_space(text):
    end = 0
    for a, b in cut_words(text):
        assert end <= a < b <= len(text)
        assert not text[end:a].strip()
        end = b
    assert not text[end:].strip()


def test_half_a_surrogate_pair_keeps_offsets():
    assert cut_words("a \ud83d b") == [(0, 1), (2, 3), (4, 5)]


@hypothesis.given(st.text(max_size=40))
@hypothesis.settings(max_examples=100, deadline=None)
def test_cut_words_are_located_again(text):
    offsets = cut_words(text)
    words = [text[a:b] for a, b in offsets]
    assert locate_words(text, words) == tuple(offsets)


@pytest.mark.parametrize(
    "words", [["a", "c"], ["b"], ["a"], ["b", "a"], ["a", "b", "b"]]
)
def test_words_of_another_text_are_not_located(words):
    assert locate_words("a b", words) is None


def test_repeated_words_are_located_in_order():
    assert locate_words("aa a", ["a", "a", "a"]) == ((0, 1), (1, 2), (3, 4))
