"""Examples of tasks out of tables: one task a file, or one for each value of a column."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.checks import MAX_TASKS
from taskorder.costs import megabytes, most_unpacked
from taskorder.datasets.dataset import MAX_DATASET_BYTES
from taskorder.datasets.roles import CLASSES, REGRESSION, Roles, Wanted, has_fractions, places, roles_of
from taskorder.datasets.table_files import TableFile, open_table, table_name
from taskorder.tables.input_files import printable, refusal
from taskorder.tables.separated import is_number, to_numbers

LABEL_BYTES = 16
"""Memory that a label takes at least."""
MOST_ALIKE = 10_000
WHOLE_NUMBER = re.compile(r"[+-]?\d+")


@dataclass
class Examples:
    """Rows to learn from, and the label of each."""

    where: str
    """The file, for messages."""
    width: int
    """Numbers in a row; 0 where rows are texts."""
    numbers: array[float] = field(default_factory=lambda: array("f"))
    texts: list[str] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    """As they stand in the file: texts, or numbers in JSON lines and Parquet."""

    @property
    def inputs(self) -> NDArray[Any] | list[str]:
        """One row an example."""
        if not self.width:
            return self.texts
        rows = np.frombuffer(self.numbers, dtype=np.float32).reshape(len(self.labels), -1)
        bad = np.argwhere(~np.isfinite(rows))
        if len(bad):
            row, column = bad[0]
            got = f"{rows[row, column]} at row {row + 1}, column {column + 1}"
            raise refusal(self.where, "hold finite numbers of size float32", got, "Fill or drop missing entries first.")
        return rows


def read_task_tables(paths: Sequence[Path], wanted: Wanted) -> tuple[dict[str, Examples], Roles]:
    """The examples by task, and what the columns were taken for.

    Rows come by the name of their file, or where `wanted` names a column of tasks, by the cell there.
    """
    tasks: dict[str, Examples] = {}
    roles: Roles | None = None
    for path in paths:
        with open_table(path) as table:
            if roles is None:
                roles, table = roles_of(table, wanted)
            _add_rows(tasks, table, roles, places(table, roles, printable(paths[0])))
    assert roles is not None
    return tasks, roles


def target_of(tasks: dict[str, Examples], wanted: Wanted) -> str:
    """What the labels are: as `wanted` says; else numbers to predict if all are numbers, and some have fractions."""
    if wanted.target is not None:
        return wanted.target
    labels = {str(label) for examples in tasks.values() for label in examples.labels}
    return REGRESSION if all(is_number(label) for label in labels) and has_fractions(labels) else CLASSES


def class_names(examples: Examples) -> list[str]:
    """The name of the class of each example; 1.0 is 1.

    >>> class_names(Examples("a.csv", 0, labels=["1.0", 1, "one"]))
    ['1', '1', 'one']
    """
    labels = list(map(str, examples.labels))
    names = {label: _class_name(label, examples.where) for label in set(labels)}
    return [names[label] for label in labels]


def numbers_to_predict(examples: Examples) -> list[float]:
    """The label of each example as a number."""
    values = to_numbers(list(map(str, examples.labels)), ";")
    if values is None or not np.isfinite(values).all():
        odd = next(label for label in examples.labels if not is_number(str(label)) or not np.isfinite(_number(label)))
        raise BadArgument(
            f"`{examples.where}` must have numbers to predict, got {str(odd)[:40]!r}. Drop the row, or say with ",
            "target",
            f" that they are {CLASSES}.",
        )
    return values


def _add_rows(tasks: dict[str, Examples], table: TableFile, roles: Roles, place_of: dict[str, int]) -> None:
    """Put the rows of a table to those of their tasks."""
    text_places = [place_of[name] for name in roles.text]
    number_places = [place_of[name] for name in roles.features]
    label_place = place_of[roles.label]
    task_place = None if roles.task is None else place_of[roles.task]
    name, path, size, count = table_name(table.path), table.path, 0, 0
    most = min(MAX_DATASET_BYTES, most_unpacked(path.stat().st_size))
    alike: dict[str, str] = {}
    for number, cells in table.rows:
        count += 1
        where = f"on {table.unit} {number}"
        label = _stripped(cells[label_place])
        if label == "":
            raise refusal(path, "have a label in each row", f"none in {roles.label!r} {where}", "Fill or drop the row.")
        if task_place is not None:
            name = str(_stripped(cells[task_place]))
            if not name:
                rule = f"name a task in column {roles.task!r} of each row"
                raise refusal(path, rule, f"none {where}", "Fill or drop the row.")
        if name not in tasks:
            if len(tasks) >= MAX_TASKS:
                got = f"more {where}" if task_place is None else f"more in column {roles.task!r} {where}"
                raise refusal(path, f"have at most {MAX_TASKS} tasks", got, "Name another column of tasks.")
            tasks[name] = Examples(printable(path), len(number_places))
        examples = tasks[name]
        if text_places:
            examples.texts.append("\n".join(str(cells[place]) for place in text_places))
            size += len(examples.texts[-1])
        else:
            values = _numbers([cells[place] for place in number_places], table, roles, where)
            examples.numbers.extend(values)
            size += 4 * len(values)
        if isinstance(label, str) and len(alike) < MOST_ALIKE:  # one object for all of a class
            label = alike.setdefault(label, label)
        examples.labels.append(label)
        size += LABEL_BYTES
        if size > most:
            fix = "Keep fewer rows or columns, or unpack it first if it is packed."
            raise refusal(path, f"take at most {megabytes(most)}", f"more {where}", fix)
    if not count:
        raise refusal(path, "have rows of features and a label", "none", "Write one row a line.")


def _numbers(cells: list[Any], table: TableFile, roles: Roles, where: str) -> list[float]:
    kinds = set(map(type, cells))
    values = to_numbers(cells, table.separator) if kinds == {str} else None
    if values is not None:
        return values
    if kinds <= {float, int}:
        with suppress(OverflowError):
            return list(map(float, cells))
    texts = list(map(str, cells))
    values = to_numbers(texts, table.separator)
    if values is not None:
        return values
    name, odd = next(
        pair for pair in zip(roles.features, texts, strict=True) if not is_number(pair[1], table.separator)
    )
    if not odd:
        raise refusal(table.path, "have a number in each cell", f"none in {name!r} {where}", "Fill or drop the row.")
    fix = "Encode it as numbers, or drop the column."
    raise refusal(table.path, "have numbers beside the label", f"{odd[:40]!r} in {name!r} {where}", fix)


def _class_name(label: str, where: str) -> str:
    if not label.isprintable():
        raise refusal(where, "have printable labels", repr(label[:40]), "Labels are classes: integers or text.")
    whole = is_number(label) and not WHOLE_NUMBER.fullmatch(label) and _number(label).is_integer()
    return str(int(_number(label))) if whole else label


def _number(label: Any) -> float:
    return float(str(label).replace(",", "."))


def _stripped(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell
