import pytest

from pipelines.errors import InputError

pytestmark = pytest.mark.filterwarnings("default")
pytest.importorskip("tensorflow")
tfds = pytest.importorskip("tensorflow_datasets")

from pipelines.data.tagged.sources import load_tagged_splits  # noqa: E402
from pipelines.data.tagged.tfds import read_tfds_tagged  # noqa: E402


class TinyTagged(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        names = ["O", "B-PER", "I-PER"]
        return tfds.core.DatasetInfo(
            builder=self,
            features=tfds.features.FeaturesDict(
                {
                    "tokens": tfds.features.Sequence(tfds.features.Text()),
                    "ner": tfds.features.Sequence(
                        tfds.features.ClassLabel(names=names)
                    ),
                    "pos": tfds.features.Sequence(tfds.features.Text()),
                }
            ),
        )

    def _split_generators(self, dl_manager):
        return {"train": self._rows(12), "dev": self._rows(3)}

    def _rows(self, count):
        for i in range(count):
            yield (
                i,
                {
                    "tokens": ["Zoë", str(i)],
                    "ner": ["B-PER", "O"],
                    "pos": ["N", "C"],
                },
            )

    def _generate_examples(self):
        raise NotImplementedError


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("tfds"))
    TinyTagged(data_dir=folder).download_and_prepare()
    return folder


def test_features_are_detected_and_classes_named(data_dir):
    examples = list(read_tfds_tagged("tfds:tiny_tagged@dev", data_dir=data_dir))
    assert len(examples) == 3
    assert examples[0].tokens[0] == "Zoë"
    assert examples[0].tags == ("B-PER", "O")
    assert examples[0].where == "tfds:tiny_tagged@dev, row 1"


def test_features_can_be_named(data_dir):
    examples = read_tfds_tagged(
        "tfds:tiny_tagged@train[:2]", tags="pos", data_dir=data_dir
    )
    assert [e.tags for e in examples] == [("N", "C")] * 2


def test_unknown_feature(data_dir):
    with pytest.raises(InputError, match="expected a feature x for the tags"):
        next(read_tfds_tagged("tfds:tiny_tagged@dev", "tokens", "x", data_dir))


def test_splits(data_dir):
    splits = load_tagged_splits("tfds:tiny_tagged", data_dir=data_dir)
    sizes = [len(splits.train), len(splits.validation), len(splits.test)]
    assert sizes == [12, 3, 0]
