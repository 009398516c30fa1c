"""One label for every word, whatever the words, the length, the company."""

import dataclasses

import numpy as np
import pytest

from pipelines.data.examples import TaggedExample, TextExample
from pipelines.data.tagged.punctuation import restore
from pipelines.errors import InputError
from pipelines.tagging.metrics import tag_scores
from pipelines.tagging.schemes import count_irregular
from pipelines.tagging.sentences import (
    label_words,
    outer_tags,
    sentence_results,
    to_inner,
)
from tests.pipelines.tiny import vocabulary
from tests.pipelines.tiny_tags import make_tagger, score_sentences

backend_free = pytest.mark.backend_free

# Of no piece, over the limit of 100 characters, longer than a window.
AWKWARD = ["\u200b", "", "x" * 120, "abcdefghij" * 4, "🙂", "\xad", "[SEP]"]


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    return make_tagger(tmp_path_factory.mktemp("tagger") / "bert")


def with_settings(fine_tuned, **settings):
    return dataclasses.replace(
        fine_tuned, settings={**fine_tuned.settings, **settings}
    )


def words(count, seed=0):
    """So many words of one to four pieces."""
    generator = np.random.default_rng(seed)
    whole = [word for word in vocabulary()[5:] if word.isalnum()]
    return [
        str(generator.choice([generator.choice(whole), "zqx", "abcd"]))
        for _ in range(count)
    ]


@pytest.mark.parametrize("length", [0, 1, 13, 14, 15, 16, 300])
def test_every_word_has_one_label(tagger, length):
    tags, scores = label_words(tagger, [words(length)])[0]
    assert len(tags) == len(scores) == length
    assert set(tags) <= set(tagger.labels)
    assert np.isfinite(scores).all()


def test_awkward_words_have_one_label_too(tagger):
    sentences = [AWKWARD, AWKWARD * 9, [], ["the"], [""] * 40]
    for sentence, (tags, scores) in zip(
        sentences, label_words(tagger, sentences), strict=True
    ):
        assert len(tags) == len(scores) == len(sentence)
        assert np.isfinite(scores).all()


def test_windows_as_long_as_the_model_reads(tmp_path):
    """36 is no multiple of 8, to which shorter batches are padded."""
    tagger = make_tagger(
        tmp_path, settings={"max_length": 36}, max_position_embeddings=36
    )
    assert len(label_words(tagger, [words(100)])[0][0]) == 100


def test_company_changes_nothing(tagger):
    sentences = [words(length, length) for length in (3, 40, 0, 9)]
    together = label_words(tagger, sentences)
    for sentence, (tags, scores) in zip(sentences, together, strict=True):
        alone = label_words(tagger, [sentence], batch_size=2)[0]
        assert tags == alone[0]
        np.testing.assert_allclose(scores, alone[1], atol=1e-5)


def test_scores_are_probabilities_of_the_labels(tagger):
    free = with_settings(tagger, constrained=False)
    _, scores = label_words(free, [words(50)])[0]
    assert (scores >= 1 / len(tagger.labels)).all()
    assert (scores <= 1).all()


def test_constrained_labels_are_always_regular(tagger):
    sentences = [words(30, seed) for seed in range(20)]
    bound = [tags for tags, _ in label_words(tagger, sentences)]
    assert count_irregular(bound, "IOB2") == 0
    free = with_settings(tagger, constrained=False)
    free = [tags for tags, _ in label_words(free, sentences)]
    assert count_irregular(free, "IOB2") > 0


@pytest.mark.parametrize("scheme", ["IOB1", "BIOES", "BILOU"])
def test_labels_are_written_in_the_scheme_of_the_user(tagger, scheme):
    example = TaggedExample(tuple(words(60)))
    inner = sentence_results(tagger, [example])[0]
    outer = sentence_results(with_settings(tagger, scheme=scheme), [example])[0]
    assert outer["labels"] != inner["labels"]
    assert count_irregular([outer["labels"]], scheme) == 0
    assert outer["scores"] == inner["scores"]


def test_texts_and_words_are_answered_in_their_order(tagger):
    examples = [
        TaggedExample(("the", "zoo")),
        TextExample("the zebra and his herd"),
        TextExample(""),
        TaggedExample(()),
        TextExample(" \u200b\t"),
        TaggedExample(("\u200b",)),
        TextExample("zoo"),
    ]
    results = sentence_results(tagger, examples)
    kinds = ["tokens" if "tokens" in r else "entities" for r in results]
    assert kinds == [
        "tokens" if isinstance(e, TaggedExample) else "entities"
        for e in examples
    ]
    assert results[2] == results[4] == {"entities": []}
    assert results[3] == {"tokens": [], "labels": [], "scores": []}
    assert results[5]["tokens"] == ["\u200b"]
    for example, result in zip(examples, results, strict=True):
        assert sentence_results(tagger, [example])[0].keys() == result.keys()


def test_nothing_gives_nothing(tagger):
    assert sentence_results(tagger, []) == []
    assert label_words(tagger, []) == []


