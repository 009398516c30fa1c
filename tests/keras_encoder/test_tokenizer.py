import json

import numpy as np
import pytest

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.tokenizer import Tokenizer
from keras_encoder.tokenizer_files import SPECIAL_TOKENS

pytestmark = pytest.mark.backend_free

PAD, UNK, CLS, SEP, MASK = range(5)
WORDS = [
    "is", "it", "open", "until", "nine", "pay", "by", "friday", "##s", "press",
    "then", "key", "[", "]", "sep", "mask", "pad", "kyoto", "東", "zürich",
    "zurich",
]  # fmt: skip
VOCABULARY = [*SPECIAL_TOKENS.values(), *WORDS]


@pytest.fixture
def tokenizer():
    return Tokenizer.from_vocabulary(VOCABULARY)


def ids(text):
    """Ids of words of the vocabulary, without special tokens."""
    return [VOCABULARY.index(word) for word in text.split()]


def only(tokenizer, *arguments, **keywords):
    (encoding,) = tokenizer.encode(*arguments, **keywords)
    return encoding


def test_a_text_stands_between_cls_and_sep(tokenizer):
    encoding = only(tokenizer, ["pay by Fridays"])
    assert encoding.ids == [CLS, *ids("pay by friday ##s"), SEP]
    assert encoding.word_ids == [None, 0, 1, 2, 2, None]
    assert encoding.offsets[1:-1] == [(0, 3), (4, 6), (7, 13), (13, 14)]


def test_offsets_are_code_points_of_the_text_as_given(tokenizer):
    text = "\u200b🙂  ZU\u0308RICH 東!"
    encoding = only(tokenizer, [text])
    spans = [text[start:end] for start, end in encoding.offsets[1:-1]]
    # The zero-width space is dropped, and so is the combining mark.
    assert spans[1].startswith("ZU") and spans[1].endswith("RICH")
    assert spans[2:] == ["東", "!"]


def test_offsets_of_words_count_within_the_word(tokenizer):
    encoding = only(tokenizer, [["pay", "Fridays"]])
    assert encoding.word_ids == [None, 0, 1, 1, None]
    assert encoding.offsets == [(0, 0), (0, 3), (0, 6), (6, 7), (0, 0)]


def test_a_word_that_becomes_nothing_keeps_its_number(tokenizer):
    encoding = only(tokenizer, [["pay", "\u200b", "", "key"]])
    assert encoding.word_ids == [None, 0, 3, None]


@pytest.mark.parametrize("special", SPECIAL_TOKENS.values())
def test_text_that_spells_a_special_token_is_plain_text(tokenizer, special):
    found = only(tokenizer, [f"press {special} key"]).ids
    inner = found[1:-1]
    assert not set(inner) & {PAD, CLS, SEP, MASK}
    assert inner[0] == VOCABULARY.index("press")
    assert inner[1] == VOCABULARY.index("[")
    assert inner[-2:] == ids("] key")
    assert found[0] == CLS and found[-1] == SEP


def test_special_tokens_in_text_shift_no_mask_segment_or_word(tokenizer):
    batch = tokenizer(["press [SEP] then [PAD] key", "pay"], ["[CLS]", "key"])
    lengths = batch["padding_mask"].sum(axis=1)
    assert lengths[0] == batch["token_ids"].shape[1] == 3 + 9 + 3
    assert lengths[1] == 5
    np.testing.assert_array_equal(
        batch["segment_ids"][0], [0] * (2 + 9) + [1] * 4
    )
    words = only(tokenizer, [["[MASK]", "Kyoto"]])
    assert words.ids == [CLS, *ids("[ mask ] kyoto"), SEP]
    assert words.word_ids == [None, 0, 0, 0, 1, None]


