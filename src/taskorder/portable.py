"""An order that travels: order.json says which tasks of which classes come in which order, and how it was chosen.

`taskorder.adapters` turns the record into the settings of other frameworks.
"""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from taskorder._version import __version__
from taskorder.arguments import BadArgument
from taskorder.checks import seed_number, task_names, visit_order, whole
from taskorder.parsing import json_values
from taskorder.records import Plan

SCHEMA = 1
"""Version of the JSON; it changes when a key changes its meaning."""
MAX_CLASSES = 1_000_000
"""A class order lists them all, so a slip of the keyboard must not ask for 10^12."""


@dataclass(frozen=True)
class PortableOrder:
    """Tasks, their classes, the order to learn them in, and where that order came from.

    `taskorder.adapters` turns it into the settings of other frameworks.

    Examples
    --------
    >>> portable = PortableOrder(("cats", "cars"), (1, 0), class_groups=((0, 1), (2, 3)), num_classes=4)
    >>> portable.class_order, portable.group_sizes
    ((2, 3, 0, 1), (2, 2))
    >>> PortableOrder.from_json(portable.to_json()) == portable
    True
    """

    names: tuple[str, ...]
    """Names of all tasks, by task index."""
    order: tuple[int, ...]
    """`order[k]` is the task at step k; tasks learned before it are in `learned`."""
    learned: tuple[int, ...] = ()
    class_groups: tuple[tuple[int, ...], ...] = ()
    """By task index: the ids that its classes have in the data set. Empty where tasks are no groups of classes."""
    class_names: tuple[tuple[str, ...], ...] = ()
    """The names of the classes, in the form of `class_groups`. Empty where they are unknown."""
    num_classes: int = 0
    """Classes of the data set, whether or not a task has them; 0 where there are no class groups."""
    rule: str = ""
    predicted_error: float | None = None
    similarity_digest: str = ""
    """SHA-256 of the similarity matrix as given."""
    order_seed: int | None = None
    """The seed that the order was chosen with, apart from the seeds of training."""
    training_seeds: tuple[int, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """Packages that made the order, with their versions."""
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def from_plan(
        cls,
        plan: Plan,
        *,
        class_groups: Sequence[Iterable[int]] | Mapping[str, Iterable[int]] = (),
        class_names: Sequence[str] = (),
        num_classes: int | None = None,
        training_seeds: Iterable[int] = (),
    ) -> PortableOrder:
        """The order of a plan with the classes of its tasks.

        Parameters
        ----------
        plan
            What `solve` or `plan` returned.
        class_groups
            Class ids of each task, by task index or by task name.
        class_names
            Names of all classes of the data set, by class id.
        num_classes
            Number of classes of the data set, where there are no names and the tasks do not have all of them.
        training_seeds
            Seeds to train with.

        Examples
        --------
        >>> from taskorder import solve
        >>> plan = solve([[1, 0.2, 0.6], [0.2, 1, 0.1], [0.6, 0.1, 1]], names=["cats", "cars", "dogs"])
        >>> portable = PortableOrder.from_plan(plan, class_groups={"cats": [0, 1], "cars": [4, 5], "dogs": [2, 3]})
        >>> portable.named_order, portable.class_order
        (('dogs', 'cars', 'cats'), (2, 3, 4, 5, 0, 1))
        """
        groups = _groups(class_groups, plan.names)
        highest = max((label for group in groups for label in group), default=-1)
        if class_names and highest >= len(class_names):
            raise BadArgument(
                f"`class_names` must name every class up to {highest}, got {len(class_names)} names. Count from 0."
            )
        names = tuple(tuple(str(class_names[label]) for label in group) for group in groups) if class_names else ()
        seed = plan.options.get("sample_seed", plan.options.get("seed"))
        return cls(
            names=plan.names,
            order=plan.order,
            learned=tuple(_indices(plan.options.get("learned") or (), plan.names)),
            class_groups=groups,
            class_names=names if groups else (),
            num_classes=(num_classes or len(class_names) or highest + 1) if groups else 0,
            rule=plan.rule,
            predicted_error=plan.error,
            similarity_digest=plan.similarity_digest,
            order_seed=None if seed is None else seed_number(seed),
            training_seeds=tuple(training_seeds),
            versions={"taskorder": plan.version or __version__},
        )

    @property
    def sequence(self) -> tuple[int, ...]:
        """All tasks from the first: those already learned, then the order."""
        return self.learned + self.order

    @property
    def named_order(self) -> tuple[str, ...]:
        """The order as task names."""
        return tuple(self.names[task] for task in self.order)

    @property
    def groups_in_order(self) -> tuple[tuple[int, ...], ...]:
        """The class groups from the first task learned to the last; every task must come once and own its classes."""
        if not self.class_groups:
            raise BadArgument(
                "`class_groups` must list the classes of each task, got none. Give ",
                "class_groups",
                " with the plan, like [[0, 1], [2, 3]]: no class in two tasks.",
            )
        if sorted(self.sequence) != list(range(len(self.names))):
            raise BadArgument(
                f"`order` must visit each of the {len(self.names)} tasks once to become a class order, "
                f"got {list(self.sequence)}."
            )
        owner: dict[int, str] = {}
        for name, group in zip(self.names, self.class_groups, strict=True):
            for label in group:
                if label in owner:
                    raise BadArgument(
                        f"`class_groups` must give each class to one task to become a class order, "
                        f"got class {label} in {owner[label]!r} and {name!r}."
                    )
                owner[label] = name
        return tuple(self.class_groups[task] for task in self.sequence)

    @property
    def class_order(self) -> tuple[int, ...]:
        """`class_order[k]` is the original id of the class at position k."""
        return tuple(label for group in self.groups_in_order for label in group)

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """How many classes come at each step."""
        return tuple(len(group) for group in self.groups_in_order)

    @property
    def classes_left_out(self) -> tuple[int, ...]:
        """Classes of the data set that no task has."""
        return tuple(sorted(set(range(self.num_classes)) - set(self.class_order)))

    def to_json(self) -> str:
        """Lossless JSON text with one line a key; `PortableOrder.from_json` gives back an equal record."""
        values = asdict(self)
        values = {"schema": values.pop("schema"), **values}
        lines = [f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in values.items()]
        return "{\n" + ",\n".join(lines) + "\n}"

    @classmethod
    def from_json(cls, text: str) -> PortableOrder:
        """The record that `to_json` wrote; unknown and missing keys are refused, so that nothing is lost unseen."""
        try:
            values = json_values(text)
        except ValueError as problem:
            raise ValueError(f"`order.json` must be JSON, got a parse error: {problem}.") from None
        return order_of_values(values)


def order_of_values(data: Any) -> PortableOrder:
    """The record in plain JSON values."""
    if not isinstance(data, dict):
        raise ValueError(f"`order.json` must hold one object, got {type(data).__name__}.")
    if data.get("schema") != SCHEMA:
        raise ValueError(
            f"`schema` must be {SCHEMA}, got {data.get('schema')!r}. Another version of taskorder wrote this order."
        )
    misfits = sorted(set(data) ^ {entry.name for entry in fields(PortableOrder)})
    if misfits:
        raise ValueError(f"`order.json` must have the keys of an order, got missing or unknown ones: {misfits}.")
    return PortableOrder(**{key: _tuples(value) for key, value in data.items()})


def _check(order: PortableOrder) -> None:
    """Every field has its type and fits the others."""
    if type(order.schema) is not int or order.schema != SCHEMA:
        raise ValueError(f"`schema` must be {SCHEMA}, got {order.schema!r}.")
    _all(order.names, str, "names")
    if not order.names or task_names(order.names, len(order.names)) != order.names:
        raise ValueError("`names` must name at least one task without blanks at the ends, got others.")
    for key in ("order", "learned"):
        _all(getattr(order, key), int, key)
        visit_order(getattr(order, key), len(order.names), key)
    if set(order.sequence) != set(range(len(order.names))):
        missing = sorted(set(range(len(order.names))) - set(order.sequence))
        raise BadArgument(f"`order` must visit every task that is not in `learned`, got none of {missing}.")
    _check_classes(order)
    for key in ("rule", "similarity_digest"):
        _all((getattr(order, key),), str, key)
    error = order.predicted_error
    if error is not None and (type(error) not in (int, float) or not abs(error) <= sys.float_info.max):
        raise ValueError(f"`predicted_error` must be a finite number or null, got {error!r}.")
    _all(order.training_seeds, int, "training_seeds")
    for seed in order.training_seeds:
        seed_number(seed, "training_seeds")
    if order.order_seed is not None:
        _all((order.order_seed,), int, "order_seed")
        seed_number(order.order_seed, "order_seed")
    if not isinstance(order.versions, Mapping):
        raise ValueError(f"`versions` must map packages to versions, got {order.versions!r}.")
    _all((*order.versions, *order.versions.values()), str, "versions")


def _check_classes(order: PortableOrder) -> None:
    _all((order.num_classes,), int, "num_classes")
    if not order.class_groups:
        if order.class_names or order.num_classes:
            raise BadArgument(
                "`class_groups` must list classes where ", "class_names", " or ", "num_classes", " do, got none."
            )
        return
    _all(order.class_groups, tuple, "class_groups")
    if len(order.class_groups) != len(order.names):
        raise BadArgument(
            f"`class_groups` must have one group for each of the {len(order.names)} tasks, "
            f"got {len(order.class_groups)}."
        )
    if order.num_classes > MAX_CLASSES:
        raise BadArgument(f"`num_classes` must be at most {MAX_CLASSES}, got {str(order.num_classes)[:20]}.")
    for name, group in zip(order.names, order.class_groups, strict=True):
        _all(group, int, "class_groups")
        if group and max(group) >= MAX_CLASSES:
            raise BadArgument(f"`class_groups` must list ids below {MAX_CLASSES}, got {str(max(group))[:20]}.")
        if not group or min(group) < 0 or len(set(group)) < len(group):
            raise BadArgument(f"`class_groups` must list different ids from 0 on, got {list(group)} for {name!r}.")
    highest = max(max(group) for group in order.class_groups)
    if order.num_classes <= highest:
        raise BadArgument(f"`num_classes` must be above the highest class id {highest}, got {order.num_classes}.")
    if order.class_names:
        _all(order.class_names, tuple, "class_names")
        _all(tuple(name for group in order.class_names for name in group), str, "class_names")
        if [len(group) for group in order.class_names] != [len(group) for group in order.class_groups]:
            raise BadArgument("`class_names` must name each class of ", "class_groups", ", got another number of them.")


def _all(values: Any, kind: type, key: str) -> None:
    """Refuse anything but a tuple of that type; True is no number here."""
    if not isinstance(values, tuple):
        raise BadArgument(f"`{key}` must be a list, got {values!r}.")
    for value in values:
        if type(value) is not kind:
            raise BadArgument(f"`{key}` must hold values of type {kind.__name__}, got {value!r}.")


def _groups(
    groups: Sequence[Iterable[int]] | Mapping[str, Iterable[int]], names: tuple[str, ...]
) -> tuple[tuple[int, ...], ...]:
    """The groups by task index."""
    if isinstance(groups, Mapping):
        odd = sorted(set(groups) ^ set(names))
        if odd:
            raise BadArgument(f"`class_groups` must have the task names as keys, got a difference: {odd[0]!r}.")
        groups = [groups[name] for name in names]
    given: list[list[Any]]
    try:
        given = [list(group) for group in groups]
    except TypeError:
        given = [[None]]
    checked = tuple(tuple(label for label in map(whole, group) if label is not None) for group in given)
    if list(map(len, checked)) != list(map(len, given)):
        raise BadArgument(f"`class_groups` must list class ids for each task, got {groups!r}.")
    return checked


def _indices(tasks: Iterable[Any], names: tuple[str, ...]) -> list[int]:
    try:
        return [names.index(task) if isinstance(task, str) else operator.index(task) for task in tasks]
    except (TypeError, ValueError):
        raise BadArgument(f"`learned` must list tasks of the plan, got {tasks!r}.") from None


def _tuples(value: Any) -> Any:
    return tuple(_tuples(entry) for entry in value) if isinstance(value, list) else value
