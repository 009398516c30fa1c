"""The same classifier, texts and batches in Keras and in ONNX Runtime.

    KERAS_BACKEND=torch python -m tests.peers.onnx_predict MODEL TEXTS.jsonl

Exports the model's own graph, once for each padded length (PyTorch's exporter
writes fixed shapes), runs all batches in ONNX Runtime and in Keras on the
backend at hand, compares the logits, and prints the seconds of both. Needs
`onnx` and `onnxruntime`, and PyTorch as the backend for the export; on another
backend it runs the graphs that an earlier call left in `--graphs`.
"""

import argparse
import json
import pathlib
import time

import keras
import numpy as np
import onnxruntime

from pipelines.classification.texts import cut_of, tokenise
from pipelines.data.readers import read_examples
from pipelines.model_folder import read_model_folder
from pipelines.training.batching import (
    padded_lengths,
    plan_batches,
    predict_rows,
)


def main():
    """Measures what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="folder of a classifier")
    parser.add_argument("texts", help="JSON lines with the key text")
    parser.add_argument("--graphs", default="graphs", help="folder for them")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    fine_tuned = read_model_folder(options.model)
    settings = fine_tuned.settings
    inputs, _ = tokenise(
        fine_tuned.tokenizer,
        list(read_examples(options.texts, labelled=False)),
        settings["max_length"],
        cut_of(settings),
    )
    shapes = padded_lengths(inputs, options.batch_size)
    sessions = {
        length: session(fine_tuned.model, options, length) for length in shapes
    }
    plan = plan_batches(inputs.lengths, len(inputs), options.batch_size, shapes)

    def onnx():
        for rows, length in plan:
            missing = options.batch_size - len(rows)
            padded = np.concatenate([rows, np.repeat(rows[:1], missing)])
            batch = inputs.batch(padded, length)
            given = [batch["token_ids"], batch["padding_mask"]]
            names = [i.name for i in sessions[length].get_inputs()]
            feed = dict(zip(names, given, strict=True))
            yield rows, sessions[length].run(None, feed)[0][: len(rows)]

    def own():
        yield from predict_rows(fine_tuned.model, inputs, options.batch_size)

    seconds, logits = {"keras": [], "onnxruntime": []}, {}
    for _ in range(1 + options.repeats):  # the first compiles
        for name, run in (("keras", own), ("onnxruntime", onnx)):
            start = time.perf_counter()
            found = dict(
                pair
                for rows, some in run()
                for pair in zip(rows, some, strict=True)
            )
            seconds[name].append(time.perf_counter() - start)
            logits[name] = np.stack([found[i] for i in range(len(inputs))])
    medians = {k: float(np.median(v[1:])) for k, v in seconds.items()}
    difference = np.abs(logits["keras"] - logits["onnxruntime"]).max()
    print(
        json.dumps(
            {
                "backend": keras.backend.backend(),
                "texts": len(inputs),
                "shapes": shapes,
                "seconds": {k: round(v, 2) for k, v in medians.items()},
                "onnxruntime_over_keras": round(
                    medians["onnxruntime"] / medians["keras"], 2
                ),
                "largest_difference": float(difference),
            }
        )
    )


def session(model, options, length):
    """An ONNX Runtime session for one padded length; exports its graph."""
    path = pathlib.Path(options.graphs) / f"{options.batch_size}x{length}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        export(model, path, options.batch_size, length)
    return onnxruntime.InferenceSession(
        path, providers=["CPUExecutionProvider"]
    )


def export(model, path, batch_size, length):
    """Writes the model's graph for batches of one shape."""
    import torch

    class Positional(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, token_ids, padding_mask):
            return self.model(
                {"token_ids": token_ids, "padding_mask": padding_mask}
            )

    ones = torch.ones((batch_size, length), dtype=torch.int32)
    with torch.no_grad():
        torch.onnx.export(Positional().eval(), (ones, ones), path, dynamo=False)


if __name__ == "__main__":
    main()
