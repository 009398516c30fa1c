"""The command line: exit codes, messages, and nothing else on stderr."""

import dataclasses
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
from tests.pipelines.tiny import rows, write_bert, write_csv

BACKEND = keras.backend.backend()
ROOT = pathlib.Path(__file__).parents[2]


def refused(capsys, *argv):
    """Runs a command that must exit with code 2; returns the message."""
    assert cli.main([str(each) for each in argv]) == cli.WRONG_INPUT
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out == ""
    message = captured.err[captured.err.index("keras-encoder: ") :]
    return message.removeprefix("keras-encoder: ")


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


# What is wrong with the command line.


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "expected a command: classify"),
        (["clasify"], "unknown command 'clasify'.*Did you mean classify"),
        (["classify", "--max-lenght", "3"], "--max-lenght. Did you mean --max"),
        (["classify", "--max-lenght=3"], "--max-lenght. Did you mean --max-l"),
        (["--sed", "classify"], "unknown option --sed"),
        (["classify", "--max-length", "long"], "expected a whole number"),
        (["classify", "--max-length"], "--max-length.*expected one argument"),
        (["classify", "--problem", "x"], "expected single_label"),
        (["classify", "--overwrite=yes"], "--overwrite"),
        (["classify", "--config", "absent.yaml"], "absent.yaml"),
        (["predict"], "expected --model"),
        (["evaluate", "--model", "m"], "expected --data"),
        (["predict", "--model", "m", "stray"], "stray"),
    ],
)
def test_a_wrong_command_line_gets_one_message(capsys, argv, message):
    found = refused(capsys, *argv)
    assert re.search(message, found)
    assert len(found.splitlines()) == 1


@pytest.mark.backend_free
def test_a_config_may_give_what_a_command_needs(tmp_path):
    path = tmp_path / "options.yaml"
    path.write_text("model: some\ninput: other\nbatch_size: 4\n")
    command, options = cli.parse(
        ["predict", "--config", str(path), "--input", "mine"]
    )
    assert command == "predict"
    assert (options.model, options.input, options.batch_size) == (
        "some",
        "mine",
        4,
    )


@pytest.mark.backend_free
def test_the_command_line_wins_over_the_config_also_to_turn_off(tmp_path):
    path = tmp_path / "options.yaml"
    path.write_text("overwrite: true\nfinetune_blocks: 2\n")
    _, options = cli.parse(
        [
            "classify",
            "--config",
            str(path),
            "--no-overwrite",
            "--finetune-blocks",
            "none",
        ]
    )
    assert options.overwrite is False
    assert options.finetune_blocks is None


@pytest.mark.backend_free
def test_a_wrong_key_in_a_config_names_the_nearest(tmp_path, capsys):
    path = tmp_path / "options.yaml"
    path.write_text("max_lenght: 8\n")
    found = refused(capsys, "classify", "--config", path)
    assert "options.yaml" in found
    assert "Did you mean max_length?" in found


@pytest.mark.backend_free
@pytest.mark.parametrize("command", [None, *cli.COMMANDS])
def test_help_names_every_option(capsys, command):
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--help"] if command else ["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    if command is None:
        assert all(name in shown for name in cli.COMMANDS)
    else:
        _, options = cli.COMMANDS[command]
        for field in dataclasses.fields(options):
            assert "--" + field.name.replace("_", "-") in shown


# What is wrong with the input.


@pytest.fixture
def classify(bert, tmp_path, capsys):
    """Runs `classify` on wrong data; nothing may be left behind."""

    def run(data, *more):
        before = sorted(tmp_path.rglob("*"))
        found = refused(
            capsys,
            *("classify", "--data", data, "--encoder", bert),
            *("--max-length", "8", "--output", tmp_path / "out", *more),
        )
        assert sorted(tmp_path.rglob("*")) == before
        return found

    return run


def test_a_missing_file_is_named(classify, tmp_path):
    found = classify(tmp_path / "absent.csv")
    assert "absent.csv: no such file" in found


