"""Imports point downward only and never come back, and importing the package is cheap."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import taskorder

PACKAGE = Path(taskorder.__file__).parent
LAYERS = [
    {
        "_version",
        "arguments",
        "records",
        "checks",
        "costs",
        "parsing",
        "constraints",
        "files",
        "machine",
        "typed",
        "metrics",
        "stats",
        "prefixes",
        "progress",
        "stratified",
        "strategies",
        "visible",
    },
    {"task", "portable", "cells", "given_table"},
    {"theory"},
    {"ordering"},
    {"tables"},
    {"linear"},
    {"datasets", "adapters"},
    {"engine"},
    {"runs"},
    {"learners"},
    {"planning"},
    {"audit"},
    {"plots", "report", "explorer"},
    {"cli", "__init__", "__main__"},
]
LATE = {("records", "showing"): {"plots", "report"}}
"""A plan in hand can be drawn: the one file whose functions, once they are called, import lower rooms, and which."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def targets(tree: ast.AST, package: tuple[str, ...]) -> Iterator[list[str]]:
    """The dotted names that the imports in a module of `package` ask for, those inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            dotted = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            dotted = [[*module, alias.name] for alias in node.names]
        else:
            continue
        yield from (target for target in dotted if target[0] == "taskorder")


def upward(part: str, tree: ast.AST, package: tuple[str, ...]) -> list[str]:
    # a name that is no module or package of ours lives in taskorder/__init__.py
    names = (target[1] if len(target) > 1 and target[1] in LEVEL else "__init__" for target in targets(tree, package))
    return [f"{part} imports {name}" for name in names if LEVEL[name] > LEVEL[part]]


def sources() -> dict[tuple[str, ...], Path]:
    """The modules, by the parts of their names; a package goes by its __init__."""
    return {file.relative_to(PACKAGE).with_suffix("").parts: file for file in sorted(PACKAGE.rglob("*.py"))}


def test_imports_point_downward():
    problems = []
    files = sources()
    for parts, file in files.items():
        assert parts[0] in LEVEL, f"{parts[0]} has no place in LAYERS: add it there"
        package = ("taskorder", *parts[:-1])
        tree = ast.parse(file.read_text())
        problems += [f"{file.name}: {line}" for line in upward(parts[0], AtOnce(parts).visit(tree), package)]
    assert len(files) > 5
    assert problems == []


class AtOnce(ast.NodeTransformer):
    """Leaves out what the functions of a file in LATE import, as far as it may."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        self.allowed = LATE.get(parts, set())

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        rooms = {target[1] for target in targets(node, ("taskorder",))}
        return ast.Pass() if rooms and rooms <= self.allowed else self.generic_visit(node)


def test_late_imports_stay_in_functions_and_in_their_rooms():
    lazy = "def f():\n    from taskorder.plots.draw import draw"
    allowed = ("records", "showing")
    assert upward("records", AtOnce(allowed).visit(ast.parse(lazy)), ("taskorder", "records")) == []
    for parts, source in (
        (("records", "plan"), lazy),
        (allowed, "from taskorder.plots.draw import draw"),
        (allowed, "def f():\n    from taskorder.cli import main"),
    ):
        assert len(upward("records", AtOnce(parts).visit(ast.parse(source)), ("taskorder", "records"))) == 1
    assert all(parts in sources() for parts in LATE)


class Running(ast.NodeTransformer):
    """Leaves out what only type checkers read: a type may be named by what builds it."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)


def needs(files: dict[tuple[str, ...], str]) -> dict[str, set[str]]:
    """The modules that each module imports, from sources by name."""
    names = {".".join(("taskorder", *parts)).removesuffix(".__init__"): parts for parts in files}
    needed: dict[str, set[str]] = {}
    for name, parts in names.items():
        tree = AtOnce(parts).visit(Running().visit(ast.parse(files[parts])))
        wanted = (".".join(target) for target in targets(tree, ("taskorder", *parts[:-1])))
        needed[name] = {each if each in names else each.rpartition(".")[0] for each in wanted} - {name}
    return needed


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Nodes that lead back to the first of them; none where everything flows one way."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as problem:
        return problem.args[1]
    return []


def by_part(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same between the parts of the package: what LAYERS lists."""
    parts: dict[str, set[str]] = {}
    for name, others in graph.items():
        part = (name.split(".")[1:] or ["__init__"])[0]
        parts.setdefault(part, set()).update((other.split(".")[1:] or ["__init__"])[0] for other in others)
    return {part: others - {part} for part, others in parts.items()}


def test_imports_never_come_back():
    graph = needs({parts: file.read_text() for parts, file in sources().items()})
    assert circle(graph) == []
    assert circle(by_part(graph)) == []


def test_the_walk_sees_imports_that_come_back():
    files = {
        ("__init__",): "",
        ("report",): "from taskorder.planning import plan",
        ("planning", "__init__"): "",
        ("planning", "plan"): "from taskorder.planning.choice import choose",
        ("planning", "choice"): "if TYPE_CHECKING:\n    from taskorder.planning.plan import PilotResult",
        ("planning", "budget"): "",
    }
    graph = needs(files)
    assert graph["taskorder.report"] == {"taskorder.planning.plan"}
    assert circle(graph) == circle(by_part(graph)) == []
    back = needs({**files, ("planning", "budget"): "def f():\n    from ..report import x"})
    assert circle(back) == []
    assert set(circle(by_part(back))) == {"report", "planning"}
    mutual = needs({**files, ("planning", "choice"): "def f():\n    from .plan import PilotResult"})
    assert set(circle(mutual)) == {"taskorder.planning.plan", "taskorder.planning.choice"}


