"""Mutation testing: small errors put into the code one at a time, and whether a test notices.

    python benchmarks/mutation.py theory ordering kernels store --sample 120 --seed 0

A mutant (mutants.py) is one comparison, operator, number, truth value, condition, return value or refusal changed. The
judges are the tests that pass unchanged, each in at most `--each` seconds; doctests are left out. For each mutant the
judges that call the function it is in are run, quickest first, until one fails or `--patience` seconds of them have
passed. A test that takes several times as long as it did counts as failed; one that fails without the mutant, too,
does not count. Who survives is listed: a gap in the tests, or a change that changes nothing. Mutants that no test
reaches count as survivors.

`kernels` are the compiled files of `ordering` (ordering/kernels), run as plain Python without numba, because a mutant
takes a minute to compile. Tests that are too slow without numba are no judges there.

Nothing is changed on disk. The tests run in forks of a process that has imported everything but taskorder, so that a
mutant costs seconds. What is known is kept in build/mutation, and the same command goes on there; with more patience it
tries the survivors again.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
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
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numba
import pytest
import scipy.optimize  # noqa: F401  (what is imported here costs the forks nothing)
from mutants import Finder, Mutant, mutants_of

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "taskorder"
KEPT = ROOT / "build" / "mutation"
SLOW = -signal.SIGPROF
"""Exit code of tests that were stopped because they took too long, also inside a compiled kernel."""


class Subject(NamedTuple):
    """Code, and the tests that are for it."""

    files: list[Path]
    tests: list[str]
    compiled: bool = True

    def digest(self) -> str:
        """Changes with the code and the tests."""
        tests = [file for test in self.tests for file in sorted([ROOT / test, *(ROOT / test).rglob("*.py")])]
        code = sorted(PACKAGE.rglob("*.py"))
        return hashlib.sha256(b"\0".join(file.read_bytes() for file in code + tests if file.is_file())).hexdigest()


SUBJECTS = {
    "theory": Subject(sorted((PACKAGE / "theory").glob("[!_]*.py")), ["tests/theory"]),
    "ordering": Subject(sorted((PACKAGE / "ordering").glob("[!_]*.py")), ["tests/ordering"]),
    "kernels": Subject(sorted((PACKAGE / "ordering/kernels").glob("[!_j]*.py")), ["tests/ordering"], compiled=False),
    "store": Subject(
        [PACKAGE / "runs/store.py", PACKAGE / "runs/store_file.py"],
        [*(f"tests/runs/test_store{part}.py" for part in ("", "_files", "_pages")), "tests/runs/test_local.py"],
    ),
}


class Reach(NamedTuple):
    """The lines of the functions that a test calls, by file, and the seconds of the processor that it takes."""

    lines: dict[str, list[int]]
    seconds: float


class _Clock:
    """A pytest plugin: how long the tests take that pass in time, and which do not."""

    def __init__(self, each: float) -> None:
        self.each = each
        self.seconds: dict[str, float] = {}
        self.left_out: list[str] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Too slow a test is skipped: a failure hypothesis would try to make small."""
        start = time.process_time()
        with _Alarm(self.each, lambda *_: pytest.skip("slow")):
            outcome = yield
        if outcome.excinfo is None:  # type: ignore[attr-defined]
            self.seconds[item.nodeid] = time.process_time() - start
        else:
            self.left_out.append(item.nodeid)


class _Tracer:
    """A pytest plugin: the lines of the functions of the subject that each test calls."""

    def __init__(self, files: list[Path]) -> None:
        self.files = set(map(str, files))
        self.lines: dict[str, dict[str, list[int]]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """One test."""
        codes: set[CodeType] = set()

        def enter(frame: FrameType, event: str, value: Any) -> None:
            if frame.f_code.co_filename in self.files and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                codes.add(frame.f_code)  # a function, not the import of a module or a class

        sys.settrace(enter)
        threading.settrace(enter)
        yield
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        lines: dict[str, set[int]] = {}
        for code in codes:
            last = max(line for _, _, line in code.co_lines() if line is not None)
            lines.setdefault(code.co_filename, set()).update(range(code.co_firstlineno, last + 1))
        self.lines[item.nodeid] = {file: sorted(some) for file, some in lines.items()}


class _Hurry:
    """A pytest plugin: writes down which test is running, and ends it when it takes several times as long as it did."""

    def __init__(self, reach: dict[str, Reach], paper: Path) -> None:
        self.reach = reach
        self.paper = paper

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """One test."""
        self.paper.write_text(item.nodeid)
        with _Alarm(10 + 5 * self.reach[item.nodeid].seconds, signal.SIG_DFL):
            yield


class _Alarm:
    """Handles SIGPROF after so many seconds of the processor, unless the block has ended by then."""

    def __init__(self, seconds: float, handler: Any) -> None:
        self.seconds, self.handler = seconds, handler

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self.handler)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)


def forked(job: Callable[[], int], limit: float) -> int:
    """The exit code of `job` in a process of its own; SLOW where it took too long."""
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
    return SLOW


def run_tests(subject: Subject, tests: list[str], *plugins: Any) -> int:
    """pytest's exit code."""
    if not subject.compiled:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        numba.config.DISABLE_JIT = True
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    return int(pytest.main([*options, *tests], plugins))


