"""Proof that an encoder gives the same numbers wherever it runs.

    keras-encoder verify --encoder minilm-l6

One batch of text through each installed backend, and through transformers if
it is installed, each in a process of its own. The reference is transformers
in float32, which shares no code with us; without it, the first backend.
"""

import contextlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np

import pipelines
from keras_encoder.checkpoints import huggingface, safetensors_files
from keras_encoder.checkpoints.config import OWN_MODEL_TYPE, read_config
from keras_encoder.checkpoints.load import load_encoder
from keras_encoder.checkpoints.locate import find_folder
from pipelines.backend import BACKENDS
from pipelines.console import Progress, say
from pipelines.errors import RunFailed
from pipelines.measuring.verify_run import PRECISIONS
from pipelines.options import VerifyOptions

# Of different lengths, so that there is padding. The opening of "Pride and
# Prejudice" (1813), its second sentence, and two shorter ones.
TEXTS = [
    "It is a truth universally acknowledged, that a single man in possession "
    "of a good fortune, must be in want of a wife.",
    "However little known the feelings or views of such a man may be on his "
    "first entering a neighbourhood, this truth is so well fixed in the minds "
    "of the surrounding families, that he is considered as the rightful "
    "property of some one or other of their daughters.",
    "That is his design in settling here?",
    "Zürich, 12:30.",
]
_LONGEST = 64
# Rounds nothing off behind our back on a GPU.
_EXACT = {
    "NVIDIA_TF32_OVERRIDE": "0",
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
}


def verify(options: VerifyOptions) -> dict[str, dict[str, float]]:
    """Runs the recipe: prints a table and a verdict.

    Args:
        options: see `VerifyOptions`.

    Returns:
        For each run, such as `jax bfloat16`, the largest difference from the
        reference by layer.

    Raises:
        RunFailed: if a difference is beyond its tolerance, or a run broke.
    """
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folder, batch = _prepare(options.encoder, scratch)
        states = _run_all(folder, batch, scratch)
    real = batch["padding_mask"] == 1
    reference = next(iter(states))
    largest = {
        layer: float(np.abs(_real(array, real)).max())
        for layer, array in states[reference].items()
    }
    differences = {
        run: _differences(found, states[reference], real)
        for run, found in states.items()
        if run != reference
    }
    print(f"{options.encoder}: largest difference from {reference}\n")
    print(*table(differences, largest), sep="\n")
    wrong = beyond(differences, largest, options)
    if wrong:
        raise RunFailed("\n".join(["beyond the tolerance:", *wrong]))
    print(
        f"\nVerdict: the same within {options.tolerance:g} in float32, and "
        f"within {options.bfloat16_tolerance:.0%} of the largest value in "
        "bfloat16."
    )
    return differences


def table(differences, largest) -> list[str]:
    """Lines of a table: a row a layer, a column a run."""
    heads = [("largest", "value"), *(run.split() for run in differences)]
    lines = [
        f"{'':<10}" + "".join(f"{word:>14}" for word in words)
        for words in zip(*heads, strict=True)
    ]
    for layer, value in largest.items():
        cells = [
            f"{found[layer]:.2e}" if layer in found else "-"
            for found in differences.values()
        ]
        cells = "".join(f"{cell:>14}" for cell in cells)
        lines.append(f"{layer:<10}{value:>14.2f}{cells}")
    return lines


def beyond(differences, largest, options: VerifyOptions) -> list[str]:
    """A line for each run that differs by more than the options allow."""
    lines = []
    for run, found in differences.items():
        is_exact = run.endswith(PRECISIONS[0])
        for layer, value in found.items():
            limit = options.tolerance
            if not is_exact:
                limit = options.bfloat16_tolerance * largest[layer]
            if not value <= limit:  # NaN is beyond everything
                lines.append(f"  {run}, {layer}: {value:.2e} > {limit:.2e}")
                break
    return lines


