import gzip
import pathlib

import pytest

from pipelines.data.tagged.conll import read_conll
from pipelines.errors import InputError

SHARED = pathlib.Path(__file__).parents[3].parent / "shared" / "data"


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.conll"):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode("utf-8")
        path.write_bytes(content)
        return path

    return write


def pairs(path, **options):
    return [(e.tokens, e.tags) for e in read_conll(path, **options)]


def test_markers_blank_lines_and_end_of_file(write):
    path = write(
        "-DOCSTART- O\nMila B-PER\n \t\n\t \n-DOCSTART- -X- -X- O\n\n"
        "Lagos B-LOC"
    )
    assert pairs(path) == [(("Mila",), ("B-PER",)), (("Lagos",), ("B-LOC",))]


def test_marker_without_blank_line_ends_the_sentence(write):
    path = write("a O\n-DOCSTART-\nb O\n")
    assert [(e.tokens, e.document) for e in read_conll(path)] == [
        (("a",), 0),
        (("b",), 1),
    ]


@pytest.mark.parametrize(
    "marker", ["-DOCSTART-", "-DOCSTART- O", "-DOCSTART-\t-X-\tO\tO"]
)
def test_marker_of_any_width_parts_documents(write, marker):
    path = write(f"{marker}\n\na O\n\nb O\n\n{marker}\n{marker}\n\nc O\n")
    assert [e.document for e in read_conll(path)] == [0, 0, 1]


@pytest.mark.parametrize("content", ["", "\n \n", "-DOCSTART- O\n\n", "\ufeff"])
def test_no_sentences_is_an_error(write, content):
    with pytest.raises(InputError, match="data.conll: .* found no sentences"):
        list(read_conll(write(content)))


@pytest.mark.parametrize(
    "line",
    ["Kofi B-PER", "Kofi NNP B-PER", "Kofi NNP B-NP B-PER", "Kofi\tB-PER",
     "Kofi\tNNP\tB-NP\tB-PER", "Kofi   B-PER", "  Kofi B-PER \t"],
)  # fmt: skip
def test_word_is_first_and_tag_last(write, line):
    assert pairs(write(f"{line}\n")) == [(("Kofi",), ("B-PER",))]


def test_columns_can_be_chosen(write):
    path = write("1 Kofi NNP B-PER\n")
    assert pairs(path, word=1, tag=2) == [(("Kofi",), ("NNP",))]
    assert pairs(path, word=-3, tag=-1) == [(("Kofi",), ("B-PER",))]


def test_words_alone_can_be_read(write):
    assert pairs(write("a\nb\n"), tag=None) == [(("a", "b"), None)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tag": 2}, ":1: expected a column 2 for the tag .* found 2 columns"),
        ({"word": -3}, "a column -3 for the word"),
        ({"word": 1}, "columns of their own, found 2 column"),
    ],
)
def test_columns_that_are_not_there(write, options, message):
    with pytest.raises(InputError, match=message):
        list(read_conll(write("a O\n"), **options))


def test_a_single_column_has_no_tag(write):
    with pytest.raises(InputError, match=":1: expected a word and a tag"):
        list(read_conll(write("lonely\n")))


@pytest.mark.parametrize("line", ["lonely", "too many O"])
def test_another_width_names_the_line(write, line):
    path = write(f"a O\n\nb O\n{line}\n")
    with pytest.raises(
        InputError, match=r"data.conll:4: expected 2 columns as in line 1"
    ):
        list(read_conll(path))


@pytest.mark.parametrize(
    ("line", "empty"), [("a\t\tO", "tag"), ("x\ta\t\u200b", None)]
)
def test_empty_tag_cell(write, line, empty):
    path = write(f"a\tb\tO\n{line}\n")
    if empty is None:
        assert pairs(path, tag=1)
    else:
        with pytest.raises(InputError, match=":2: .* found an empty tag"):
            list(read_conll(path, tag=1))


