import json

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.examples import TextExample
from pipelines.data.hf_disk import hf_splits, read_hf_disk, read_hf_rows
from pipelines.data.sources import load_splits
from pipelines.errors import InputError

pa = pytest.importorskip("pyarrow")

LABEL = {"names": ["neg", "pos"], "_type": "ClassLabel"}
FEATURES = {"text": {"dtype": "string", "_type": "Value"}, "label": LABEL}


def save(folder, columns, features=FEATURES, shards=1):
    """Writes what Dataset.save_to_disk writes."""
    folder.mkdir(parents=True)
    table = pa.table(columns)
    names = [f"data-{i:05}-of-{shards:05}.arrow" for i in range(shards)]
    for i, name in enumerate(names):
        with pa.OSFile(str(folder / name), "wb") as file:
            with pa.ipc.new_stream(file, table.schema) as writer:
                size = -(-table.num_rows // shards)
                writer.write_table(table.slice(i * size, size))
    state = {"_data_files": [{"filename": name} for name in names]}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(
        json.dumps({"features": features})
    )
    return folder


def save_dict(folder, **splits):
    for name, columns in splits.items():
        save(folder / name, columns)
    listed = json.dumps({"splits": list(splits)})
    (folder / "dataset_dict.json").write_text(listed)
    return folder


def table(count):
    return {
        "text": [f"t{i}" for i in range(count)],
        "label": [i % 2 for i in range(count)],
    }


def test_a_dataset_has_its_rows_and_class_names(tmp_path):
    path = save(tmp_path / "d", table(2))
    assert list(read_hf_disk(path)) == [
        TextExample("t0", None, "neg", f"{path}, row 1"),
        TextExample("t1", None, "pos", f"{path}, row 2"),
    ]


def test_shards_follow_each_other(tmp_path):
    path = save(tmp_path / "d", table(7), shards=3)
    assert [e.text for e in read_hf_disk(path)] == [f"t{i}" for i in range(7)]
    assert list(read_hf_disk(path))[-1].where == f"{path}, row 7"


def test_a_dict_tells_its_splits(tmp_path):
    path = save_dict(tmp_path / "d", train=table(7), test=table(3))
    splits = hf_splits(path)
    assert list(splits) == ["train", "test"]
    counts = {name: len(list(read_hf_disk(f))) for name, f in splits.items()}
    assert counts == {"train": 7, "test": 3}


def test_a_dict_is_not_read_as_one_dataset(tmp_path):
    path = save_dict(tmp_path / "d", train=table(7), test=table(3))
    with pytest.raises(InputError, match="holds the splits train, test"):
        list(read_hf_disk(path))


def test_a_single_dataset_has_no_splits(tmp_path):
    assert hf_splits(save(tmp_path / "d", table(2))) == {}


def test_the_class_minus_one_is_no_label(tmp_path):
    path = save(tmp_path / "d", {"text": ["a", "b"], "label": [-1, None]})
    assert [e.label for e in read_hf_disk(path)] == [None, None]


@pytest.mark.parametrize("bad", [2, -2])
def test_a_class_without_name_is_an_error(tmp_path, bad):
    path = save(tmp_path / "d", {"text": ["a"], "label": [bad]})
    with pytest.raises(
        InputError, match="row 1: expected a class id from 0 to 1"
    ):
        list(read_hf_disk(path))


def test_labels_without_class_names_are_passed_on(tmp_path):
    path = save(tmp_path / "d", {"text": ["a"], "label": [7]}, features={})
    assert next(read_hf_disk(path)).label == 7


@pytest.mark.parametrize(
    "feature",
    [
        {"_type": "List", "feature": LABEL},
        {"_type": "Sequence", "feature": LABEL, "length": -1},
        [LABEL],
    ],
)
def test_lists_of_classes_have_names_in_every_spelling(tmp_path, feature):
    columns = {"tokens": [["a", "b"]], "tags": [[1, 0]]}
    path = save(tmp_path / "d", columns, features={"tags": feature})
    ((_, row),) = read_hf_rows(path)
    assert row == {"tokens": ["a", "b"], "tags": ["pos", "neg"]}


def test_what_datasets_writes_is_read(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        text=datasets.Value("string"),
        label=datasets.ClassLabel(names=["n", "p"]),
    )
    data = datasets.Dataset.from_dict(table(30), features=features)
    data.select(range(20, 30)).save_to_disk(str(tmp_path / "d"), num_shards=2)
    found = [(e.text, e.label) for e in read_hf_disk(tmp_path / "d")]
    assert found == [(f"t{i}", "np"[i % 2]) for i in range(20, 30)]


@pytest.mark.parametrize(
    "file, content, message",
    [
        ("state.json", None, "state.json is missing"),
        ("state.json", "{", "state.json: cannot be read"),
        ("state.json", "[]", "expected a JSON object"),
        ("state.json", "{}", 'expected a list "_data_files"'),
        ("state.json", '{"_data_files": [3]}', 'expected a list "_data_files"'),
        ("state.json", '{"_data_files": []}', "is missing"),
        ("state.json", '{"_data_files": [{"filename": "x"}]}', "file x that"),
        ("state.json", '{"_indices_data_files": [1]}', "flatten_indices"),
        ("dataset_info.json", "\xff", "dataset_info.json: cannot be read"),
        ("data-00000-of-00001.arrow", None, "data-00000-of-00001.arrow that"),
        ("data-00000-of-00001.arrow", "", "expected an Arrow file"),
        ("data-00000-of-00001.arrow", "junk" * 99, "expected an Arrow file"),
        (
            "data-00000-of-00001.arrow",
            "version https://git-lfs",
            "an Arrow file",
        ),
    ],
)
def test_damaged_folders_are_named(tmp_path, file, content, message):
    path = save(tmp_path / "d", table(2))
    if content is None:
        (path / file).unlink()
    else:
        (path / file).write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=message):
        list(read_hf_disk(path))


