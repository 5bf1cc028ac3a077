"""Constraints on an order: which tasks come first, last or before others, what is learned already, what counts most."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.arguments import BadArgument
from taskorder.checks import Bools, Floats, Ints, task_index

TaskName = str | int
"""A task by its name or by its index."""
MAX_VISITS = 3000
"""Largest number of visits."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """What is asked of an order besides that it is good; `Constraints.of` checks it. Tasks are held by index.

    Examples
    --------
    >>> constraints = Constraints.of(3, before=[("C", "A")], last="B")
    >>> constraints.allows([2, 0, 1]), constraints.allows([0, 2, 1])
    (True, False)
    """

    names: tuple[str, ...]
    before: tuple[tuple[int, int], ...] = ()
    """Pairs (a, b): a is learned before b."""
    first: int | None = None
    last: int | None = None
    learned: tuple[int, ...] = ()
    """Tasks already learned, in that order."""
    weights: Floats | None = None
    """(P,) importance of each task; None where all count the same."""
    visits: int | None = None
    """Visits in all; None for one of each open task."""

    @classmethod
    def of(
        cls,
        num_tasks: int,
        *,
        names: Sequence[str] | None = None,
        before: Iterable[tuple[TaskName, TaskName]] = (),
        first: TaskName | None = None,
        last: TaskName | None = None,
        learned: Iterable[TaskName] = (),
        weights: ArrayLike | Mapping[str, float] | None = None,
        visits: int | None = None,
    ) -> Constraints:
        """Check constraints that are given by task names or indices.

        Parameters
        ----------
        num_tasks
            P.
        names
            One for each task; A, B, C, ... by default.
        before
            Pairs (a, b): a is learned before b.
        first, last
            The tasks at the two ends.
        learned
            Tasks already learned, in that order.
        weights
            One number for each task, or some by name, the others 1.
        visits
            Visits in all, at least one for each open task.

        Raises
        ------
        ValueError
            If a value is not valid or no order keeps all constraints.
        """
        task_names = checks.task_names(names, num_tasks)
        importance = None if weights is None else _importance(weights, task_names)
        past = _learned_tasks(learned, task_names)
        pairs = _task_pairs(before, task_names)
        ends = [
            None if task is None else _open_task(task, task_names, option, past)
            for option, task in (("first", first), ("last", last))
        ]
        budget = None if visits is None else _num_visits(visits, num_tasks - len(past))
        constraints = cls(task_names, pairs, ends[0], ends[1], past, importance, budget)
        _ = constraints.required_repeats  # raises if the constraints contradict each other
        return constraints

    @classmethod
    def from_options(cls, names: Sequence[str], options: Mapping[str, Any]) -> Constraints:
        """The constraints in the options of a plan of these tasks; keys that are missing constrain nothing."""
        given = {key: options[key] for key in ("before", "learned") if options.get(key) is not None}
        return cls.of(
            len(names),
            names=names,
            first=options.get("first"),
            last=options.get("last"),
            weights=options.get("weights"),
            visits=options.get("visits"),
            **given,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The constraints as plain JSON values, tasks by name: part of the options of a plan."""
        return {
            "weights": None if self.weights is None else self.weights.tolist(),
            "before": [[self.names[a], self.names[b]] for a, b in self.before],
            "first": None if self.first is None else self.names[self.first],
            "last": None if self.last is None else self.names[self.last],
            "learned": [self.names[task] for task in self.learned],
            "visits": self.visits,
        }

    @functools.cached_property
    def open_tasks(self) -> Ints:
        """Indices of the tasks still to be learned, ascending; empty when all are learned."""
        return np.setdiff1d(np.arange(len(self.names), dtype=np.int64), np.array(self.learned, dtype=np.int64))

    @property
    def num_open(self) -> int:
        """Number of tasks still to be learned."""
        return len(self.open_tasks)

    @property
    def num_repeats(self) -> int:
        """Number of visits beyond one for each open task."""
        return 0 if self.visits is None else self.visits - self.num_open

    @property
    def importance(self) -> Floats:
        """(P,) weights of the tasks; ones where none were given."""
        return np.ones(len(self.names)) if self.weights is None else self.weights

    @functools.cached_property
    def required_repeats(self) -> tuple[int, ...]:
        """The repeat without which no order keeps the constraints: a task that is first or early, and also last."""
        if self.num_repeats == 0 or self.last is None:
            self.precedence()
            return ()
        try:
            self.precedence()
            if self.first != self.last:
                return ()
        except ValueError:
            pass  # a second visit of the last task may resolve it
        self.precedence((self.last,))
        return (self.last,)

    @functools.cached_property
    def fixes_order(self) -> bool:
        """Whether only one order of the open tasks is allowed."""
        return int(self.precedence().sum()) == self.num_open * (self.num_open - 1) // 2

    def precedence(self, repeats: Sequence[int] = ()) -> Bools:
        """(n, n) closed precedence between the visits of the open tasks and, after them, of `repeats`.

        Entry (a, b) says that visit a comes before visit b. It is transitively closed, so a visit is allowed as soon as
        no visit in its column is still open. A visit of a task precedes the next one of the same task. `before` (a, b):
        the first visit of a comes before the first visit of b. `first` is the very first visit, `last` the very last
        one; they may be one task only where it is the only open visit or is visited at least twice.

        >>> Constraints.of(3, before=[("C", "A")], last="B").precedence().astype(int).tolist()
        [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
        """
        if not repeats:
            return self._precedence.copy()
        return self._closed_precedence([*self.open_tasks.tolist(), *repeats])

    @functools.cached_property
    def _precedence(self) -> Bools:
        return self._closed_precedence(self.open_tasks.tolist())

    @functools.cached_property
    def _precedence_of_tasks(self) -> Bools:
        """(P, P) the precedence by task index."""
        matrix = np.zeros((len(self.names), len(self.names)), dtype=np.bool_)
        matrix[np.ix_(self.open_tasks, self.open_tasks)] = self._precedence
        return matrix

    def _closed_precedence(self, tasks: Sequence[int]) -> Bools:
        positions: dict[int, list[int]] = {}
        for position, task in enumerate(tasks):
            positions.setdefault(task, []).append(position)
        labels = [self.names[task] for task in tasks]
        pairs = [pair for copies in positions.values() for pair in pairwise(copies)]
        for a, b in self.before:
            if a in self.learned:
                continue
            if b in self.learned:
                raise BadArgument(
                    f"`before` must not ask for {self.names[a]} before {self.names[b]}, which is already in ",
                    "learned",
                    f". Drop the pair, or add {self.names[a]} to ",
                    "learned",
                    ".",
                )
            pairs.append((positions[a][0], positions[b][0]))
        precedes = closure(len(tasks), pairs, labels)
        # The ends are added after the closure: a row or column of ones keeps it closed, and contradictions show as
        # entries that are already there.
        head = None if self.first is None else positions[self.first][0]
        tail = None if self.last is None else positions[self.last][-1]
        if head is not None and head == tail and len(tasks) > 1:
            raise BadArgument(
                "`first` and ",
                "last",
                f" must be different tasks unless only one visit is open, got {labels[head]} for both.",
            )
        if head is not None:
            if precedes[:, head].any():
                blocker = labels[int(precedes[:, head].argmax())]
                raise BadArgument(
                    "`first` must not contradict ",
                    "before",
                    f", got first {labels[head]} but {blocker} before {labels[head]}.",
                )
            precedes[head] = True
            precedes[head, head] = False
        if tail is not None:
            after = precedes[tail].copy()
            if after.any():
                blocker = labels[int(after.argmax())]
                raise BadArgument(
                    "`last` must not contradict ",
                    "before",
                    f", got last {labels[tail]} but {labels[tail]} before {blocker}.",
                )
            precedes[:, tail] = True
            precedes[tail, tail] = False
        return precedes

    def allows(self, order: Sequence[int]) -> bool:
        """Whether `order` (task indices) learns every open task within the visits and keeps all constraints."""
        step = {task: position for position, task in reversed(list(enumerate(order)))}
        if self.visits is None:
            complete = sorted(order) == self.open_tasks.tolist()
        else:
            complete = set(self.open_tasks.tolist()) <= set(order) and len(order) <= self.visits
        return (
            complete
            and all(a in self.learned or step[a] < step.get(b, -1) for a, b in self.before)
            and (self.first is None or order[0] == self.first)
            and (self.last is None or order[-1] == self.last)
        )

    def allows_ending(self, ending: Sequence[int]) -> bool:
        """Whether an allowed order of the open tasks, each learned once, can end with these."""
        precedes = self._precedence_of_tasks
        if not precedes.any():
            return True
        inside = list(ending)
        outside = [task for task in self.open_tasks.tolist() if task not in ending]
        return not (np.tril(precedes[np.ix_(inside, inside)]).any() or precedes[np.ix_(inside, outside)].any())


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
        raise BadArgument(f"`before` must not contain a cycle, got {chain}. Drop one of these pairs.")
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


