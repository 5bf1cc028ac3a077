"""What predicts the final accuracy of an order where all classes have one output layer?

    python benchmarks/class_orders.py features     frozen features of CIFAR-100, the task sets of the atlas (development)
    python benchmarks/class_orders.py new          the same with other task sets (test), half an hour on two cores
    python benchmarks/class_orders.py fashion      Fashion-MNIST (test)

Every task has classes of its own and all of them compete, so a table of tasks learned alone says next to nothing of
another task. The truth is all orders of five tasks with two seeds, as in the atlas (`python -m reproduction atlas`); runs
that are not in the repository are trained and kept in `--store`. Pilots learn every task alone and all pairs from
`--size` images a task, with three seeds, and are tested on others.

Two statistics, over all 120 orders of a task set: what the order that a candidate chooses earns over the mean order, in
points of the mean of both seeds, and the rank correlation of its scores with the true mean accuracy. Means over task
sets with 95 % intervals (Student's t). Beside them one seed of the truth as a candidate for the other.

`additions` with its two numbers was chosen on the features among some twenty forms, pilots of 50 images. Fixed before
anything of the test sets was looked at: it takes the place of the law in `plan` if from 50 images a task, in the mean
over the strategies that keep no data (plain, ewc, lwf), its order earns more than the law's on both test sets, on the
new task sets with the interval above 0; and if over those with replay neither interval is all below 0 (the rows
`additions - law`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import header, save, show
from planning_pilots import ORDERS, P
from scipy.stats import spearmanr

from reproduction.atlas import AtlasCell, cells
from reproduction.atlas_results import over_sets
from reproduction.finetuning_data import IMAGE_COMPONENTS, feature_data
from reproduction.finetuning_runs import run_batch
from reproduction.run_log import load_kept
from reproduction.running import TABLES, load_tables
from taskorder.checks import Floats
from taskorder.engine.train import Recipe
from taskorder.learners.jax import JaxLearner
from taskorder.learners.orders import learn_orders
from taskorder.planning.fitted_law import Pilot, fitted_law
from taskorder.planning.measurements import Measurements
from taskorder.planning.measuring import guessing
from taskorder.planning.pair_effects import PairEffects
from taskorder.planning.pilot import sample_apart
from taskorder.planning.retention import kept
from taskorder.runs.local import complete
from taskorder.runs.results import tables_of
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store
from taskorder.runs.training import dataset_of, network, task_set
from taskorder.strategies import EWC, Distill, Replay
from taskorder.task import Task, align

SEEDS = (0, 1, 2)
STRATEGIES: Mapping[str, Any] = {
    "plain": None, "replay20": Replay(20), "ewc": EWC(), "lwf": Distill(), "replay5": Replay(5),
    "replay100": Replay(100),
}  # fmt: skip
CANDIDATES = {
    "law": "the law of retention with what pairs correct, as for classes in common",
    "last pair": "what is known when only the last two tasks are learned",
    "heads": "the product of what later tasks leave, as for a head for each task",
    "additions": "what each earlier task adds to the last one in a pair, fading with every task between",
}
FADE, FADE_REPLAY = 0.5, 0.9
"""Share of an addition that every task between leaves, for learners that keep no data and with replay."""
NEW_FIRST, NEW_SETS = 400, 24
"""Task sets of the test on features."""
GROUPS = {"no data kept": ("plain", "ewc", "lwf"), "replay": ("replay20", "replay5", "replay100")}


def new_sets(cell: AtlasCell) -> AtlasCell:
    """The cell with task sets that are not in the atlas."""
    return cell._replace(config=replace(cell.config, first_set=NEW_FIRST, num_sets=NEW_SETS, similarities=()))


def train_truth(cell: AtlasCell, store: Store) -> None:
    """Train all orders of a cell that the store lacks."""
    specs = list(RunSpecs(cell.config))
    print(f"{cell.name}: {len(store.missing(specs))} of {len(specs)} runs to train", file=sys.stderr, flush=True)
    complete(specs, run_batch, store, batch_size=1)


def truth_of(cell: AtlasCell, store: Store, most: int) -> dict[int, Floats]:
    """By task set with all of its seeds, (seeds, 120) final accuracies in percent."""
    found: dict[int, list[Floats]] = {}
    for spec in RunSpecs(cell.config):
        if (result := store.result(spec.digest)) is not None:
            rows, tables = tables_of(result)
            accuracy = [100 * tables["accuracy"][rows[order]].mean() for order in ORDERS]
            found.setdefault(int(spec.params["set"]), []).append(np.array(accuracy))
    whole = {number: np.array(runs) for number, runs in found.items() if len(runs) == cell.config.num_seeds}
    return dict(list(whole.items())[:most])


def tasks_of(data: Any, number: int) -> tuple[Task, ...]:
    """The tasks of a task set, every class with an output of its own."""
    drawn = task_set(data, {"num_tasks": P, "classes_per_task": 2}, number)
    tasks = []
    for name, task in zip(drawn.names, drawn.tasks, strict=True):
        rows = np.flatnonzero(np.isin(data.train_labels, task[0]))
        tasks.append(Task(name, data.train_inputs[rows], data.train_labels[rows]))
    return align(tasks)


def predictions(measured: Measurements, sizes: Floats, size: int, fade: float) -> dict[str, Floats]:
    """(120,) what each candidate says of every order."""
    orders = np.array(ORDERS)
    known = dict(zip(measured.sequences, measured.knowledge().mean(axis=0), strict=True))
    keeps = kept(measured, sizes, np.full(P, size))
    return {
        "law": fitted_law(Pilot(measured, keeps.real, keeps.on_sample)).rate(orders),
        "last pair": np.array([known[order[-2:]].mean() for order in ORDERS]),
        "heads": PairEffects.of(known, P).knowledge(orders, np.zeros(P)).mean(axis=1),
        "additions": added(known, orders, fade),
    }


def added(known: Mapping[tuple[int, ...], Floats], orders: Any, fade: float) -> Floats:
    """(n,) the candidate `additions`."""
    alone = np.array([known[(k,)].mean() for k in range(P)])
    more = np.zeros((P, P))
    for i, k in itertools.permutations(range(P), 2):
        more[i, k] = known[(i, k)].mean() - alone[k]
    last = orders[:, -1]
    between = fade ** np.arange(P - 2, -1, -1.0)
    return np.asarray(alone[last] + (more[orders[:, :-1], last[:, None]] * between).sum(axis=1))


def interval(values: Sequence[float]) -> str:
    """The mean over task sets, with its 95 % interval."""
    return over_sets(np.array(values)).show(sign=True)


def run(
    data: Any, cell: AtlasCell, truth: Mapping[int, Floats], size: int, store: Store
) -> tuple[list[dict[str, Any]], Floats]:
    """A row for each candidate in one cell; (sets,) how many points `additions` is ahead of the law."""
    config = cell.config
    net = network(config.net, data.train_inputs.shape[1:], 2 * P)
    learner = JaxLearner(net, Recipe(config.epochs, config.batch_size), strategy=STRATEGIES[cell.way])
    sequences = [*((k,) for k in range(P)), *itertools.permutations(range(P), 2)]
    fade = FADE_REPLAY if isinstance(STRATEGIES[cell.way], Replay) else FADE
    ranks: dict[str, list[float]] = {}
    gains: dict[str, list[float]] = {}
    for number, accuracy in truth.items():
        tasks = tasks_of(data, number)
        sizes = np.array([config.fraction * len(task.targets) for task in tasks])
        sample = sample_apart(tasks, size, number)
        scores = learn_orders(learner, sample, sequences, SEEDS, store=store, examples=True)
        measured = Measurements.from_scores(scores, guessing(sample, learner))
        mean = accuracy.mean(axis=0)
        ranks.setdefault("another seed", []).append(float(spearmanr(*accuracy)[0]))
        gains.setdefault("another seed", []).append(
            float(np.mean([there[here.argmax()] - there.mean() for here, there in itertools.permutations(accuracy)]))
        )
        for name, score in predictions(measured, sizes, size, fade).items():
            ranks.setdefault(name, []).append(float(np.nan_to_num(spearmanr(score, mean)[0])))
            gains.setdefault(name, []).append(float(mean[score.argmax()] - mean.mean()))
    print(f"{cell.name}: {len(truth)} sets", file=sys.stderr, flush=True)
    rows = [{"strategy": cell.way, "sets": len(truth), "candidate": name, "points": interval(gains[name]),
             "rank correlation": interval(ranks[name])} for name in gains]  # fmt: skip
    return rows, np.subtract(gains["additions"], gains["law"])


def main() -> None:
    """Run one section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=("features", "new", "fashion"))
    parser.add_argument("--size", type=int, default=50, help="images a task in a pilot (default: 50)")
    parser.add_argument("--sets", type=int, default=30, help="task sets at most")
    parser.add_argument("--ways", nargs="+", default=list(STRATEGIES), help="strategies")
    parser.add_argument("--runs", type=Path, action="append", default=[], help="a folder with logs of more runs")
    parser.add_argument("--store", help="a file that keeps what is trained")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results/class_orders.json")
    args = parser.parse_args()
    print(json.dumps(header()))
    from taskorder.engine.compiled import keep_compiled

    keep_compiled()
    section = "fashion" if args.section == "fashion" else "features"
    data = dataset_of("fashion-mnist") if section == "fashion" else feature_data(IMAGE_COMPONENTS)
    rows: list[dict[str, Any]] = []
    ahead: dict[str, Floats] = {}
    with Store(args.store) as store:
        load_tables(Path(__file__).parents[1] / "reproduction" / "results" / TABLES, store)
        for folder in args.runs:
            load_kept(folder, store)
        for cell in cells():
            if cell.data != section or cell.head != "class" or cell.way not in args.ways:
                continue
            if args.section == "new":
                cell = new_sets(cell)
                train_truth(cell, store)
            if truth := truth_of(cell, store, args.sets):
                more, ahead[cell.way] = run(data, cell, truth, args.size, store)
                rows += more
    for name, ways in GROUPS.items():
        if set(ways) <= set(ahead) and len({len(ahead[way]) for way in ways}) == 1:
            leads = np.mean([ahead[way] for way in ways], axis=0)
            rows.append({"strategy": name, "sets": len(leads), "candidate": "additions - law",
                         "points": interval(leads), "rank correlation": ""})  # fmt: skip
    show(f"{args.section}, {args.size} images a task: orders of tasks with classes of their own", rows)
    if args.save:
        save("class_orders", {f"{args.section} {args.size}": rows})


if __name__ == "__main__":
    main()
