"""Imports point downward only, and importing the package is cheap."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import taskorder

PACKAGE = Path(taskorder.__file__).parent
LAYERS = [
    {"_version", "records", "figuredata", "checks", "machine", "task"},
    {"theory", "metrics", "stats", "store", "portable"},
    {"ordering"},
    {"linear", "similarity", "datasets", "adapters"},
    {"neural"},
    {"learners"},
    {"pilot", "rehearsal", "planning", "audit", "experiments"},
    {"execute"},
    {"plots", "report", "explorer"},
    {"reproduce"},
    {"cli", "__init__", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """The part of the package (first name below it) that each import in a module of `package` needs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            targets = [[*module, alias.name] for alias in node.names]
        else:
            continue
        for target in targets:
            if target[0] == "taskorder":
                # a name that is no module or package of ours lives in taskorder/__init__.py
                yield target[1] if len(target) > 1 and target[1] in LEVEL else "__init__"


def upward(part: str, tree: ast.AST, package: tuple[str, ...]) -> list[str]:
    return [f"{part} imports {name}" for name in imported(tree, package) if LEVEL[name] > LEVEL[part]]


def test_imports_point_downward():
    problems = []
    files = sorted(PACKAGE.rglob("*.py"))
    for file in files:
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        assert parts[0] in LEVEL, f"{parts[0]} has no place in LAYERS: add it there"
        package = ("taskorder", *parts[:-1])
        problems += [f"{file.name}: {line}" for line in upward(parts[0], ast.parse(file.read_text()), package)]
    assert len(files) > 5
    assert problems == []


@pytest.mark.parametrize(
    ("part", "source", "count"),
    [
        ("theory", "from taskorder.checks import Floats", 0),
        ("theory", "import taskorder.cli", 1),
        ("theory", "def f():\n    from ..similarity import tables", 1),
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