def _importance(weights: ArrayLike | Mapping[str, float], names: Sequence[str]) -> Floats:
    if isinstance(weights, Mapping):
        given = {task_index(name, names, "weights"): weight for name, weight in weights.items()}
        weights = [given.get(task, 1.0) for task in range(len(names))]
    return checks.task_weights(weights, len(names))


def _learned_tasks(learned: Iterable[Any], names: Sequence[str]) -> tuple[int, ...]:
    if isinstance(learned, str):
        raise BadArgument(f"`learned` must be a list of tasks, got the text {learned!r}. Write [{learned!r}].")
    tasks = tuple(task_index(task, names, "learned") for task in learned)
    for position, task in enumerate(tasks):
        if task in tasks[:position]:
            raise BadArgument(f"`learned` must list a task at most once, got {names[task]} twice.")
    return tasks


def _task_pairs(before: Iterable[Any], names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    pairs = []
    for pair in before:
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(pair := tuple(pair)) != 2:
            raise BadArgument(f"`before` must be a list of pairs (a, b) of tasks, got {pair!r}. Write [(a, b)].")
        a, b = (task_index(task, names, "before") for task in pair)
        if a == b:
            raise BadArgument(f"`before` must name two different tasks in each pair, got {names[a]} before itself.")
        pairs.append((a, b))
    return tuple(pairs)


def _open_task(task: TaskName, names: Sequence[str], option: str, learned: Sequence[int]) -> int:
    index = task_index(task, names, option)
    if index in learned:
        raise BadArgument(
            f"`{option}` must name a task that is still to be learned, got {names[index]} from `learned`."
        )
    return index


def _num_visits(visits: int, num_open: int) -> int:
    budget = checks.whole(visits)
    if budget is None or budget < num_open:
        raise BadArgument(f"`visits` must be at least {num_open}, one for each open task, got {visits!r}.")
    if budget > MAX_VISITS:
        raise BadArgument(f"`visits` must be at most {MAX_VISITS}, got {visits!r}.")
    return budget
