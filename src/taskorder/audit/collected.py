"""The accuracies of a table of results, in columns: as objects they would take many times the memory of the file."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Bools, Floats, Ints

ROW_BYTES, TEXT_BYTES = 120, 120
"""Memory that a row takes here and in the results that are made of it, and what a new text takes with its number."""
Location = int | str
"""Where a row is from: its line in a file; for anything else words like "in set 0"."""
Settings = tuple[str, ...]
"""The cells of the columns that are no results."""
Key = tuple[str, str, str, str]
"""Method, order, seed and task."""


class CheckedRow(NamedTuple):
    """What is needed of a row once it has been checked."""

    key: Key
    location: Location
    accuracy: float
    signed: bool
    """Whether a percent sign came with it."""
    settings: Settings
    log_step: float = 0.0
    run: str = ""


class Collected:
    """Checked rows in the order in which they came."""

    def __init__(self) -> None:
        self.axes: tuple[dict[str, int], ...] = {}, {}, {}, {}
        """The different methods, orders, seeds and tasks, numbered as they come."""
        self.num_bytes = 0
        """About the memory that the rows take."""
        self._numbers = array("i"), array("i"), array("i"), array("i")
        self._accuracy, self._signed, self._log_step = array("d"), array("b"), array("d")
        self._others: tuple[dict[Any, int], ...] = {}, {}, {}
        """The different locations in words, settings and runs."""
        self._location, self._setting, self._run = array("q"), array("i"), array("i")

    def __len__(self) -> int:
        return len(self._accuracy)

    def __getitem__(self, row: int) -> CheckedRow:
        """A row as it was added."""
        key = tuple(_text(axis, numbers[row]) for axis, numbers in zip(self.axes, self._numbers, strict=True))
        _, settings, runs = self._others
        values = self._accuracy[row], bool(self._signed[row]), _text(settings, self._setting[row])
        return CheckedRow(key, self.location(row), *values, self._log_step[row], _text(runs, self._run[row]))

    def location(self, row: int) -> Location:
        """Where a row is from."""
        line = self._location[row]
        return line if line >= 0 else str(_text(self._others[0], -1 - line))

    def add(self, row: CheckedRow) -> None:
        """Keep a row."""
        places, settings, runs = self._others
        for numbers, axis, text in zip(self._numbers, self.axes, row.key, strict=True):
            numbers.append(self._number(axis, text))
        self._accuracy.append(row.accuracy)
        self._signed.append(row.signed)
        self._log_step.append(row.log_step)
        self._setting.append(self._number(settings, row.settings))
        self._run.append(self._number(runs, row.run))
        line = row.location
        self._location.append(line if isinstance(line, int) else -1 - self._number(places, line))
        self.num_bytes += ROW_BYTES

    def _number(self, known: dict[Any, int], value: str | Settings) -> int:
        """The number of a value; a new one takes memory."""
        number = known.get(value)
        if number is None:
            number = known[value] = len(known)
            for text in (value,) if isinstance(value, str) else value:
                self.num_bytes += TEXT_BYTES + len(text)
        return number

    def clash(self, has_log: bool) -> tuple[int, int] | None:
        """The first row that repeats the key of another one, after that one; of a log only one of another run."""
        order, same = self._by_key()
        if has_log:
            runs = np.array(self._run)[order]
            same &= runs[1:] != runs[:-1]
        if not same.any():
            return None
        number = int(order[1:][same].argmin())
        return int(order[:-1][same][number]), int(order[1:][same][number])

    def last_steps(self) -> Ints:
        """The row with the highest step of the log of each key, the last one where several have it."""
        order, same = self._by_key(np.array(self._log_step))
        return np.sort(order[np.append(~same, True)])

    def _by_key(self, *then: NDArray[Any]) -> tuple[Ints, Bools]:
        """The rows by their keys, rows of one key as they came; and whether each has the key of the next one."""
        columns = [np.array(numbers) for numbers in self._numbers]
        order = np.lexsort((*then, *columns))
        same = np.ones(len(order) - 1, dtype=np.bool_)
        for column in columns:
            sorted_column = column[order]
            same &= sorted_column[1:] == sorted_column[:-1]
        return order, same

    @property
    def numbers(self) -> tuple[Ints, ...]:
        """The numbers of method, order, seed and task of each row."""
        return tuple(np.array(numbers, dtype=np.int64) for numbers in self._numbers)

    @property
    def accuracies(self) -> Floats:
        """The accuracy of each row, as it was written."""
        return np.array(self._accuracy, dtype=np.float64)

    @property
    def signed(self) -> Bools:
        """Whether each row has a percent sign."""
        return np.array(self._signed, dtype=np.bool_)


def _text(known: dict[Any, int], number: int) -> Any:
    """What has a number."""
    return next(value for value, its in known.items() if its == number)
