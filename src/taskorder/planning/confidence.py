"""How sure a plan from a pilot is: the choice is made again, and predicted again, on parts of the pilot.

Halves answer whether the choice is worth anything: an order is chosen on one half of the examples and seeds and then
compared with random orders on the other half, which had no part in the choice. Draws with replacement answer how steady
choice and prediction are.

No resampling of one pilot shows what the real run adds: the law is not exact, more data teach other things, and another
seed of the real run gives other results. So an order's value in the real run is taken as what the other half says plus
noise of `UNSEEN` times the spread between orders, and predicted accuracies get noise of `UNSEEN_TASK` and
`UNSEEN_MEAN`. The three were set on Fashion-MNIST task sets 0 to 49 with pilots of 30, 120 and 300 images a task
(`python benchmarks/planning.py calibration`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.special import ndtr

from taskorder.checks import Floats
from taskorder.constraints import Constraints
from taskorder.planning.choice import Order, compared_orders
from taskorder.planning.fitted_law import FittedLaw, Pilot, fitted_law
from taskorder.planning.measurements import Part, split_rows
from taskorder.records import Confidence, Prediction

MATTERS, NOISY, FINE = "order matters", "too noisy to say", "any order is fine"
SMALLEST_GAIN = 0.01
"""One point of accuracy: what is surely smaller matters to nobody."""
LIKELY = 0.75
"""Below this probability to beat a random order, a plan does not say that order matters."""
UNSEEN = 0.8
"""Noise of an order in the real run, of the standard deviation between orders."""
UNSEEN_TASK = 0.28
"""Noise of the knowledge of one task in the real run; about half of it is accuracy, with two classes."""
UNSEEN_MEAN = 0.095
"""Noise of the mean knowledge of all tasks."""
SIGMAS_OF_90_PERCENT = 1.645
"""Standard deviations to each side that hold 90 % of a normal distribution."""
SHOWN = 10


def confidence(
    pilot: Pilot,
    choose: Callable[[FittedLaw, Part | None], Order],
    chosen: Order,
    constraints: Constraints,
    *,
    draws: int = 200,
    seed: int = 0,
) -> Confidence:
    """How sure the order `chosen` is among those that are allowed; `draws` halves and as many bootstrap draws.

    choose: the order that a part of the pilot leads to.
    """
    rng = np.random.default_rng(seed)
    compared = compared_orders(constraints, rng)
    beaten, gains, spreads, signals = [], [], [], []
    for _ in range(draws):
        parts = random_halves(pilot, rng)
        first, second = (fitted_law(pilot, part) for part in parts)
        again = np.array([choose(first, parts[0])])
        own, rated = float(second.outcome(again)[0]), second.outcome(compared)
        spreads.append(float(rated.std()))
        noise = UNSEEN * spreads[-1]
        beaten.append(_beats(own - rated, math.sqrt(2) * noise))
        gains.append(own - float(rated.mean()) + noise * rng.normal())
        signals.append(float(np.cov(first.outcome(compared), rated)[0, 1]) if len(compared) > 1 else 0.0)
    # how steady the choice is, and which orders stay close to it
    others = compared[(compared != np.array(chosen)).any(axis=1)]
    drawn, behind = [], []
    for _ in range(draws):
        part = bootstrap(pilot, rng)
        law = fitted_law(pilot, part)
        drawn.append(choose(law, part))
        behind.append(law.outcome(np.array([chosen]))[0] - law.outcome(others))
    ahead = np.array(behind).reshape(draws, -1)
    unsure = np.sqrt(ahead.var(axis=0) + 2 * (UNSEEN * np.mean(spreads)) ** 2)
    level = ahead.mean(axis=0) - SIGMAS_OF_90_PERCENT * unsure
    ranked = [row for row in np.argsort(ahead.mean(axis=0), kind="stable") if level[row] <= 0]
    # the largest spread that the halves allow: noise must not pass for tasks that are all alike
    gain, spread = float(np.mean(gains)), math.sqrt(max(0.0, float(np.quantile(signals, 0.95))))
    low, high = np.quantile(gains, [0.05, 0.95]).tolist()
    likely = float(np.mean(beaten))
    known = pilot.measured.num_seeds > 1 or pilot.measured.counts is not None
    return Confidence(
        verdict=verdict(likely, gain, spread, known=known),
        beats_random=likely,
        gain=gain,
        gain_low=low,
        gain_high=high,
        unit=fitted_law(pilot).unit,
        same_first=_share(order[0] == chosen[0] for order in drawn),
        same_last=_share(order[-1] == chosen[-1] for order in drawn),
        same_neighbors=float(np.mean([_common_neighbors(chosen, order) for order in drawn])),
        as_good=tuple(tuple(others[row].tolist()) for row in ranked[:SHOWN]),
        num_as_good=len(ranked),
        num_orders=len(others) + 1,
        num_draws=draws,
    )


def verdict(likely: float, gain: float, spread: float, *, known: bool = True) -> str:
    """What the halves say.

    any order is fine  the spread between orders that two halves may share is below SMALLEST_GAIN, and so is the gain
    order matters      the chosen order is at least LIKELY to beat a random one, by at least SMALLEST_GAIN on average
    too noisy to say   all else, and whatever a single seed without single examples says (`known` is false)

    >>> verdict(0.9, 0.05, 0.04), verdict(0.6, 0.02, 0.03), verdict(0.8, 0.002, 0.001)
    ('order matters', 'too noisy to say', 'any order is fine')
    """
    if not known:
        return NOISY
    if spread < SMALLEST_GAIN and abs(gain) < SMALLEST_GAIN:
        return FINE
    return MATTERS if likely >= LIKELY and gain >= SMALLEST_GAIN else NOISY


def predicted(pilot: Pilot, order: Order, constraints: Constraints, *, draws: int = 200, seed: int = 0) -> Prediction:
    """What the law predicts for every task at the end of an order, with 90 % intervals, and for random orders."""
    rng = np.random.default_rng(seed)
    row = np.array([order])
    law = fitted_law(pilot)
    scale = np.ones(len(law.table)) if law.guess is None else 1 - law.guess
    tasks, means = [], []
    for _ in range(draws):
        resampled = fitted_law(pilot, bootstrap(pilot, rng)).outcomes(row)[0]
        tasks.append(resampled + scale * UNSEEN_TASK * rng.normal(size=len(resampled)))
        means.append(resampled @ law.weights + float(scale @ law.weights) * UNSEEN_MEAN * rng.normal())
    values = law.outcomes(row)[0]
    ends = np.quantile(tasks, [0.05, 0.95], axis=0) if draws else np.stack([values, values])
    whole = np.quantile(means, [0.05, 0.95]) if draws else None
    others = law.outcome(compared_orders(constraints, rng))
    if law.guess is not None:
        ends, whole = np.clip(ends, 0.0, 1.0), None if whole is None else np.clip(whole, 0.0, 1.0)
    low, high = (None, None) if whole is None else whole.tolist()
    return Prediction(
        unit="knowledge" if law.guess is None else "accuracy",
        mean=float(values @ law.weights),
        low=low,
        high=high,
        tasks=tuple(values.tolist()),
        tasks_low=tuple(ends[0].tolist()) if draws else None,
        tasks_high=tuple(ends[1].tolist()) if draws else None,
        random_mean=float(others.mean()),
        random_std=float(others.std()),
    )


def random_halves(pilot: Pilot, rng: np.random.Generator) -> list[Part]:
    """Two parts without a seed or an example in common; a single seed is in both."""
    counts = pilot.measured.counts
    seeds = split_rows(pilot.measured.num_seeds, rng)
    if counts is None:
        return [(part, None) for part in seeds]
    examples = [split_rows(count, rng) for count in counts]
    return [(seeds[side], [parts[side] for parts in examples]) for side in (0, 1)]


def bootstrap(pilot: Pilot, rng: np.random.Generator) -> Part:
    """As many seeds and examples as there are, drawn with replacement."""
    counts, num_seeds = pilot.measured.counts, pilot.measured.num_seeds
    seeds = rng.integers(num_seeds, size=num_seeds)
    return seeds, None if counts is None else [rng.integers(count, size=count) for count in counts]


def _beats(ahead: Floats, noise: float) -> float:
    """The mean probability that an order stays ahead in spite of normal noise; a tie counts half."""
    if noise <= 0:
        return float((ahead > 0).mean() + (ahead == 0).mean() / 2)
    return float(ndtr(ahead / noise).mean())


def _share(hits: Iterable[bool]) -> float:
    return float(np.mean(list(hits)))


def _common_neighbors(order: Sequence[int], other: Sequence[int]) -> float:
    """The share of neighboring pairs of one order, in either direction, that are neighbors in the other."""
    pairs, others = ({frozenset(pair) for pair in itertools.pairwise(each)} for each in (order, other))
    return len(pairs & others) / len(pairs) if pairs else 1.0
