"""`report.html`: one page that shows a run, and needs nothing but itself."""

import pathlib
import string

from pipelines.reports import reproduce
from pipelines.reports.data_report import report_table
from pipelines.reports.markup import (
    Html,
    escape,
    number,
    paragraph,
    pictures,
    section,
    table,
)
from pipelines.reports.mistakes import mistakes
from pipelines.reports.names import KINDS, base_name, data_name
from pipelines.reports.outcome import Outcome
from pipelines.reports.report_plots import (
    calibration,
    class_pictures,
    curves,
)
from pipelines.reports.verdict import Verdict, verdict

_PAGE = pathlib.Path(__file__).with_name("page.html")
_PARTS = ("validation", "test")
# Rows of the table of confusions, where a matrix would be too large.
_CONFUSIONS = 15
_TABLES = {"per_class": "class", "per_type": "entity type", "per_label": "tag"}


def report_page(
    metrics: dict, settings: dict, options, outcome: Outcome | None = None
) -> str:
    """The whole page. No word of the user's can become markup.

    Args:
        metrics: the content of `metrics.json`.
        settings: the content of `keras_encoder.json`.
        options: dataclass of the recipe.
        outcome: what the model answered on the test data, or else on the
            validation data; None leaves out calibration and mistakes.
    """
    title, _, _ = KINDS[metrics["task"]]
    judged = verdict(metrics, settings)
    body = [
        _header(title, metrics, options, judged),
        section("Data", *_data(metrics)),
        section("Stages", _stages(metrics)),
        section("Learning curves", *curves(metrics, judged)),
        section("Scores", _scores(metrics, judged)),
        *_by_name(metrics, judged),
        *calibration(metrics, outcome),
        section("Worst mistakes", *mistakes(outcome)),
        section("Time and padding", *_time(metrics)),
        section("How to repeat this run", *_repeat(metrics, options)),
    ]
    page = string.Template(_PAGE.read_text(encoding="utf-8"))
    return page.substitute(
        title=f"{title}: {judged.name} {number(judged.value)}",
        body="\n".join(filter(None, body)),
    )


def _header(title, metrics, options, judged: Verdict) -> Html:
    if judged.is_better:
        answer = '<span class="good">Better than</span>'
    else:
        answer = '<span class="bad">Not clearly better than</span>'
    shown = {
        f"{judged.part} {judged.name}": number(judged.value),
        judged.baseline_name: number(judged.baseline),
        **_more_figures(metrics, judged),
    }
    figures = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in shown.items()
    )
    return Html(
        f"<header><h1>{title}: {escape(base_name(options.encoder))} on "
        f"{escape(data_name(metrics['task'], options))}</h1>"
        f"<p>{answer} {escape(judged.baseline_name)}{_interval(judged)}.</p>"
        f'<dl class="figures">{figures}</dl></header>'
    )


def _interval(judged):
    if judged.interval is None:
        return ""
    low, high = judged.interval
    return (
        f": with 95 % confidence the {judged.name} on more such texts lies "
        f"between {low:.3f} and {high:.3f}"
    )


def _more_figures(metrics, judged):
    more = {}
    for key, name in (("macro_f1", "macro F1"), ("mean_absolute_error",) * 2):
        if key in metrics[judged.part]:
            more[name.replace("_", " ")] = number(metrics[judged.part][key])
    if report := metrics.get("data"):
        more[f"{judged.part} rows"] = number(report[judged.part]["rows"])
    more["parameters"] = number(metrics["num_parameters"])
    more["trained in"] = metrics["precision"]
    more["time"] = _duration(metrics["seconds"])
    return more


def _data(metrics):
    if report := metrics.get("data"):
        (_, parts), *rows = report_table(report)
        yield table(
            ["", *parts],
            [(title, *map(_count, values)) for title, values in rows],
        )
        leaks = sum(
            count
            for part in parts
            for count in report[part]["also_in"].values()
        )
        if leaks:
            yield paragraph(
                Html('<span class="bad">Leak:</span>'),
                f"{leaks:,} rows have a text that an earlier split has too; "
                "their scores are too good.",
            )
        return
    rows = [(f"{name} rows", count) for name, count in metrics["rows"].items()]
    rows.append(("tokens of the vocabulary", metrics["vocabulary_size"]))
    yield table(["", "count"], rows)


