"""Try a learner on a pilot, or on the growing samples of a race, and put what is found into the law's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, counted
from taskorder.constraints import Constraints
from taskorder.learners.orders import FitReport
from taskorder.learners.protocol import Learner
from taskorder.planning.budget import Budget
from taskorder.planning.estimate import TransferLosses
from taskorder.planning.fitted_law import CARRIED, FittedLaw, Pilot, fitted_law
from taskorder.planning.measurements import Measurements
from taskorder.planning.measuring import SeedScores, guessing, measure_pilot
from taskorder.planning.pilot import pilot_sample, sample_notes
from taskorder.planning.racing import race
from taskorder.planning.retention import Kept, kept
from taskorder.runs.store import Store
from taskorder.task import Task
from taskorder.theory.law import PLAIN_RETENTION


class Tried(NamedTuple):
    """What a pilot or a race has found."""

    pilot: Pilot
    kept: Kept
    transfer: TransferLosses
    sample: tuple[Task, ...]
    cost: float | None
    """As a share of training once on all examples; None where tasks have no data."""
    notes: tuple[str, ...]


def tried(
    tasks: tuple[Task, ...],
    learner: Learner,
    size: float,
    seeds: tuple[int, ...],
    budget: Budget,
    constraints: Constraints,
    *,
    retention: ArrayLike | Mapping[str, float] | None = None,
    seed: int = 0,
    store: Store | None = None,
    report: FitReport | None = None,
) -> Tried:
    """Learn every task alone, and pairs, within the budget: on samples of one size, or in a race.

    size: of the pilot sample. seed: of the sample.
    """
    if budget.races:
        return _raced(tasks, learner, budget, constraints, retention, seed, store, report)
    has_data = tasks[0].has_data
    sample = pilot_sample(tasks, size, seed, keep_eval=False) if has_data else tasks
    found = measure_pilot(sample, learner, seeds, budget, store=store, report=report)
    measured = Measurements.from_scores(found.scores, guessing(sample))
    sizes = _sizes(tasks) if has_data else None
    sample_sizes = _sizes(sample) if has_data else None
    keeps = kept(measured, sizes, sample_sizes, retention, constraints.names, seed=seed)
    whole = sizes is None or np.array_equal(sizes, _sizes(sample))
    pilot = Pilot(
        measured,
        keeps.real,
        keeps.on_sample,
        1.0 if whole else CARRIED,
        constraints.learned,
        weights=constraints.weights,
    )
    cost = None if sizes is None else found.examples / float(sizes.sum())
    num_pairs = len(measured.sequences) - len(tasks)
    seeds_used = counted(len(found.seeds), "seed")
    words = f"learned every task alone and {counted(num_pairs, 'pair')} with {seeds_used} in {found.fits} fits"
    transfer = TransferLosses.from_scores(constraints.names, found.scores, found.seeds)
    taken = sample_notes(tasks, sample, size) if has_data else ()
    return Tried(pilot, keeps, transfer, tuple(sample), cost, (*taken, _with_cost(words, cost)))


def _raced(
    tasks: tuple[Task, ...],
    learner: Learner,
    budget: Budget,
    constraints: Constraints,
    retention: ArrayLike | Mapping[str, float] | None,
    seed: int,
    store: Store | None,
    report: FitReport | None,
) -> Tried:
    if not tasks[0].has_data:
        raise BadArgument("`budget` must be fits or a time for tasks without data, got examples. Take 200 or '30s'.")
    sizes = _sizes(tasks)
    total = float(sizes.sum())
    examples = budget.examples if budget.examples is not None else (budget.runs or 0.0) * total
    guess = guessing(tasks)
    usual = np.full(len(tasks), PLAIN_RETENTION)

    def fit(scores: SeedScores, learned_from: Floats) -> FittedLaw:
        measured = Measurements.from_scores([scores], guess)
        return fitted_law(Pilot(measured, usual, usual, 0.0, weights=constraints.weights, sizes=learned_from))

    found = race(tasks, learner, examples, fit, constraints.allows_ending, sample_seed=seed, store=store, report=report)
    first = Measurements.from_scores([found.first], guess)
    keeps = kept(first, sizes, _sizes(found.sample), retention, constraints.names, used_sizes=found.sizes, seed=seed)
    measured = Measurements.from_scores([found.scores], guess)
    pilot = Pilot(
        measured, keeps.real, keeps.on_sample, CARRIED, constraints.learned,
        weights=constraints.weights, sizes=found.sizes,
    )  # fmt: skip
    words = f"raced for the last places: {', '.join(found.rounds)}; {found.fits} fits"
    transfer = TransferLosses.from_scores(constraints.names, [found.scores], (0,))
    cost = found.examples / total
    return Tried(pilot, keeps, transfer, found.sample, cost, (_with_cost(words, cost),))


def _sizes(tasks: Sequence[Task]) -> Floats:
    return np.array([len(task.targets) for task in tasks], dtype=np.float64)


def _with_cost(words: str, cost: float | None) -> str:
    return words if cost is None else f"{words}, {cost:.2g} times the cost of one training run on all examples"
