"""Train what wants a GPU on one that is there for minutes and may go at any moment: no second and no result is lost.

    python -m reproduction.borrowed_gpu --from KEPT                         what is missing, and the seconds it takes
    python -m reproduction.borrowed_gpu NAME ... --seconds 560 --from KEPT --output OUT
    python -m reproduction.borrowed_gpu --from KEPT --take                  at home: into reproduction/results
    python -m reproduction.borrowed_gpu NAME ... --from KEPT --take --partly    tables of what there is so far, too

Experiments are trained in the order in which they are named (`reproduction/waiting.py`). The results of every batch of
runs are added to a log in the folder OUT, a new one in each process: what a kill costs is the batch in training. A
batch that should not end in time is not begun, another that should is; at the limit the process ends. The next process
goes on from the folder KEPT, which holds logs of earlier ones, stores of `taskorder run`, or both; it may be OUT
itself. Nothing is downloaded. Fine-tuning leaves a GPU idle between short steps: several processes share it well
(`--share 1/4`, `--share 2/4`, ...); one of JAX takes most of its memory.

`reproduction/borrowed_gpu.md` says how to pack what is needed, and has a plan.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.run_log import Log, copy_runs, load_kept
from reproduction.running import STORE, TABLES
from reproduction.waiting import NAMES, Part, parts_of
from taskorder.arguments import BadArgument
from taskorder.runs.archive import write_archive
from taskorder.runs.local import Interrupted, complete
from taskorder.runs.specs import KIND, RunSpec
from taskorder.runs.store import Store

MARGIN = 1.1
"""How much longer a batch may take than the one before."""


class Trainer:
    """Trains experiments until a time is up, with a store in memory and a log."""

    def __init__(self, store: Store, log: Log, end: float, share: tuple[int, int] = (0, 1)) -> None:
        """end: in the time of `time.monotonic`. share: (i, n) for runs i, i + n, ... of every part."""
        self._store, self._log, self._end, self._share = store, log, end, share
        self._pace = 1.0
        """How many times as long as expected the last batch of the experiment took."""

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return self._end - time.monotonic()

    def train(self, name: str) -> None:
        """Train what is missing of an experiment, as far as there is time; errors of a part end that part alone."""
        self._pace = 1.0
        number, of = self._share
        for part in parts_of(name):
            part = part._replace(specs=part.specs[number::of])
            if not self._store.missing(part.specs):
                continue
            try:
                self._train_part(part)
            except Interrupted:
                say(f"{part.name}: the next batch would take longer than the {self.left:.0f} s that are left")
            except Exception as problem:
                traceback.print_exc()
                say(f"{part.name}: failed, and the rest goes on: {type(problem).__name__}: {problem}")

    def _train_part(self, part: Part) -> None:
        how: dict[str, Any] = {"device": part.device(), "inputs": part.inputs()}
        size, began = part.batch_size(), time.monotonic()

        def ends_late(done: int, total: int) -> bool:
            nonlocal began
            began = time.monotonic()
            return MARGIN * self._pace * part.seconds * min(size, total - done) > self.left

        def finished(batch: Sequence[RunSpec], results: Sequence[dict[str, Any]]) -> None:
            took = time.monotonic() - began
            self._pace = took / (part.seconds * len(batch))
            self._log.add(batch, results, {**how, "seconds": took / len(batch)})
            missing = len(self._store.missing(part.specs))
            say(
                f"{part.name}: {len(part.specs) - missing} of {len(part.specs)} runs, {len(batch)} in {took:.1f} s, "
                f"about {missing * self._pace * part.seconds:.0f} s to go; log {self._log.num_bytes / 1e6:.2f} MB, "
                f"{self.left:.0f} s left"
            )

        go_on: dict[str, Any] = {"report": ends_late, "finished": finished, "keep_going": True}
        if complete(part.specs, part.run_batch, self._store, batch_size=size, **go_on, **how):
            digests = {spec.digest for spec in part.specs}
            for failure in self._store.failures():
                if failure.digest in digests:
                    say(f"{part.name}: failed {failure.params}: {failure.error}")


def say(line: str) -> None:
    """Print a line at once: the process may be killed after it."""
    print(line, flush=True)


def end_now() -> None:
    """End the process, whatever it computes."""
    say("the time is up")
    os._exit(0)


def plan(store: Store, names: Sequence[str]) -> list[str]:
    """A line for each part with runs that are missing."""
    lines, total = [f"{'part':<36} {'missing':>12} {'s a run':>8} {'seconds':>8}"], 0.0
    for part in (part for name in names for part in parts_of(name)):
        if missing := len(store.missing(part.specs)):
            total += missing * part.seconds
            counts = f"{missing} of {len(part.specs)}"
            lines.append(f"{part.name:<36} {counts:>12} {part.seconds:>8.1f} {missing * part.seconds:>8.0f}")
    return [*lines, f"{'all':<36} {'':>12} {'':>8} {total:>8.0f}"]


def take(store: Store, tables: Path, names: Sequence[str], *, partly: bool = False) -> list[str]:
    """Write the tables of runs of `taskorder run` that are whole; a line for each part that is there.

    What figures train themselves is kept by them, as soon as they find it in the store.
    partly: also tables of which only some runs are there.
    """
    lines = []
    for part in (part for name in names for part in parts_of(name)):
        entries = [entry for spec in part.specs if (entry := store.entry(spec.digest))]
        line = f"{part.name}: {len(entries)} of {len(part.specs)} runs"
        if entries and (partly or len(entries) == len(part.specs)) and part.specs[0].kind == KIND:
            path = tables / f"{part.name}.csv.gz"
            tables.mkdir(parents=True, exist_ok=True)
            with Store() as whole:
                copy_runs(store, whole, entries)
                write_archive(path, whole)
            line += f", in {path}"
        lines += [line] if entries else []
    return lines


def main() -> None:
    """Print a plan, train or take over."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction.borrowed_gpu",
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; or a cell of the atlas")
    add("--seconds", type=float, default=560.0, help="how long to train at most (default: 560)")
    add("--from", action="append", default=[], type=Path, metavar="KEPT", dest="kept", help="what there is; repeatable")
    add("--output", type=Path, metavar="OUT", help="train, and write results to this folder")
    add("--share", default="1/1", metavar="I/N", help="train run I, I + N, ... of every part: N processes on one GPU")
    add("--take", action="store_true", help="put what there is into the folder of results")
    add("--partly", action="store_true", help="with --take: also tables of which only some runs are there")
    add("--results", type=Path, default=Path("reproduction/results"), help="that folder")
    args = parser.parse_args()
    names = args.names or NAMES
    try:
        all(map(parts_of, names))
    except BadArgument as problem:
        parser.error(str(problem))
    number, _, of = args.share.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        parser.error(f"`--share` must be I/N with I from 1 to N, got {args.share}.")
    end = time.monotonic() + args.seconds
    with Store(args.results / STORE if args.take else None) as store:
        timer = threading.Timer(args.seconds, end_now)  # a thread: while a batch is computed, signals are not looked at
        timer.daemon = True
        if args.output is not None:
            timer.start()
        try:
            for folder in args.kept:
                say(f"{load_kept(folder, store)} runs from {folder}")
            if args.output is None:
                tables = args.results / TABLES
                print(*(take(store, tables, names, partly=args.partly) if args.take else plan(store, names)), sep="\n")
                return
            trainer = Trainer(store, Log(args.output), end, (int(number) - 1, int(of)))
            for name in names:
                trainer.train(name)
            say(f"done, with {trainer.left:.0f} s left")
        finally:
            timer.cancel()


if __name__ == "__main__":
    main()
