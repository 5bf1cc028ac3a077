"""The numbers of a figure, apart from its drawing: written as JSON, read back unchanged, drawn by `plots`.

A figure is a row of panels. A panel holds series over one pair of axes (lines or points), or one map (a matrix of
numbers or of categories). The claims that a figure makes stand beside it as checks, each with its number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from taskorder.typed import typed

Verdict = Literal["reproduced", "not reproduced", "undecided", "not tested"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""Undecided: the interval reaches to both sides of what the claim asks for."""


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
    style: Literal["line", "points", "bars"] = "line"
    """line: a line with `low` to `high` as a band; bars: a line with error bars; points: marks only."""

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
class Check:
    """A claim with the number that decides it."""

    claim: str
    """What the source says, in our words."""
    source: str
    """Where it says so: "paper, Fig. 3e", or "ours" for a question of our own."""
    found: str
    """Our answer in a phrase, with its numbers."""
    value: float | None
    low: float | None
    high: float | None
    """The number and its 95 % interval; None where the number is exact or there is none."""
    verdict: Verdict

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"`verdict` must be one of {', '.join(VERDICTS)}, got {self.verdict!r}.")


@dataclass(frozen=True)
class FigureData:
    """Everything that a figure shows and claims."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    checks: tuple[Check, ...]
    config: Mapping[str, Any]
    """The settings that the numbers came from."""
    columns: int = 0
    """Panels in a row of the drawing; 0 puts all of them in one."""
    notes: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict)
    """Command, seconds, machine and versions."""

    def to_json(self) -> str:
        """JSON text; numbers keep seven significant digits, enough to draw and to check."""
        try:
            return json.dumps(_short(asdict(self)), allow_nan=False, separators=(",", ":")) + "\n"
        except ValueError:
            raise ValueError(f"`{self.name}` must have finite numbers, got others. Other settings may help.") from None

    @classmethod
    def from_json(cls, text: str) -> FigureData:
        """The figure that `to_json` wrote."""
        try:
            figure: FigureData = typed(cls, json.loads(text))
        except (ValueError, RecursionError) as problem:
            raise ValueError(f"`text` must be JSON written by FigureData.to_json, got {problem}.") from None
        return figure


def _short(value: Any) -> Any:
    """The same structure with every float rounded to seven significant digits."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, Mapping):
        return {key: _short(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_short(entry) for entry in value]
    return value
