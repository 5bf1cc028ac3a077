"""Runs of the engine on task sets of a data set: a Config gives RunSpecs, RunSpecs give results in plain JSON values.

One run is one task set with one seed, learned in all or many orders (neural/tree.py). Its result holds a row for every
distinct beginning of an order: accuracy, loss and expected shuffled loss of every task on test data. Beginnings of one
task are the single-task networks, so every result also holds the table of zero-shot transfer losses.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from taskorder.checks import Floats
from taskorder.datasets import load
from taskorder.datasets.dataset import Dataset
from taskorder.datasets.split import TaskSet, draw_task_set, lookup_table, task_indices
from taskorder.machine import describe
from taskorder.neural.nets import Net, cnn, mlp
from taskorder.neural.pools import make_pool, stratified_share
from taskorder.neural.train import Pool, Recipe
from taskorder.neural.tree import Curriculum, Outcome, train_orders
from taskorder.records import RunSpec

NETS: dict[str, Callable[[Sequence[int], int], Net]] = {"mlp": mlp, "cnn": cnn}
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
    """all, or how many random orders of each set."""
    num_seeds: int = 1
    """Initial networks and shuffles of each set."""
    net: str = "mlp"
    epochs: int = 5
    batch_size: int = 4
    learning_rate: float = 1e-3
    fraction: float = 1.0
    """Share of the training examples to use, the same share of every class."""

    def __post_init__(self) -> None:
        if self.net not in NETS:
            raise ValueError(f"`net` must be one of {', '.join(NETS)}, got {self.net!r}.")
        if not 0 < self.fraction <= 1:
            raise ValueError(f"`fraction` must be above 0 and at most 1, got {self.fraction}.")
        if self.orders != "all" and not (self.orders.isdigit() and int(self.orders) > 0):
            raise ValueError(f"`orders` must be all or a positive number, got {self.orders!r}.")
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
        RunSpec("neural.orders.1", {**shared, "set": number, "seed": seed})
        for number in range(config.num_sets)
        for seed in range(config.num_seeds)
    ]


def run_batch(specs: Sequence[RunSpec], report: Any = None) -> list[dict[str, Any]]:
    """Train all the specs together: their networks are one long batch. They must agree in all but set and seed."""
    shared = {tuple((k, v) for k, v in spec.params.items() if k not in ("set", "seed")) for spec in specs}
    if len(shared) != 1:
        raise ValueError(f"`specs` must agree in all but set and seed, got {len(shared)} different settings.")
    settings = dict(shared.pop())
    data = _dataset(settings["dataset"])
    sets = [task_set(data, settings, spec.params["set"]) for spec in specs]
    train, test = pools(data, sets, settings["fraction"])
    P = settings["num_tasks"]
    curricula = [
        Curriculum(tuple(range(P * place, P * (place + 1))), orders(settings, spec.params["set"]), _seed(spec.params))
        for place, spec in enumerate(specs)
    ]
    net = _net(settings["net"], train.inputs.shape[1:], settings["classes_per_task"])
    recipe = Recipe(**{key: settings[key] for key in ("epochs", "batch_size", "learning_rate")})
    outcomes, work = train_orders(
        net, train, test, curricula, recipe=recipe, max_networks=networks_that_fit(net), report=report
    )
    steps = work.network_steps // len(specs)
    return [
        _result(one, curriculum, outcome, steps)
        for one, curriculum, outcome in zip(sets, curricula, outcomes, strict=True)
    ]


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
    widest = math.factorial(config.num_tasks) if config.orders == "all" else int(config.orders)
    return max(1, networks_that_fit(net) // widest)


def num_trainings(spec: RunSpec) -> int:
    """How many task trainings a spec takes: the distinct beginnings of its orders."""
    ways = orders(spec.params, spec.params["set"])
    return len({way[:length] for way in ways for length in range(1, len(way) + 1)})


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


def orders(settings: Mapping[str, Any], number: int) -> tuple[tuple[int, ...], ...]:
    """The orders to train: all, or distinct random ones."""
    P = settings["num_tasks"]
    if settings["orders"] == "all":
        return tuple(itertools.permutations(range(P)))
    rng = np.random.default_rng([number, P])
    count = min(int(settings["orders"]), math.factorial(P))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        found[tuple(rng.permutation(P).tolist())] = None
    return tuple(found)


def pools(data: Dataset, sets: Sequence[TaskSet], fraction: float = 1.0) -> tuple[Pool, Pool]:
    """The tasks of all sets, one after another, to train on and to test on."""
    made = []
    for split, share in (("train", fraction), ("test", 1.0)):
        inputs, labels = getattr(data, f"{split}_inputs"), getattr(data, f"{split}_labels")
        rows, targets = [], []
        for one in sets:
            for place, task in enumerate(one.tasks):
                chosen = task_indices(labels, task)
                if share < 1:
                    chosen = chosen[stratified_share(labels[chosen], share, seed=one.seed * 100 + place)]
                rows.append(chosen)
                targets.append(lookup_table(task, data.num_classes)[labels[chosen]])
        made.append(make_pool(inputs, rows, targets))
    return made[0], made[1]


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


def _result(tasks: TaskSet, curriculum: Curriculum, outcome: Outcome, steps: int) -> dict[str, Any]:
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
        "network_steps": steps,
        **tables,
    }


def tables_of(result: Mapping[str, Any]) -> tuple[dict[tuple[int, ...], int], dict[str, Floats]]:
    """The row of every beginning, and the (rows, P) tables of a result."""
    rows = {tuple(map(int, text.split("."))) if text else (): row for row, text in enumerate(result["beginnings"])}
    return rows, {name: np.array(result[name]) for name in Outcome._fields}


def known_settings() -> tuple[str, ...]:
    """The keys that a TOML file may have."""
    return tuple(field.name for field in fields(Config))
