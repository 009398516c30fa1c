"""`--dry-run` and `keras-encoder data`: the report, and nothing else."""

import dataclasses
import json

import pytest

from pipelines import cli
from pipelines.classify import classify
from pipelines.data_check import detect_task
from pipelines.errors import InputError
from pipelines.options import ClassifyOptions, TagOptions
from pipelines.tag import tag
from pipelines.training.class_weights import weights_by_label
from tests.pipelines.tiny import rows, write_csv, write_jsonl
from tests.pipelines.tiny_tags import sentences, write_conll


@pytest.fixture
def tokenizer_only(bert, tmp_path):
    """A folder without weights: what the report needs of an encoder."""
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    for name in ("vocab.txt", "tokenizer_config.json"):
        content = (type(tmp_path)(bert) / name).read_bytes()
        (folder / name).write_bytes(content)
    return str(folder)


@pytest.fixture
def texts(tmp_path):
    """Three files; what the report must count is in the comments."""
    return {
        "train": write_csv(
            tmp_path / "train.csv",
            [
                ("zoo", "x"),
                ("zoo", "y"),  # repeated
                ("of far near old new", "x"),  # 7 tokens
                ("", "y"),  # empty
                ("\u4e00 zoo \u4e8c", "x"),  # 2 of 11 tokens unknown
            ],
        ),
        "validation": write_csv(
            tmp_path / "dev.csv",
            [("zoo", "x"), ("sun", "y")],  # the first is in train
        ),
        "test": write_csv(
            tmp_path / "test.csv",
            [("sun", "x"), ("zoo", "x"), ("zoo", "y"), ("moon", "x")],
        ),
    }


def test_a_dry_run_counts_and_writes_nothing(
    texts, tokenizer_only, head_only, tmp_path, capsys
):
    options = dataclasses.replace(
        head_only,
        data=None,
        **texts,
        encoder=tokenizer_only,
        max_length=6,
        dry_run=True,
    )
    before = sorted(tmp_path.rglob("*"))
    fine_tuned, metrics = classify(options)
    assert sorted(tmp_path.rglob("*")) == before
    assert fine_tuned is None
    found = metrics["data"]
    assert found["train"] == {
        "rows": 5,
        "labels": {"x": 3, "y": 2},
        "tokens": {"median": 3.0, "p95": 7, "longest": 7},
        "over_length": {"rows": 1, "share": 0.2, "tokens": 1},
        "unknown_share": 2 / 9,  # 1 + 1 + 4 (cut from 5) + 0 + 3
        "empty": 1,
        "repeated": 1,
        "also_in": {},
    }
    assert found["validation"]["also_in"] == {"train": 1}
    assert found["test"]["also_in"] == {"train": 2, "validation": 3}
    said = capsys.readouterr()
    assert "rows also in train" in said.err
    assert said.out == ""


def test_a_run_keeps_the_report(trained):
    found = trained.metrics["data"]
    assert found["max_length"] == 8
    assert {k: v["rows"] for k, v in found.items() if k != "max_length"} == (
        trained.metrics["rows"]
    )


def test_a_dry_run_of_tags(tokenizer_only, tmp_path):
    train = [
        (["zoo", "of"], ["O", "B-X"]),
        (["zoo", "of"], ["O", "O"]),
        (["far"] * 7, ["O"] * 7),
        (["\u4e00"], ["B-X"]),
    ]
    options = TagOptions(
        train=write_conll(tmp_path / "train.conll", train),
        validation=write_conll(tmp_path / "dev.conll", train[2:3]),
        encoder=tokenizer_only,
        max_length=8,
        output=str(tmp_path / "model"),
        dry_run=True,
    )
    fine_tuned, metrics = tag(options)
    assert fine_tuned is None
    assert not (tmp_path / "model").exists()
    assert metrics["data"]["train"] == {
        "rows": 4,
        "labels": {"B-X": 2, "O": 10},
        "tokens": {"median": 4.0, "p95": 9, "longest": 9},
        "over_length": {"rows": 1, "share": 0.25, "tokens": 1},
        "unknown_share": 1 / 12,
        "empty": 0,
        "repeated": 1,
        "also_in": {},
    }
    assert metrics["data"]["validation"]["also_in"] == {"train": 1}


