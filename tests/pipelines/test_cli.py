"""The command line: exit codes and messages."""

import dataclasses
import pathlib
import re

import pytest

from pipelines import cli
from pipelines.data import python_rows
from pipelines.errors import RunFailed
from pipelines.options import ClassifyOptions, PredictOptions
from pipelines.options.fields import check_sources
from tests.pipelines.tiny import rows, write_bert, write_csv

ROOT = pathlib.Path(__file__).parents[2]


def refused(capsys, *argv):
    """Runs a command that must exit with code 2; returns the message."""
    assert cli.main([str(each) for each in argv]) == cli.WRONG_INPUT
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out == ""
    message = captured.err[captured.err.index("keras-encoder: ") :]
    return message.removeprefix("keras-encoder: ")


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


@pytest.mark.backend_free
@pytest.mark.parametrize(
    "line",
    [
        "classify --data gone.csv",
        "classify --train . --test gone.csv",
        "tag --data gone.csv",
        "pretrain --validation gone.csv",
        "data gone.csv",
        "evaluate --model gone.csv --data .",
        "predict --model . --input gone.csv",
    ],
)
def test_a_missing_file_is_named_before_a_backend_starts(
    capsys, monkeypatch, line
):
    def start():
        raise AssertionError("started")

    monkeypatch.setattr("pipelines.backend.choose_backend", start)
    found = refused(capsys, *line.split())
    assert "gone.csv: no such file or folder; expected " in found


@pytest.mark.backend_free
def test_what_has_a_name_is_no_file():
    for source in ("bbc_news", "tfds:gone", python_rows.FROM_PYTHON + "x"):
        check_sources(ClassifyOptions(data=source))
    check_sources(ClassifyOptions(data=[("text", "label")]))
    check_sources(PredictOptions(model=".", input="-"))


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


@pytest.mark.backend_free
def test_a_run_that_led_nowhere_gets_one_message(capsys, monkeypatch):
    def diverge(command, options):
        raise RunFailed("No epoch gave a finite loss.")

    monkeypatch.setattr(cli, "run", diverge)
    assert cli.main(["info"]) == cli.FAILED
    message = capsys.readouterr().err
    assert message == "keras-encoder: No epoch gave a finite loss.\n"


@pytest.mark.backend_free
def test_a_fault_of_ours_is_not_hidden(monkeypatch):
    def break_down(command, options):
        raise RuntimeError("ours")

    monkeypatch.setattr(cli, "run", break_down)
    with pytest.raises(RuntimeError, match="ours"):
        cli.main(["info"])
