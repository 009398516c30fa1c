"""The recipe `tag` from end to end, on data that are learnt in seconds."""

import dataclasses
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file, save_file

from pipelines import cli
from pipelines.data.examples import TaggedExample, TextExample
from pipelines.errors import InputError
from pipelines.evaluate import evaluate
from pipelines.model_folder import read_model_folder
from pipelines.options import EvaluateOptions, TagOptions
from pipelines.tag import tag
from pipelines.tagging import training
from pipelines.tagging.schemes import convert, count_irregular
from pipelines.tagging.sentences import sentence_results
from tests.pipelines.tiny import sine, write_bert, write_jsonl
from tests.pipelines.tiny_tags import sentences, write_blind_bert, write_conll

# Wide enough for one layer to tell all words apart.
WIDTH = 48
ROOT = pathlib.Path(__file__).parents[2]
ROWS = sentences(96)
# The stripe africa tree juice: an animal and two fruits side by side.
FAMILIAR = ROWS[88]
PARTS = {"train": ROWS[:72], "validation": ROWS[72:84], "test": ROWS[84:]}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tag") / "bert"
    return str(
        write_bert(folder, max_position_embeddings=64, hidden_size=WIDTH)
    )


@pytest.fixture(scope="module")
def options(encoder):
    """Options of a run of seconds; the head alone learns nearly all."""
    return TagOptions(
        encoder=encoder,
        max_length=64,
        batch_size=16,
        adapt_epochs=12,
        adapt_patience=None,
        adapt_learning_rate=0.05,
        finetune_epochs=0,
        finetune_learning_rate=1e-3,
        precision="float32",
    )


def files(folder, scheme="IOB2", parts=PARTS):
    """Options that name a CoNLL file for each part."""
    folder.mkdir(exist_ok=True)
    return {
        name: write_conll(folder / f"{name}.conll", rows, scheme)
        for name, rows in parts.items()
    }


@dataclasses.dataclass(frozen=True)
class Trained:
    """What a run was given, returned and wrote."""

    options: TagOptions
    folder: pathlib.Path
    fine_tuned: object
    metrics: dict


def run(options, folder, **changes):
    options = dataclasses.replace(
        options, output=str(folder / "model"), **changes
    )
    fine_tuned, metrics = tag(options)
    return Trained(options, folder / "model", fine_tuned, metrics)


@pytest.fixture(scope="module")
def trained(options, tmp_path_factory):
    """One run with both stages; its folder must not be changed."""
    folder = tmp_path_factory.mktemp("trained")
    return run(options, folder, finetune_epochs=1, **files(folder))


class Captured(Exception):
    """Carries what `run_stages` was called with."""


def captured(options, folder, monkeypatch, **changes):
    """(model, stages, training data, validation inputs, trainer) of a run."""

    def stop(*arguments):
        raise Captured(arguments)

    monkeypatch.setattr(training, "run_stages", stop)
    with pytest.raises(Captured) as caught:
        run(options, folder, **changes)
    return caught.value.args[0]


def test_learns_and_tells_what_it_did(trained):
    metrics = json.loads((trained.folder / "metrics.json").read_text("utf-8"))
    assert metrics == json.loads(json.dumps(trained.metrics))
    assert metrics["task"] == "tag"
    assert metrics["backend"] == keras.backend.backend()
    assert metrics["seed"] == 42
    assert metrics["scheme"] == "IOB2"
    assert metrics["labels"] == ["O", "B-ANIMAL", "B-FRUIT", "I-ANIMAL"]
    model = trained.fine_tuned.model
    assert metrics["num_parameters"] == model.count_params()
    adapt, finetune = metrics["stages"]
    assert (adapt["name"], finetune["name"]) == ("adapt", "finetune")
    assert adapt["trainable_parameters"] == 4 * (WIDTH + 1)
    assert finetune["trainable_parameters"] > adapt["trainable_parameters"]
    assert (adapt["epochs"], finetune["epochs"]) == (12, 1)
    assert metrics["test"]["f1"] > 0.9
    assert set(metrics["test"]["per_type"]) == {"ANIMAL", "FRUIT"}
    assert metrics["validation"]["entities"] == sum(
        t.startswith("B") for _, tags in PARTS["validation"] for t in tags
    )