@pytest.mark.parametrize("kind", [ClassifyOptions, TagOptions])
def test_a_dry_run_knows_how_long_the_encoder_reads(
    kind, bert, topics, tmp_path
):
    tags = write_conll(tmp_path / "a.conll", sentences(20))
    recipe, data = (tag, tags) if kind is TagOptions else (classify, topics)
    options = kind(data=data, encoder=bert, max_length=40, dry_run=True)
    recipe(options)
    with pytest.raises(InputError, match="--max-length 41.*40 tokens at most"):
        recipe(dataclasses.replace(options, max_length=41))


def test_a_dry_run_finds_what_is_wrong(head_only, tmp_path):
    data = write_csv(tmp_path / "a.csv", [("sun", "x")] * 9)
    with pytest.raises(InputError, match="two classes"):
        classify(dataclasses.replace(head_only, data=data, dry_run=True))


def test_the_command_takes_files_by_their_names(texts, tokenizer_only, capsys):
    given = [texts["test"], texts["train"], "--encoder", tokenizer_only]
    assert cli.main(["data", *given]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert (found["task"], found["max_length"]) == ("classify", 128)
    assert found["test"]["rows"] == 4
    assert found["train"]["rows"] + found["validation"]["rows"] == 5


def test_the_command_counts_windows(texts, tokenizer_only, capsys):
    given = [f"--{name}={path}" for name, path in texts.items()]
    given += ["--encoder", tokenizer_only, "--max-length", "6"]
    assert cli.main(["data", *given, "--windows", "mean"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["train"]["windows"] == {"rows": 1, "total": 6}
    assert found["test"]["windows"] == {"rows": 0, "total": 4}


def test_the_command_reads_tags(tokenizer_only, tmp_path, capsys):
    path = write_conll(tmp_path / "a.conll", sentences(30))
    given = ["data", path, "--encoder", tokenizer_only, "--max-length", "16"]
    assert cli.main(given) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["task"] == "tag"
    assert {"O", "B-ANIMAL", "I-ANIMAL"} <= set(found["train"]["labels"])
    assert cli.main([*given, "--windows", "mean"]) == cli.WRONG_INPUT
    assert "--windows mean: of classifiers" in capsys.readouterr().err


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["a.csv"], {"data": "a.csv"}),
        (["a", "b"], {"train": "a", "validation": "b"}),
        (["a", "b", "c"], {"train": "a", "validation": "b", "test": "c"}),
        (["test.csv", "train.csv"], {"train": "train.csv", "test": "test.csv"}),
        (["train-1", "train-2"], {"train": "train-1", "validation": "train-2"}),
        ([], {}),
        (["--train", "a", "--task", "tag"], {"train": "a", "task": "tag"}),
    ],
)  # fmt: skip
def test_sources_on_the_command_line(given, expected):
    _, options = cli.parse(["data", *given])
    for name in ("data", "train", "validation", "test", "task"):
        assert getattr(options, name) == expected.get(name)


@pytest.mark.backend_free
def test_too_many_sources_are_an_error(capsys):
    assert cli.main(["data", *"abcd"]) == cli.WRONG_INPUT
    assert "expected at most 3 sources" in capsys.readouterr().err


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("name", "content", "task"),
    [
        ("a.csv", "text,label\n", "classify"),
        ("a.tsv", "text\tlabel\na\tx\n", "classify"),
        ("a.tsv", "a\tO\n\nb\tO\n", "tag"),
        ("a.conll.gz", None, "tag"),
        ("a.conllu", "", "tag"),
        ("a.parquet", None, "classify"),
        ("a.jsonl", '{"text": "a", "label": "x"}', "classify"),
        ("a.jsonl", '{"text": "a", "label": ["x"]}', "classify"),
        ("a.jsonl", '{"text": "a", "label": [[0, 1, "X"]]}', "tag"),
        ("a.jsonl", '{"text": "a", "spans": []}', "tag"),
        ("a.jsonl", '{"tokens": ["a"], "tags": ["O"]}', "tag"),
        ("a.jsonl", "", "classify"),
        ("d/train.bio", "a O\n", "tag"),
        ("d/train.csv", "text,label\n", "classify"),
        ("d/x/1.txt", "a", "classify"),
    ],
)
def test_the_task_is_that_of_the_data(tmp_path, name, content, task):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is not None:
        path.write_text(content, encoding="utf-8")
    place = tmp_path / "d" if name.startswith("d/") else path
    assert detect_task(str(place)) == task


