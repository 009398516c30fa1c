"""Where the words of a text are: cut them, or find words already known."""

import functools
import re
from collections.abc import Sequence

# The ranges that BERT's normalizer sets apart, so that a word here is never
# less than what the tokenizer makes of it.
_CJK = (
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df"
    "\U0002a700-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@functools.cache
def _cutter():
    from tokenizers import Regex, pre_tokenizers

    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.BertPreTokenizer(),
            pre_tokenizers.Split(Regex(_CJK), "isolated"),
        ]
    )


def cut_words(text: str) -> list[tuple[int, int]]:
    """Cuts a text into words and returns their (start, end), end exclusive.

    The rule is BERT's own: white space separates words and belongs to none,
    every punctuation character is a word, every CJK character is a word.
    Accents, emoji, soft hyphens and zero-width characters stay inside the
    word that they stand in. Offsets count code points, as Python does.
    """
    # The Rust side cannot take half of a surrogate pair; a letter-like
    # stand-in of the same length keeps every offset.
    text = _LONE_SURROGATE.sub("\ufffd", text)
    return [offsets for _, offsets in _cutter().pre_tokenize_str(text)]


def locate_words(
    text: str, words: Sequence[str]
) -> tuple[tuple[int, int], ...] | None:
    """Finds known words in the text that they come from.

    Args:
        text: the text.
        words: its words in order; between them only white space may be lost.

    Returns:
        (start, end) of each word, or None where a word does not follow the
        one before it.
    """
    offsets = []
    position = 0
    for word in words:
        start = text.find(word, position)
        if start < 0 or text[position:start].strip():
            return None
        position = start + len(word)
        offsets.append((start, position))
    return None if text[position:].strip() else tuple(offsets)