def _count(value):
    return f"{value:,g}" if isinstance(value, float) else value


def _stages(metrics):
    best = metrics["best"]
    rows = [
        (
            stage["name"],
            stage["trainable_parameters"],
            f"{stage['trainable_parameters'] / metrics['num_parameters']:.1%}",
            stage["epochs"],
            f"{stage['learning_rate']:g}",
            stage["validation"].get("loss"),
            f"epoch {best['epoch']}" if stage["name"] == best["stage"] else "",
        )
        for stage in metrics["stages"]
    ]
    header = [
        "stage",
        "trainable parameters",
        "share of all",
        "epochs",
        "learning rate",
        "best validation loss",
        "weights kept",
    ]
    return table(header, rows, words=["weights kept"])


def _scores(metrics, judged):
    parts = [part for part in _PARTS if metrics.get(part)]
    names = [
        name
        for name, value in metrics[judged.part].items()
        if isinstance(value, int | float) and name not in ("epoch", "seconds")
    ]
    return table(
        ["score", *parts],
        [
            (
                name.replace("_", " "),
                *(metrics[part].get(name) for part in parts),
            )
            for name in names
        ],
    )


def _by_name(metrics, judged):
    """Sections of the tables by class, by entity type or by tag."""
    scores = metrics[judged.part]
    for key, name in _TABLES.items():
        if rows := scores.get(key):
            yield section(
                f"By {name}",
                pictures(*class_pictures(scores, rows)),
                table(
                    [name, "precision", "recall", "F1", "support"],
                    [
                        (
                            label,
                            r["precision"],
                            r["recall"],
                            r["f1"],
                            r["support"],
                        )
                        for label, r in rows.items()
                    ],
                    f"on the {judged.part} data",
                ),
                _confusions(scores),
            )


def _confusions(scores):
    labels = scores.get("confusion_labels", ())
    found = sorted(
        (
            (count, labels[row], labels[column])
            for row, counts in enumerate(scores.get("confusion_matrix", ()))
            for column, count in enumerate(counts)
            if count and row != column
        ),
        key=lambda each: -each[0],
    )
    if not found:
        return Html("")
    rows = [(true, guess, n) for n, true, guess in found[:_CONFUSIONS]]
    return table(
        ["true", "predicted", "texts"],
        rows,
        "most often confused",
        words=["predicted"],
    )


def _time(metrics):
    spent = metrics["load_seconds"]
    rows = [("loading the encoder", _seconds(spent))]
    for stage in metrics["stages"]:
        spent += stage["seconds"]
        rows.append(
            (
                f"stage {stage['name']}",
                _seconds(stage["seconds"]),
                _seconds(stage.get("feature_seconds")),
                _seconds(stage.get("compile_seconds")),
                _share(stage.get("input_share")),
                f"{stage['padding_share']:.1%}",
                ", ".join(map(str, stage["shapes"] or ())) or "–",
            )
        )
    rest = metrics["seconds"] - spent
    rows.append(("reading, scoring", _seconds(rest)))
    rows.append(("the whole run", _seconds(metrics["seconds"])))
    header = [
        "",
        "seconds",
        "of these, frozen part",
        "compiling",
        "reading a batch, of a step",
        "padding",
        "lengths",
    ]
    yield table(header, rows, words=["lengths"])


def _repeat(metrics, options):
    line = reproduce.command(metrics["task"], metrics["backend"], options)
    yield Html(f"<pre><code>{escape(line)}</code></pre>")
    if names := reproduce.given_in_python(options):
        yield paragraph(
            f"{' and '.join(names)}: given in Python, and not in this command."
        )
    yield paragraph(
        Html("<code>options.yaml</code>"),
        "beside this page holds all options, for",
        Html("<code>--config</code>."),
        f"Seed {metrics['seed']}.",
    )
    found = reproduce.versions(metrics["backend"])
    yield table(["package", "version"], found.items(), words=["version"])


def _seconds(value):
    return "–" if value is None else f"{value:,.1f}"


def _share(value):
    return "–" if value is None else f"{value:.1%}"


def _duration(seconds):
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