@pytest.mark.backend_free
def test_the_task_of_saved_data_sets(tmp_path):
    datasets = pytest.importorskip("datasets")
    tagged = datasets.Dataset.from_list([{"tokens": ["a"], "tags": ["O"]}])
    datasets.DatasetDict(train=tagged).save_to_disk(str(tmp_path / "tagged"))
    texts = datasets.Dataset.from_list([{"text": "a", "label": "x"}])
    texts.save_to_disk(str(tmp_path / "texts"))
    assert detect_task(str(tmp_path / "tagged")) == "tag"
    assert detect_task(str(tmp_path / "texts")) == "classify"
    assert detect_task("punctuation") == "tag"


@pytest.mark.backend_free
def test_a_folder_for_both_tasks_must_be_told(tmp_path):
    write_csv(tmp_path / "a.csv", rows(3))
    write_conll(tmp_path / "a.conll", sentences(3))
    with pytest.raises(InputError, match="say --task classify or --task tag"):
        detect_task(str(tmp_path))


def test_data_from_python_train_and_are_named_in_the_options(
    head_only, tmp_path
):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows(), columns=["text", "label"])
    options = dataclasses.replace(head_only, data=frame, adapt_epochs=1)
    _, metrics = classify(options)
    assert metrics["rows"] == {"train": 48, "validation": 6, "test": 6}
    saved = tmp_path / "model" / "options.yaml"
    assert "data: 'from Python: a DataFrame'" in saved.read_text("utf-8")
    given = ["classify", "--config", str(saved), "--overwrite"]
    assert cli.main(given) == cli.WRONG_INPUT


def test_data_sets_from_python_train_a_tagger(bert, tmp_path):
    data = [{"tokens": w, "tags": t} for w, t in sentences(24)]
    _, metrics = tag(
        TagOptions(
            train=iter(data),
            validation=data[:6],
            encoder=bert,
            max_length=16,
            batch_size=8,
            adapt_epochs=1,
            finetune_epochs=0,
            output=str(tmp_path / "model"),
        )
    )
    assert metrics["data"]["train"]["rows"] == 24
    assert "validation: 'from Python: a list'" in (
        tmp_path / "model" / "options.yaml"
    ).read_text("utf-8")


def test_saved_options_repeat_a_run_from_another_folder(
    head_only, bert, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "topics.csv", rows())
    options = dataclasses.replace(
        head_only, data="topics.csv", output="model", adapt_epochs=1
    )
    classify(options)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    saved = str(tmp_path / "model" / "options.yaml")
    _, again = cli.parse(["classify", "--config", saved])
    assert again.data == str(tmp_path / "topics.csv")
    assert again.output == str(tmp_path / "model")
    _, metrics = classify(dataclasses.replace(again, output="again"))
    assert metrics["rows"]["train"] == 48


def test_class_weights_name_labels_with_commas(head_only, tmp_path):
    data = write_jsonl(
        tmp_path / "a.jsonl",
        [
            {"text": text, "label": "a, b=c" if label == "zebra" else label}
            for text, label in rows()
        ],
    )
    options = dataclasses.replace(
        head_only, data=data, adapt_epochs=1, overwrite=True
    )
    labels = ("a, b=c", "apple", "mango")
    for weights in ('"a, b=c=0.01",apple=2', 'apple=2, "a, b=c"=0.01'):
        assert weights_by_label(weights, labels, {}) == {
            "a, b=c": 0.01,
            "apple": 2.0,
            "mango": 1.0,
        }
        classify(dataclasses.replace(options, class_weights=weights))
    with pytest.raises(InputError, match="--class-weights.*found 'a'"):
        classify(dataclasses.replace(options, class_weights="a, b=c=2"))
