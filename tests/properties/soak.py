"""Long use of one process: does it keep memory, threads or files? Prints a table for each kind of use.

    PYTHONPATH=src nice -n 10 python -m tests.properties.soak server solve pilot rounds store

Each row is read from /proc after a share of the work. The first one comes after a tenth, when caches are full and what
is compiled is compiled.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import http.client
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from taskorder import Task, plan
from taskorder.learners import CallableLearner, LearnerError

from .cases import PROVEN, SMALL, draw
from .test_planner import law_abiding

MARKS = (0.1, 0.25, 0.5, 1.0)
"""Shares of the work after which somebody looks."""
GROWTH_MB = 30.0
"""From the first look to the last; allocators and caches may take a little."""


class Gauge:
    """What a process has, at some shares of its work."""

    def __init__(
        self, title: str, total: int, process: int | str = "self", rest: Callable[[], None] | None = None
    ) -> None:
        """rest: lets what is idle end, where there seem to be more threads or files."""
        self.process, self.total, self.rest = process, total, rest
        self.waiting = [max(1, round(mark * total)) for mark in MARKS]
        self.memory: list[float] = []
        self.counts: list[tuple[int, int]] = []
        self.start = time.monotonic()
        sys.stdout.write(f"{title}\n{'done':>8} {'s':>6} {'MB':>7} {'threads':>8} {'files':>6}\n")

    def done(self, count: int, more: str = "") -> None:
        """Look, if it is time to."""
        if not self.waiting or count < self.waiting[0]:
            return
        while self.waiting and count >= self.waiting[0]:
            self.waiting.pop(0)
        memory, threads, files = self._look()
        if self.rest is not None and self.counts and self._more(threads, files):
            self.rest()
            memory, threads, files = self._look()
        self.memory.append(memory)
        self.counts.append((threads, files))
        seconds = time.monotonic() - self.start
        sys.stdout.write(f"{count:8} {seconds:6.0f} {memory:7.1f} {threads:8} {files:6} {more}\n")
        sys.stdout.flush()

    @property
    def grown(self) -> bool:
        """Whether there is more at the end than at the first look."""
        return self._more(*self.counts[-1]) or self.memory[-1] > self.memory[0] + GROWTH_MB

    def _more(self, threads: int, files: int) -> bool:
        return threads > self.counts[0][0] + 2 or files > self.counts[0][1] + 2

    def _look(self) -> tuple[float, int, int]:
        """Memory in MB, threads and open files."""
        if self.process == "self":
            _trim()
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        status = {key: value.split() for key, _, value in (line.partition(":") for line in lines)}
        files = sum(not name.endswith(".ttf") for name in _open_files(self.process))
        return int(status["VmRSS"][0]) / 1024, int(status["Threads"][0]), files


def _trim() -> None:
    """Hand back what the allocator keeps of memory that is free: what is left is in use."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # where the library of C is another one
        ctypes.CDLL(None).malloc_trim(0)


def _open_files(process: int | str) -> Iterator[str]:
    """Their names; matplotlib keeps up to 64 fonts open, those of each thread apart."""
    for number in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield os.readlink(f"/proc/{process}/fd/{number}")


def server(requests: int) -> bool:
    """Mixed requests and uploads to an explorer, some of them damaged, refused or left in the middle."""
    with _explorer() as (process, port, token):
        rng = np.random.default_rng(0)

        def rest() -> None:
            time.sleep(IDLE_SECONDS)
            _request(np.random.default_rng(0), port, token, PLAN)

        gauge = Gauge(f"explorer: {requests} requests", requests, process, rest)
        kinds: dict[str, int] = {}
        for kind in range(NUM_KINDS):  # what is imported and compiled for one, such as what draws reports, is no growth
            _request(rng, port, token, kind)
        for count in range(1, requests + 1):
            status = _request(rng, port, token)
            kinds[status] = kinds.get(status, 0) + 1
            gauge.done(count, " ".join(f"{key}: {kinds[key]}" for key in sorted(kinds)))
        return gauge.grown or any(key.startswith("5") for key in kinds)


