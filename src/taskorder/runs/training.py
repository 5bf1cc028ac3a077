"""Training runs of task sets: RunSpecs give results in plain JSON values.

One run is one task set with one seed, learned in all or many orders (engine/tree.py). Its result holds a row for every
distinct prefix of an order: accuracy, loss and expected shuffled loss of every task on test data; and the tables of
the task similarities in the settings (engine/estimates.py), whole and asymmetric.

The engine, and JAX with it, is imported when something is trained.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Ints
from taskorder.datasets import load
from taskorder.datasets.class_tasks import TaskSet, draw_task_set, named_task_set
from taskorder.datasets.dataset import Dataset
from taskorder.engine.heads import num_competing, num_outputs
from taskorder.machine import describe
from taskorder.ordering.candidates import (
    LAW,
    MOST_PAIRWISE,
    PAIRWISE,
    curvature_orders,
    pairwise_order,
    similarity_orders,
    table_orders,
)
from taskorder.prefixes import Prefix, PrefixTree
from taskorder.runs.results import score_names
from taskorder.runs.settings import JOINT, WITH_LAW, WITH_RULES, Config, max_chosen, sample_of
from taskorder.runs.specs import RunSpec, RunSpecs, orders_to_train, shared_settings, strategy_in
from taskorder.strategies import SHARED
from taskorder.tables.knowledge import knowledge, shrunken_table, transfer_table
from taskorder.tables.loss_ratios import measured_matrix, measured_similarity

if TYPE_CHECKING:
    from taskorder.engine.estimates import Tables
    from taskorder.engine.nets import Net
    from taskorder.engine.tree import Outcome


@dataclass(frozen=True, eq=False)
class Training:
    """A `run_batch` that carries its data set along, for workers that may have neither it nor the driver's device."""

    data: Dataset

    def __call__(self, batch: Sequence[RunSpec]) -> list[dict[str, Any]]:
        """Train a batch of specs together."""
        _keep_compiled()
        return run_batch(batch, data=self.data)

    def specs_at_once(self, config: Config) -> int:
        """How many specs the device of the worker trains together."""
        _keep_compiled()
        return specs_at_once(config, self.data)

    def device(self) -> str:
        """The device of the worker."""
        return device_name()


def _keep_compiled() -> None:
    from taskorder.engine.compiled import keep_compiled

    keep_compiled()


def run_batch(batch: Sequence[RunSpec], report: Any = None, data: Dataset | None = None) -> list[dict[str, Any]]:
    """Train a batch of specs together: their networks are one long batch. They must agree in all but set and seed.

    data: their data set, where it is at hand.
    """
    from taskorder.engine.capacity import networks_that_fit
    from taskorder.engine.estimates import measure, task_pool
    from taskorder.engine.train import Recipe
    from taskorder.engine.tree import Curriculum, Work, train_orders

    settings = shared_settings(batch[0].params)
    if any({**settings, **spec.params} != {**spec.params, **settings} for spec in batch):
        raise ValueError("`batch` must agree in all but set and seed, got different settings.")
    data = data or dataset_of(settings["dataset"])
    sets = [task_set(data, settings, spec.params["set"]) for spec in batch]
    uneven, head = settings.get("uneven", 1.0), settings.get("head", SHARED)
    train = task_pool(data, sets, share=settings["fraction"], uneven=uneven, head=head)
    test = task_pool(data, sets, "test", head=head)

    # One pool holds the tasks of all sets, one set after another. Every set and seed has a random stream of its own.
    P = settings["num_tasks"]
    curricula = [
        Curriculum(
            tuple(range(P * place, P * (place + 1))),
            orders_to_train(settings, spec.params["set"]),
            int(spec.params["set"]) * 1000 + int(spec.params["seed"]),
        )
        for place, spec in enumerate(batch)
    ]
    net = network(settings["net"], train.inputs.shape[1:], max(num_outputs(tasks.tasks, head) for tasks in sets))
    strategy, joint = strategy_in(settings), settings.get("strategy") == JOINT
    steps_of = settings["epochs"], settings["batch_size"], settings["learning_rate"]
    recipe = Recipe(*steps_of, reset=settings["reset_adam"], strategy=strategy)
    work = Work()
    most = networks_that_fit(net, strategy=strategy)
    options: dict[str, Any] = {"max_networks": most, "work": work, "report": report}

    # Rules and law choose by the measured similarities, so these come first.
    samples = {name: sample_of(name) for name in settings["similarities"]}
    measured = measure(data, sets, curricula, train, test, net, recipe, samples, uneven=uneven, head=head, **options)
    chosen: list[list[Prefix]] = [[] for _ in batch]
    if WITH_RULES in settings["orders"]:
        chosen = [orders_by_rules(tables) for tables in measured]
    if settings["orders"].endswith(WITH_LAW):
        counts = {
            name: np.asarray(task_pool(data, sets, share=share, most=most, uneven=uneven, inputs=train.inputs).counts)
            for name, (share, most) in ((name, sample) for name, sample in samples.items() if sample)
        }
        for place, tables in enumerate(measured):
            sizes = {name: count[P * place : P * (place + 1)] for name, count in counts.items()}
            chosen[place] += orders_by_law(tables, num_competing(sets[place].tasks, head), sizes)
    curricula = [
        replace(curriculum, orders=tuple(dict.fromkeys([*curriculum.orders, *more])))
        for curriculum, more in zip(curricula, chosen, strict=True)
    ]
    outcomes, _ = train_orders(net, train, test, curricula, recipe=recipe, head=head, joint=joint, **options)
    steps, names = work.network_steps // len(batch), score_names(settings)
    return [
        {**_result(tasks, curriculum.orders, outcome, names), "similarities": tables, "network_steps": steps}
        for tasks, curriculum, outcome, tables in zip(sets, curricula, outcomes, measured, strict=True)
    ]


