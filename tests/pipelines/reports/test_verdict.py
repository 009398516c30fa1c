"""The score that a run is judged by, against who learned nothing."""

import pytest
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from pipelines.reports.verdict import Verdict, verdict, wilson
from pipelines.tagging.schemes import PLAIN
from tests.pipelines.reports.runs import classified, pretrained, tagged

pytestmark = pytest.mark.backend_free


def judged(run):
    return verdict(run.metrics, run.settings)


@pytest.mark.parametrize(
    ("right", "count"), [(0, 9), (9, 9), (1, 2), (978, 1000)]
)
def test_the_interval_is_that_of_scipy(right, count):
    expected = binomtest(right, count).proportion_ci(0.95, method="wilson")
    assert wilson(right / count, count) == pytest.approx(
        (expected.low, expected.high), abs=1e-4
    )


def test_nothing_known_is_nothing_said():
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_a_classifier_must_beat_the_baseline_by_more_than_chance():
    run = classified()
    found = judged(run)
    assert (found.part, found.metric) == ("test", "accuracy")
    assert found.baseline == pytest.approx(1 / 3)
    run.metrics["test"]["accuracy"] = 5 / 9
    assert not judged(run).is_better  # 9 texts say little
    run.metrics["rows"]["test"] = 900
    assert judged(run).is_better


def test_the_baseline_of_several_labels_names_the_most_frequent_one():
    run = classified(problem="multi_label")
    labels = run.metrics["labels"]
    gold = [labels[i % 3] for i in range(9)]
    sets = [{name} for name in gold[:-2]] + [set(), set(labels)]
    truth = [[name in names for name in labels] for names in sets]
    best = max(range(3), key=lambda i: sum(row[i] for row in truth))
    always = [[i == best for i in range(3)] for _ in truth]
    expected = f1_score(truth, always, average="micro", zero_division=0)
    assert judged(run).baseline == pytest.approx(expected)


def test_each_task_has_its_score():
    assert judged(classified(problem="regression")).metric == "r2"
    assert judged(tagged()).metric == "f1"
    plain = judged(tagged(types=("noun",), scheme=PLAIN))
    assert (plain.metric, plain.baseline) == ("accuracy", 0.75)


def test_of_losses_the_lower_is_better():
    assert judged(pretrained()).is_better
    worse = Verdict(
        "test", "loss", "loss", 3.3, 3.25, "tokens", lower_is_better=True
    )
    assert not worse.is_better
