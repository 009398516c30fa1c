import pathlib

import pytest

from pipelines.data.tagged.conllu import read_conllu
from pipelines.errors import InputError

SHARED = pathlib.Path(__file__).parents[3].parent / "shared" / "data"


def row(number, form, upos="X", xpos="Y", misc="_"):
    return f"{number}\t{form}\t_\t{upos}\t{xpos}\t_\t_\t_\t_\t{misc}\n"


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "data.conllu"
        path.write_text(content, encoding="utf-8", newline="")
        return path

    return write


DONT = (
    "# newdoc id = d\n# sent_id = s-1\n# text = I don't go.\n"
    + row(1, "I", "PRON", "PRP")
    + row("2-3", "don't")
    + row(2, "do", "AUX", "VBP", "name=B-PER|SpaceAfter=No")
    + row(3, "n't", "PART", "RB", "SpaceAfter=No|name=I-PER")
    + row(4, "go", "VERB", "VB")
    + row("4.1", "there", "ADV", "RB")
    + row(5, ".", "PUNCT", ".", "name=")
)


def test_ranges_and_empty_nodes_are_no_words(write):
    (example,) = read_conllu(write(DONT))
    assert example.tokens == ("I", "do", "n't", "go", ".")
    assert example.tags == ("PRON", "AUX", "PART", "VERB", "PUNCT")
    assert example.id == "s-1"


def test_xpos(write):
    (example,) = read_conllu(write(DONT), "xpos")
    assert example.tags == ("PRP", "VBP", "RB", "VB", ".")


def test_misc_key(write):
    (example,) = read_conllu(write(DONT), "misc:name")
    assert example.tags == ("O", "B-PER", "I-PER", "O", "O")


def test_words_only(write):
    (example,) = read_conllu(write(DONT), None)
    assert example.tags is None


def test_offsets_slice_the_text(write):
    (example,) = read_conllu(write(DONT))
    assert tuple(example.text[a:b] for a, b in example.offsets) == (
        example.tokens
    )


def test_words_that_the_text_does_not_spell_share_their_token(write):
    content = (
        "# text = Vue du lac\n"
        + row(1, "Vue")
        + row("2-3", "du")
        + row(2, "de")
        + row(3, "le")
        + row(4, "lac")
    )
    (example,) = read_conllu(write(content))
    assert example.offsets == ((0, 3), (4, 6), (4, 6), (7, 10))


@pytest.mark.parametrize("comment", ["", "# text = something else\n"])
def test_no_offsets_where_words_are_not_found(write, comment):
    (example,) = read_conllu(write(comment + row(1, "a")))
    assert (example.text, example.offsets) == (None, None)


def test_a_comment_block_without_words_is_forgotten(write):
    content = "# text = b\n# sent_id = x\n\n" + row(1, "b")
    (example,) = read_conllu(write(content))
    assert (example.text, example.id) == (None, None)


def test_newdoc_parts_documents(write):
    one = row(1, "a") + "\n"
    content = f"# newdoc\n{one}{one}# newdoc id = x\n{one}# newdoc_id\n{one}"
    assert [e.document for e in read_conllu(write(content))] == [0, 0, 1, 1]


def test_words_with_blanks_and_the_number_sign(write):
    content = row(1, "10 000") + row(2, "#")
    (example,) = read_conllu(write(content))
    assert example.tokens == ("10 000", "#")


@pytest.mark.parametrize("end", ["", "\n", "\n \t\n", "\r\n\r\n\ufeff\n"])
def test_blank_lines_and_end_of_file(write, end):
    content = "\ufeff" + row(1, "a").rstrip("\n") + end
    assert len(list(read_conllu(write(content)))) == 1


@pytest.mark.parametrize("content", ["", "\n\n", "# newdoc\n", "\ufeff"])
def test_no_sentences(write, content):
    with pytest.raises(InputError, match="found no sentences"):
        list(read_conllu(write(content)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (row(1, "a") + "a B-PER\n", ":2: expected 10 columns .* found 1"),
        (row(1, "a") + row(3, "b"), ":2: expected the word number 2, found"),
        (row(1, "a") + row(1, "b"), "a blank line parts sentences"),
        (row("x", "a"), "expected the word number 1, found 'x'"),
        (row("²", "a"), "expected the word number 1"),
        (row("2-3", "a") + row(1, "a"), "begins at word 1, found 2-3"),
        (row("1-2", "a") + row(1, "a"), "with word 2 of its multi-word"),
        (row("9" * 5000, "a"), "expected the word number 1"),
        (row(1, ""), "expected a word, found none"),
        (row(1, "a", upos=""), "expected a tag for every word"),
        (row(1, "a", upos="_"), "no word that has one"),
    ],
)
def test_broken_lines_are_named(write, content, message):
    with pytest.raises(InputError, match=message):
        list(read_conllu(write(content)))


@pytest.mark.parametrize("tag", ["pos", "misc:", "misc", "3"])
def test_unknown_tag_column(write, tag):
    with pytest.raises(InputError, match="expected upos, xpos or misc:KEY"):
        list(read_conllu(write(row(1, "a")), tag))


def test_misc_key_that_no_word_has(write):
    with pytest.raises(InputError, match="expected tags in 'misc:ner'"):
        list(read_conllu(write(row(1, "a")), "misc:ner"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="shared data absent")
@pytest.mark.parametrize(
    ("part", "sentences", "words"),
    [("dev", 2001, 25147), ("test", 2077, 25094)],
)
def test_english_web_treebank(part, sentences, words):
    examples = list(read_conllu(SHARED / f"en_ewt-ud-{part}.conllu"))
    assert len(examples) == sentences
    assert sum(len(e.tokens) for e in examples) == words
    for example in examples:
        slices = tuple(example.text[a:b] for a, b in example.offsets)
        assert slices == example.tokens