@contextlib.contextmanager
def _explorer() -> Iterator[tuple[int, int, str]]:
    command = [sys.executable, "-m", "taskorder", "explore", "--port", "0"]
    # the allocator keeps what is free for each thread apart: that is no growth, and nobody can ask it back from here
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as one:
        assert one.stdout is not None
        address, _, token = one.stdout.readline().strip().partition("/#token=")
        try:
            yield one.pid, int(address.rpartition(":")[2]), token
        finally:
            one.terminate()


NUM_KINDS = 15
"""Of requests."""
PLAN = 8
"""The kind that asks for the plan of an order, in a thread of the server's pool."""
IDLE_SECONDS = 12.0
"""A thread of the pool that has had no work for ten ends with the next work that comes."""


def _request(rng: np.random.Generator, port: int, token: str, kind: int | None = None) -> str:
    """Send one, of a kind or of any, and return its status; "left" where nobody waits for the answer."""
    size = int(rng.choice([2, 5, 8, 9, 30])) if kind is None else 5
    vectors = rng.normal(size=(size, size + 1)) + 0.3
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    table = (vectors @ vectors.T).tolist() if rng.random() < 0.5 else rng.uniform(0, 0.9, (size, size)).tolist()
    for task in range(size):
        table[task][task] = 1.0
    body = {"similarity": table, "retention": 0.13, "names": [f"t{k}" for k in range(size)]}
    made = {**body, "order": rng.permutation(size).tolist()}
    text = "\n".join(",".join(map(str, row)) for row in table).encode()
    packed = io.BytesIO()
    np.savez(packed, similarity=np.array(table))
    choices: list[tuple[float, str, str, bytes]] = [
        (4, "GET", "/", b""),
        (4, "GET", "/static/recursion.js", b""),
        (4, "GET", "/api/start", b""),
        (4, "GET", f"/api/example/ring?tasks={size}", b""),
        (6, "POST", "/api/table?name=a.csv", text),
        (6, "POST", "/api/table?name=a.npz", packed.getvalue()),
        (3, "POST", "/api/table?name=a.csv", text[: len(text) // 2]),
        (3, "POST", "/api/table?name=a.npz", packed.getvalue()[:-40]),
        (8, "POST", "/api/plan", json.dumps(made).encode()),
        (2, "POST", "/api/plan", json.dumps({**made, "order": [0, 0]}).encode()),
        (4, "POST", "/api/solve", json.dumps({**body, "rule": "optimal", "seconds": 0.2}).encode()),
        (2, "POST", "/api/solve", json.dumps({**body, "rule": "worst", "retention": 0.9, "seconds": 0.2}).encode()),
        (1, "POST", "/api/rules", json.dumps(body).encode()),
        (1, "POST", "/api/stop/nothing", b""),
        (0.2, "POST", "/api/report", json.dumps(made).encode() if size < 9 else b"{}"),
    ]
    weights = np.array([weight for weight, *_ in choices])
    assert len(choices) == NUM_KINDS
    chosen = rng.choice(NUM_KINDS, p=weights / weights.sum()) if kind is None else kind
    _, method, path, content = choices[chosen]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    known = token if kind is not None or rng.random() < 0.95 else "wrong"
    try:
        connection.request(method, path, content, {"x-taskorder-token": known})
        if kind is None and rng.random() < 0.03:
            return "left"
        answer = connection.getresponse()
        answer.read()
        return str(answer.status)
    finally:
        connection.close()


def solving(calls: int) -> bool:
    """`solve` in one process, on tables and constraints of all kinds."""
    gauge, rng = Gauge(f"solve: {calls} calls", calls), np.random.default_rng(0)
    for count in range(1, calls + 1):
        draw(rng, (*SMALL, *PROVEN[:1])).solve(time_limit=1.0)
        gauge.done(count)
    return gauge.grown


def _box(count: int) -> tuple[list[Task], CallableLearner]:
    rng, names = np.random.default_rng(0), [f"t{k:03d}" for k in range(count)]
    table = rng.uniform(0, 0.7, (count, count))
    np.fill_diagonal(table, 0.9)
    return [Task(name) for name in names], law_abiding(table, 0.1, names, 0.05)


def pilot(tasks: int) -> bool:
    """One pilot of many small tasks with a store."""
    listed, learner = _box(tasks)
    fits = 3 * tasks
    gauge = Gauge(f"a pilot of {tasks} tasks: {fits} fits", fits)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "pilot.sqlite"

        def report(done: int, total: int) -> None:
            gauge.done(done, f"store {_megabytes(store):.1f} MB")

        found = plan(listed, learner, seeds=1, budget=fits, draws=5, store=store, report=report, progress=False)
        left = sorted(path.name for path in Path(folder).iterdir())
    sys.stdout.write(
        f"ended after {found.seconds:.0f} s with {found.confidence and found.confidence.verdict}; {left}\n"
    )
    gauge.waiting = [fits]
    gauge.done(fits, "after the plan")
    return len(left) > 1 or gauge.counts[-1][1] > gauge.counts[0][1] + 2


def rounds(plans: int) -> bool:
    """Small pilots one after the other."""
    listed, learner = _box(5)
    gauge = Gauge(f"{plans} pilots of 5 tasks", plans)
    for count in range(1, plans + 1):
        plan(listed, CallableLearner(learner.answer, name="law"), seeds=1, draws=5, sample_seed=count)
        gauge.done(count)
    return gauge.grown


def store(resumptions: int) -> bool:
    """A pilot that is interrupted after every few fits and goes on from its store."""
    listed, learner = _box(17)
    left = [0]

    def answer(learned: tuple[str, ...], test: str, seed: int) -> dict[str, float]:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("interrupted")
        return learner.answer(learned, test, seed)

    gauge = Gauge(f"a pilot that is resumed {resumptions} times", resumptions)
    with tempfile.TemporaryDirectory() as folder:
        kept, count, found = Path(folder) / "pilot.sqlite", 0, None
        fits = len(listed) * len(listed)
        while found is None:
            left[0], count = len(listed) * max(1, fits // resumptions) + 1, count + 1
            try:
                found = plan(listed, CallableLearner(answer, name="law"), seeds=1, budget=None, draws=0, store=kept)
            except LearnerError:
                gauge.done(count, f"store {_megabytes(kept):.2f} MB, files {sorted(os.listdir(folder))}")
        left[0] = 10**9
        whole = plan(listed, CallableLearner(answer, name="law"), seeds=1, budget=None, draws=0)
        again = plan(
            listed, CallableLearner(answer, name="law"), seeds=1, budget=None, draws=0, store=Path(folder) / "x"
        )
        sizes = [f"{_megabytes(path):.2f}" for path in (kept, Path(folder) / "x")]
    sys.stdout.write(
        f"{count} starts; store {sizes[0]} MB, in one go {sizes[1]} MB; same plan: {found.order == whole.order}\n"
    )
    return gauge.grown or not found.order == whole.order == again.order or found.prediction != whole.prediction


def _megabytes(path: Path) -> float:
    return path.stat().st_size / 2**20 if path.exists() else 0.0


SOAKS: dict[str, tuple[Callable[[int], bool], int]] = {
    "server": (server, 10_000),
    "solve": (solving, 10_000),
    "pilot": (pilot, 300),
    "rounds": (rounds, 300),
    "store": (store, 100),
}
"""Each with how much there is to do."""


def main() -> int:
    """The tables; 1 if something grew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("soaks", nargs="*", default=[*SOAKS], metavar="SOAK", help=f"some of {', '.join(SOAKS)} (all)")
    parser.add_argument("--share", type=float, default=1.0, help="of the work (1)")
    args = parser.parse_args()
    grown = []
    for name in args.soaks:
        work, total = SOAKS[name]
        if work(max(10, round(args.share * total))):
            grown.append(name)
    sys.stdout.write(f"grown: {', '.join(grown) or 'nothing'}\n")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
