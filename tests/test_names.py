"""No two things of one name: each public name at the top of a module is defined in one module."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "taskorder"

SHARED = {
    "EPILOG": "the examples below the help of a command",
    "add": "every command adds its options",
    "run": "every command runs; so do runs on this machine",
    "complete": "runs are completed here or on Ray, by the same call",
}
"""Names with one meaning that several modules fill, and that meaning."""

LAYERS = {"kernels"}
"""Folders of functions on arrays, each named by its equation: they may share names with each other and with callers."""


def public_names(source: str) -> set[str]:
    """The public names that a module defines at its top, functions, classes and constants."""
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            names |= {part.id for part in parts if isinstance(part, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def defined_twice(sources: dict[str, str]) -> dict[str, list[str]]:
    """The names that several modules define, with those modules."""
    modules = defaultdict(list)
    for module, source in sources.items():
        for name in public_names(source):
            modules[name].append(module)
    return {name: sorted(where) for name, where in modules.items() if len(where) > 1}


def sources() -> dict[str, str]:
    files = [path for path in PACKAGE.rglob("*.py") if not LAYERS & {part.name for part in path.parents}]
    return {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in files}


def test_every_public_name_is_defined_in_one_module():
    assert {name: where for name, where in defined_twice(sources()).items() if name not in SHARED} == {}


def test_every_shared_name_is_still_shared():
    assert SHARED.keys() <= defined_twice(sources()).keys()


def test_a_second_definition_is_seen():
    assert defined_twice(
        {"a.py": "X, Y = 1, 2\ndef f(): ...", "b.py": "X: int = 3\nclass f: ...", "c.py": "_x = X"}
    ) == {
        "X": ["a.py", "b.py"],
        "f": ["a.py", "b.py"],
    }
