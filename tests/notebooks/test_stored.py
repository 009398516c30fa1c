"""What is stored of the notebooks: no definitions, no traces, small."""

import ast
import json
import re

import pytest

from tests.notebooks.store import METADATA, ROOT

pytestmark = pytest.mark.backend_free

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 300_000  # bytes
# Folders of a machine; where a notebook may point to is none of these.
PLACES = re.compile(
    r"/(tmp|home|root|usr|var|Users|opt|work)/|site-packages|[A-Z]:\\\\"
)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
each_notebook = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=lambda path: path.stem
)


def test_the_notebooks_are_numbered():
    assert [path.name[:2] for path in NOTEBOOKS] == [
        f"{number}_" for number in range(1, len(NOTEBOOKS) + 1)
    ]


@each_notebook
def test_a_notebook_defines_nothing(path):
    wrong = definitions("\n".join(map(python_of, code_cells(read(path)))))
    assert not wrong, (
        f"{path.name} defines what a package should own; move it to "
        f"keras_encoder or pipelines, with a test: {', '.join(wrong)}"
    )


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("x = 1\nf = lambda y: y", []),
        ("if x:\n  def f():\n    pass", ["f"]),
        ("class A:\n  async def g(self):\n    pass", ["A", "g"]),
        ("f = lambda y: (\n  y\n)", ["lambda"]),
    ],
)
def test_a_definition_is_found(code, names):
    assert definitions(code) == names


@each_notebook
def test_the_first_cell_chooses_the_backend(path):
    first = code_cells(read(path))[0]
    chosen, imported = first.find("KERAS_BACKEND"), first.find("import_keras")
    assert 0 < chosen < imported


@each_notebook
def test_the_outputs_are_of_one_run_without_errors(path):
    cells = [c for c in read(path)["cells"] if c["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(
        range(1, len(cells) + 1)
    )
    kinds = {o["output_type"] for cell in cells for o in cell["outputs"]}
    assert "error" not in kinds
    pictures = [o for c in cells for o in c["outputs"] if has_picture(o)]
    assert pictures


@each_notebook
def test_a_notebook_tells_nothing_of_the_machine(path):
    notebook = read(path)
    assert notebook["metadata"] == METADATA
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if not has_picture(output):
                found = PLACES.search(json.dumps(output))
                assert not found, (cell["id"], found)


@each_notebook
def test_a_notebook_is_small(path):
    assert path.stat().st_size < LARGEST


def read(path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook) -> list[str]:
    cells = notebook["cells"]
    return ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]


def python_of(source: str) -> str:
    """A cell without the lines that are IPython's own."""
    lines = source.split("\n")
    return "\n".join(line for line in lines if not line.startswith(("%", "!")))


def definitions(code: str) -> list[str]:
    """Names of functions and classes, and lambdas of more than a line."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, DEFINITIONS):
            found.append(node.name)
        if isinstance(node, ast.Lambda) and node.lineno < node.end_lineno:
            found.append("lambda")
    return found


def has_picture(output) -> bool:
    return "image/png" in output.get("data", {})