def test_the_folder_scores_as_the_run_did(trained):
    found = evaluate(
        EvaluateOptions(model=str(trained.folder), data=trained.options.test)
    )
    assert found.pop("rows") == len(PARTS["test"])
    assert found == trained.metrics["test"]


def joined(rows, size):
    """Long sentences, each of `size` short ones."""
    chunks = (rows[i : i + size] for i in range(0, len(rows), size))
    return [
        tuple(sum(parts, []) for parts in zip(*chunk, strict=True))
        for chunk in chunks
    ]


@pytest.fixture(scope="module")
def long_reader(options, tmp_path_factory):
    """Trained on sentences of a window's length.

    Each word tells its tag, so that only windows could lose one.
    """
    folder = tmp_path_factory.mktemp("long")
    encoder = write_blind_bert(folder / "bert", hidden_size=WIDTH)
    parts = {
        "train": joined(sentences(480), 15),
        "validation": joined(sentences(30), 15),
    }
    return run(options, folder, encoder=encoder, **files(folder, parts=parts))


@pytest.mark.parametrize("place", [289, 298], ids=["line 290", "the end"])
def test_an_entity_far_into_a_sentence_is_found(long_reader, tmp_path, place):
    words, tags = ["the"] * 300, ["O"] * 300
    words[place : place + 2] = ["stripe", "africa"]
    tags[place : place + 2] = ["B-ANIMAL", "I-ANIMAL"]
    path = write_conll(tmp_path / "long.conll", [(words, tags)])
    scores = evaluate(EvaluateOptions(model=str(long_reader.folder), data=path))
    assert scores["per_type"]["ANIMAL"]["support"] == scores["entities"] == 1
    assert scores["f1"] == scores["accuracy"] == 1.0
    fine_tuned = read_model_folder(str(long_reader.folder))
    assert fine_tuned.settings["max_length"] == 64
    result = sentence_results(fine_tuned, [TaggedExample(tuple(words))])[0]
    assert result["labels"] == tags
    assert len(result["scores"]) == 300


@pytest.fixture(scope="module")
def by_scheme(options, tmp_path_factory):
    """The same data in three schemes, the head trained alone."""
    runs = {}
    for scheme in ("IOB1", "IOB2", "BIOES"):
        folder = tmp_path_factory.mktemp(scheme)
        runs[scheme] = run(options, folder, **files(folder, scheme))
    return runs


@pytest.mark.parametrize("scheme", ["IOB1", "BIOES"])
def test_every_scheme_gives_the_same_scores(by_scheme, scheme):
    first, other = by_scheme["IOB2"].metrics, by_scheme[scheme].metrics
    assert other["scheme"] == scheme
    for part in ("validation", "test"):
        assert other[part] == first[part]
    assert other["labels"] == first["labels"]


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES"])
def test_labels_come_back_in_the_scheme_of_the_user(by_scheme, scheme):
    fine_tuned = read_model_folder(str(by_scheme[scheme].folder))
    words, inner = FAMILIAR
    labels = sentence_results(fine_tuned, [TaggedExample(tuple(words))])[0][
        "labels"
    ]
    assert tuple(labels) == convert(inner, "IOB2", scheme)
    assert count_irregular([labels], scheme) == 0


def test_text_has_entities_with_offsets(trained):
    fine_tuned = read_model_folder(str(trained.folder))
    text = "the Stripe  africa tree juice"
    result = sentence_results(fine_tuned, [TextExample(text)])[0]
    assert [e["word"] for e in result["entities"]] == [
        "Stripe  africa",
        "tree",
        "juice",
    ]
    for entity in result["entities"]:
        assert text[entity["start"] : entity["end"]] == entity["word"]
        assert 0.5 < entity["score"] <= 1


