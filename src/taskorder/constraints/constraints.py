"""Constraints on an order: which tasks come first, last, before others or together, what is learned, what counts."""

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
from taskorder.checks import Bools, Floats, Ints
from taskorder.constraints import reading
from taskorder.constraints.precedence import closed_precedence
from taskorder.constraints.reading import TaskName


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
    groups: tuple[tuple[int, ...], ...] = ()
    """Tasks that stay together: those of one group follow each other, in any order."""

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
        groups: Iterable[Iterable[TaskName]] = (),
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
        groups
            Lists of tasks that stay together: those of one list follow each other, in any order.

        Raises
        ------
        ValueError
            If a value is not valid or no order keeps all constraints.
        """
        task_names = checks.task_names(names, num_tasks)
        past = reading.learned_tasks(learned, task_names)
        ends = [
            None if task is None else reading.open_task(task, task_names, option, past)
            for option, task in (("first", first), ("last", last))
        ]
        constraints = cls(
            names=task_names,
            before=reading.task_pairs(before, task_names),
            first=ends[0],
            last=ends[1],
            learned=past,
            weights=None if weights is None else reading.importance(weights, task_names),
            visits=None if visits is None else reading.num_visits(visits, num_tasks - len(past)),
            groups=reading.task_groups(groups, task_names),
        )
        if constraints.groups and constraints.num_repeats:
            raise BadArgument(
                f"`groups` must be left out with more visits than open tasks, got {visits} for {constraints.num_open}: "
                "a further visit has no place beside its group. Leave ",
                "visits",
                " out.",
            )
        _ = constraints.required_repeats  # raises if the constraints contradict each other
        return constraints

    @classmethod
    def from_options(cls, names: Sequence[str], options: Mapping[str, Any]) -> Constraints:
        """The constraints in the options of a plan of these tasks; keys that are missing constrain nothing."""
        given = {key: options[key] for key in ("before", "learned", "groups") if options.get(key) is not None}
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
        groups = [[self.names[task] for task in group] for group in self.groups]
        return {
            "weights": None if self.weights is None else self.weights.tolist(),
            "before": [[self.names[a], self.names[b]] for a, b in self.before],
            "first": None if self.first is None else self.names[self.first],
            "last": None if self.last is None else self.names[self.last],
            "learned": [self.names[task] for task in self.learned],
            "visits": self.visits,
            **({"groups": groups} if groups else {}),
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
        head = None if self.first is None else positions[self.first][0]
        tail = None if self.last is None else positions[self.last][-1]
        if head is not None and head == tail and len(tasks) > 1:
            raise BadArgument(
                "`first` and ",
                "last",
                f" must be different tasks unless only one visit is open, got {labels[head]} for both.",
            )
        together = self.together if len(tasks) == self.num_open else None
        return closed_precedence(labels, pairs, head=head, tail=tail, groups=together, begun=self._begun)

    @functools.cached_property
    def together(self) -> Ints | None:
        """(n,) for each open task the first one of its group, as positions in `open_tasks`; None without groups.

        >>> Constraints.of(4, groups=[["D", "B"]], learned=["A"]).together.tolist()
        [0, 1, 0]
        """
        numbers = np.arange(self.num_open)
        for group in self.groups:
            inside = np.flatnonzero(np.isin(self.open_tasks, group))
            numbers[inside] = inside[:1]
        return None if len(np.unique(numbers)) in (1, self.num_open) else numbers

    @property
    def _begun(self) -> Ints:
        """The open tasks of a group that `learned` ends in the middle of, as positions in `open_tasks`."""
        begun = np.arange(0)
        for group in self.groups:
            inside, known = np.isin(self.open_tasks, group), [task for task in self.learned if task in group]
            if not inside.any() or not known:
                continue
            if set(self.learned[-len(known) :]) != set(known):
                follower = self.learned[self.learned.index(known[0]) + 1 :]
                other = next(task for task in follower if task not in group)
                first = self.names[known[0]]
                raise BadArgument(
                    "`groups` must not be broken by ",
                    "learned",
                    f" already, got {reading.title(group, self.names)} with {first} learned before "
                    f"{self.names[other]}. Take {first} out of the group.",
                )
            begun = np.flatnonzero(inside)
        return begun

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
            and self._keeps_groups([*self.learned, *order])
        )

    def _keeps_groups(self, sequence: Sequence[int]) -> bool:
        """Whether the tasks of each group that is not yet learned follow each other."""
        for group in self.groups:
            steps = [step for step, task in enumerate(sequence) if task in group]
            if not set(group) <= set(self.learned) and steps[-1] - steps[0] >= len(steps):
                return False
        return True

    def allows_ending(self, ending: Sequence[int]) -> bool:
        """Whether an allowed order of the open tasks, each learned once, can end with these."""
        inside = list(ending)
        outside = [task for task in self.open_tasks.tolist() if task not in ending]
        for group in self.groups:
            steps = [step for step, task in enumerate(inside) if task in group]
            # only the group that the ending begins with may go on before it
            whole = all(task in inside or task in self.learned for task in group)
            if steps and (steps[-1] - steps[0] >= len(steps) or not (whole or steps[0] == 0)):
                return False
        precedes = self._precedence_of_tasks
        if not precedes.any():
            return True
        return not (np.tril(precedes[np.ix_(inside, inside)]).any() or precedes[np.ix_(inside, outside)].any())
