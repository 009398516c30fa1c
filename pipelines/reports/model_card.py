"""The README.md of a model folder, in Hugging Face's card format."""

import yaml

# Recipe -> title, transformers' pipeline.
KINDS = {
    "classify": ("Text classifier", "text-classification"),
    "tag": ("Token tagger", "token-classification"),
    "pretrain": ("Masked language model", "fill-mask"),
}


def model_card(metrics: dict, settings: dict, options: dict) -> str:
    """Text of the card: what the model does, how it was made, its scores.

    Args:
        metrics: the content of `metrics.json`.
        settings: the content of `keras_encoder.json`.
        options: the options of the run.
    """
    scores = metrics.get("test") or metrics["validation"]
    part = "test" if metrics.get("test") else "validation"
    title, pipeline = KINDS[metrics["task"]]
    header = {
        "library_name": "keras",
        "pipeline_tag": pipeline,
        "tags": ["keras_encoder", "bert"],
        "base_model": options["encoder"],
    }
    rows = [
        f"| {name} | {value:.4f} |"
        for name, value in scores.items()
        if isinstance(value, float)
    ]
    stages = [
        f"| {s['name']} | {s['trainable_parameters']:,} | {s['epochs']} | "
        f"{s['learning_rate']:g} | {s['seconds']:.0f} |"
        for s in metrics["stages"]
    ]
    labels = ", ".join(f"`{label}`" for label in metrics["labels"])
    what = f"Labels: {labels}. " if labels else ""
    how = settings.get("windows", "none")
    more = "" if how == "none" else f" at once; longer texts in windows ({how})"
    text = "The [MASK] ..." if metrics["task"] == "pretrain" else "..."
    return "\n".join(
        [
            "---",
            yaml.safe_dump(header, sort_keys=False).strip(),
            "---",
            "",
            f"# {title}",
            "",
            f"{what}Reads {settings['max_length']} tokens{more}.",
            "",
            f"## Scores on the {part} data",
            "",
            "| metric | value |",
            "|---|---|",
            *rows,
            "",
            "## How it was made",
            "",
            f"Fine-tuned from `{options['encoder']}` on {metrics['backend']} "
            f"with seed {metrics['seed']}; `options.yaml` repeats the run:",
            f"`keras-encoder {metrics['task']} --config options.yaml`.",
            "",
            "| stage | trainable parameters | epochs | rate | seconds |",
            "|---|---|---|---|---|",
            *stages,
            "",
            f"The weights are those of {metrics['best']['stage']}, epoch "
            f"{metrics['best']['epoch']}: the best on the validation data.",
            "",
            "## Use",
            "",
            "```bash",
            f'keras-encoder predict --model . --text "{text}"',
            "```",
            "",
            "```python",
            "from transformers import pipeline",
            "",
            f'pipeline("{pipeline}", model=".")("{text}")',
            "```",
            "",
        ]
    )
