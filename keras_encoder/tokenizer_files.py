"""The files beside a tokenizer: vocabulary, special tokens, casing rules."""

import json
import pathlib
import warnings

from keras_encoder.checkpoints.errors import CheckpointError

SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# Key of tokenizer_config.json -> our argument, the normalizer's attribute.
RULES = {
    "do_lower_case": ("lowercase", "lowercase"),
    "strip_accents": ("strip_accents", "strip_accents"),
    "tokenize_chinese_chars": ("split_cjk", "handle_chinese_chars"),
}


def read_vocabulary(path):
    r"""Reads a `vocab.txt` as a list of tokens; blank lines keep their slot.

    Only `\n` and `\r\n` end a line: U+2028 and U+0085 can be tokens. A
    byte-order mark at the start is dropped; a token that stands twice is
    warned about and has the later id, as in transformers.

    Raises:
        CheckpointError: if the file is absent, empty or not UTF-8.
    """
    path = pathlib.Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path}: no such file; expected a vocabulary, one token a line, "
            "or a tokenizer.json beside it."
        ) from error
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error}).") from error
    except UnicodeDecodeError as error:
        raise CheckpointError(
            f"{path}: expected UTF-8, found byte "
            f"0x{error.object[error.start]:02x} at offset {error.start}."
        ) from error
    tokens = [line.removesuffix("\r") for line in text.split("\n")]
    if tokens[-1] == "":
        tokens.pop()
    if not tokens:
        raise CheckpointError(f"{path}: the vocabulary is empty.")
    filled = [token for token in tokens if token]
    repeated = len(filled) - len(set(filled))
    if repeated:
        warnings.warn(
            f"{path}: {repeated} tokens stand more than once; each has the id "
            "of its last line.",
            stacklevel=2,
        )
    return tokens


def special_tokens_of(config, path):
    """Names of the special tokens in a config; older files nest them."""
    names = {}
    for role in SPECIAL_TOKENS:
        token = config.get(role)
        if isinstance(token, dict):
            token = token.get("content")
        if not isinstance(token, str | None):
            raise CheckpointError(
                f"{path}: expected {role} to be a string, found {token!r}."
            )
        if token:
            names[role] = token
    return names


def rules_of(config, path):
    """The casing and accent rules that a config states, by its own keys."""
    rules = {}
    for key in RULES:
        value = config.get(key)
        if not isinstance(value, bool | None):
            raise CheckpointError(
                f"{path}: expected {key} to be true, false or null, found "
                f"{value!r}."
            )
        # Only for accents is null a rule: "as the casing".
        if value is not None or (key == "strip_accents" and key in config):
            rules[key] = value
    return rules


def read_json(path):
    """Content of a JSON file with an object; {} if there is no file."""
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: expected JSON ({error}).") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: expected a JSON object.")
    return content
