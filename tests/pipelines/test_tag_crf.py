"""`tag --crf`: what a word says together with what its neighbours say."""

import dataclasses
import itertools

import keras
import numpy as np
import pytest

from keras_encoder.layers.crf import CRF
from pipelines.data.examples import TaggedExample, TextExample
from pipelines.errors import InputError
from pipelines.evaluate import evaluate
from pipelines.model_folder import read_model_folder
from pipelines.options import EvaluateOptions, TagOptions
from pipelines.tag import tag
from pipelines.tagging.decoding import best_sequence, crf_transitions
from pipelines.tagging.schemes import count_irregular
from pipelines.tagging.sentences import label_words, sentence_results
from tests.keras_encoder.fixed_weights import set_sine_weights
from tests.pipelines.tiny import sine, write_jsonl
from tests.pipelines.tiny_tags import make_tagger, write_blind_bert

OPENING = {"stripe": "X", "hoof": "Y"}


def sentence(opening, length):
    """(words, tags): the first word alone tells the tag of all of them.

    The others are the same in every sentence; "abcd" has four pieces. Sentences
    of 4 and 5 words are padded to the same length, so one program is compiled.
    """
    others = itertools.islice(itertools.cycle(["the", "abcd"]), length - 1)
    return [opening, *others], [OPENING[opening]] * length


def write_sentences(path, count):
    rows = [
        sentence(("stripe", "hoof")[i % 2], 4 + i % 2) for i in range(count)
    ]
    return write_jsonl(path, [{"tokens": w, "tags": t} for w, t in rows])


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """Options of a run of seconds."""
    folder = tmp_path_factory.mktemp("crf")
    return TagOptions(
        encoder=write_blind_bert(folder / "bert"),
        train=write_sentences(folder / "train.jsonl", 54),
        validation=write_sentences(folder / "validation.jsonl", 18),
        max_length=64,
        batch_size=16,
        adapt_epochs=10,
        adapt_patience=None,
        adapt_learning_rate=0.1,
        finetune_epochs=0,
        crf=True,
        precision="float32",
    )


def built_crf(num_tags):
    crf = CRF(num_tags)
    crf.build((None, None, num_tags))
    return crf


@dataclasses.dataclass(frozen=True)
class Trained:
    """A run's folder, and what it returned."""

    folder: str
    fine_tuned: object
    metrics: dict


def run(options, folder, **changes):
    options = dataclasses.replace(options, output=str(folder), **changes)
    return Trained(str(folder), *tag(options))


@pytest.fixture(scope="module")
def trained(options, tmp_path_factory):
    """The head and the CRF trained on the frozen encoder."""
    return run(options, tmp_path_factory.mktemp("trained") / "model")


def test_learns_what_single_words_cannot_tell(trained, options, tmp_path):
    alone = run(options, tmp_path / "model", crf=False)
    assert alone.metrics["validation"]["accuracy"] < 0.75
    assert trained.metrics["validation"]["accuracy"] == 1.0
    adapt = trained.metrics["stages"][0]
    # 2 tags: 4 transitions, 2 starts, 2 ends.
    assert adapt["trainable_parameters"] == 2 * (16 + 1) + 8
    losses = [epoch["loss"] for epoch in adapt["history"]]
    assert losses[-1] < 0.3 < losses[0]


def test_transitions_train_with_the_encoder_too(options, tmp_path):
    found = run(
        options,
        tmp_path / "model",
        adapt_epochs=0,
        finetune_epochs=1,
        finetune_learning_rate=1e-2,
        gradient_accumulation_steps=2,
    )
    for weight in found.fine_tuned.model.crf.get_weights():
        assert np.abs(weight).min() > 0


def test_the_folder_has_the_same_crf_and_scores(trained, options):
    loaded = read_model_folder(trained.folder).model.crf
    for old, new in zip(
        trained.fine_tuned.model.crf.get_weights(),
        loaded.get_weights(),
        strict=True,
    ):
        np.testing.assert_array_equal(new, old)
    scores = evaluate(
        EvaluateOptions(model=trained.folder, data=options.validation)
    )
    assert scores.pop("rows") == 18
    assert scores == trained.metrics["validation"]


def test_one_chain_runs_over_all_windows_of_a_sentence(tmp_path):
    """With transitions that leave no choice but to change at every word."""
    tagger = make_tagger(tmp_path / "bert", ("X", "Y"), {"max_length": 8})
    tagger.model.crf = built_crf(2)
    tagger.model.crf.transitions.assign(-99.0 * np.eye(2))
    tags, scores = label_words(tagger, [sentence("stripe", 40)[0]])[0]
    assert tags in (["X", "Y"] * 20, ["Y", "X"] * 20)
    # As sure of every word as of the whole.
    np.testing.assert_allclose(scores, scores[0], atol=1e-5)


def test_words_are_decoded_as_the_layer_decodes():
    crf = set_sine_weights(built_crf(5))
    logits = sine((7, 6, 5), 0.3, 2.0)
    layer = keras.ops.convert_to_numpy(crf(logits, np.ones((7, 6))))
    for row in range(7):
        found = best_sequence(logits[row], crf_transitions(crf))
        assert found.tolist() == layer[row].tolist()


@pytest.fixture(scope="module")
def entity_tagger(tmp_path_factory):
    """A tagger of entities whose CRF wants what the scheme forbids."""
    tagger = make_tagger(tmp_path_factory.mktemp("entities") / "bert")
    crf = built_crf(len(tagger.labels))
    set_sine_weights(crf)
    inside = [i for i, t in enumerate(tagger.labels) if t.startswith("I-")]
    crf.start.assign(np.isin(np.arange(5), inside) * 3.0)
    tagger.model.crf = crf
    return tagger


WORDS = tuple("the zoo sun qwerty of old abcd zebra".split())


def test_the_rules_of_the_scheme_hold_with_a_crf_too(entity_tagger):
    free = dataclasses.replace(
        entity_tagger, settings={**entity_tagger.settings, "constrained": False}
    )
    sentences = [WORDS[i:] + WORDS[:i] for i in range(8)]
    bound = [tags for tags, _ in label_words(entity_tagger, sentences)]
    assert count_irregular(bound, "IOB2") == 0
    wild = [tags for tags, _ in label_words(free, sentences)]
    assert count_irregular(wild, "IOB2") > 0


def test_a_text_has_the_entities_of_its_words(entity_tagger):
    text = " ".join(WORDS)
    by_text, by_words = sentence_results(
        entity_tagger, [TextExample(text), TaggedExample(WORDS)]
    )
    found = [(e["entity_group"], e["word"]) for e in by_text["entities"]]
    wanted, tags = [], by_words["labels"]
    for word, tag_of_word in zip(WORDS, tags, strict=True):
        if tag_of_word.startswith("B-"):
            wanted.append((tag_of_word[2:], word))
        elif tag_of_word.startswith("I-"):
            wanted[-1] = (wanted[-1][0], f"{wanted[-1][1]} {word}")
    assert found == wanted
    assert len(wanted) > 1


@pytest.mark.parametrize(
    "change",
    [{"class_weights": "X=2"}, {"focal": 1.0}, {"label_smoothing": 0.1}],
    ids=["weights", "focal", "smoothing"],
)
def test_losses_of_single_words_are_refused(options, tmp_path, change):
    with pytest.raises(InputError, match="--crf.*leave out --class-weights"):
        run(options, tmp_path / "model", **change)
    assert not (tmp_path / "model").exists()
