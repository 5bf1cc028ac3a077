"""Rehearse orders on a pilot sample: learn the ends of orders, and score the orders by how well all tasks are done.

What comes last is remembered best, so the end of an order decides most of its value, and an end can be rehearsed by
itself: the score of an order is the mean, over its rehearsed endings (the last task alone, the last two, ..., the whole
order, each from a fresh model), of how well all tasks are done after it. The budget says how long endings get:

    tasks    every task alone: also what the similarity of tasks is estimated from
    pairs    every ordered pair
    beam     longer endings of the most promising orders, one more task in front at a time
    orders   all orders, whose prefixes are shared and hold all endings
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taskorder.checks import Floats, Ints
from taskorder.learners.orders import FitReport, learn_orders
from taskorder.learners.protocol import Learner, Model, Score
from taskorder.planning.budget import Meter
from taskorder.prefixes import Prefix, PrefixTree
from taskorder.runs.store import Store
from taskorder.task import Task

LEVELS = {"tasks": 1, "pairs": 2}
"""How long endings get; "orders" has no limit."""
LISTED = 6
"""Up to so many tasks all orders may be rehearsed and are compared."""
MOST_NUMBERS = 60_000_000
"""Numbers of single examples that are kept; with more, confidence rests on the seeds alone."""

SeedScores = dict[Prefix, tuple[Score, ...]]
"""The scores on all tasks after each prefix, for one seed."""
Rank = Callable[["Rehearsal", list[SeedScores], list[Prefix]], Floats]
"""From what is known so far to how promising some endings are."""
MayEnd = Callable[[Prefix], bool]
"""Whether an allowed order can end so."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """How well P tasks are done after B sequences of tasks, for S seeds."""

    open_tasks: tuple[int, ...]
    """The tasks to order."""
    endings: tuple[Prefix, ...]
    """The sequences that were learned, from a fresh model or from what was learned before."""
    values: Floats
    """(S, B, P) how sure the model is of the right answers, see `affinity`; orders are chosen by it."""
    accuracy: Floats | None
    """(S, B, P) share of right answers, for people; None where the learner does not say."""
    level: str
    """tasks, pairs, beam or orders."""
    fits: int
    """What it cost."""
    examples: tuple[NDArray[np.float32], ...] | None = None
    """For each task (2, S, B, n): value, and right or wrong, of each of its n examples; None where unknown."""

    @property
    def num_seeds(self) -> int:
        """S."""
        return len(self.values)

    @property
    def outcome(self) -> Floats:
        """(S, B, P) what is reported of an ending: its accuracy, or its value where accuracy is unknown."""
        return self.values if self.accuracy is None else self.accuracy

    def candidates(
        self, front: Callable[[Iterable[int]], Sequence[int]], may_end: MayEnd = lambda ending: True
    ) -> list[Prefix]:
        """The orders to choose from: all, up to six tasks; of more, and of a beam, one for each of the longest endings.

        front: puts the tasks that an ending does not hold in an order; they are learned first.
        """
        if self.level != "beam" and len(self.open_tasks) <= LISTED:
            return list(filter(may_end, itertools.permutations(self.open_tasks)))
        longest = max(map(len, self.endings))
        ends = [ending for ending in self.endings if len(ending) == longest and may_end(ending)]
        return [(*front(task for task in self.open_tasks if task not in ending), *ending) for ending in ends]

    def score(
        self,
        orders: Sequence[Prefix],
        table: Floats,
        longest: int | None = None,
        weights: Floats | None = None,
    ) -> Floats:
        """Of each order the mean over its endings (up to `longest`) and all tasks; NaN if one was not rehearsed.

        table: (B, P) of values or accuracies. weights: (P,) how much each task counts.
        """
        means = np.append(np.average(table, axis=1, weights=weights), np.nan)
        row = {ending: index for index, ending in enumerate(self.endings)}
        lengths = sorted({len(ending) for ending in self.endings if len(ending) <= (longest or len(self.open_tasks))})
        rows = [[row.get(order[len(order) - length :], -1) for length in lengths] for order in orders]
        return np.asarray(means[np.array(rows)].mean(axis=1))

    def drawn(self, seeds: Ints, examples: Sequence[Ints] | None) -> tuple[Floats, Floats]:
        """(B, P) values and outcomes, means over some seeds and of each task over some examples; repeats count."""
        if self.examples is None or examples is None:
            return np.asarray(self.values[seeds].mean(axis=0)), np.asarray(self.outcome[seeds].mean(axis=0))
        means = []
        for results, chosen in zip(self.examples, examples, strict=True):
            shares = np.bincount(chosen, minlength=results.shape[-1]) / len(chosen)
            means.append((results @ shares.astype(np.float32))[:, seeds].mean(axis=1))
        values, outcome = np.stack(means, axis=2).astype(np.float64)
        return values, outcome


def affinity(loss: ArrayLike) -> Floats:
    """exp(-loss / 2): for cross-entropy the root of the probability of the right class, from 0 to 1.

    Better to choose by than accuracy or loss (docs/choose.md): it sees how sure an answer is, and no single bad
    answer outweighs the others. It is the Bhattacharyya coefficient of prediction and truth.

    >>> affinity([0.0, 2 * np.log(2)])
    array([1. , 0.5])
    """
    return np.asarray(np.exp(-np.asarray(loss, dtype=np.float64) / 2))


def fits_of(num_open: int, level: str) -> int:
    """Fits that a level takes for one seed, where all orders are allowed.

    >>> [fits_of(5, level) for level in ("tasks", "pairs", "orders")]
    [5, 25, 325]
    """
    longest = min(LEVELS.get(level, num_open), num_open)
    return sum(math.perm(num_open, length) for length in range(1, longest + 1))


def rehearse(
    tasks: Sequence[Task],
    learner: Learner,
    seeds: Sequence[int],
    *,
    fits: int | None = None,
    seconds: float | None = None,
    learned: Prefix = (),
    start: Model | None = None,
    rank: Rank | None = None,
    may_end: MayEnd = lambda ending: True,
    store: Store | None = None,
    report: FitReport | None = None,
) -> tuple[Rehearsal, list[SeedScores], tuple[int, ...]]:
    """What was rehearsed, the scores of every task alone for each seed, and the seeds that the budget allowed.

    fits, seconds: the budget; None for neither is all orders up to six tasks and pairs beyond. Seconds are kept to by
    the time that the tasks alone took, so a learner whose fits take very different times may miss them.
    learned: tasks that come first in every sequence. start: a model to begin with instead of that.
    rank: how promising endings are, for a beam; by default by what was rehearsed of them.
    may_end: whether an ending is worth learning; tasks alone always are, for their similarity.
    """
    open_tasks = tuple(task for task in range(len(tasks)) if task not in learned)
    keep = _examples_fit(tasks, open_tasks, seeds)
    meter = Meter(report)

    def learn(orders: Iterable[Prefix], chosen: Sequence[int], store: Store | None = store) -> list[SeedScores]:
        sequences = [(*learned, *order) if start is None else order for order in orders]
        skip = len(learned) if start is None else 0
        how: dict[str, Any] = {"start": start, "store": store, "examples": keep}
        with meter.call(len(chosen) * len(PrefixTree(sequences))):
            by_seed = learn_orders(learner, tasks, sequences, chosen, report=meter.report, **how)
        return [{prefix[skip:]: each for prefix, each in scores.items() if len(prefix) > skip} for scores in by_seed]

    if seconds is not None:
        for _ in range(2):  # the first time may compile; in earnest even where a store knows the answer
            learn([(task,) for task in open_tasks], seeds[:1], None)
            if meter.passed > seconds / 2:
                break
        fits = max(meter.fits_in(seconds - meter.passed), len(open_tasks))  # even too short a time gives an answer
    level, sequences, allowed = _affordable(open_tasks, tuple(seeds), fits, may_end)
    before = meter.spent
    scores = learn(sequences, allowed)
    made = _collected(open_tasks, scores, level, meter.spent)
    if level == "pairs" and len(open_tasks) > 2 and fits is not None:
        made = _beam(made, scores, learn, allowed, fits - (meter.spent - before), meter, rank or _by_value, may_end)
    return made, scores, allowed


def _beam(
    made: Rehearsal,
    scores: list[SeedScores],
    learn: Callable[[Iterable[Prefix], Sequence[int]], list[SeedScores]],
    seeds: Sequence[int],
    left: int,
    meter: Meter,
    rank: Rank,
    may_end: MayEnd,
) -> Rehearsal:
    """Ever longer endings of the best orders; as many at a time as the budget allows, or none if that is few."""
    P = len(made.open_tasks)
    ends: list[Prefix] = [ending for ending in made.endings if len(ending) == 2 and may_end(ending)]
    for length in range(3, P + 1):
        # a longer ending is learned from its first task on: `size` fits for each of P - size + 1 ways to lengthen one
        cost = len(seeds) * sum(size * (P - size + 1) for size in range(length, P + 1))
        width = left // cost
        if width < min(P, len(ends)):
            break
        before = meter.spent
        best = np.argsort(-rank(made, scores, ends), kind="stable")[:width]
        longer = [(task, *ends[row]) for row in best for task in made.open_tasks if task not in ends[row]]
        ends = list(filter(may_end, longer))
        for known, more in zip(scores, learn(ends, seeds), strict=True):
            known.update({ending: more[ending] for ending in ends})
        left -= meter.spent - before
        made = _collected(made.open_tasks, scores, "beam", meter.spent)
    return made


def _by_value(made: Rehearsal, scores: list[SeedScores], endings: list[Prefix]) -> Floats:
    return made.score(endings, made.values.mean(axis=0), min(map(len, endings)))


def _affordable(
    open_tasks: tuple[int, ...], seeds: tuple[int, ...], fits: int | None, may_end: MayEnd
) -> tuple[str, list[Prefix], tuple[int, ...]]:
    """The richest level that the budget allows, what to learn, and the seeds.

    Longer endings are worth more than more seeds (docs/choose.md).
    """
    P = len(open_tasks)
    for level in ("orders", "pairs", "tasks") if P <= LISTED else ("pairs", "tasks"):
        lengths = range(min(LEVELS.get(level, P), P), 1, -1)  # from the longest: its prefixes are learned on the way
        orders = [order for length in lengths for order in filter(may_end, itertools.permutations(open_tasks, length))]
        orders += [(task,) for task in open_tasks]
        count = len(seeds) if fits is None else min(len(seeds), fits // len(PrefixTree(orders)))
        if count:
            return level, orders, seeds[:count]
    raise ValueError(f"`budget` must allow one fit for each of the {P} tasks to order, got {fits}. Take a larger one.")


def _collected(open_tasks: tuple[int, ...], scores: list[SeedScores], level: str, fits: int) -> Rehearsal:
    """Tables of what was learned so far."""
    endings = tuple(dict.fromkeys(ending for of_seed in scores for ending in of_seed))
    rows = [[of_seed[ending] for ending in endings] for of_seed in scores]
    flat = [score for row in rows for scores in row for score in scores]
    accuracy = None
    if all(score.accuracy is not None for score in flat):
        accuracy = np.array([[[score.accuracy for score in scores] for scores in row] for row in rows])
    if any(score.examples is None for score in flat):
        values = np.array([[[_value(score) for score in scores] for scores in row] for row in rows])
        return Rehearsal(open_tasks, endings, values, accuracy, level, fits)
    num_tasks = len(rows[0][0])
    examples = tuple(
        np.array([[_each(scores[task]) for scores in row] for row in rows], dtype=np.float32).transpose(2, 0, 1, 3)
        for task in range(num_tasks)
    )
    values = np.stack([results[0].mean(axis=-1, dtype=np.float64) for results in examples], axis=2)
    return Rehearsal(open_tasks, endings, values, accuracy, level, fits, examples)


def _each(score: Score) -> Floats:
    """(2, n) value, and right or wrong."""
    assert score.examples is not None
    return np.stack([affinity(score.examples[0]), score.examples[2]])


def _value(score: Score) -> float:
    """Without single examples: from the mean loss over what shuffled labels give, so that scales do not matter."""
    return float(affinity(score.loss / score.chance if score.chance else score.loss))


def _examples_fit(tasks: Sequence[Task], open_tasks: tuple[int, ...], seeds: Sequence[int]) -> bool:
    """Whether there is room for the results of every single example."""
    endings = fits_of(len(open_tasks), "orders" if len(open_tasks) <= LISTED else "pairs")
    return 3 * endings * len(seeds) * sum(len(task.measured[1]) for task in tasks) <= MOST_NUMBERS
