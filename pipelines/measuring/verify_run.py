"""One run of one encoder, for `verify`: in a process of its own.

    python -m pipelines.measuring.verify_run KIND FOLDER BATCH.npz STATES.npz

KIND is keras, on the backend that KERAS_BACKEND chooses, or transformers.
Writes for each precision `PRECISION/layer_1` and so on, (batch, seq, hidden),
and `PRECISION/pooled` where the checkpoint has a pooler: all in float32.
"""

import sys

import numpy as np

PRECISIONS = ("float32", "bfloat16")
# To ours, from transformers' names of its inputs.
_INPUTS = {
    "input_ids": "token_ids",
    "token_type_ids": "segment_ids",
    "attention_mask": "padding_mask",
}


def main(kind: str, folder: str, batch: str, output: str) -> None:
    """Runs the encoder of a folder on a batch and stores its states."""
    with np.load(batch) as arrays:
        batch = dict(arrays)
    run = {"keras": _run_keras, "transformers": _run_transformers}[kind]
    np.savez(output, **run(folder, batch))


def _run_keras(folder, batch):
    from pipelines.backend import import_keras

    import_keras()
    import keras

    from keras_encoder.checkpoints.load import load_encoder_only
    from pipelines.training.precision import POLICIES

    found = {}
    for precision in PRECISIONS:
        encoder, report = load_encoder_only(folder, dtype=POLICIES[precision])
        inputs = {
            name: keras.Input(shape=(None,), dtype="int32", name=name)
            for name in batch
        }
        # Compiled, as everything that the commands run.
        model = keras.Model(inputs, encoder(inputs))
        outputs = model.predict_on_batch(batch)
        states = _named(outputs["encoder_outputs"])
        if not report.pooler_is_random:
            states["pooled"] = outputs["pooled_output"]
        for name, array in states.items():
            found[f"{precision}/{name}"] = np.asarray(array).astype("float32")
    return found


def _run_transformers(folder, batch):
    import torch
    import transformers

    found = {}
    for precision in PRECISIONS:
        model, info = transformers.AutoModel.from_pretrained(
            folder,
            dtype=getattr(torch, precision),
            output_loading_info=True,
        )
        inputs = {
            theirs: torch.tensor(batch[ours]).long()
            for theirs, ours in _INPUTS.items()
        }
        if model.config.model_type == "distilbert":
            del inputs["token_type_ids"]  # it has none
        with torch.no_grad():
            outputs = model.eval()(**inputs, output_hidden_states=True)
        states = _named(outputs.hidden_states[1:])
        pooled = getattr(outputs, "pooler_output", None)
        is_random = any("pooler" in name for name in info["missing_keys"])
        if pooled is not None and not is_random:
            states["pooled"] = pooled
        for name, tensor in states.items():
            found[f"{precision}/{name}"] = tensor.float().numpy()
    return found


def _named(layers):
    return {f"layer_{i}": layer for i, layer in enumerate(layers, start=1)}


if __name__ == "__main__":
    main(*sys.argv[1:])