def _result(tasks: TaskSet, orders: Sequence[Prefix], outcome: Outcome, names: Sequence[str]) -> dict[str, Any]:
    """The numbers of every distinct prefix, out of the first order that begins with it."""
    rows = PrefixTree(orders).rows
    tables = {
        name: [
            [float(f"{value:.6g}") for value in getattr(outcome, name)[row, len(prefix)]]
            for prefix, row in rows.items()
        ]
        for name in names
    }
    return {"task_set": tasks.to_dict(), "beginnings": [".".join(map(str, prefix)) for prefix in rows], **tables}


def orders_by_rules(tables: Tables) -> list[Prefix]:
    """The orders that the rules choose by any of the measured similarities."""
    chosen: list[Prefix] = []
    for measured in tables.values():
        if "value" in measured:
            by_rule = curvature_orders(measured["value"])
        else:
            by_rule = similarity_orders(measured_similarity(measured))
            if len(measured["loss"]) <= MOST_PAIRWISE:
                by_rule[PAIRWISE] = (pairwise_order(measured_matrix(measured)),)
        chosen += [order for orders in by_rule.values() for order in orders]
    return chosen


def orders_by_law(tables: Tables, num_classes: ArrayLike, sizes: Mapping[str, Ints]) -> list[Prefix]:
    """The orders that the law of retention, and sorting by row sums, choose by any of the measured transfer tables.

    sizes: of the tables from samples, the examples of each task; the law also chooses by their shrunken tables.
    """
    chosen: list[Prefix] = []
    for name, measured in tables.items():
        if "value" in measured:
            continue
        losses, chance, accuracy = (measured[kind] for kind in ("loss", "chance", "accuracy"))
        by_law = table_orders(transfer_table(knowledge(losses, chance, accuracy, num_classes)))
        chosen += by_law.values()
        if name in sizes:
            chosen.append(table_orders(shrunken_table(losses, chance, accuracy, sizes[name], num_classes)[0])[LAW])
    return chosen


@lru_cache(maxsize=2)
def dataset_of(name: str) -> Dataset:
    """The data set of a run, cached: loading it takes seconds."""
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
def network(name: str, shape: tuple[int, ...], num_outputs: int) -> Net:
    """The network of a config; one object for equal networks, because JAX compiles anew for every object."""
    from taskorder.engine.cnn import cnn
    from taskorder.engine.nets import mlp

    return mlp(shape, num_outputs) if name == "mlp" else cnn(shape, num_outputs)


def device_name() -> str:
    """Platform and name of the device that trains."""
    import jax

    device = jax.devices()[0]
    return f"{device.platform}: {describe()['cpu'] if device.platform == 'cpu' else device.device_kind}"


def specs_at_once(config: Config, data: Dataset | None = None) -> int:
    """How many specs to train together: one on a CPU, where it keeps all cores busy; elsewhere what fits the device."""
    import jax

    from taskorder.engine.capacity import networks_that_fit

    if jax.default_backend() == "cpu":
        return 1
    data = data or dataset_of(config.dataset)
    params = RunSpecs(config)[0].params
    outputs = num_outputs(task_set(data, params, params["set"]).tasks, config.head)
    net = network(config.net, data.train_inputs.shape[1:], outputs)
    chosen = max_chosen(config.orders, len(config.similarities))
    networks = networks_that_fit(net, strategy=strategy_in(params))
    most = max(1, networks // (len(orders_to_train(asdict(config), 0)) + chosen))
    # Batches of one size need fewer shapes, and so less compiling.
    total = config.num_sets * config.num_seeds
    return next((size for size in range(most, most // 2, -1) if total % size == 0), most)


def task_set(data: Dataset, settings: Mapping[str, Any], number: int) -> TaskSet:
    """Task set `number` of a config."""
    if "tasks" in settings:
        tasks = named_task_set(data.class_names, settings["tasks"], dataset=data.name)
        if settings.get("head", SHARED) == SHARED and len({len(classes) for classes, _ in tasks.tasks}) > 1:
            raise ValueError(
                f"`tasks` must have equally many classes each with one head, got {', '.join(tasks.names)}. Set head to "
                "task or class."
            )
        return tasks
    return draw_task_set(
        data.class_names, settings["num_tasks"], settings["classes_per_task"], seed=number, dataset=data.name
    )


def task_set_of(spec: RunSpec) -> TaskSet:
    """The task set of a spec; an error if its data set is not here or has too few classes."""
    return task_set(dataset_of(spec.params["dataset"]), spec.params, spec.params["set"])
