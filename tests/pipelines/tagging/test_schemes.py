import pathlib
import warnings

import hypothesis
import pytest
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from pipelines.data.tagged.conll import read_conll
from pipelines.errors import InputError
from pipelines.tagging.schemes import (
    convert,
    count_irregular,
    detect_scheme,
    from_spans,
    scheme_of_labels,
    split_tag,
    to_spans,
)

WIKIGOLD = (
    pathlib.Path(__file__).parents[2].parent / "shared/data/wikigold.conll.txt"
)
ENTITY_SCHEMES = ("IOB1", "IOB2", "BIOES", "BILOU")
SAME_TEXT = {
    "IOB1": ("I-PER", "I-PER", "I-LOC", "B-LOC"),
    "IOB2": ("B-PER", "I-PER", "B-LOC", "B-LOC"),
    "BIOES": ("B-PER", "E-PER", "S-LOC", "S-LOC"),
    "BILOU": ("B-PER", "L-PER", "U-LOC", "U-LOC"),
}


@st.composite
def sentences(draw):
    """(length, spans) of a sentence with entities."""
    spans, position = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 3))
        kind = draw(st.sampled_from(["A", "B-c", "-x", "O", ""]))
        spans.append((start, position, kind))
    return position + draw(st.integers(0, 2)), spans


@pytest.mark.parametrize("scheme", ENTITY_SCHEMES)
def test_the_same_text_is_detected_in_each_scheme(scheme):
    assert detect_scheme([SAME_TEXT[scheme]]) == scheme


@pytest.mark.parametrize("scheme", ENTITY_SCHEMES)
def test_the_same_text_has_the_same_spans(scheme):
    spans = [(0, 2, "PER"), (2, 3, "LOC"), (3, 4, "LOC")]
    assert to_spans(SAME_TEXT[scheme], scheme) == spans


@pytest.mark.parametrize("target", ENTITY_SCHEMES)
@pytest.mark.parametrize("source", ENTITY_SCHEMES)
def test_the_same_text_converts(source, target):
    assert convert(SAME_TEXT[source], source, target) == SAME_TEXT[target]


@pytest.mark.parametrize("scheme", ENTITY_SCHEMES)
@hypothesis.given(sentence=sentences())
def test_spans_survive_every_scheme(scheme, sentence):
    length, spans = sentence
    tags = from_spans(spans, length, scheme)
    assert len(tags) == length
    assert to_spans(tags, scheme) == spans
    assert count_irregular([tags], scheme) == 0


@hypothesis.given(
    st.lists(sentences(), min_size=1, max_size=4),
    st.sampled_from(ENTITY_SCHEMES),
)
def test_detected_scheme_reads_the_same_spans(data, scheme):
    written = [from_spans(spans, length, scheme) for length, spans in data]
    types = {kind for _, spans in data for _, _, kind in spans}
    hypothesis.assume("" not in types)
    detected = detect_scheme(written)
    assert [to_spans(tags, detected) for tags in written] == [
        spans for _, spans in data
    ]


@hypothesis.given(
    st.lists(
        st.sampled_from(
            ["O", *(f"{p}-{t}" for p in "BIES" for t in ("A", "b-c"))]
        ),
        max_size=8,
    )
)
def test_irregular_tags_are_read_as_seqeval_reads_them(tags):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = [(a, b + 1, kind) for kind, a, b in get_entities(tags)]
    assert to_spans(tags) == expected