def _prepare(spec, scratch):
    """The folder that every process reads, and the batch."""
    encoder, tokenizer, report = load_encoder(spec)
    say(str(report))
    longest = min(_LONGEST, encoder.longest_input)
    if tokenizer is None:
        batch = _numbered(encoder.vocabulary_size, longest)
    else:
        batch = tokenizer(TEXTS, max_length=longest)
    np.savez(scratch / "batch.npz", **batch)
    with contextlib.suppress(ValueError):  # a size is no folder
        folder = find_folder(spec)
        # What transformers reads too is left as it is; the rest is written
        # once, so that all read the same weights.
        if safetensors_files.is_in(folder) and _model_type(folder) in (
            "bert",
            "distilbert",
        ):
            return folder, batch
    huggingface.save_encoder(encoder, scratch / "encoder")
    return scratch / "encoder", batch


def _numbered(vocabulary_size, longest):
    """The texts for a size, which has no vocabulary: any id for each word."""
    rows = [
        [zlib.crc32(word.encode()) % vocabulary_size for word in text.split()]
        for text in TEXTS
    ]
    length = min(longest, max(map(len, rows)))
    token_ids = np.zeros((len(rows), length), "int32")
    for ids, row in zip(token_ids, rows, strict=True):
        ids[: len(row)] = row[:length]
    lengths = np.array([[len(row)] for row in rows])
    return {
        "token_ids": token_ids,
        "segment_ids": np.zeros_like(token_ids),
        "padding_mask": (np.arange(length) < lengths).astype("int32"),
    }


def _model_type(folder):
    config = read_config(folder)
    # KerasHub's have no such entry, but one of their own.
    is_hub = "registered_name" in config
    return None if is_hub else config.get("model_type", "bert")


def _run_all(folder, batch, scratch):
    """States by layer of each run, the reference first."""
    states = {}
    with Progress("verify", 1 + len(BACKENDS)) as progress:
        if importlib.util.find_spec("transformers") is None or (
            importlib.util.find_spec("torch") is None
        ):
            say("transformers: not installed, skipped")
        elif _model_type(folder) == OWN_MODEL_TYPE:
            say("transformers: has no such encoder, skipped")
        else:
            found = _run("transformers", {}, folder, scratch)
            states.update(_by_run("transformers", found))
        progress.add()
        for name, package in BACKENDS.items():
            if importlib.util.find_spec(package) is None:
                say(f"{name}: not installed, skipped")
            else:
                environment = {"KERAS_BACKEND": name}
                found = _run("keras", environment, folder, scratch)
                states.update(_by_run(name, found))
            progress.add()
    return states


def _run(kind, environment, folder, scratch):
    """Arrays that a process wrote."""
    root = pathlib.Path(pipelines.__file__).parents[1]
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    output = scratch / "states.npz"
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pipelines.measuring.verify_run", kind),
            *(str(folder), str(scratch / "batch.npz"), str(output)),
        ],
        env={
            **os.environ,
            **_EXACT,
            **environment,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if ran.returncode:
        name = environment.get("KERAS_BACKEND", kind)
        last = "\n".join(ran.stderr.strip().splitlines()[-5:])
        raise RunFailed(f"{name}: ended with code {ran.returncode}:\n{last}")
    with np.load(output) as arrays:
        return dict(arrays)


def _by_run(name, found):
    """`float32/layer_1` -> {"jax float32": {"layer_1": ...}}."""
    runs = {}
    for key, array in found.items():
        precision, layer = key.split("/")
        runs.setdefault(f"{name} {precision}", {})[layer] = array
    return runs


def _differences(found, reference, real):
    return {
        layer: float(
            np.abs(_real(array, real) - _real(reference[layer], real)).max()
        )
        for layer, array in found.items()
        if layer in reference
    }


def _real(array, real):
    """Without padding: (tokens, hidden), or what has no tokens as it is."""
    return array[real] if array.ndim == 3 else array
