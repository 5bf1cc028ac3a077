"""What every chart needs: how numbers and names are written, scales with round ticks, and axes."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from taskorder.report.markup import Html, join, tag

FONT = 12.0
"""Size of the text in a chart, in the units of its width: a chart is drawn for the width that it is shown at."""


def number(value: float) -> str:
    r"""Four significant digits, with a true minus sign.

    >>> number(0.123456), number(12345.6), number(0.0), number(-2.0) == "\N{MINUS SIGN}2"
    ('0.1235', '12346', '0', True)
    """
    if value == 0 or abs(value) < 1e-12:
        return "0"
    text = f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(share: float) -> str:
    """A share as a percentage without needless digits.

    >>> percent(0.5), percent(0.0123), percent(0.00004)
    ('50 %', '1.2 %', '0.0 %')
    """
    value = 100 * share
    return f"{value:.0f} %" if 10 <= abs(value) <= 99 or value in (0, 100) else f"{value:.1f} %"


def text_width(text: str, size: float = FONT) -> float:
    """About how wide a text is: wide scripts and emoji take a full square, others somewhat more than half."""
    return size * sum(
        0.0 if unicodedata.combining(mark) else 1.1 if unicodedata.east_asian_width(mark) in "WF" else 0.57
        for mark in text
    )


def fitted(text: str, width: float, size: float = FONT) -> str:
    """`text`, cut with an ellipsis where it is wider than `width`.

    >>> fitted("wardrobe", 200), fitted("wardrobe", 40)
    ('wardrobe', 'wardr…')
    """
    if len(text) <= 2000 and text_width(text, size) <= width:
        return text
    kept = text[: int(width / (0.5 * size)) + 1]
    while kept and text_width(kept + "…", size) > width + 2:
        kept = kept[:-1]
    return kept + "…"


@dataclass(frozen=True)
class Scale:
    """From values to places on the paper; linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False
    """Ticks at whole numbers only."""

    def __call__(self, value: float) -> float:
        """The place of a value; what lies outside is moved to the edge."""
        a, b = self._at(self.low), self._at(self.high)
        share = (self._at(min(max(value, self.low), self.high)) - a) / (b - a) if b > a else 0.5
        return self.start + share * (self.end - self.start)

    def _at(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def ticks(self, count: int = 5) -> list[float]:
        """About `count` round values inside."""
        if self.log:
            return _log_ticks(self.low, self.high, count)
        if self.high <= self.low:
            return [self.low]
        raw = (self.high - self.low) / max(count, 1)
        raw = max(raw, 1.0) if self.whole else raw
        unit = 10.0 ** math.floor(math.log10(raw))
        sizes = (1, 2, 5, 10) if self.whole else (1, 2, 2.5, 5, 10)
        step = next(unit * size for size in sizes if unit * size >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def scale(values: Sequence[float], start: float, end: float, *, zero: bool = False, log: bool | None = None) -> Scale:
    """A scale that holds all `values`; logarithmic where they are positive and span more than a factor of 30.

    `zero` keeps zero on a linear scale.
    """
    low, high = min(values), max(values)
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # equal but for rounding
        low = high
    wide = low > 0 and high > 30 * low if log is None else log
    if wide:
        return Scale(low / 1.08, high * 1.08, start, end, log=True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.03 * (high - low) or 0.5 * abs(high) or 1.0
    return Scale(low - (0 if zero and low == 0 else room), high + (0 if zero and high == 0 else room), start, end)


def _log_ticks(low: float, high: float, count: int) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for marks in ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        found = [mark * 10.0**power for power in decades for mark in marks if low <= mark * 10.0**power <= high]
        if len(found) <= count + 2:
            return found
    return found[:: math.ceil(len(found) / count)]


def x_axis(across: Scale, top: float, bottom: float, title: str, count: int = 6) -> Html:
    """Vertical hair lines with their numbers below, and what they count."""
    parts = []
    for value in across.ticks(count):
        x = across(value)
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="hair"))
        parts.append(tag("text", number(value), x=x, y=bottom + 16, class_="tick middle"))
    middle = max((across.start + across.end) / 2, text_width(title) / 2)  # a long title does not leave the paper
    return join([*parts, tag("text", title, x=middle, y=bottom + 34, class_="title middle")])


def y_axis(up: Scale, left: float, right: float, title: str, count: int = 5) -> Html:
    """Horizontal hair lines with their numbers to the left, and what they measure, above."""
    parts = []
    for value in up.ticks(count):
        y = up(value)
        parts.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="hair"))
        parts.append(tag("text", number(value), x=left - 7, y=y + 4, class_="tick end"))
    return join([*parts, tag("text", title, x=0, y=up.end - 12, class_="title")])


def svg(width: float, height: float, label: str, *content: object) -> Html:
    """The whole chart; `label` is what a screen reader says."""
    box = f"0 0 {width:g} {height:g}"
    return tag("svg", *content, viewBox=box, width=width, height=height, role="img", aria_label=label)


def spread_out(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near `wanted`, at least `gap` apart, between `low` and `high` where there is room.

    >>> spread_out([10.0, 11.0, 50.0], 10.0, 0.0, 60.0)
    [10.0, 20.0, 50.0]
    """
    ranked = sorted(range(len(wanted)), key=lambda one: wanted[one])
    places = [0.0] * len(wanted)
    floor = low
    for one in ranked:
        places[one] = floor = max(wanted[one], floor)
        floor += gap
    ceiling = high
    for one in reversed(ranked):
        places[one] = ceiling = min(places[one], ceiling)
        ceiling -= gap
    return places
