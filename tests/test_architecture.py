"""Import rules: dependencies never point upward, backends stay optional.

The rules are read from the source, not from what happens to be loaded, so a
lazy import that no other test reaches is found too.
"""

import ast
import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.backend_free

ROOT = pathlib.Path(__file__).parents[1]
STANDARD = frozenset(sys.stdlib_module_names)
LIBRARY = frozenset(
    {"keras_encoder", "keras", "numpy", "tokenizers", "safetensors", "h5py"}
)
BACKENDS = frozenset({"tensorflow", "jax", "jaxlib", "torch"})
# Heavy, or not installed for everybody: `--help` and the data checks must
# answer without them.
HEAVY = BACKENDS | {
    "datasets",
    "keras",
    "keras_hub",
    "keras_nlp",
    "matplotlib",
    "pandas",
    "pyarrow",
    "seqeval",
    "sklearn",
    "tensorflow_datasets",
    "transformers",
}


class Import(NamedTuple):
    """One import: what, on which line, and whether it waits for a call."""

    module: str
    names: tuple[str, ...]
    line: int
    lazy: bool

    @property
    def top(self) -> str:
        """The package that the module belongs to."""
        return self.module.split(".")[0]


def test_library_imports_only_what_it_may():
    wrong = []
    for path in sources("keras_encoder"):
        for found in imports_of(path):
            if found.top not in allowed(path, found.lazy):
                wrong.append(f"{where(path, found)} imports {found.module}")
    assert not wrong, (
        "keras_encoder runs with any one backend installed, so it imports "
        "keras, numpy, tokenizers, safetensors and the standard library. "
        "Use keras.ops for a backend; import huggingface_hub inside the "
        "function that needs it, and tensorflow or keras_hub inside a "
        "function of keras_encoder/checkpoints; what is faster in TensorFlow's "
        "own terms into tensorflow_kernels.py; what needs more belongs into "
        "pipelines:\n" + "\n".join(wrong)
    )


def test_what_only_tensorflow_can_import_is_imported_under_a_condition():
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources("keras_encoder")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "tensorflow_kernels" in ast.unparse(node)
    ]
    assert not wrong, (
        "`keras_encoder.tensorflow_kernels` imports TensorFlow. Import it "
        'under `if keras.backend.backend() == "tensorflow":`:\n'
        + "\n".join(wrong)
    )


def test_pipelines_never_import_notebooks_or_tests():
    wrong = [
        f"{where(path, found)} imports {found.module}"
        for path in sources("pipelines")
        for found in imports_of(path)
        if found.top in {"notebooks", "tests"}
    ]
    assert not wrong, (
        "Notebooks and tests use the pipelines, never the other way round. "
        "Move the shared code into pipelines:\n" + "\n".join(wrong)
    )


def test_pipelines_import_no_backend_at_module_level():
    wrong = [
        f"{where(path, found)} imports {found.module}"
        for path in sources("pipelines")
        for found in imports_of(path)
        if found.top in BACKENDS and not found.lazy
    ]
    assert not wrong, (
        "A recipe runs where only one backend is installed. Use keras.ops, "
        "or import the backend inside the one function that needs it:\n"
        + "\n".join(wrong)
    )


def test_command_line_and_readers_start_without_keras():
    starts = [ROOT / "pipelines" / "cli.py", *sources("pipelines/options")]
    wrong = [
        f"{where(path, found)} imports {found.module}"
        for path in loaded_with([*starts, *sources("pipelines/data")])
        for found in imports_of(path)
        if found.top in HEAVY and not found.lazy
    ]
    assert not wrong, (
        "`--help`, wrong options and wrong data answer before keras is "
        "imported. These lines run on `import pipelines.cli`, "
        "`pipelines.options` or a reader; move each into the function that "
        "needs it (a package's `__init__.py` counts for all its modules):\n"
        + "\n".join(wrong)
    )


