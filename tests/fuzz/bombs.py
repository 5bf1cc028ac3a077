"""What the files of cases.py cost their readers, beside the budget of taskorder/costs.py.

    python -m tests.fuzz.bombs                    # every case, in a process of its own with limits
    python -m tests.fuzz.bombs --only Parquet     # those whose names have this in them
    python -m tests.fuzz.bombs --before 3e8a4ab   # and what they cost with the code of that commit, from git

Memory is what a process takes beyond what it had before it read, seconds are of the processor. A process that takes
3 GiB is ended, and so is one that takes half a minute for a file that does not hold what it says. The exit code is 1 if
the budget is broken, or a file that holds what it says is refused.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .bomb_files import MB

ROOT = Path(__file__).parents[2]
ROOM = 3 * 2**30
"""Bytes of addresses that a reader may take beyond what the process has."""
SECONDS = 30
"""Of the processor; ten times as many for a file that holds what it says."""
PATIENCE = 1200
"""By the clock."""


class Cost(NamedTuple):
    """What a file has cost a reader."""

    outcome: str
    """taken, refused: and why, or what happened else."""
    memory: int
    """Bytes."""
    seconds: float

    @property
    def is_known(self) -> bool:
        """Whether the process came to an end of its own."""
        return self.outcome.startswith(("taken", "refused"))


def cost(name: str, path: Path, source: Path = ROOT) -> Cost:
    """The cost of a case in a process of its own, with the code in `source`."""
    words = [sys.executable, "-m", "tests.fuzz.bombs", "--one", name, str(path), str(source)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source / "src"), str(ROOT)])}
    try:
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return Cost("never ended", 0, PATIENCE)
    if done.returncode < 0:
        return Cost(f"ended by signal {-done.returncode}", 0, SECONDS)
    if done.returncode or not done.stdout:  # a fault of ours: nothing was read, and nothing measured
        raise RuntimeError(f"{name} was not read: {(done.stderr.strip().splitlines() or ['no words'])[-1]}")
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def broken(found: Cost, size: int, fair: bool) -> list[str]:
    """What is wrong with the cost of a file of this size."""
    from taskorder.costs import most_memory, most_seconds  # which older code has not

    if not found.is_known:
        return [found.outcome]
    wrong = []
    if found.memory > most_memory(size):
        wrong.append(f"{found.memory / MB:.0f} MB of {most_memory(size) / MB:.0f}")
    if found.seconds > most_seconds(size):
        wrong.append(f"{found.seconds:.1f} s of {most_seconds(size):.1f}")
    return wrong + ([found.outcome] if fair and found.outcome != "taken" else [])


@contextlib.contextmanager
def written(name: str) -> Iterator[tuple[Path, int]]:
    """The file of a case (or files beside each other), for the time of the block; where it is, and its size."""
    from .cases import CASES

    case = next(case for case in CASES if case.name == name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"input{case.ending}"
        case.make(path)
        yield path, sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def measure(name: str, path: Path) -> Cost:
    """Read a file under limits, in this process, which is of no more use then."""
    from .cases import CASES
    from .readers import READERS

    case = next(case for case in CASES if case.name == name)
    _get_ready(READERS.get(case.reader))
    Path("/proc/self/clear_refs").write_text("5")  # the highest memory so far is forgotten
    before, start = _kilobytes("VmRSS"), time.process_time()
    for kind, most in (
        (resource.RLIMIT_AS, _kilobytes("VmSize") * 1024 + ROOM),
        (resource.RLIMIT_CPU, int(start) + SECONDS * (10 if case.fair else 1)),
    ):
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.read(path)
            outcome = "taken"
        except ValueError as problem:
            outcome = f"refused: {problem}".strip()
        except BaseException as problem:
            outcome = f"{type(problem).__name__}: {problem}"
    return Cost(outcome, (_kilobytes("VmHWM") - before) * 1024, time.process_time() - start)


def _kilobytes(key: str) -> int:
    """What the system says of this process."""
    return int(Path("/proc/self/status").read_text().split(f"{key}:")[1].split()[0])


def _get_ready(reader: object) -> None:
    """Import what readers import, and let this one read a small file: neither is the cost of a large one."""
    import openpyxl  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    from PIL import Image

    from .readers import Reader

    Image.init()
    if isinstance(reader, Reader):
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ValueError):
            path = Path(folder) / f"input{reader.ending}"
            path.write_bytes(reader.seeds()[0])
            reader.read(path)


@contextlib.contextmanager
def code_of(commit: str) -> Iterator[Path]:
    """A folder with the code of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "archive", commit, "src", "reproduction"], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        yield Path(folder)


def main() -> int:
    """Print the table; 1 if the budget is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument("--before", metavar="COMMIT", help="measure the code of this commit, too")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        name, path, source = args.one
        sys.path.insert(0, source)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found = measure(name, Path(path))
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
        os._exit(0)  # what has taken gigabytes takes seconds to end
    from .cases import CASES

    bad = 0
    with contextlib.ExitStack() as stack:
        before = None if args.before is None else stack.enter_context(code_of(args.before))
        sys.stdout.write("| reader | file | MB | memory, MB | seconds | |\n|---|---|---|---|---|---|\n")
        for case in CASES:
            if args.only not in case.name:
                continue
            with written(case.name) as (path, size):
                costs = [cost(case.name, path)]
                if before is not None:
                    costs.insert(0, cost(case.name, path, before))
            wrong = broken(costs[-1], size, case.fair)
            bad += bool(wrong)
            what = "holds what it says" if case.fair else costs[-1].outcome.partition(":")[0]
            memory, seconds = (" → ".join(map(shown, costs)) for shown in (_memory, _seconds))
            row = (
                case.reader,
                case.what,
                f"{size / MB:.3g}",
                memory,
                seconds,
                f"**{'; '.join(wrong)}**" if wrong else what,
            )
            sys.stdout.write(f"| {' | '.join(row)} |\n")
            sys.stdout.flush()
    return 1 if bad else 0


def _memory(found: Cost) -> str:
    return (
        f"{found.memory / MB:.0f}" if found.is_known else f"over {ROOM / MB:.0f}" if "Memory" in found.outcome else "-"
    )


def _seconds(found: Cost) -> str:
    return f"{found.seconds:.1f}" if found.is_known or "Memory" in found.outcome else f"over {SECONDS}"


if __name__ == "__main__":
    sys.exit(main())
