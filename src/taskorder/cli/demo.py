"""`taskorder demo`: real data from a pilot to the accuracy of the planned order."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from taskorder.cli.output import CANNOT_WRITE, INTERRUPTED, output_file, page, say
from taskorder.files import whole_file

if TYPE_CHECKING:
    from rich.table import Table

    from taskorder.learners.protocol import Learner
    from taskorder.records import Plan
    from taskorder.task import Task

PILOT = 50
"""Examples a task."""
PILOT_SEEDS = 4
SEEDS = (100, 101, 102)
"""Of the real runs: others than those of the pilot."""
NUM_RANDOM_ORDERS = 10

EPILOG = """\
Five tasks (which of two digits is it?) from the handwritten digits of
scikit-learn. A pilot on 50 examples of each plans the order; then a network
learns all the data in the planned order, in the opposite one and in ten random
ones, and is tested on digits that it has not seen. All numbers are computed
when the command runs.

A pilot is a sample, and now and then its plan does not pay. Of 20 pilots
(python benchmarks/demo_seeds.py) the planned order ended ahead of

  learner                    the opposite order      the mean over all orders
  the paper's network        18 times (+6.3 points)  20 times (+5.1 points)
  scikit-learn, without JAX  19 times (+4.2 points)  20 times (+4.8 points)

example:
  taskorder demo
  taskorder demo -o story.png
