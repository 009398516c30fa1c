"""Entities of a text are those of transformers, and slices of the text."""

import dataclasses
import itertools
import json

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from keras_encoder.checkpoints.save_heads import save_head
from keras_encoder.tokenizer import Tokenizer
from pipelines.data.examples import TaggedExample, TextExample
from pipelines.model_folder import read_model_folder
from pipelines.tagging.entities import choose_labels, find_entities
from pipelines.tagging.pieces import split_text
from pipelines.tagging.schemes import count_irregular
from pipelines.tagging.sentences import (
    label_words,
    sentence_results,
)
from tests.pipelines.tiny import vocabulary
from tests.pipelines.tiny_tags import (
    IOB2,
    balance,
    make_tagger,
    score_sentences,
)

pure = pytest.mark.backend_free

STRATEGIES = ("none", "simple", "first", "average", "max")
BIOES = ("O", "B-PER", "I-PER", "E-PER", "S-PER")
TOKENIZER = Tokenizer.from_vocabulary(vocabulary())
TEXTS = [
    "the zebra and his herd of the old zoo",
    "Tree, juice! the (sweet) pie. near far?",
    "zebras appleswanted xyz, qwerty new mangos",
    "the 🙂 sun 🙂🙂 zoo",
    "Éa café naïve zoé the",
    "日本 the 語zoo sun",
    "1234 5.6 {x} don't",
    "",
    "   ",
    "🙂",
]
# Here transformers guesses sub-words from lengths: "z\xad" is longer than "z".
HIDDEN = ["a\u200bb z\xadoo the", "the ca\u0301fe\u0301 zoo"]


def one_hot(labels, wanted, sure=0.9):
    """Probabilities whose best labels are the wanted ones."""
    rest = (1 - sure) / (len(labels) - 1)
    table = np.full((len(wanted), len(labels)), rest)
    for row, label in enumerate(wanted):
        table[row, labels.index(label)] = sure
    return table


def entities_of(text, wanted, labels, strategy="first", constrained=False):
    """Entities where each piece of the text has the wanted label."""
    sentence = split_text(TOKENIZER, [text])[0]
    return find_entities(
        text,
        one_hot(labels, wanted.split()),
        sentence,
        labels,
        strategy,
        constrained,
    )


def groups(entities):
    return [(e["entity_group"], e["word"]) for e in entities]


@pure
def test_entities_are_slices_of_the_text():
    text = "🙂 The  Zoo, e\u0301 日本"
    found = entities_of(text, "O B-LOC I-LOC O B-PER B-LOC I-LOC", labels=IOB2)
    assert found == [
        {
            "entity_group": kind,
            "score": pytest.approx(0.9),
            "word": word,
            "start": text.index(word),
            "end": text.index(word) + len(word),
        }
        for kind, word in [
            ("LOC", "The  Zoo"),
            ("PER", "e\u0301"),
            ("LOC", "日本"),
        ]
    ]


@pure
def test_neighbours_of_one_type_are_two_entities_if_the_second_begins():
    found = entities_of("the zoo sun", "B-LOC B-LOC I-LOC", IOB2)
    assert groups(found) == [("LOC", "the"), ("LOC", "zoo sun")]


@pure
def test_bioes_labels_make_whole_entities():
    found = entities_of(
        "the zoo sun pie tree", "B-PER I-PER E-PER S-PER S-PER", BIOES
    )
    assert groups(found) == [
        ("PER", "the zoo sun"),
        ("PER", "pie"),
        ("PER", "tree"),
    ]


@pure
def test_an_entity_that_ended_is_not_continued():
    found = entities_of("the zoo sun", "E-PER I-PER E-PER", BIOES)
    assert groups(found) == [("PER", "the"), ("PER", "zoo sun")]


@pure
def test_a_type_may_contain_a_hyphen():
    labels = ("O", "B-per-son", "I-per-son")
    found = entities_of("the zoo", "B-per-son I-per-son", labels)
    assert groups(found) == [("per-son", "the zoo")]


@pure
def test_bare_tags_are_entities_without_a_type():
    found = entities_of("the zoo sun", "B I O", ("O", "B", "I"))
    assert groups(found) == [("_", "the zoo")]


