"""Figure 6: figures 3e and 3g without normalization (a, b), and how often a rule beats its opposite (c, d).

What the paper means by "dominates" and "robustly" we had to choose, after figures 3e and 3g had been seen. Dominates:
of the variance of the error over matrices and random orders, the part between bins of m is larger than the part between
the orders of one matrix (the rest is between matrices of one bin). Robustly: in more than half of the bins the interval
of the difference excludes 0; not so when in half of them it is narrow and includes 0.

Figures 6c and 6d have three, five and seven tasks; the runs with seven are those of figures 3e and 3g, and large m is
what it is there. Sizes are compared bin by bin, because m spreads less with more tasks: the difference of the two
shares, averaged over the bins from m = 0 on that have enough matrices at both sizes. About the number of tasks the
paper claims nothing for the paths (for images it sees no growth, since the difference is large at three tasks already):
that question is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from reproduction import Figure
from reproduction.claims import Claim, FigureData, inside
from reproduction.errors_in_bins import (
    M_AXIS,
    Errors,
    Sets,
    by_size,
    counts,
    order_matters,
    pair_figure,
    same_verdicts,
    series,
    untested,
)
from reproduction.random_matrices import BATCH, QUICK, QUICK_SIZES, Config, ManySizes, run_batch, specs
from taskorder.checks import Floats
from taskorder.plots.records import Panel, Series
from taskorder.stats import bootstrap_interval, share_interval

TYPICALITY = ("periphery-to-core", "core-to-periphery")
PATHS = ("max-path", "min-path")
POSITIVE = " on matrices with entries in [0, 1]"
SMALL = 0.2
"""Below it our question about small m in figure 6d is asked."""
TIE = 1e-12
DRAWS = 20_000

BySize = Mapping[int, Errors]


def typicality_errors(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Figure 6a: errors of both typicality orders and of random ones, in bins of m."""

    def claims(errors: Errors) -> list[Claim]:
        source = "paper, Fig. 6a"
        return [_dominates(errors, source), order_matters(errors, source, *TYPICALITY)]

    def own(sets: Sets) -> list[Claim]:
        positive = sets["positive"]
        return [_dominates(positive, "ours", POSITIVE), order_matters(positive, "ours", *TYPICALITY, POSITIVE)]

    title = "The error itself: average correlation and typicality orders"
    return pair_figure("fig6a", title, TYPICALITY, config, results, claims=claims, own=own, relative=False)


def _dominates(errors: Errors, source: str, where: str = "") -> Claim:
    """The variance between bins over the variance between orders; its interval lies above 1."""
    claim = f"The average correlation dominates the error, more than the order{where}"
    if not errors.enough:
        return untested(claim, source, errors)
    places = np.floor(errors.m / errors.bin_width)
    table = np.column_stack([places, errors.of["random"], errors.of["random_sd"]])
    between, within, order = (float(part[0]) for part in variance_parts(table[None]))
    low, high = bootstrap_interval(table, _between_over_order)
    shares = [100 * part / (between + within + order) for part in (between, within, order)]
    text = (
        "of the variance {:.1f} % is between bins of m, {:.1f} % between matrices of a bin, {:.1f} % between orders; "
        "first over last: {:.3f} [{:.3f}, {:.3f}]"
    ).format(*shares, between / order, low, high)
    return Claim(claim, source, text, between / order, low, high, inside((low, high), above=1))


def variance_parts(table: Floats) -> tuple[Floats, Floats, Floats]:
    """Variance between bins, between matrices of a bin, between orders; axis 1: matrices, axis 2: (bin, mean, sd)."""
    place, mean, sd = np.moveaxis(table, -1, 0)
    center = mean.mean(axis=1, keepdims=True)
    between = np.zeros(len(table))
    for k in np.unique(place):
        inside = place == k
        count = inside.sum(axis=1)
        offset = ((mean - center) * inside).sum(axis=1)
        between += offset**2 / np.maximum(count, 1) / mean.shape[1]
    return between, mean.var(axis=1) - between, (sd**2).mean(axis=1)


def _between_over_order(table: Floats) -> Floats:
    between, _, order = variance_parts(table)
    return np.asarray(between / order)


