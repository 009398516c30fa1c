"""Options from a command line or a YAML file: names, kinds, ranges."""

import dataclasses
import math

import pytest
import yaml

from pipelines.arguments import (
    Parser,
    add_options,
    check_value,
    convert_text,
    flag,
    nearest,
    read_config_file,
)
from pipelines.errors import InputError
from pipelines.options import ClassifyOptions, PredictOptions

pytestmark = pytest.mark.backend_free
FIELDS = {field.name: field for field in dataclasses.fields(ClassifyOptions)}


def config(tmp_path, text):
    path = tmp_path / "options.yaml"
    path.write_text(text, encoding="utf-8")
    return read_config_file(str(path), ClassifyOptions)


def test_the_names_of_options_have_dashes():
    assert flag("max_length") == "--max-length"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_length", "64", 64),
        ("adapt_learning_rate", "1", 1.0),
        ("adapt_learning_rate", "2e-5", 2e-5),
        ("finetune_blocks", "none", None),
        ("dropout", "None", None),
        ("problem", "regression", "regression"),
        ("label", "none", "none"),  # a column may have that name
        ("seed", "0", 0),
    ],
)
def test_text_becomes_the_kind_of_the_option(name, text, value):
    found = convert_text(text, FIELDS[name])
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("max_length", "6.5", "--max-length: expected a whole number.*'6.5'"),
        ("max_length", "", "--max-length: expected a whole number"),
        ("max_length", "2", "--max-length: expected 3 or more, found 2"),
        ("batch_size", "0", "--batch-size: expected 1 or more"),
        ("seed", "-1", "--seed: expected 0 to 4.29497e[+]09, found -1"),
        ("warmup", "1", "--warmup: expected 0 to 1, found 1.0"),
        ("warmup", "nan", "--warmup: expected a number"),
        ("adapt_learning_rate", "inf", "--adapt-learning-rate: expected"),
        ("adapt_learning_rate", "fast", "expected a number, found 'fast'"),
        ("problem", "multilabel", "Did you mean multi_label"),
        ("precision", "fp16", "expected auto, float32, bfloat16, float16"),
        ("data", "", "--data: expected text, found ''"),
    ],
)
def test_a_wrong_value_is_named_with_the_rule(name, text, message):
    with pytest.raises(InputError, match=message):
        convert_text(text, FIELDS[name])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_length", True),
        ("max_length", 64.0),
        ("max_length", None),
        ("overwrite", 1),
        ("overwrite", "yes"),
        ("data", 3),
        ("data", ["a.csv"]),
        ("dropout", "much"),
    ],
)
def test_a_value_of_another_kind_is_refused(name, value):
    with pytest.raises(InputError, match="here: expected .*, found "):
        check_value(value, FIELDS[name], "here")


def test_only_a_text_to_classify_may_be_empty():
    (text,) = (
        f for f in dataclasses.fields(PredictOptions) if f.name == "text"
    )
    assert convert_text("", text) == ""
    assert convert_text("none", text) == "none"


def test_a_whole_number_is_a_number():
    assert check_value(1, FIELDS["clip_norm"], "here") == 1.0


def test_the_ends_of_a_range_belong_to_it():
    for value in (0.0, math.nextafter(1.0, 0.0)):
        assert check_value(value, FIELDS["warmup"], "here") == value


def test_a_config_gives_options(tmp_path):
    found = config(
        tmp_path,
        "max_length: 64\nbatch-size: 8\noverwrite: true\ndata: mine.csv\n"
        "finetune_blocks: null\n",
    )
    assert found == {
        "max_length": 64,
        "batch_size": 8,
        "overwrite": True,
        "data": "mine.csv",
        "finetune_blocks": None,
    }


def test_a_config_may_write_numbers_as_people_do(tmp_path):
    """YAML 1.1 reads 2e-5, without a point, as text."""
    found = config(tmp_path, "finetune_learning_rate: 2e-5\n")
    assert found == {"finetune_learning_rate": 2e-5}


def test_options_survive_a_config(tmp_path):
    options = ClassifyOptions(
        data="Łódź.csv", finetune_learning_rate=2e-5, dropout=0.0, seed=7
    )
    text = yaml.safe_dump(dataclasses.asdict(options), allow_unicode=True)
    assert ClassifyOptions(**config(tmp_path, text)) == options


@pytest.mark.parametrize("text", ["", "# nothing\n", "\ufeffseed: 3\n"])
def test_an_empty_config_or_one_with_a_mark_is_read(tmp_path, text):
    assert config(tmp_path, text) in ({}, {"seed": 3})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_lenght: 64\n", "unknown option 'max_lenght'. Did you mean max_l"),
        ("max_length: long\n", "max_length: expected a whole number"),
        ("- max_length\n", "expected `option: value` lines"),
        ("seed: [1\n", "cannot be read as YAML"),
        ("3: 4\n", "unknown option 3"),
        ("seed: !!python/object/apply:os.getpid []\n", "cannot be read"),
    ],
)
def test_a_wrong_config_names_the_file(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as error:
        config(tmp_path, text)
    assert "options.yaml" in str(error.value)


def test_a_config_of_another_encoding_is_an_error(tmp_path):
    path = tmp_path / "options.yaml"
    path.write_bytes("data: Köln\n".encode("latin-1"))
    with pytest.raises(InputError, match="options.yaml"):
        read_config_file(str(path), ClassifyOptions)


@pytest.mark.parametrize("name", ["", "absent.yaml"])
def test_a_missing_config_is_an_error(tmp_path, name):
    with pytest.raises(InputError, match="--config"):
        read_config_file(str(tmp_path / name), ClassifyOptions)


def test_nearest_names_only_what_is_near():
    assert nearest("--sed", ["--seed", "--data"]) == " Did you mean --seed?"
    assert nearest("--xyz", ["--seed", "--data"]) == ""


def parser():
    made = Parser(prog="some")
    add_options(made, ClassifyOptions)
    return made


def test_options_that_are_not_given_leave_no_trace():
    assert vars(parser().parse_args(["--seed", "3"])) == {"seed": "3"}


def test_abbreviations_are_refused():
    with pytest.raises(InputError, match="--max-len.*--max-length"):
        parser().parse_args(["--max-len", "3"])


def test_flags_can_be_turned_off():
    assert vars(parser().parse_args(["--no-overwrite"])) == {"overwrite": False}


def test_an_option_without_its_value_is_an_error():
    with pytest.raises(InputError, match="--seed.*expected one argument"):
        parser().parse_args(["--seed"])


def test_every_option_has_help_with_its_default(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["--help"])
    shown = capsys.readouterr().out
    for name, field in FIELDS.items():
        assert flag(name) in shown
        assert field.metadata["help"]
    assert "(default: 128)" in shown.replace("\n", " ")