def test_opens_in_transformers(trained):
    transformers = pytest.importorskip("transformers")
    pipe = transformers.pipeline(
        "token-classification",
        model=str(trained.folder),
        aggregation_strategy="first",
        device="cpu",
    )
    fine_tuned = read_model_folder(str(trained.folder))
    fine_tuned.settings["constrained"] = False
    text = "the stripe africa of some fruit tree"
    ours = sentence_results(fine_tuned, [TextExample(text)])[0]["entities"]
    assert [(e["entity_group"], e["start"], e["end"]) for e in pipe(text)] == [
        (e["entity_group"], e["start"], e["end"]) for e in ours
    ]


OTHER = {"torch": "jax", "jax": "tensorflow", "tensorflow": "torch"}


# Predicts with one model after the other: a process is slow to start.
PREDICT = """
import sys
from pipelines.cli import main
source, *models = sys.argv[1:]
for model in models:
    options = ["--model", model, "--input", source, "--output", model + ".out"]
    assert main(["predict", *options]) == 0
"""


def with_crf(trained, folder):
    """A copy of the model folder whose tagger has a CRF of known scores."""
    shutil.copytree(trained.folder, folder)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["crf.transitions"] = sine((4, 4), 0.1, 3.0)
    tensors["crf.start_transitions"] = sine((4,), 0.2, 3.0)
    tensors["crf.end_transitions"] = sine((4,), 0.3, 3.0)
    save_file(tensors, path, metadata={"format": "pt"})
    return folder


