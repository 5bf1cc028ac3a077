"""How a check decides: by the whole 95 % interval, or without one where the number is exact.

The verdict "undecided" came with a review, after the first results: until then an interval that reaches to both sides
read "not reproduced". It changed seven verdicts, none of them to "reproduced".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from taskorder.checks import Floats
from taskorder.plots.figuredata import Check, Verdict


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
    found = set(parts)
    return verdict(found == {"reproduced"}, "not reproduced" in found)


def exact_check(claim: str, source: str, found: str, value: float | None, holds: bool) -> Check:
    """A check without an interval: reproduced when `holds`, and not otherwise."""
    return Check(claim, source, found, value, None, None, verdict(holds, not holds))