def test_offsets_out_of_the_file_do_not_end_the_process(tmp_path):
    path = save(tmp_path / "d", {"text": ["a" * 100] * 9, "label": [0] * 9})
    file = path / "data-00000-of-00001.arrow"
    ends = b"".join(n.to_bytes(4, "little") for n in (100, 200, 300))
    wrong = b"".join(n.to_bytes(4, "little") for n in (100, 2**30, 2**31 - 1))
    content = file.read_bytes()
    assert content.count(ends) == 1
    file.write_bytes(content.replace(ends, wrong))
    with pytest.raises(InputError, match="expected an Arrow file"):
        list(read_hf_disk(path))


def test_a_missing_split_folder_is_named(tmp_path):
    path = save_dict(tmp_path / "d", train=table(2))
    (path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(InputError, match='split "test" is listed'):
        hf_splits(path)


def test_a_dict_without_list_of_splits_is_an_error(tmp_path):
    (tmp_path / "dataset_dict.json").write_text("{}")
    with pytest.raises(InputError, match='expected a list "splits"'):
        hf_splits(tmp_path)


def test_load_splits_takes_the_splits_of_a_dict(tmp_path):
    path = save_dict(tmp_path / "d", train=table(20), test=table(3))
    splits = load_splits(str(path))
    sizes = len(splits.train), len(splits.validation), len(splits.test)
    assert sizes == (18, 2, 3)
    assert {e.label for e in splits.test} == {"neg", "pos"}


@hypothesis.given(
    file=st.sampled_from(
        ["state.json", "dataset_info.json", "data-00000-of-00001.arrow"]
    ),
    keep=st.integers(0, 900),
    place=st.integers(0, 900),
    byte=st.integers(0, 255),
)
@hypothesis.settings(max_examples=60, deadline=None)
def test_fuzzed_folders_are_read_or_named(
    tmp_path_factory, file, keep, place, byte
):
    path = save(tmp_path_factory.mktemp("fuzz") / "d", table(3))
    raw = bytearray((path / file).read_bytes()[:keep])
    if raw:
        raw[place % len(raw)] = byte
    (path / file).write_bytes(raw)
    try:
        list(read_hf_disk(path, labelled=False))
    except InputError as error:
        assert path.name in str(error)
