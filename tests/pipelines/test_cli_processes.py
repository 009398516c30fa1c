"""What only a process of its own can show: output, Ctrl-C, missing packages."""

import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file

from pipelines import cli
from tests.pipelines.tiny import rows, write_csv

BACKEND = keras.backend.backend()
ROOT = pathlib.Path(__file__).parents[2]
# Python runs this at its start, from a file named sitecustomize.py.
WITHOUT_TENSORFLOW = """
import sys
from importlib.machinery import PathFinder

class Finder:
    find_distributions = PathFinder.find_distributions

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in {"tensorflow", "keras_hub", "keras_nlp"}:
            return None
        return PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [
    Finder if finder is PathFinder else finder for finder in sys.meta_path
]
"""


def start(*argv, code=None, **environment):
    """Starts a process that runs the command line, or some code."""
    program = ["-c", code] if code else ["-m", "pipelines.cli"]
    return subprocess.Popen(
        [sys.executable, *program, *map(str, argv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
        encoding="utf-8",
        env={
            **{k: v for k, v in os.environ.items() if k[:3] != "TF_"},
            "KERAS_BACKEND": BACKEND,
            "PYTHONPATH": str(ROOT),
            **environment,
        },
    )


def run(*argv, **more):
    process = start(*argv, **more)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.mark.backend_free
def test_help_answers_at_once_without_keras():
    code = textwrap.dedent("""
        import sys, time
        start = time.perf_counter()
        from pipelines import cli
        for argv in (["--help"], ["classify", "--help"]):
            try:
                cli.main(argv)
            except SystemExit as stop:
                assert stop.code == 0
        assert time.perf_counter() - start < 1, "slow"
        heavy = {"keras", "numpy", "tensorflow", "jax", "torch", "sklearn"}
        print(sorted(heavy & set(sys.modules)), file=sys.stderr)
    """)
    status, out, err = run(code=code)
    assert (status, err) == (0, "[]\n")
    assert "--max-length" in out


def test_a_config_repeats_a_run_with_a_clean_output(trained, tmp_path):
    """Same weights in another process, and only lines of ours on stderr."""
    output = tmp_path / "again"
    status, out, err = run(
        *("classify", "--config", trained.folder / "options.yaml"),
        *("--output", output),
    )
    assert status == 0, err
    assert out == f"{output}\n"
    known = (
        r"Backend: |Data: |Data report$|  |Encoder: |Stage |Temperature |"
        r"Best: |Test: "
    )
    odd = [line for line in err.splitlines() if not re.match(known, line)]
    assert not odd
    assert f"Backend: {BACKEND} " in err
    one = load_file(trained.folder / "model.safetensors")
    other = load_file(output / "model.safetensors")
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_stopped_training_leaves_nothing(bert, topics, tmp_path):
    # A job in the background ignores Ctrl-C, and so would its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = start(
        *("classify", "--data", topics, "--encoder", bert),
        *("--max-length", "8", "--adapt-epochs", "1000000"),
        *("--adapt-patience", "none", "--output", tmp_path / "out" / "model"),
    )
    signal.signal(signal.SIGINT, before)
    seen = []
    for line in process.stderr:
        seen.append(line)
        if line.startswith("Stage adapt"):
            process.send_signal(signal.SIGINT)
            break
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    err = "".join(seen) + err
    assert process.returncode == cli.STOPPED, err
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.backend_free
def test_ctrl_c_inside_a_callback_from_c_is_not_lost():
    """As when it lands in JAX's callback at garbage collection."""
    code = textwrap.dedent("""
        import gc, signal, time
        from pipelines import cli

        def stop_here(phase, info):
            gc.callbacks.remove(stop_here)
            signal.raise_signal(signal.SIGINT)

        def recipe(command, options):
            gc.callbacks.append(stop_here)
            gc.collect()
            for _ in range(600):
                time.sleep(0.1)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        cli.run = recipe
        raise SystemExit(cli.main(["info"]))
    """)
    status, out, err = run(code=code)
    assert status == cli.STOPPED
    assert err == "keras-encoder: stopped, nothing was written\n"


@pytest.mark.skipif(BACKEND == "tensorflow", reason="it is the backend")
def test_without_tensorflow_texts_are_classified(bert, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_TENSORFLOW)
    data = write_csv(tmp_path / "a.csv", rows(30))
    code = textwrap.dedent("""
        import importlib, sys
        from pipelines import cli
        bert, data, output = sys.argv[1:]
        argv = ["classify", "--data", data, "--encoder", bert, "--output"]
        argv += [output, "--max-length", "8", "--adapt-epochs", "1"]
        argv += ["--finetune-epochs", "0"]
        status = cli.main(argv)
        status = status or cli.main(
            ["predict", "--model", output, "--text", "sun"]
        )
        try:
            importlib.import_module("tensorflow")
        except ModuleNotFoundError:
            sys.exit(status)
        sys.exit("tensorflow was there")
    """)
    status, out, err = run(
        *(bert, data, tmp_path / "model"),
        code=code,
        PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}",
    )
    assert status == 0, err
    assert set(json.loads(out.splitlines()[-1])) == {
        "label",
        "score",
        "scores",
    }


@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None or BACKEND != "tensorflow",
    reason="asks for TensorFlow where it is not installed; once is enough",
)
def test_a_backend_that_is_not_installed_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_TENSORFLOW)
    status, out, err = run(
        "info",
        PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}",
    )
    assert (status, out) == (cli.WRONG_INPUT, "")
    assert "pip install" in err
    assert "Traceback" not in err


ASCII_LOCALE = {
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONIOENCODING": "",
    "LC_ALL": "C",
    "LANG": "C",
}


@pytest.mark.backend_free  # the locale is Python's, not the backend's
def test_text_of_any_language_passes_any_locale(trained, tmp_path):
    """Files and pipes are UTF-8, whatever the system's code page."""
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": "Łódź “x”", "text": "sun"}\n', encoding="utf-8")
    status, out, err = run(
        *("predict", "--model", trained.folder, "--input", path),
        **ASCII_LOCALE,
    )
    assert status == 0, err
    assert json.loads(out)["id"] == "Łódź “x”"
    utf8 = run("predict", "--model", trained.folder, "--text", "sun Łódź")
    anywhere = run(
        *("predict", "--model", trained.folder, "--text", "sun Łódź"),
        **ASCII_LOCALE,
    )
    assert anywhere[:2] == utf8[:2], anywhere
