"""What predicts the final accuracy of an order where each task has a head of its own?

    python benchmarks/heads.py digits             scikit-learn's digits (development)
    python benchmarks/heads.py digits --replay    the same with replay of 20 examples a class
    python benchmarks/heads.py fashion            Fashion-MNIST, 500 images a task (development)

A table of tasks learned alone says nothing about another task's head, which nobody has trained. The truth is trained
here: all orders of five tasks with classes of their own, two seeds, accuracies on test data. Pilots have 100 images a
task, tested on 100 others, three seeds, all pairs.

Question and statistic, fixed before anything was looked at: which of `CANDIDATES` ranks the orders of a task set as
their true mean accuracy does? The statistic is the rank correlation over all 120 orders with the mean of both seeds,
its mean over task sets with a 95 % interval over resampled task sets; the one with the highest mean over both data sets
is the best, and it counts only where its interval is above zero on both. Beside it what its best order earns over the
mean order, in points, how far orders spread, and the rank correlation of one seed of the truth with the other: no
prediction can be expected to do better.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import header, save, show
from planning_pilots import ORDERS, P
from scipy.stats import spearmanr

from taskorder.checks import Floats
from taskorder.engine.losses import among
from taskorder.engine.train import Recipe
from taskorder.learners.jax import JaxLearner, JaxModel
from taskorder.learners.jax_examples import class_mask
from taskorder.learners.orders import learn_orders
from taskorder.planning.fitted_law import Pilot, fitted_law
from taskorder.planning.measurements import Measurements
from taskorder.planning.measuring import guessing
from taskorder.planning.pilot import pilot_sample, sample_apart
from taskorder.planning.retention import kept
from taskorder.runs.store import Store
from taskorder.runs.training import network, task_set
from taskorder.stats import bootstrap_interval
from taskorder.strategies import Replay
from taskorder.task import Task, align
from taskorder.theory.random_orders import knowledge_after

SEEDS, TRUTH_SEEDS, SIZE = (0, 1, 2), (100, 101), 100
CANDIDATES = {
    "law": "the law of retention from tasks alone and pairs, as for shared heads",
    "pairs": "every task alone, plus what each other task does to it in a pair, before it or after it",
    "forgetting": "the same, only what a later task does to an earlier one",
    "gain": "the same, only what an earlier task does to a later one",
    "probe": "the law with a table of fresh heads, fitted on frozen features of the network of another task",
    "gradients": "the law with a table of cosines of the gradients of two tasks",
}


def tasks_of(data: Any, number: int, images: int | None) -> tuple[Task, ...]:
    """The tasks of a task set, every class with an output of its own."""
    drawn = task_set(data, {"num_tasks": P, "classes_per_task": 2}, number)
    tasks = []
    for name, task in zip(drawn.names, drawn.tasks, strict=True):
        classes = sorted(label for group in task for label in group)
        rows, tests = (np.flatnonzero(np.isin(labels, classes)) for labels in (data.train_labels, data.test_labels))
        whole = Task(name, data.train_inputs[rows], data.train_labels[rows], data.test_inputs[tests],
                     data.test_labels[tests])  # fmt: skip
        tasks.append(whole if images is None else pilot_sample([whole], images, number)[0])
    return align(tasks)


def measured_pilot(tasks: Sequence[Task], learner: Any, store: Store | None) -> Measurements:
    """Every task alone and all pairs, on a sample that is tested on others."""
    sample = sample_apart(tasks, SIZE)
    sequences = [*((k,) for k in range(P)), *itertools.permutations(range(P), 2)]
    scores = learn_orders(learner, sample, sequences, SEEDS, store=store, examples=True)
    return Measurements.from_scores(scores, guessing(sample, learner))


def effects(measured: Measurements) -> tuple[Floats, Floats, Floats]:
    """(P,) knowledge of each task alone; what i before j adds to j, and what j after i adds to i, both (P, P)."""
    known = dict(zip(measured.sequences, measured.knowledge().mean(axis=0), strict=True))
    alone = np.array([known[(k,)][k] for k in range(P)])
    gain, lost = np.zeros((P, P)), np.zeros((P, P))
    for i, j in itertools.permutations(range(P), 2):
        gain[i, j], lost[i, j] = known[(i, j)][j] - alone[j], known[(i, j)][i] - alone[i]
    return alone, gain, lost


def summed(table: Floats) -> Floats:
    """(120,) of a table of what i before j is worth, the sum over all pairs in each order."""
    return np.array([sum(table[pair] for pair in itertools.combinations(order, 2)) for order in ORDERS])


def weights_of(model: JaxModel) -> Any:
    """The parameters of one network."""
    return jax.tree.map(lambda leaf: np.asarray(leaf[model.row]), model.batch.params)


def hidden(params: Any, inputs: Floats) -> Floats:
    """What the layer before the heads says."""
    h = np.asarray(inputs, np.float64).reshape(len(inputs), -1) / (255 if inputs.dtype == np.uint8 else 1)
    for layer in params[:-1]:
        h = np.maximum(h @ layer["w"] + layer["b"], 0)
    return h


def probed(tasks: Sequence[Task], learner: Any) -> Floats:
    """(P, P) knowledge of each task (accuracy over guessing) with a fresh head on frozen features of each network."""
    from sklearn.linear_model import LogisticRegression

    sample, tables = sample_apart(tasks, SIZE), []
    for seed in SEEDS:
        models = learner.fit_many([learner.make(seed)] * P, sample)
        rows = []
        for model in models:
            params = weights_of(model)
            heads = [LogisticRegression(max_iter=300).fit(hidden(params, t.inputs), t.targets) for t in sample]
            rows.append([2 * head.score(hidden(params, t.eval_inputs), t.eval_targets) - 1
                         for head, t in zip(heads, sample, strict=True)])  # fmt: skip
        tables.append(rows)
    return np.mean(tables, axis=0)


def aligned_gradients(tasks: Sequence[Task], learner: Any) -> Floats:
    """(P, P) cosine of the gradients of two tasks in all layers but the heads, after learning the row's task."""
    sample, tables = sample_apart(tasks, SIZE), []

    def gradient(params: Any, task: Task) -> Floats:
        own = jnp.asarray(class_mask(np.unique(task.targets), len(task.classes)))
        x = jnp.asarray(task.eval_inputs, jnp.float32) / (255 if task.eval_inputs.dtype == np.uint8 else 1)

        def loss(shared: Any) -> Any:
            logits = among(learner.net.apply([*shared, params[-1]], x), own)
            return -jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.asarray(task.eval_targets)[:, None], 1).mean()

        return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(jax.grad(loss)(params[:-1]))])

    for seed in SEEDS:
        models = learner.fit_many([learner.make(seed)] * P, sample)
        rows = []
        for k, model in enumerate(models):
            all_of = [gradient(weights_of(model), task) for task in sample]
            rows.append([all_of[k] @ g / (np.linalg.norm(all_of[k]) * np.linalg.norm(g) + 1e-12) for g in all_of])
        tables.append(rows)
    return np.mean(tables, axis=0)


