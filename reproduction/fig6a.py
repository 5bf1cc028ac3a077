"""Figure 6a: figure 3e without normalization; the same runs.

What the paper means by "dominates" and "robustly" we had to choose, after figures 3e and 3g had been seen. Dominates:
of the variance of the error over matrices and random orders, the part between bins of m is larger than the part between
the orders of one matrix (the rest is between matrices of one bin). Robustly: in more than half of the bins the interval
of the difference excludes 0; not so when in half of them it is narrow and includes 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduction._claims import inside
from reproduction._rule_pairs import pair_figure
from reproduction._rules_in_bins import Errors, Sets, order_matters, untested
from reproduction._rules_on_random import BATCH, QUICK, Config, run_batch, specs
from taskorder.checks import Floats
from taskorder.plots.figuredata import Check, FigureData
from taskorder.stats import bootstrap_interval

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

PAIR = ("periphery-to-core", "core-to-periphery")
SOURCE = "paper, Fig. 6a"


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Errors of both orders and of random ones, in bins of m."""
    title = "The error itself: average correlation and typicality orders"
    return pair_figure("fig6a", title, PAIR, config, results, claims=_claims, own=_own, relative=False)


def _claims(errors: Errors) -> list[Check]:
    return [_dominates(errors, SOURCE), order_matters(errors, SOURCE, *PAIR)]


def _own(sets: Sets) -> list[Check]:
    where = " on matrices with entries in [0, 1]"
    return [_dominates(sets["positive"], "ours", where), order_matters(sets["positive"], "ours", *PAIR, where)]


def _dominates(errors: Errors, source: str, where: str = "") -> Check:
    """The variance between bins over the variance between orders; its interval lies above 1."""
    claim = f"The average correlation dominates the error, more than the order{where}"
    if not errors.enough:
        return untested(claim, source, errors)
    places = np.floor(errors.m / errors.bin_width)
    table = np.column_stack([places, errors.of["random"], errors.of["random_sd"]])
    between, within, order = (float(part[0]) for part in variance_parts(table[None]))
    low, high = bootstrap_interval(table, _between_over_order)
    shares = [100 * part / (between + within + order) for part in (between, within, order)]
    found = (
        "of the variance {:.1f} % is between bins of m, {:.1f} % between matrices of a bin, {:.1f} % between orders; "
        "first over last: {:.3f} [{:.3f}, {:.3f}]"
    ).format(*shares, between / order, low, high)
    return Check(claim, source, found, between / order, low, high, inside((low, high), above=1))


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
