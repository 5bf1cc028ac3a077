"""The settings of a run, the specs that follow from them, and how to read a result; nothing here needs JAX."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from operator import eq
from typing import Any, overload

import numpy as np

from taskorder.checks import Floats
from taskorder.records import RunSpec

RUNS = "neural.orders."
"""Begins the kind of every run that has results by order, in any version."""
KIND = f"{RUNS}2"
NETS = ("mlp", "cnn")
WHOLE = ("test", "train", "curvature")
"""Similarities that are measured with all data."""
RULES = "+rules"
RULE_ORDERS = 10
"""At most so many for each similarity."""
SCORES = ("accuracy", "loss", "chance")


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
    tasks: tuple[str, ...] = ()
    """These tasks in place of drawn ones, each a list of classes like cat-ship; their targets are 0, 1, ..."""
    similarities: tuple[str, ...] = ("test",)
    """What to measure of each set: test, train, curvature, or a share of the training data like 1%."""
    num_seeds: int = 1
    """Initial networks and shuffles of each set."""
    first_set: int = 0
    """The seed of the first task set, to go on where another run ends."""
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
        if self.first_set < 0:
            raise ValueError(f"`first_set` must be at least 0, got {self.first_set}.")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"`learning_rate` must be a positive number, got {self.learning_rate}.")
        if self.tasks and (self.num_sets != 1 or len(self.tasks) != self.num_tasks):
            raise ValueError(
                f"`tasks` must be num_tasks = {self.num_tasks} tasks with num_sets = 1, got {len(self.tasks)} tasks "
                f"and num_sets = {self.num_sets}."
            )
        if self.orders == "all" and math.factorial(self.num_tasks) > 50_000:
            raise ValueError(f"`orders` must be a number for more than 8 tasks, got all of {self.num_tasks}.")


def specs(config: Config) -> Specs:
    """One run for each task set and seed."""
    return Specs(config)


class Specs(Sequence[RunSpec]):
    """The runs of a config, each made when it is asked for: a million take no more memory than one."""

    def __init__(self, config: Config) -> None:
        apart = ("num_sets", "first_set", "num_seeds", "tasks")
        self._shared = {key: value for key, value in asdict(config).items() if key not in apart}
        self._shared["similarities"] = list(config.similarities)
        if config.tasks:
            self._shared["tasks"] = list(config.tasks)
        self._first_set, self._num_seeds = config.first_set, config.num_seeds
        self._places = range(config.num_sets * config.num_seeds)

    def __len__(self) -> int:
        return len(self._places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    @overload
    def __getitem__(self, place: int) -> RunSpec: ...
    @overload
    def __getitem__(self, place: slice) -> list[RunSpec]: ...
    def __getitem__(self, place: int | slice) -> RunSpec | list[RunSpec]:
        if isinstance(place, slice):
            return [self[one] for one in self._places[place]]
        number, seed = divmod(self._places[place], self._num_seeds)
        return RunSpec(KIND, {**self._shared, "set": self._first_set + number, "seed": seed})


def share_of(name: str) -> float | None:
    """The share of the data that an estimate uses, None for those that use all of it; a ValueError for other names.

    >>> share_of("1%"), share_of("test")
    (0.01, None)
    """
    if name in WHOLE:
        return None
    try:
        share = float(name.removesuffix("%")) / 100 if name.endswith("%") else 0.0
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ValueError(f"`similarities` must be test, train, curvature or a share like 1%, got {name!r}.")
    return share


def num_trainings(spec: RunSpec) -> int:
    """About how many task trainings a spec takes: the distinct beginnings of its orders, and those of single tasks."""
    P, names = spec.params["num_tasks"], spec.params["similarities"]
    ways = orders(spec.params, spec.params["set"])
    tree = len({way[:length] for way in ways for length in range(1, P + 1)})
    rules = RULE_ORDERS * (P - 1) * len(names) if spec.params["orders"].endswith(RULES) else 0
    return int(tree + rules + P * len({share_of(name) for name in names}))


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


def beginnings_of(result: Mapping[str, Any]) -> dict[tuple[int, ...], int]:
    """The row of every beginning of an order in the tables of a result.

    >>> beginnings_of({"beginnings": ["", "2", "2.0"]})
    {(): 0, (2,): 1, (2, 0): 2}
    """
    return {tuple(map(int, text.split("."))) if text else (): row for row, text in enumerate(result["beginnings"])}


def tables_of(result: Mapping[str, Any]) -> tuple[dict[tuple[int, ...], int], dict[str, Floats]]:
    """The row of every beginning, and the (rows, P) tables of a result."""
    return beginnings_of(result), {name: np.array(result[name]) for name in SCORES}


def known_settings() -> tuple[str, ...]:
    """The keys that a TOML file may have."""
    return tuple(field.name for field in fields(Config))
