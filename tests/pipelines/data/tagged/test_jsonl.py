import json

import pytest

from pipelines.data.tagged.jsonl import read_tagged_jsonl
from pipelines.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write(*lines):
        path = tmp_path / "data.jsonl"
        text = "\n".join(
            line if isinstance(line, str) else json.dumps(line)
            for line in lines
        )
        path.write_text(text, encoding="utf-8")
        return path

    return write


GOOD = {"tokens": ["a", "b"], "tags": ["O", "B-X"]}


def test_blank_lines_are_skipped_and_lines_named(write):
    path = write("\ufeff" + json.dumps(GOOD), "", " \t", "\ufeff", GOOD, "")
    examples = list(read_tagged_jsonl(path))
    assert [e.where for e in examples] == [f"{path}:1", f"{path}:5"]
    assert examples[0].tokens == ("a", "b")
    assert examples[0].tags == ("O", "B-X")


def test_empty_sentence(write):
    (example,) = read_tagged_jsonl(write({"tokens": [], "tags": []}))
    assert (example.tokens, example.tags) == ((), ())


def test_line_separator_inside_a_word(write):
    line = '{"tokens": ["a\u2028b"], "tags": ["O"]}'
    (example,) = read_tagged_jsonl(write(line))
    assert example.tokens == ("a\u2028b",)


def test_other_fields(write):
    record = {"id": "x", "text": "a  b", "words": ["a", "b"], "pos": ["X", "Y"]}
    (example,) = read_tagged_jsonl(write(record), "words", "pos")
    assert (example.id, example.tags) == ("x", ("X", "Y"))
    assert example.offsets == ((0, 1), (3, 4))


def test_words_only(write):
    (example,) = read_tagged_jsonl(write({"tokens": ["a"]}), tags=None)
    assert example.tags is None


def test_documents(write):
    names = ["d1", "d1", "d2", None, None, 3, 3]
    path = write(*({**GOOD, "document": name} for name in names))
    documents = [e.document for e in read_tagged_jsonl(path)]
    assert documents == [0, 0, 1, 2, 3, 4, 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"tokens": ["a"] * 5, "tags": ["O"] * 4},
         "one tag a word, found 5 'tokens' and 4 'tags'"),
        ({"tokens": ["a"]}, "expected the field 'tags', found"),
        ({"tags": ["a"]}, "expected the field 'tokens'"),
        ({"tokens": "a b", "tags": []}, "a list of strings in 'tokens'"),
        ({"tokens": [1], "tags": ["O"]}, r"a string in 'tokens\[0\]', found 1"),
        ({"tokens": ["a"], "tags": [3]}, r"a string in 'tags\[0\]', found 3"),
        ({"tokens": ["a"], "tags": [None]}, "found None"),
        ({"tokens": ["a"], "tags": [""]}, "found an empty string at position"),
        ("[]", "JSON object"),
        ('{"tokens":', "JSON"),
        ("[" * 100000, "JSON"),
        ('{"tokens": ["\\ud83d"], "tags": ["O"]}', "surrogate"),
        ("9" * 5000, "JSON"),
        ("null", "JSON object"),
    ],
)  # fmt: skip
def test_broken_rows_are_named(write, line, message):
    with pytest.raises(InputError, match=r"data.jsonl:3: .*" + message):
        list(read_tagged_jsonl(write(GOOD, "", line)))


def test_empty_file(write):
    with pytest.raises(InputError, match="found no sentences"):
        list(read_tagged_jsonl(write("", " ")))
