"""The README.md of a model folder, in Hugging Face's card format."""

import math
import re

import yaml

from pipelines.reports.names import KINDS, base_name, data_name, hub_name
from pipelines.reports.tables import markdown_table
from pipelines.reports.verdict import verdict

# Ours -> metrics as the hub calls them.
_HUB_METRICS = {
    "accuracy": "accuracy",
    "f1": "f1",
    "micro_f1": "f1",
    "macro_f1": "f1",
    "macro_token_f1": "f1",
    "precision": "precision",
    "recall": "recall",
    "matthews_correlation": "matthews_correlation",
    "mean_squared_error": "mse",
    "mean_absolute_error": "mae",
    "r2": "r_squared",
    "pearson": "pearsonr",
    "masked_lm_accuracy": "accuracy",
}
# Labels that the card names; config.json has all.
_SHOWN = 30


def model_card(
    metrics: dict, settings: dict, options, opens_in_transformers: bool = True
) -> str:
    """Text of the card: what the model does, how it was made, its scores.

    Args:
        metrics: the content of `metrics.json`.
        settings: the content of `keras_encoder.json`.
        options: dataclass of the recipe.
        opens_in_transformers: whether `config.json` names a model that
            transformers has.
    """
    header = _header(metrics, settings, options, opens_in_transformers)
    text = yaml.safe_dump(header, sort_keys=False, allow_unicode=True)
    parts = [
        _summary(metrics, settings, options),
        _scores(metrics, settings),
        _history(metrics, options),
        _use(metrics["task"], opens_in_transformers),
    ]
    return f"---\n{text}---\n\n" + "\n\n".join(parts) + "\n"


def _header(metrics, settings, options, opens_in_transformers) -> dict:
    """Metadata as the hub reads them.

    Language and licence are not known here: they are those of the data, too.
    """
    _, pipeline, _ = KINDS[metrics["task"]]
    header = {
        "library_name": "transformers" if opens_in_transformers else "keras",
        "pipeline_tag": pipeline,
        "tags": ["keras", "keras_encoder", "bert"],
    }
    if repository := hub_name(options.encoder):
        header["base_model"] = repository
        header["base_model_relation"] = "finetune"
    results = _results(metrics, settings)
    header["metrics"] = sorted({result["type"] for result in results})
    header["model-index"] = [
        {
            "name": f"{base_name(options.encoder)}-{metrics['task']}",
            "results": [_evaluation(metrics, settings, options, results)],
        }
    ]
    return header


def _evaluation(metrics, settings, options, results):
    _, pipeline, name = KINDS[metrics["task"]]
    data = data_name(metrics["task"], options)
    # A data set's type is its id on the hub, where these have none.
    slug = re.sub(r"[^\w.-]+", "-", data).strip("-") or "data"
    return {
        "task": {"type": pipeline, "name": name},
        "dataset": {
            "type": slug,
            "name": data,
            "split": verdict(metrics, settings).part,
        },
        "metrics": results,
    }


def _results(metrics, settings) -> list[dict]:
    scores = metrics[verdict(metrics, settings).part]
    return [
        {"type": type_, "name": key.replace("_", " "), "value": scores[key]}
        for key, type_ in _HUB_METRICS.items()
        if math.isfinite(scores.get(key, math.nan))
    ]


def _summary(metrics, settings, options):
    title, _, _ = KINDS[metrics["task"]]
    labels = metrics["labels"]
    names = ", ".join(map(_code, labels[:_SHOWN]))
    if len(labels) > _SHOWN:
        names += f" and {len(labels) - _SHOWN} more, in `config.json`"
    what = f"Labels: {names}.\n" if labels else ""
    judged, how = verdict(metrics, settings), settings.get("windows", "none")
    more = "" if how == "none" else f"; longer texts in windows ({how})"
    return (
        f"# {title}\n\n"
        f"Made from {_code(base_name(options.encoder))} with "
        f"{_code(data_name(metrics['task'], options))}.\n"
        f"{what}Reads {settings['max_length']} tokens at once{more}.\n\n"
        f"On the {judged.part} data: {judged.name} {judged.value:.4f}, "
        f"against {judged.baseline:.4f} ({judged.baseline_name})."
    )


def _scores(metrics, settings):
    part = verdict(metrics, settings).part
    rows = [
        (name, f"{value:.4f}")
        for name, value in metrics[part].items()
        if isinstance(value, float)
    ]
    table = markdown_table(("metric", "value"), rows)
    return (
        f"## Scores on the {part} data\n\n{table}\n\n"
        "`report.html` shows more of them; `metrics.json` has all."
    )


def _history(metrics, options):
    rows = [
        (
            stage["name"],
            f"{stage['trainable_parameters']:,}",
            stage["epochs"],
            f"{stage['learning_rate']:g}",
            f"{stage['seconds']:.0f}",
        )
        for stage in metrics["stages"]
    ]
    header = ("stage", "trainable parameters", "epochs", "rate", "seconds")
    best = metrics["best"]
    return (
        "## How it was made\n\n"
        f"On {metrics['backend']} with seed {metrics['seed']}; `options.yaml` "
        "repeats the run:\n"
        f"`keras-encoder {metrics['task']} --config options.yaml "
        "--output FOLDER`.\n\n"
        f"{markdown_table(header, rows)}\n\n"
        f"The weights are those of {best['stage']}, epoch {best['epoch']}: "
        "the best on the validation data."
    )


def _use(task, opens_in_transformers):
    text = "The [MASK] ..." if task == "pretrain" else "..."
    command = f'keras-encoder predict --model . --text "{text}"'
    use = f"## Use\n\n```bash\n{command}\n```"
    if opens_in_transformers:
        _, pipeline, _ = KINDS[task]
        use += (
            "\n\n```python\nfrom transformers import pipeline\n\n"
            f'pipeline("{pipeline}", model=".")("{text}")\n```'
        )
    return use


def _code(text: str) -> str:
    """A name that Markdown leaves alone, whatever stands in it."""
    text = " ".join(text.split())
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"
