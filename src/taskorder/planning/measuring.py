"""Measure a learner on a pilot within a budget: every task alone, then pairs of tasks.

    tasks    every task alone, with every seed: what the transfer table is made from
    pairs    2 P ordered pairs for the retention, and more of them, up to all, where the budget allows

Pairs come before seeds: another seed adds little to a pilot, and without pairs nobody knows the retention
(`python benchmarks/planning.py pairs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Floats
from taskorder.learners.orders import FitReport, learn_orders
from taskorder.learners.protocol import Learner, Model, Score, own_outputs, score
from taskorder.planning.budget import Budget, Meter
from taskorder.planning.measurements import Measurements
from taskorder.planning.retention import sampled_pairs
from taskorder.prefixes import Prefix, PrefixTree
from taskorder.runs.store import Store
from taskorder.task import Task

PAIRS_A_TASK = 2
"""Pairs for the retention, for each task."""
MOST_NUMBERS = 60_000_000
"""Numbers of single examples that are kept; with more, confidence rests on the seeds alone."""

SeedScores = dict[Prefix, tuple[Score, ...]]
"""The scores on all tasks after each prefix, for one seed."""


class Measured(NamedTuple):
    """What was learned, and what it cost."""

    scores: list[SeedScores]
    """By seed: after every task alone and after pairs."""
    seeds: tuple[int, ...]
    """Those that the budget allowed."""
    fits: int
    examples: int
    """Examples learned from in all, without epochs."""


def guessing(tasks: Sequence[Task], learner: Learner) -> Floats | None:
    """(P,) the accuracy of guessing among the classes that a task is tested on: those of all tasks, or its own where
    each has a head; None where there are no classes."""
    if not tasks[0].classes:
        return None
    own = [own_outputs(learner, task) for task in tasks]
    return np.array([1 / len(task.classes if o is None else o) for task, o in zip(tasks, own, strict=True)])


def measurements(sample: Sequence[Task], learner: Learner, scores: Sequence[SeedScores]) -> Measurements:
    """The scores with what they are compared with: guessing, or the model that has learned a task alone."""
    no_labels = sample[0].has_data and sample[0].labels is None
    from_own = no_labels and getattr(learner, "perfect", "") == "own"
    return Measurements.from_scores(scores, guessing(sample, learner), from_own=from_own)


def known_now(sample: Sequence[Task], learner: Learner, model: Model, measured: Measurements) -> Floats:
    """(P,) what a model knows of every task, in the terms of what was measured."""
    scores: SeedScores = {(): tuple(score(learner, model, task) for task in sample)}
    return np.asarray(measured.known(*Measurements.from_scores([scores]).drawn())[0, 0])


def measure_pilot(
    sample: Sequence[Task],
    learner: Learner,
    seeds: Sequence[int],
    budget: Budget,
    *,
    store: Store | None = None,
    report: FitReport | None = None,
) -> Measured:
    """Every task alone and as many pairs of tasks as the budget allows."""
    P, meter = len(sample), Meter(report)
    singles: list[Prefix] = [(task,) for task in range(P)]
    fits = budget.fits
    if budget.seconds is not None:
        for _ in range(2):  # the first time may compile; in earnest even where a store knows the answer
            with meter.call(P):
                learn_orders(learner, sample, singles, seeds[:1], report=meter.report)
            if meter.passed > budget.seconds / 2:
                break
        fits = max(meter.fits_in(budget.seconds - meter.passed), P)  # even too short a time gives an answer
    pairs, allowed = affordable(P, tuple(seeds), fits)
    sequences = [*singles, *pairs]
    tree = PrefixTree(sequences)
    kept = 3 * len(tree) * len(allowed) * sum(len(task.measured[1]) for task in sample) <= MOST_NUMBERS
    with meter.call(len(allowed) * len(tree)):
        scores = learn_orders(learner, sample, sequences, allowed, store=store, report=meter.report, examples=kept)
    examples = len(allowed) * sum(len(sample[prefix[-1]].targets) for prefix in tree.rows if prefix)
    return Measured(scores, allowed, meter.spent, examples)


def affordable(num_tasks: int, seeds: tuple[int, ...], fits: int | None) -> tuple[list[Prefix], tuple[int, ...]]:
    """The pairs to learn, and the seeds.

    >>> [(len(pairs), seeds) for pairs, seeds in (affordable(5, (0, 1, 2), fits) for fits in (75, 30, 20, 5))]
    [(20, (0, 1, 2)), (10, (0, 1)), (15, (0,)), (0, (0,))]
    """
    P = num_tasks
    every = sampled_pairs(range(P), P * (P - 1), np.random.default_rng(0))
    if fits is None:
        return every, seeds
    if fits < P:
        raise BadArgument(f"`budget` must allow one fit for each of the {P} tasks, got {fits}. Take a larger one.")
    count = max(1, min(len(seeds), fits // (P + min(PAIRS_A_TASK * P, len(every)))))
    return every[: fits // count - P], seeds[:count]
