"""The data set of every step of an order, for tools that fine-tune one model on several data sets in sequence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.portable import PortableOrder

DataSets = Mapping[str, Any]
"""By task name: the name or path of its data set, for axolotl also an entry of `datasets:`; where a task is visited
several times, one of them or a list with one for each visit."""


class DataStep(NamedTuple):
    """One step of an order."""

    task: str
    data: str | Mapping[str, Any]
    """What the tool calls the data set of the task."""
    mapped: bool
    """Whether the user said so; otherwise it is the name of the task."""

    @property
    def name(self) -> str:
        """The name or path of the data set."""
        return self.data if isinstance(self.data, str) else str(self.data["path"])


def data_steps(order: PortableOrder, datasets: DataSets | None, *, entries: bool = False) -> list[DataStep]:
    """The steps of the order, without tasks already learned; data sets are called like tasks unless `datasets` says.

    `entries` allows mappings with a path instead of text.
    """
    if not order.order:
        raise BadArgument("`order` must have a task left to learn, got none.")
    visits = Counter(order.named_order)
    if datasets is None:
        return [DataStep(task, task, False) for task in order.named_order]
    if not isinstance(datasets, Mapping):
        raise BadArgument(f"`datasets` must map task names to data sets, got {datasets!r}.")
    odd = [task for task in datasets if task not in order.names]
    if odd:
        meant = did_you_mean(odd[0], order.names)
        raise BadArgument(f"`datasets` must have task names as keys, got {odd[0]!r}.{meant}")
    missing = [task for task in visits if task not in datasets]
    if missing:
        raise BadArgument(f"`datasets` must have a data set for every task to learn, got none for {missing[0]!r}.")
    left = {task: _each_visit(task, datasets[task], count, entries) for task, count in visits.items()}
    return [DataStep(task, left[task].pop(0), True) for task in order.named_order]


def _each_visit(task: str, given: Any, count: int, entries: bool) -> list[Any]:
    """One data set for each visit of a task."""
    listed = list(given) if isinstance(given, list | tuple) else [given] * count
    if len(listed) != count:
        raise BadArgument(
            f"`datasets` must have one data set, or one for each visit, got {len(listed)} for {task!r}, "
            f"which is visited {count} time{'s' if count > 1 else ''}."
        )
    for data in listed:
        path = data.get("path") if entries and isinstance(data, Mapping) else data
        if not isinstance(path, str) or not path.strip():
            kind = "text, or a mapping with a path," if entries else "text"
            raise BadArgument(f"`datasets` must have {kind} for each task, got {data!r} for {task!r}.")
        if isinstance(data, Mapping):
            _plain(data, task)
    return listed


def _plain(data: Mapping[str, Any], task: str) -> None:
    """Refuse what JSON has not."""
    try:
        json.dumps(data, allow_nan=False)
        plain = all(isinstance(key, str) for key in data)
    except (TypeError, ValueError, RecursionError):
        plain = False
    if not plain:
        raise BadArgument(f"`datasets` must have values as in JSON, got {data!r} for {task!r}.")