def test_tab_columns_may_hold_blanks(write):
    assert pairs(write("10 000\tNUM\n")) == [(("10 000",), ("NUM",))]


@pytest.mark.parametrize(
    "word", ["\u00a0", "\u2028", "\x85x", "a\u3000b", "\u200b"]
)
def test_only_tabs_and_blanks_part_columns(write, word):
    assert pairs(write(f"{word} O\nb O\n")) == [((word, "b"), ("O", "O"))]


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffMila O\nb O\n",
        "\ufeff\nMila O\nb O\n\ufeff",
        "\ufeff\ufeffMila O\nb O\n\n\ufeff\n",
        "Mila O\ufeff\n\ufeffb O\n",
    ],
)
def test_byte_order_marks_vanish_anywhere(write, content):
    words = [t for tokens, _ in pairs(write(content)) for t in tokens]
    assert words == ["Mila", "b"]


def test_two_files_with_marks_concatenated(write):
    path = write("\ufeffa O\n\n\ufeffb O\n")
    assert pairs(path) == [(("a",), ("O",)), (("b",), ("O",))]


def test_utf16_is_named(write):
    with pytest.raises(InputError, match="UTF-16"):
        list(read_conll(write("a O\n".encode("utf-16"))))


def test_windows_line_ends(write):
    assert pairs(write("a O\r\n\r\nb O\r\n")) == [
        (("a",), ("O",)),
        (("b",), ("O",)),
    ]


@pytest.mark.parametrize(
    "comment",
    ["#", "# id = 4", "# newdoc", "# sent_id 12", "# 5", "#\tx y z",
     "#begin document (a);"],
)  # fmt: skip
def test_comments_at_the_start_of_a_sentence(write, comment):
    path = write(f"{comment}\na O\n\n{comment}\n{comment}\nb O\n")
    assert [tokens for tokens, _ in pairs(path)] == [("a",), ("b",)]


def test_comment_as_wide_as_the_table(write):
    path = write("# id = 4\na x y O\n")
    assert pairs(path) == [(("a",), ("O",))]


@pytest.mark.parametrize("line", ["# O", "#\tO", "#nlp O"])
def test_a_word_that_begins_with_the_sign(write, line):
    word = line.split()[0]
    path = write(f"a O\n\n{line}\nb O\n{line}\n")
    assert [t for t, _ in pairs(path)] == [("a",), (word, "b", word)]


def test_comments_give_id_and_document(write):
    path = write("# newdoc\n# sent_id = s1\na O\n\n# newdoc\n# id 7\nb O\n")
    assert [(e.id, e.document) for e in read_conll(path)] == [
        ("s1", 0),
        ("7", 1),
    ]


def test_where_is_the_first_word(write):
    path = write("\n-DOCSTART- O\n\n# id = 1\na O\nb O\n")
    (example,) = read_conll(path)
    assert example.where == f"{path}:5"


def test_compressed_file(tmp_path):
    path = tmp_path / "data.conll.gz"
    path.write_bytes(gzip.compress(b"# id = 1\na O\n"))
    assert pairs(path) == [(("a",), ("O",))]


def test_truncated_archive_is_an_input_error(tmp_path):
    whole = gzip.compress(bytes(range(32, 127)) * 50)
    for size in range(0, len(whole) - 1, 7):
        path = tmp_path / "data.conll.gz"
        path.write_bytes(whole[:size])
        with pytest.raises(InputError):
            list(read_conll(path))


@pytest.mark.skipif(not SHARED.is_dir(), reason="shared data absent")
def test_wikigold():
    examples = list(read_conll(SHARED / "wikigold.conll.txt"))
    assert sum(len(e.tokens) for e in examples) == 39007
    assert len(examples) == 1696
    assert len({e.document for e in examples}) == 145
    assert {t for e in examples for t in e.tags} == {
        "O", "I-LOC", "I-MISC", "I-ORG", "I-PER"
    }  # fmt: skip
