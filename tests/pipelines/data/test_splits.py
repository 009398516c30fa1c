import collections

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.examples import TextExample
from pipelines.data.splits import stratified_split
from pipelines.errors import InputError


def rows(*labels):
    return [TextExample(f"t{i}", label=x) for i, x in enumerate(labels)]


def counts(part):
    return collections.Counter(example.label for example in part)


def test_each_class_gives_its_share():
    examples = rows(*"a" * 100, *"b" * 50, *"c" * 20)
    train, validation, test = stratified_split(examples, (0.1, 0.1), 42)
    assert counts(validation) == counts(test) == {"a": 10, "b": 5, "c": 2}
    assert counts(train) == {"a": 80, "b": 40, "c": 16}


def test_tiny_classes_give_their_share_together():
    examples = rows(*[f"c{i}" for i in range(100) for _ in range(2)])
    train, validation, test = stratified_split(examples, (0.1, 0.1), 42)
    assert (len(train), len(validation), len(test)) == (160, 20, 20)
    assert len(counts(train)) == 100


@pytest.mark.parametrize("size", [1, 2])
def test_rare_classes_stay_in_training(size):
    examples = rows(*"a" * 40, *"b" * size)
    for seed in range(5):
        train, _, _ = stratified_split(examples, (0.1, 0.1), seed)
        assert "b" in counts(train)


def test_the_smallest_data_that_can_be_split():
    parts = stratified_split(rows("a", "a", "a", "b"), (0.1, 0.1), 0)
    assert [len(part) for part in parts] == [2, 1, 1]


@pytest.mark.parametrize("labels", ["", "a", "ab", "aab", "abcdef"])
def test_too_few_rows_are_an_error(labels):
    with pytest.raises(InputError, match=f"^{len(labels)} rows are too few"):
        stratified_split(rows(*labels), (0.1, 0.1), 0)


def test_the_same_seed_gives_the_same_parts():
    examples = rows(*"ab" * 50)
    first = stratified_split(examples, (0.1, 0.1), 7)
    assert first == stratified_split(examples, (0.1, 0.1), 7)
    assert first != stratified_split(examples, (0.1, 0.1), 8)


def test_a_negative_seed_is_an_error():
    with pytest.raises(InputError, match="seed: expected 0 or more, found -1"):
        stratified_split(rows(*"ab" * 50), (0.1,), -1)


def test_parts_keep_the_order_of_rows():
    examples = rows(*"ab" * 50)
    for part in stratified_split(examples, (0.2,), 1):
        assert part == sorted(part, key=lambda e: int(e.text[1:]))


def test_equal_texts_are_never_in_two_parts():
    examples = [
        TextExample(f"t{i // 3}", label="ab"[i % 2]) for i in range(120)
    ]
    parts = stratified_split(examples, (0.1, 0.1), 3)
    texts = [{e.text for e in part} for part in parts]
    assert sum(len(t) for t in texts) == len(set.union(*texts)) == 40


def test_a_text_that_fills_a_class_stays_in_training():
    examples = rows(*"a" * 50, *"b" * 10)
    examples += [TextExample("spam", label="b")] * 40
    train, validation = stratified_split(examples, (0.1,), 3)
    assert sum(e.text == "spam" for e in train) == 40
    assert len(validation) == 10


def test_too_few_texts_are_split_row_by_row():
    examples = [TextExample("good", label="x"), TextExample("bad", label="y")]
    parts = stratified_split(examples * 20, (0.1, 0.1), 3)
    assert [len(part) for part in parts] == [32, 4, 4]


def test_copies_with_different_labels_lose_no_class():
    examples = rows(*"a" * 50) + [TextExample("t9", label="b")]
    for seed in range(20):
        train, _, _ = stratified_split(examples, (0.1, 0.1), seed)
        assert set(counts(train)) == {"a", "b"}


def test_pairs_are_equal_only_if_both_texts_are():
    examples = [TextExample("same", f"p{i}", "ab"[i % 2]) for i in range(40)]
    train, validation = stratified_split(examples, (0.1,), 3)
    assert (len(train), len(validation)) == (36, 4)


def test_numbers_are_split_at_random():
    examples = rows(*[i / 7 for i in range(100)])
    train, validation, test = stratified_split(examples, (0.1, 0.1), 42)
    assert (len(train), len(validation), len(test)) == (80, 10, 10)


def test_multi_labels_are_split_by_their_rarest_label():
    examples = rows(
        *[("common", "rare") if i < 20 else ("common",) for i in range(200)]
    )
    _, validation, test = stratified_split(examples, (0.1, 0.1), 42)
    for part in (validation, test):
        assert sum("rare" in e.label for e in part) == 2
        assert len(part) == 20


@hypothesis.given(
    st.lists(st.sampled_from("abcde"), min_size=20, max_size=80),
    st.integers(0, 2**32),
)
@hypothesis.settings(max_examples=60, deadline=None)
def test_every_row_is_in_exactly_one_part(labels, seed):
    examples = rows(*labels)
    parts = stratified_split(examples, (0.1, 0.1), seed)
    together = [example for part in parts for example in part]
    assert sorted(e.text for e in together) == sorted(e.text for e in examples)
    assert set(counts(parts[0])) == set(labels)
    assert all(abs(len(part) - len(labels) / 10) <= 1.5 for part in parts[1:])