def test_a_missing_column_is_named_with_those_there_are(classify, tmp_path):
    data = write_csv(tmp_path / "a.csv", rows(9), ("words", "label"))
    found = classify(data)
    assert "a.csv" in found
    assert '"words"' in found
    assert "--text" in found


@pytest.mark.parametrize("content", ["", "text,label\n", "\n\n"])
def test_empty_data_are_refused(classify, tmp_path, content):
    (tmp_path / "a.csv").write_text(content)
    assert "a.csv" in classify(tmp_path / "a.csv")


def test_one_class_is_refused(classify, tmp_path):
    data = write_csv(tmp_path / "a.csv", [("sun", "x")] * 9)
    assert "two classes" in classify(data)


def test_unreadable_bytes_are_named(classify, tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text,label\nsun,x\nK\xf6ln,y\n")
    found = classify(tmp_path / "a.csv")
    assert "a.csv:3" in found
    assert "0xf6" in found


def test_a_length_over_the_position_table_is_refused(classify, topics):
    assert "--max-length 64" in classify(topics, "--max-length", "64")


def test_an_output_with_other_content_is_refused(bert, topics, capsys):
    found = refused(
        capsys, "classify", "--data", topics, "--output", ROOT / "tests"
    )
    assert "other content" in found


@pytest.mark.parametrize("content", [b"", b"not a tensor file at all"])
def test_a_broken_checkpoint_is_named(classify, topics, tmp_path, content):
    folder = write_bert(tmp_path / "bert")
    (folder / "model.safetensors").write_bytes(content)
    assert "model.safetensors" in classify(topics, "--encoder", folder)


def test_a_broken_line_names_file_and_line(trained, tmp_path, capsys):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "sun"}\n{"text": \n')
    found = refused(
        capsys, "predict", "--model", trained.folder, "--input", path
    )
    assert "in.jsonl:2" in found


def test_a_damaged_model_folder_is_named(tmp_path, capsys):
    (tmp_path / "keras_encoder.json").write_text("{")
    found = refused(capsys, "predict", "--model", tmp_path, "--text", "a")
    assert "keras_encoder.json" in found


def test_a_fault_of_ours_is_not_blamed_on_the_user(monkeypatch):
    def fail(*argv):
        raise ValueError("a fault")

    monkeypatch.setattr(cli, "run", fail)
    with pytest.raises(ValueError, match="a fault"):
        cli.main(["info"])


@pytest.mark.parametrize("name", ["theano", "mxnet"])
def test_an_unknown_backend_is_refused(capsys, monkeypatch, name):
    monkeypatch.setenv("KERAS_BACKEND", name)
    found = refused(capsys, "info")
    assert "tensorflow, jax, torch" in found


# What only a process of its own can show.


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
    known = r"Backend: |Data: |  |Encoder: |Stage |Best: |Test: "
    odd = [line for line in err.splitlines() if not re.match(known, line)]
    assert not odd
    assert f"Backend: {BACKEND} " in err
    one = load_file(trained.folder / "model.safetensors")
    other = load_file(output / "model.safetensors")
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_stopped_training_leaves_nothing(bert, topics, tmp_path):
    process = start(
        *("classify", "--data", topics, "--encoder", bert),
        *("--max-length", "8", "--adapt-epochs", "1000000"),
        *("--adapt-patience", "none", "--output", tmp_path / "out" / "model"),
    )
    seen = []
    for line in process.stderr:
        seen.append(line)
        if line.startswith("Stage adapt"):
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=60)
    err = "".join(seen) + err
    assert process.returncode == cli.STOPPED, err
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.rglob("*")) == []


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


def test_text_of_any_language_passes_any_locale(trained, tmp_path):
    """Files and pipes are UTF-8, whatever the system's code page."""
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": "Łódź “x”", "text": "sun"}\n', encoding="utf-8")
    status, out, err = run(
        *("predict", "--model", trained.folder, "--input", path),
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        PYTHONIOENCODING="",
        LC_ALL="C",
        LANG="C",
    )
    assert status == 0, err
    assert json.loads(out)["id"] == "Łódź “x”"
