"""Which backend runs, chosen and silenced before Keras is imported."""

import contextlib
import ctypes
import importlib.util
import json
import logging
import os
import pathlib
import warnings

from pipelines.errors import InputError

# Name for KERAS_BACKEND -> package that it imports.
BACKENDS = {"tensorflow": "tensorflow", "jax": "jax", "torch": "torch"}


def choose_backend() -> str:
    """Sets `KERAS_BACKEND` and returns it.

    The variable wins, then Keras' own settings file if it names a backend
    that is installed (Keras writes TensorFlow there, whatever is), then the
    first one that is.

    Raises:
        InputError: if the backend is unknown or not installed.
    """
    name = os.environ.get("KERAS_BACKEND")
    if not name:
        names = (_from_keras_settings(), *BACKENDS)
        known = (name for name in names if name in BACKENDS)
        name = next((name for name in known if _is_installed(name)), None)
        if name is None:
            raise InputError(
                "No backend is installed. Install one: "
                'pip install "keras-encoder[tensorflow]" (or jax, or torch).'
            )
    if name not in BACKENDS:
        raise InputError(
            f"KERAS_BACKEND: expected {', '.join(BACKENDS)}; found {name!r}."
        )
    if not _is_installed(name):
        raise InputError(
            f"KERAS_BACKEND={name}, but {name} is not installed: "
            f'pip install "keras-encoder[{name}]".'
        )
    os.environ["KERAS_BACKEND"] = name
    return name


def import_keras() -> str:
    """Imports Keras and its backend without their start-up messages.

    Returns:
        A line that names the backend, its version and its device.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with quiet_stderr():
        import keras

        name = keras.backend.backend()
        if name == "tensorflow":
            # Its advice on retracing is for who writes the training loop.
            logging.getLogger("tensorflow").setLevel(logging.ERROR)
        version = _version(name)
        device = _device(keras)
    return f"Backend: {name} {version} on {device} (Keras {keras.__version__})"


# Of <malloc.h>, with the value that each gets.
_MALLOC_OPTIONS = {
    -8: 1,  # M_ARENA_MAX: one heap for all threads
    -4: 0,  # M_MMAP_MAX: large blocks come from that heap, too
    -1: 2**31 - 1,  # M_TRIM_THRESHOLD: what is freed stays in the process
}


def keep_freed_memory() -> None:
    """Lets the C library give freed memory to the next step, not back.

    A training step allocates and frees gigabytes. Linux fills every page with
    zeros that a process gets anew, which is up to a third of the time of a
    step on two cores. Must run before the backend starts its threads; does
    nothing where the C library is not glibc.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for option, value in _MALLOC_OPTIONS.items():
        mallopt(option, value)


@contextlib.contextmanager
def quiet_stderr():
    """Drops what C++ code prints on stderr, unless an exception is raised.

    TensorFlow's first messages (which CPU instructions, no CUDA) come before
    any setting of its log level is read.
    """
    saved = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _device(keras):
    """Where tensors are put, such as `cpu:0`."""
    if keras.backend.backend() == "torch":  # Keras has no list of these
        return str(keras.ops.zeros(()).device)
    return next(iter(keras.distribution.list_devices()), "cpu:0")


def _is_installed(name):
    return importlib.util.find_spec(BACKENDS[name]) is not None


def _version(name):
    return importlib.import_module(BACKENDS[name]).__version__


def _from_keras_settings():
    home = os.environ.get("KERAS_HOME") or pathlib.Path.home() / ".keras"
    try:
        text = (pathlib.Path(home) / "keras.json").read_text("utf-8")
        return json.loads(text).get("backend")
    except (OSError, ValueError, AttributeError):
        return None
