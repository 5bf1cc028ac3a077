"""Are plans from a pilot any good, and do they know it? Against the committed truth tables of real networks.

    python benchmarks/planning.py pairs          what pairs and seeds add to a pilot (Fashion-MNIST 0-49, development)
    python benchmarks/planning.py calibration    what plans say against what is true (Fashion-MNIST 0-49, development)
    python benchmarks/planning.py digits         the same on digits 0-24, whose truth is trained here (development)
    python benchmarks/planning.py test           the same on Fashion-MNIST 50-99 (held out)
    python benchmarks/planning.py tables         the same from pilots in the tables: one seed, no pairs, no training
                                                 (Fashion-MNIST and CIFAR-100 0-49, development)
    python benchmarks/planning.py table-test     the same on Fashion-MNIST 50-99, CIFAR-10 and CIFAR-100 with five tasks
    python benchmarks/planning.py race           racing for the last places among 20 tasks

The truth is reproduction/results/tables: all orders of every task set, learned on all the data, tested on test data.
Pilots are trained here, on a CPU, with the network of the truth, and kept in `--store`. `--data` names a folder with
the files of Fashion-MNIST, where `taskorder data get fashion-mnist` has not downloaded them. A gain is the accuracy of
the chosen order minus the mean over all orders, in points.

Question and statistic, fixed before held-out sets were looked at. Do plans that say that they beat a random order with
probability p beat a share p of all orders? Plans of all pilot sizes fall into bins of what they say (`BINS`); the
statistic is the mean of said minus true in each bin, with a 95 % interval over resampled task sets (the plans of one
task set stay together), and the target is 5 points. Beside it: the share of 90 % intervals that hold the truth, for the
gain, the mean accuracy and the accuracy of single tasks; and the gain over a random order, and minus the gains of
periphery-to-core and of row-sums on the same pilot, with the same kind of interval.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from common import header, save, show
from planning_pilots import (
    ORDERS,
    RACERS,
    P,
    all_orders,
    as_pilot,
    drawn_examples,
    fashion,
    final_accuracies,
    mean_similarity,
    only,
    pairs_of_clothes,
    read_tables,
    set_tasks,
    trained_pilot,
)

from taskorder.checks import Floats
from taskorder.constraints import Constraints
from taskorder.learners.orders import learn_orders
from taskorder.learners.protocol import Learner
from taskorder.ordering.rules import typicality
from taskorder.planning.choice import best_order
from taskorder.planning.confidence import confidence, predicted
from taskorder.planning.fitted_law import Pilot, fitted_law
from taskorder.planning.plan import run_pilot
from taskorder.runs.store import Store
from taskorder.stats import bootstrap_interval, mean_and_sem
from taskorder.theory.law import PLAIN_RETENTION

BINS = ((0.0, 0.65), (0.65, 0.75), (0.75, 0.85), (0.85, 1.01))
"""Of the probability to beat a random order that a plan states."""
SIZES = (30, 120, 300)
"""Images a task in the pilots."""
RACE_BUDGETS, RACE_SIZES = (0.06, 0.12, 0.25), (30, 100, 300, 500)
"""Budgets in full runs, and images a task in pilots of one size; the last is all that there is."""


def outcome(pilot: Pilot, truth: Floats, draws: int) -> dict[str, Any]:
    """What a plan says of the order that it chooses, and what is true of it. truth: (orders, tasks)."""
    constraints = Constraints.of(truth.shape[1])
    orders = all_orders(truth.shape[1])
    law = fitted_law(pilot)
    order = best_order(law, constraints)
    accuracy, scores = truth.mean(axis=1), law.score(orders)
    row = int((orders == order).all(axis=1).argmax())
    own, tasks = float(accuracy[row]), truth[row]
    sure = confidence(pilot, lambda law, part: best_order(law, constraints), order, constraints, draws=draws)
    said = predicted(pilot, order, constraints, draws=draws)
    assert said.low is not None
    assert said.high is not None
    low, high = np.array(said.tasks_low), np.array(said.tasks_high)
    alone = pilot.measured.knowledge().mean(axis=0)[[pilot.measured.sequences.index((k,)) for k in range(len(tasks))]]
    late = typicality(mean_similarity(pilot.measured))[orders] @ np.arange(len(tasks))
    sums = alone.sum(axis=1)[orders] @ 10.0 ** np.arange(len(tasks))
    return {
        "said": sure.beats_random, "true": float((accuracy < own).mean() + (accuracy == own).mean() / 2),
        "said gain": 100 * sure.gain, "gain": 100 * (own - accuracy.mean()),
        "gain inside": sure.gain_low <= own - accuracy.mean() <= sure.gain_high,
        "said accuracy": 100 * said.mean, "accuracy": 100 * own, "accuracy inside": said.low <= own <= said.high,
        "tasks inside": float(((low <= tasks) & (tasks <= high)).mean()),
        "r": float(np.corrcoef(scores, accuracy)[0, 1]) if scores.std() > 0 else 0.0,
        "periphery-to-core": 100 * float(accuracy[late.argmax()] - accuracy.mean()),
        "row-sums": 100 * float(accuracy[sums.argmax()] - accuracy.mean()), "verdict": sure.verdict,
    }  # fmt: skip


def in_bins(title: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Said against true, for all plans, in bins and by verdict, with intervals over task sets."""
    groups = {"all": list(rows)}
    groups |= {f"{low:.2f}-{min(high, 1):.2f}": [r for r in rows if low <= r["said"] < high] for low, high in BINS}
    groups |= {
        verdict: [r for r in rows if r["verdict"] == verdict] for verdict in sorted({r["verdict"] for r in rows})
    }
    table = []
    for name, some in groups.items():
        if some:
            means = {key: float(np.mean([r[key] for r in some])) for key in some[0] if key not in ("verdict", "set")}
            low, high = over_sets(some, lambda r: r["said"] - r["true"])
            table.append({"plans": name, "count": len(some), **means, "said - true, low": low, "high": high})
    show(title, table)
    for other in ("random", "periphery-to-core", "row-sums"):
        lead = [row["gain"] - row.get(other, 0.0) for row in rows]
        low, high = over_sets(rows, lambda row, other=other: row["gain"] - row.get(other, 0.0))
        print(f"lead over {other}: {np.mean(lead):.2f} [{low:.2f}, {high:.2f}] points")
    return table


