"""How sure a plan from a pilot is, by what resampling shows and what it cannot show.

Let f be what the law predicts of an order in the real run and v what will be true, both without their mean over orders:

    v = r f + e,   e ~ N(0, u^2 + r b^2)

b   the noise of the pilot: the standard deviation of f over bootstrap draws of its examples and seeds
r   the share of the variance of f between orders that is no such noise, max(0, 1 - b^2 / var f), and of that what
    pairs of tasks do not refute (planning/pair_orders.py)
u   what no pilot shows: the law is not exact, more data teach other things, and every full run gives other results.
    For the knowledge of one task this is `UNSEEN_TASK` times the standard deviation s of the transfer table off its
    diagonal, for the mean over P tasks of equal weight `UNSEEN` s / sqrt(P)

So what is unseen does not grow with the spread that happens to be predicted for these tasks: on the task sets of one
data set the law errs as much where the predicted spread is small as where it is large. It goes with how much tasks
differ in what they teach each other, which differs between data sets. Both constants were set on development sets of
three data sets (`python benchmarks/planning.py calibration`, `digits` and `tables`).

Where pairs predict orders, s is what they say of themselves (`unseen` in planning/pair_effects.py and
planning/additions.py), and r has another factor, the `share` of predicted differences that real runs show.
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
from taskorder.planning.measurements import Part
from taskorder.planning.pair_orders import pair_orders
from taskorder.records import Confidence, Prediction

MATTERS, NOISY, FINE = "order matters", "too noisy to say", "any order is fine"
SMALLEST_GAIN = 0.01
"""One point of accuracy: what is surely smaller matters to nobody."""
LIKELY = 0.75
"""Below this probability to beat a random order, a plan does not say that order matters."""
UNSEEN = 0.55
"""What a pilot cannot show of the mean over tasks, of the spread of the transfer table; by sqrt(P) less for P tasks."""
UNSEEN_TASK = 0.65
"""The same for the knowledge of one task."""
UNSEEN_KEPT = 2.0
"""How many times more both are where more is kept than orders are compared with (planning/fitted_law.py)."""
UNSEEN_LEVEL = 0.1
"""What a pilot cannot show of the mean outcome over all orders, there and for tasks with classes of their own: a small
pilot forgets less than the real run (`benchmarks/objectives.py` and `class_orders.py`, section features)."""
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
    """How sure the order `chosen` is among those that are allowed, from `draws` bootstrap draws of the pilot.

    choose: the order that a part of the pilot leads to.
    """
    rng = np.random.default_rng(seed)
    compared, law = compared_orders(constraints, rng), fitted_law(pilot)
    others = compared[(compared != np.array(chosen)).any(axis=1)]
    again, rated, behind = [], [], []
    for _ in range(draws):
        part = bootstrap(pilot, rng)
        drawn = fitted_law(pilot, part)
        again.append(choose(drawn, part))
        rated.append(_centered(drawn.outcome(compared)))
        behind.append(drawn.outcome(np.array([chosen]))[0] - drawn.outcome(others))

    # what the prediction is worth, and what may come true of it
    predictions = law.outcome(compared)
    own, spread, noise = float(law.outcome(np.array([chosen]))[0]), float(predictions.std()), _noise(pilot, rated)
    in_pairs = pair_orders(pilot, law)
    share = law.share * in_pairs.share * max(0.0, 1 - noise**2 / spread**2) if spread > 0 else 0.0
    unsure = math.hypot(unseen(law), math.sqrt(share) * noise)
    likely = _beats(share * (own - predictions), math.sqrt(2) * unsure)
    gain = share * (own - float(predictions.mean()))

    # which orders stay close to the chosen one
    ahead = law.share * np.array(behind).reshape(draws, -1)
    reach = SIGMAS_OF_90_PERCENT * np.sqrt(ahead.var(axis=0) + 2 * unseen(law) ** 2)
    ranked = [row for row in np.argsort(ahead.mean(axis=0), kind="stable") if ahead[:, row].mean() <= reach[row]]
    without_pairs = pilot.fade is not None and law.effects is None  # tasks with classes of their own, alone
    known = pilot.measured.num_seeds > 1 or pilot.measured.counts is not None
    # noise must not pass for tasks that are all alike, nor a pilot's first steps for the whole run, nor an order that
    # matters otherwise than the law says for one that does not
    shown = in_pairs.share * spread if pilot.carried == 1 else spread
    if in_pairs.otherwise:
        shown = max(shown, in_pairs.measured / 2 * float(law.weights @ _scale(law)))
    return Confidence(
        verdict=verdict(likely, gain, math.hypot(shown, noise), known=known and not without_pairs, heads=pilot.heads),
        beats_random=likely,
        gain=gain,
        gain_low=gain - SIGMAS_OF_90_PERCENT * unsure,
        gain_high=gain + SIGMAS_OF_90_PERCENT * unsure,
        unit=law.unit,
        same_first=_share(order[0] == chosen[0] for order in again),
        same_last=_share(order[-1] == chosen[-1] for order in again),
        same_neighbors=float(np.mean([_common_neighbors(chosen, order) for order in again])),
        as_good=tuple(tuple(others[row].tolist()) for row in ranked[:SHOWN]),
        num_as_good=len(ranked),
        num_orders=len(others) + 1,
        num_draws=draws,
    )


def unseen(law: FittedLaw) -> float:
    """The part of the weighted mean outcome that no pilot shows, as a standard deviation.

    >>> table = np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.6], [0.6, 0.0, 1.0]])
    >>> law = FittedLaw(table, np.full(3, 0.1), np.zeros(3), np.full(3, 1 / 3), {}, 1.0)
    >>> round(unseen(law), 3), round(float(UNSEEN * 0.3 / np.sqrt(3)), 3)
    (0.095, 0.095)
    """
    return UNSEEN * _differences(law) * float(np.linalg.norm(law.weights * _scale(law)))


def verdict(likely: float, gain: float, spread: float, *, known: bool = True, heads: bool = False) -> str:
    """What a plan says of itself.

    any order is fine  the spread between orders and the noise of the pilot are below SMALLEST_GAIN, and so is the gain
    order matters      the chosen order is at least LIKELY to beat a random one, by at least SMALLEST_GAIN on average
    too noisy to say   all else, and whatever a single seed without single examples says (`known` is false)

    heads: whether each task has its own. Pairs of tasks ranked orders on digits and not on Fashion-MNIST, so nothing is
    known that says of heads that their order matters (`python benchmarks/heads.py`).

    >>> verdict(0.9, 0.05, 0.04), verdict(0.6, 0.02, 0.03), verdict(0.8, 0.002, 0.001)
    ('order matters', 'too noisy to say', 'any order is fine')
    """
    if not known:
        return NOISY
    if spread < SMALLEST_GAIN and abs(gain) < SMALLEST_GAIN:
        return FINE
    return MATTERS if likely >= LIKELY and gain >= SMALLEST_GAIN and not heads else NOISY


def predicted(pilot: Pilot, order: Order, constraints: Constraints, *, draws: int = 200, seed: int = 0) -> Prediction:
    """What the law predicts for every task at the end of an order, with 90 % intervals, and for random orders."""
    rng = np.random.default_rng(seed)
    row, law = np.array([order]), fitted_law(pilot)
    values, low, high, ends = law.outcomes(row)[0], None, None, None
    mean = float(values @ law.weights)
    if draws:
        drawn = np.array([fitted_law(pilot, bootstrap(pilot, rng)).outcomes(row)[0] for _ in range(draws)])
        level = UNSEEN_LEVEL if law.much_kept or pilot.fade is not None else 0.0
        reach = SIGMAS_OF_90_PERCENT * math.hypot((drawn @ law.weights).std(), unseen(law), level)
        low, high = mean - reach, mean + reach
        apart = math.hypot(UNSEEN_TASK * _differences(law), level)
        each = SIGMAS_OF_90_PERCENT * np.hypot(drawn.std(axis=0), apart * _scale(law))
        ends = np.stack([values - each, values + each])
        if law.guess is not None:
            ends, low, high = np.clip(ends, 0.0, 1.0), max(low, 0.0), min(high, 1.0)
    others = law.outcome(compared_orders(constraints, rng))
    return Prediction(
        unit="knowledge" if law.guess is None else "accuracy",
        mean=mean,
        low=low,
        high=high,
        tasks=tuple(values.tolist()),
        tasks_low=None if ends is None else tuple(ends[0].tolist()),
        tasks_high=None if ends is None else tuple(ends[1].tolist()),
        random_mean=float(others.mean()),
        random_std=float(others.std()),
    )


def bootstrap(pilot: Pilot, rng: np.random.Generator) -> Part:
    """As many seeds and examples as there are, drawn with replacement."""
    counts, num_seeds = pilot.measured.counts, pilot.measured.num_seeds
    seeds = rng.integers(num_seeds, size=num_seeds)
    return seeds, None if counts is None else [rng.integers(count, size=count) for count in counts]


def _centered(values: Floats) -> Floats:
    return np.asarray(values - values.mean())


def _noise(pilot: Pilot, rated: Sequence[Floats]) -> float:
    """The noise of the pilot in the prediction of an order; b in the equation above."""
    variance = float(np.var(rated, axis=0).mean()) if rated else 0.0
    S = pilot.measured.num_seeds
    # drawing S seeds with replacement shows the share (S - 1) / S of their variance
    return math.sqrt(variance * (S / (S - 1) if S > 1 and pilot.measured.counts is None else 1.0))


def _differences(law: FittedLaw) -> float:
    """How much tasks differ in what they do to each other: the standard deviation of the table off its diagonal."""
    if law.effects is not None:
        return law.effects.unseen
    spread = float(law.table[~np.eye(len(law.table), dtype=bool)].std()) if len(law.table) > 1 else 0.0
    return UNSEEN_KEPT * spread if law.much_kept else spread


def _scale(law: FittedLaw) -> Floats:
    """(P,) of each task, what one unit of knowledge is in outcomes."""
    return np.ones(len(law.table)) if law.guess is None else 1 - law.guess


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
