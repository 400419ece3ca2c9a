"""The shape of the package, held by walking its imports, its size, and the way of a fit through it.

Data goes down one list, ``LAYERS``, and never back up: a module imports from its own room and from
those earlier in the list. A module whose name begins with an underscore is its room's own. Imports
inside functions and under ``TYPE_CHECKING`` count too.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import graphfilter
import graphfilter_research

ROOT = Path(graphfilter.__file__).parent
RESEARCH = Path(graphfilter_research.__file__).parent

ROOMS = [
    "util",
    "tables",
    "data",
    "spectral",
    "operators",
    "filters",
    "models",
    "training",
    "large",
    "systems",
    "estimators",
    "runs",
    "report",
    "web",
    "cli",
]
# Loose at the top, in one file each: what is small and public.
LAYERS = [
    "version", "util", "splits", "tables", "data", "spectral", "operators", "filters", "models",
    "training", "large", "systems", "estimators", "runs", "metrics", "report", "web", "cli",
    "plot", "pyg", "__init__", "__main__",
]  # fmt: skip

# What one person can carry: lines with a token that is neither comment nor docstring, and files.
MOST = {ROOT: (28_000, 146), RESEARCH: (9_575, 80)}
LONGEST_FILE = 500

# How often whoever reads along with a fit opens a file, and enters a room (tests/reading.py).
FILES_OPENED, ROOMS_ENTERED = 425, 223

# Slow to import, or optional: only those who use them wait for them.
HEAVY = {
    "jinja2",
    "starlette",
    "uvicorn",
    "matplotlib",
    "msgspec",
    "networkx",
    "optuna",
    "plotly",
    "pooch",
    "pyarrow",
    "rich",
    "safetensors",
    "torch_geometric",
    "typer",
}


@dataclass(frozen=True)
class Import:
    """One module of the package importing another."""

    source: str
    target: str
    line: int
    lazy: bool

    def __str__(self) -> str:
        return f"{self.source}, line {self.line}: imports {self.target}"


def module_name(path: Path) -> str:
    """Name a file by its place: ``data.export``; ``data`` for the package, ``__init__`` on top."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "__init__"


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def layer(module: str) -> str:
    return module.partition(".")[0]


def targets(node: ast.AST) -> Iterator[str]:
    """List the modules of this package that an import statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute in this package"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in names:
        top, _, inner = name.partition(".")
        if top != "graphfilter":
            continue
        # The longest part of the path that is a module: what follows is a name inside it.
        while inner and inner not in MODULES:
            inner = inner.rpartition(".")[0]
        yield inner or "__init__"


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """List the statements that run when the module is imported: those outside functions."""
    for child in ast.iter_child_nodes(node):
        typing_only = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not typing_only and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from run_at_import(child)


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def read_imports(module: str) -> list[Import]:
    tree = parsed(module)
    at_import = set(run_at_import(tree))
    return [
        Import(module, target, node.lineno, node not in at_import)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in targets(node)
    ]


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return [found for module in MODULES for found in read_imports(module)]


def test_rooms_are_all_there_is() -> None:
    assert sorted(LAYERS) == sorted({layer(module) for module in MODULES})
    assert sorted(ROOMS) == sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


def count_lines(path: Path) -> int:
    """Count the lines of a file that hold code."""
    text = path.read_text(encoding="utf-8")
    told = set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                told.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in layout | {tokenize.ENDMARKER}
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - told)


@pytest.mark.parametrize("package", MOST, ids=lambda package: package.name)
def test_one_person_can_carry_it(package: Path) -> None:
    lines = {path: count_lines(path) for path in package.rglob("*.py")}
    most_lines, most_files = MOST[package]
    assert sum(lines.values()) <= most_lines
    assert len(lines) <= most_files
    long = {str(path): n for path, n in lines.items() if n > LONGEST_FILE}
    assert not long


def test_imports_point_down_the_layers(imports: list[Import]) -> None:
    order = {name: i for i, name in enumerate(LAYERS)}
    upwards = [
        str(found) for found in imports if order[layer(found.target)] > order[layer(found.source)]
    ]
    assert not upwards


def test_modules_with_an_underscore_are_used_by_their_room_alone(imports: list[Import]) -> None:
    entered = [
        str(found)
        for found in imports
        if layer(found.target) != layer(found.source)
        and any(part.startswith("_") and part != "__init__" for part in found.target.split("."))
    ]
    assert not entered


def test_the_core_never_imports_research() -> None:
    """It comes in by entry points, as any other package does."""
    named = [
        f"{module}, line {node.lineno}"
        for module in MODULES
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "graphfilter_research" in libraries(node)
    ]
    assert not named


def test_a_reader_follows_a_fit(tmp_path: Path) -> None:
    """Counted by following ``fit --dataset karate``, functions in the order of their first call."""
    out = str(tmp_path / "run")
    command = [str(Path(__file__).with_name("reading.py")), "fit", "--dataset", "karate"]
    done = subprocess.run(
        [sys.executable, *command, "--out", out], check=True, capture_output=True, text=True
    )
    read = json.loads(done.stdout.splitlines()[-1])
    assert (Path(out) / "report.html").exists()
    assert read["files opened"] <= FILES_OPENED
    assert read["rooms entered"] <= ROOMS_ENTERED


def test_modules_import_without_cycles(imports: list[Import]) -> None:
    """Within a package too, and lazily or for types alone."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in imports:
        # The package itself imports every room when it is asked for one.
        if found.target not in (found.source, "__init__"):
            graph[found.source].add(found.target)
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"an import cycle: {' ← '.join(error.args[1])}")


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    """Only the command line and the services, started to use them, import any on import."""
    early = [
        f"{module}, line {node.lineno}: {ast.unparse(node)}"
        for module in MODULES
        if layer(module) not in ("cli", "web")
        for node in run_at_import(parsed(module))
        if isinstance(node, ast.Import | ast.ImportFrom) and libraries(node) & HEAVY
    ]
    assert not early


