"""`keras-encoder COMMAND`: options from the command line or a YAML file."""

import _thread
import argparse
import contextlib
import dataclasses
import importlib
import pathlib
import signal
import sys
import threading
import time

from pipelines import options as recipe_options
from pipelines.arguments import (
    Parser,
    add_options,
    convert_text,
    flag,
    read_config_file,
)
from pipelines.data.examples import PARTS
from pipelines.data.layouts import split_of
from pipelines.errors import InputError, RunFailed
from pipelines.options.fields import check_sources

# Command -> (module with a function of that name, its options). The module
# is imported when the command runs: it brings the backend.
COMMANDS = {
    "classify": ("pipelines.classify", recipe_options.ClassifyOptions),
    "tag": ("pipelines.tag", recipe_options.TagOptions),
    "pretrain": ("pipelines.pretrain", recipe_options.PretrainOptions),
    "data": ("pipelines.data_check", recipe_options.DataOptions),
    "evaluate": ("pipelines.evaluate", recipe_options.EvaluateOptions),
    "predict": ("pipelines.predict", recipe_options.PredictOptions),
    "benchmark": ("pipelines.benchmark", recipe_options.BenchmarkOptions),
    "verify": ("pipelines.verify", recipe_options.VerifyOptions),
    "info": ("pipelines.info", recipe_options.InfoOptions),
}
DONE, FAILED, WRONG_INPUT, STOPPED = 0, 1, 2, 130


def main(argv: list[str] | None = None) -> int:
    """Runs a command.

    Returns:
        The exit code: 0 done, 1 the run failed, 2 the input or an option is
        wrong, 130 stopped by Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        # Whatever the system's code page is.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    with _noting_ctrl_c() as stops:
        try:
            run(*parse(sys.argv[1:] if argv is None else argv))
        except BrokenPipeError:  # `| head` has read enough
            sys.stderr.close()
            return FAILED
        except (Exception, KeyboardInterrupt) as error:
            return _exit_code(error, bool(stops))
    return DONE


def parse(argv: list[str]) -> tuple[str, object]:
    """Reads the command line; what stands there wins over `--config`.

    Raises:
        InputError: for an unknown option or key, with the nearest valid
            name, or a value of the wrong kind.
    """
    parsed = vars(_parser().parse_args(argv))
    command = parsed.pop("command")
    parsed.update(_by_split(parsed.pop("specs", [])))
    if command is None:
        raise InputError(
            f"expected a command: {', '.join(COMMANDS)} (see --help)"
        )
    _, options = COMMANDS[command]
    config = parsed.pop("config", None)
    given = read_config_file(config, options) if config else {}
    for field in dataclasses.fields(options):
        if field.name in parsed:
            value = parsed[field.name]
            is_text = isinstance(value, str)
            given[field.name] = convert_text(value, field) if is_text else value
        if field.default is dataclasses.MISSING and field.name not in given:
            raise InputError(
                f"{command}: expected {flag(field.name)} "
                f"({field.metadata['help']})"
            )
    return command, options(**given)


def _by_split(specs: list[str]) -> dict[str, str]:
    """Options for what `data` is given without one, by name or by order."""
    if not specs:
        return {}
    if len(specs) == 1:
        return {"data": specs[0]}
    if len(specs) > len(PARTS):
        raise InputError(
            f"data: expected at most {len(PARTS)} sources, training, "
            f"validation and test data; found {len(specs)}."
        )
    names = [split_of(pathlib.PurePath(spec).name) for spec in specs]
    if None in names or len(set(names)) < len(names):
        names = PARTS
    return dict(zip(names, specs, strict=False))


def run(command: str, options) -> None:
    """Imports the backend and the recipe, and runs it."""
    from pipelines.backend import (
        choose_backend,
        import_keras,
        keep_freed_memory,
    )
    from pipelines.console import say

    check_sources(options)
    choose_backend()
    keep_freed_memory()
    started = time.perf_counter()
    backend = import_keras()
    say(f"{backend}, started in {time.perf_counter() - started:.1f} s")
    module, _ = COMMANDS[command]
    getattr(importlib.import_module(module), command)(options)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="keras-encoder",
        description="Fine-tune BERT-style encoders in Keras 3. "
        "KERAS_BACKEND chooses tensorflow, jax or torch.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (_, options) in COMMANDS.items():
        text = options.__doc__.split(": ", 1)[1]
        sub = commands.add_parser(name, help=text.rstrip("."), description=text)
        sub.add_argument(
            "--config",
            metavar="FILE",
            default=argparse.SUPPRESS,
            help="YAML file of these options",
        )
        if name == "data":
            sub.add_argument(
                "specs",
                nargs="*",
                metavar="SPEC",
                help="as --data; or training, validation and test data",
            )
        add_options(sub, options)
    return parser


@contextlib.contextmanager
def _noting_ctrl_c():
    """Yields a list that Ctrl-C fills, since backends hide it at times.

    Inside TensorFlow's C++ code a `KeyboardInterrupt` becomes some other
    error; inside JAX's callback at garbage collection it is lost, so it is
    raised once more.
    """
    stops = []

    def stop(number, frame):
        stops.append(number)
        raise KeyboardInterrupt

    def stop_later(lost):
        if issubclass(lost.exc_type, KeyboardInterrupt):
            threading.Timer(0.1, _thread.interrupt_main).start()
        else:
            usual_hook(lost)

    usual = signal.default_int_handler
    if signal.getsignal(signal.SIGINT) is not usual or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield stops
        return
    usual_hook = sys.unraisablehook
    signal.signal(signal.SIGINT, stop)
    sys.unraisablehook = stop_later
    try:
        yield stops
    finally:
        signal.signal(signal.SIGINT, usual)
        sys.unraisablehook = usual_hook


def _exit_code(error: BaseException, was_stopped: bool) -> int:
    """Says what went wrong; raises what is a fault of ours."""
    if was_stopped or isinstance(error, KeyboardInterrupt):
        print("keras-encoder: stopped, nothing was written", file=sys.stderr)
        return STOPPED
    failed = isinstance(error, RunFailed)
    if not (failed or _is_of_the_user(error)):
        raise error
    print(f"keras-encoder: {error}", file=sys.stderr)
    return FAILED if failed else WRONG_INPUT


def _is_of_the_user(error: BaseException) -> bool:
    """Whether the message is for the user, not the sign of a fault of ours."""
    if isinstance(error, InputError):
        return True
    # Never imported means never raised; importing it here would bring Keras.
    module = sys.modules.get("keras_encoder.checkpoints.errors")
    return module is not None and isinstance(error, module.CheckpointError)


if __name__ == "__main__":
    sys.exit(main())