@pure
def test_plain_labels_are_never_read_as_a_scheme():
    """In some sets of parts of speech, S is a noun and B an adverb."""
    labels = ("S", "B", "E", "V", "NOUN-x")
    found = entities_of("the zoo sun pie big", "S S B NOUN-x V", labels)
    assert groups(found) == [
        ("S", "the zoo"),
        ("B", "sun"),
        ("NOUN-x", "pie"),
        ("V", "big"),
    ]


@pure
def test_pieces_keep_their_labels_without_aggregation():
    found = entities_of("the abc", "O B-PER I-PER O", IOB2, "none")
    assert found == [
        {
            "entity": label,
            "score": pytest.approx(0.9),
            "index": index,
            "word": word,
            "start": start,
            "end": start + 1,
        }
        for label, index, word, start in [
            ("B-PER", 2, "a", 4),
            ("I-PER", 3, "b", 5),
        ]
    ]


@pure
@pytest.mark.parametrize(
    ("strategy", "label", "score"),
    [("first", "LOC", 0.5), ("max", "PER", 0.8), ("average", "PER", 0.4)],
)
def test_a_word_is_decided_by_its_pieces(strategy, label, score):
    labels = ("O", "B-PER", "B-LOC")
    probabilities = np.array(
        [[0.3, 0.2, 0.5], [0.1, 0.8, 0.1], [0.4, 0.2, 0.4]]
    )
    sentence = split_text(TOKENIZER, ["abc"])[0]
    found = find_entities(
        "abc", probabilities, sentence, labels, strategy, False
    )
    assert groups(found) == [(label, "abc")]
    assert found[0]["score"] == pytest.approx(score)


@pure
@hypothesis.given(
    st.sampled_from([IOB2, BIOES]),
    st.integers(1, 8),
    st.integers(0, 2**32 - 1),
)
@hypothesis.settings(max_examples=60, deadline=None)
def test_constrained_labels_are_regular(labels, words, seed):
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.full(len(labels), 0.3), words)
    chosen = [labels[i] for i in choose_labels(probabilities, labels, True)[0]]
    scheme = "IOB2" if labels is IOB2 else "BIOES"
    assert count_irregular([chosen], scheme) == 0


@pure
@pytest.mark.parametrize(
    "labels",
    [("O", "I-PER", "I-LOC", "B-LOC"), ("NOUN", "VERB"), IOB2],
    ids=["IOB1", "plain", "not constrained"],
)
def test_without_rules_each_word_has_its_best_label(labels):
    probabilities = np.random.default_rng(0).dirichlet(
        np.full(len(labels), 0.3), 50
    )
    constrained = labels is not IOB2
    np.testing.assert_array_equal(
        choose_labels(probabilities, labels, constrained)[0],
        probabilities.argmax(-1),
    )


@pytest.fixture(scope="module")
def write_tagger(tmp_path_factory):
    """Writes the folder of a tagger that was never trained."""

    def write(name, labels=IOB2, max_length=40, change=lambda model: None):
        folder = tmp_path_factory.mktemp(name)
        fine_tuned = make_tagger(folder / "bert", labels)
        change(fine_tuned.model)
        save_head(fine_tuned.model, folder / "tagger", labels)
        fine_tuned.tokenizer.save(folder / "tagger", max_length=max_length)
        return folder / "tagger"

    return write


def ours(folder, texts, strategy, **settings):
    """What `predict` gives for texts, without constraints."""
    fine_tuned = read_model_folder(str(folder))
    fine_tuned = dataclasses.replace(
        fine_tuned,
        settings={**fine_tuned.settings, "constrained": False, **settings},
    )
    results = sentence_results(
        fine_tuned, [TextExample(text) for text in texts], 4, strategy
    )
    return [result["entities"] for result in results]


def theirs(folder, texts, strategy, **options):
    transformers = pytest.importorskip("transformers")
    pipe = transformers.pipeline(
        "token-classification",
        model=str(folder),
        aggregation_strategy=strategy,
        device="cpu",
    )
    return [pipe(text, **options) if text.strip() else [] for text in texts]


def assert_same_entities(found, expected, texts):
    for mine, other, text in zip(found, expected, texts, strict=True):
        assert len(mine) == len(other), (text, mine, other)
        for entity, same in zip(mine, other, strict=True):
            slice_of_text = text[same["start"] : same["end"]]
            assert entity == {
                **same,
                "word": slice_of_text,
                "score": pytest.approx(float(same["score"]), abs=1e-4),
            }