def predictions(tasks: Sequence[Task], learner: Any, measured: Measurements) -> dict[str, Floats]:
    """(120,) what each candidate says of every order."""
    sizes = np.array([len(task.targets) for task in tasks])
    keeps = kept(measured, sizes, np.full(P, SIZE))
    orders, (_, gain, lost) = np.array(ORDERS), effects(measured)

    def by_law(table: Floats) -> Floats:
        return knowledge_after(table, orders, keeps.real, np.zeros(P)).mean(axis=1)

    plain = learner.with_strategy(None)
    return {
        "law": fitted_law(Pilot(measured, keeps.real, keeps.on_sample)).score(orders),
        "pairs": summed(gain + lost), "forgetting": summed(lost), "gain": summed(gain),
        "probe": by_law(probed(tasks, plain)), "gradients": by_law(aligned_gradients(tasks, plain)),
    }  # fmt: skip


def interval(values: Sequence[float]) -> str:
    """The mean over task sets, with its 95 % interval."""
    if len(values) < 2:
        return f"{values[0]:.2f}"
    low, high = bootstrap_interval(np.array(values)[:, None], lambda x: x[..., 0].mean(axis=1))
    return f"{np.mean(values):.2f} [{low:.2f}, {high:.2f}]"


def run(data: Any, numbers: Sequence[int], images: int | None, args: argparse.Namespace) -> list[Mapping[str, Any]]:
    """A row for each candidate."""
    net, strategy = network("mlp", data.train_inputs.shape[1:], data.num_classes), Replay(20) if args.replay else None
    learner = JaxLearner(net, Recipe(5), heads="task", strategy=strategy)
    found: dict[str, list[tuple[float, float]]] = {}
    spread, again, means = [], [], []
    for number in numbers:
        tasks = tasks_of(data, number, images)
        runs = learn_orders(learner, tasks, ORDERS, TRUTH_SEEDS, store=args.store)
        truth = np.array([[[score.accuracy for score in run[order]] for order in ORDERS] for run in runs])
        accuracy = 100 * truth.mean(axis=2)
        mean = accuracy.mean(axis=0)
        means.append(mean.mean())
        spread.append(accuracy.std(axis=1).mean())
        again.append(spearmanr(*accuracy)[0])
        for name, scores in predictions(tasks, learner, measured_pilot(tasks, learner, args.store)).items():
            earned = float(mean[scores.argmax()] - mean.mean())
            found.setdefault(name, []).append((float(np.nan_to_num(spearmanr(scores, mean)[0])), earned))
        last = {name: np.round(values[-1], 2).tolist() for name, values in found.items()}
        print(f"set {number}: {last}, another seed {again[-1]:.2f}", file=sys.stderr, flush=True)
    said = {"sets": len(numbers), "mean accuracy": f"{np.mean(means):.1f}", "sd over orders": f"{np.mean(spread):.2f}"}
    rows = [{**said, "candidate": "another seed", "rank correlation": interval(again), "points": ""}]
    for name, values in found.items():
        rank, earned = zip(*values, strict=True)
        rows.append({**said, "candidate": name, "rank correlation": interval(rank), "points": interval(earned)})
    return rows


def main() -> None:
    """Run one section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=("digits", "fashion"))
    parser.add_argument("--sets", type=int, default=5, help="task sets")
    parser.add_argument("--replay", action="store_true", help="learners with replay of 20 examples a class")
    parser.add_argument("--data", help="the folder of Fashion-MNIST")
    parser.add_argument("--store", help="a file that keeps trained networks")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results/heads.json")
    args = parser.parse_args()
    print(json.dumps(header()))
    from taskorder.datasets import load
    from taskorder.datasets.idx import read_fashion_mnist
    from taskorder.engine.compiled import keep_compiled

    keep_compiled()
    digits = args.section == "digits"
    data = load("digits") if digits else read_fashion_mnist(Path(args.data)) if args.data else load("fashion-mnist")
    with nullcontext() if args.store is None else Store(args.store) as args.store:
        rows = run(data, range(args.sets), None if digits else 500, args)
    show(f"{args.section}: rank correlation with the true accuracy of all orders", rows)
    if args.save:
        save("heads", {args.section: rows})


if __name__ == "__main__":
    main()