def test_another_backend_gives_the_same_labels(trained, tmp_path):
    other = OTHER[keras.backend.backend()]
    pytest.importorskip(other)
    rows = [
        {"id": 7, "tokens": "the stripe africa of fruit tree".split()},
        {"text": "some hoof mane and 🙂 juice"},
        {"text": "", "id": "empty"},
    ]
    plain = shutil.copytree(trained.folder, tmp_path / "plain")
    folders = [plain, with_crf(trained, tmp_path / "crf")]
    done = subprocess.run(
        [sys.executable, "-c", PREDICT]
        + [write_jsonl(tmp_path / "in.jsonl", rows), *map(str, folders)],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": other},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answers = []
    for folder in folders:
        lines = folder.with_suffix(".out").read_text("utf-8").splitlines()
        tokens, text, empty = map(json.loads, lines)
        assert (tokens.pop("id"), empty) == (7, {"id": "empty", "entities": []})
        same_answers([tokens, text], read_model_folder(str(folder)), rows)
        answers.append(tokens["labels"])
    assert answers[0] != answers[1]


def same_answers(there, fine_tuned, rows):
    """Those of another backend are those of this one."""
    here = sentence_results(
        fine_tuned,
        [TaggedExample(tuple(rows[0]["tokens"])), TextExample(rows[1]["text"])],
    )
    assert there[0]["labels"] == here[0]["labels"]
    np.testing.assert_allclose(there[0]["scores"], here[0]["scores"], atol=1e-4)
    for one, mine in zip(
        there[1]["entities"], here[1]["entities"], strict=True
    ):
        assert one == {**mine, "score": pytest.approx(mine["score"], 1e-4)}


def test_the_options_file_reproduces_the_run(by_scheme, tmp_path, capsys):
    first = by_scheme["IOB1"]
    given = yaml.safe_load((first.folder / "options.yaml").read_text("utf-8"))
    assert given == dataclasses.asdict(first.options)
    again = tmp_path / "again"
    arguments = ["--config", str(first.folder / "options.yaml")]
    assert cli.main(["tag", *arguments, "--output", str(again)]) == 0
    assert capsys.readouterr().out.strip() == str(again)
    metrics = json.loads((again / "metrics.json").read_text("utf-8"))
    for part in ("validation", "test"):
        assert metrics[part] == first.metrics[part]


def test_the_same_seed_gives_the_same_weights(trained, options, tmp_path):
    """To the bit, with dropout and both stages, whatever was drawn before."""
    random.random(), np.random.random()
    again = run(options, tmp_path, finetune_epochs=1, **files(tmp_path / "d"))
    for one, other in zip(
        trained.fine_tuned.model.weights,
        again.fine_tuned.model.weights,
        strict=True,
    ):
        np.testing.assert_array_equal(
            one.numpy(), other.numpy(), err_msg=one.path
        )


def test_one_model_scores_the_same_text_in_every_scheme(by_scheme, tmp_path):
    model = str(by_scheme["IOB2"].folder)
    found = {
        scheme: evaluate(
            EvaluateOptions(
                model=model,
                data=write_conll(tmp_path / f"{scheme}.conll", ROWS, scheme),
            )
        )
        for scheme in by_scheme
    }
    assert found["IOB2"]["f1"] > 0.5
    for scheme, scores in found.items():
        assert scores == found["IOB2"], scheme


def test_parts_of_speech_from_conllu(options, tmp_path):
    upos = {"O": "DET", "B-ANIMAL": "ADJ", "I-ANIMAL": "NOUN", "B-FRUIT": "X"}
    lines = []
    for words, tags in ROWS:
        lines.append("# sent_id = 1")
        lines.append(f"1-2\t{words[0]}{words[1]}" + "\t_" * 8)
        lines += [
            f"{i}\t{word}\t_\t{upos[t]}\t_\t_\t0\t_\t_\t_"
            for i, (word, t) in enumerate(
                zip(words, tags, strict=True), start=1
            )
        ]
        lines.append("")
    path = tmp_path / "some.conllu"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    found = run(options, tmp_path, data=str(path)).metrics
    assert found["scheme"] == "plain"
    assert found["labels"] == ["ADJ", "DET", "NOUN", "X"]
    assert found["test"]["accuracy"] > 0.9
    assert found["test"]["accuracy"] > found["test"]["majority_accuracy"] + 0.2
    assert "f1" not in found["test"]


def test_spans_from_jsonl(options, tmp_path):
    rows = []
    for words, tags in ROWS:
        text, spans = "🙂🙂 ", []
        for word, tag_of_word in zip(words, tags, strict=True):
            start = len(text)
            text += word + " "
            if tag_of_word.startswith("B-"):
                spans.append([start, start + len(word), tag_of_word[2:]])
            elif tag_of_word.startswith("I-"):
                spans[-1][1] = start + len(word)
        rows.append({"text": text, "spans": spans})
    path = write_jsonl(tmp_path / "spans.jsonl", rows)
    found = run(options, tmp_path, data=path)
    assert found.metrics["test"]["f1"] > 0.9
    fine_tuned = read_model_folder(str(found.folder))
    text = rows[1]["text"]
    entities = sentence_results(fine_tuned, [TextExample(text)])[0]["entities"]
    assert [[e["start"], e["end"], e["entity_group"]] for e in entities] == (
        rows[1]["spans"]
    )


def test_tags_only_in_the_test_part_are_named_and_missed(
    options, tmp_path, capsys
):
    parts = {**PARTS, "test": [(["the", "zoo"], ["O", "B-NEW"])]}
    changes = {"adapt_epochs": 1, **files(tmp_path, parts=parts)}
    scores = run(options, tmp_path, **changes).metrics["test"]
    shown = capsys.readouterr().err
    assert 'test: label "B-NEW" (once, first at' in shown
    assert "test.conll:1" in shown
    assert "counts as missed" in shown
    assert scores["per_type"]["NEW"]["support"] == 1
    assert scores["recall"] == 0


@pytest.mark.parametrize(
    "validation",
    [[(["the", "zoo"], ["O", "O"])], [(["sun"], ["B-NEW"])]],
    ids=["no entity", "no known tag"],
)
def test_validation_data_may_lack_what_training_has(
    options, tmp_path, validation
):
    parts = {**PARTS, "validation": validation}
    found = run(
        options, tmp_path, adapt_epochs=1, **files(tmp_path, parts=parts)
    )
    assert found.metrics["validation"]["f1"] == 0
    loss = found.metrics["stages"][0]["validation"]["loss"]
    assert np.isfinite(loss)


def test_class_weights_stand_on_each_word(options, tmp_path, monkeypatch):
    _, _, data, _, _ = captured(
        options,
        tmp_path,
        monkeypatch,
        class_weights="O=0.5,I-ANIMAL=4",
        **files(tmp_path),
    )
    expected = {"O": 0.5, "I-ANIMAL": 4.0}
    tags = [t for _, tags in PARTS["train"] for t in tags]
    weights = data.weights.values[:]
    found = weights[weights > 0]
    assert found.tolist() == [expected.get(t, 1.0) for t in tags]
    # [CLS], [SEP] and further pieces have no weight.
    assert (weights == 0).sum() >= 2 * len(PARTS["train"])


def test_words_beyond_a_window_are_trained_on(options, tmp_path, monkeypatch):
    """Windows of a sentence share words, but each word counts once."""
    rows = [(words * 6, tags * 6) for words, tags in PARTS["train"]]
    _, _, data, _, _ = captured(
        options,
        tmp_path,
        monkeypatch,
        max_length=8,
        **files(tmp_path, parts={**PARTS, "train": rows}),
    )
    assert max(data.inputs.lengths) == 8
    labels = ["O", "B-ANIMAL", "B-FRUIT", "I-ANIMAL"]
    found = data.targets.values[:][data.weights.values[:] > 0]
    assert sorted(found.tolist()) == sorted(
        labels.index(t) for _, tags in rows for t in tags
    )


def test_learns_with_windows_smoothing_focus_and_context(options, tmp_path):
    found = run(
        options,
        tmp_path,
        max_length=8,
        label_smoothing=0.1,
        focal=1.0,
        class_weights="balanced",
        document_context=True,
        **files(tmp_path),
    )
    assert found.metrics["test"]["f1"] > 0.8
    settings = read_model_folder(str(found.folder)).settings
    assert settings["document_context"] is True
    assert settings["max_length"] == 8
    scores = evaluate(
        EvaluateOptions(model=str(found.folder), data=found.options.test)
    )
    assert scores.pop("rows") == len(PARTS["test"])
    assert scores == found.metrics["test"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stride": 62}, "--stride 62.*--max-length 64"),
        ({"class_weights": "B-NEW=2"}, "--class-weights.*B-ANIMAL"),
        ({"max_length": 65}, "--max-length 65"),
    ],
)
def test_wrong_options_are_told_before_training(
    options, tmp_path, changes, message
):
    with pytest.raises(InputError, match=message):
        run(options, tmp_path, **{**files(tmp_path), **changes})
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"tokens": ["a"], "tags": ["O"]}], "two different tags, found O"),
        ([{"tokens": [], "tags": []}], "found no word"),
    ],
)
def test_data_without_two_tags_are_refused(options, tmp_path, rows, message):
    path = write_jsonl(tmp_path / "data.jsonl", rows * 4)
    with pytest.raises(InputError, match=message):
        run(options, tmp_path, train=path, validation=path)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_part_without_a_word_is_refused(options, tmp_path, part):
    empty = [{"tokens": [], "tags": []}] * 2
    given = files(tmp_path) | {part: write_jsonl(tmp_path / "e.jsonl", empty)}
    with pytest.raises(InputError, match=f"{part}: expected words, found 2 "):
        run(options, tmp_path, **given)
