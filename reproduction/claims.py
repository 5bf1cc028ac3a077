"""What a figure claims and shows: claims with their numbers, the rules that decide them, and the figure as JSON.

A claim is decided by its whole 95 % interval, or without one where the number is exact. The verdict "undecided" came
with a review, after the first results: until then an interval that reaches to both sides read "not reproduced". It
changed seven verdicts, none of them to "reproduced".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from taskorder.checks import Floats
from taskorder.parsing import json_values
from taskorder.plots.records import Drawing, Panel
from taskorder.typed import typed

Verdict = Literal["reproduced", "not reproduced", "undecided", "not tested"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""Undecided: the interval reaches to both sides of what the claim asks for."""
STORED = {"claims": "checks"}
"""Fields that have another name in the stored JSON."""


@dataclass(frozen=True)
class Claim:
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
    claims: tuple[Claim, ...]
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
            return json.dumps(_short(_renamed(asdict(self), STORED)), allow_nan=False, separators=(",", ":")) + "\n"
        except ValueError:
            raise ValueError(f"`{self.name}` must have finite numbers, got others. Other settings may help.") from None

    @classmethod
    def from_json(cls, text: str) -> FigureData:
        """The figure that `to_json` wrote."""
        try:
            values = json_values(text)
            if isinstance(values, dict):
                values = _renamed(values, {stored: name for name, stored in STORED.items()})
            figure: FigureData = typed(cls, values)
        except ValueError as problem:
            raise ValueError(f"`text` must be JSON written by FigureData.to_json, got {problem}.") from None
        return figure

    @property
    def drawing(self) -> Drawing:
        """The part that is drawn."""
        return Drawing(self.name, self.title, self.panels, self.columns)


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in values.items()}


def _short(value: Any) -> Any:
    """The same structure with every float rounded to seven significant digits."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, Mapping):
        return {key: _short(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_short(entry) for entry in value]
    return value


def verdict(holds: bool, fails: bool) -> Verdict:
    """The word for a claim that is shown to hold, or shown to fail, or neither."""
    return "reproduced" if holds else "not reproduced" if fails else "undecided"


def inside(ends: Sequence[float] | Floats, *, above: float = -math.inf, below: float = math.inf) -> Verdict:
    """Whether the number with this interval (the last two of `ends`) lies above and below the bounds.

    >>> inside((0.2, 0.4), below=1), inside((0.2, 1.4), below=1), inside((1.2, 1.4), below=1)
    ('reproduced', 'undecided', 'not reproduced')
    """
    low, high = (float(end) for end in ends[-2:])
    return verdict(above < low and high < below, high <= above or below <= low)


def together(parts: Iterable[Verdict]) -> Verdict:
    """A claim whose parts must all hold: it fails with any of them; a part that is not tested leaves it open.

    >>> together(["reproduced", "undecided"]), together(["undecided", "not reproduced"])
    ('undecided', 'not reproduced')
    """
    verdicts = set(parts)
    return verdict(verdicts == {"reproduced"}, "not reproduced" in verdicts)


def exact_claim(claim: str, source: str, found: str, value: float | None, holds: bool) -> Claim:
    """A claim without an interval: reproduced when `holds`, and not otherwise."""
    return Claim(claim, source, found, value, None, None, verdict(holds, not holds))