@pytest.fixture(scope="module")
def iob2_folder(write_tagger):
    return write_tagger("iob2")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equal_to_transformers(iob2_folder, strategy):
    texts = TEXTS + HIDDEN[:1] * (strategy in ("none", "simple"))
    found = ours(iob2_folder, texts, strategy)
    assert_same_entities(found, theirs(iob2_folder, texts, strategy), texts)
    # The comparison sees both types, and entities of several words.
    entities = list(itertools.chain(*found))
    names = {e.get("entity_group", e.get("entity")) for e in entities}
    assert len(names) > 1
    assert strategy == "none" or any(" " in e["word"] for e in entities)


def test_equal_to_transformers_for_plain_labels(write_tagger):
    labels = ("NOUN", "VERB", "ADJ")
    folder = write_tagger("plain", labels)
    found = ours(folder, TEXTS, "first")
    assert_same_entities(found, theirs(folder, TEXTS, "first"), TEXTS)


def forget_places_and_neighbours(model):
    """Makes an encoder whose output at a token depends on it alone."""
    for variable in model.encoder.weights:
        if "position" in variable.path or "attention/output" in variable.path:
            variable.assign(np.zeros(variable.shape))
    balance(model)


def test_long_texts_equal_to_transformers_with_stride(write_tagger):
    folder = write_tagger(
        "long", max_length=16, change=forget_places_and_neighbours
    )
    words = [word for word in vocabulary()[5:] if word.isalpha()]
    words = [words[(7 * i * i + i) % len(words)] for i in range(90)]
    # Entities shorter than the overlap, as no window shows longer ones whole.
    inside = [bool(e) for e in ours(folder, words, "first")]
    kept, run = [], 0
    for word, counts in zip(words, inside, strict=True):
        run = run + 1 if counts else 0
        if run < 4:
            kept.append(word)
    text = " ".join(kept)
    found = ours(folder, [text], "first", max_length=16, stride=6)
    expected = theirs(folder, [text], "first", stride=6)
    assert len(found[0]) > 10
    assert found[0][-1]["end"] > len(text) // 2
    assert_same_entities(found, expected, [text])


def test_words_with_hidden_characters_are_whole(iob2_folder):
    for text, entities in zip(
        HIDDEN, ours(iob2_folder, HIDDEN, "first"), strict=True
    ):
        edges = {0, len(text)} | {i for i, c in enumerate(text) if c == " "}
        for entity in entities:
            assert entity["end"] in edges
            assert entity["start"] in edges | {edge + 1 for edge in edges}
    assert any(ours(iob2_folder, HIDDEN, "first"))


def test_long_texts_lose_no_entity_beyond_the_first_window(write_tagger):
    folder = write_tagger("far", change=forget_places_and_neighbours)
    text = "the " * 100 + "zebra apple mango"
    alone = ours(folder, ["zebra apple mango"], "none")[0]
    assert alone
    found = ours(folder, [text], "none", max_length=16)[0]
    assert [e["word"] for e in found if e["start"] >= 400] == [
        e["word"] for e in alone
    ]


def test_bioes_models_of_others_are_grouped_and_scored(write_tagger):
    """Their labels are converted before they meet ours in IOB2."""
    folder = write_tagger("bioes", BIOES)
    fine_tuned = read_model_folder(str(folder))
    tokens = tuple("the zebra and his herd of old zoo sun pie tree".split())
    inner = label_words(fine_tuned, [tokens])[0][0]
    assert any(tag != "O" for tag in inner)
    assert not {tag[0] for tag in inner} & set("ES")
    gold = TaggedExample(tokens, tuple(inner))
    assert score_sentences(fine_tuned, [gold])["f1"] == 1.0
    written = sentence_results(fine_tuned, [gold])[0]["labels"]
    assert count_irregular([written], "BIOES") == 0
    assert {tag[0] for tag in written} & set("ES")


def test_constraints_change_only_what_is_irregular(iob2_folder):
    free = ours(iob2_folder, TEXTS, "first")
    bound = ours(iob2_folder, TEXTS, "first", constrained=True)
    assert json.dumps(free) != json.dumps(bound)
    for entities in bound:
        for before, after in itertools.pairwise(entities):
            assert before["end"] <= after["start"]