def over_sets(rows: Sequence[Mapping[str, Any]], value: Callable[[Mapping[str, Any]], float]) -> tuple[float, float]:
    """The 95 % interval of a mean over plans, from task sets that are resampled as a whole."""
    by_set: dict[Any, list[float]] = {}
    for row in rows:
        by_set.setdefault(row["set"], []).append(value(row))
    if len(by_set) < 2:
        return float("nan"), float("nan")
    sums = np.array([(sum(values), len(values)) for values in by_set.values()])
    return bootstrap_interval(sums, lambda x: x[..., 0].sum(axis=1) / x[..., 1].sum(axis=1))


def pairs(args: argparse.Namespace) -> dict[str, Any]:
    """What more seeds, the retention of the sample and the pairs add to tasks alone."""
    truth = read_tables("fashion-mnist")
    data, learner = fashion(args)
    table = []
    for size in SIZES:
        gains: dict[str, list[tuple[float, float]]] = {}
        for number in range(args.sets):
            tasks = set_tasks(data, number)
            measured = trained_pilot(tasks, learner, size, args.store)
            accuracy = 100 * final_accuracies(truth[number]["orders"]).mean(axis=1)
            pilot = as_pilot(measured, size, tasks)
            alone = pilot._replace(measured=only(measured, [(k,) for k in range(P)]), carried=0.0)
            plain = np.full(P, PLAIN_RETENTION)
            one = alone._replace(measured=only(measured, [(k,) for k in range(P)], [0]))
            variants = {
                "tasks alone, retention 0.13": alone._replace(retention=plain),
                "tasks alone, one seed": one._replace(retention=plain),
                "retention of the pilot's pairs, as it is": alone._replace(retention=pilot.on_sample),
                "the same for the steps of the real run": alone,
                "rows from all steps": pilot._replace(carried=0.0),
                **{f"and {share:g} of what pairs add": pilot._replace(carried=share) for share in (0.25, 0.5, 1.0)},
            }
            orders = np.array(ORDERS)
            rated = {name: fitted_law(variant).score(orders) for name, variant in variants.items()}
            rated["periphery-to-core"] = typicality(mean_similarity(measured))[orders] @ np.arange(1, P + 1)
            for name, scores in rated.items():
                gain = float(accuracy[scores.argmax()] - accuracy.mean())
                gains.setdefault(name, []).append((gain, float(np.corrcoef(scores, accuracy)[0, 1])))
            print(f"{size} images, set {number}", file=sys.stderr, flush=True)
        for name, values in gains.items():
            gain, error = mean_and_sem(values)
            table.append({"images": size, "plan": name, "sets": len(values), "gain": float(gain[0]),
                          "+-": float(error[0]), "mean r": float(gain[1])})  # fmt: skip
    show("gain over the mean order, in points, and correlation with the true accuracy of all orders", table)
    return {"pairs": table}


