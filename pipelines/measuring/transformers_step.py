"""The peer of `benchmark`: the same step in transformers on PyTorch.

Reads its settings as JSON from standard input and prints the median seconds.
"""

import json
import statistics
import sys
import time


def main():
    """Measures what standard input describes."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    given = json.load(sys.stdin)
    size = given["size"]
    torch.manual_seed(0)
    model = BertForSequenceClassification(
        BertConfig(
            hidden_size=size["hidden_dim"],
            num_hidden_layers=size["num_layers"],
            num_attention_heads=size["num_heads"],
            intermediate_size=size["intermediate_dim"],
            num_labels=5,
        )
    )
    shape = (given["batch_size"], given["length"])
    batch = {
        "input_ids": torch.randint(1000, 30000, shape),
        "attention_mask": torch.ones(shape, dtype=torch.int64),
    }
    half = given["precision"] != "float32"
    dtype = getattr(torch, given["precision"])
    if given["mode"] == "train":
        batch["labels"] = torch.randint(0, 5, shape[:1])
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)

        def step():
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype, enabled=half):
                loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    else:
        model = model.eval().to(dtype)

        def step():
            with torch.inference_mode():
                model(**batch)

    times = []
    for _ in range(given["repeats"] + 2):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": statistics.median(times[2:])}))


if __name__ == "__main__":
    main()
