"""The settings of a run, from Python or a TOML file."""

from __future__ import annotations

import math
import typing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from taskorder.arguments import BadArgument, did_you_mean, unknown
from taskorder.checks import to_float
from taskorder.parsing import toml_values
from taskorder.strategies import HEADS, PLAIN, SHARED, STRATEGIES, strategy_of

NETS = ("mlp", "cnn")
WHOLE = ("test", "train", "curvature")
"""Similarities that are measured with all data."""
WITH_RULES, WITH_LAW = "+rules", "+law"
RULE_ORDERS, LAW_ORDERS = 10, 3
"""At most so many for each similarity."""
EXAMPLES_SUFFIX = " examples"
MAX_BYTES = 100_000
MAX_LETTERS = 40
MOST = {"num_tasks": 1000, "orders": 1_000_000, **dict.fromkeys(("num_sets", "first_set", "num_seeds"), 10_000_000)}
"""A slip of the keyboard must not fill the memory."""
JOINT = "joint"
STRATEGY_SETTINGS = tuple(dict.fromkeys(field.name for each in STRATEGIES.values() for field in fields(each)))
KINDS = {
    str: "a text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple[str, ...]: "a list of texts in quotes",
}


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
    the similarities, like 30+rules; or those of the law of retention, too, like 30+rules+law."""
    tasks: tuple[str, ...] = ()
    """These tasks in place of drawn ones, each a list of classes like cat-ship; their targets are 0, 1, ..."""
    similarities: tuple[str, ...] = ("test",)
    """What to measure of each set: test, train, curvature, or a sample: a share of the training data like 1%, or so
    many examples of each task, like 100 examples."""
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
    uneven: float = 1.0
    """How many times as many training examples the largest task of a set has as the smallest; 1 is all of them."""
    head: str = SHARED
    """shared outputs of all tasks, those of the task, or all classes of a set in one softmax (class)."""
    strategy: str = PLAIN
    """What is done against forgetting: plain (nothing), replay, ewc, lwf or l2init; or joint, all tasks mixed, in as
    many steps as one order takes. What follows are settings of these (taskorder.strategies)."""
    kept: int | None = None
    share: float | None = None
    memory: str | None = None
    strength: float | None = None
    fading: float | None = None
    temperature: float | None = None

    def __post_init__(self) -> None:
        if self.net not in NETS:
            raise ValueError(f"`net` must be one of {', '.join(NETS)}, got {self.net!r}.{did_you_mean(self.net, NETS)}")
        if self.head not in HEADS:
            raise unknown("head", self.head, HEADS)
        self._check_strategy()
        if not 0 < self.fraction <= 1:
            raise ValueError(f"`fraction` must be above 0 and at most 1, got {self.fraction}.")
        if not 1 <= self.uneven <= 1e6:
            raise ValueError(f"`uneven` must be from 1 (even sizes) to a million, got {self.uneven}.")
        if self.orders != "all" and num_random(self.orders) == 0:
            raise ValueError(f"`orders` must be all, a positive number, or one like 30+rules, got {self.orders!r}.")
        for name in self.similarities:
            sample_of(name)
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

    @property
    def strategy_settings(self) -> dict[str, Any]:
        """Those that were given."""
        given = {key: getattr(self, key) for key in STRATEGY_SETTINGS}
        return {key: value for key, value in given.items() if value is not None}

    def _check_strategy(self) -> None:
        if self.strategy not in (PLAIN, *STRATEGIES, JOINT):
            raise unknown("strategy", self.strategy, (PLAIN, *STRATEGIES, JOINT))
        if self.strategy != JOINT:
            strategy_of(self.strategy, **self.strategy_settings)
            return
        for key in self.strategy_settings:
            raise BadArgument(f"`{key}` must be a setting of the strategy joint, which has none. Leave it out.")
        if self.orders != "1":
            raise ValueError(f"`orders` must be 1 with the strategy joint, which has no order, got {self.orders}.")
        if self.reset_adam:
            raise ValueError("`reset_adam` must be false with the strategy joint, which does not go from task to task.")


def read_config(path: str | Path) -> Config:
    """The Config that a TOML file describes; keys that it leaves out have their defaults."""
    try:
        with open(path, "rb") as file:
            values = toml_values(file.read(MAX_BYTES + 1), MAX_BYTES)
    except FileNotFoundError:
        raise BadArgument(f"`config` must be an existing TOML file, got no such file: {path}.") from None
    except OSError as problem:
        raise BadArgument(f"`config` must be readable, got {path}: {problem.strerror}.") from None
    except ValueError as problem:  # tomllib's errors, and bytes that are no text
        raise BadArgument(f"`config` must be a TOML file, got {path}: {problem}.") from None
    if not values:  # a file that was never saved would train the defaults
        raise BadArgument(f"`config` must say what to run, got no key in {path}. Start from examples/quick.toml.")
    try:
        return config_of(values)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def config_of(values: dict[str, Any]) -> Config:
    """The Config with these settings.

    >>> config_of({"num_sets": 3, "orders": 20}).orders
    '20'
    """
    known = known_settings()
    for key in values:
        if key not in known:
            raise ValueError(f"`{key}` must be a known key.{did_you_mean(key, known)} Known keys: {', '.join(known)}.")
    types = typing.get_type_hints(Config)
    checked = {key: _checked(key, value, types[key]) for key, value in values.items()}
    if len(checked.get("orders", "")) > MAX_LETTERS:  # int refuses thousands of digits
        raise ValueError(f"`orders` must be all, a number, or one like 30+rules, got {len(checked['orders'])} letters.")
    for key, most in MOST.items():
        count = num_random(checked.get(key, "")) if key == "orders" else checked.get(key, 0)
        if count > most:
            raise ValueError(f"`{key}` must be at most {most}, got {str(count)[:20]}.")
    config = Config(**checked)
    if config.num_sets * config.num_seeds > MOST["num_sets"]:
        raise ValueError(f"`num_seeds` must give at most {MOST['num_sets']} runs in all, got {config.num_seeds} a set.")
    return config


def _checked(key: str, value: Any, kind: Any) -> Any:
    if type(None) in typing.get_args(kind):  # a setting that may be left out
        (kind,) = set(typing.get_args(kind)) - {type(None)}
    if key == "orders" and type(value) is int:  # all, or how many
        return str(value)
    if kind is float and type(value) is int:
        return to_float(value)
    if kind not in (str, int, float, bool) and isinstance(value, list) and all(type(text) is str for text in value):
        return tuple(value)
    if type(value) is not kind:
        raise ValueError(f"`{key}` must be {KINDS[kind]}, got {value!r}.")
    return value


class Sample(NamedTuple):
    """The training examples that an estimate uses: a share of each task, and at most so many of it."""

    share: float = 1.0
    most: int | None = None


def sample_of(name: str) -> Sample | None:
    """The sample that an estimate uses, None for those that use all data; a ValueError for other names.

    >>> sample_of("1%"), sample_of("100 examples"), sample_of("test")
    (Sample(share=0.01, most=None), Sample(share=1.0, most=100), None)
    """
    if name in WHOLE:
        return None
    digits = name.removesuffix(EXAMPLES_SUFFIX)
    if digits != name and digits.isdecimal() and len(digits) < 10 and int(digits) > 0:
        return Sample(most=int(digits))
    try:
        share = float(name.removesuffix("%")) / 100 if name.endswith("%") else 0.0
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ValueError(
            f"`similarities` must be test, train, curvature or a share like 1%, got {name!r}. A number of examples is "
            f'written like "100{EXAMPLES_SUFFIX}".'
        )
    return Sample(share)


def num_random(orders: str) -> int:
    """How many random orders a setting asks for; 0 for what is no number.

    >>> num_random("30"), num_random("30+rules"), num_random("30+rules+law"), num_random("all")
    (30, 30, 30, 0)
    """
    digits = orders.removesuffix(WITH_LAW).removesuffix(WITH_RULES)
    return int(digits) if digits.isdecimal() else 0


def max_chosen(orders: str, num_similarities: int) -> int:
    """About how many orders are chosen by the similarities, beside the random ones.

    >>> max_chosen("30", 2), max_chosen("30+rules", 2), max_chosen("30+rules+law", 2)
    (0, 20, 26)
    """
    rules, law = WITH_RULES in orders, orders.endswith(WITH_LAW)
    return num_similarities * (RULE_ORDERS * rules + LAW_ORDERS * law)


def known_settings() -> tuple[str, ...]:
    """The keys that a TOML file may have."""
    return tuple(field.name for field in fields(Config))
