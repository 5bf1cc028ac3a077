"""Give damaged files to every reader and tally what it does with them.

    PYTHONPATH=src python -m tests.fuzz.fuzz --inputs 20000

A reader must take an input or refuse it with one line: no other exception, no hang, no unbounded memory. Inputs that
break this are written to --keep, with what happened; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType

from .readers import READERS, Reader, one_line, refusal

SECONDS = 5.0
"""Of the processor: an input of some kilobytes may take no longer."""
PATIENCE = 60.0
"""By the clock, for what waits and does not compute."""
ROOM = 2**30
"""Bytes of addresses that a reader may take beyond what the process has."""


class Hang(BaseException):
    """Raised in a reader that is not done in time; no `except Exception` may swallow it."""


def make(reader: Reader, rng: Random, folder: Path) -> Path:
    """A damaged input, in a file."""
    path = folder / f"input{reader.ending}"
    path.write_bytes(rng.choice(reader.mutations)(rng.choice(reader.seeds()), rng))
    return path


def give(reader: Reader, path: Path) -> str:
    """Let a reader have an input; "taken" or "refused". Anything else is raised."""
    with limits(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reader.read(path)
        except ValueError as problem:
            if not refusal(problem):
                raise
            return "refused"
    return "taken"


@contextmanager
def limits() -> Iterator[None]:
    """A clock and a bound on memory."""

    def late(number: int, frame: FrameType | None) -> None:
        raise Hang(f"not done after {SECONDS} s of work or {PATIENCE} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    old = [signal.signal(which, late) for which in (signal.SIGPROF, signal.SIGALRM)]
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, before[1]))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        for which, handler in zip((signal.SIGPROF, signal.SIGALRM), old, strict=True):
            signal.signal(which, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def main() -> int:
    """The table of readers; 1 if any of them did what none may do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000, help="for each reader (20000; a dear one gets a share)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers whose names have this in them")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"), help="where bad inputs go")
    args = parser.parse_args()
    bad = 0
    sys.stdout.write(f"{'reader':24} {'inputs':>7} {'taken':>7} {'refused':>8} {'bad':>4} {'s':>6} {'peak MB':>8}\n")
    for reader in READERS.values():
        if args.only in reader.name:
            bad += _long_run(reader, args.inputs, args.seed, args.keep)
    return 1 if bad else 0


def _long_run(reader: Reader, inputs: int, seed: int, keep: Path) -> int:
    rng, count, failures = Random(f"{reader.name} {seed}"), {"taken": 0, "refused": 0}, {}
    start, number = time.monotonic(), max(inputs // reader.cost, 1)
    for _ in range(number):
        with tempfile.TemporaryDirectory() as name:
            path = make(reader, rng, Path(name))
            try:
                count[give(reader, path)] += 1
            except (Exception, Hang) as problem:
                last = traceback.extract_tb(problem.__traceback__)[-1]
                where = f"{Path(last.filename).name}:{last.lineno}"
                key = f"{type(problem).__name__}: {one_line(str(problem))[:100]} ({where})"
                failures[key] = failures.get(key, 0) + 1
                if failures[key] == 1:
                    keep.mkdir(exist_ok=True)
                    place = keep / f"{reader.name.replace(' ', '-').replace('/', '-')}-{len(failures)}"
                    shutil.copy(path, f"{place}{reader.ending}")
                    Path(f"{place}.txt").write_text("".join(traceback.format_exception(problem)))
    spent, peak = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bad = sum(failures.values())
    sys.stdout.write(
        f"{reader.name:24} {number:7} {count['taken']:7} {count['refused']:8} {bad:4} {spent:6.1f} {peak:8.0f}\n"
    )
    for key, times in failures.items():
        sys.stdout.write(f"    {times} x {key}\n")
    sys.stdout.flush()
    return bad


if __name__ == "__main__":
    sys.exit(main())
