"""Does a rehearsal on 1 % of the data choose better orders than the rules? Against all orders of full runs.

    python benchmarks/rehearsal.py --sets 0-49      development: look as often as you like
    python benchmarks/rehearsal.py --sets 50-99     the frozen test
    python benchmarks/rehearsal.py --dataset cifar10 --net cnn --sets 0-29     and cifar100, --sets 0-99
    python benchmarks/rehearsal.py --plans --sets 50-99     is the confidence of plan(...) right?
    python benchmarks/rehearsal.py --dataset digits --share 0.2 --sets 0-24     development, and again with --plans

The truth is a store of `taskorder run reproduction/configs/DATASET.toml`: all orders of every task set, on all the
data, tested on test data. A rehearsal sees 1 % of the training data and nothing else. What it learns is kept
(--keep), so that looking again costs nothing. A gain is the test accuracy of the chosen order minus the mean over all
orders, in points; intervals are bootstrapped over task sets. `ceiling` is the best order of a full run with another
seed, where the store has one.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import header, save
from common import show as show_rows
from jax import Array, lax

from taskorder.datasets import load
from taskorder.datasets.class_tasks import lookup_table, task_indices
from taskorder.engine.capacity import networks_that_fit
from taskorder.engine.compiled import keep_compiled
from taskorder.engine.estimates import task_pool
from taskorder.engine.nets import Net
from taskorder.engine.train import Pool, Recipe, as_floats
from taskorder.engine.tree import Branch, Curriculum, tasks_of, walk
from taskorder.learners.jax import JaxLearner
from taskorder.ordering.candidates import pairwise_order, similarity_orders
from taskorder.planning.choice import combined_score
from taskorder.planning.plan import plan
from taskorder.planning.rehearsal import Rehearsal
from taskorder.runs import training as runs
from taskorder.runs.results import tables_of
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.stats import bootstrap_interval
from taskorder.tables.loss_ratios import loss_ratios, measured_similarity, similarity_from_loss_ratios
from taskorder.task import Task

KIND = "rehearsal.tables.1"
KINDS = ("affinity", "accuracy", "loss", "chance")
LENGTHS = {"tasks": 1, "pairs": 2, "orders": 99}
ALIKE = 0.1
BY_MEAN = "by mean similarity"
"""Max-path where the mean similarity is at least ALIKE, else periphery-to-core: better on sets 0 to 49 only."""
PRIMARY = "rehearsal, pairs"
"""What the target is about; chosen with the score, before the frozen test."""


def main() -> None:
    """Rehearse, compare, print one table."""
    args = arguments()
    keep_compiled()
    low, _, high = args.sets.partition("-")
    numbers = range(int(low), int(high or low) + 1)
    truth = read_truth(args.truth or f"results/{args.dataset}.sqlite", numbers, f"{100 * args.share:g}%")
    if args.plans:
        return calibrate(args, truth)
    found = rehearsed(args, sorted(truth))
    gains = [gains_of(truth[number], found[number], args) for number in sorted(truth)]
    settings = {key: value for key, value in vars(args).items() if key not in ("keep", "save", "truth")}
    result = {"machine": header(), "settings": settings, "sets": sorted(truth)}
    result |= {"rows": summarize(gains), "of_ceiling": of_ceiling(gains)}
    show(result)
    if args.save:
        section = f"{args.dataset}, sets {args.sets}, {args.level}, {100 * args.share:g} %, {args.seeds} seeds"
        save("rehearsal", {section: result["rows"], f"{section}, of the ceiling": result["of_ceiling"]})


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--dataset", default="fashion-mnist")
    add("--net", default="mlp", choices=("mlp", "cnn"))
    add("--sets", default="0-49")
    add("--share", type=float, default=0.01, help="of the training data")
    add("--seeds", type=int, default=3)
    add("--level", default="pairs", choices=LENGTHS, help="how far to rehearse: pairs is 25 fits a seed, orders 325")
    add("--epochs", type=int, default=5)
    add("--truth", metavar="STORE", help="results/DATASET.sqlite")
    add("--keep", default="results/rehearsal.sqlite", metavar="STORE", help="where rehearsals are kept")
    add("--batch", type=int, help="task sets at a time (1 on a CPU, else 10)")
    add("--plans", action="store_true", help="instead make plans through the front door, and compare their confidence")
    add("--save", action="store_true", help="keep the table in benchmarks/results/rehearsal.json")
    return parser.parse_args()


def read_truth(path: str, numbers: Sequence[int], estimate: str) -> dict[int, dict[str, Any]]:
    """For each set: its orders, their test accuracy in points by seed, and what was measured on a share."""
    truth: dict[int, dict[str, Any]] = {}
    with Store(path, create=False) as store:
        for entry in sorted(store.entries(), key=lambda entry: entry.params.get("seed", 0)):
            number = entry.params["set"]
            if number not in numbers:
                continue
            rows, tables = tables_of(store.result(entry.digest) or {})
            length = entry.params["num_tasks"]
            orders = [beginning for beginning in rows if len(beginning) == length]
            one = truth.setdefault(number, {"orders": sorted(orders), "accuracy": [], "similarity": None})
            one["accuracy"].append([100 * tables["accuracy"][rows[order]].mean() for order in one["orders"]])
            if one["similarity"] is None:
                one["similarity"] = (store.result(entry.digest) or {})["similarities"][estimate]
    if not truth:
        raise SystemExit(f"no runs of these sets in {path}")
    return truth


def gains_of(
    truth: Mapping[str, Any], seeds: Sequence[Mapping[str, Any]], args: argparse.Namespace
) -> dict[str, float]:
    """The gain of every rule on one task set."""
    orders, accuracy = truth["orders"], np.array(truth["accuracy"][0])
    gain = dict(zip(orders, (accuracy - accuracy.mean()).tolist(), strict=True))
    endings = tuple(tuple(map(int, text.split("."))) for text in seeds[0]["endings"])
    tables = {kind: np.array([one[kind] for one in seeds]) for kind in KINDS}
    P = len(orders[0])
    alone = [endings.index((place,)) for place in range(P)]
    ratios = [
        loss_ratios(loss[alone], chance[alone]) for loss, chance in zip(tables["loss"], tables["chance"], strict=True)
    ]
    similarity = np.mean([similarity_from_loss_ratios(one) for one in ratios], axis=0)
    found: dict[str, float] = {}
    for level, length in LENGTHS.items():
        if length > LENGTHS[args.level]:
            break
        rows = [row for row, ending in enumerate(endings) if len(ending) <= length]
        kept = tuple(endings[row] for row in rows)
        made = Rehearsal(tuple(range(P)), kept, tables["affinity"][:, rows], tables["accuracy"][:, rows], level, 0)
        values = made.values.mean(axis=0)
        scores = combined_score(made, values, similarity, orders, orders)
        found[f"rehearsal, {level}"] = gain[orders[int(scores.argmax())]]
        found[f"rehearsal, {level}, one seed"] = gain[
            orders[
                int(
                    combined_score(
                        made, made.values[0], similarity_from_loss_ratios(ratios[0]), orders, orders
                    ).argmax()
                )
            ]
        ]
        found[f"only rehearsed affinity, {level}"] = _best(gain, orders, made.score(orders, values))
        found[f"only rehearsed accuracy, {level}"] = _best(gain, orders, made.score(orders, made.outcome.mean(axis=0)))
    for label, table, matrix in (
        ("one seed", measured_similarity(truth["similarity"]), None),
        (f"{len(seeds)} seeds", similarity, np.mean(ratios, axis=0)),
    ):
        by_rule = similarity_orders(table)
        found |= {f"{rule}, {label}": gain[ways[0]] for rule, ways in by_rule.items()}
        alike = table[~np.eye(P, dtype=bool)].mean() >= ALIKE
        found[f"{BY_MEAN}, {label}"] = gain[by_rule["max-path" if alike else "periphery-to-core"][0]]
        if matrix is not None:
            found[f"pairwise, {label}"] = gain[pairwise_order(matrix)]
    if len(truth["accuracy"]) > 1:
        found["ceiling"] = gain[orders[int(np.argmax(truth["accuracy"][1]))]]
    found["best order"] = max(gain.values())
    return found


def calibrate(args: argparse.Namespace, truth: Mapping[int, Mapping[str, Any]]) -> None:
    """What `plan(...)` says about its own order, beside what is true of it."""
    data = _data(args.dataset)
    shape, settings = data.train_inputs.shape[1:], {"num_tasks": 5, "classes_per_task": 2}
    learner = JaxLearner(runs.network(args.net, shape, settings["classes_per_task"]), Recipe(args.epochs))
    rows = []
    for number in sorted(truth):
        drawn = runs.task_set(data, settings, number)
        tasks = []
        for name, task in zip(drawn.names, drawn.tasks, strict=True):
            chosen = task_indices(data.train_labels, task)
            labels = lookup_table(task, data.num_classes)[data.train_labels[chosen]]
            tasks.append(Task(name, data.train_inputs[chosen], labels))
        made = plan(tasks, learner, args.share, seeds=args.seeds, draws=100)
        accuracy = np.array(truth[number]["accuracy"][0])
        own = accuracy[truth[number]["orders"].index(made.order)]
        sure = made.confidence
        assert sure is not None
        rows.append({"set": number, "verdict": sure.verdict, "said": sure.beats_random, "true": (accuracy < own).mean(),
                     "said gain": 100 * sure.gain, "true gain": own - accuracy.mean(),
                     "inside": 100 * sure.gain_low <= own - accuracy.mean() <= 100 * sure.gain_high,
                     "as good": sure.num_as_good, "seconds": made.seconds})  # fmt: skip
        print(f"{len(rows)} of {len(truth)} planned", file=sys.stderr, flush=True)
    table = []
    for verdict in ("all", *sorted({row["verdict"] for row in rows})):
        some = [row for row in rows if verdict in ("all", row["verdict"])]
        means = {key: float(np.mean([row[key] for row in some])) for key in rows[0] if key not in ("set", "verdict")}
        table.append({"verdict": verdict, "sets": len(some), **means})
    show_rows("share of random orders beaten and gain in points: what plans say, and what is true", table)
    if args.save:
        share = "" if args.share == 0.01 else f", {100 * args.share:g} %"
        save("rehearsal", {f"plans, {args.dataset}, sets {args.sets}{share}": table})


def _best(gain: Mapping[Any, float], orders: Sequence[Any], scores: Any) -> float:
    """The gain of the best order by `scores`; the mean of those that tie."""
    return float(np.mean([gain[orders[row]] for row in np.flatnonzero(scores >= scores.max() - 1e-12)]))


def summarize(gains: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    """Mean gains with intervals, and their ratio to periphery-to-core on the same sets: those that have the gain."""
    rows = []
    for name in {name: 0 for one in gains for name in one}:
        pair = np.array([(one[name], one["periphery-to-core, one seed"]) for one in gains if name in one])
        low, high = bootstrap_interval(pair, lambda x: x[:, :, 0].mean(axis=1))
        ratio = bootstrap_interval(pair, lambda x: x[:, :, 0].mean(axis=1) / x[:, :, 1].mean(axis=1))
        ahead = bootstrap_interval(pair, lambda x: (x[:, :, 0] - x[:, :, 1]).mean(axis=1))
        gain, base = pair.mean(axis=0)
        rows.append({"rule": name, "sets": len(pair), "gain": float(gain), "interval": [low, high],
                     "ratio": float(gain / base), "ratio_interval": list(ratio),
                     "ahead_interval": list(ahead)})  # fmt: skip
    return sorted(rows, key=lambda row: -row["gain"])


def of_ceiling(gains: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    """What share of the ceiling the rehearsal and the rule earn, on the sets whose ceiling is known."""
    known = [one for one in gains if "ceiling" in one]
    rows = []
    for name in (PRIMARY, "periphery-to-core, one seed") if known else ():
        pair = np.array([(one[name], one["ceiling"]) for one in known])
        gain, ceiling = pair.mean(axis=0)
        low, high = bootstrap_interval(pair, lambda x: x[:, :, 0].mean(axis=1) / x[:, :, 1].mean(axis=1))
        rows.append({"rule": name, "sets": len(known), "gain": float(gain), "ceiling": float(ceiling),
                     "share": float(gain / ceiling), "share_interval": [low, high]})  # fmt: skip
    return rows


def show(result: Mapping[str, Any]) -> None:
    """One table, and the shares of the ceiling."""
    print(json.dumps(result["machine"]), json.dumps(result["settings"]))
    print(f"{len(result['sets'])} task sets; gains over the mean order, points of test accuracy")
    print(f"{'rule':42s} {'gain':>6s} {'95 % interval':>16s}   {'x p2c':>5s} {'95 % interval':>16s}")
    for row in result["rows"]:
        gain, ratio = (f"[{row[key][0]:6.2f}, {row[key][1]:6.2f}]" for key in ("interval", "ratio_interval"))
        mark = " *" if row["rule"] == PRIMARY else ""
        print(f"{row['rule']:42s} {row['gain']:6.2f} {gain:>16s}   {row['ratio']:5.2f} {ratio:>16s}{mark}")
    for row in result["of_ceiling"]:
        low, high = row["share_interval"]
        print(f"{row['rule']}: {row['gain']:.2f} of a ceiling of {row['ceiling']:.2f}, {row['share']:.2f} "
              f"[{low:.2f}, {high:.2f}], on {row['sets']} sets")  # fmt: skip


def rehearsed(args: argparse.Namespace, numbers: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """For each set and seed the tables of all endings up to the wanted length, trained where they are not kept."""
    settings = {key: getattr(args, key) for key in ("dataset", "net", "share", "level", "epochs")}
    specs = {
        (number, seed): RunSpec(KIND, {**settings, "set": number, "seed": seed})
        for seed in range(args.seeds) for number in numbers
    }  # fmt: skip
    with Store(args.keep) as store:
        missing = [key for key, spec in specs.items() if store.result(spec.digest) is None]
        size = args.batch or (1 if jax.default_backend() == "cpu" else 10)
        for begin in range(0, len(missing), size):
            part = missing[begin : begin + size]
            store.put([specs[key] for key in part], train(args, part), 0.0)
            print(f"{begin + len(part)} of {len(missing)} rehearsed", file=sys.stderr, flush=True)
        return {n: [store.result(specs[n, seed].digest) or {} for seed in range(args.seeds)] for n in numbers}


def train(args: argparse.Namespace, part: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Rehearse some sets and seeds in one batch."""
    data = _data(args.dataset)
    settings = {"num_tasks": 5, "classes_per_task": 2}
    pool = task_pool(data, [runs.task_set(data, settings, number) for number, _ in part], share=args.share)
    P = settings["num_tasks"]
    orders = tuple(itertools.permutations(range(P), min(P, LENGTHS[args.level])))
    curricula = [
        Curriculum(tuple(range(P * place, P * (place + 1))), orders, 100_000 + number * 1000 + seed)
        for place, (number, seed) in enumerate(part)
    ]
    net = runs.network(args.net, data.train_inputs.shape[1:], settings["classes_per_task"])
    found: list[dict[str, list[Any]]] = [{"endings": [], **{kind: [] for kind in KINDS}} for _ in part]

    def visit(nodes: Sequence[Branch], state: Any) -> None:
        if not nodes[0].prefix:
            return
        tables = np.asarray(measured(net, state.params, pool, tasks_of(curricula, nodes, state)), np.float64)
        for row, node in enumerate(nodes):
            one = found[node.curriculum]
            one["endings"].append(".".join(map(str, node.prefix)))
            for kind, values in zip(KINDS, tables[:, row], strict=True):
                one[kind].append([float(f"{value:.6g}") for value in values])

    size = min(4, int(np.min(pool.counts)))
    walk(net, pool, curricula, visit, recipe=Recipe(args.epochs, size), max_networks=networks_that_fit(net))
    return found


