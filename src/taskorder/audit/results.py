"""Results of training in several orders with several seeds, from rows: one for each run and task.

Columns order (like 2>0>1, or names), seed, task and accuracy (shares or percent, after the last task). A column step,
as `taskorder export` writes it, keeps the rows of the last step; other columns must not make two rows alike.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from taskorder.checks import Floats, counted
from taskorder.tables.input_files import refusal

NEEDED = ("order", "seed", "task", "accuracy")
MEASURED = ("step", "task_name", "position", "loss", "chance")
"""What an export has in each row besides; its other columns are settings, and one value of each is one experiment."""
MOST_NAMED = 6
"""Values of a column that a message names."""

Location = int | str
"""Where a row is from: its line in a file; for anything else words like "in set 0"."""
ResultRow = tuple[Location, Mapping[str, str]]
"""Where it is from, and the cells by column."""


class CheckedRow(NamedTuple):
    """What is needed of a row once it has been checked."""

    location: Location
    accuracy: float
    settings: tuple[tuple[str, str], ...]
    """The cells of the other columns, one object for all rows that are alike."""


@dataclass(frozen=True)
class Results:
    """Final accuracies, as shares, by order, seed and task."""

    orders: tuple[str, ...]
    seeds: tuple[str, ...]
    tasks: tuple[str, ...]
    task_names: tuple[str, ...]
    accuracy: Floats
    """(orders, seeds, tasks); NaN for the whole run where an order was not run with a seed."""
    notes: tuple[str, ...] = ()

    def find(self, order: str, name: str) -> int:
        """The index of an order, by task numbers or task names; messages call it `name`."""
        named = dict(zip(self.task_names, self.tasks, strict=True))
        steps = _steps(order)
        for tasks in (steps, tuple(named.get(step, step) for step in steps)):
            if ">".join(tasks) in self.orders:
                return self.orders.index(">".join(tasks))
        known = ", ".join(self.orders[:MOST_NAMED]) + (", ..." if len(self.orders) > MOST_NAMED else "")
        raise ValueError(f"`{name}` must name an order of the results, got {order!r}. Orders: {known}.")


def needed_columns(columns: Iterable[str], label: str) -> None:
    """Refuse a table without the columns that every table of results has."""
    columns = list(columns)
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise refusal(label, f"have the columns {', '.join(NEEDED)}", f"no {missing[0]!r} among: {_shown(columns)}", "")


def results_from_rows(rows: Iterable[ResultRow], label: str, where: Mapping[str, str] | None = None) -> Results:
    """The results in rows of text cells; `label` is what messages call their source."""
    entries: dict[tuple[str, str, str], CheckedRow] = {}
    alike: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
    values: dict[str, dict[str, None]] = {}
    names: dict[str, str] = {}
    tasks_of: tuple[str, ...] | None = None
    any_row = False
    for location, cells in rows:
        any_row = True
        if not _chosen(cells, where or {}, label):
            continue
        steps = _order(cells["order"], location, label)
        if "step" in cells and not _is_last(cells["step"], steps, location, label):
            continue
        tasks = tuple(sorted(steps)) if len(steps) > 1 else ()  # an order with a name of its own lists no tasks
        _check_tasks(cells, tasks, tasks if tasks_of is None else tasks_of, location, label)
        tasks_of = tasks
        key = (">".join(steps), cells["seed"], cells["task"])
        accuracy = _number(cells["accuracy"], location, label)
        if not cells["seed"] or not cells["task"]:
            raise ValueError(f"`{label}` must have a seed and a task in every row, got a blank {_where(location)}.")
        settings = tuple((name, cell) for name, cell in cells.items() if name not in (*NEEDED, *MEASURED))
        entry = CheckedRow(location, accuracy, alike.setdefault(settings, settings))
        if key in entries:
            raise ValueError(_twice(key, entries[key], entry, label))
        entries[key] = entry
        names[cells["task"]] = cells.get("task_name") or cells["task"]
        for column, cell in cells.items():
            seen = values.setdefault(column, {})
            if len(seen) <= MOST_NAMED:
                seen[cell] = None
    if not entries:
        raise ValueError(_nothing(any_row, where, label))
    notes = _one_experiment(values, label)
    return _table(entries, names, notes, label)


def _check_tasks(
    cells: Mapping[str, str], tasks: tuple[str, ...], expected: tuple[str, ...], location: Location, label: str
) -> None:
    """Refuse an order of other tasks than the orders before it, and a task that is not in its order."""
    if tasks != expected:
        others = ", ".join((expected or ("no tasks",))[:MOST_NAMED])
        got = f"{cells['order']!r} {_where(location)} after orders of {others}"
        raise refusal(label, "have the same tasks in every order", got, "")
    if tasks and cells["task"] not in tasks and cells.get("task_name") not in tasks:
        got = f"task {cells['task']!r} {_where(location)}, which is not in {cells['order']!r}"
        raise refusal(label, "name tasks as in the orders", got, "")


def _chosen(cells: Mapping[str, str], where: Mapping[str, str], label: str) -> bool:
    needed_columns(cells, label)
    for column in where:
        if column not in cells:
            raise ValueError(f"`where` must name a column, got {column!r}. Columns: {_shown(cells)}.")
    return all(cells[column] == value for column, value in where.items())


def _shown(columns: Iterable[str]) -> str:
    return textwrap.shorten(", ".join(columns), 200, placeholder=" ...")


def _steps(order: str) -> tuple[str, ...]:
    """The tasks of an order: 2>0>1, or with arrows like A -> B."""
    return tuple(part.strip() for part in re.split(r"-?>", order))


def _where(location: Location) -> str:
    return f"on line {location}" if isinstance(location, int) else location


def _order(text: str, location: Location, label: str) -> tuple[str, ...]:
    steps = _steps(text)
    if not all(steps) or len(set(steps)) < len(steps):
        rule, fix = "have orders like 2>0>1 with each task once", "Or give each order a name without >."
        raise refusal(label, rule, f"{text!r} {_where(location)}", fix)
    return steps


def _is_last(step: str, steps: Sequence[str], location: Location, label: str) -> bool:
    if len(steps) == 1:
        rule, fix = "have orders like 2>0>1 beside a column step", "Or keep only the last step and drop the column."
        raise refusal(label, rule, f"{steps[0]!r} {_where(location)}", fix)
    if not step.isdecimal():
        raise ValueError(f"`{label}` must have whole numbers as steps, got {step!r} {_where(location)}.")
    return int(step) == len(steps)


def _number(cell: str, location: Location, label: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 100:
        rule, fix = "have accuracies from 0 to 1 or from 0 to 100", "Run it again or drop the row."
        raise refusal(label, rule, f"{cell!r} {_where(location)}", fix)
    return number


def _twice(key: tuple[str, str, str], old: CheckedRow, new: CheckedRow, label: str) -> str:
    before = dict(old.settings)
    column = next((name for name, cell in new.settings if cell != before.get(name)), None)
    fix = "Drop one of them." if column is None else f"Choose one with `where`: {column}={before.get(column, '')}."
    return (
        f"`{label}` must have one row for each order, seed and task, got order {key[0]}, seed {key[1]}, task {key[2]} "
        f"{_where(old.location)} and {_where(new.location)}. {fix}"
    )


def _nothing(any_row: bool, where: Mapping[str, str] | None, label: str) -> str:
    if not any_row:
        return f"`{label}` must have rows of results below a header, got none."
    if where:
        chosen = ", ".join(f"{column}={value}" for column, value in where.items())
        return f"`where` must leave rows of a last step, got none for {chosen}."
    return (
        f"`{label}` must have rows of the last step of an order, got none. "
        "Steps count from 1, so the last one is the number of tasks."
    )


def _one_experiment(values: Mapping[str, Mapping[str, None]], label: str) -> list[str]:
    """Refuse an export of several experiments; note other columns that vary."""
    notes = []
    for column, cells in values.items():
        if column in (*NEEDED, *MEASURED) or len(cells) == 1:
            continue
        shown = ", ".join(list(cells)[:MOST_NAMED]) + (", ..." if len(cells) > MOST_NAMED else "")
        if "kind" in values and "set" in values:  # an export: other settings are other experiments
            first = next(iter(cells))
            fix = f"Choose one with `where`: {column}={first}."
            raise refusal(label, "hold one experiment", f"several with {column} {shown}", fix)
        notes.append(f"column {column} has several values ({shown}) and is ignored; `where` keeps one value")
    return notes


def _table(
    entries: Mapping[tuple[str, str, str], CheckedRow], names: Mapping[str, str], notes: list[str], label: str
) -> Results:
    orders, seeds, tasks = (_sorted({key[axis] for key in entries}) for axis in range(3))
    accuracy = np.full((len(orders), len(seeds), len(tasks)), np.nan)
    index_of = [{value: index for index, value in enumerate(values)} for values in (orders, seeds, tasks)]
    for key, entry in entries.items():
        accuracy[tuple(indices[value] for indices, value in zip(index_of, key, strict=True))] = entry.accuracy
    accuracy = _shares(accuracy, entries, label)
    partial = np.isnan(accuracy).any(axis=2) & ~np.isnan(accuracy).all(axis=2)
    if partial.any():
        row, column = np.argwhere(partial)[0]
        lacking = int(np.isnan(accuracy[row, column]).argmax())
        notes.append(
            f"{counted(int(partial.sum()), 'incomplete run')} left out "
            f"(order {orders[row]}, seed {seeds[column]} has no task {tasks[lacking]})"
        )
        accuracy[partial] = np.nan
    there = np.asarray(~np.isnan(accuracy).any(axis=2))
    if not there.any():
        raise refusal(label, "have runs with every task", "none: each lacks one", f"Tasks: {', '.join(tasks)}.")
    rows, columns = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
    return Results(
        orders=tuple(orders[row] for row in rows),
        seeds=tuple(seeds[column] for column in columns),
        tasks=tasks,
        task_names=_unique_names(tasks, names),
        accuracy=accuracy[rows][:, columns],
        notes=tuple(notes),
    )


def _shares(accuracy: Floats, entries: Mapping[tuple[str, str, str], CheckedRow], label: str) -> Floats:
    """Percent become shares; a table that seems to mix both is refused."""
    known = accuracy[~np.isnan(accuracy)]
    if known.max() <= 1:
        return accuracy
    first = next(entry for entry in entries.values() if entry.accuracy > 1)
    if known.max() <= 1.5 or np.mean((known > 0) & (known <= 1)) > 0.5:
        got = f"a mixture: {first.accuracy:g} {_where(first.location)}"
        raise refusal(label, "have accuracies all from 0 to 1 or all from 0 to 100", got, "")
    return accuracy / 100


def _unique_names(tasks: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    shown = tuple(names[task] for task in tasks)
    return shown if len(set(shown)) == len(tasks) else tuple(tasks)


def _sorted(values: set[str]) -> tuple[str, ...]:
    """By number where all are numbers."""

    def key(value: str) -> list[tuple[bool, int, str]]:
        parts = value.split(">")
        return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]

    return tuple(sorted(values, key=key))