def test_a_pair_has_segment_0_up_to_the_first_sep_and_1_after(tokenizer):
    encoding = only(tokenizer, ["is it open"], ["until nine"])
    assert encoding.ids == [
        CLS, *ids("is it open"), SEP, *ids("until nine"), SEP,
    ]  # fmt: skip
    assert encoding.type_ids == [0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("max_length", "first", "second"),
    [
        (8, "is it open", "until nine"),
        (7, "is it", "until nine"),
        (6, "is it", "until"),
        (5, "is", "until"),
    ],
)
def test_a_pair_loses_tokens_of_its_longer_side_first(
    tokenizer, max_length, first, second
):
    encoding = only(
        tokenizer, ["is it open"], ["until nine"], max_length=max_length
    )
    assert encoding.ids == [CLS, *ids(first), SEP, *ids(second), SEP]
    assert encoding.type_ids == [0] * (2 + len(first.split())) + [1] * (
        1 + len(second.split())
    )


def test_pairs_and_single_texts_may_stand_in_one_batch(tokenizer):
    pair, single = tokenizer.encode(["pay", "key"], ["by", None])
    assert pair.type_ids == [0, 0, 0, 1, 1]
    assert single.ids == [CLS, *ids("key"), SEP]


def test_pairs_that_are_not_as_many_as_the_texts_are_refused(tokenizer):
    with pytest.raises(ValueError):
        tokenizer.encode(["pay", "key"], ["by"])


def test_truncation_is_of_one_call_only(tokenizer):
    assert len(only(tokenizer, ["pay by friday"], max_length=3).ids) == 3
    assert len(only(tokenizer, ["pay by friday"]).ids) == 5


@pytest.mark.parametrize(
    ("max_length", "text_pairs"),
    [(-1, None), (0, None), (1, None), (2, None), (2, ["by"]), (4, ["by"])],
)
def test_a_length_without_room_for_a_token_is_refused(
    tokenizer, max_length, text_pairs
):
    with pytest.raises(ValueError, match=f"Received: max_length={max_length}"):
        tokenizer.encode(["pay"], text_pairs, max_length=max_length)


@pytest.mark.parametrize(
    ("stride", "text_pairs"), [(-1, None), (3, None), (5, None), (1, ["by by"])]
)
def test_windows_that_would_not_advance_are_refused(
    tokenizer, stride, text_pairs
):
    with pytest.raises(ValueError, match=f"max_length=5, stride={stride}"):
        tokenizer.encode(
            ["pay by nine it is"], text_pairs, max_length=5, stride=stride
        )


@pytest.mark.parametrize("second", ["by", "by nine is it open"])
@pytest.mark.parametrize("stride", [0, 1, 2])
def test_windows_of_pairs_go_on_to_the_end(tokenizer, second, stride):
    encoding = only(
        tokenizer,
        ["pay by nine it is open until friday"],
        [second],
        max_length=9,
        stride=stride,
    )
    windows = [encoding, *encoding.overflowing]
    assert max(len(window.ids) for window in windows) == 9
    words = {number for window in windows for number in window.word_ids}
    assert words == {None, *range(8)}


def test_windows_overlap_by_the_stride_and_lose_nothing(tokenizer):
    text = "is it open until nine"
    encoding = only(tokenizer, [text], max_length=5, stride=1)
    windows = [each.ids[1:-1] for each in (encoding, *encoding.overflowing)]
    assert windows == [ids("is it open"), ids("open until nine")]


def test_empty_texts_are_texts(tokenizer):
    texts = ["", " ", "\t\n", "key", "\u200b", ""]
    found = [encoding.ids for encoding in tokenizer.encode(texts)]
    empty = [CLS, SEP]
    assert found == [empty, empty, empty, [CLS, *ids("key"), SEP], empty, empty]


@pytest.mark.parametrize("texts", [[], [[]]])
def test_empty_batches_and_lists_of_no_words(tokenizer, texts):
    found = [encoding.ids for encoding in tokenizer.encode(texts)]
    assert found == [[CLS, SEP]] * len(texts)


