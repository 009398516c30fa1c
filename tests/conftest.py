"""What every test run needs before the first backend is imported."""

import os
import pathlib

import pytest

# TensorFlow reads this when it is imported. Errors still appear.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

_DATA_TESTS = pathlib.Path(__file__).parent / "pipelines" / "data"


def pytest_collection_modifyitems(items):
    """Readers know no backend, so their tests run once, not once a backend."""
    for item in items:
        if item.path.is_relative_to(_DATA_TESTS):
            item.add_marker(pytest.mark.backend_free)
