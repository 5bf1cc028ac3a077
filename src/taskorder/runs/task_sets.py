"""Runs of the engine on task sets of a data set: RunSpecs (runs/settings.py) give results in plain JSON values.

One run is one task set with one seed, learned in all or many orders (engine/tree.py). Its result holds a row for every
distinct beginning of an order: accuracy, loss and expected shuffled loss of every task on test data; and the tables of
the task similarities that were asked for (runs/estimates.py), whole and asymmetric.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from taskorder.datasets import load
from taskorder.datasets.class_tasks import TaskSet, draw_task_set, named_task_set
from taskorder.datasets.dataset import Dataset
from taskorder.engine.capacity import networks_that_fit
from taskorder.engine.cnn import cnn
from taskorder.engine.nets import Net, mlp
from taskorder.engine.train import Recipe
from taskorder.engine.tree import Curriculum, Outcome, Work, train_orders
from taskorder.machine import describe
from taskorder.ordering.candidates import PAIRWISE, curvature_orders, pairwise_order, similarity_orders
from taskorder.records import RunSpec
from taskorder.runs.estimates import Tables, measure, task_pool
from taskorder.runs.settings import NETS, RULE_ORDERS, RULES, Config, orders
from taskorder.tables.loss_ratios import measured_matrix, measured_similarity

MAKERS: dict[str, Callable[[Sequence[int], int], Net]] = dict(zip(NETS, (mlp, cnn), strict=True))


def run_batch(batch: Sequence[RunSpec], report: Any = None, data: Dataset | None = None) -> list[dict[str, Any]]:
    """Train a batch of specs together: their networks are one long batch. They must agree in all but set and seed.

    data: their data set, where it is at hand.
    """
    settings = {key: value for key, value in batch[0].params.items() if key not in ("set", "seed")}
    if any({**settings, **spec.params} != {**spec.params, **settings} for spec in batch):
        raise ValueError("`batch` must agree in all but set and seed, got different settings.")
    data = data or dataset_of(settings["dataset"])
    sets = [task_set(data, settings, spec.params["set"]) for spec in batch]
    train, test = task_pool(data, sets, share=settings["fraction"]), task_pool(data, sets, "test")
    P = settings["num_tasks"]
    curricula = [
        Curriculum(tuple(range(P * place, P * (place + 1))), orders(settings, spec.params["set"]), _seed(spec.params))
        for place, spec in enumerate(batch)
    ]
    net = _net(settings["net"], train.inputs.shape[1:], settings["classes_per_task"])
    recipe = Recipe(settings["epochs"], settings["batch_size"], settings["learning_rate"], reset=settings["reset_adam"])
    work = Work()
    how: dict[str, Any] = {"max_networks": networks_that_fit(net), "work": work, "report": report}
    measured = measure(data, sets, curricula, train, test, net, recipe, settings["similarities"], **how)
    if settings["orders"].endswith(RULES):
        curricula = [
            replace(one, orders=tuple(dict.fromkeys([*one.orders, *chosen_orders(tables)])))
            for one, tables in zip(curricula, measured, strict=True)
        ]
    outcomes, _ = train_orders(net, train, test, curricula, recipe=recipe, **how)
    steps = work.network_steps // len(batch)
    return [
        {**_result(tasks, one, outcome), "similarities": tables, "network_steps": steps}
        for tasks, one, outcome, tables in zip(sets, curricula, outcomes, measured, strict=True)
    ]


def chosen_orders(tables: Tables) -> list[tuple[int, ...]]:
    """The orders that the rules choose by any of the measured similarities."""
    found: list[tuple[int, ...]] = []
    for one in tables.values():
        if "value" in one:
            by_rule = curvature_orders(one["value"])
        else:
            by_rule = {**similarity_orders(measured_similarity(one)), PAIRWISE: (pairwise_order(measured_matrix(one)),)}
        found += [order for orders in by_rule.values() for order in orders]
    return found


@lru_cache(maxsize=2)
def dataset_of(name: str) -> Dataset:
    """The data set of a run, kept: loading it takes seconds."""
    return load(name)


@lru_cache(maxsize=2)
def inputs_digest(name: str) -> str:
    """SHA-256 of all arrays of a data set, as they are: row order counts, for training depends on it."""
    data = dataset_of(name)
    total = hashlib.sha256(repr(data.class_names).encode())
    for array in (data.train_inputs, data.train_labels, data.test_inputs, data.test_labels):
        total.update(f"{array.dtype.str} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


@lru_cache(maxsize=8)
def _net(name: str, shape: tuple[int, ...], num_outputs: int) -> Net:
    """One object for equal networks: JAX compiles anew for every object."""
    return MAKERS[name](shape, num_outputs)


def device_name() -> str:
    """Platform and name of the device that trains."""
    device = jax.devices()[0]
    return f"{device.platform}: {describe()['cpu'] if device.platform == 'cpu' else device.device_kind}"


def specs_at_once(config: Config, data: Dataset | None = None) -> int:
    """How many specs to train together: one on a CPU, where it keeps all cores busy; elsewhere what fits the device."""
    if jax.default_backend() == "cpu":
        return 1
    data = data or dataset_of(config.dataset)
    net = _net(config.net, data.train_inputs.shape[1:], config.classes_per_task)
    widest = len(orders(asdict(config), 0)) + config.orders.endswith(RULES) * RULE_ORDERS * len(config.similarities)
    most = max(1, networks_that_fit(net) // widest)
    total = config.num_sets * config.num_seeds
    equal = [size for size in range(most, most // 2, -1) if total % size == 0]
    return equal[0] if equal else most  # batches of one size need fewer shapes, and so less compiling


def _seed(params: Mapping[str, Any]) -> int:
    """A seed of its own for every set and seed."""
    return int(params["set"]) * 1000 + int(params["seed"])


def task_set(data: Dataset, settings: Mapping[str, Any], number: int) -> TaskSet:
    """Task set `number` of a config."""
    if "tasks" in settings:
        return named_task_set(data.class_names, settings["tasks"], dataset=data.name)
    return draw_task_set(
        data.class_names, settings["num_tasks"], settings["classes_per_task"], seed=number, dataset=data.name
    )


def task_set_of(spec: RunSpec) -> TaskSet:
    """The task set of a spec; an error if its data set is not here or has too few classes."""
    return task_set(dataset_of(spec.params["dataset"]), spec.params, spec.params["set"])


def _result(tasks: TaskSet, curriculum: Curriculum, outcome: Outcome) -> dict[str, Any]:
    places: dict[tuple[int, ...], tuple[int, int]] = {}
    for row, order in enumerate(curriculum.orders):
        for length in range(len(order) + 1):
            places.setdefault(order[:length], (row, length))
    tables = {
        name: [[float(f"{value:.6g}") for value in table[place]] for place in places.values()]
        for name, table in zip(Outcome._fields, outcome, strict=True)
    }
    return {
        "task_set": tasks.to_dict(),
        "beginnings": [".".join(map(str, prefix)) for prefix in places],
        **tables,
    }
