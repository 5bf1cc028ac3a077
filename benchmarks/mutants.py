"""Small errors in the code: every mutant of a file, and the import of one in place of the real module."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

SOURCE = Path(__file__).parents[1] / "src"

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change."""

    path: Path
    number: int
    """Of the mutants of its file."""
    line: int
    place: int
    """Of the node that changes, in the order of ast.walk."""
    way: int
    """Of the ways in which that node can change."""

    def made(self) -> tuple[ast.Module, str]:
        """The changed module, and what it was and what it is."""
        tree = ast.parse(self.path.read_text())
        node: Any = next(itertools.islice(ast.walk(tree), self.place, None))
        was = _short(ast.unparse(node))
        list(_changes(node))[self.way]()
        return ast.fix_missing_locations(tree), f"{was}  ->  {_short(ast.unparse(node))}"


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file."""
    tree = ast.parse(path.read_text())
    hidden = _hidden(tree)
    ways = [
        (node.lineno, place, way)
        for place, node in enumerate(ast.walk(tree))
        if id(node) not in hidden and isinstance(node, ast.expr | ast.stmt)
        for way in range(len(list(_changes(node))))
    ]
    return [Mutant(path, number, *change) for number, change in enumerate(ways)]


def _hidden(tree: ast.Module) -> set[int]:
    """Nodes whose change shows nothing: annotations, docstrings, texts of messages, imports for types."""
    hidden: set[int] = set()

    def hide(node: ast.AST | None) -> None:
        if node is not None:
            hidden.update(id(part) for part in ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            hide(getattr(node, "returns", None))
            for decorator in node.decorator_list:
                hide(decorator)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            hide(node.annotation)
        elif isinstance(node, ast.Raise):
            hide(node.exc)
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            hide(node)
    return hidden


def _changes(node: ast.AST) -> Iterator[Callable[[], None]]:
    """Ways to change a node in place."""
    match node:
        case ast.Compare():
            for place, op in enumerate(node.ops):
                if type(op) in COMPARISONS:
                    yield lambda place=place, op=op: node.ops.__setitem__(place, COMPARISONS[type(op)]())
        case ast.BinOp() | ast.AugAssign() if type(node.op) in OPERATORS:
            yield lambda: setattr(node, "op", OPERATORS[type(node.op)]())
        case ast.BoolOp():
            yield lambda: setattr(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
        case ast.UnaryOp(op=ast.USub()):
            yield lambda: setattr(node, "op", ast.UAdd())
        case ast.Constant(value=bool()):
            yield lambda: setattr(node, "value", not node.value)
        case ast.Constant(value=int() | float()):
            yield lambda: setattr(node, "value", node.value + 1)
        case ast.If() | ast.While() | ast.IfExp():
            yield lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.Return(value=value) if value is not None and ast.unparse(value) != "None":
            yield lambda: setattr(node, "value", ast.Constant(None))
        case ast.Raise(exc=exc) if exc is not None:
            yield lambda: (setattr(node, "exc", ast.Call(ast.Name("KeyError"), [], [])), setattr(node, "cause", None))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else line[:69] + "…"


class Finder(importlib.abc.MetaPathFinder):
    """Imports the changed module in place of the real one."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        parts = mutant.path.relative_to(SOURCE).with_suffix("").parts
        self.name = ".".join(parts)

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of the changed module; None for every other."""
        if name != self.name:
            return None
        file, (tree, _) = str(self.mutant.path), self.mutant.made()

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return compile(tree, file, "exec")

        return importlib.util.spec_from_file_location(name, file, loader=Loader(name, file))
