"""A tiny BERT folder and small data: a run takes seconds on any backend."""

import csv
import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

TOPICS = {
    "zebra": "stripe hoof herd grass africa mane gallop zoo".split(),
    "apple": "fruit tree juice sweet pie peel orchard core".split(),
    "mango": "tropic stone pulp yellow ripe chutney lassi sun".split(),
}
COMMON = "the his of and very some big small old new near far".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
    "type_vocab_size": 2,
}


def vocabulary() -> list[str]:
    """Special tokens, letters, their continuations, whole words."""
    words = sorted(word for topic in TOPICS.values() for word in topic)
    pieces = [f"##{letter}" for letter in LETTERS]
    return [*SPECIAL, *LETTERS, *pieces, *COMMON, *words, *"0123456789.,!?{}"]


def sine(shape, phase=0.0, scale=1.0) -> np.ndarray:
    """Numbers that look random and are the same everywhere."""
    ramp = np.arange(np.prod(shape, dtype=int), dtype="float64")
    # The square makes the matrices of full rank.
    values = scale * np.sin(0.37 * ramp * ramp + 1.7 * ramp + phase)
    return values.reshape(shape).astype("float32")


def write_bert(
    folder: pathlib.Path, pooler: bool = True, **changes
) -> pathlib.Path:
    """Writes a Hugging Face folder; `changes` are keys of its config."""
    folder.mkdir(parents=True, exist_ok=True)
    tokens = vocabulary()
    config = {
        "model_type": "bert",
        "vocab_size": len(tokens),
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        **SIZES,
        **changes,
    }
    write_json(folder / "config.json", config)
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", "utf-8")
    write_json(folder / "tokenizer_config.json", {"do_lower_case": True})
    tensors = {
        name: tensor(name, shape, phase)
        for phase, (name, shape) in enumerate(shapes(config))
        if pooler or not name.startswith("pooler")
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def tensor(name: str, shape: tuple, phase: int) -> np.ndarray:
    """Norms lie around 1 and 0, embeddings are larger than kernels."""
    if name.endswith("LayerNorm.weight"):
        return 1 + sine(shape, phase, 0.1)
    if len(shape) == 1:
        return sine(shape, phase, 0.1)
    return sine(shape, phase, 1.0 if "embeddings" in name else 0.3)


def shapes(config: dict):
    """Names and shapes of BERT's tensors in Hugging Face's files."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    for table, size in (
        ("word", config["vocab_size"]),
        ("position", config["max_position_embeddings"]),
        ("token_type", config["type_vocab_size"]),
    ):
        yield f"embeddings.{table}_embeddings.weight", (size, hidden)
    yield from norm("embeddings", hidden)
    for i in range(config["num_hidden_layers"]):
        block = f"encoder.layer.{i}"
        for name in ("query", "key", "value"):
            yield from dense(f"{block}.attention.self.{name}", hidden, hidden)
        yield from dense(f"{block}.attention.output.dense", hidden, hidden)
        yield from norm(f"{block}.attention.output", hidden)
        yield from dense(f"{block}.intermediate.dense", inner, hidden)
        yield from dense(f"{block}.output.dense", hidden, inner)
        yield from norm(f"{block}.output", hidden)
    yield from dense("pooler.dense", hidden, hidden)


def dense(name: str, outputs: int, inputs: int):
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def norm(name: str, width: int):
    yield f"{name}.LayerNorm.weight", (width,)
    yield f"{name}.LayerNorm.bias", (width,)


def rows(count: int = 60, longest: int = 6) -> list[tuple[str, str]]:
    """(text, topic) pairs of 2 to `longest` words; each topic in turn."""
    made = []
    for i in range(count):
        topic = list(TOPICS)[i % len(TOPICS)]
        own, length = TOPICS[topic], 2 + 3 * i % (longest - 1)
        words = [
            (own if (i + j) % 3 else COMMON)[(7 * i + 3 * j) % 8]
            for j in range(length)
        ]
        made.append((" ".join(words), topic))
    return made


def write_csv(path: pathlib.Path, lines, header=("text", "label")) -> str:
    """Writes rows as a CSV file and returns its path as a string."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *lines])
    return str(path)


def write_jsonl(path: pathlib.Path, objects) -> str:
    """Writes objects as JSON lines and returns the path as a string."""
    lines = (json.dumps(each, ensure_ascii=False) for each in objects)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


def write_json(path: pathlib.Path, content) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
