"""Every notebook runs from top to bottom and leaves nothing behind."""

import os
import pathlib

import pytest

from tests.notebooks.store import ROOT, run

BACKEND = os.environ.get("KERAS_BACKEND") or "tensorflow"
# The others differ from these in what they tell, not in what they run.
ON_EVERY_BACKEND = ("1", "2", "4")
SECONDS = 300

NOTEBOOKS = [
    path
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
    if BACKEND == "tensorflow" or path.name.startswith(ON_EVERY_BACKEND)
]


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("QUICK", "1")
    monkeypatch.setenv("KERAS_BACKEND", BACKEND)
    before = seen()
    notebook = run(path, tmp_path, SECONDS)
    ran = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in ran)
    assert f"Backend: {BACKEND}" in ran[0].outputs[0].text
    assert seen() == before


def seen() -> list[pathlib.Path]:
    """What stands where a notebook might write by mistake."""
    folders = (ROOT / "notebooks", ROOT / "runs", pathlib.Path.cwd() / "runs")
    return [path for folder in folders for path in sorted(folder.rglob("*"))]
