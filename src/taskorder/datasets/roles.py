"""Which column of a table is what: text or numbers to learn from, the label, the task.

Columns are matched by name, so that tables may have them in any order. What is wrong is told before all rows are read,
by the first rows of the first table: which columns hold free text, and which could be the label.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.datasets.table_files import TableFile
from taskorder.tables.input_files import printable, refusal
from taskorder.tables.separated import is_number

LOOKED_AT = 1000
"""Rows that columns are judged by."""
FREE_TEXT_WORDS = 2.5
"""Mean words a cell, from which a column of different texts holds free text."""
COLUMNS_SHOWN = 12
CLASSES, REGRESSION = "classes", "regression"
"""What a label is: the name of a class, or a number to predict."""


@dataclass(frozen=True)
class Wanted:
    """What a person says about columns."""

    text: tuple[str, ...] = ()
    """To learn from, one after another; without them all columns of numbers are features."""
    label: str | None = None
    """By default the column called label, else the last one that is nothing else."""
    task: str | None = None
    """The column that says which task a row belongs to."""
    target: str | None = None
    """What the label is: CLASSES or REGRESSION; by default what its values look like."""


@dataclass(frozen=True)
class Roles:
    """The names of columns by what they are for; in a table without names, their numbers from 1 on."""

    columns: tuple[str, ...]
    """All of them."""
    label: str
    task: str | None
    text: tuple[str, ...]
    features: tuple[str, ...]
    """Numbers to learn from; empty where there is text."""
    named: bool = True

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns that play no part."""
        used = {self.label, self.task, *self.text, *self.features}
        return tuple(column for column in self.columns if column not in used)


def roles_of(table: TableFile, wanted: Wanted) -> tuple[Roles, TableFile]:
    """The roles, if the first rows of the table agree with them; and the table with all its rows."""
    names = table.columns or tuple(str(number) for number in range(1, table.width + 1))
    for option, name in (("column", wanted.task), ("label", wanted.label), *(("text", name) for name in wanted.text)):
        if name is not None and name not in table.columns:
            raise BadArgument(
                f"`{option}` must be one of the columns {_few(table.columns) or '(none)'} of "
                f"{printable(table.path)}, got {name!r}.{did_you_mean(name, table.columns)}"
            )
    if table.width - (wanted.task is not None) < 2:
        got = "one column" if table.width else "none"
        fix = "Separate columns by commas." if table.width else "Write one row a line."
        raise refusal(table.path, "have rows of features and a label", got, fix)
    roles = _assigned(names, wanted, named=bool(table.columns))
    head = list(itertools.islice(table.rows, LOOKED_AT))
    if not head:
        raise refusal(table.path, "have rows of features and a label", "none", "Write one row a line.")
    _check_label(table, roles, wanted, head)
    if not roles.text:
        _check_numbers(table, roles, head)
    rows = itertools.chain(head, table.rows)
    return roles, TableFile(table.path, table.columns, table.width, rows, table.separator, table.unit)


def places(table: TableFile, roles: Roles, first: str) -> dict[str, int]:
    """Where the columns that are needed are in another table than `first`, which the roles are from."""
    if not roles.named or not table.columns:
        if roles.named or table.columns or len(roles.columns) != table.width:
            here = _few(table.columns) or f"{table.width} without names on the first line"
            there = _few(roles.columns) if roles.named else f"{len(roles.columns)} without names"
            raise refusal(table.path, f"have the columns of {first} ({there})", here, "Name them alike.")
        return _place_of(roles.columns)
    needed = [name for name in (*roles.text, *roles.features, roles.label, roles.task) if name is not None]
    place_of, known = _place_of(table.columns), set(roles.columns)
    missing = next((name for name in needed if name not in place_of), None)
    if missing is not None:
        fix = f"Rename it.{did_you_mean(missing, table.columns)}"
        raise refusal(table.path, f"have the column {missing!r} of {first}", _few(table.columns), fix)
    extra = next((name for name in table.columns if name not in known), None)
    if extra is not None and not roles.text:
        rule = f"have only the columns of {first} ({_few(roles.columns)})"
        raise refusal(table.path, rule, f"{extra!r} too", "Drop it, or add it to all.")
    return {name: place_of[name] for name in needed}


