"""`vocab.txt`: the id of a token is the number of its line, always."""

import warnings

import pytest
import transformers

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.tokenizer import Tokenizer
from keras_encoder.tokenizer_files import SPECIAL_TOKENS, read_vocabulary

pytestmark = pytest.mark.backend_free

SPECIAL = [*SPECIAL_TOKENS.values()]
# Line 6 is blank, line 9 is a control character, line 10 stands twice.
STRANGE = [*SPECIAL, "", "key", "pay", "\x85", "twice", "\u2028", "twice", "by"]


def write(path, lines, end="\n", last="\n"):
    path.write_bytes((end.join(lines) + last).encode())
    return path


def words_of(vocabulary):
    return {token: i for token, i in vocabulary.items() if token.strip()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vocab.txt"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_ids_are_those_of_transformers(path, tmp_path, end, last):
    write(path, STRANGE, end, end if last else "")
    with pytest.warns(UserWarning, match="1 tokens stand more than once"):
        ours = Tokenizer.from_folder(tmp_path)
    theirs = transformers.BertTokenizer.from_pretrained(tmp_path)
    # transformers takes white space for a blank line; no text has such words.
    assert words_of(ours.backend.get_vocab()) == words_of(theirs.get_vocab())
    assert ours.backend.token_to_id("\x85") == 8
    assert ours.backend.token_to_id("twice") == 11
    assert ours.encode(["key pay by"])[0].ids == [2, 6, 7, 12, 3]


def test_only_line_feeds_end_a_line(path):
    write(path, ["a\x0bb", "c\u2028d", "e\x85f", "g h", "\u3000"])
    assert read_vocabulary(path) == [
        "a\x0bb", "c\u2028d", "e\x85f", "g h", "\u3000",
    ]  # fmt: skip


def test_blank_lines_keep_their_slots(path):
    write(path, ["a", "", "", "b", ""])
    assert read_vocabulary(path) == ["a", "", "", "b", ""]


def test_a_byte_order_mark_is_no_part_of_the_first_token(path):
    path.write_bytes("\ufeff[PAD]\nkey\n".encode())
    assert read_vocabulary(path) == ["[PAD]", "key"]


def test_a_vocabulary_without_repeats_warns_of_nothing(path):
    write(path, ["a", "", "", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_vocabulary(path)


@pytest.mark.filterwarnings("ignore:.*stand more than once")
def test_a_saved_vocabulary_has_the_same_ids(path, tmp_path):
    write(path, STRANGE)
    tokenizer = Tokenizer.from_folder(tmp_path)
    saved = tmp_path / "saved"
    saved.mkdir()
    tokenizer.save(saved)
    expected = tokenizer.backend.get_vocab()
    assert Tokenizer.from_folder(saved).backend.get_vocab() == expected
    (saved / "tokenizer.json").unlink()
    again = Tokenizer.from_folder(saved).backend.get_vocab()
    del expected[""], again[""]  # more blank lines than one
    assert again == expected


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_an_empty_vocabulary_is_an_error(path, content):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="vocabulary is empty"):
        read_vocabulary(path)


def test_bytes_that_are_no_utf8_are_an_error_with_their_place(path):
    path.write_bytes(b"abc\nd\xe9f\n")
    with pytest.raises(CheckpointError, match="found byte 0xe9 at offset 5"):
        read_vocabulary(path)


def test_no_vocabulary_is_an_error_that_names_the_file(path):
    with pytest.raises(CheckpointError, match=r"vocab\.txt: no such file"):
        read_vocabulary(path)


def test_a_folder_under_the_name_is_an_error(path):
    path.mkdir()
    with pytest.raises(CheckpointError, match=r"vocab\.txt"):
        read_vocabulary(path)
