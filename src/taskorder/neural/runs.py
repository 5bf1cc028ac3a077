"""Runs of the engine on task sets of a data set: a Config gives RunSpecs, RunSpecs give results in plain JSON values.

One run is one task set with one seed, learned in all or many orders (neural/tree.py). Its result holds a row for every
distinct beginning of an order: accuracy, loss and expected shuffled loss of every task on test data; and the tables of
the task similarities that were asked for (neural/estimates.py), whole and asymmetric.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from taskorder.checks import Floats
from taskorder.datasets import load
from taskorder.datasets.dataset import Dataset
from taskorder.datasets.split import TaskSet, draw_task_set
from taskorder.machine import describe
from taskorder.neural.estimates import Tables, measure, share_of, task_pool
from taskorder.neural.nets import Net, cnn, mlp
from taskorder.neural.train import Recipe
from taskorder.neural.tree import Curriculum, Outcome, Work, train_orders
from taskorder.ordering.candidates import PAIRWISE, curvature_orders, pairwise_order, similarity_orders
from taskorder.records import RunSpec
from taskorder.similarity.transfer import measured_table, similarity_from

NETS: dict[str, Callable[[Sequence[int], int], Net]] = {"mlp": mlp, "cnn": cnn}
KIND = "neural.orders.2"
RULES = "+rules"
RULE_ORDERS = 10
"""At most so many for each similarity."""
CACHE_BYTES = 12_000_000
"""On a CPU, networks that are trained together stay in its cache: this much for their parameters and moments.
Measured (`python benchmarks/engine.py steps`): the paper's MLP is fastest eight at a time, its CNN one by one."""
DEVICE_SHARE = 0.4
"""Elsewhere, the share of the device's memory that is for networks."""
UNKNOWN_DEVICE_BYTES = 2_000_000_000
"""Memory for networks on a device that does not say how much it has."""
COPIES = 12
"""Arrays as large as the parameters for each network in training: its state, its parent's, and what XLA keeps."""