def _place_of(columns: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(columns)}


def _assigned(names: tuple[str, ...], wanted: Wanted, *, named: bool) -> Roles:
    open_names = [name for name in names if name not in (wanted.task, *wanted.text)]
    label = wanted.label or next((name for name in open_names if name.lower() == "label"), None)
    if label is None and not open_names:
        raise BadArgument(f"`label` must name the column of the labels, got none beside {_few(wanted.text)}.")
    label = label or open_names[-1]
    if label in (wanted.task, *wanted.text):
        raise BadArgument(f"`label` must be another column than those of text and tasks, got {label!r} for both.")
    features = () if wanted.text else tuple(name for name in open_names if name != label)
    return Roles(names, label, wanted.task, wanted.text, features, named)


def _check_label(table: TableFile, roles: Roles, wanted: Wanted, head: Sequence[tuple[int, list[Any]]]) -> None:
    """Refuse a label with another value on nearly every row: the number of a ticket, a date, a text."""
    label_place = roles.columns.index(roles.label)
    values = [str(cells[label_place]) for _, cells in head]
    numbers = all(is_number(value, table.separator) for value in set(values))
    different, most = len(set(values)), (len(head) // 10 if numbers else len(head) // 2)
    if wanted.target is not None or different <= max(20, most) or (numbers and has_fractions(values)):
        return
    few = [
        name
        for place, name in enumerate(roles.columns)
        if name not in (roles.label, roles.task, *roles.text)
        and 1 < len({cells[place] for _, cells in head}) <= max(20, len(head) // 20)
    ]
    got = f"{different} different values in {len(values)} rows of {roles.label!r}"
    fix = ["Name another column of labels with ", "label", f": {few[-1]}" if few else ""]
    if numbers:
        fix += [fix.pop() + ", or predict numbers with ", "target", f": {REGRESSION}"]
    raise _refused(table, "have labels that name classes", got, *fix[:-1], f"{fix[-1]}.")


def has_fractions(values: Iterable[str]) -> bool:
    """Whether numbers are more than counts and numbers of classes.

    >>> has_fractions(["1", "2.0"]), has_fractions(["1", "2,5"])
    (False, True)
    """
    return any(not float(value.replace(",", ".")).is_integer() for value in set(values))


def _check_numbers(table: TableFile, roles: Roles, head: Sequence[tuple[int, list[Any]]]) -> None:
    """Refuse features that are text, with what to do about them."""
    texts: list[tuple[str, int, str]] = []
    categories: list[tuple[str, int, str]] = []
    place_of = _place_of(roles.columns)
    for name in roles.features:
        place = place_of[name]
        cells = [(number, str(cells[place])) for number, cells in head if str(cells[place])]
        odd = next(((number, cell) for number, cell in cells if not is_number(cell, table.separator)), None)
        if odd is not None:
            words = sum(len(cell.split()) for _, cell in cells) / len(cells)
            kind = texts if words >= FREE_TEXT_WORDS and len({cell for _, cell in cells}) > 2 else categories
            kind.append((name, *odd))
    if not texts and not categories:
        return
    name, number, cell = (texts or categories)[0]
    short = cell if len(cell) <= 40 else f"{cell[:37]}..."
    got = f"{short!r} in {name!r} on {table.unit} {number}"
    if not roles.named:
        raise refusal(table.path, "have numbers beside the label", got, "Name the columns on the first line.")
    if texts:
        free = f": {', '.join(name for name, *_ in texts)}."
        raise _refused(table, "have numbers beside the label", got, "Learn from columns of text with ", "text", free)
    encode = "Encode it as numbers, or learn from it as text with "
    raise _refused(table, "have numbers beside the label", got, encode, "text", f": {name}.")


def _refused(table: TableFile, rule: str, got: str, *fix: str) -> BadArgument:
    """The error for a table whose fix names arguments: text and names in turn."""
    return BadArgument(f"`{printable(table.path)}` must {rule}, got {got}. {fix[0]}", *fix[1:])


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:COLUMNS_SHOWN]) + (", ..." if len(names) > COLUMNS_SHOWN else "")
