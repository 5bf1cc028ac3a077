"""Whether the closed form captures a simulation: what figure 2b and the early-stopping experiment ask."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reproduction._claims import inside, together
from reproduction._fit import correlation, slope
from taskorder.checks import Floats
from taskorder.plots.figuredata import Check
from taskorder.stats import bootstrap_interval


def captured(claim: str, source: str, pairs: Floats, counted: str) -> Check:
    """Correlation above 0.95, slope within 10 % of 1 and median relative deviation below 10 %, intervals included.

    `pairs` (n, k, 2) are closed form and simulation; intervals are over the n independent ones. Large errors decide
    correlation and slope, so the deviation is told for the tenth of smallest closed-form errors, too. Its threshold was
    added when correlation and slope had been seen, and before any deviation had.
    """

    def over(statistic: Callable[[Floats], Floats]) -> tuple[float, float, float]:
        def flat(x: Floats) -> Floats:
            return np.asarray(statistic(x.reshape(len(x), -1, 2)))

        return (float(flat(pairs[None])[0]), *bootstrap_interval(pairs, flat))

    r, b, off, small = over(correlation), over(slope), over(median_deviation), over(_smallest_deviation)
    return Check(
        claim=claim,
        source=source,
        found=f"correlation {r[0]:.4f} [{r[1]:.4f}, {r[2]:.4f}], slope of simulated against closed form "
        f"{b[0]:.3f} [{b[1]:.3f}, {b[2]:.3f}], median relative deviation {_percent(off)}, "
        f"{_percent(small)} for the tenth of smallest errors; {counted}",
        value=b[0],
        low=b[1],
        high=b[2],
        verdict=together([inside(r, above=0.95), inside(b, above=0.9, below=1.1), inside(off, below=0.1)]),
    )


def median_deviation(pairs: Floats) -> Floats:
    """(...) median of |simulated / closed form - 1| over (..., n, 2) pairs.

    >>> float(median_deviation(np.array([[1.0, 1.1], [2.0, 1.0], [4.0, 4.0]]))).__round__(3)
    0.1
    """
    return np.asarray(np.median(np.abs(pairs[..., 1] / pairs[..., 0] - 1), axis=-1))


def _smallest_deviation(pairs: Floats) -> Floats:
    """The same over the tenth of pairs with the smallest closed form; at least one."""
    count = max(1, pairs.shape[-2] // 10)
    chosen = np.argpartition(pairs[..., 0], count - 1, axis=-1)[..., :count]
    return median_deviation(np.take_along_axis(pairs, chosen[..., None], axis=-2))


def _percent(one: tuple[float, float, float]) -> str:
    return f"{one[0]:.1%} [{one[1]:.1%}, {one[2]:.1%}]"