def test_a_batch_is_padded_to_its_longest(tokenizer):
    batch = tokenizer(["pay", "pay by friday"])
    assert sorted(batch) == ["padding_mask", "segment_ids", "token_ids"]
    assert {array.dtype for array in batch.values()} == {np.dtype("int32")}
    np.testing.assert_array_equal(
        batch["token_ids"],
        [[CLS, *ids("pay"), SEP, PAD, PAD], [CLS, *ids("pay by friday"), SEP]],
    )
    np.testing.assert_array_equal(
        batch["padding_mask"], [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    )


def test_one_text_is_a_batch_of_one(tokenizer):
    np.testing.assert_array_equal(
        tokenizer("pay", "by")["token_ids"],
        [[CLS, *ids("pay"), SEP, *ids("by"), SEP]],
    )


def test_the_mask_is_made_from_lengths_not_from_the_padding_id(tokenizer):
    batch = tokenizer.pad([[CLS, PAD, SEP], [CLS]])
    np.testing.assert_array_equal(batch["padding_mask"], [[1, 1, 1], [1, 0, 0]])


def test_padding_uses_the_vocabularys_own_padding_id():
    vocabulary = ["key", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]"]
    batch = Tokenizer.from_vocabulary(vocabulary)(["key", "key key"])
    assert batch["token_ids"][0].tolist() == [2, 0, 3, 5]
    assert batch["padding_mask"][0].tolist() == [1, 1, 1, 0]


def test_padding_to_a_given_length(tokenizer):
    batch = tokenizer.pad([[CLS, SEP]], [[0, 1]], length=4)
    assert batch["token_ids"].tolist() == [[CLS, SEP, PAD, PAD]]
    assert batch["segment_ids"].tolist() == [[0, 1, 0, 0]]


def test_a_row_longer_than_the_length_is_refused(tokenizer):
    with pytest.raises(ValueError, match="length=2"):
        tokenizer.pad([[CLS, PAD, SEP], [CLS]], length=2)


@pytest.mark.parametrize("rows", [[], [[]], [[], [CLS]]])
def test_empty_rows_are_rows_of_padding(tokenizer, rows):
    batch = tokenizer.pad(rows, rows)
    assert batch["padding_mask"].sum(axis=1).tolist() == [*map(len, rows)]


def test_casing_and_accents_are_settings():
    cased = Tokenizer.from_vocabulary(VOCABULARY, lowercase=False)
    assert only(cased, ["pay PAY"]).ids == [CLS, *ids("pay"), UNK, SEP]
    kept = Tokenizer.from_vocabulary(VOCABULARY, strip_accents=False)
    assert only(kept, ["Zürich"]).ids == [CLS, *ids("zürich"), SEP]
    stripped = Tokenizer.from_vocabulary(VOCABULARY)
    assert only(stripped, ["Zürich"]).ids == [CLS, *ids("zurich"), SEP]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [None, True, False])
@pytest.mark.parametrize("with_json", [True, False])
def test_saved_settings_come_back(
    tmp_path, lowercase, strip_accents, with_json
):
    tokenizer = Tokenizer.from_vocabulary(
        VOCABULARY, lowercase=lowercase, strip_accents=strip_accents
    )
    tokenizer.save(tmp_path)
    if not with_json:
        (tmp_path / "tokenizer.json").unlink()
    loaded = Tokenizer.from_folder(tmp_path)
    texts = ["PAY by Zürich", "zu\u0308rich 東kyoto", "press [SEP] key"]
    for found, expected in zip(
        loaded.encode(texts, texts), tokenizer.encode(texts, texts), strict=True
    ):
        assert found.ids == expected.ids
        assert found.word_ids == expected.word_ids
        assert found.offsets == expected.offsets
        assert found.type_ids == expected.type_ids


