"""Mutation testing: small errors put into the code one at a time, and whether a test notices.

    python benchmarks/mutation.py theory ordering store --sample 200 --seed 0

A mutant is one comparison, operator, number, truth value, condition, return value or refusal changed. For each, the
tests that reach its line are run, quickest first, until one fails. Who survives is listed: a gap in the tests, or a
change that changes nothing. Compiled kernels (files that begin with an underscore) are left out; so are doctests.

The tests run in forks of a process that has imported everything but taskorder, so that a mutant costs seconds.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "taskorder"
SUBJECTS = {
    "theory": (PACKAGE / "theory", ["tests/theory"]),
    "ordering": (PACKAGE / "ordering", ["tests/ordering"]),
    "store": (
        PACKAGE / "store.py",
        ["tests/test_store.py", "tests/test_store_files.py", "tests/execute/test_local.py"],
    ),
}
"""Code, and the tests that are for it."""

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
    line: int
    said: str
    """What it was and what it is."""
    tree: ast.Module


class Reach(NamedTuple):
    """What a test touches, and how long it takes."""

    lines: dict[str, list[int]]
    seconds: float


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file."""
    source = ast.parse(path.read_text())
    hidden, found = _hidden(source), []
    for place, original in enumerate(ast.walk(source)):
        if id(original) in hidden or not hasattr(original, "lineno"):
            continue
        for number in range(len(list(_changes(original)))):
            tree = copy.deepcopy(source)
            node: Any = next(itertools.islice(ast.walk(tree), place, None))
            list(_changes(node))[number]()
            said = f"{_short(ast.unparse(original))}  ->  {_short(ast.unparse(node))}"
            found.append(Mutant(path, node.lineno, said, ast.fix_missing_locations(tree)))
    return found


def _hidden(tree: ast.Module) -> set[int]:
    """Nodes whose change shows nothing: annotations, docstrings, texts of messages, imports for types."""
    found: set[int] = set()

    def hide(node: ast.AST | None) -> None:
        if node is not None:
            found.update(id(part) for part in ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            hide(getattr(node, "returns", None))
            for one in node.decorator_list:
                hide(one)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            hide(node.annotation)
        elif isinstance(node, ast.Raise):
            hide(node.exc)
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            hide(node)
    return found


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


class _Finder(importlib.abc.MetaPathFinder):
    """Imports the changed module in place of the real one."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        parts = mutant.path.relative_to(PACKAGE.parent).with_suffix("").parts
        self.name = ".".join(parts)

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of the changed module; None for every other."""
        if name != self.name:
            return None
        mutant = self.mutant

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return compile(mutant.tree, str(mutant.path), "exec")

        return importlib.util.spec_from_file_location(name, mutant.path, loader=Loader(name, str(mutant.path)))


class _Tracer:
    """A pytest plugin: the lines of the subject that each test runs through."""

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.found: dict[str, Reach] = {}
        self.lines: dict[str, set[int]] = {}

    def pytest_runtest_protocol(self, item: Any) -> None:
        """Between tests the lines are counted anew."""
        self.lines = {}
        self.start = time.perf_counter()
        sys.settrace(self.enter)
        threading.settrace(self.enter)

    def pytest_runtest_teardown(self, item: Any) -> None:
        """Add what this test, or this set of its parameters, has touched."""
        sys.settrace(None)
        threading.settrace(None)
        key = item.nodeid.partition("[")[0]
        old = self.found.get(key, Reach({}, 0.0))
        lines = {file: sorted({*old.lines.get(file, ()), *new}) for file, new in self.lines.items()}
        self.found[key] = Reach({**old.lines, **lines}, old.seconds + time.perf_counter() - self.start)

    def enter(self, frame: FrameType, event: str, value: Any) -> Any:
        """Follow a call only into the subject."""
        return self.step if frame.f_code.co_filename in self.files else None

    def step(self, frame: FrameType, event: str, value: Any) -> Any:
        """One line."""
        self.lines.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return self.step


def forked(job: Callable[[], int], limit: float) -> int | None:
    """The exit code of `job` in a process of its own; None where it took too long."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        try:
            os._exit(int(job()))
        except BaseException:
            os._exit(70)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def run_tests(tests: list[str], *plugins: Any) -> int:
    """pytest's exit code."""
    import pytest

    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    options = ["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    return int(pytest.main([*options, *tests], plugins))


def reached(files: list[Path], tests: list[str]) -> dict[str, Reach]:
    """The reach of every test."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as paper:

        def job() -> int:
            tracer = _Tracer(set(map(str, files)))
            code = run_tests(tests, tracer)
            Path(paper.name).write_text(json.dumps(tracer.found))
            return code

        code = forked(job, 3600.0)
        if code != 0:
            raise SystemExit(
                f"the tests must pass before mutants are made, got exit code {code}: pytest {' '.join(tests)}"
            )
        return {name: Reach(*reach) for name, reach in json.loads(paper.read()).items()}


def fate(mutant: Mutant, reach: dict[str, Reach]) -> str:
    """killed, slow (killed by the clock), survived, or unreached."""
    touching = [name for name, one in reach.items() if mutant.line in one.lines.get(str(mutant.path), ())]
    if not touching:
        touching = [name for name, one in reach.items() if one.lines.get(str(mutant.path))]  # runs at import
    touching.sort(key=lambda name: reach[name].seconds)
    if not touching:
        return "unreached"

    def job() -> int:
        sys.meta_path.insert(0, _Finder(mutant))
        return run_tests(touching)

    code = forked(job, 60.0 + 6 * sum(reach[name].seconds for name in touching))
    return "slow" if code is None else "killed" if code else "survived"


def main() -> None:
    """One table and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="+", choices=SUBJECTS)
    parser.add_argument("--sample", type=int, help="so many mutants of each subject, drawn at random (all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", help="only files with this in their name")
    args = parser.parse_args()
    import numba  # noqa: F401  (what is imported here costs the forks nothing)
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize  # noqa: F401

    for subject in args.subjects:
        code, tests = SUBJECTS[subject]
        files = [code] if code.is_file() else sorted(code.glob("[!_]*.py"))
        files = [file for file in files if args.file is None or args.file in file.name]
        reach = reached(files, tests)
        every = [mutant for file in files for mutant in mutants_of(file)]
        chosen = every
        if args.sample is not None and args.sample < len(every):
            chosen = random.Random(args.seed).sample(every, args.sample)
        count = dict.fromkeys(("killed", "slow", "survived", "unreached"), 0)
        for mutant in chosen:
            end = fate(mutant, reach)
            count[end] += 1
            if end in ("survived", "unreached"):
                print(f"{end}  {mutant.path.relative_to(ROOT)}:{mutant.line}  {mutant.said}", flush=True)
        dead = count["killed"] + count["slow"]
        share = f"{dead} of {len(chosen)} killed ({100 * dead / len(chosen):.1f} %)"
        print(f"{subject}: {share}, {len(every)} in all; {count}", flush=True)


if __name__ == "__main__":
    main()
