import pytest

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.load import load_encoder
from tests.keras_encoder.bert_folders import bert_folder
from tests.keras_encoder.checkpoints.references import TOKENS, write_vocabulary


def test_a_vocabulary_as_large_as_the_embeddings_fits(tmp_path):
    bert_folder(tmp_path)
    write_vocabulary(tmp_path / "vocab.txt")
    encoder, tokenizer, _ = load_encoder(tmp_path)
    assert tokenizer.vocabulary_size == encoder.vocabulary_size


def test_a_token_without_an_embedding_is_an_error(tmp_path):
    bert_folder(tmp_path)
    write_vocabulary(tmp_path / "vocab.txt", [*TOKENS, "more"])
    with pytest.raises(CheckpointError, match="has 24 ids, .* for 23"):
        load_encoder(tmp_path)
