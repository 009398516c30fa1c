"""Hugging Face folders of a tiny BERT, to load whole, changed or damaged."""

import json

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from tests.keras_encoder.checkpoints.references import bert

FORMAT = {"format": "pt"}
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


def bert_folder(folder, **config):
    """Writes a tiny BERT; returns it as transformers' model in float64."""
    model = bert(attn_implementation="eager", **config)
    with torch.no_grad():
        # Small embeddings, as in BERT, so that the epsilon matters.
        for table in (
            model.embeddings.word_embeddings,
            model.embeddings.position_embeddings,
            model.embeddings.token_type_embeddings,
        ):
            table.weight *= 0.1
    model.save_pretrained(folder)
    return model.double()


def read_tensors(folder):
    return load_file(folder / SINGLE)


def write_tensors(folder, tensors, name=SINGLE):
    arrays = {n: np.ascontiguousarray(array) for n, array in tensors.items()}
    save_file(arrays, folder / name, metadata=FORMAT)


def write_shards(folder, tensors, names):
    """Deals the tensors of a folder out to files, with an index."""
    (folder / SINGLE).unlink()
    where = {tensor: names[i % len(names)] for i, tensor in enumerate(tensors)}
    for name in names:
        shard = {t: tensors[t] for t, file in where.items() if file == name}
        write_tensors(folder, shard, name)
    write_index(folder, where)


def write_index(folder, weight_map):
    text = json.dumps({"metadata": {}, "weight_map": weight_map})
    (folder / INDEX).write_text(text, encoding="utf-8")


def change_config(folder, **changes):
    """Overwrites keys of `config.json`; None removes a key."""
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **changes}
    config = {key: value for key, value in config.items() if value is not None}
    path.write_text(json.dumps(config))
