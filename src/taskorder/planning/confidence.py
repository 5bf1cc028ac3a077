"""How sure a choice is: it is made again on resampled examples and seeds of the pilot.

Halves answer whether the choice is worth anything: an order is chosen on one half of the examples and seeds and then
compared with random orders on the other half, which had no part in the choice. Draws with replacement answer how steady
it is: which task comes first, last and beside which. The verdict follows from the halves by the rule in `verdict`.

The halves agree more with each other than with the real run, which no resampling of one pilot can show: what a random
order earns there differs from its rating by about `UNSEEN` of the spread between orders. The interval of the gain has
that added, so that 90 % of real runs should be inside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.constraints import Constraints
from taskorder.planning.choice import Order, combined_score, compared_orders
from taskorder.planning.estimate import TransferLosses
from taskorder.planning.rehearsal import Rehearsal
from taskorder.records import Confidence

MATTERS, NOISY, FINE = "order matters", "too noisy to say", "any order is fine"
SMALLEST_GAIN = 0.01
"""One point of accuracy, or 1 % of the predicted error: whatever is surely smaller does not matter to anybody."""
UNSEEN = 0.7
"""Of the standard deviation between rated orders. With it the interval held the gain of the full run on 88 % of 75 task
sets (Fashion-MNIST 0 to 49, digits 0 to 24), without it on 56 %; the probability was right as it is, 0.82 for 0.82."""
SIGMAS_OF_90_PERCENT = 1.645
"""Standard deviations to each side that hold 90 % of a normal distribution."""
SHOWN = 10


class View(NamedTuple):
    """A part of the pilot: the order it would choose, and how it rates orders (more is better)."""

    choose: Callable[[], Order]
    rate: Callable[[Sequence[Order]], Floats]


class Evidence(Protocol):
    """What a choice rests on, to be looked at in parts."""

    unit: str
    unseen: float
    """What the real run adds, of the spread between rated orders."""

    def view(self, seeds: Ints, examples: Sequence[Ints] | None) -> View:
        """The evidence of these seeds and, for each task, of these examples."""

    def sizes(self) -> tuple[int, tuple[int, ...] | None]:
        """How many seeds, and how many examples of each task, if single examples are known."""


def confidence(
    evidence: Evidence, chosen: Order, constraints: Constraints, *, draws: int = 200, seed: int = 0
) -> Confidence:
    """How sure the order `chosen` is among those that are allowed; `draws` halves and as many bootstrap draws."""
    rng = np.random.default_rng(seed)
    compared = compared_orders(constraints, rng)
    beaten, gains, spreads = [], [], []
    for _ in range(draws):
        first, second = (evidence.view(*part) for part in random_halves(evidence.sizes(), rng))
        rated = second.rate([first.choose(), *compared])
        beaten.append(float((rated[0] > rated[1:]).mean() + (rated[0] == rated[1:]).mean() / 2))
        gains.append(float(rated[0] - rated[1:].mean()))
        spreads.append(float(rated[1:].std()))
    others = sorted(set(compared) - {chosen})
    drawn, behind = [], []
    for _ in range(draws):
        view = evidence.view(*bootstrap(evidence.sizes(), rng))
        drawn.append(view.choose())
        rated = view.rate([chosen, *others])
        behind.append(rated[0] - rated[1:])
    shortfall = np.array(behind).reshape(draws, -1)
    level = np.quantile(shortfall, 0.05, axis=0)
    ranked = [others[row] for row in np.argsort(shortfall.mean(axis=0), kind="stable") if level[row] <= 0]
    gain = float(np.mean(gains))
    low, high = np.quantile(gains, [0.05, 0.95]).tolist()
    unseen = SIGMAS_OF_90_PERCENT * evidence.unseen * float(np.mean(spreads))
    num_seeds, sizes = evidence.sizes()
    return Confidence(
        verdict=verdict(gain, low, high, known=num_seeds > 1 or sizes is not None),
        beats_random=float(np.mean(beaten)),
        gain=gain,
        gain_low=gain - math.hypot(gain - low, unseen),
        gain_high=gain + math.hypot(high - gain, unseen),
        unit=evidence.unit,
        same_first=_share(order[:1] == chosen[:1] for order in drawn),
        same_last=_share(order[-1:] == chosen[-1:] for order in drawn),
        same_neighbors=float(np.mean([_common_neighbors(chosen, order) for order in drawn])),
        as_good=tuple(ranked[:SHOWN]),
        num_as_good=len(ranked),
        num_orders=len(others) + 1,
        num_draws=draws,
    )


def verdict(gain: float, low: float, high: float, *, known: bool = True) -> str:
    """What the gains on the other halves say.

    order matters      90 % of the halves (`low` to `high`) agree that the chosen order is better than a random one, by
                       at least SMALLEST_GAIN on average
    any order is fine  90 % of the halves find a difference below SMALLEST_GAIN, for better or worse
    too noisy to say   all else, and whatever a single seed without single examples says (`known` is false)

    >>> verdict(0.05, 0.02, 0.08), verdict(0.05, -0.02, 0.11), verdict(0.001, -0.004, 0.006)
    ('order matters', 'too noisy to say', 'any order is fine')
    """
    if not known:
        return NOISY
    if low > -SMALLEST_GAIN and high < SMALLEST_GAIN:
        return FINE
    return MATTERS if low > 0 and gain >= SMALLEST_GAIN else NOISY


class RehearsalEvidence:
    """Chooses by the combined score; rates by the accuracy that people care for, averaged over rehearsed endings."""

    unseen = UNSEEN

    def __init__(
        self,
        rehearsal: Rehearsal,
        transfer: TransferLosses,
        front: Callable[[Iterable[int]], Sequence[int]],
        constraints: Constraints,
    ) -> None:
        self.rehearsal = rehearsal
        self.transfer = transfer
        self.constraints = constraints
        self.orders = rehearsal.candidates(front, constraints.allows_ending)
        self.reference = compared_orders(constraints, np.random.default_rng(0))
        self.unit = "score" if rehearsal.accuracy is None else "accuracy"

    def sizes(self) -> tuple[int, tuple[int, ...] | None]:
        """Seeds, and examples of each task."""
        examples = self.rehearsal.examples
        return self.rehearsal.num_seeds, None if examples is None else tuple(each.shape[-1] for each in examples)

    def view(self, seeds: Ints, examples: Sequence[Ints] | None) -> View:
        """The best of the candidates by values, and ratings by accuracy."""
        values, outcome = self.rehearsal.drawn(seeds, examples)
        # a model to go on from has one seed, but the tasks alone have been learned with several
        same = len(self.transfer.seeds) == self.rehearsal.num_seeds
        alone = self.transfer.drawn(seeds if same else np.arange(len(self.transfer.seeds)), examples)
        similarity = alone.similarity()
        learned, weights = self.constraints.learned, self.constraints.weights

        def choose() -> Order:
            scores = combined_score(self.rehearsal, values, similarity, self.orders, self.reference, learned, weights)
            return self.orders[int(scores.argmax())]

        # a beam does not know the longer endings of a random order
        longest = 2 if self.rehearsal.level == "beam" else None
        return View(choose, lambda orders: self.rehearsal.score(orders, outcome, longest, weights))


class SimilarityEvidence:
    """Chooses by a rule on the similarity; rates by the predicted error, as a share of the mean over random orders."""

    unit = "error"
    unseen = 0.0
    """A predicted error is about the theory, not about a run."""

    def __init__(
        self,
        transfer: TransferLosses,
        choose: Callable[[Floats], Order],
        errors: Callable[[Floats, Sequence[Order]], Floats],
    ) -> None:
        self.transfer = transfer
        self._choose = choose
        self._errors = errors

    def sizes(self) -> tuple[int, tuple[int, ...] | None]:
        """Seeds, and examples of each task."""
        examples = self.transfer.examples
        return len(self.transfer.seeds), None if examples is None else tuple(each.shape[-1] for each in examples)

    def view(self, seeds: Ints, examples: Sequence[Ints] | None) -> View:
        """The rule's order, and ratings by minus the predicted error."""
        similarity = self.transfer.drawn(seeds, examples).similarity()

        def rate(orders: Sequence[Order]) -> Floats:
            errors = self._errors(similarity, orders)
            return np.asarray(1 - errors / max(float(errors.mean()), 1e-12))

        return View(lambda: self._choose(similarity), rate)


