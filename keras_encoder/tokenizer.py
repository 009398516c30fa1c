"""WordPiece tokenisation with word ids and character offsets."""

import json
import pathlib
import re

import numpy as np
import tokenizers

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.tokenizer_files import (
    RULES,
    SPECIAL_TOKENS,
    read_json,
    read_vocabulary,
    rules_of,
    special_tokens_of,
)

_SURROGATE = re.compile("[\ud800-\udfff]")


class Tokenizer:
    """BERT's WordPiece over the `tokenizers` library.

    Text that spells a special token (`"[SEP]"`) is plain text: it is split
    like any other and never becomes a separator.

    Args:
        backend: a `tokenizers.Tokenizer` with a WordPiece model. Use
            `from_folder` or `from_vocabulary` to get one from files.
        special_tokens: dict of `pad_token`, `unk_token`, `cls_token`,
            `sep_token` and `mask_token`; those that are left out have BERT's
            names.

    Raises:
        CheckpointError: if a special token is not in the vocabulary.

    Example:
    ```python
    tokenizer = Tokenizer.from_folder("path/of/a/model")
    encoder(tokenizer(["A text.", "Another."]))
    encoding = tokenizer.encode(["Zürich is here"])[0]
    encoding.ids, encoding.word_ids, encoding.offsets
    ```
    """

    def __init__(self, backend, special_tokens=None):
        self.special_tokens = {**SPECIAL_TOKENS, **(special_tokens or {})}
        for role, token in self.special_tokens.items():
            if backend.token_to_id(token) is None:
                raise CheckpointError(
                    f"The vocabulary has no {role} {token!r}. Expected "
                    f"{', '.join(self.special_tokens.values())}; name others "
                    "in tokenizer_config.json."
                )
        # Files carry the lengths of somebody's run; ours come per call.
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = True
        self.backend = backend
        self.pad_id = backend.token_to_id(self.special_tokens["pad_token"])
        self.mask_id = backend.token_to_id(self.special_tokens["mask_token"])
        self.unk_id = backend.token_to_id(self.special_tokens["unk_token"])

    @classmethod
    def from_folder(cls, folder):
        """Reads `tokenizer.json`, or `vocab.txt` with its settings.

        The casing and accent rules of `tokenizer_config.json`, where it has
        them, win over those of `tokenizer.json`, as in transformers.

        Args:
            folder: path of a folder.

        Raises:
            CheckpointError: if the files are absent, damaged or no WordPiece.
        """
        folder = pathlib.Path(folder)
        config_path = folder / "tokenizer_config.json"
        special_path = folder / "special_tokens_map.json"
        config = read_json(config_path)
        special_tokens = {
            **special_tokens_of(read_json(special_path), special_path),
            **special_tokens_of(config, config_path),
        }
        rules = rules_of(config, config_path)
        path = folder / "tokenizer.json"
        if not path.exists():
            return cls.from_vocabulary(
                folder / "vocab.txt",
                special_tokens=special_tokens,
                **{RULES[key][0]: value for key, value in rules.items()},
            )
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise CheckpointError(
                f"{path}: cannot be read as a tokenizer ({error})."
            ) from error
        if not isinstance(backend.model, tokenizers.models.WordPiece):
            raise CheckpointError(
                f"{path}: expected a WordPiece tokenizer, found "
                f"{type(backend.model).__name__}."
            )
        normalizer = backend.normalizer
        if isinstance(normalizer, tokenizers.normalizers.BertNormalizer):
            for key, value in rules.items():
                setattr(normalizer, RULES[key][1], value)
            backend.normalizer = normalizer
        return cls(backend, special_tokens)

    @classmethod
    def from_vocabulary(
        cls,
        vocabulary,
        lowercase=True,
        strip_accents=None,
        split_cjk=True,
        special_tokens=None,
    ):
        """Makes a tokenizer from a `vocab.txt`: the id is the line's number.

        Args:
            vocabulary: path of the file, or a list of tokens.
            lowercase: bool. Lower-case the text.
            strip_accents: bool, or None for "as `lowercase`".
            split_cjk: bool. Make each CJK character a word.
            special_tokens: as in the constructor.
        """
        if not isinstance(vocabulary, list):
            vocabulary = read_vocabulary(vocabulary)
        special = {**SPECIAL_TOKENS, **(special_tokens or {})}
        ids = {token: i for i, token in enumerate(vocabulary)}
        backend = tokenizers.Tokenizer(
            tokenizers.models.WordPiece(ids, unk_token=special["unk_token"])
        )
        backend.normalizer = tokenizers.normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=split_cjk,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )
        backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        backend.decoder = tokenizers.decoders.WordPiece()
        known = [token for token in special.values() if token in ids]
        backend.add_special_tokens(known)
        cls_token, sep_token = special["cls_token"], special["sep_token"]
        if cls_token in ids and sep_token in ids:
            backend.post_processor = tokenizers.processors.BertProcessing(
                (sep_token, ids[sep_token]), (cls_token, ids[cls_token])
            )
        return cls(backend, special_tokens)

    @property
    def vocabulary_size(self):
        """Number of token ids, so that every id is below it."""
        return max(self.backend.get_vocab().values()) + 1

    def encode(self, texts, text_pairs=None, max_length=None, stride=None):
        """Tokenises a batch in parallel.

        Args:
            texts: list of strings, or list of lists of words.
            text_pairs: None, or a list as long as `texts`: the second text
                of each pair, or None for single texts.
            max_length: int or None. Cut to so many tokens, specials
                included; a pair loses tokens from its longer side first.
            stride: int or None. Instead of cutting, put the rest into
                further windows that overlap by so many tokens: the
                `overflowing` of the encoding.

        A lone surrogate, half of an emoji that was cut in two, is read as
        U+FFFD, which BERT's normalizer drops.

        Returns:
            List of `tokenizers.Encoding`, with `ids`, `type_ids`, `word_ids`,
            `sequence_ids` and `offsets`: code-point (start, end), end
            exclusive, into the text (into the word, for lists of words).

        Raises:
            ValueError: if no token, or no more than the overlap, would fit.
        """
        if max_length is None:
            self.backend.no_truncation()
        else:
            self._check_room(max_length, stride or 0, text_pairs is not None)
            self.backend.enable_truncation(
                max_length, stride=stride or 0, strategy="longest_first"
            )
        are_words = bool(texts) and not isinstance(texts[0], str)
        inputs = texts
        if text_pairs is not None:
            inputs = [
                text if pair is None else (text, pair)
                for text, pair in zip(texts, text_pairs, strict=True)
            ]
        try:
            return self.backend.encode_batch(inputs, is_pretokenized=are_words)
        except TypeError:  # what the library says of half a character, too
            mended = [_mend(each) for each in inputs]
            if mended == list(inputs):
                raise
            return self.backend.encode_batch(mended, is_pretokenized=are_words)

    def _check_room(self, max_length, stride, is_pair):
        """Raises unless each text of an input can keep a token and advance.

        The library does not cut at all, or ends the process, where not.
        """
        special = self.backend.num_special_tokens_to_add(is_pair)
        room = (max_length - special) // (2 if is_pair else 1)
        if room < 1:
            raise ValueError(
                f"`max_length` must leave room for a token of each text beside "
                f"{special} special tokens. Received: max_length={max_length}"
            )
        if not 0 <= stride < room:
            raise ValueError(
                f"`stride` must be 0 or more and less than the {room} tokens "
                f"that fit. Received: max_length={max_length}, stride={stride}"
            )

    def __call__(self, texts, text_pairs=None, max_length=None):
        """Tokenises and pads a batch into the inputs of an `Encoder`.

        Args:
            texts: a string or a list of strings.
            text_pairs: None, a string or a list of strings.
            max_length: int or None, as in `encode`.

        Returns:
            Dict of `token_ids`, `segment_ids` and `padding_mask`, each an
            int32 array (batch, longest).
        """
        if isinstance(texts, str):
            texts = [texts]
            text_pairs = None if text_pairs is None else [text_pairs]
        encodings = self.encode(texts, text_pairs, max_length)
        return self.pad(
            [encoding.ids for encoding in encodings],
            [encoding.type_ids for encoding in encodings],
        )

    def pad(self, token_ids, segment_ids=None, length=None):
        """Pads rows of ids to one length; the mask comes from lengths.

        Args:
            token_ids: list of int sequences.
            segment_ids: None (all zeros) or a list like `token_ids`.
            length: int or None, the length to pad to; None: the longest.

        Returns:
            Dict of int32 arrays (batch, length), as for `Encoder`.

        Raises:
            ValueError: if a row is longer than `length`.
        """
        lengths = np.array([len(row) for row in token_ids], dtype="int32")
        longest = int(max(lengths, default=0))
        length = length or longest
        if longest > length:
            raise ValueError(
                f"`length` must be that of the longest row, {longest}, or "
                f"more. Received: length={length}"
            )
        padding_mask = np.arange(length) < lengths[:, None]
        batch = {
            "token_ids": np.full(padding_mask.shape, self.pad_id, "int32"),
            "segment_ids": np.zeros(padding_mask.shape, "int32"),
            "padding_mask": padding_mask.astype("int32"),
        }
        if len(token_ids):
            batch["token_ids"][padding_mask] = np.concatenate(token_ids)
            if segment_ids is not None:
                batch["segment_ids"][padding_mask] = np.concatenate(segment_ids)
        return batch

    def save(self, folder, max_length=None):
        """Writes `tokenizer.json`, `tokenizer_config.json` and `vocab.txt`.

        Args:
            folder: path of an existing folder.
            max_length: int or None, written as `model_max_length`.
        """
        folder = pathlib.Path(folder)
        self.backend.no_truncation()
        self.backend.save(str(folder / "tokenizer.json"))
        config = {"tokenizer_class": "BertTokenizer", **self.special_tokens}
        normalizer = self.backend.normalizer
        if isinstance(normalizer, tokenizers.normalizers.BertNormalizer):
            config.update(
                do_lower_case=normalizer.lowercase,
                strip_accents=normalizer.strip_accents,
                tokenize_chinese_chars=normalizer.handle_chinese_chars,
            )
        if max_length is not None:
            config["model_max_length"] = max_length
        text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
        (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
        tokens = {i: t for t, i in self.backend.get_vocab().items()}
        lines = [tokens.get(i, "") for i in range(self.vocabulary_size)]
        with open(
            folder / "vocab.txt", "w", encoding="utf-8", newline="\n"
        ) as file:
            file.writelines(line + "\n" for line in lines)


def _mend(text):
    """Text, or a pair or list of texts, of whole characters; same lengths."""
    if isinstance(text, str):
        return _SURROGATE.sub("\ufffd", text)
    return type(text)(_mend(each) for each in text)