def libraries(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return {name.partition(".")[0] for name in names}


# A process to which more and more is done, and the modules that are loaded after each step.
STEPS = """
import json, sys, torch, sklearn.base, sklearn.utils.multiclass, sklearn.utils.validation
sys.modules["torch_geometric"] = None  # As where it is not installed.
loaded = {}
def step(name):
    loaded[name] = sorted(sys.modules)
step("libraries")
import graphfilter as gf
gf.SGFClassifier
step("import")
gf.plot, gf.Graph.from_edges([[0, 1]])._repr_html_()
step("graph")
edges = torch.tensor([[0, 1], [1, 0]])
gf.pyg.StackedFilterConv(3, 2)(torch.randn(2, 3), edges).sum().backward()
assert sys.modules["torch_geometric"] is None
step("layers")
from graphfilter.data import make_karate
gf.SGFClassifier(max_epochs=2, random_state=0).fit(graph=make_karate()).predict_proba()
step("training")
from matplotlib.figure import Figure
gf.plot.response(gf.filters.PowerFilter(), Figure().subplots())
step("picture")
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    done = subprocess.run([sys.executable, "-c", STEPS], check=True, capture_output=True, text=True)
    return {step: set(names) for step, names in json.loads(done.stdout).items()}


def test_import_graphfilter_loads_no_heavy_library(loaded: dict[str, set[str]]) -> None:
    """Beyond those that torch and scikit-learn load themselves."""
    before, after = (
        {name.partition(".")[0] for name in loaded[step]} for step in ("libraries", "import")
    )
    assert "graphfilter" in after - before
    assert not (after - before) & HEAVY


def test_pyplot_is_left_alone_where_axes_are_given(loaded: dict[str, set[str]]) -> None:
    assert "matplotlib" not in loaded["graph"]
    assert "matplotlib.pyplot" not in loaded["picture"]


@pytest.mark.parametrize("step", ["layers", "training"])
def test_nothing_imports_the_compiler_of_torch(step: str, loaded: dict[str, set[str]]) -> None:
    """It takes longer to import than torch itself, and nothing is compiled.

    The layers for PyTorch Geometric work without that package.
    """
    assert not loaded[step] & {"torch._dynamo", "torch._inductor", "sympy"}


def test_only_the_command_line_prints() -> None:
    printing = {
        module
        for module in MODULES
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    }
    assert {layer(module) for module in printing} <= {"cli"}


def test_import_walk_sees_imports_of_every_kind(imports: list[Import]) -> None:
    """A check of the checker: the walk resolves submodules, names and lazy imports."""
    found = {(i.source, i.target, i.lazy) for i in imports}
    assert ("data.graph", "data.edges", False) in found
    assert ("__init__", "estimators", True) in found
    assert ("estimators.saving", "version", False) in found


# They write whole commands, which repeat a run or make a table.
COMMANDS = {"runs.folder", "web.studio"}


def texts(module: str) -> Iterator[tuple[int, str]]:
    """List the strings of a module that are no docstrings, each with its line."""
    tree = parsed(module)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Constant) and id(node) not in said:
            yield node.lineno, str(node.value)


def test_options_of_the_command_line_are_named_by_it_alone() -> None:
    """Messages name Python's argument, `weight`, which ``cli.screen`` says as its option."""
    named = [
        f"{module}, line {line}: {text!r} names an option; write `argument`, as cli/screen.py says"
        for module in sorted({*MODULES} - COMMANDS)
        if layer(module) != "cli"
        for line, text in texts(module)
        # After a command of ours an option is part of that.
        if re.search(r"(?<![\w-])--[a-z{]", re.sub(r"(graphfilter|predict) [^.;]*", "", text))
    ]
    assert not named, "\n".join(named)
