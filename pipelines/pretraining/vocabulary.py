"""A WordPiece vocabulary learned from texts."""

from collections.abc import Iterable

import tokenizers

from keras_encoder.tokenizer import Tokenizer
from keras_encoder.tokenizer_files import SPECIAL_TOKENS
from pipelines.errors import InputError


def train_vocabulary(
    texts: Iterable[str], size: int, lowercase: bool = True
) -> Tokenizer:
    """Trains a tokenizer on texts.

    Args:
        texts: strings; read twice, so no iterator.
        size: tokens at most, the five special ones included; fewer where the
            texts have no more.
        lowercase: whether capitals and accents are dropped, as in "uncased".

    Raises:
        InputError: if the texts have more characters than `size` tokens.
    """
    special = list(SPECIAL_TOKENS.values())
    # Of an empty vocabulary only its rules are of use: how texts are cut.
    backend = Tokenizer.from_vocabulary(special, lowercase=lowercase).backend
    # The library numbers the single characters in no fixed order, and breaks
    # ties by number; so they are given to it, sorted.
    first, inner = _characters(backend, texts)
    single = [*special, *sorted(first), *sorted(f"##{c}" for c in inner)]
    if len(single) > size:
        raise InputError(
            f"--vocabulary-size {size}: the texts have {len(single)} different "
            "characters and special tokens alone; expected more."
        )
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=single, show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    ids = backend.get_vocab()
    return Tokenizer.from_vocabulary(
        sorted(ids, key=ids.get), lowercase=lowercase
    )


def _characters(backend, texts):
    """The characters that words begin with, and the others of words."""
    first, inner = set(), set()
    for text in texts:
        text = backend.normalizer.normalize_str(text)
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(text):
            first.add(word[0])
            inner.update(word[1:])
    return first, inner
