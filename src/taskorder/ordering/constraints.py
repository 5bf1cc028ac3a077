"""From what the user may ask (before, first, last, learned) to the one matrix that every solver obeys.

`precedes[a, b]` says that open visit a comes before open visit b. It is transitively closed, so a visit is allowed as
soon as no visit in its column is still open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints, task_index

Bools = NDArray[np.bool_]


def learned_tasks(names: Sequence[str], learned: Iterable[Any]) -> Ints:
    """Indices of the tasks already learned, in the order given (names or indices).

    >>> learned_tasks(("A", "B", "C"), ["C", 0]).tolist()
    [2, 0]
    """
    if isinstance(learned, str):
        raise ValueError(f"`learned` must be a list of tasks, got the text {learned!r}. Write [{learned!r}].")
    indices = [task_index(task, names, "learned") for task in learned]
    for position, task in enumerate(indices):
        if task in indices[:position]:
            raise ValueError(f"`learned` must list a task at most once, got {names[task]} twice.")
    return np.array(indices, dtype=np.int64)


def open_tasks(names: Sequence[str], learned: Iterable[Any] = ()) -> Ints:
    """Indices of the tasks still to be ordered, ascending; empty when all are learned.

    >>> open_tasks(("A", "B", "C"), ["B"]).tolist()
    [0, 2]
    """
    return np.setdiff1d(np.arange(len(names), dtype=np.int64), learned_tasks(names, learned))


def closure(size: int, pairs: Iterable[tuple[int, int]], labels: Sequence[str]) -> Bools:
    """(n, n) transitive closure of `pairs`; a cycle is refused and spelled out by label.

    >>> closure(3, [(0, 1), (1, 2)], "ABC").astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    direct = np.zeros((size, size), dtype=np.bool_)
    for a, b in pairs:
        direct[a, b] = True
    reach = direct.copy()
    # Taking tasks from the end backwards, the reach of every successor is complete when it is needed.
    for task in reversed(_topological(direct, labels)):
        after = np.flatnonzero(direct[task])
        if after.size:
            reach[task] |= reach[after].any(axis=0)
    return reach


def precedence(
    tasks: Ints,
    names: Sequence[str],
    before: Iterable[tuple[Any, Any]] = (),
    first: Any = None,
    last: Any = None,
    learned: Iterable[Any] = (),
) -> Bools:
    """(n, n) closed precedence between the open visits `tasks`; task indices, a repeat is a further visit of that task.

    Visit i of a task precedes its visit i + 1. `before` (a, b): the first visit of a comes before the first visit of b.
    `first` holds the very first visit, `last` the very last one (the last copy of its task); they may be one task only
    where it is the only open visit or is visited at least twice.

    >>> precedence(np.array([0, 1, 2]), "ABC", before=[("C", "A")], last="B").astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
    """
    size = len(tasks)
    done = {int(task) for task in learned_tasks(names, learned)}
    visits: dict[int, list[int]] = {}
    for visit, task in enumerate(np.asarray(tasks).tolist()):
        visits.setdefault(task, []).append(visit)
    labels = [names[task] for task in tasks]
    pairs = [pair for copies in visits.values() for pair in pairwise(copies)]
    for a, b in task_pairs(before, names):
        if a in done:
            continue
        if b in done:
            raise ValueError(
                f"`before` must not ask for {names[a]} before {names[b]}, which is already in `learned`. "
                f"Drop the pair, or add {names[a]} to `learned`."
            )
        pairs.append((visits[a][0], visits[b][0]))
    precedes = closure(size, pairs, labels)

    head = None if first is None else visits[_open_index(first, names, "first", done)][0]
    tail = None if last is None else visits[_open_index(last, names, "last", done)][-1]
    if head is not None and head == tail and size > 1:
        raise ValueError(
            f"`first` and `last` must be different tasks unless only one visit is open, got {labels[head]} for both."
        )
    if head is not None:
        if precedes[:, head].any():
            blocker = labels[int(precedes[:, head].argmax())]
            raise ValueError(
                f"`first` must not contradict `before`, got first {labels[head]} but {blocker} before {labels[head]}."
            )
        precedes[head] = True
        precedes[head, head] = False
    if tail is not None:
        after = precedes[tail].copy()
        if after.any():
            blocker = labels[int(after.argmax())]
            raise ValueError(
                f"`last` must not contradict `before`, got last {labels[tail]} but {labels[tail]} before {blocker}."
            )
        precedes[:, tail] = True
        precedes[tail, tail] = False
    return precedes