def foreign(tree: ast.AST, package: tuple[str, ...], names: set[str]) -> list[str]:
    """Private modules of other packages, and private names of other modules, that a module of `package` imports."""
    foreigners = []
    for target in targets(tree, package):
        places = [place for place, word in enumerate(target) if word.startswith("_") and not word.startswith("__")]
        if places:
            home = tuple(target[: places[0]])
            if ".".join(target[: places[0] + 1]) not in names or package[: len(home)] != home:
                foreigners.append(".".join(target))
    return foreigners


def test_what_is_private_stays_at_home():
    files = sources()
    names = {".".join(("taskorder", *parts)) for parts in files}
    trees = {parts: ast.parse(file.read_text()) for parts, file in files.items()}
    assert [
        target for parts, tree in trees.items() for target in foreign(tree, ("taskorder", *parts[:-1]), names)
    ] == []


def test_the_walk_sees_what_is_private():
    names = {"taskorder.cli.render", "taskorder.tables._arrays"}
    source = (
        "from taskorder.tables import _arrays\nfrom taskorder.tables._arrays import parse\n"
        "from taskorder.cli.render import _table\nfrom taskorder import __version__\nfrom taskorder.cli import render"
    )
    abroad = ["taskorder.tables._arrays", "taskorder.tables._arrays.parse", "taskorder.cli.render._table"]
    assert foreign(ast.parse(source), ("taskorder", "cli"), names) == abroad
    assert foreign(ast.parse(source), ("taskorder", "tables"), names) == abroad[2:]


def test_commands_do_not_import_each_other():
    graph = needs({parts: file.read_text() for parts, file in sources().items()})
    commands = {name for name in graph["taskorder.cli"] if name.startswith("taskorder.cli.")}
    commands -= {"taskorder.cli.options", "taskorder.cli.output"}
    assert len(commands) > 10
    others = {name: imported for name, imported in graph.items() if name != "taskorder.cli"}
    assert {name: imported & commands for name, imported in others.items() if imported & commands} == {}


def beyond_kernels(tree: ast.AST, package: tuple[str, ...]) -> list[str]:
    """What a kernel module of `package` imports besides other kernels, NumPy, the compiler and types; no LLVM IR."""
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    names += [".".join(target) for target in targets(tree, package)]
    allowed = (".".join(package), "numpy", "numba", "typing", "__future__")
    return [name for name in names if not any(f"{name}.".startswith(f"{start}.") for start in allowed)]


def test_ordering_kernels_import_only_kernels():
    package = ("taskorder", "ordering", "kernels")
    trees = {parts: ast.parse(file.read_text()) for parts, file in sources().items() if parts[:2] == package[1:]}
    assert len(trees) > 10
    beyond = {parts[-1]: names for parts, tree in trees.items() if (names := beyond_kernels(tree, package))}
    assert beyond.keys() == {"jit"}  # which keeps files of compiled kernels, and is none itself
    assert not any(name.startswith("taskorder") for name in beyond["jit"])


def test_the_walk_sees_kernels_that_import_more():
    source = (
        "import numpy as np\nfrom numba import njit\nfrom taskorder.ordering.kernels.jit import njit\n"
        "import scipy.linalg\ndef f():\n    from taskorder.ordering.problem import Problem"
    )
    imported = beyond_kernels(ast.parse(source), ("taskorder", "ordering", "kernels"))
    assert set(imported) == {"scipy.linalg", "taskorder.ordering.problem", "taskorder.ordering.problem.Problem"}


@pytest.mark.parametrize(
    ("part", "source", "count"),
    [
        ("theory", "from taskorder.checks import Floats", 0),
        ("theory", "import taskorder.cli", 1),
        ("theory", "def f():\n    from ..tables import reading", 1),
        ("theory", "from taskorder.ordering import rules", 1),
        ("ordering", "from taskorder import solve", 1),
        ("ordering", "from taskorder import checks", 0),
        ("cli", "from taskorder import solve", 0),
    ],
)
def test_the_walk_sees_upward_imports(part, source, count):
    assert len(upward(part, ast.parse(source), ("taskorder", part))) == count


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_loads_nothing_heavy():
    loaded = json.loads(run("import json, sys, taskorder; print(json.dumps(sorted(sys.modules)))"))
    assert "taskorder" in loaded
    assert not {"numpy", "scipy", "numba", "matplotlib", "rich", "jax", "torch", "ray"} & set(loaded)


def test_theory_loads_neither_numba_nor_scipy():
    use = "t.final_error([[1]], [0]); t.perturbation(3, .1); t.nearest_correlation([[1]])"
    loaded = json.loads(run(f"import json, sys, taskorder as t; {use}; print(json.dumps(sorted(sys.modules)))"))
    assert "numpy" in loaded
    assert not {"scipy", "numba", "matplotlib"} & set(loaded)


@pytest.mark.slow("time")
def test_importing_the_package_is_quick():
    code = "import time; t = time.perf_counter(); import taskorder; print(time.perf_counter() - t)"
    # milliseconds in truth; the best of three on a busy machine
    assert min(float(run(code)) for _ in range(3)) < 0.3


def test_public_names_resolve_and_are_listed():
    assert set(taskorder.__all__) <= set(dir(taskorder))
    assert set(taskorder._HOME) | {"__version__"} == set(taskorder.__all__)
    for name in taskorder.__all__:
        assert getattr(taskorder, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = taskorder.nonsense
