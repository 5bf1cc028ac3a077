"""How much a pilot may cost: fits, time, examples, or a share of one real run; and how much it has cost."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from taskorder.arguments import BadArgument
from taskorder.checks import positive_count
from taskorder.learners.orders import FitReport

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class Budget(NamedTuple):
    """At most so many fits, or about so many seconds; or a race on so many examples; none has no limit."""

    fits: int | None = None
    seconds: float | None = None
    runs: float | None = None
    """Examples to learn from, as a share of all examples of all tasks."""
    examples: float | None = None
    """Examples to learn from."""

    @property
    def races(self) -> bool:
        """Whether it is counted in examples, so that samples may grow."""
        return self.runs is not None or self.examples is not None


def budget_of(value: int | str | Budget | None) -> Budget:
    """The budget that a number of fits, or a text with a number and a unit, stands for.

    >>> budget_of(200).fits, budget_of("1.5 min").seconds, budget_of("0.25 runs").runs, budget_of("5000 examples")[3]
    (200, 90.0, 0.25, 5000.0)
    """
    if value is None or isinstance(value, Budget):
        return value or Budget()
    if not isinstance(value, str):
        return Budget(fits=positive_count(value, "budget"))
    parts = re.fullmatch(r"\s*([0-9.]+)\s*(s|min|h|runs?|examples?|)\s*", value)
    try:
        number = float(parts[1]) if parts else math.nan
    except ValueError:
        number = math.nan
    if parts is None or not 0 < number < math.inf or (not parts[2] and not number.is_integer()):
        raise BadArgument(
            "`budget` must be a number of fits like 200, a time like 30s, 5min or 1h, a share of one training run like "
            f"'0.25 runs', or examples like '5000 examples', got {value!r}."
        )
    unit = parts[2].rstrip("s") or parts[2]
    if unit == "run":
        return Budget(runs=number)
    if unit == "example":
        return Budget(examples=number)
    return Budget(seconds=number * UNITS[parts[2]]) if parts[2] else Budget(fits=int(number))


class Meter:
    """Counts fits over several calls of `learn_orders`, and how long they take.

    A fit that a store has finished counts as well: whether a run was interrupted must not change what it decides.
    """

    def __init__(self, report: FitReport | None) -> None:
        self.spent = 0
        self._report = report
        self._start = time.perf_counter()
        self._pace = math.inf

    @property
    def passed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @contextmanager
    def call(self, fits: int) -> Iterator[None]:
        """Around a call that takes so many fits."""
        clock = time.perf_counter()
        yield
        self._pace = fits / max(time.perf_counter() - clock, 1e-9)
        self.spent += fits

    def report(self, done: int, total: int) -> None:
        """One more fit."""
        if self._report is not None:
            self._report(self.spent + done, self.spent + total)

    def fits_in(self, seconds: float) -> int:
        """How many fits this time is enough for, at the pace of the last call."""
        return int(max(seconds, 0.0) * self._pace)
