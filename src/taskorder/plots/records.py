"""What a picture shows, apart from how it is drawn.

A picture is a grid of panels. A panel holds series over one pair of axes (lines or points), or one map (a matrix of
numbers or of categories).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Series:
    """Points of one kind over the axes of a panel, with an interval where there is one."""

    label: str
    """What the legend says; empty for a series that the legend leaves out."""
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    """None leaves a gap in the line."""
    low: tuple[float | None, ...] | None = None
    high: tuple[float | None, ...] | None = None
    role: str = ""
    """Decides the color, the same in every figure: a rule's name, "random", "background" (thin and gray), "best",
    "worst", "reference" (dashed), or empty for the next free color."""
    style: Literal["line", "points", "bars", "intervals"] = "line"
    """line: a line with `low` to `high` as a band; bars: a line with error bars; points: marks only, with faint error
    bars; intervals: few marks with plain error bars."""

    def __post_init__(self) -> None:
        for name in ("y", "low", "high"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.x):
                raise ValueError(f"`{name}` must be as long as `x` ({len(self.x)}), got {len(values)}.")


@dataclass(frozen=True)
class Heatmap:
    """A matrix drawn as colored cells, rows from top to bottom."""

    values: tuple[tuple[float | None, ...], ...]
    """None is drawn white. For categories: positions in `categories`."""
    x: tuple[float, ...]
    """Centers of the columns."""
    y: tuple[float, ...]
    """Centers of the rows; drawn upward when they increase and `upward` is true."""
    upward: bool = True
    categories: tuple[str, ...] = ()
    diverging: bool = False
    """True for numbers around zero: two hues that meet in white at zero."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...] = ()
    heatmap: Heatmap | None = None
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    steps: tuple[str, ...] = ()
    """Names along the x axis, one for each unit interval from 0 (the tasks of a learning curve); usually none."""


@dataclass(frozen=True)
class Drawing:
    """Everything that a picture shows."""

    name: str
    """Names the files that the picture is saved to."""
    title: str
    panels: tuple[Panel, ...]
    columns: int = 0
    """Panels in a row; 0 chooses it by their number."""
    width: float = 0.0
    """Inches of a panel; 0 chooses it by the number of columns."""