"""


class Run(NamedTuple):
    """One order, learned for real."""

    label: str
    order: tuple[int, ...]
    accuracy: tuple[float, ...]
    """Mean over all tasks at the end, for each seed."""

    @property
    def mean(self) -> float:
        """Over seeds."""
        return sum(self.accuracy) / len(self.accuracy)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="plan and train five tasks of handwritten digits, in under a minute",
        description="Plan an order for five tasks of handwritten digits, train on it, and compare.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "-o", "--output", default="taskorder-demo.png", metavar="FILE",
        help="where to draw the result, if matplotlib is there (taskorder-demo.png); - for nowhere",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed of pilot and random orders (0)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    if find_spec("sklearn") is None:
        raise ValueError('scikit-learn is not installed. Install it with: pip install "taskorder[neural]".')
    if args.output != "-":
        output_file(args.output, ".png", ".svg", ".pdf")
    from taskorder.checks import seed_number
    from taskorder.cli.progress import Watcher
    from taskorder.planning.plan import plan

    seed_number(args.seed)
    tasks = digit_tasks()
    learner = _learner(tasks)
    try:
        with Watcher(draw=sys.stderr.isatty(), label="learning the pilot") as watcher:
            planned = plan(
                tasks, learner, PILOT, seeds=PILOT_SEEDS, sample_seed=args.seed, draws=100, report=watcher.count_or_stop
            )
        with Watcher(draw=sys.stderr.isatty(), label="learning all the data for real") as watcher:
            runs = real_runs(tasks, learner, planned.order, args.seed, watcher.count_or_stop)
    except KeyboardInterrupt:
        say("interrupted before there was a result")
        return INTERRUPTED, ""
    lines = ["", *_confidence_lines(planned), "", sentence(runs)]
    if args.output != "-":
        try:
            if draw_runs(runs, Path(args.output)):
                lines.append(f"drawn in {args.output}")
        except OSError as problem:
            say(f"error: cannot write {args.output}: {problem.strerror or problem}")
            return CANNOT_WRITE, page(lambda width: (_table_of(planned, runs, width), lines))
    return 0, page(lambda width: (_table_of(planned, runs, width), lines))


def digit_tasks() -> tuple[Task, ...]:
    """0 or 1, 2 or 3, ..., 8 or 9; the answers are even and odd. To train on, and to test on."""
    import numpy as np

    from taskorder.datasets import load
    from taskorder.task import Task, align

    data = load("digits")
    tasks = []
    for low in range(0, 10, 2):
        train, test = (np.flatnonzero(labels // 2 == low // 2) for labels in (data.train_labels, data.test_labels))
        tasks.append(
            Task(
                f"{low} or {low + 1}", data.train_inputs[train], data.train_labels[train] % 2,
                data.test_inputs[test], data.test_labels[test] % 2,
            )
        )  # fmt: skip
    return align(tasks)


def real_runs(tasks: Sequence[Task], learner: Learner, order: tuple[int, ...], seed: int, report: Any) -> list[Run]:
    """Test accuracy of the planned order, of its opposite, and of random orders; the last come sorted."""
    import numpy as np

    from taskorder.learners.orders import learn_orders

    rng = np.random.default_rng([seed, 1])
    labels: dict[tuple[int, ...], str] = {order: "planned", order[::-1]: "opposite"}
    while len(labels) < NUM_RANDOM_ORDERS + 2:
        labels.setdefault(tuple(rng.permutation(len(order)).tolist()), "random")
    seeds = learn_orders(learner, tasks, list(labels), SEEDS, report=report)

    def accuracy(order: tuple[int, ...]) -> tuple[float, ...]:
        return tuple(float(np.mean([score.accuracy for score in scores[order]])) for scores in seeds)

    return [Run(label, order, accuracy(order)) for order, label in labels.items()]


def sentence(runs: Sequence[Run]) -> str:
    """What a person would tell a colleague."""
    planned, opposite = (next(run.mean for run in runs if run.label == label) for label in ("planned", "opposite"))
    random = [run.mean for run in runs if run.label == "random"]
    mean = sum(random) / len(random)
    beaten = sum(planned > accuracy for accuracy in random)
    numbers = (
        f"{100 * planned:.1f} % of all five tasks right at the end, against {100 * mean:.1f} % in random orders and "
        f"{100 * opposite:.1f} % in the opposite one"
    )
    if planned <= mean:
        return f"The planned order did not pay this time: {numbers}."
    ahead = "" if planned > opposite else " The opposite order happened to do as well or better this time."
    return (
        f"Same network, same data, only the order was planned on {PILOT} examples a task: {numbers} "
        f"(better than {beaten} of {len(random)} random orders).{ahead}"
    )


def draw_runs(runs: Sequence[Run], path: Path) -> bool:
    """A picture of all the runs; false where matplotlib is not there."""
    if find_spec("matplotlib") is None:
        return False
    from matplotlib.figure import Figure

    colors = {"planned": "#1b7f5c", "opposite": "#c0504d", "random": "#9aa5b1"}
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.add_subplot()
    ranked = sorted(runs, key=lambda run: run.mean)
    for row, run in enumerate(ranked):
        axes.plot([100 * value for value in run.accuracy], [row] * len(run.accuracy), "-|", color="#9aa5b1", lw=1)
        axes.plot(100 * run.mean, row, "o", color=colors[run.label], ms=9 if run.label != "random" else 6)
    axes.set_yticks(range(len(ranked)), [run.label for run in ranked], fontsize=8)
    axes.grid(axis="x", color="#e6e9ed")
    axes.set_axisbelow(True)
    axes.set_xlabel("test accuracy over all five tasks at the end, % (marks: seeds)")
    axes.set_title("One network, one set of tasks, twelve orders", fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    with whole_file(path) as part:
        figure.savefig(part, dpi=150)
    return True


def _learner(tasks: Sequence[Task]) -> Learner:
    from taskorder.learners.named import default_name

    return learner_named(default_name(), tasks)


def learner_named(name: str, tasks: Sequence[Task]) -> Learner:
    """A learner as the demo trains it."""
    from taskorder.learners.named import keep_compiled_for, named_learner

    keep_compiled_for(name)
    return named_learner(name, tasks, epochs=5, batch_size=4)


def _confidence_lines(planned: Plan) -> list[str]:
    lines = [planned.confidence.summary()] if planned.confidence else []
    return [*lines, *(f"warning: {warning.text}" for warning in planned.warnings)]


def _table_of(planned: Plan, runs: Sequence[Run], width: int | None) -> Table:
    from taskorder.cli.render import folded_table

    rows = [
        (run.label, f"{100 * run.mean:.1f} %", f"{100 * min(run.accuracy):.1f}-{100 * max(run.accuracy):.1f}",
         "  ".join(planned.names[task] for task in run.order))
        for run in sorted(runs, key=lambda run: -run.mean)
    ]  # fmt: skip
    return folded_table(["run", "accuracy", "over seeds", "order"], rows, "order", width)
