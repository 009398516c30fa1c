import json

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.tagged.spans import SpanReport, read_spans
from pipelines.errors import InputError
from pipelines.tagging.schemes import to_spans

INES = "🙂🙂 call Ines in Porto "


@pytest.fixture
def read(tmp_path):
    def read(*records, report=None):
        path = tmp_path / "spans.jsonl"
        path.write_text("\n".join(json.dumps(r) for r in records), "utf-8")
        return list(read_spans(path, report))

    return read


def entities(example):
    return [
        (example.text[example.offsets[a][0] : example.offsets[b - 1][1]], kind)
        for a, b, kind in to_spans(example.tags)
    ]


def test_emoji_count_one_each(read):
    report = SpanReport()
    spans = [[8, 12, "PER"], [16, 22, "CITY"]]
    (example,) = read({"text": INES, "spans": spans}, report=report)
    assert example.tokens == ("🙂🙂", "call", "Ines", "in", "Porto")
    assert example.tags == ("O", "O", "B-PER", "O", "B-CITY")
    assert report == SpanReport(spans=2, trimmed=1)


def test_half_a_word_grows_and_is_counted(read):
    report = SpanReport()
    (example,) = read({"text": INES, "spans": [[8, 10, "P"]]}, report=report)
    assert entities(example) == [("Ines", "P")]
    assert report == SpanReport(spans=1, snapped=1)


def test_span_of_several_words(read):
    (example,) = read({"text": "in New York, ok", "spans": [[3, 11, "a-b"]]})
    assert example.tags == ("O", "B-a-b", "I-a-b", "O", "O")


def test_neighbours_stay_two(read):
    spans = [[3, 5, "X"], [0, 2, "X"]]
    (example,) = read({"text": "ab cd", "spans": spans})
    assert entities(example) == [("ab", "X"), ("cd", "X")]


def test_two_spans_in_one_word_are_counted(read):
    report = SpanReport()
    spans = [[0, 3, "A"], [3, 6, "B"]]
    (example,) = read({"text": "foobar", "spans": spans}, report=report)
    assert example.tags == ("B-A",)
    assert report == SpanReport(spans=1, snapped=2, dropped=1)
    assert "1 dropped" in str(report)


def test_span_that_shares_its_first_word_keeps_the_rest(read):
    spans = [[0, 3, "A"], [3, 9, "B"]]
    (example,) = read({"text": "foobar xy", "spans": spans})
    assert example.tags == ("B-A", "B-B")


def test_span_objects_with_their_surface(read):
    span = {"start": 16, "end": 21, "label": "CITY", "text": "Porto"}
    (example,) = read({"text": INES, "spans": [span]})
    assert entities(example) == [("Porto", "CITY")]


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ([18, 24, "CITY"], "inside the text of 22 .* UTF-16"),
        ([16, 99, "CITY"], r"expected a span inside the text of 22 char"),
        ([-1, 3, "CITY"], "inside the text"),
        ([12, 8, "CITY"], "a reversed one"),
        ([5, 5, "CITY"], "an empty one"),
        ([2, 3, "CITY"], "only blanks"),
        ([8, 10], r"\[start, end, label\]"),
        ([8, 10, ""], r"\[start, end, label\]"),
        ([8.0, 10, "X"], "two whole numbers"),
        ([True, 10, "X"], "two whole numbers"),
        (["8", 10, "X"], "two whole numbers"),
        ([8, 12, 7], "a name"),
        ("8-12", "expected a span"),
        ({"start": 8, "label": "X"}, "expected a span"),
        (
            {"start": 18, "end": 23, "label": "C", "text": "Porto"},
            "inside the text",
        ),
        (
            {"start": 10, "end": 14, "label": "P", "text": "Ines"},
            "expected 'Ines' at .* UTF-16",
        ),
    ],
)
def test_wrong_spans_name_the_record(read, span, message):
    good = {"text": INES, "spans": [[8, 12, "PER"]]}
    with pytest.raises(InputError, match=r"spans.jsonl:2: .*" + message):
        read(good, {"text": INES, "spans": [span]})


@pytest.mark.parametrize(
    "spans",
    [[[0, 4, "A"], [2, 6, "B"]], [[2, 6, "B"], [0, 4, "A"]],
     [[0, 4, "A"], [0, 4, "A"]], [[0, 9, "A"], [5, 6, "B"]]],
)  # fmt: skip
def test_overlap_is_an_error(read, spans):
    with pytest.raises(InputError, match=":1: expected spans that do not over"):
        read({"text": "abcd efgh", "spans": spans})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"spans": []}, "expected the field 'text', found"),
        ({"text": "a"}, "expected the field 'spans'"),
        ({"text": 3, "spans": []}, "expected a string in 'text', found 3"),
        ({"text": "a", "spans": {}}, "expected a list in 'spans'"),
    ],
)
def test_wrong_fields(read, record, message):
    with pytest.raises(InputError, match=message):
        read(record)


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_empty_text_is_one_example_without_words(read, text):
    first, second = read(
        {"text": text, "spans": []}, {"text": "a", "spans": [], "id": 5}
    )
    assert (first.tokens, first.tags, first.offsets) == ((), (), ())
    assert (second.document, second.id) == (1, 5)


def test_empty_file(read):
    with pytest.raises(InputError, match="found no sentences"):
        read()


@hypothesis.given(st.data())
@hypothesis.settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_every_span_covers_its_text(read, data):
    """A span that touches a word comes back, at least as wide."""
    alphabet = "ab .,é\u0301🙂\u00ad\u200b東\u00a0"
    text = data.draw(st.text(alphabet, max_size=25))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    hypothesis.assume(text[start:end].strip())
    (example,) = read({"text": text, "spans": [[start, end, "X"]]})
    ((first, last, _),) = to_spans(example.tags)
    left, right = example.offsets[first][0], example.offsets[last - 1][1]
    assert text[start:end].strip() in text[left:right]
    assert all(
        text[a:b] == token
        for token, (a, b) in zip(example.tokens, example.offsets, strict=True)
    )
