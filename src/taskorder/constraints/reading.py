"""Constraints as users give them, by names or indices, checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.arguments import BadArgument
from taskorder.checks import Floats, task_index

TaskName = str | int
"""A task by its name or by its index."""
MAX_VISITS = 3000
"""Largest number of visits."""


def importance(weights: ArrayLike | Mapping[str, float], names: Sequence[str]) -> Floats:
    """(P,) one number for each task; tasks that a mapping does not name count 1."""
    if isinstance(weights, Mapping):
        given = {task_index(name, names, "weights"): weight for name, weight in weights.items()}
        weights = [given.get(task, 1.0) for task in range(len(names))]
    return checks.task_weights(weights, len(names))


def learned_tasks(learned: Iterable[Any], names: Sequence[str]) -> tuple[int, ...]:
    """The tasks already learned, each at most once."""
    if isinstance(learned, str) or not isinstance(learned, Iterable):
        kind = "the text " if isinstance(learned, str) else ""
        raise BadArgument(f"`learned` must be a list of tasks, got {kind}{learned!r}. Write [{learned!r}].")
    tasks: dict[int, None] = {}
    for task in (task_index(task, names, "learned") for task in learned):
        if task in tasks:
            raise BadArgument(f"`learned` must list a task at most once, got {names[task]} twice.")
        tasks[task] = None
    return tuple(tasks)


def task_pairs(before: Iterable[Any], names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Pairs of two different tasks."""
    pairs = []
    if not isinstance(before, Iterable):
        raise BadArgument(f"`before` must be a list of pairs (a, b) of tasks, got {before!r}. Write [(a, b)].")
    for pair in before:
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(pair := tuple(pair)) != 2:
            raise BadArgument(f"`before` must be a list of pairs (a, b) of tasks, got {pair!r}. Write [(a, b)].")
        a, b = (task_index(task, names, "before") for task in pair)
        if a == b:
            raise BadArgument(f"`before` must name two different tasks in each pair, got {names[a]} before itself.")
        pairs.append((a, b))
        if len(pairs) > len(names) ** 2:
            raise BadArgument(f"`before` must list each pair once, got more than {len(names)} tasks have.")
    return tuple(pairs)


def task_groups(groups: Iterable[Any], names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Groups without a task in common.

    >>> task_groups([["A", "C"]], "ABC")
    ((0, 2),)
    """
    checked: list[tuple[int, ...]] = []
    if not isinstance(groups, Iterable):
        raise BadArgument(f"`groups` must be a list of lists of tasks, got {groups!r}. Write [[a, b], ...].")
    for group in groups:
        if isinstance(group, str | int) or not isinstance(group, Iterable):
            raise BadArgument(f"`groups` must be a list of lists of tasks, got {group!r}. Write [[{group!r}, ...]].")
        tasks: dict[int, None] = {}
        for task in (task_index(task, names, "groups") for task in group):
            if task in tasks:
                raise BadArgument(f"`groups` must list a task at most once, got {names[task]} twice. Name it once.")
            tasks[task] = None
        if not tasks:
            raise BadArgument("`groups` must have at least one task in each group, got an empty one. Leave it out.")
        for other in checked:
            _disjoint(other, [*tasks], names)
        checked.append(tuple(tasks))
    return tuple(checked)


def _disjoint(group: Sequence[int], other: Sequence[int], names: Sequence[str]) -> None:
    """Refuse two groups that share a task."""
    shared = [task for task in group if task in other]
    if not shared:
        return
    small, large = sorted((group, other), key=len)
    titles = title(small, names), title(large, names)
    if set(small) <= set(large):
        raise BadArgument(f"`groups` must not lie inside each other, got {titles[0]} in {titles[1]}. Keep one of them.")
    merged = title([*small, *(task for task in large if task not in small)], names)
    raise BadArgument(
        f"`groups` must not share a task, got {names[shared[0]]} in {titles[0]} and in {titles[1]}. "
        f"Merge them into {merged}, or name it in one of them."
    )


def title(tasks: Sequence[int], names: Sequence[str]) -> str:
    """What messages call a group.

    >>> title([2, 0], "ABC")
    '[C, A]'
    """
    return f"[{', '.join(names[task] for task in tasks)}]"


def open_task(task: TaskName, names: Sequence[str], option: str, learned: Sequence[int]) -> int:
    """A task that is still to be learned."""
    index = task_index(task, names, option)
    if index in learned:
        raise BadArgument(
            f"`{option}` must name a task that is still to be learned, got {names[index]} from `learned`."
        )
    return index


def num_visits(visits: int, num_open: int) -> int:
    """Visits in all, at least one for each open task."""
    budget = checks.whole(visits)
    if budget is None or budget < num_open:
        raise BadArgument(f"`visits` must be at least {num_open}, one for each open task, got {visits!r}.")
    if budget > MAX_VISITS:
        raise BadArgument(f"`visits` must be at most {MAX_VISITS}, got {visits!r}.")
    return budget