def told(subject: Subject, tests: list[str], plugin: Any) -> tuple[int, dict[str, Any]]:
    """pytest's exit code, and what the plugin knows after the tests."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as paper:

        def job() -> int:
            code = run_tests(subject, tests, plugin)
            Path(paper.name).write_text(json.dumps(vars(plugin), default=list))
            return code

        code = forked(job, 3600.0)
        return code, json.loads(paper.read() or "{}")


def judges(subject: Subject, each: float) -> dict[str, Reach]:
    """The reach of every test that passes in time, and again with the same tests."""
    code, clock = told(subject, subject.tests, _Clock(each))
    if code not in (0, 1):
        raise SystemExit(f"the tests must run before mutants are made, got exit code {code}: {subject.tests}")
    for name in clock["left_out"]:
        print(f"no judge (fails unchanged, or takes more than {each:g} s): {name}", flush=True)
    code, tracer = told(subject, ["-x", *clock["seconds"]], _Tracer(subject.files))
    if code:
        raise SystemExit(f"the judges must pass when nothing is changed, got exit code {code}")
    return {name: Reach(tracer["lines"][name], seconds) for name, seconds in clock["seconds"].items()}


def fate(mutant: Mutant, subject: Subject, reach: dict[str, Reach], patience: float) -> str:
    """killed, slow (killed by the clock), survived, or unreached."""
    touching = [name for name, of_test in reach.items() if mutant.line in of_test.lines.get(str(mutant.path), ())]
    if not touching:
        touching = [name for name, of_test in reach.items() if of_test.lines.get(str(mutant.path))]  # runs at import
    touching.sort(key=lambda name: reach[name].seconds)
    total = list(itertools.accumulate(reach[name].seconds for name in touching))
    chosen = [name for name, seconds in zip(touching, total, strict=True) if seconds <= patience] or touching[:1]
    if not chosen:
        return "unreached"

    def run(tests: list[str], *finders: Finder) -> tuple[int, str]:
        with tempfile.NamedTemporaryFile("r") as paper:

            def job() -> int:
                sys.meta_path[:0] = finders
                return run_tests(subject, ["-x", *tests], _Hurry(reach, Path(paper.name)))

            return forked(job, 300.0 + 20 * patience), paper.read()

    code, last = run(chosen, Finder(mutant))
    if code and last and run([last])[0]:  # a busy machine, not the mutant
        return fate(mutant, subject, {name: of_test for name, of_test in reach.items() if name != last}, patience)
    return "slow" if code == SLOW else "killed" if code else "survived"


def kept(path: Path, subject: Subject, each: float) -> dict[str, Any]:
    """What is known from before about this code and these tests."""
    digest = f"{subject.digest()} {each:g}"
    if path.exists() and (known := json.loads(path.read_text()))["digest"] == digest:
        return {**known, "reach": {name: Reach(*fields) for name, fields in known["reach"].items()}}
    return {"digest": digest, "reach": judges(subject, each), "fates": {}}


def main() -> None:
    """One line for each survivor, and one for each subject."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="+", choices=SUBJECTS)
    parser.add_argument("--sample", type=int, help="so many mutants of each subject, drawn at random (all)")
    parser.add_argument("--count", action="store_true", help="only print how many mutants each subject has")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", default="", help="only files with this in their name")
    parser.add_argument("--tests", nargs="+", help="files of tests to take the judges from (the subject's)")
    parser.add_argument("--each", type=float, default=20.0, help="a judge takes at most so many seconds (20)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds of tests for a mutant (60)")
    args = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in args.subjects:
        subject, path = SUBJECTS[name], KEPT / f"{name}.json"
        subject = subject._replace(tests=args.tests or subject.tests)
        every = [mutant for file in subject.files if args.file in file.name for mutant in mutants_of(file)]
        if not every:
            raise SystemExit(f"`--file` must leave a file of {name} with mutants, got {args.file!r}.")
        if args.count:
            print(f"{name}: {len(every)} mutants", flush=True)
            continue
        known = kept(path, subject, args.each)
        chosen = every
        if args.sample is not None and args.sample < len(every):
            chosen = random.Random(args.seed).sample(every, args.sample)
        count = dict.fromkeys(("killed", "slow", "survived", "unreached"), 0)
        for mutant in chosen:
            key = f"{mutant.path.name} {mutant.number}"
            end, patience = known["fates"].get(key, ("survived", 0))
            if end == "survived" and patience < args.patience:
                end = fate(mutant, subject, known["reach"], args.patience)
                known["fates"][key] = end, args.patience
                path.write_text(json.dumps(known))
            count[end] += 1
            if end in ("survived", "unreached"):
                print(f"{end}  {mutant.path.relative_to(ROOT)}:{mutant.line}  {mutant.made()[1]}", flush=True)
        dead = count["killed"] + count["slow"]
        share = f"{dead} of {len(chosen)} killed ({100 * dead / len(chosen):.1f} %)"
        print(f"{name}: {share}, {len(every)} in all, {len(known['reach'])} tests; {count}", flush=True)


if __name__ == "__main__":
    main()
