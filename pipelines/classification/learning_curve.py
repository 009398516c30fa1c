"""How much more data would help: the recipe on growing parts of the data."""

from collections.abc import Callable

import numpy as np

from pipelines.console import say
from pipelines.data.scratch import empty_array
from pipelines.data.splits import classes_of
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from pipelines.training.features import compute_states
from pipelines.training.inputs import Inputs


def read_shares(text: str | None) -> list[float]:
    """`0.1,0.3,1` -> the shares below 1, increasing; all data come anyway.

    Raises:
        InputError: if one is no number above 0 and at most 1.
    """
    shares = set()
    for part in text.split(",") if text else ():
        try:
            share = float(part)
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            raise InputError(
                "--learning-curve: expected shares of the training data "
                f"parted by commas, such as 0.1,0.3; found {part.strip()!r}."
            )
        shares.add(share)
    return sorted(share for share in shares if share < 1)


def nested_rows(
    labels: list, shares: list[float], seed: int
) -> dict[float, np.ndarray]:
    """Rows for each share: each holds those before, and of every label some.

    Args:
        labels: of the training texts.
        shares: increasing.
        seed: of the drawing.

    Returns:
        Share -> increasing int array.
    """
    classes = classes_of(labels)
    generator = np.random.default_rng(seed)
    drawn = [
        generator.permutation(np.flatnonzero(classes == name))
        for name in np.unique(classes)
    ]
    return {
        share: np.sort(
            np.concatenate([d[: max(1, round(share * len(d)))] for d in drawn])
        )
        for share in shares
    }


class StatesOnce:
    """`compute_states` that runs the frozen encoder once for all parts.

    What a part of the model gives that no run has trained yet is the same in
    every run, if each starts from the same weights.

    Args:
        whole: `Inputs` of all training texts.

    Attributes:
        part, rows: the `Inputs` that the run at hand reads, and which
            examples of `whole` they are.
    """

    def __init__(self, whole: Inputs):
        self.whole = whole
        self.part, self.rows = whole, np.arange(_num_examples(whole))
        self._kept = {}

    def take(self, rows: np.ndarray) -> Inputs:
        """The inputs of some texts, from now on those of the run at hand."""
        self.part, self.rows = self.whole.take(rows), rows
        return self.part

    def __call__(self, below, inputs, batch_size, progress=None) -> Inputs:
        is_part = inputs is self.part
        source = self.whole if is_part else inputs
        key = (is_part, below.cut)
        if key not in self._kept:
            self._kept[key] = compute_states(
                below, source, batch_size, progress
            )
        kept = self._kept[key]
        if is_part:
            kept = kept.take(self.rows)
        return _copy(kept)


def _num_examples(inputs):
    return len(inputs) if inputs.owners is None else int(inputs.owners[-1]) + 1


def _copy(states):
    """States whose arrays may be overwritten; `Rows` never are."""
    (values,) = states.columns.values()
    if not isinstance(values, np.ndarray):
        return states
    copied = empty_array(values.shape)
    copied[:] = values
    return Inputs({"states": copied}, owners=states.owners)


def run_curve(
    fine_tuned: FineTuned,
    weights: list[np.ndarray],
    rows: dict[float, np.ndarray],
    run: Callable[[np.ndarray], dict],
) -> list[dict]:
    """Runs the recipe on parts of the training data, each from the start.

    Args:
        fine_tuned: the trained model; it is left as it is.
        weights: what its model began with.
        rows: share -> the training texts of a run.
        run: (rows) -> metrics by split, of the model trained on them.

    Returns:
        A row a share, from `curve_row`.
    """
    model, settings = fine_tuned.model, fine_tuned.settings
    trained, saved = model.get_weights(), dict(settings)
    curve = []
    for share, some in rows.items():
        say(f"Learning curve: {len(some)} texts")
        model.set_weights(weights)
        for name in ("thresholds", "abstain_below"):
            settings.pop(name, None)  # each run fits its own
        curve.append(curve_row(share, len(some), run(some)))
    model.set_weights(trained)
    settings.clear()
    settings.update(saved)
    return curve


def curve_row(share: float, rows: int, scores: dict) -> dict:
    """`share`, `rows` and `SPLIT_METRIC` for all numbers of each split."""
    flat = {
        f"{part}_{name}": value
        for part in ("validation", "test")
        for name, value in scores.get(part, {}).items()
        if isinstance(value, float)
    }
    return {"share": share, "rows": rows, **flat}


def curve_lines(curve: list[dict], monitor: str) -> list[str]:
    """The curve as a table of the metric that chose the weights.

    Args:
        curve: rows from `curve_row`.
        monitor: name of the metric.
    """
    parts = [p for p in ("validation", "test") if f"{p}_{monitor}" in curve[0]]
    lines = [f"Learning curve, {monitor}"]
    titles = "".join(f"{part:>12}" for part in parts)
    lines.append(f"  {'share':>7}{'texts':>9}{titles}")
    for row in curve:
        values = "".join(f"{row[f'{p}_{monitor}']:12.4f}" for p in parts)
        lines.append(f"  {row['share']:7.4g}{row['rows']:9}{values}")
    return lines
