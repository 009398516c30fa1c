import itertools
import json

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.examples import TextExample
from pipelines.data.jsonl import parse_object, read_jsonl
from pipelines.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write(*lines):
        path = tmp_path / "a.jsonl"
        path.write_bytes(
            b"\n".join(x if isinstance(x, bytes) else x.encode() for x in lines)
        )
        return path

    return write


GOOD = '{"text": "a", "label": "x"}'


def test_examples_say_where_they_stand(write):
    path = write(GOOD, "", "  ", '{"id": 7, "label": 1, "text": "b"}')
    assert list(read_jsonl(path, labelled=True)) == [
        TextExample("a", None, "x", f"{path}:1"),
        TextExample("b", None, 1, f"{path}:4", 7),
    ]


def test_the_id_is_kept(write):
    path = write('{"text": "a", "id": "k1"}', '{"text": "b", "id": 2}')
    found = read_jsonl(path, labelled=False)
    assert [e.id for e in found] == ["k1", 2]


def test_ids_need_not_differ(write):
    path = write('{"text": "a", "id": 2}', '{"text": "b", "id": 2}')
    assert [e.id for e in read_jsonl(path, labelled=False)] == [2, 2]


def test_an_id_may_be_missing_in_the_first_row(write):
    path = write('{"text": "a"}', '{"text": "b", "id": 2}')
    assert [e.id for e in read_jsonl(path, labelled=False)] == [None, 2]


@pytest.mark.parametrize(
    "label", ["x", "", 1, 1.0, 2.5, True, False, None, ["a", "b"], [0], []]
)
def test_labels_are_passed_on_as_they_are(write, label):
    path = write(json.dumps({"text": "a", "label": label}))
    (example,) = read_jsonl(path)
    assert example.label == label
    assert type(example.label) is type(label)


@pytest.mark.parametrize(
    "line, message",
    [
        ("[]", "found an array"),
        ('"text"', 'found "text"'),
        ("3", "found 3"),
        ("null", "found null"),
        ('{"text":', "broken JSON"),
        ("{'text': 'a'}", "broken JSON"),
        (GOOD + GOOD, "broken JSON"),
        ('{"text": "b"}', 'missing field "label"; found the columns "text"'),
        ('{"label": "x"}', 'missing field "text"; found the columns "label"'),
        ('{"text": 3, "label": "x"}', '"text": expected a text .* found int 3'),
        ('{"text": null, "label": "x"}', '"text": expected a text .*null'),
        ('{"text": ["a"], "label": "x"}', '"text": expected a text'),
        (
            '{"text": "a", "text_pair": 1, "label": "x"}',
            '"text_pair": expected',
        ),
        ('{"text": "a", "label": NaN}', "NaN is not a JSON value"),
        ('{"text": "a", "label": -Infinity}', "-Infinity is not a JSON value"),
        ('{"text": "a", "label": %s}' % ("9" * 5000), "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ('{"text": "\\ud83d", "label": "x"}', r"lone surrogate \\ud83d"),
        (b'{"text": "caf\xe9"}', "0xe9 at offset 42"),
    ],
)
def test_a_wrong_line_is_named(write, line, message):
    path = write(GOOD, "", line, GOOD)
    with pytest.raises(InputError, match=f":3: .*{message}"):
        list(read_jsonl(path))


def test_a_lone_surrogate_may_be_mended():
    line = r'{"text": "a\ud83d b\udc00", "id": "\ud83d\ude42"}'
    row = parse_object(line, "f:1", mend=True)
    assert row == {"text": "a\ufffd b\ufffd", "id": "🙂"}


def test_a_surrogate_pair_is_one_character(write):
    path = write('{"text": "\\ud83d\\ude42", "label": "x"}')
    assert next(read_jsonl(path)).text == "🙂"


def test_text_in_the_odd_corners_of_unicode_stays(write):
    text = "nul\0 us\x1f ls\u2028 nel\x85 nbsp\xa0 \U0010ffff tab\t"
    raw = json.dumps({"text": text, "label": "x"}, ensure_ascii=False)
    escaped = json.dumps({"text": text, "label": "x"})
    plain = raw.replace("\\u0000", "\0").replace("\\u001f", "\x1f")
    for line in (raw, escaped, plain):
        assert next(read_jsonl(write(line))).text == text


def test_byte_order_marks_of_concatenated_files_are_dropped(write):
    path = write("\ufeff" + GOOD, "\ufeff" + GOOD, "\ufeff")
    assert len(list(read_jsonl(path))) == 2


def test_an_empty_file_has_no_rows(write):
    assert list(read_jsonl(write(""))) == []


def test_a_second_text_may_be_there_in_some_rows_only(write):
    path = write(
        '{"text": "a"}', '{"text": "b", "text_pair": "c"}', '{"text": "d"}'
    )
    found = [e.text_pair for e in read_jsonl(path, labelled=False)]
    assert found == [None, "c", None]


def test_a_second_text_that_was_asked_for_must_be_there(write):
    path = write('{"text": "a", "more": "b"}', '{"text": "c"}')
    with pytest.raises(InputError, match=':2: missing field "more"'):
        list(read_jsonl(path, text_pair="more", labelled=False))


def test_rows_without_label_pass_where_no_label_is_needed(write):
    path = write(GOOD, '{"text": "b"}')
    found = [e.label for e in read_jsonl(path, labelled=False)]
    assert found == ["x", None]


def test_no_label_at_all_is_an_error_where_labels_are_needed(write):
    with pytest.raises(InputError, match=":1: .*--label"):
        list(read_jsonl(write('{"text": "b"}')))


def test_reading_is_streaming(write):
    path = write(*[GOOD] * 10, "broken")
    assert len(list(itertools.islice(read_jsonl(path), 10))) == 10


@hypothesis.given(
    st.lists(
        st.fixed_dictionaries(
            {
                "text": st.text(st.characters(exclude_categories=["Cs"])),
                "label": st.one_of(st.text(max_size=5), st.integers()),
            }
        ),
        max_size=4,
    ),
    st.booleans(),
)
@hypothesis.settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_what_json_writes_is_read_as_it_was(tmp_path, objects, ascii_only):
    path = tmp_path / "a.jsonl"
    lines = [json.dumps(o, ensure_ascii=ascii_only) for o in objects]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    found = [{"text": e.text, "label": e.label} for e in read_jsonl(path)]
    assert found == objects