def calibration(args: argparse.Namespace, first: int = 0) -> dict[str, Any]:
    """What plans say of their orders against the truth, from pilots of three sizes."""
    truth = read_tables("fashion-mnist")
    data, learner = fashion(args)
    finals = {number: final_accuracies(truth[number]["orders"]) for number in range(first, first + args.sets)}
    return _calibrated(f"fashion-mnist {first}-{first + args.sets - 1}", data, learner, finals, SIZES, args)


def digits(args: argparse.Namespace) -> dict[str, Any]:
    """The same on digits; all orders are learned here, with another seed than the pilots."""
    from taskorder.datasets import load
    from taskorder.engine.train import Recipe
    from taskorder.learners.jax import JaxLearner
    from taskorder.runs.training import network

    data = load("digits")
    learner = JaxLearner(network("mlp", data.train_inputs.shape[1:], 2), Recipe(5))
    finals = {}
    for number in range(min(args.sets, 25)):
        (scores,) = learn_orders(learner, set_tasks(data, number), ORDERS, (100,), store=args.store)
        finals[number] = np.array([[score.accuracy for score in scores[order]] for order in ORDERS])
        print(f"truth of set {number}", file=sys.stderr, flush=True)
    return _calibrated(f"digits 0-{len(finals) - 1}", data, learner, finals, (30, 100), args)


def _calibrated(
    title: str, data: Any, learner: Learner, truth: Mapping[int, Floats], sizes: Sequence[int], args: argparse.Namespace
) -> dict[str, Any]:
    sections, every = {}, []
    for size in sizes:
        rows = []
        for number, finals in truth.items():
            tasks = set_tasks(data, number)
            measured = trained_pilot(tasks, learner, size, args.store)
            rows.append({**outcome(as_pilot(measured, size, tasks), finals, args.draws), "set": number})
            print(f"{title}, {size} images, set {number}", file=sys.stderr, flush=True)
        name = f"{title}, {size} images a task"
        sections[name] = in_bins(name, rows)
        every += rows
    name = f"{title}, all sizes"
    return {**sections, name: in_bins(name, every)}


def held_out(args: argparse.Namespace) -> Any:
    """The same on task sets that played no part in setting anything."""
    return calibration(args, first=50)


class TablePilots(NamedTuple):
    """Pilots in a truth table."""

    name: str
    examples: int
    """Of each task."""
    classes: int
    """In each task."""
    shares: tuple[str, ...]
    """Names of the tables, as shares of the examples."""
    first: int = 0
    last: int = 99


DEVELOPMENT_TABLES = (
    TablePilots("fashion-mnist", 12_000, 2, ("1%", "10%"), 0, 49),
    TablePilots("cifar100-p3", 1000, 2, ("1%",), 0, 49),
    TablePilots("cifar100-25labels", 2500, 5, ("1%",), 0, 49),
)
HELD_OUT_TABLES = (
    TablePilots("fashion-mnist", 12_000, 2, ("1%", "10%"), 50, 99),
    TablePilots("cifar10", 10_000, 2, ("1%", "10%")),
    TablePilots("cifar100-p5", 1000, 2, ("1%", "10%")),
)