@functools.lru_cache(maxsize=1)
def _data(name: str) -> Any:
    return load(name)


@functools.partial(jax.jit, static_argnames=("net",))
def measured(net: Net, params: Any, pool: Pool, tasks: Array) -> Array:
    """(4, N, P) affinity, accuracy, loss and loss with shuffled labels of N networks on their P tasks."""
    places = jnp.arange(pool.rows.shape[1])

    def on_task(task: Array) -> Array:
        rows, labels = pool.rows[task], pool.labels[task]
        counted = places < pool.counts[task][:, None]
        losses = -jax.nn.log_softmax(jax.vmap(net.apply)(params, as_floats(pool.inputs[rows])))
        own = jnp.take_along_axis(losses, labels[:, :, None], axis=2)[:, :, 0]
        hits = jax.nn.one_hot(labels, losses.shape[-1]) * counted[:, :, None]
        shares = hits.sum(axis=1) / counted.sum(axis=1, keepdims=True)
        mixed = jnp.einsum("nbk,nk->nb", losses, shares)
        parts = jnp.exp(-own / 2), losses.argmin(axis=2) == labels, own, mixed
        return jnp.stack([(part * counted).sum(axis=1) / counted.sum(axis=1) for part in parts])

    return lax.map(on_task, tasks.T).transpose(1, 2, 0)


if __name__ == "__main__":
    main()
