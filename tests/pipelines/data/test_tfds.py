import builtins

import pytest

from pipelines.data.examples import TextExample
from pipelines.data.sources import load_splits
from pipelines.data.tfds import read_tfds, tfds_splits
from pipelines.errors import InputError

# TensorFlow and its data sets warn of their own future.
pytestmark = pytest.mark.filterwarnings("default")

tfds = pytest.importorskip("tensorflow_datasets")
pytest.importorskip("tensorflow")


def prepare(name, folder, features, splits, supervised_keys=None):
    """Prepares a data set whose code nobody has, as a colleague's would be."""
    tfds.disable_progress_bar()

    def info(self):
        return tfds.core.DatasetInfo(
            builder=self,
            features=tfds.features.FeaturesDict(features),
            supervised_keys=supervised_keys,
            disable_shuffling=True,
        )

    with tfds.core.registered.skip_registration():
        builder = type(
            name,
            (tfds.core.GeneratorBasedBuilder,),
            {
                "VERSION": tfds.core.Version("1.0.0"),
                "__module__": "somewhere",
                "_info": info,
                "_split_generators": lambda self, _: {
                    split: enumerate(rows) for split, rows in splits.items()
                },
                "_generate_examples": None,
            },
        )
        builder(data_dir=str(folder)).download_and_prepare()


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tfds")
    text = tfds.features.Text()
    mood = tfds.features.ClassLabel(names=["neg", "pos"])
    rows = [{"sentence": f"té {i}", "label": i % 2} for i in range(20)]
    hidden = [{"sentence": "h", "label": -1}] * 3
    prepare(
        "Moods",
        folder,
        {"sentence": text, "label": mood},
        {"train": rows, "test": hidden, "extra": rows},
    )
    prepare(
        "News",
        folder,
        {"title": text, "description": text, "topic": mood},
        {"train": [{"title": "t", "description": "d", "topic": 1}]},
        supervised_keys=("description", "topic"),
    )
    return str(folder)


def test_examples_come_in_order_with_class_names(data_dir):
    examples = list(read_tfds("tfds:moods@train", data_dir=data_dir))
    assert examples[1] == TextExample(
        "té 1", None, "pos", "tfds:moods@train, row 2"
    )
    assert [e.text for e in examples] == [f"té {i}" for i in range(20)]


@pytest.mark.parametrize(
    "split, count", [("train[:25%]", 5), ("train[-3:]", 3), ("train+test", 23)]
)
def test_slices_are_honoured(data_dir, split, count):
    found = read_tfds(f"tfds:moods:1.0.0@{split}", data_dir=data_dir)
    assert len(list(found)) == count


def test_the_class_minus_one_is_no_label(data_dir):
    found = read_tfds("tfds:moods@test", data_dir=data_dir)
    assert [e.label for e in found] == [None] * 3


def test_the_splits_are_listed(data_dir):
    assert sorted(tfds_splits("tfds:moods", data_dir)) == [
        "extra",
        "test",
        "train",
    ]


def test_the_authors_input_is_the_text(data_dir):
    found = read_tfds("tfds:news@train", label="topic", data_dir=data_dir)
    assert [(e.text, e.label) for e in found] == [("d", "pos")]


def test_given_features_win(data_dir):
    found = read_tfds("tfds:news@train", "title", None, "topic", True, data_dir)
    assert [(e.text, e.label) for e in found] == [("t", "pos")]


def test_load_splits_takes_the_splits_of_the_data_set(data_dir):
    splits = load_splits("tfds:moods", data_dir=data_dir)
    assert len(splits.train) == 18
    assert splits.note == [
        "not used: tfds:moods@extra",
        "test: 3 rows without a label left out",
        "validation: 2 rows split off train (seed 42)",
    ]


def test_one_split_is_one_undivided_data_set(data_dir):
    splits = load_splits("tfds:moods@extra", data_dir=data_dir)
    assert (len(splits.train), len(splits.test)) == (16, 2)


@pytest.mark.parametrize(
    "spec, message",
    [
        ("tfds:", r"expected tfds:NAME\[/CONFIG\]"),
        ("tfds:moods", "expected a split, such as tfds:moods@train; found the"),
        ("tfds:moods@nope", "Unknown split"),
        ("tfds:moods@train[:x]", "tfds:moods@train"),
        ("tfds:moods/large@train", "cannot read it"),
        ("tfds:moods:2.0.0@train", "cannot read it"),
        ("tfds:no_such_set@train", "Dataset no_such_set not found"),
        ("tfds:../moods@train", "cannot read it"),
    ],
)
def test_wrong_specs_are_named(data_dir, spec, message):
    with pytest.raises(InputError, match=message):
        list(read_tfds(spec, data_dir=data_dir))


def test_missing_features_list_what_was_found(data_dir):
    with pytest.raises(InputError, match='no column "mood".*"sentence"'):
        list(read_tfds("tfds:moods@train", label="mood", data_dir=data_dir))


def test_a_missing_library_gives_the_command(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("tensorflow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r'pip install "keras-encoder\[tfds'):
        list(read_tfds("tfds:moods@train"))