def respects(order: Ints, precedes: Bools) -> bool:
    """Whether the positions `order` keep every precedence.

    >>> respects(np.array([1, 0]), np.array([[False, True], [False, False]]))
    False
    """
    return not np.tril(precedes[np.ix_(order, order)]).any()


def masks(precedes: Bools) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """For each of at most 62 visits the bit masks of those that must come before it and after it."""
    bits = np.uint64(1) << np.arange(len(precedes), dtype=np.uint64)
    before = (precedes * bits[:, None]).sum(axis=0, dtype=np.uint64)
    return before, (precedes * bits).sum(axis=1, dtype=np.uint64)


def components(linked: Bools) -> list[Ints]:
    """Connected components of a symmetric relation, each ascending, by smallest member.

    >>> [part.tolist() for part in components(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))]
    [[0, 2], [1]]
    """
    left = np.ones(len(linked), dtype=np.bool_)
    parts = []
    while left.any():
        seen = np.zeros(len(linked), dtype=np.bool_)
        wave = seen.copy()
        wave[left.argmax()] = True
        while wave.any():
            seen |= wave
            wave = linked[wave].any(axis=0) & ~seen
        left &= ~seen
        parts.append(np.flatnonzero(seen))
    return parts


def task_pairs(before: Iterable[tuple[Any, Any]], names: Sequence[str]) -> list[tuple[int, int]]:
    """The checked pairs as task indices."""
    found = []
    for pair in before:
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(pair := tuple(pair)) != 2:
            raise ValueError(f"`before` must be a list of pairs (a, b) of tasks, got {pair!r}. Write [(a, b)].")
        a, b = (task_index(task, names, "before") for task in pair)
        if a == b:
            raise ValueError(f"`before` must name two different tasks in each pair, got {names[a]} before itself.")
        found.append((a, b))
    return found


def _open_index(task: Any, names: Sequence[str], option: str, done: set[int]) -> int:
    index = task_index(task, names, option)
    if index in done:
        raise ValueError(f"`{option}` must name a task that is still to be learned, got {names[index]} from `learned`.")
    return index


def _topological(direct: Bools, labels: Sequence[str]) -> list[int]:
    """An order that keeps every pair."""
    pending = direct.sum(axis=0)
    ready = [int(task) for task in np.flatnonzero(pending == 0)]
    order = []
    while ready:
        task = ready.pop()
        order.append(task)
        pending = pending - direct[task]
        ready.extend(int(b) for b in np.flatnonzero(direct[task] & (pending == 0)))
    if len(order) < len(direct):
        cycle = _shortest_cycle(direct, np.setdiff1d(np.arange(len(direct)), order))
        chain = " before ".join(labels[task] for task in [*cycle, cycle[0]])
        raise ValueError(f"`before` must not contain a cycle, got {chain}. Drop one of these pairs.")
    return order


def _shortest_cycle(direct: Bools, stuck: Ints) -> list[int]:
    """The shortest cycle, breadth first from each of the tasks `stuck` that no topological order reaches."""
    best: list[int] = []
    for start in stuck.tolist():
        routes = {start: [start]}
        wave = [start]
        while wave and not direct[wave, start].any():
            fresh: dict[int, list[int]] = {}
            for a in wave:
                fresh.update({b: [*routes[a], b] for b in np.flatnonzero(direct[a]).tolist() if b not in routes})
            routes.update(fresh)
            wave = list(fresh)
        closing = [routes[a] for a in wave if direct[a, start]]
        if closing and (not best or len(closing[0]) < len(best)):
            best = closing[0]
    return best
