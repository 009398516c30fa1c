"""Data that were never in a file."""

import math

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from pipelines.data.examples import TaggedExample, TextExample
from pipelines.data.python_rows import FROM_PYTHON, read_python
from pipelines.data.readers import read_examples
from pipelines.data.sources import load_splits
from pipelines.data.stored import StoredExamples
from pipelines.data.tagged.reading import read_tagged
from pipelines.data.tagged.sources import load_tagged_splits
from pipelines.errors import InputError

ROWS = [{"text": f"t{i}", "label": "xy"[i % 2]} for i in range(20)]


def sizes(splits):
    return len(splits.train), len(splits.validation), len(splits.test)


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        tuple(ROWS),
        iter(ROWS),
        (row for row in ROWS),
        [(row["text"], row["label"]) for row in ROWS],
        [[row["text"], row["label"]] for row in ROWS],
        [TextExample(row["text"], label=row["label"]) for row in ROWS],
    ],
)
def test_iterables_of_rows(source):
    kind = type(source).__name__
    found = list(read_examples(source))
    assert [(e.text, e.label) for e in found] == [
        (row["text"], row["label"]) for row in ROWS
    ]
    assert found[1].where == f"a {kind}, row 2"


def test_columns_pairs_and_ids_are_found_as_in_files():
    rows = [
        {"premise": "p", "hypothesis": "h", "target": 1, "id": 3},
        {"premise": "q", "hypothesis": None, "target": 2},
    ]
    assert list(read_python(rows)) == [
        TextExample("p", "h", 1, "a list, row 1", 3),
        TextExample("q", None, 2, "a list, row 2"),
    ]
    (example,) = read_python([{"a": "x", "b": "y"}], text="b", label="a")
    assert (example.text, example.label) == ("y", "x")


def test_a_data_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "label": pd.array([1, None, 2], "Int64"),
            "text": ["NA", "null", ""],
            "id": [7, 8, 9],
        },
        index=["b", "b", "a"],
    )
    assert list(read_python(frame)) == [
        TextExample("NA", None, 1, "a DataFrame, row 1", 7),
        TextExample("null", None, None, "a DataFrame, row 2", 8),
        TextExample("", None, 2, "a DataFrame, row 3", 9),
    ]


def test_columns_of_a_data_frame_keep_their_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "text": pd.Categorical(["a", "b", "a"]),
            "label": [1.0, math.nan, 2.5],
        }
    )
    found = [e.label for e in read_python(frame)]
    assert found[0] == 1.0
    assert math.isnan(found[1])
    assert [e.text for e in read_python(frame)] == ["a", "b", "a"]
    for values in ([True, False], [np.int8(1), np.int8(2)], [["a"], ["b"]]):
        frame = pd.DataFrame({"text": ["a", "b"], "label": values})
        assert [e.label for e in read_python(frame)] == values


@pytest.mark.parametrize("missing", ["None", "nan", "NA", "NaT"])
def test_a_missing_text_names_the_row(missing):
    pd = pytest.importorskip("pandas")
    value = {"None": None, "nan": math.nan, "NA": pd.NA, "NaT": pd.NaT}[missing]
    texts = pd.Series(["a", value], dtype=object)
    frame = pd.DataFrame({"text": texts, "label": ["x", "y"]})
    with pytest.raises(InputError, match="a DataFrame, row 2: .*expected a te"):
        list(read_python(frame))


def test_two_columns_of_one_name_are_an_error():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([["a", "b"]], columns=["text", "text"])
    with pytest.raises(InputError, match="columns with different names"):
        list(read_python(frame))


def test_a_data_set_has_class_names():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        text=datasets.Value("string"),
        label=datasets.ClassLabel(names=["neg", "pos"]),
    )
    columns = {"text": ["a", "b", "c"], "label": [1, 0, -1]}
    data = datasets.Dataset.from_dict(columns, features=features)
    for each in (data, data.with_format("numpy"), data.to_iterable_dataset()):
        assert [e.label for e in read_python(each)] == ["pos", "neg", None]
    assert next(read_python(data.select([2]))).where == "a Dataset, row 1"


def test_a_dict_of_data_sets_has_its_splits():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list(ROWS)
    splits = load_splits(
        datasets.DatasetDict(train=data, validation=data, extra=data)
    )
    assert sizes(splits) == (20, 20, 0)
    assert "not used: extra" in splits.note


def test_one_source_of_each_split():
    splits = load_splits(train=ROWS, validation=iter(ROWS[:4]), test=ROWS[:2])
    assert sizes(splits) == (20, 4, 2)
    assert splits.train[0].where == "a list, row 1"


def test_an_undivided_source_is_split():
    pd = pytest.importorskip("pandas")
    for source in (ROWS, iter(ROWS), pd.DataFrame(ROWS)):
        assert sizes(load_splits(source)) == (16, 2, 2)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], r"train \(a list\): expected rows with a label, found none"),
        (["a text"], "row 1: expected a dict or a .text, label. pair, found s"),
        ([("a", "b", "c")], "row 1: expected a dict or a"),
        (3, "a int: expected a DataFrame, a Dataset, or an iterable"),
        ({"text": ["a"], "label": ["b"]}, "a dict: expected training data"),
        ({"train": {"text": ["a"]}}, "a dict: expected a DataFrame"),
        ([{"text": 3, "label": "x"}], "row 1: .*expected a text"),
        ([{"words": "a", "label": "x"}], "row 1: expected a column of texts"),
        ([("a", "x"), ("b", None)], "a list, row 2: no label"),
        (f"{FROM_PYTHON}a DataFrame", "were given in Python and are not saved"),
    ],
)
def test_wrong_objects_are_named(source, message):
    with pytest.raises(InputError, match=message):
        load_splits(source)


