"""Results of training in several orders with several seeds, from rows of text cells.

`columns` says which column is what. A column step, as `taskorder export` writes it, keeps the rows of the last step;
`_step` of a W&B history the last value; other columns must not make two rows alike.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.audit.cells import is_blank, sorted_texts, steps_of
from taskorder.audit.collected import ROW_BYTES, Collected, Location
from taskorder.audit.columns import (
    ALIASES,
    MOST_NAMED,
    Layout,
    layout_of,
    named_column,
    order_column,
    role_column,
    shown_columns,
)
from taskorder.audit.entries import (
    at,
    checked_row,
    incomplete,
    is_last_step,
    shares,
    twice,
    varying,
)
from taskorder.checks import MAX_TASKS, Floats, Ints, counted
from taskorder.costs import most_memory, most_seconds
from taskorder.tables.input_files import refusal

ResultRow = tuple[Location, Mapping[str, str]]
"""Where it is from, and the cells by column."""
MOST_METHODS = 200
"""Every two of them are compared."""
CELL_BYTES = 32
"""Memory that a cell of the table of all orders, seeds and tasks takes while results are read."""
ROW_SECONDS = 1e-5
"""What it takes to check an accuracy: equal rows take hardly any room in a packed file, and all the same time."""
FINISHED = frozenset(("finished", "finish", "success", "succeeded", "complete", "completed", "done", "ok", ""))
"""States of runs that ended as they should, in lower case."""


@dataclass(frozen=True)
class Results:
    """Final accuracies of one method, as shares, by order, seed and task."""

    orders: tuple[str, ...]
    seeds: tuple[str, ...]
    tasks: tuple[str, ...]
    """A single "average" where the results are averages."""
    task_names: tuple[str, ...]
    accuracy: Floats
    """(orders, seeds, tasks); NaN for the whole run where an order was not run with a seed."""
    notes: tuple[str, ...] = ()
    averages: bool = False
    """Whether there is one number a run, the mean over tasks."""
    common_seeds: bool = True
    """Whether a seed means the same in every order; not where the table has no seeds and runs are only counted."""

    def find(self, order: str, name: str) -> int:
        """The index of an order, by task numbers or task names; messages call it `name`."""
        named = dict(zip(self.task_names, self.tasks, strict=True))
        steps = steps_of(order)
        for tasks in (steps, tuple(named.get(step, step) for step in steps)):
            if ">".join(tasks) in self.orders:
                return self.orders.index(">".join(tasks))
        known = ", ".join(self.orders[:MOST_NAMED]) + (", ..." if len(self.orders) > MOST_NAMED else "")
        raise BadArgument(
            f"`{name}` must name an order of the results, got {order!r}.{did_you_mean(order, self.orders)} "
            f"Orders: {known}."
        )

    @property
    def whole(self) -> Floats:
        """(orders, seeds) final average accuracies."""
        return np.asarray(self.accuracy.mean(axis=2))


def only_method(methods: Mapping[str, Results], label: str) -> Results:
    """The results of the only method of a table."""
    if len(methods) > 1:
        shown = ", ".join(list(methods)[:MOST_NAMED])
        first = next(iter(methods))
        fix = "Compare them with `read_methods` and `audit_methods`, or choose one with ", "where", f": method={first}."
        raise refusal(label, "hold one method", f"{len(methods)}: {shown}", *fix)
    return next(iter(methods.values()))


def results_from_rows(
    rows: Iterable[ResultRow],
    label: str,
    where: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Results:
    """The results of the only method in rows of text cells; `label` is what messages call their source."""
    return only_method(methods_from_rows(rows, label, where, columns), label)


def methods_from_rows(
    rows: Iterable[ResultRow],
    label: str,
    where: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    num_bytes: int | None = None,
) -> dict[str, Results]:
    """The results of each method in rows of text cells; a single one called "" where no column tells methods apart.

    num_bytes: the size of the file that the rows come from, if they do.
    """
    layout, kept = _with_layout(rows, label, where or {}, columns or {})
    table = _Table(layout, label, num_bytes)
    for location, cells in kept:
        table.add(location, cells)
    if not table.rows:
        raise BadArgument(_nothing(where or {}, table.unfinished, label))
    return table.by_method()


class _Table:
    """Collects the accuracies of a table, row by row; only what is needed of a row is kept."""

    def __init__(self, layout: Layout, label: str, num_bytes: int | None) -> None:
        self.layout, self.label, self.num_bytes = layout, label, num_bytes
        self.rows = Collected()
        self.names: dict[str, str] = {}
        """What to call each task."""
        self.values: dict[str, dict[str, None]] = {}
        """The first values of each column."""
        self.used = layout.used
        self.steps: dict[str, tuple[str, ...]] = {}
        """The tasks of each order that was seen, by how it was written."""
        self.steps_alike: dict[str, str] = {}
        """One object for each of their names."""
        self.tasks: tuple[str, ...] | None = None
        """In the orders; none where orders have names of their own."""
        self.repeats: Counter[tuple[str, str, str]] = Counter()
        """Runs so far by method, order and task, where there are no seeds."""
        self.unfinished = self.lacking = 0

    def add(self, location: Location, cells: Mapping[str, str]) -> None:
        """One row, if it is the last of a run that has finished."""
        layout, label = self.layout, self.label
        if layout.state is not None and cells[layout.state].lower() not in FINISHED:
            self.unfinished += 1
            return
        order = cells[layout.order]
        steps = self.steps.get(order) or self._steps(order, location)
        if layout.step is not None and not is_last_step(cells[layout.step], steps, location, label):
            return
        self._check_tasks(steps, cells, location)
        pairs = [*layout.accuracies(cells)]
        if layout.task is None and layout.log_step is None and all(is_blank(cell) for _, cell in pairs):
            self.lacking += 1
            return
        run = self._run(steps, cells, location)
        settings = tuple(cell for name, cell in cells.items() if name not in self.used)
        for task, cell in pairs:
            if layout.log_step is not None and is_blank(cell):
                continue  # a history has what was logged at each step
            if layout.seed is None and layout.log_step is None:
                self.repeats[*run[:2], task] += 1
                run = (*run[:2], str(self.repeats[*run[:2], task]))
            self.rows.add(checked_row(cell, cells, layout, settings, location, label, (*run, task)))
            self.names[task] = cells.get("task_name") or task
        if self.num_bytes is not None and (
            self.rows.num_bytes > most_memory(self.num_bytes)
            or len(self.rows) * ROW_SECONDS > most_seconds(self.num_bytes)
        ):
            fix = "Keep only the rows needed, with ", "where", ", or unpack it first if it is packed."
            raise refusal(label, "hold as many results as its size allows", f"{len(self.rows)} {at(location)}", *fix)
        for column, cell in cells.items():
            seen = self.values.setdefault(column, {})
            if len(seen) <= MOST_NAMED:
                seen[cell] = None

    def _steps(self, order: str, location: Location) -> tuple[str, ...]:
        """The tasks of an order that comes for the first time."""
        steps = tuple(self.steps_alike.setdefault(step, step) for step in _order(order, location, self.label))
        self.steps[order] = steps
        self.rows.num_bytes += 2 * len(order) + 8 * len(steps)
        return steps

    def _run(self, steps: tuple[str, ...], cells: Mapping[str, str], location: Location) -> tuple[str, str, str]:
        """Method, order and seed of a row."""
        layout = self.layout
        method = "" if layout.method is None else cells[layout.method]
        seed = "1" if layout.seed is None else cells[layout.seed]
        if not seed or (layout.task is not None and not cells[layout.task]):
            raise ValueError(f"`{self.label}` must have a seed and a task in every row, got a blank {at(location)}.")
        if layout.method is not None and not method:
            raise ValueError(f"`{self.label}` must have a method in every row, got a blank {at(location)}.")
        return method, ">".join(steps), seed

    def _check_tasks(self, steps: tuple[str, ...], cells: Mapping[str, str], location: Location) -> None:
        """Refuse an order of other tasks than the orders before it, and a task that is not in its order."""
        layout = self.layout
        tasks = tuple(sorted(steps)) if len(steps) > 1 else ()  # an order with a name of its own lists no tasks
        expected = tasks if self.tasks is None else self.tasks
        if tasks != expected:
            others = ", ".join((expected or ("no tasks",))[:MOST_NAMED])
            got = f"{cells[layout.order]!r} {at(location)} after orders of {others}"
            raise refusal(self.label, "have the same tasks in every order", got, "")
        self.tasks = tasks
        if layout.task is None or not tasks:
            return
        if cells[layout.task] not in tasks and cells.get("task_name") not in tasks:
            got = f"task {cells[layout.task]!r} {at(location)}, which is not in {cells[layout.order]!r}"
            raise refusal(self.label, "name tasks as in the orders", got, "")

    def by_method(self) -> dict[str, Results]:
        """The results of each method."""
        clash = self.rows.clash(self.layout.log_step is not None)
        if clash is not None:
            old, new = (self.rows[row] for row in clash)
            settings = [column for column in self.values if column not in self.used]
            raise twice(old, new, settings, self.layout, self.label)
        notes = [*varying(self.values, self.layout, self.label)]
        if self.unfinished:
            notes.append(f"{counted(self.unfinished, 'run')} left out that did not finish, by {self.layout.state}")
        if self.lacking:
            notes.append(f"{counted(self.lacking, 'run')} left out without an accuracy")
        averages = self.layout.task is None and not self.layout.task_columns
        if averages:
            notes.append("there is one accuracy a run, so nothing can be said about single tasks")
        if self.layout.seed is None:
            notes.append("no column seed: runs are taken to have nothing in common but the order")
        methods, *others = self.rows.axes
        self.texts = [list(axis) for axis in others]
        seen = others[-1]
        if len(methods) > MOST_METHODS:
            fix = "Choose one with ", "where", ", or say what tells methods apart with ", "columns", ": method=NAME."
            raise refusal(self.label, f"have at most {MOST_METHODS} methods", str(len(methods)), *fix)
        if self.tasks and not averages and len(seen) < len(self.tasks):
            notes.append(f"accuracies of {len(seen)} of {len(self.tasks)} tasks only: {', '.join(sorted_texts(seen))}")
        kept = np.arange(len(self.rows)) if self.layout.log_step is None else self.rows.last_steps()
        values, (of_method, *numbers) = shares(self.rows, kept, self.label), [n[kept] for n in self.rows.numbers]
        results = {}
        for method in sorted_texts(methods):
            mine = of_method == methods[method]
            results[method] = self._results(values[mine], [number[mine] for number in numbers], notes, averages)
        return results

    def _results(self, values: Floats, numbers: Sequence[Ints], notes: Sequence[str], averages: bool) -> Results:
        """The results of one method: its accuracies, and the numbers of their orders, seeds and tasks."""
        axes, places = [], []
        for axis, number in zip(self.texts, numbers, strict=True):
            different, inverse = np.unique(number, return_inverse=True)
            texts = [axis[k] for k in different.tolist()]
            axes.append(sorted_texts(texts))
            place_of = {text: place for place, text in enumerate(axes[-1])}
            places.append(np.array([place_of[text] for text in texts])[inverse])
        orders, seeds, tasks = axes
        self._refuse_gaps(len(orders), len(seeds), len(tasks), len(values))
        accuracy = np.full((len(orders), len(seeds), len(tasks)), np.nan)
        accuracy[tuple(places)] = values
        partial = np.isnan(accuracy).any(axis=2) & ~np.isnan(accuracy).all(axis=2)
        if partial.any():
            row, column = np.argwhere(partial)[0]
            lacking = int(np.isnan(accuracy[row, column]).argmax())
            notes = [*notes, incomplete(int(partial.sum()), orders[row], seeds[column], tasks[lacking])]
            accuracy[partial] = np.nan
        there = np.asarray(~np.isnan(accuracy).any(axis=2))
        if not there.any():
            raise refusal(
                self.label, "have runs with every task", "none: each lacks one", f"Tasks: {', '.join(tasks)}."
            )
        rows, columns = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
        names = tuple(self.names[task] for task in tasks)
        return Results(
            orders=tuple(orders[row] for row in rows),
            seeds=tuple(seeds[column] for column in columns),
            tasks=tasks,
            task_names=names if len(set(names)) == len(tasks) else tasks,
            accuracy=accuracy[rows][:, columns],
            notes=tuple(notes),
            averages=averages,
            common_seeds=self.layout.seed is not None,
        )

    def _refuse_gaps(self, num_orders: int, num_seeds: int, num_tasks: int, num_rows: int) -> None:
        """Refuse results that are few in the table of all orders and seeds that they would be put into."""
        num_bytes = ROW_BYTES * num_rows if self.num_bytes is None else self.num_bytes
        if num_orders * num_seeds * num_tasks * CELL_BYTES > most_memory(num_bytes):
            got = f"{num_orders} orders and {num_seeds} seeds, hardly any of them together"
            fix = "Number the seeds of each order alike, as 1, 2, ..., or drop the column."
            raise refusal(self.label, "have seeds that orders share", got, fix)


def _with_layout(
    rows: Iterable[ResultRow], label: str, where: Mapping[str, str], columns: Mapping[str, str]
) -> tuple[Layout, Iterator[ResultRow]]:
    """What the columns say, and the rows that `where` keeps; rows without an order are no runs."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"`{label}` must have rows of results below a header, got none.")
    order = order_column([*first[1]], columns, label)
    chosen = {}
    for name, value in where.items():
        column = named_column(name, first[1])
        if column is None and name in ALIASES:  # the method, whatever its column is called
            column = role_column(name, [*first[1]], columns)
        if column is None:
            raise BadArgument(
                f"`where` must name a column, got {name!r}.{did_you_mean(name, first[1])} "
                f"Columns: {shown_columns(first[1])}."
            )
        chosen[column] = value
    kept = (row for row in itertools.chain([first], rows) if all(row[1][name] == chosen[name] for name in chosen))
    before: list[ResultRow] = []
    for row in kept:  # a run that crashed may have logged no order
        before.append(row)
        if row[1][order]:
            break
    if not before:
        raise BadArgument(_nothing(where, 0, label))
    steps = steps_of(before[-1][1][order])
    return layout_of([*first[1]], steps, columns, label), itertools.chain(before, kept)


def _order(text: str, location: Location, label: str) -> tuple[str, ...]:
    steps = steps_of(text)
    if len(steps) > MAX_TASKS:
        raise refusal(label, f"have orders of at most {MAX_TASKS} tasks", f"{len(steps)} {at(location)}", "")
    if not all(steps) or len(set(steps)) < len(steps):
        rule, fix = "have orders like 2>0>1 with each task once", "Or give each order a name without marks like >."
        raise refusal(label, rule, f"{text!r} {at(location)}", fix)
    return steps


def _nothing(where: Mapping[str, str], unfinished: int, label: str) -> str:
    if unfinished:
        return f"`{label}` must have runs that finished, got {counted(unfinished, 'run')} that did not."
    if where:
        chosen = ", ".join(f"{column}={value}" for column, value in where.items())
        return f"`where` must leave rows of a last step, got none for {chosen}."
    return (
        f"`{label}` must have rows of the last step of an order, got none. "
        "Steps count from 1, so the last one is the number of tasks."
    )
