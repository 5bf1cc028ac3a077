"""What figures 6c and 6d share: how often one order has less error than its opposite, for three, five and seven tasks.

Sizes are compared bin by bin, because m spreads less with more tasks: the difference of the two shares, averaged over
the bins from m = 0 on that have enough matrices at both sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from reproduction._claims import inside
from reproduction._rules_in_bins import M_AXIS, Errors, Sets, by_size, counts, same_verdicts, series, untested
from reproduction._rules_on_random import ManySizes
from taskorder.plots.figuredata import Check, FigureData, Panel, Series
from taskorder.stats import share_interval

TIE = 1e-12
DRAWS = 20_000

BySize = Mapping[int, Errors]


def wins(errors: Errors, better: str, worse: str) -> float:
    """On how many matrices `better` has less error; a tie counts half."""
    a, b = errors.of[better], errors.of[worse]
    tie = TIE * b
    return float((a < b - tie).sum() + (np.abs(a - b) <= tie).sum() / 2)


def share(errors: Errors, better: str, worse: str) -> tuple[float, float, float]:
    """The share of matrices on which `better` has less error, and its 95 % interval."""
    won, trials = wins(errors, better, worse), len(errors.m)
    return won / trials, *share_interval(won, trials)


def mostly(claim: str, source: str, errors: Errors, better: str, worse: str) -> Check:
    """`better` wins on more than half of the matrices, the interval included."""
    if not errors.enough:
        return untested(claim, source, errors)
    value, low, high = share(errors, better, worse)
    found = f"{better} wins on {100 * value:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {len(errors.m)} matrices"
    return Check(claim, source, found, value, low, high, inside((low, high), above=0.5))


def grows(claim: str, source: str, sizes: BySize, better: str, worse: str, *, drawn_evenly: bool = True) -> Check:
    """The share of wins is larger with the most tasks than with the fewest, the interval of the difference included.

    Sets in which we drew large m more often (not `drawn_evenly`) tell nothing about all m together.
    """
    few, many = min(sizes), max(sizes)
    bins = {P: {k: part for k, part in errors.bins().items() if k >= 0} for P, errors in sizes.items()}
    common = [k for k in bins[few] if k in bins[many]]
    if not common or few == many:
        return untested(claim, source, sizes[many])
    rng = np.random.default_rng(0)
    value, spread = 0.0, np.zeros(DRAWS)
    for k in common:
        for P, sign in ((many, 1), (few, -1)):
            won, trials = wins(bins[P][k], better, worse), len(bins[P][k].m)
            value += sign * won / trials / len(common)
            spread += sign * rng.beta(won + 0.5, trials - won + 0.5, DRAWS) / len(common)
    low, high = (float(end) for end in np.quantile(spread, [0.025, 0.975]))
    found = (
        f"share of wins with {many} tasks minus {few} tasks, mean over {len(common)} bins from m = "
        f"{sizes[few].edge(common[0]):g} to {sizes[few].edge(common[-1] + 1):g}: {value:.3f} [{low:.3f}, {high:.3f}]"
    )
    if drawn_evenly:
        pooled = (_pooled(P, errors, better, worse) for P, errors in sorted(sizes.items()))
        found += f"; all m >= 0: {', '.join(pooled)}"
    return Check(claim, source, found, value, low, high, inside((low, high), above=0))


def _pooled(P: int, errors: Errors, better: str, worse: str) -> str:
    part = errors.where(0)
    if not part.enough:
        return f"P = {P} too few"
    value, low, high = share(part, better, worse)
    return f"P = {P} {value:.3f} [{low:.3f}, {high:.3f}]"


def shares_figure(
    name: str,
    title: str,
    pair: tuple[str, str],
    config: ManySizes,
    results: Sequence[dict[str, Any]],
    *,
    claims: Callable[[BySize], list[Check]],
    own: Callable[[Mapping[str, BySize]], list[Check]],
) -> FigureData:
    """Share of wins against m for each number of tasks: on the paper's matrices, and on those with entries in [0, 1].

    `claims` are put to the paper's matrices, simulated and in the closed form; `own` gets all sets.
    """
    simulated, closed = (by_size(config, results, way) for way in ("simulated", "closed"))
    first, again = (claims(_of(sizes, "paper")) for sizes in (simulated, closed))
    better, worse = pair
    panels = []
    for kind, heading in (("topped", "entries in [-1, 1]"), ("positive", "entries in [0, 1], ours")):
        sizes = _of(simulated, kind)
        lines = [
            series(errors, partial(share, better=better, worse=worse), f"{P} tasks", style="line")
            for P, errors in sizes.items()
        ]
        ends = [m for line in lines for m in line.x] or [0.0]
        lines.append(Series("half", (min(ends), max(ends)), (0.5, 0.5), role="reference"))
        panels.append(Panel(heading, M_AXIS, f"share of matrices where {better} wins", tuple(lines)))
    return FigureData(
        name=name,
        title=title,
        panels=tuple(panels),
        checks=(
            *first,
            *own({name: _of(simulated, name) for name in ("paper", "topped", "positive")}),
            same_verdicts("The closed form decides the paper's claims alike", first, again),
        ),
        config=asdict(config),
        notes=tuple(f"{P} tasks, {note}" for P, sets in simulated.items() for note in counts(sets)),
    )


def _of(sizes: Mapping[int, Sets], name: str) -> dict[int, Errors]:
    return {P: sets[name] for P, sets in sizes.items()}
