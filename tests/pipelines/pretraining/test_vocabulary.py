import pytest
import tokenizers

from pipelines.errors import InputError
from pipelines.pretraining.vocabulary import train_vocabulary

pytestmark = pytest.mark.backend_free
TEXTS = ["The zebras of Zürich", "a zebra, two zebras"] * 20


def test_frequent_words_become_tokens_and_rare_ones_pieces():
    tokenizer = train_vocabulary(TEXTS, 60)
    (encoding,) = tokenizer.encode(["zebras zab"])
    assert encoding.tokens[:2] == ["[CLS]", "zebras"]
    assert all(token.startswith("##") for token in encoding.tokens[3:-1])
    assert tokenizer.pad_id == 0
    assert tokenizer.vocabulary_size <= 60


@pytest.mark.parametrize(
    ("lowercase", "expected"), [(True, "zurich"), (False, "Zürich")]
)
def test_capitals_and_accents_are_kept_on_request(lowercase, expected):
    tokenizer = train_vocabulary(TEXTS, 200, lowercase)
    assert expected in tokenizer.backend.get_vocab()
    (encoding,) = tokenizer.encode(["Zürich"])
    assert encoding.tokens == ["[CLS]", expected, "[SEP]"]


def test_the_same_texts_give_the_same_vocabulary():
    first = train_vocabulary(TEXTS, 60).backend.get_vocab()
    assert train_vocabulary(TEXTS[::-1], 60).backend.get_vocab() == first


def test_a_size_below_the_characters_is_refused():
    with pytest.raises(InputError, match="--vocabulary-size 10: .* alone"):
        train_vocabulary(TEXTS, 10)


def test_a_saved_vocabulary_reads_alike(tmp_path):
    tokenizer = train_vocabulary(TEXTS, 60)
    tokenizer.save(tmp_path)
    backend = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert (
        backend.encode("two zebras").ids
        == tokenizer.encode(["two zebras"])[0].ids
    )
