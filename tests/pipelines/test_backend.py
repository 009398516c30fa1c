"""Which backend runs, decided before Keras is imported."""

import importlib.util
import json
import os
import platform
import subprocess
import sys

import pytest

from pipelines import backend
from pipelines.backend import choose_backend, quiet_stderr
from pipelines.errors import InputError

pytestmark = pytest.mark.backend_free


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine without settings; say which backends it has."""
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    find = importlib.util.find_spec

    def install(*names):
        def find_some(name, *more):
            if name in backend.BACKENDS.values():
                return name in names or None
            return find(name, *more)

        monkeypatch.setattr(importlib.util, "find_spec", find_some)

    yield install
    # `choose_backend` sets it outside of monkeypatch's sight.
    os.environ.pop("KERAS_BACKEND", None)


def settings(tmp_path, **content):
    (tmp_path / "keras.json").write_text(json.dumps(content))


def test_the_variable_wins(machine, monkeypatch, tmp_path):
    machine("tensorflow", "jax", "torch")
    settings(tmp_path, backend="jax")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    assert choose_backend() == "torch"


def test_then_the_settings_of_keras(machine, tmp_path):
    machine("tensorflow", "jax", "torch")
    settings(tmp_path, backend="jax")
    assert choose_backend() == "jax"
    assert os.environ["KERAS_BACKEND"] == "jax"


def test_then_what_is_installed(machine):
    machine("torch")
    assert choose_backend() == "torch"


@pytest.mark.parametrize("name", ["tensorflow", "openvino", None, 3])
def test_settings_of_what_is_not_there_are_passed_over(machine, tmp_path, name):
    """Keras writes "tensorflow" there by itself, whatever is installed."""
    machine("jax")
    settings(tmp_path, backend=name)
    assert choose_backend() == "jax"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"floatx": "float32"}'])
def test_broken_settings_are_passed_over(machine, tmp_path, text):
    machine("jax")
    (tmp_path / "keras.json").write_text(text)
    assert choose_backend() == "jax"


def test_an_unknown_backend_is_named(machine, monkeypatch):
    machine("jax")
    monkeypatch.setenv("KERAS_BACKEND", "theano")
    with pytest.raises(InputError, match="KERAS_BACKEND: .*'theano'"):
        choose_backend()


def test_a_backend_that_is_not_installed_comes_with_the_command(
    machine, monkeypatch
):
    machine("jax")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    with pytest.raises(InputError, match=r"pip install .*\[torch\]"):
        choose_backend()


def test_no_backend_at_all_comes_with_the_command(machine):
    machine()
    with pytest.raises(InputError, match="pip install"):
        choose_backend()


def test_what_is_printed_below_python_is_dropped_for_a_while(capfd):
    with quiet_stderr():
        os.write(2, b"noise")
    print("message", file=sys.stderr)
    assert capfd.readouterr().err == "message\n"


def test_stderr_comes_back_after_an_error(capfd):
    with pytest.raises(KeyboardInterrupt):
        with quiet_stderr():
            raise KeyboardInterrupt
    print("message", file=sys.stderr)
    assert capfd.readouterr().err == "message\n"


ALLOCATE = """
import resource
from pipelines.backend import keep_freed_memory

{}
for _ in range(20):
    bytearray(64 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc can be told to"
)
def test_freed_memory_is_used_again():
    """Else each of the 20 blocks has 16,384 pages that are filled anew."""
    faults = []
    for call in ("", "keep_freed_memory()"):
        done = subprocess.run(
            [sys.executable, "-c", ALLOCATE.format(call)],
            capture_output=True,
            check=True,
            text=True,
        )
        faults.append(int(done.stdout))
    assert faults[1] < faults[0] / 4