def test_a_text_has_the_labels_of_its_words(tagger):
    text = "the zebra and his herd of the old zoo"
    entities = sentence_results(tagger, [TextExample(text)])[0]["entities"]
    labels = sentence_results(tagger, [TaggedExample(tuple(text.split()))])
    found = sum(len(entity["word"].split()) for entity in entities)
    assert found == sum(tag != "O" for tag in labels[0]["labels"])


def test_neighbours_in_the_document_are_seen_if_asked_for(tagger):
    sentences = [words(5, seed) for seed in range(3)]
    context = with_settings(tagger, document_context=True)

    def middle(fine_tuned, documents):
        return label_words(fine_tuned, sentences, documents)[1][1]

    alone = middle(tagger, [0, 0, 0])
    assert not np.allclose(alone, middle(context, [0, 0, 0]), atol=1e-4)
    np.testing.assert_allclose(alone, middle(context, [0, 1, 2]), atol=1e-5)


def test_sentences_of_other_documents_are_never_neighbours(tagger):
    context = with_settings(tagger, document_context=True)
    examples = [
        TaggedExample(tuple(words(5, seed)), document=seed) for seed in range(3)
    ]
    together = sentence_results(context, examples)[1]
    alone = sentence_results(context, examples[1:2])[0]
    np.testing.assert_allclose(together["scores"], alone["scores"], atol=1e-5)


def test_data_without_entities_give_zeros(tagger):
    never = with_settings(tagger, constrained=True)
    never.model.logits.bias.assign([90.0, 0.0, 0.0, 0.0, 0.0])
    scores = score_sentences(
        never, [TaggedExample(("the", "zoo"), ("O", "O"))] * 3
    )
    assert scores["f1"] == scores["default_f1"] == scores["entities"] == 0
    assert scores["accuracy"] == 1.0


def test_a_type_that_the_model_lacks_counts_as_missed(tagger):
    gold = [TaggedExample(("the", "zoo"), ("B-NEW", "I-NEW"), where="a:1")]
    scores = score_sentences(tagger, gold)
    assert scores["per_type"]["NEW"]["support"] == 1
    assert scores["per_type"]["NEW"]["recall"] == 0
    assert scores["recall"] == 0


def test_tags_of_another_task_name_their_place(tagger):
    gold = [TaggedExample(("the", "zoo"), ("DET", "NOUN"), where="a.conll:7")]
    with pytest.raises(InputError, match="a.conll:7.*'DET'.*--tag"):
        score_sentences(tagger, gold)


def test_punctuation_models_restore_the_text(tmp_path):
    labels = ("lower", "lower,", "Capital", "Capital.", "UPPER")
    tagger = make_tagger(tmp_path, labels, {"words": "punctuation"})
    texts = ["«The zoo», said bbc - the sun?", "", "!?", "old\n\nand new"]
    results = sentence_results(tagger, [TextExample(text) for text in texts])
    bare = [["the", "zoo", "said", "bbc", "the", "sun"], [], []]
    assert [r["tokens"] for r in results] == [*bare, ["old", "and", "new"]]
    for result in results:
        assert result["text"] == restore(result["tokens"], result["labels"])
        assert set(result["labels"]) <= set(labels)
        assert len(result["scores"]) == len(result["tokens"])


@backend_free
def test_scores_of_plain_labels():
    gold = [["NOUN", "VERB"], ["NOUN"], []]
    scores = tag_scores(gold, [["NOUN", "NOUN"], ["NOUN"], []], "plain")
    assert scores["accuracy"] == scores["majority_accuracy"] == 2 / 3
    # NOUN: precision 2/3, recall 1; VERB: 0.
    assert scores["majority_macro_token_f1"] == pytest.approx(0.8 / 2)
    assert scores["macro_token_f1"] == pytest.approx(0.8 / 2)
    assert scores["per_label"]["VERB"]["recall"] == 0
    assert "f1" not in scores


@backend_free
def test_scores_of_entities_are_strict():
    gold = [["B-A", "I-A", "O"]]
    scores = tag_scores(gold, [["I-A", "I-A", "O"]], "BIOES")
    assert (scores["f1"], scores["default_f1"]) == (0.0, 1.0)


@backend_free
def test_scores_of_no_words():
    for scheme in ("IOB2", "plain"):
        assert tag_scores([[]], [[]], scheme)["accuracy"] == 0


@backend_free
@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES", "BILOU"])
def test_inner_tags_and_back(scheme):
    inner = ("B-A", "I-A", "I-A", "B-A", "O", "B-B", "B-B")
    outer = outer_tags(inner, scheme)
    example = TaggedExample(tuple("abcdefg"), tuple(outer))
    assert to_inner([example], scheme)[0].tags == inner


@backend_free
def test_plain_labels_stay_as_they_are():
    example = TaggedExample(("a", "b"), ("S", "O"))
    assert to_inner([example], "plain") == [example]
    assert outer_tags(["S", "O"], "plain") == ["S", "O"]