def test_saving_keeps_nothing_of_the_last_call(tmp_path, tokenizer):
    tokenizer.encode(["pay"], max_length=3)
    tokenizer.save(tmp_path)
    config = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    assert config["truncation"] is config["padding"] is None


def test_special_tokens_of_another_name(tmp_path):
    names = dict(
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
    )
    tokenizer = Tokenizer.from_vocabulary(
        [*names.values(), "key"], special_tokens=names
    )
    tokenizer.save(tmp_path)
    for each in (tokenizer, Tokenizer.from_folder(tmp_path)):
        assert only(each, ["key what"]).ids == [2, 5, 1, 3]
        assert (each.pad_id, each.unk_id, each.mask_id) == (0, 1, 4)


def test_special_tokens_may_be_nested_as_old_files_have_them(tmp_path):
    Tokenizer.from_vocabulary(VOCABULARY).save(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    nested = {"content": "[MASK]", "lstrip": True}
    path.write_text(json.dumps({"pad_token": "[UNK]", "mask_token": nested}))
    loaded = Tokenizer.from_folder(tmp_path)
    assert (loaded.pad_id, loaded.mask_id) == (UNK, MASK)


@pytest.mark.parametrize("role", SPECIAL_TOKENS)
def test_a_vocabulary_without_a_special_token_is_refused(role):
    token = SPECIAL_TOKENS[role]
    vocabulary = [each for each in VOCABULARY if each != token]
    with pytest.raises(CheckpointError) as raised:
        Tokenizer.from_vocabulary(vocabulary)
    assert f"{role} {token!r}" in str(raised.value)


def test_the_vocabulary_size_is_one_more_than_the_largest_id(tokenizer):
    assert tokenizer.vocabulary_size == len(VOCABULARY)


def test_a_folder_without_files_is_an_error(tmp_path):
    with pytest.raises(CheckpointError, match=r"vocab\.txt: no such file"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[1, 2", b"null"])
def test_a_damaged_tokenizer_json_is_an_error(tmp_path, content):
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: cannot"):
        Tokenizer.from_folder(tmp_path)


def test_a_tokenizer_of_another_kind_is_an_error(tmp_path):
    import tokenizers

    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CheckpointError, match="expected a WordPiece .* BPE"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "3",
        "{",
        '{"do_lower_case": "yes"}',
        '{"strip_accents": 3}',
        '{"pad_token": 7}',
        '{"tokenize_chinese_chars": []}',
    ],
)
@pytest.mark.parametrize("with_json", [True, False])
def test_a_damaged_config_is_an_error(tmp_path, content, with_json):
    Tokenizer.from_vocabulary(VOCABULARY).save(tmp_path)
    if not with_json:
        (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer_config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json"):
        Tokenizer.from_folder(tmp_path)


def test_settings_of_null_are_the_defaults(tmp_path):
    Tokenizer.from_vocabulary(VOCABULARY).save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    config = dict.fromkeys(("do_lower_case", "tokenize_chinese_chars"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    loaded = Tokenizer.from_folder(tmp_path)
    assert only(loaded, ["PAY"]).ids == [CLS, *ids("pay"), SEP]


def test_half_an_emoji_is_dropped_wherever_it_stands():
    tokenizer = Tokenizer.from_vocabulary(VOCABULARY)
    whole, cut = tokenizer.encode(["pay", "pa\ud83dy"])
    assert cut.ids == whole.ids
    assert cut.offsets[1] == (0, 4)
    (pair,) = tokenizer.encode(["pay"], ["\udc00 pay"])
    assert pair.ids == [CLS, *ids("pay"), SEP, *ids("pay"), SEP]
    (words,) = tokenizer.encode([["\ud83d", "pay"]])
    assert words.ids == whole.ids
    assert words.word_ids == [None, 1, None]


def test_what_is_no_text_is_an_error():
    tokenizer = Tokenizer.from_vocabulary(VOCABULARY)
    with pytest.raises(TypeError):
        tokenizer.encode(["pay", 3])