@dataclass(frozen=True)
class Config:
    """Settings of a run; the keys of a TOML file."""

    dataset: str = "digits"
    num_sets: int = 2
    """Task sets, with the seeds 0, 1, ..."""
    num_tasks: int = 5
    classes_per_task: int = 2
    orders: str = "all"
    """all; or how many random orders of each set, like 30; or these and the orders that the rules choose by each of
    the similarities, like 30+rules."""
    similarities: tuple[str, ...] = ("test",)
    """What to measure of each set: test, train, curvature, or a share of the training data like 1%."""
    num_seeds: int = 1
    """Initial networks and shuffles of each set."""
    net: str = "mlp"
    epochs: int = 5
    batch_size: int = 4
    learning_rate: float = 1e-3
    reset_adam: bool = False
    """Whether the optimizer forgets its state between tasks; in the paper it goes on."""
    fraction: float = 1.0
    """Share of the training examples to use, the same share of every class."""

    def __post_init__(self) -> None:
        if self.net not in NETS:
            raise ValueError(f"`net` must be one of {', '.join(NETS)}, got {self.net!r}.")
        if not 0 < self.fraction <= 1:
            raise ValueError(f"`fraction` must be above 0 and at most 1, got {self.fraction}.")
        if self.orders != "all" and num_random(self.orders) == 0:
            raise ValueError(f"`orders` must be all, a positive number, or one like 30+rules, got {self.orders!r}.")
        for name in self.similarities:
            share_of(name)
        if len(set(self.similarities)) < len(self.similarities):
            raise ValueError(f"`similarities` must be different, got {', '.join(self.similarities)}.")
        for name in ("num_sets", "num_tasks", "classes_per_task", "num_seeds", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be at least 1, got {getattr(self, name)}.")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"`learning_rate` must be a positive number, got {self.learning_rate}.")
        if self.orders == "all" and math.factorial(self.num_tasks) > 50_000:
            raise ValueError(f"`orders` must be a number for more than 8 tasks, got all of {self.num_tasks}.")


def specs(config: Config) -> list[RunSpec]:
    """One run for each task set and seed."""
    shared = {key: value for key, value in asdict(config).items() if key not in ("num_sets", "num_seeds")}
    return [
        RunSpec(KIND, {**shared, "similarities": list(config.similarities), "set": number, "seed": seed})
        for number in range(config.num_sets)
        for seed in range(config.num_seeds)
    ]


def run_batch(specs: Sequence[RunSpec], report: Any = None) -> list[dict[str, Any]]:
    """Train all the specs together: their networks are one long batch. They must agree in all but set and seed."""
    settings = {key: value for key, value in specs[0].params.items() if key not in ("set", "seed")}
    if any({**settings, **spec.params} != {**spec.params, **settings} for spec in specs):
        raise ValueError("`specs` must agree in all but set and seed, got different settings.")
    data = _dataset(settings["dataset"])
    sets = [task_set(data, settings, spec.params["set"]) for spec in specs]
    train, test = task_pool(data, sets, share=settings["fraction"]), task_pool(data, sets, "test")
    P = settings["num_tasks"]
    curricula = [
        Curriculum(tuple(range(P * place, P * (place + 1))), orders(settings, spec.params["set"]), _seed(spec.params))
        for place, spec in enumerate(specs)
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
    steps = work.network_steps // len(specs)
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
            by_rule = {**similarity_orders(similarity_from(one)), PAIRWISE: (pairwise_order(measured_table(one)),)}
        found += [order for orders in by_rule.values() for order in orders]
    return found


@lru_cache(maxsize=2)
def _dataset(name: str) -> Dataset:
    return load(name)


@lru_cache(maxsize=2)
def inputs_digest(name: str) -> str:
    """SHA-256 of all arrays of a data set, as they are: row order counts, for training depends on it."""
    data = _dataset(name)
    total = hashlib.sha256(repr(data.class_names).encode())
    for array in (data.train_inputs, data.train_labels, data.test_inputs, data.test_labels):
        total.update(f"{array.dtype.str} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


@lru_cache(maxsize=8)
def _net(name: str, shape: tuple[int, ...], num_outputs: int) -> Net:
    """One object for equal networks: JAX compiles anew for every object."""
    return NETS[name](shape, num_outputs)


def device_name() -> str:
    """Platform and name of the device that trains."""
    device = jax.devices()[0]
    return f"{device.platform}: {describe()['cpu'] if device.platform == 'cpu' else device.device_kind}"


def specs_at_once(config: Config) -> int:
    """How many specs to train together: one on a CPU, where it keeps all cores busy; elsewhere what fits the device."""
    if jax.default_backend() == "cpu":
        return 1
    data = _dataset(config.dataset)
    net = _net(config.net, data.train_inputs.shape[1:], config.classes_per_task)
    widest = len(orders(asdict(config), 0)) + config.orders.endswith(RULES) * RULE_ORDERS * len(config.similarities)
    most = max(1, networks_that_fit(net) // widest)
    total = config.num_sets * config.num_seeds
    equal = [size for size in range(most, most // 2, -1) if total % size == 0]
    return equal[0] if equal else most  # batches of one size need fewer shapes, and so less compiling


def num_trainings(spec: RunSpec) -> int:
    """About how many task trainings a spec takes: the distinct beginnings of its orders, and those of single tasks."""
    P, names = spec.params["num_tasks"], spec.params["similarities"]
    ways = orders(spec.params, spec.params["set"])
    tree = len({way[:length] for way in ways for length in range(1, P + 1)})
    rules = RULE_ORDERS * (P - 1) * len(names) if spec.params["orders"].endswith(RULES) else 0
    return tree + rules + P * len({share_of(name) for name in names})


def _seed(params: Mapping[str, Any]) -> int:
    """A seed of its own for every set and seed."""
    return int(params["set"]) * 1000 + int(params["seed"])


def task_set(data: Dataset, settings: Mapping[str, Any], number: int) -> TaskSet:
    """Task set `number` of a config."""
    return draw_task_set(
        data.class_names, settings["num_tasks"], settings["classes_per_task"], seed=number, dataset=data.name
    )


def task_set_of(spec: RunSpec) -> TaskSet:
    """The task set of a spec; an error if its data set is not here or has too few classes."""
    return task_set(_dataset(spec.params["dataset"]), spec.params, spec.params["set"])


def num_random(orders: str) -> int:
    """How many random orders a setting asks for; 0 for what is no number.

    >>> num_random("30"), num_random("30+rules"), num_random("all")
    (30, 30, 0)
    """
    digits = orders.removesuffix(RULES)
    return int(digits) if digits.isdecimal() else 0


def orders(settings: Mapping[str, Any], number: int) -> tuple[tuple[int, ...], ...]:
    """The orders to train: all, or distinct random ones."""
    P = settings["num_tasks"]
    if settings["orders"] == "all":
        return tuple(itertools.permutations(range(P)))
    rng = np.random.default_rng([number, P])
    count = min(num_random(settings["orders"]), math.factorial(P))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        found[tuple(rng.permutation(P).tolist())] = None
    return tuple(found)


def networks_that_fit(net: Net, bytes_allowed: float | None = None) -> int:
    """How many networks to train at once, a power of two: what fits the device, or the cache of a CPU."""
    shapes = jax.eval_shape(net.init, jax.random.key(0))
    size = 4 * sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(shapes))
    device = jax.devices()[0]
    if bytes_allowed is None and device.platform == "cpu":
        return _power_below(max(1, CACHE_BYTES // (3 * size)))
    if bytes_allowed is None:
        stats = device.memory_stats()
        bytes_allowed = DEVICE_SHARE * stats["bytes_limit"] if stats else UNKNOWN_DEVICE_BYTES
    return _power_below(int(bytes_allowed // (COPIES * size)))


def _power_below(count: int) -> int:
    """The largest power of two up to `count`, from 1 to 4096."""
    return max(1, min(4096, 1 << max(0, count.bit_length() - 1)))


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


def tables_of(result: Mapping[str, Any]) -> tuple[dict[tuple[int, ...], int], dict[str, Floats]]:
    """The row of every beginning, and the (rows, P) tables of a result."""
    rows = {tuple(map(int, text.split("."))) if text else (): row for row, text in enumerate(result["beginnings"])}
    return rows, {name: np.array(result[name]) for name in Outcome._fields}


def known_settings() -> tuple[str, ...]:
    """The keys that a TOML file may have."""
    return tuple(field.name for field in fields(Config))
