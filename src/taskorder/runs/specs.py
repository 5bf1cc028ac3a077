"""Specs: the units of an experiment in plain JSON values, each the key of its result in a store."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import eq
from typing import Any, overload

import numpy as np

from taskorder.prefixes import Prefix, PrefixTree
from taskorder.runs.settings import JOINT, STRATEGY_SETTINGS, Config, max_chosen, num_random, sample_of
from taskorder.strategies import PLAIN, SHARED, STRATEGIES, Strategy, strategy_of

RUNS = "neural.orders."
"""Begins the kind of every run that has results by order, in any version."""
KIND = f"{RUNS}2"


LATER_SETTINGS = {"uneven": 1.0, "head": SHARED, "strategy": PLAIN}
"""Settings that specs of older stores do not have: at these values they are left out."""


@dataclass(frozen=True)
class RunSpec:
    """One unit of an experiment: what to run, in plain JSON values. Equal specs give equal results."""

    kind: str
    """Names the computation and its version; change it when the meaning of the numbers changes."""
    params: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of both fields: the key in a store."""
        text = json.dumps([self.kind, self.params], sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def shared_settings(params: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the runs of a config share: all but the set and the seed.

    >>> shared_settings({"net": "mlp", "set": 3, "seed": 0})
    {'net': 'mlp'}
    """
    return {key: value for key, value in params.items() if key not in ("set", "seed")}


def strategy_in(params: Mapping[str, Any]) -> Strategy | None:
    """The strategy of a spec; None for plain and for joint training.

    >>> strategy_in({"strategy": "l2init", "strength": 0.1, "set": 0})
    L2Init(strength=0.1)
    """
    name = params.get("strategy", PLAIN)
    if name == JOINT:
        return None
    return strategy_of(name, **{key: params[key] for key in STRATEGY_SETTINGS if key in params})


class RunSpecs(Sequence[RunSpec]):
    """The runs of a config, one for each task set and seed, made on access: a million take no more memory than one."""

    def __init__(self, config: Config) -> None:
        apart = ("num_sets", "first_set", "num_seeds", "tasks", *STRATEGY_SETTINGS)
        self._shared = {key: value for key, value in asdict(config).items() if key not in apart}
        self._shared["similarities"] = list(config.similarities)
        if config.strategy in STRATEGIES:  # with what was not given, so that it does not matter whether it was
            strategy = strategy_of(config.strategy, **config.strategy_settings)
            assert strategy is not None
            self._shared |= asdict(strategy)
        for key, default in LATER_SETTINGS.items():
            if self._shared[key] == default:
                del self._shared[key]
        if config.tasks:
            self._shared["tasks"] = list(config.tasks)
        self._first_set, self._num_seeds = config.first_set, config.num_seeds
        self._indices = range(config.num_sets * config.num_seeds)

    def __len__(self) -> int:
        return len(self._indices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    @overload
    def __getitem__(self, index: int) -> RunSpec: ...
    @overload
    def __getitem__(self, index: slice) -> list[RunSpec]: ...
    def __getitem__(self, index: int | slice) -> RunSpec | list[RunSpec]:
        if isinstance(index, slice):
            return [self[i] for i in self._indices[index]]
        number, seed = divmod(self._indices[index], self._num_seeds)
        return RunSpec(KIND, {**self._shared, "set": self._first_set + number, "seed": seed})


def orders_to_train(settings: Mapping[str, Any], number: int) -> tuple[Prefix, ...]:
    """The orders of task set `number`: all, or distinct random ones."""
    P = settings["num_tasks"]
    if settings["orders"] == "all":
        return tuple(itertools.permutations(range(P)))
    rng = np.random.default_rng([number, P])
    count = min(num_random(settings["orders"]), math.factorial(P))
    orders: dict[Prefix, None] = {}
    while len(orders) < count:
        orders[tuple(rng.permutation(P).tolist())] = None
    return tuple(orders)


def num_trainings(spec: RunSpec) -> int:
    """About how many task trainings a spec takes: the distinct prefixes of its orders, and those of single tasks."""
    P, names = spec.params["num_tasks"], spec.params["similarities"]
    prefixes = len(PrefixTree(orders_to_train(spec.params, spec.params["set"])))
    chosen = max_chosen(spec.params["orders"], len(names)) * (P - 1)
    return int(prefixes + chosen + P * len({sample_of(name) for name in names}))
