"""`taskorder run`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskorder.cli.onray import add_ray, on_ray, worker_share
from taskorder.cli.output import CANNOT_WRITE, INTERRUPTED, as_line, say
from taskorder.cli.progress import Interruptible
from taskorder.visible import visible

if TYPE_CHECKING:
    from taskorder.engine.tree import Work
    from taskorder.runs.cluster import Share
    from taskorder.runs.settings import Config
    from taskorder.runs.specs import RunSpec, RunSpecs
    from taskorder.runs.store import Store

FAILED = 1
LINE_EVERY_SECONDS = 60.0
"""Where stderr is no terminal."""

EPILOG = """\
CONFIG.toml says which data set, network, task sets and orders;
examples/quick.toml explains the keys. A finished task set stays in the store:
after Ctrl-C, a crash or a full disk the same command continues, and tries
failed runs again. Several processes may share a store without repeating each
other's work.

--ray spreads the task sets over the workers of a Ray cluster; the table is the
same. Without a value it starts Ray on this machine and ends it again; --ray
auto uses the cluster of this machine, --ray ray://HOST:10001 another. See
docs/scale.md.

example:
  taskorder run examples/quick.toml
  taskorder status results/quick.sqlite
  taskorder export results/quick.sqlite -o quick.csv
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="train networks on task sets in many orders",
        description="Train networks on task sets in many orders.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("config", metavar="CONFIG.toml", help="what to run")
    add("--store", metavar="FILE", help="where results are kept (results/CONFIG.sqlite)")
    add("--batch", type=int, metavar="N", help="task sets to train together (1 on a CPU, else what fits the device)")
    add_ray(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.runs.store import Store
    from taskorder.runs.store_file import StoreError

    name = Path(args.config).stem
    path = Path(args.store) if args.store is not None else Path("results") / f"{name}.sqlite"
    if args.batch is not None and args.batch < 1:
        raise ValueError(f"`--batch` must be at least 1, got {args.batch}.")
    share = worker_share(args)
    if find_spec("jax") is None:
        raise ValueError('The JAX engine is not installed. Install it with: pip install "taskorder[neural]".')
    from taskorder.runs import training as runs
    from taskorder.runs.settings import read_config
    from taskorder.runs.specs import RunSpecs

    # config and data come before there is a store, which a slip of the keyboard should not leave behind
    config = read_config(args.config)
    specs = RunSpecs(config)
    try:
        runs.task_set_of(specs[0])
        with Store(path) as store:
            num_failed, summary = _run(args, config, specs, name, store, share)
    except StoreError as problem:
        say(f"error: {problem}")
        return CANNOT_WRITE, ""
    except KeyboardInterrupt:
        say(f"interrupted; what is finished is kept in {path}, and the same command goes on from there")
        return INTERRUPTED, ""
    if num_failed:
        say(f"{num_failed} failed; taskorder status {path} says why, and the same command tries again")
    return FAILED if num_failed else 0, summary


def _run(
    args: argparse.Namespace, config: Config, specs: RunSpecs, name: str, store: Store, share: Share | None
) -> tuple[int, str]:
    """How many specs failed, and what to print."""
    from dataclasses import asdict

    from taskorder.runs import training as runs
    from taskorder.runs.specs import num_trainings

    inputs = runs.inputs_digest(config.dataset)
    if store.inputs(specs) - {inputs}:
        raise ValueError(
            f"`--store` must hold results from the same data, got {store.path} from data that have changed since. "
            "Choose another with --store FILE."
        )
    store.request(name, asdict(config), specs)
    meter = _Meter(num_trainings(specs[0]), name, draw=sys.stderr.isatty())
    how: dict[str, Any] = {"report": meter.specs, "keep_going": True, "inputs": inputs}
    if share is None:
        num_failed = _here(config, args.batch, specs, store, meter, how)
    else:
        with on_ray(args.address, share):
            num_failed = _there(config, args.batch, specs, store, meter, {**how, "share": share})
    done = len(specs) - num_failed
    pace = f"; {meter.pace()}" if meter.network_steps else ""
    return num_failed, as_line(f"{name}: {done} of {len(specs)} done, {num_failed} failed, in {store.path}{pace}")


def _here(
    config: Config, batch: int | None, specs: Sequence[RunSpec], store: Store, meter: _Meter, how: dict[str, Any]
) -> int:
    """How many specs failed in this process."""
    from taskorder.engine.compiled import keep_compiled
    from taskorder.runs import training as runs
    from taskorder.runs.local import complete

    def run_batch(batch: Sequence[RunSpec]) -> list[dict[str, Any]]:
        results = runs.run_batch(batch, report=meter.work)
        meter.end_batch()
        return results

    keep_compiled()
    batch_size = batch or runs.specs_at_once(config)
    with meter:
        return complete(specs, run_batch, store, batch_size=batch_size, device=runs.device_name(), **how)


def _there(
    config: Config, batch: int | None, specs: Sequence[RunSpec], store: Store, meter: _Meter, how: dict[str, Any]
) -> int:
    """How many specs failed on the workers of Ray."""
    from taskorder.runs import training as runs
    from taskorder.runs.ray import complete
    from taskorder.runs.training import Training

    def finished(batch: Sequence[RunSpec], results: Sequence[dict[str, Any]]) -> None:
        meter.end_specs(len(batch), sum(result["network_steps"] for result in results))

    training = Training(runs.dataset_of(config.dataset))
    batch_size = batch or partial(training.specs_at_once, config)
    with meter:
        return complete(specs, training, store, batch_size=batch_size, device=training.device, finished=finished, **how)


class _Meter(Interruptible):
    """How far the training is: a bar on a terminal, else a line on stderr now and then.

    Ctrl-C is raised at the next report.
    """

    def __init__(self, trainings_each: int, label: str, *, draw: bool) -> None:
        self.network_steps = 0
        self._trainings = 0
        self._batch: tuple[int, int] = (0, 0)
        self._each, self._total = trainings_each, 0
        self._specs = ""
        self._label = visible(label)
        self._draw = draw
        self._start = self._said = time.monotonic()

    def specs(self, done: int, total: int) -> None:
        """`done` of `total` specs are in the store, here or by another process."""
        self._specs = f"{done} of {total} done"
        self._total = self._total or (total - done) * self._each
        self._batch = (0, 0)  # a batch that failed counts for nothing
        self._show()

    def work(self, work: Work) -> None:
        """The batch in training has come so far."""
        self._batch = (work.trainings, work.network_steps)
        self._show()

    def end_batch(self) -> None:
        """The batch in training is through."""
        self._add(*self._batch)
        self._batch = (0, 0)

    def end_specs(self, count: int, network_steps: int) -> None:
        """So many specs are through, elsewhere."""
        self._add(count * self._each, network_steps)

    def _add(self, trainings: int, network_steps: int) -> None:
        self._trainings += trainings
        self.network_steps += network_steps

    def pace(self) -> str:
        """Network-steps a second since the start, compiling included."""
        steps = self.network_steps + self._batch[1]
        return f"{steps / max(time.monotonic() - self._start, 1e-9):,.0f} network-steps/s"

    def _show(self) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        said = f"{self._label}  {self._specs}  {self.pace()}"
        done = self._trainings + self._batch[0]
        now = time.monotonic()
        if self._draw:
            if self._bar is None:
                from rich import progress
                from rich.console import Console

                columns = (
                    progress.TextColumn("{task.description}", markup=False),
                    progress.BarColumn(),
                    progress.TimeRemainingColumn(elapsed_when_finished=True),
                )
                console = Console(stderr=True)
                self._bar = progress.Progress(*columns, console=console, transient=True, speed_estimate_period=120)
                self._row = self._bar.add_task("", total=self._total)
                self._bar.start()
            assert self._row is not None
            self._bar.update(self._row, completed=done, description=said)
        elif done and now - self._said >= LINE_EVERY_SECONDS:
            left = (now - self._start) / done * max(self._total - done, 0)
            say(f"{said}, about {_time(left)} left")
            self._said = now


def _time(seconds: float) -> str:
    """A duration for people.

    >>> _time(90), _time(7300)
    ('2 min', '2.0 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
