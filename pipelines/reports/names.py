"""What reports call a model, its data and the encoder that it came from."""

import os
import pathlib

from keras_encoder.checkpoints.locate import MINILM_REPO
from pipelines.data.python_rows import is_from_python

# Recipe -> title, transformers' pipeline, name on the Hugging Face hub.
KINDS = {
    "classify": (
        "Text classifier",
        "text-classification",
        "Text Classification",
    ),
    "tag": ("Token tagger", "token-classification", "Token Classification"),
    "pretrain": ("Masked language model", "fill-mask", "Fill-Mask"),
}
_BUILT_IN = {
    "classify": "bbc_news",
    "tag": "punctuation",
    "pretrain": "bbc_news",
}


def data_name(task: str, options) -> str:
    """The training data as the options name them, without their folder."""
    source = getattr(options, "train", None)
    if source is None:
        source = options.data
    if source is None:
        return _BUILT_IN[task]
    return "data from Python" if is_from_python(source) else base_name(source)


def base_name(source) -> str:
    """A file without the folders that it lies in, which are nobody's business.

    What has a colon, as `tfds:glue/sst2`, is the name of no file. Bytes that
    are no UTF-8 become U+FFFD: reports are.
    """
    source = os.fsencode(str(source)).decode("utf-8", "replace")
    is_file = ":" not in source[2:]  # further left it follows a drive
    return (pathlib.PurePath(source).name or source) if is_file else source


def hub_name(encoder: str) -> str | None:
    """The repository of an encoder on the Hugging Face hub, if it has one."""
    if encoder == "minilm-l6":
        return MINILM_REPO
    if encoder.startswith("hf://"):
        return encoder.removeprefix("hf://")
    return None
