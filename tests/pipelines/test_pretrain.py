"""Pretraining end to end: what is learned, written, gone on from."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest
import torch
import transformers
from keras import ops

from keras_encoder.heads import MaskedLM, Pretraining
from pipelines import cli
from pipelines.classify import classify
from pipelines.errors import RunFailed
from pipelines.model_folder import read_model_folder
from pipelines.options import PretrainOptions
from pipelines.pretrain import make_model, pretrain, unigram_entropy
from pipelines.pretraining.epochs import PretrainEpochs
from pipelines.pretraining.masking import Masking
from pipelines.training.recipe import load_start
from tests.pipelines.tiny import TOPICS


def write_texts(path, count=40, sentences=6):
    """Documents of one topic each: a word tells much about its neighbours."""
    rng = np.random.default_rng(5)
    topics = list(TOPICS.values())
    documents = []
    for i in range(count):
        lines = []
        for _ in range(sentences):
            first = rng.integers(8)
            words = topics[i % 3]
            lines.append(" ".join(words[(first + k) % 8] for k in range(5)))
        documents.append("\n".join(lines))
    path.write_text("\n\n".join(documents), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts") / "texts.txt")


@pytest.fixture(scope="module")
def both(texts, tmp_path_factory):
    """One run of both tasks from random weights; folder, model, metrics."""
    folder = tmp_path_factory.mktemp("both") / "model"
    options = PretrainOptions(
        data=texts,
        encoder="bert-tiny",
        vocabulary_size=90,  # so that most words are pieces
        next_sentence=True,
        whole_word=True,
        max_length=16,
        batch_size=16,
        epochs=8,
        dropout=0.0,
        precision="float32",
        output=str(folder),
    )
    return folder, *pretrain(options)


def test_both_tasks_are_reported_and_the_loss_falls(both):
    _, _, metrics = both
    (stage,) = metrics["stages"]
    rows = stage["history"]
    assert [row["epoch"] for row in rows] == [*range(1, 9)]
    for row in rows:
        for kind in ("train_", ""):
            parts = [
                row[f"{kind}{task}_loss"]
                for task in ("masked_lm", "next_sentence")
            ]
            np.testing.assert_allclose(row[f"{kind}loss"], sum(parts))
            for task in ("masked_lm", "next_sentence"):
                assert 0 <= row[f"{kind}{task}_accuracy"] <= 1
    assert rows[-1]["train_masked_lm_loss"] < rows[0]["train_masked_lm_loss"]
    # Harder than where the answer may stand in the text.
    hidden = metrics["mask_token"]
    assert hidden["loss"] > metrics["validation"]["masked_lm_loss"]
    assert 0 <= hidden["accuracy"] <= 1
    assert rows[-1]["masked_lm_loss"] < metrics["unigram_entropy"] - 0.3
    best = min(rows, key=lambda row: row["loss"])
    assert metrics["best"]["epoch"] == best["epoch"]
    assert metrics["validation"] == best


def test_too_little_text_to_hide_a_token_is_told(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_text("sun\n\npie\n\nhoof\n", "utf-8")
    for seed in range(9):  # one token is asked for; some show it as it is
        options = PretrainOptions(
            data=str(path),
            encoder="bert-tiny",
            max_length=8,
            epochs=1,
            precision="float32",
            seed=seed,
            output=str(tmp_path / "model"),
            overwrite=True,
        )
        _, metrics = pretrain(options)
        if metrics["mask_token"] is None:
            break
    assert "too little text to show a [MASK]" in capsys.readouterr().err
    page = (tmp_path / "model" / "report.html").read_text("utf-8")
    assert "loss on [MASK]" not in page


def test_the_unigram_entropy_leaves_out_what_is_never_masked():
    masking = Masking(mask_id=4, ordinary_ids=np.arange(5, 30))

    def entropy(ids):
        return unigram_entropy(np.bincount(ids, minlength=30), masking)

    found = entropy([0, 1, 1, 4, *range(5, 29)])
    np.testing.assert_allclose(found, np.log(24))
    found = entropy([5, 5, 5, 6, 1])
    np.testing.assert_allclose(
        found, -0.75 * np.log(0.75) - 0.25 * np.log(0.25)
    )


def test_transformers_opens_the_folder(both):
    folder, trained, _ = both
    assert type(trained.model) is Pretraining
    theirs, info = transformers.BertForPreTraining.from_pretrained(
        folder, output_loading_info=True
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(["zebra hoof [MASK]"], ["herd"], return_tensors="pt")
    with torch.no_grad():
        expected = theirs.eval()(**batch)
    found = trained.model(
        {
            "token_ids": batch["input_ids"].numpy(),
            "segment_ids": batch["token_type_ids"].numpy(),
        }
    )
    for ours, name in (
        ("masked_lm", "prediction_logits"),
        ("next_sentence", "seq_relationship_logits"),
    ):
        np.testing.assert_allclose(
            ops.convert_to_numpy(found[ours]), expected[name], atol=1e-5
        )


def test_the_folder_tells_how_it_came_to_be(both):
    folder, _, metrics = both
    stored = json.loads((folder / "metrics.json").read_text())
    assert stored["unigram_entropy"] == metrics["unigram_entropy"]
    assert (folder / "history.csv").read_text().count("\n") == 9
    card = (folder / "README.md").read_text()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "knowing only how often each token comes" in page
    assert "pipeline_tag: fill-mask" in card
    assert "Labels" not in card
    settings = json.loads((folder / "keras_encoder.json").read_text())
    assert settings["task"] == "pretrain"
    assert settings["max_length"] == 16


def test_the_result_is_an_encoder_for_classify(both, topics, tmp_path, options):
    folder, trained, _ = both
    options = dataclasses.replace(
        options,
        encoder=str(folder),
        output=str(tmp_path / "model"),
        adapt_epochs=1,
        finetune_epochs=0,
    )
    fine_tuned, metrics = classify(options)
    assert metrics["stages"][0]["name"] == "adapt"
    table = "embeddings"
    for ours, theirs in zip(
        fine_tuned.model.encoder.weights,
        trained.model.encoder.weights,
        strict=True,
    ):
        if table in ours.path or "block" in ours.path:
            np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.fixture(scope="module")
def adapted(texts, bert, tmp_path_factory):
    """Masked LM alone, going on from a checkpoint without a head."""
    folder = tmp_path_factory.mktemp("adapted") / "model"
    options = PretrainOptions(
        data=texts,
        encoder=bert,
        max_length=16,
        batch_size=8,
        gradient_accumulation_steps=2,
        epochs=1,
        precision="float32",
        output=str(folder),
    )
    return options, *pretrain(options)


def test_a_masked_lm_goes_on_from_a_checkpoint(adapted):
    options, trained, metrics = adapted
    assert type(trained.model) is MaskedLM
    assert metrics["stages"][0]["learning_rate"] == 5e-5
    assert "next_sentence_loss" not in metrics["validation"]
    folder = pathlib.Path(options.output)
    theirs, info = transformers.BertForMaskedLM.from_pretrained(
        folder, output_loading_info=True
    )
    assert not info["missing_keys"]
    assert theirs.config.vocab_size == trained.tokenizer.vocabulary_size
    opened = read_model_folder(options.output)
    for ours, copy in zip(
        trained.model.weights, opened.model.weights, strict=True
    ):
        if "pooler" not in ours.path:
            np.testing.assert_array_equal(ours.numpy(), copy.numpy())


def test_a_checkpoints_head_is_gone_on_from(adapted, capsys):
    options, trained, _ = adapted
    options = dataclasses.replace(options, encoder=options.output)
    model = make_model(options, load_start(options))
    assert "Head: 5 tensors matched, 0 with random" in capsys.readouterr().err
    for name, variable in trained.model.tensors().items():
        np.testing.assert_array_equal(
            model.tensors()[name].numpy(), variable.numpy()
        )


def test_the_positions_of_a_size_may_be_chosen(texts, tmp_path):
    options = PretrainOptions(
        data=texts,
        encoder="bert-tiny",
        vocabulary_size=90,
        positions="rotary",
        max_length=16,
        epochs=1,
        precision="float32",
        output=str(tmp_path / "model"),
    )
    pretrain(options)
    encoder = read_model_folder(options.output).model.encoder
    assert encoder.positions == "rotary"


def test_a_run_that_is_stopped_leaves_nothing(adapted, tmp_path, monkeypatch):
    def stop(self, epoch, logs=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(PretrainEpochs, "on_epoch_begin", stop)
    options = dataclasses.replace(adapted[0], output=str(tmp_path / "model"))
    with pytest.raises(KeyboardInterrupt):
        pretrain(options)
    assert not [*tmp_path.iterdir()]


def test_a_run_without_a_finite_loss_says_so(adapted, tmp_path, monkeypatch):
    monkeypatch.setattr(MaskedLM, "fit", lambda *args, **options: None)
    options = dataclasses.replace(adapted[0], output=str(tmp_path / "model"))
    with pytest.raises(RunFailed, match="lower the learning rate"):
        pretrain(options)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--encoder", "BERT", "--vocabulary-size", "90"], "has a vocabulary"),
        (["--cased"], "--cased: only together"),
        (["--next-sentence", "--max-length", "6"], "no room for two texts"),
        (["--data", "absent.txt"], "absent.txt: no such file"),
        (["--vocabulary-size", "5"], "characters and special tokens alone"),
        (["--vocabulary-size", "90", "--max-length", "513"], "positions for"),
        (["--epochs", "0"], "--epochs: expected 1 or more"),
        (["--positions", "rotery"], "--positions: expected learned, "),
        (["--positions", "rotary", "--encoder", "BERT"], "with its own"),
    ],
)
def test_wrong_options_get_one_message(
    texts, bert, tmp_path, capsys, more, message
):
    argv = ["pretrain", "--data", texts, "--output", str(tmp_path / "out")]
    argv += [bert if each == "BERT" else each for each in more]
    assert cli.main(argv) == cli.WRONG_INPUT
    assert message in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_the_same_seed_gives_the_same_weights(texts, tmp_path):
    def weights(name, seed):
        options = PretrainOptions(
            data=texts,
            encoder="bert-tiny",
            vocabulary_size=90,
            next_sentence=True,
            max_length=16,
            epochs=1,
            precision="float32",
            seed=seed,
            output=str(tmp_path / name),
        )
        trained, _ = pretrain(options)
        return {k: v.numpy() for k, v in trained.model.tensors().items()}

    one, same, other = weights("a", 3), weights("b", 3), weights("c", 7)
    for name, tensor in one.items():
        np.testing.assert_array_equal(tensor, same[name], err_msg=name)
    assert any((one[name] != other[name]).any() for name in one)