def tables(args: argparse.Namespace, groups: Sequence[TablePilots] = DEVELOPMENT_TABLES) -> dict[str, Any]:
    """From single tables of pilots, whose examples are drawn again: binomial answers, losses with the same noise."""
    sections = {}
    for group in groups:
        for share in group.shares:
            size, rows = round(group.examples * float(share[:-1]) / 100), []
            for number, cells in sorted(read_tables(group.name).items()):
                if not group.first <= number <= group.last or share not in cells:
                    continue
                num_tasks = len(next(iter(cells["orders"].values()))[0])
                orders = [tuple(order) for order in all_orders(num_tasks).tolist()]
                if len(cells["orders"]) < len(orders):
                    continue
                usual = np.full(num_tasks, PLAIN_RETENTION)
                pilot = Pilot(drawn_examples(cells[share], size, number, group.classes), usual, usual, 0.0)
                truth = np.array([cells["orders"][order][0] for order in orders])
                rows.append({**outcome(pilot, truth, args.draws), "set": number})
            if rows:
                title = f"{group.name} {group.first}-{group.last}, {size} images a task, one seed, tasks alone"
                sections[title] = in_bins(title, rows)
    return sections


def table_test(args: argparse.Namespace) -> Any:
    """The same on held-out sets."""
    return tables(args, HELD_OUT_TABLES)


def race(args: argparse.Namespace) -> dict[str, Any]:
    """Twenty tasks of two classes of clothes, 500 images each: races beside pilots of one size, at what they cost.

    The truth is that of endings: a network learns all tasks in a random order and then two of them once more, for all
    pairs. A plan is worth the accuracy after its last two tasks, minus the mean over all pairs.
    """
    data, learner = fashion(args)
    gains: dict[str, list[tuple[float, float]]] = {}
    for number in range(args.first_race, args.first_race + args.races):
        tasks = pairs_of_clothes(data, number)
        trunk = tuple(np.random.default_rng(1000 + number).permutation(RACERS).tolist())
        ways = list(itertools.permutations(range(RACERS), 2))
        (scores,) = learn_orders(learner, tasks, [trunk + way for way in ways], (7,), store=args.store)
        truth = {way: 100 * float(np.mean([score.accuracy for score in scores[trunk + way]])) for way in ways}
        mean = float(np.mean(list(truth.values())))
        plans = {f"race on {share:g} runs": f"{share:g} runs" for share in RACE_BUDGETS}
        made = {name: run_pilot(tasks, learner, budget=budget, draws=0).plan for name, budget in plans.items()}
        for size in (10, *RACE_SIZES):
            how = {"seeds": 1, "budget": RACERS, "draws": 0}
            made[f"all tasks on {size} images"] = run_pilot(tasks, learner, size, **how).plan
        for name, plan in made.items():
            assert plan.prediction is not None
            gains.setdefault(name, []).append((truth[plan.order[-2:]] - mean, plan.prediction.cost or 0.0))
        gains.setdefault("best ending", []).append((max(truth.values()) - mean, float("nan")))
        print(f"race {number}: {[(name, rows[-1]) for name, rows in gains.items()]}", file=sys.stderr, flush=True)
    table = []
    full = np.array(gains[f"all tasks on {RACE_SIZES[-1]} images"])[:, 0]
    for name, rows in gains.items():
        (gain, cost), lead = np.mean(rows, axis=0).tolist(), np.array(rows)[:, 0] - full
        low, high = bootstrap_interval(lead, lambda x: x.mean(axis=1))
        table.append({"plan": name, "sets": len(rows), "cost": cost, "gain": gain,
                      "minus full tables": float(lead.mean()), "low": low, "high": high})  # fmt: skip
    show("20 tasks: gain over the mean ending, in points, and cost in training runs", table)
    return {"race": table}


SECTIONS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "pairs": pairs, "calibration": calibration, "digits": digits, "test": held_out, "tables": tables,
    "table-test": table_test, "race": race,
}  # fmt: skip


def main() -> None:
    """One section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--data", help="folder with the files of Fashion-MNIST")
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--draws", type=int, default=60, help="resamples for each plan")
    parser.add_argument("--races", type=int, default=6, help="task sets of 20 tasks")
    parser.add_argument("--first-race", type=int, default=0, help="number of the first of these task sets")
    parser.add_argument("--store", help="a file that keeps trained pilots, so that they are trained once")
    parser.add_argument("--save", action="store_true", help="keep the tables in benchmarks/results/planning.json")
    args = parser.parse_args()
    print(json.dumps(header()))
    with nullcontext() if args.store is None else Store(args.store) as args.store:
        results = SECTIONS[args.section](args)
    if args.save:
        save("planning", results)


if __name__ == "__main__":
    main()
