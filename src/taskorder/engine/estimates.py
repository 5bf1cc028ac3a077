"""Similarities of the tasks of many sets at once, by name: how they were measured.

test, train   networks trained on one task each, tested on the others' test or training data
1%, 0.1%, ... trained on that share of each task, tested on the same share of the others: what a pilot sample can tell
100 examples  trained on so many examples of each task, tested on as many of the others
curvature     -g.H.g (see engine/single.py) on at most CURVATURE_EXAMPLES training examples of each task
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Floats
from taskorder.datasets.class_tasks import TaskSet, lookup_table, size_shares, task_indices
from taskorder.datasets.dataset import Dataset
from taskorder.engine.heads import allowed_outputs, num_outputs, outputs_of
from taskorder.engine.nets import Net
from taskorder.engine.pools import make_pool
from taskorder.engine.single import CURVATURE, single_tasks, transfer_tables
from taskorder.engine.train import Pool, Recipe
from taskorder.engine.tree import Curriculum, Work
from taskorder.strategies import SHARED
from taskorder.stratified import stratified_share

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
    samples: Mapping[str, tuple[float, int | None] | None],
    *,
    uneven: float = 1.0,
    head: str = SHARED,
    max_networks: int,
    work: Work,
    report: Callable[[Work], object] | None = None,
) -> list[Tables]:
    """The tables of every set; the networks begin as those of `curricula` do, whose orders do not matter.

    samples: the names of the estimates, each with the share of a task that it uses and how many examples at most, None
    for all of them. uneven, head: see `task_pool`.
    """
    alone = [single_tasks(curriculum.tasks, curriculum.seed) for curriculum in curricula]
    options: dict[str, Any] = {"max_networks": max_networks, "work": work, "report": report}
    measured: list[dict[str, dict[str, Floats]]] = [{} for _ in sets]

    def add(tables: Sequence[Mapping[str, dict[str, Floats]]]) -> None:
        for known, more in zip(measured, tables, strict=True):
            known.update(more)

    # What uses all data is measured with the same networks.
    pools = {name: pool for name, pool in (("test", test), ("train", train)) if name in samples}
    if pools or CURVATURE in samples:
        some = (
            task_pool(data, sets, uneven=uneven, head=head, most=CURVATURE_EXAMPLES, inputs=train.inputs)
            if CURVATURE in samples
            else None
        )
        add(transfer_tables(net, train, alone, pools, some, recipe=recipe, **options))
    for name, sample in samples.items():
        if sample:
            part: dict[str, Any] = dict(zip(("share", "most"), sample, strict=True))
            of_train: dict[str, Any] = {"inputs": train.inputs, "length": train.rows.shape[1]}
            pilot = task_pool(data, sets, **part, uneven=uneven, head=head, **of_train)
            size = min(recipe.batch_size, int(np.min(pilot.counts)))  # a pilot may have fewer examples than a batch
            small = replace(recipe, batch_size=size)
            add(transfer_tables(net, pilot, alone, {name: pilot}, recipe=small, **options))
    return [{name: {kind: _rounded(t) for kind, t in tables[name].items()} for name in samples} for tables in measured]


def _rounded(table: Floats) -> list[list[float]]:
    return [[float(f"{value:.6g}") for value in row] for row in table.tolist()]


def task_pool(
    data: Dataset,
    sets: Sequence[TaskSet],
    split: str = "train",
    *,
    share: float = 1.0,
    uneven: float = 1.0,
    head: str = SHARED,
    most: int | None = None,
    inputs: Any = None,
    length: int = 0,
) -> Pool:
    """The tasks of all sets, one after another; of each task a stratified share, or at most so many examples.

    uneven: how many times as many examples as the smallest task of a set the largest has, before a share is taken.
    head: which outputs a task has (engine/heads.py). inputs: those of the split, where they are on the device already.
    length: see `make_pool`.
    """
    labels = getattr(data, f"{split}_labels")
    width = max(num_outputs(tasks.tasks, head) for tasks in sets)
    rows, targets = [], []
    allowed: list[NDArray[np.bool_]] = []
    for tasks in sets:
        sizes = size_shares(len(tasks.tasks), uneven, tasks.seed)
        outputs = outputs_of(tasks.tasks, head)
        allowed += allowed_outputs(tasks.tasks, head, width)
        for index, task in enumerate(tasks.tasks):
            chosen = task_indices(labels, task)
            part = min(share * sizes[index], 1.0 if most is None else most / len(chosen))
            if part < 1:
                chosen = chosen[stratified_share(labels[chosen], part, seed=tasks.seed * 100 + index)]
            rows.append(chosen)
            targets.append(outputs[index][lookup_table(task, data.num_classes)[labels[chosen]]])
    compete = np.stack(allowed) if allowed else None
    inputs = getattr(data, f"{split}_inputs") if inputs is None else inputs
    return make_pool(inputs, rows, targets, allowed=compete, length=length)