SENTENCES = [
    {"tokens": ["a", "b"], "tags": ["O", "B-X"]},
    {"tokens": [], "tags": []},
]
EXPECTED = [(("a", "b"), ("O", "B-X")), ((), ())]


def pairs_of(examples):
    return [(e.tokens, e.tags) for e in examples]


@pytest.mark.parametrize(
    "source",
    [
        SENTENCES,
        iter(SENTENCES),
        [tuple(row.values()) for row in SENTENCES],
        [TaggedExample(*map(tuple, row.values())) for row in SENTENCES],
        [{"words": r["tokens"], "ner_tags": r["tags"]} for r in SENTENCES],
        [
            {k: np.array(v, dtype=object) for k, v in row.items()}
            for row in SENTENCES
        ],
    ],
)  # fmt: skip
def test_sentences_from_python(source):
    found = list(read_tagged(source))
    assert pairs_of(found) == EXPECTED
    assert [e.document for e in found] == [0, 1]
    assert found[0].where.endswith(", row 1")


def test_sentences_of_a_data_frame_and_a_data_set():
    pd = pytest.importorskip("pandas")
    datasets = pytest.importorskip("datasets")
    assert pairs_of(read_tagged(pd.DataFrame(SENTENCES))) == EXPECTED
    features = datasets.Features(
        tokens=datasets.List(datasets.Value("string")),
        ner_tags=datasets.List(datasets.ClassLabel(names=["O", "B-X"])),
    )
    rows = [
        {"tokens": r["tokens"], "ner_tags": [t != "O" for t in r["tags"]]}
        for r in SENTENCES
    ]
    data = datasets.Dataset.from_list(rows, features=features)
    assert pairs_of(read_tagged(data)) == EXPECTED
    splits = load_tagged_splits(
        datasets.DatasetDict(train=data, validation=data, test=data)
    )
    assert sizes(splits) == (2, 2, 2)


def test_spans_from_python():
    rows = [{"text": "call Ines", "spans": [(5, 9, "PER")]}]
    assert pairs_of(read_tagged(rows)) == [(("call", "Ines"), ("O", "B-PER"))]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "a list: expected sentences, found none"),
        ([{"text": "a"}], "a list: expected the fields 'tokens' and 'tags'"),
        ([(["a"], ["O", "O"])], "row 1: expected one tag a word, found 1"),
        ([(["a"], ["O"]), "b"], "row 2: expected a dict or a .tokens, tags."),
        ({"test": SENTENCES}, "a dict: expected training data, found only te"),
        (f"{FROM_PYTHON}a list", "were given in Python"),
    ],
)
def test_wrong_sentences_are_named(source, message):
    with pytest.raises(InputError, match=message):
        list(load_tagged_splits(source).train)


@hypothesis.given(
    st.lists(
        st.tuples(
            st.text(max_size=8), st.one_of(st.text(max_size=3), st.integers())
        ),
        max_size=5,
    )
)
@hypothesis.settings(max_examples=40, deadline=None)
def test_a_data_frame_is_read_as_it_was(pairs):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(pairs, columns=["text", "label"], dtype=object)
    assert [(e.text, e.label) for e in read_python(frame)] == pairs


def test_examples_made_by_hand_become_plain():
    made = [
        TaggedExample(
            np.array(["a", "b"]),
            [np.str_("O"), "B-X"],
            np.str_("row 2"),
            np.int64(3),
            np.str_("a b"),
            [(np.int64(0), 1), (2, 3)],
            np.int64(7),
        ),
        TaggedExample(("c",), ("O",), document=4, id={"no": "id"}),
    ]
    splits = load_tagged_splits({"train": made, "validation": made})
    assert splits.train == [
        TaggedExample(
            ("a", "b"), ("O", "B-X"), "row 2", 3, "a b", ((0, 1), (2, 3)), 7
        ),
        TaggedExample(("c",), ("O",), "a list, row 2", 4),
    ]
    text = TextExample(np.str_("a"), label=np.str_("x"), id=np.int64(7))
    (found,) = StoredExamples(read_examples([text]))
    assert found == TextExample("a", None, "x", "a list, row 1", 7)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (TaggedExample(("a", "b"), ("O",)), "row 2: expected one tag a word"),
        (TaggedExample(("a",), None), "row 2: expected a tuple .* as tags"),
        (TaggedExample("ab", ("O", "O")), "row 2: expected .* as tokens"),
        (TaggedExample((None,), ("O",)), "row 2: expected .* as tokens"),
        (TaggedExample(("a",), ("O",), document="d"), "row 2: .*a document"),
        ({"tokens": ["a"], "tags": ["O"]}, "row 2: expected rows of one kind"),
    ],
)
def test_a_wrong_example_is_named(second, message):
    first = TaggedExample(("a",), ("O",))
    with pytest.raises(InputError, match=message):
        load_tagged_splits([first, second])
    with pytest.raises(InputError, match="one kind"):
        load_tagged_splits([{"tokens": ["a"], "tags": ["O"]}, first])


def test_a_text_that_is_none_is_named():
    with pytest.raises(InputError, match="row 1: expected a string as text"):
        list(read_examples([TextExample(None, label="x")]))
