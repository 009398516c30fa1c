"""Runs notebooks and stores their outputs, without traces of a machine.

    python -m tests.notebooks.store notebooks/1_*.ipynb

Needs no Jupyter, only nbclient and ipykernel.
"""

import asyncio
import base64
import io
import json
import os
import pathlib
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from PIL import Image

ROOT = pathlib.Path(__file__).parents[2]
METADATA = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def run(path: pathlib.Path, folder: pathlib.Path, limit: float):
    """Runs a notebook from top to bottom in a process of its own.

    Args:
        path: the notebook, which stays as it is.
        folder: where the kernel starts and puts what is temporary.
        limit: seconds after which it is stopped.

    Returns:
        The notebook with its outputs.

    Raises:
        TimeoutError: after `limit`.
        nbclient.exceptions.CellExecutionError: if a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    spec = folder / "kernels" / "python3"
    spec.mkdir(parents=True)
    # This interpreter, whatever kernel of that name is installed elsewhere.
    launch = [sys.executable, "-m", "ipykernel_launcher"]
    content = {
        "argv": [*launch, "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
    }
    (spec / "kernel.json").write_text(json.dumps(content), "utf-8")
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "IPYTHONDIR": str(folder),  # its history
        "TMPDIR": str(folder),
    }
    old = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = str(folder)
    try:
        running = client.async_execute(env=environment)
        asyncio.run(asyncio.wait_for(running, limit))
    finally:
        del os.environ["JUPYTER_PATH"]
        if old is not None:
            os.environ["JUPYTER_PATH"] = old
    return notebook


def clean(notebook):
    """Leaves of a notebook that was run what the next run gives again."""
    notebook.metadata = METADATA
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id, cell.metadata = f"cell-{number}", {}
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return notebook


def _joined(outputs):
    """Outputs with the parts of a stream in one, pictures and tables alone."""
    joined = []
    for output in outputs:
        if "data" in output:
            output.metadata = {}
            if "image/png" in output.data:
                output.data = {"image/png": _small(output.data["image/png"])}
            if "text/markdown" in output.data:
                output.data = {"text/markdown": output.data["text/markdown"]}
        last = joined[-1] if joined else None
        if output.output_type == "stream" and last and _same(last, output):
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _small(png):
    """A picture of few colours, a third as large; both in base 64."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    file = io.BytesIO()
    few = picture.quantize(colors=128, dither=Image.Dither.NONE)
    few.save(file, format="png", optimize=True)
    return base64.b64encode(file.getvalue()).decode() + "\n"


def _same(one, other):
    return one.output_type == "stream" and one.name == other.name


def main(paths: list[str]) -> None:
    """Runs notebooks and writes them back."""
    for path in map(pathlib.Path, paths):
        print(path, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            notebook = run(path, pathlib.Path(folder), limit=1800)
        nbformat.write(clean(notebook), path)


if __name__ == "__main__":
    main(sys.argv[1:])