def path_errors(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Figure 6b: errors of both paths and of random orders, in bins of m."""

    def claims(errors: Errors) -> list[Claim]:
        return [order_matters(errors, "paper, Fig. 6b", *PATHS)]

    def own(sets: Sets) -> list[Claim]:
        return [order_matters(sets["positive"], "ours", *PATHS, POSITIVE)]

    title = "The error itself: average correlation and path orders"
    return pair_figure("fig6b", title, PATHS, config, results, claims=claims, own=own, relative=False)


def typicality_wins(config: ManySizes, results: Sequence[dict[str, Any]]) -> FigureData:
    """Figure 6c: share of matrices on which periphery-to-core has less error than core-to-periphery."""
    source, large_m = "paper, Fig. 6c", config.large_m

    def claims(sizes: BySize) -> list[Claim]:
        where = f"mostly has less error than {TYPICALITY[1]} for large m (m >= {large_m:g})"
        return [
            grows("", source, sizes, *TYPICALITY),
            *(
                mostly(f"{TYPICALITY[0]} {where}; {P} tasks", source, errors.where(large_m), *TYPICALITY)
                for P, errors in sizes.items()
            ),
        ]

    title = "How often learning from the periphery to the core beats the opposite"
    return _shares_figure("fig6c", title, TYPICALITY, config, results, claims=claims, own=partial(_more, TYPICALITY))


def path_wins(config: ManySizes, results: Sequence[dict[str, Any]]) -> FigureData:
    """Figure 6d: share of matrices on which max-path has less error than min-path."""
    words = f"{PATHS[0]} mostly has less error than {PATHS[1]}"

    def claims(sizes: BySize) -> list[Claim]:
        source = "paper, Fig. 6d"
        return [mostly(f"{words}; {P} tasks, m >= 0", source, errors.where(0), *PATHS) for P, errors in sizes.items()]

    def own(sets: Mapping[str, BySize]) -> list[Claim]:
        small = [
            mostly(f"{words}; {P} tasks, 0 <= m < {SMALL}", "ours", errors.where(0, SMALL), *PATHS)
            for P, errors in sets["paper"].items()
        ]
        return [*small, grows("", "ours", sets["paper"], *PATHS), *_more(PATHS, sets)]

    title = "How often the longest path beats the shortest"
    return _shares_figure("fig6d", title, PATHS, config, results, claims=claims, own=own)


def _more(pair: tuple[str, str], sets: Mapping[str, BySize]) -> list[Claim]:
    """The growth again on our own matrices."""
    return [
        grows(", with our additional matrices of large m", "ours", sets["topped"], *pair, drawn_evenly=False),
        grows(", on matrices with entries in [0, 1]", "ours", sets["positive"], *pair),
    ]


def wins(errors: Errors, better: str, worse: str) -> float:
    """On how many matrices `better` has less error; a tie counts half."""
    a, b = errors.of[better], errors.of[worse]
    tie = TIE * b
    return float((a < b - tie).sum() + (np.abs(a - b) <= tie).sum() / 2)


def share(errors: Errors, better: str, worse: str) -> tuple[float, float, float]:
    """The share of matrices on which `better` has less error, and its 95 % interval."""
    won, trials = wins(errors, better, worse), len(errors.m)
    return won / trials, *share_interval(won, trials)


def mostly(claim: str, source: str, errors: Errors, better: str, worse: str) -> Claim:
    """`better` wins on more than half of the matrices, the interval included."""
    if not errors.enough:
        return untested(claim, source, errors)
    value, low, high = share(errors, better, worse)
    text = f"{better} wins on {100 * value:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {len(errors.m)} matrices"
    return Claim(claim, source, text, value, low, high, inside((low, high), above=0.5))


def grows(where: str, source: str, sizes: BySize, better: str, worse: str, *, drawn_evenly: bool = True) -> Claim:
    """The share of wins is larger with the most tasks than with the fewest, the interval of the difference included.

    Sets in which we drew large m more often (not `drawn_evenly`) tell nothing about all m together.
    """
    claim = f"The advantage of {better} over {worse} grows with the number of tasks{where}"
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
    text = (
        f"share of wins with {many} tasks minus {few} tasks, mean over {len(common)} bins from m = "
        f"{sizes[few].edge(common[0]):g} to {sizes[few].edge(common[-1] + 1):g}: {value:.3f} [{low:.3f}, {high:.3f}]"
    )
    if drawn_evenly:
        pooled = (_pooled(P, errors, better, worse) for P, errors in sorted(sizes.items()))
        text += f"; all m >= 0: {', '.join(pooled)}"
    return Claim(claim, source, text, value, low, high, inside((low, high), above=0))


def _pooled(P: int, errors: Errors, better: str, worse: str) -> str:
    part = errors.where(0)
    if not part.enough:
        return f"P = {P} too few"
    value, low, high = share(part, better, worse)
    return f"P = {P} {value:.3f} [{low:.3f}, {high:.3f}]"


def _shares_figure(
    name: str,
    title: str,
    pair: tuple[str, str],
    config: ManySizes,
    results: Sequence[dict[str, Any]],
    *,
    claims: Callable[[BySize], list[Claim]],
    own: Callable[[Mapping[str, BySize]], list[Claim]],
) -> FigureData:
    """Share of wins against m for each number of tasks: on the paper's matrices, and on those with entries in [0, 1].

    `claims` are put to the paper's matrices, simulated and in the closed form; `own` gets all sets.
    """
    simulated, closed = (by_size(config, results, method) for method in ("simulated", "closed"))
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
        claims=(
            *first,
            *own({name: _of(simulated, name) for name in ("paper", "topped", "positive")}),
            same_verdicts("The closed form decides the paper's claims alike", first, again),
        ),
        config=asdict(config),
        notes=tuple(f"{P} tasks, {note}" for P, sets in simulated.items() for note in counts(sets)),
    )


def _of(sizes: Mapping[int, Sets], name: str) -> dict[int, Errors]:
    return {P: sets[name] for P, sets in sizes.items()}


FIGURES = (
    Figure("fig6a", Config(), QUICK, specs, run_batch, typicality_errors, BATCH),
    Figure("fig6b", Config(), QUICK, specs, run_batch, path_errors, BATCH),
    Figure("fig6c", ManySizes(), QUICK_SIZES, specs, run_batch, typicality_wins, BATCH),
    Figure("fig6d", ManySizes(), QUICK_SIZES, specs, run_batch, path_wins, BATCH),
)