@pytest.mark.parametrize(
    ("tag", "parts"),
    [("B-per-son", ("B", "per-son")), ("O", ("O", "")), ("I", ("I", "")),
     ("B--x", ("B", "-x"))],
)  # fmt: skip
def test_types_keep_their_hyphens(tag, parts):
    assert split_tag(tag) == parts


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["I-PER", "I-PER", "O"], "IOB1"),
        (["I-A", "B-A"], "IOB1"),
        (["B-A", "O", "B-A", "I-A", "I-B"], "IOB2"),
        (["O", "O"], "IOB2"),
        ([], "IOB2"),
        (["S-A"], "BIOES"),
        (["B-A", "L-A"], "BILOU"),
        (["B", "I", "O"], "IOB2"),
        (["I", "O"], "IOB1"),
        (["B", "E", "S"], "BIOES"),
        (["NOUN", "VERB", "X"], "plain"),
        (["PER", "O", "LOC"], "plain"),
        (["lower", "Capital,"], "plain"),
        (["-LRB-", "NN", "I-X"], "plain"),
        (["S", "U"], "plain"),
    ],
)
def test_detection(tags, scheme):
    assert detect_scheme([tags]) == scheme


def test_the_more_frequent_kind_decides():
    regular = ["B-A", "I-A", "O"]
    assert detect_scheme([regular] * 3 + [["I-A"]]) == "IOB2"
    assert count_irregular([regular] * 3 + [["I-A"]], "IOB2") == 1


def test_detection_reads_an_iterator_once():
    assert detect_scheme(iter([("I-A", "B-A")])) == "IOB1"


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (["B-A", "I-A", "PER"], "found also 'PER'"),
        (["B-A", "I-A", "B"], "found also 'B'"),
        (["B-A", "E-A", "U-A"], "prefixes of BIOES .* and of BILOU"),
        (["I-A", "E-A", "O"], "which is IOE"),
    ],
)
def test_mixed_tags_are_an_error(tags, message):
    with pytest.raises(InputError, match=message):
        detect_scheme([tags])


def test_plain_labels_are_untouched():
    tags = ["NOUN", "B-x"]
    assert convert(tags, "plain", "plain") == ("NOUN", "B-x")


@pytest.mark.parametrize("pair", [("plain", "IOB2"), ("IOB2", "plain")])
def test_plain_labels_cannot_become_entities(pair):
    with pytest.raises(ValueError, match="Cannot convert"):
        convert(["O"], *pair)


@pytest.mark.parametrize(
    "spans", [[(0, 2, "A"), (1, 3, "A")], [(2, 2, "A")], [(0, 9, "A")]]
)
def test_impossible_spans(spans):
    with pytest.raises(ValueError, match="do not overlap"):
        from_spans(spans, 4)


def test_plain_has_no_spans():
    with pytest.raises(ValueError, match="no spans"):
        to_spans(["X"], "plain")
    with pytest.raises(ValueError, match="Expected a tag of IOB2, found 'X'"):
        to_spans(["X"])


@pytest.mark.skipif(not WIKIGOLD.is_file(), reason="shared data absent")
def test_wikigold_is_iob1_and_comes_back_unchanged():
    written = [example.tags for example in read_conll(WIKIGOLD)]
    assert detect_scheme(written) == "IOB1"
    assert count_irregular(written, "IOB1") == 0
    for scheme in ENTITY_SCHEMES[1:]:
        inside = [convert(tags, "IOB1", scheme) for tags in written]
        assert detect_scheme(inside) == scheme
        assert [convert(tags, scheme, "IOB1") for tags in inside] == written


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        ("O B-A I-A B-C I-C", "IOB2"),
        ("I-A B-A O", "IOB2"),  # the order says nothing
        ("B-A B-C O", "IOB2"),
        ("B-A I-A I-C O", "IOB1"),
        ("O S-A B-A E-A I-A", "BIOES"),
        ("O S-A S-C", "BIOES"),
        ("O U-A B-A L-A I-A", "BILOU"),
        ("O B I", "IOB2"),
        ("S B E V", "plain"),  # parts of speech of one letter
        ("S B E", "plain"),
        ("O B-A X", "plain"),
        ("NOUN VERB", "plain"),
        ("O", "IOB2"),
    ],
)
def test_scheme_of_the_labels_of_a_model(labels, scheme):
    assert scheme_of_labels(labels.split()) == scheme