def random_halves(
    sizes: tuple[int, tuple[int, ...] | None], rng: np.random.Generator
) -> list[tuple[Ints, list[Ints] | None]]:
    """Two parts without a seed or an example in common; a single seed is in both."""
    num_seeds, counts = sizes
    seeds = _split(num_seeds, rng)
    if counts is None:
        return [(part, None) for part in seeds]
    examples = [_split(count, rng) for count in counts]
    return [(seeds[side], [parts[side] for parts in examples]) for side in (0, 1)]


def bootstrap(sizes: tuple[int, tuple[int, ...] | None], rng: np.random.Generator) -> tuple[Ints, list[Ints] | None]:
    """As many seeds and examples as there are, drawn with replacement."""
    num_seeds, counts = sizes
    seeds = rng.integers(num_seeds, size=num_seeds)
    return seeds, None if counts is None else [rng.integers(count, size=count) for count in counts]


def _split(count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Two random halves; the odd one goes to either."""
    if count == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    mixed = rng.permutation(count)
    middle = math.ceil(count / 2) if rng.integers(2) else count // 2
    return mixed[:middle], mixed[middle:]


def _share(hits: Iterable[bool]) -> float:
    return float(np.mean(list(hits)))


def _common_neighbors(order: Order, other: Order) -> float:
    """The share of neighboring pairs of one order, in either direction, that are neighbors in the other."""
    pairs, others = ({frozenset(pair) for pair in itertools.pairwise(each)} for each in (order, other))
    return len(pairs & others) / len(pairs) if pairs else 1.0
