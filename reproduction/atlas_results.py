"""What the runs of a cell of the atlas say: spread over orders, retention, and what predictions explain and earn.

The statistics are described in `reproduction/figures/atlas.py`. Accuracies are in percent, gains in points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from reproduction.atlas import AtlasCell
from reproduction.image_claims import Number
from reproduction.image_results import PAIRS, order_scores
from reproduction.law_results import FULL, RUN, Part, Report, Run, directions, scored
from reproduction.law_retention import known_of, step_moments
from taskorder.checks import Floats
from taskorder.ordering.candidates import PAIRWISE
from taskorder.runs.results import tables_of

LAST_PAIR, ALL_PAIRS = "last pair", "pairs"
RUN_ENDING = "another run, ending"
FEWEST = 2
"""Task sets that an interval takes."""


def over_sets(rows: Floats, statistic: Callable[[Floats], float] = np.mean) -> Number:
    """A statistic of (sets, ...) rows with its 95 % interval: Student's t with the error of the jackknife.

    For a mean it is the classical interval. It does not become too narrow with few task sets, as resampling does.

    >>> over_sets(np.array([1.0, 2.0, 3.0])).show()
    '2.00 [-0.48, 4.48]'
    """
    from scipy.special import stdtrit

    n, value = len(rows), float(statistic(rows))
    without = np.array([statistic(np.delete(rows, place, axis=0)) for place in range(n)])
    error = float(np.sqrt((n - 1) * without.var()))
    reach = float(stdtrit(n - 1, 0.975)) * error
    return Number(value, value - reach, value + reach)


def mean_root(variances: Floats) -> float:
    """The root of a mean variance; 0 where that is negative, as an estimate can be."""
    return float(np.sqrt(max(0.0, variances.mean())))


def slope(sums: Floats) -> float:
    """The retention that (sets, 2) sums of x' y and of x' x say, within [0, 1]."""
    top, bottom = sums.sum(axis=0)
    return float(np.clip(top / bottom, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class CellResult:
    """The task sets of a cell that are there, all of their seeds."""

    cell: AtlasCell
    part: Part

    @property
    def count(self) -> int:
        """Task sets."""
        return len(self.part.sets)

    @property
    def drawn(self) -> bool:
        """Whether there are enough for an interval."""
        return self.count >= FEWEST

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of the task sets."""
        return tuple(runs[0].truth.number for runs in self.part.sets)

    def at(self, numbers: Iterable[int]) -> list[int]:
        """The rows of these task sets."""
        return [self.numbers.index(number) for number in numbers]

    @cached_property
    def accuracy(self) -> Floats:
        """(sets,) mean over orders and seeds."""
        return np.array([np.mean([run.truth.mean for run in runs]) for runs in self.part.sets])

    @property
    def best(self) -> Floats:
        """(sets,) of the order that is best in another run."""
        return self.accuracy + self.report.gain(RUN)

    @cached_property
    def variances(self) -> Floats:
        """(sets,) over orders, mean of the seeds."""
        return np.array([np.mean([run.truth.accuracy.var() for run in runs]) for runs in self.part.sets])

    @cached_property
    def shared(self) -> Floats:
        """(sets,) covariance of two seeds over orders: the variance that is the order's."""
        return np.array([_covariance(*(run.truth for run in runs[:2])) for runs in self.part.sets])

    @cached_property
    def moments(self) -> Floats:
        """(sets, 2) the sums whose ratio is the retention."""
        by_set = [step_moments(runs, self.part.num_classes) for runs in self.part.sets]
        return np.array([np.sum(list(by_step.values()), axis=0) for by_step in by_set])

    @cached_property
    def retention(self) -> Number:
        """Over all steps."""
        return over_sets(self.moments, slope)

    @cached_property
    def report(self) -> Report:
        """Predictions from tables of all data, and from pairs, endings and the other run."""
        by_set = [
            [
                one._replace(scores={**one.scores, **_more_scores(predictor, run, self.part.num_classes)})
                for one, (predictor, run) in zip(each, directions(runs), strict=True)
            ]
            for each, runs in zip(scored(self.part, FULL, self._retentions), self.part.sets, strict=True)
        ]
        return Report(self.part, by_set)

    @cached_property
    def pilots(self) -> Mapping[str, Report]:
        """The same from each sample, by its name."""
        return {name: Report(self.part, scored(self.part, name, self._retentions)) for name in self.part.pilots}

    @property
    def _retentions(self) -> list[float]:
        """For each task set, that of the others."""
        return [slope(np.delete(self.moments, place, axis=0)) for place in range(self.count)]


def _covariance(left: Any, right: Any) -> float:
    other = np.array([right.at(tuple(order)) for order in left.orders.tolist()])
    return float(np.cov(left.accuracy, other, ddof=0)[0, 1])


def _more_scores(predictor: Run, run: Run, num_classes: int) -> dict[str, Floats]:
    """(n,) scores of all orders of a run from what another run saw; from pairs only where all were learned."""
    truth, seen = run.truth, predictor.truth
    found = {}
    ends = truth.orders[:, -2], truth.orders[:, -1]
    if seen.pairs is not None:
        found[ALL_PAIRS] = order_scores(replace(truth, pairs=seen.pairs), PAIRS)[PAIRWISE]
        rows, tables = tables_of(predictor.result)
        known = known_of(tables, num_classes).mean(axis=1)
        found[LAST_PAIR] = np.array([known[rows[pair]] for pair in zip(*(end.tolist() for end in ends), strict=True)])
    if predictor is not run and seen.whole:
        by_ending = {
            (i, k): seen.accuracy[(seen.orders[:, -2] == i) & (seen.orders[:, -1] == k)].mean()
            for i, k in {(int(i), int(k)) for i, k in zip(*ends, strict=True)}
        }
        found[RUN_ENDING] = np.array([by_ending[int(i), int(k)] for i, k in zip(*ends, strict=True)])
    return found
