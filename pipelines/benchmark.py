"""Speed as ratios of one run: to the machine's matrix ceiling, to a peer.

    keras-encoder benchmark --mode train --peer

Absolute times change with the machine and the hour; the ratios printed here
come from measurements taken in turn.
"""

import json
import statistics
import subprocess
import sys
import time

import keras
import numpy as np
from keras import ops

from keras_encoder.encoder import Encoder
from keras_encoder.heads import SequenceClassifier
from keras_encoder.losses import SmoothCrossentropy
from keras_encoder.optimization import make_optimizer
from keras_encoder.presets import PRESETS, preset_config
from pipelines.console import say
from pipelines.errors import InputError
from pipelines.measuring.costs import operations
from pipelines.options import BenchmarkOptions
from pipelines.training.precision import POLICIES

CLASSES = 5
# Rows, inner width and columns of the product that stands for the ceiling.
CEILING = (4096, 1024, 4096)


def benchmark(options: BenchmarkOptions) -> dict:
    """Runs the recipe: measures a step of a classifier on random ids.

    Args:
        options: see `BenchmarkOptions`.

    Returns:
        The measurements, which are also printed as one JSON object.
    """
    if options.encoder not in PRESETS:
        raise InputError(
            f"--encoder {options.encoder}: expected a size, one of "
            f"{', '.join(PRESETS)}."
        )
    size = preset_config(options.encoder)
    step = _step(options, size)
    product = _matrix_product(options.precision)
    seconds, product_seconds = _medians([step, product], options.repeats)
    ceiling = 2 * np.prod(CEILING) / product_seconds
    backward = 3 if options.mode == "train" else 1
    whole = sum(operations(size, options.length).values())
    done = options.batch_size * whole * backward
    tokens = options.batch_size * options.length
    result = {
        "backend": keras.backend.backend(),
        "mode": options.mode,
        "precision": options.precision,
        "encoder": options.encoder,
        "batch_size": options.batch_size,
        "length": options.length,
        "tokens_per_second": round(tokens / seconds),
        # Over 1 is possible: the last block is computed for one token only.
        "share_of_matrix_ceiling": round(float(done / seconds / ceiling), 3),
    }
    if options.peer:
        peer = _peer_seconds(options, size)
        result["times_transformers"] = round(peer / seconds, 2)
    print(json.dumps(result))
    return result


def _step(options, size):
    encoder = Encoder(**size, dtype=POLICIES[options.precision])
    model = SequenceClassifier(encoder, CLASSES)
    model.compile(
        make_optimizer(model.trainable_variables, 2e-5, 1000),
        SmoothCrossentropy(),
    )
    generator = np.random.default_rng(0)
    shape = (options.batch_size, options.length)
    ids = generator.integers(1000, size["vocabulary_size"], shape)
    inputs = {
        "token_ids": ids.astype("int32"),
        "padding_mask": np.ones(shape, "int32"),
    }
    targets = generator.integers(0, CLASSES, options.batch_size)
    if options.mode == "train":
        return lambda: model.train_on_batch(inputs, targets)
    return lambda: model.predict_on_batch(inputs)


def _matrix_product(precision):
    rows, inner, columns = CEILING
    generator = np.random.default_rng(0)
    left, right = (
        ops.cast(generator.normal(size=shape).astype("float32"), precision)
        for shape in ((rows, inner), (inner, columns))
    )
    # One number comes back: the product itself would cost a copy.
    return lambda: float(ops.matmul(left, right)[0, 0])


def _medians(steps, repeats):
    """Median seconds of each, measured in turn after two warm-ups."""
    times = [[] for _ in steps]
    for repeat in range(repeats + 2):
        for step, found in zip(steps, times, strict=True):
            start = time.perf_counter()
            step()
            if repeat >= 2:
                found.append(time.perf_counter() - start)
    return [statistics.median(found) for found in times]


def _peer_seconds(options, size):
    """Seconds of the same step in transformers, in a process of its own."""
    say("Measuring transformers on PyTorch")
    arguments = {
        "mode": options.mode,
        "precision": options.precision,
        "batch_size": options.batch_size,
        "length": options.length,
        "repeats": options.repeats,
        "size": size,
    }
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.measuring.transformers_step"],
        input=json.dumps(arguments),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InputError(
            "--peer: transformers with PyTorch cannot be measured: "
            f"{done.stderr.strip().splitlines()[-1:] or 'no message'}"
        )
    return json.loads(done.stdout.splitlines()[-1])["seconds"]
