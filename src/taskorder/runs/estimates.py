"""Similarities of the tasks of many sets at once, by name: how they were measured.

test, train   networks trained on one task each, tested on the others' test or training data
1%, 0.1%, ... trained on that share of each task, tested on the same share of the others: what a pilot sample can tell
curvature     -g.H.g (see engine/single.py) on at most CURVATURE_EXAMPLES training examples of each task
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from taskorder.checks import Floats
from taskorder.datasets.class_tasks import TaskSet, lookup_table, task_indices
from taskorder.datasets.dataset import Dataset
from taskorder.engine.nets import Net
from taskorder.engine.pools import make_pool, stratified_share
from taskorder.engine.single import CURVATURE, single_tasks, transfer_tables
from taskorder.engine.train import Pool, Recipe
from taskorder.engine.tree import Curriculum, Work
from taskorder.runs.settings import share_of

CURVATURE_EXAMPLES = 1000

Tables = dict[str, dict[str, list[list[float]]]]
"""By name of the estimate, by kind (accuracy, loss and chance, or value): row A, column B is network A on task B."""


def measure(
    data: Dataset,
    sets: Sequence[TaskSet],
    curricula: Sequence[Curriculum],
    train: Pool,
    test: Pool,
    net: Net,
    recipe: Recipe,
    names: Sequence[str],
    *,
    max_networks: int,
    work: Work,
    report: Callable[[Work], object] | None = None,
) -> list[Tables]:
    """The tables of every set; the networks begin as those of `curricula` do, whose orders do not matter."""
    alone = [single_tasks(one.tasks, one.seed) for one in curricula]
    how: dict[str, Any] = {"max_networks": max_networks, "work": work, "report": report}
    found: list[dict[str, dict[str, Floats]]] = [{} for _ in sets]

    def add(tables: Sequence[Mapping[str, dict[str, Floats]]]) -> None:
        for whole, part in zip(found, tables, strict=True):
            whole.update(part)

    whole = {name: pool for name, pool in (("test", test), ("train", train)) if name in names}
    if whole or CURVATURE in names:
        some = task_pool(data, sets, most=CURVATURE_EXAMPLES, inputs=train.inputs) if CURVATURE in names else None
        add(transfer_tables(net, train, alone, whole, some, recipe=recipe, **how))
    for name in names:
        if share := share_of(name):
            pilot = task_pool(data, sets, share=share, inputs=train.inputs, length=train.rows.shape[1])
            size = min(recipe.batch_size, int(np.min(pilot.counts)))  # a pilot may have fewer examples than a batch
            how["recipe"] = replace(recipe, batch_size=size)
            add(transfer_tables(net, pilot, alone, {name: pilot}, **how))
    return [{name: {kind: _rounded(table) for kind, table in one[name].items()} for name in names} for one in found]


def _rounded(table: Floats) -> list[list[float]]:
    return [[float(f"{value:.6g}") for value in row] for row in table.tolist()]


def task_pool(
    data: Dataset,
    sets: Sequence[TaskSet],
    split: str = "train",
    *,
    share: float = 1.0,
    most: int | None = None,
    inputs: Any = None,
    length: int = 0,
) -> Pool:
    """The tasks of all sets, one after another; of each task a stratified share, or at most so many examples.

    inputs: those of the split, where they are on the device already. length: see `make_pool`.
    """
    labels = getattr(data, f"{split}_labels")
    rows, targets = [], []
    for one in sets:
        for place, task in enumerate(one.tasks):
            chosen = task_indices(labels, task)
            part = min(share, 1.0 if most is None else most / len(chosen))
            if part < 1:
                chosen = chosen[stratified_share(labels[chosen], part, seed=one.seed * 100 + place)]
            rows.append(chosen)
            targets.append(lookup_table(task, data.num_classes)[labels[chosen]])
    given: Any = getattr(data, f"{split}_inputs") if inputs is None else inputs
    return make_pool(given, rows, targets, length=length)