@pytest.mark.parametrize(
    ("code", "lazy"),
    [
        ("import torch.nn", False),
        ("try:\n  from torch import nn\nexcept ImportError:\n  pass", False),
        ("class A:\n  import torch", False),
        ("def f():\n  if f:\n    import torch", True),
        ("if TYPE_CHECKING:\n  import torch", True),
        ("importlib.import_module('torch.nn')", False),
    ],
)
def test_an_import_is_found_wherever_it_stands(tmp_path, code, lazy):
    path = tmp_path / "module.py"
    path.write_text(code, encoding="utf-8")
    found = [each for each in imports_of(path) if each.top == "torch"]
    assert [each.lazy for each in found] == [lazy]


def test_loading_a_module_loads_its_packages_and_their_imports():
    loaded = loaded_with([ROOT / "pipelines" / "data" / "text_files.py"])
    names = {path.relative_to(ROOT).as_posix() for path in loaded}
    assert names >= {
        "pipelines/__init__.py",
        "pipelines/data/__init__.py",
        "pipelines/errors.py",
    }


def allowed(path: pathlib.Path, lazy: bool) -> frozenset[str]:
    """The packages that a file of `keras_encoder` may import."""
    packages = STANDARD | LIBRARY
    if path == ROOT / "keras_encoder" / "tensorflow_kernels.py":
        packages |= {"tensorflow"}
    if lazy:
        packages |= {"huggingface_hub"}
        if path.is_relative_to(ROOT / "keras_encoder" / "checkpoints"):
            packages |= {"tensorflow", "keras_hub"}
    return packages


def sources(folder: str) -> list[pathlib.Path]:
    """The Python files under a folder of the repository."""
    return sorted((ROOT / folder).rglob("*.py"))


def where(path: pathlib.Path, found: Import) -> str:
    return f"{path.relative_to(ROOT).as_posix()}:{found.line}"


def imports_of(path: pathlib.Path) -> list[Import]:
    """Every import of a file, at any depth, in the order of its lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return sorted(_walk(tree, False), key=lambda found: found.line)


def _walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        for module, *names in _modules(child):
            yield Import(module, tuple(names), child.lineno, lazy)
        yield from _walk(child, lazy or _waits(child))


def _waits(node: ast.AST) -> bool:
    """Whether what stands inside a node does not run on import."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def _modules(node: ast.AST) -> list[list[str]]:
    """The modules that one node imports, each with the names taken from it.

    Relative imports are none of these: the linter forbids them.
    """
    match node:
        case ast.Import(names=names):
            return [[alias.name] for alias in names]
        case ast.ImportFrom(module=str(module), names=names):
            return [[module, *(alias.name for alias in names)]]
        case ast.Call(
            func=ast.Attribute(attr="import_module")
            | ast.Name(id="import_module" | "__import__"),
            args=[ast.Constant(value=str(module)), *_],
        ):
            return [[module]]
    return []


def loaded_with(starts: list[pathlib.Path]) -> list[pathlib.Path]:
    """The repository's own files that run when the given ones are imported."""
    loaded: set[pathlib.Path] = set()
    waiting = list(starts)
    while waiting:
        path = waiting.pop()
        if path in loaded:
            continue
        loaded.add(path)
        package = path.parent
        while package != ROOT:
            waiting.append(package / "__init__.py")
            package = package.parent
        for found in imports_of(path):
            if not found.lazy:
                waiting.extend(_own_files(found))
    return sorted(loaded)


def _own_files(found: Import) -> list[pathlib.Path]:
    # A name taken from a package may be one of its modules.
    submodules = (f"{found.module}.{name}" for name in found.names)
    bases = [
        ROOT.joinpath(*module.split("."))
        for module in (found.module, *submodules)
    ]
    files = [base.with_suffix(".py") for base in bases]
    files += [base / "__init__.py" for base in bases]
    return [path for path in files if path.is_file()]
