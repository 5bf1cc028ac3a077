"""Truth tables, tasks and pilots for benchmarks/planning.py."""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.learners.orders import learn_orders
from taskorder.learners.protocol import Learner, Score
from taskorder.planning.fitted_law import Pilot
from taskorder.planning.measurements import Measurements
from taskorder.planning.pilot import pilot_sample
from taskorder.planning.retention import kept
from taskorder.runs.store import Store
from taskorder.tables.loss_ratios import loss_ratios, similarity_from_loss_ratios
from taskorder.task import Task

TABLES = Path(__file__).parents[1] / "reproduction" / "results" / "tables"
P = 5
ORDERS = list(itertools.permutations(range(P)))
RACERS = 20
"""Tasks in a race."""


def read_tables(name: str, seed: int = 0) -> dict[int, dict[str, dict[tuple[int, ...], Floats]]]:
    """By task set and table, after each prefix (or network): (3, P) accuracy, loss and chance."""
    by_set: dict[int, dict[str, dict[tuple[int, ...], Any]]] = {}
    with gzip.open(TABLES / f"{name}.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if int(row["seed"]) != seed or not row["loss"]:
                continue
            prefix = tuple(map(int, row["network"].split("."))) if row["network"] else ()
            cells = by_set.setdefault(int(row["set"]), {}).setdefault(row["table"], {}).setdefault(prefix, {})
            cells[int(row["task"])] = [float(row[key]) for key in ("accuracy", "loss", "chance")]
    return {
        number: {table: {prefix: np.array([cells[t] for t in sorted(cells)]).T for prefix, cells in rows.items()}
                 for table, rows in tables.items()}
        for number, tables in by_set.items()
    }  # fmt: skip


def all_orders(num_tasks: int) -> Ints:
    """(num_tasks!, num_tasks), in lexicographic order."""
    return np.array(list(itertools.permutations(range(num_tasks))))


def final_accuracies(orders: Mapping[tuple[int, ...], Floats]) -> Floats:
    """(120, P) accuracy of every task after each of the orders."""
    return np.array([orders[order][0] for order in ORDERS])


def fashion(args: argparse.Namespace) -> Any:
    """The data set and the learner of the truth."""
    from taskorder.datasets import load
    from taskorder.datasets.idx import read_fashion_mnist
    from taskorder.engine.compiled import keep_compiled
    from taskorder.engine.train import Recipe
    from taskorder.learners.jax import JaxLearner
    from taskorder.runs.training import network

    keep_compiled()
    data = read_fashion_mnist(Path(args.data)) if args.data else load("fashion-mnist")
    return data, JaxLearner(network("mlp", data.train_inputs.shape[1:], 2), Recipe(5))


def set_tasks(data: Any, number: int) -> list[Task]:
    """The tasks of a task set of the truth, on all training data; evaluated on test data."""
    from taskorder.datasets.class_tasks import lookup_table, task_indices
    from taskorder.runs.training import task_set

    drawn = task_set(data, {"num_tasks": P, "classes_per_task": 2}, number)
    tasks = []
    for name, task in zip(drawn.names, drawn.tasks, strict=True):
        labels = lookup_table(task, data.num_classes)
        rows, tests = task_indices(data.train_labels, task), task_indices(data.test_labels, task)
        tasks.append(Task(name, data.train_inputs[rows], labels[data.train_labels[rows]],
                          data.test_inputs[tests], labels[data.test_labels[tests]]))  # fmt: skip
    return tasks


def trained_pilot(
    tasks: Sequence[Task], learner: Learner, size: int, store: Store | None, seeds: Sequence[int] = (0, 1, 2)
) -> Measurements:
    """Every task alone and all pairs, on a sample."""
    sample = pilot_sample(tasks, size, 0, keep_eval=False)
    sequences = [*((k,) for k in range(P)), *itertools.permutations(range(P), 2)]
    scores = learn_orders(learner, sample, sequences, seeds, store=store, examples=True)
    return Measurements.from_scores(scores, np.full(P, 0.5))


def only(
    measured: Measurements, sequences: Sequence[tuple[int, ...]], seeds: Sequence[int] = (0, 1, 2)
) -> Measurements:
    """Some of what was measured."""
    rows = [measured.sequences.index(sequence) for sequence in sequences]
    cut = np.ix_(seeds, rows)
    assert measured.accuracy is not None
    assert measured.examples is not None
    return replace(
        measured, sequences=tuple(sequences), losses=measured.losses[cut], chance=measured.chance[cut],
        accuracy=measured.accuracy[cut], examples=tuple(each[cut] for each in measured.examples),
    )  # fmt: skip


def as_pilot(measured: Measurements, size: int, tasks: Sequence[Task]) -> Pilot:
    """What `plan` makes of it."""
    keeps = kept(measured, np.array([len(task.targets) for task in tasks]), np.full(P, size))
    return Pilot(measured, keeps.real, keeps.on_sample)


def mean_similarity(measured: Measurements) -> Floats:
    """The similarity of tasks as the paper measures it, from tasks alone; mean over seeds."""
    alone = [measured.sequences.index((k,)) for k in range(measured.losses.shape[2])]
    tables = zip(measured.losses[:, alone], measured.chance[:, alone], strict=True)
    return np.asarray(np.mean([similarity_from_loss_ratios(loss_ratios(*pair)) for pair in tables], axis=0))


def drawn_examples(table: Mapping[tuple[int, ...], Floats], size: int, seed: int, classes: int) -> Measurements:
    """Examples that have the accuracy and the mean loss of a table of which only these are known.

    Right answers cost nothing and wrong ones the rest: the noisiest examples with these means.
    """
    rng, scores = np.random.default_rng(seed), {}
    for prefix, (accuracy, loss, chance) in table.items():
        each = []
        for right_share, mean, guess in zip(accuracy, loss, chance, strict=True):
            right = np.zeros(size)
            right[: round(right_share * size)] = 1
            right = rng.permutation(right)
            wrong = 1 - right
            losses = mean * (wrong / wrong.mean() if wrong.any() else np.ones(size))
            examples = np.stack([losses, np.full(size, guess), right])
            each.append(Score(*examples.mean(axis=1).tolist(), examples))
        scores[prefix] = tuple(each)
    return Measurements.from_scores([scores], np.full(len(scores), 1 / classes))


def pairs_of_clothes(data: Any, number: int) -> list[Task]:
    """Twenty tasks of two classes of Fashion-MNIST, 500 images each."""
    rng = np.random.default_rng(number)
    couples = rng.permutation(list(itertools.combinations(range(10), 2)))[:RACERS]
    tasks = []
    for low, high in rng.permuted(couples, axis=1).tolist():
        rows = np.concatenate([rng.choice(np.flatnonzero(data.train_labels == c), 250, False) for c in (low, high)])
        tests = np.flatnonzero(np.isin(data.test_labels, (low, high)))[:400]
        tasks.append(Task(f"{low} or {high}", data.train_inputs[rows], data.train_labels[rows] == high,
                          data.test_inputs[tests], data.test_labels[tests] == high))  # fmt: skip
    return tasks
