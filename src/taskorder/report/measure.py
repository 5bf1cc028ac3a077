"""What the value of an order is called on a page, which way is better, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass

from taskorder.report.text import number, percent


@dataclass(frozen=True)
class Measure:
    """The words of an objective."""

    noun: str
    """knowledge or error."""
    total: str
    """Of all tasks together."""
    axis: str
    """The same beside an axis."""
    better: int
    """1 where more is better, -1 where less is."""

    def said(self, value: float) -> str:
        """A value in a sentence: knowledge in percent, an error as a number."""
        return percent(value) if self.better > 0 else number(value)

    def is_better(self, value: float, other: float) -> bool:
        """Whether `value` is better than `other`, past rounding."""
        return self.better * (value - other) > 1e-6 * abs(other) + 1e-12

    def against(self, value: float, mean: float) -> str:
        """How a value compares with the mean of random orders.

        >>> KNOWLEDGE.against(0.58, 0.49), KNOWLEDGE.against(0.4, 0.4)
        ('9.0 points more than after a random order (49 %)', 'the same as after a random order')
        >>> ERROR.against(0.5, 1.0), ERROR.against(8.0, 2.0)
        ('50 % less than after a random order (1)', '4 times that after a random order (2)')
        """
        most = 1.0 if self.better > 0 else mean
        if most <= 0 or abs(value - mean) < 0.0005 * most:
            return "the same as after a random order"
        more = "more" if value > mean else "less"
        if self.better > 0:
            size = f"{100 * abs(value - mean):.1f} points {more} than"
        else:
            size = (
                f"{number(value / mean)} times that"
                if value > 2 * mean
                else f"{percent(abs(value - mean) / mean)} {more} than"
            )
        return f"{size} after a random order ({self.said(mean)})"


KNOWLEDGE = Measure("knowledge", "mean knowledge of all tasks", "knowledge (0 is chance, 1 is perfect)", 1)
ERROR = Measure("error", "error of all tasks together", "error (0 is perfect)", -1)


def measure_of(objective: str) -> Measure:
    """The words of a plan's or a comparison's objective."""
    return KNOWLEDGE if objective == "score" else ERROR
