import json

import pytest

from pipelines.data.tagged.reading import read_tagged
from pipelines.data.tagged.sources import load_tagged_splits
from pipelines.errors import InputError

pyarrow = pytest.importorskip("pyarrow")


def save(folder, rows, names):
    """Writes what `Dataset.save_to_disk` writes."""
    folder.mkdir(parents=True)
    table = pyarrow.Table.from_pylist(rows)
    with pyarrow.ipc.new_stream(folder / "data.arrow", table.schema) as writer:
        writer.write_table(table)
    state = {"_data_files": [{"filename": "data.arrow"}]}
    (folder / "state.json").write_text(json.dumps(state))
    feature = {"_type": "Value", "dtype": "string"}
    if names:
        feature = {"_type": "ClassLabel", "names": names}
    features = {"ner_tags": {"_type": "List", "feature": feature}}
    info = {"features": features}
    (folder / "dataset_info.json").write_text(json.dumps(info))


def test_class_ids_come_out_as_names(tmp_path):
    rows = [{"tokens": ["a", "b"], "ner_tags": [1, 0]}]
    save(tmp_path / "d", rows, ["O", "B-X"])
    (example,) = read_tagged(tmp_path / "d")
    assert (example.tokens, example.tags) == (("a", "b"), ("B-X", "O"))


def test_tags_as_strings(tmp_path):
    rows = [{"tokens": ["a"], "ner_tags": ["B-X"]}]
    save(tmp_path / "d", rows, None)
    assert next(read_tagged(tmp_path / "d")).tags == ("B-X",)


def test_splits_of_a_dict(tmp_path):
    rows = [{"tokens": ["a"], "ner_tags": [0]}]
    for name, count in (("train", 12), ("validation", 3), ("test", 2)):
        save(tmp_path / "d" / name, rows * count, ["O"])
    content = {"splits": ["train", "validation", "test"]}
    (tmp_path / "d" / "dataset_dict.json").write_text(json.dumps(content))
    splits = load_tagged_splits(str(tmp_path / "d"))
    sizes = [len(splits.train), len(splits.validation), len(splits.test)]
    assert sizes == [12, 3, 2]


def test_unlabelled_words_are_an_error(tmp_path):
    rows = [{"tokens": ["a"], "ner_tags": [-1]}]
    save(tmp_path / "d", rows, ["O", "B-X"])
    with pytest.raises(InputError, match="row 1: expected a string in 'ner_t"):
        list(read_tagged(tmp_path / "d"))


def test_another_folder(tmp_path):
    with pytest.raises(InputError, match="that save_to_disk wrote"):
        read_tagged(tmp_path)
