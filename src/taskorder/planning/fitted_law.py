"""The law of retention (theory/law.py) with what a pilot has measured: transfer table, retention, pairs.

    retention   from pairs, or a default; a pilot trains for fewer steps than the real run and so forgets less, which
                theory/steps.py corrects
    table       row k from every time that task k was learned, alone or after others: with s what was known before and
                M after it the law says M - d s = S_k (1 - d s_k), and S_k is the least-squares solution for all of
                them. What few examples cannot tell is shrunken (tables/knowledge.py)
    pairs       what a pair (i, k) shows beyond the law with that table is added to the prediction of every order that
                ends with i, k; of a pair on a small sample only the part `CARRIED`

Where each task has a head of its own, or classes of its own, pairs alone tell orders apart (planning/pair_effects.py,
planning/additions.py).

Of 0, 1/4, 1/2 and 1 a quarter correlated best with the truth in most pilots of the development sets, where differences
are small (`python benchmarks/planning.py pairs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.planning.additions import Additions
from taskorder.planning.measurements import Measurements, Part
from taskorder.planning.pair_effects import PairEffects
from taskorder.prefixes import Prefix
from taskorder.tables.knowledge import shrunken_table, transfer_table
from taskorder.theory.law import final_knowledge
from taskorder.theory.random_orders import knowledge_after

CARRIED = 0.25
"""Of what pairs on a small sample show beyond the law, the part that real runs show, too."""
COMPARED_AT = 0.5
"""Orders are compared as if no more were kept: of more, the law makes too much of early tasks, and of what is wrong in
their rows (`python benchmarks/objectives.py new`)."""
LEVEL_ORDERS = 100
"""About how many orders tell how much more is known in the mean where more is kept."""


class Pilot(NamedTuple):
    """What was measured, and what it says about the real run."""

    measured: Measurements
    """Every task alone, and pairs."""
    retention: Floats
    """(P,) of the real run."""
    on_sample: Floats
    """(P,) of the pilot, which pairs are compared with."""
    carried: float = CARRIED
    """1 where the pilot is the real thing."""
    learned: Prefix = ()
    """Tasks that come before."""
    start: Floats | None = None
    """(P,) measured knowledge before the first step; by the law from `learned` where it is left out."""
    weights: Floats | None = None
    """(P,) importance of each task."""
    sizes: Floats | None = None
    """(P,) examples that each task was learned from, where that is not what it was measured on."""
    heads: bool = False
    """Whether each task has a head of its own."""
    fade: float | None = None
    """Where no class is in two tasks and all compete, what is left of an addition after another task; else None."""
    share: float = 1.0
    """There, the part of predicted differences between orders that real runs show."""


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """Predicts what is known after orders of the open tasks."""

    table: Floats
    """(P, P) transfer table; row: task that was learned."""
    retention: Floats
    """(P,) at which orders are compared: that of the real run, or less."""
    start: Floats
    """(P,) knowledge before the first step."""
    weights: Floats
    """(P,) importance, with sum 1."""
    beyond: Mapping[Prefix, Floats]
    """By pair, what is added to the knowledge after orders that end with it."""
    kept_asymmetry: float
    """The share of the table's asymmetry that is no noise."""
    guess: Floats | None = None
    """(P,) the accuracy of guessing; None where accuracies are unknown."""
    effects: PairEffects | Additions | None = None
    """What tasks do to each other in pairs, where these predict orders: with heads or classes of their own."""
    learned: Prefix = ()
    """Tasks that come before."""
    level: Floats | float = 0.0
    """(P,) how much more is known in the mean over orders at the retention of the real run."""

    def knowledge(self, orders: Ints) -> Floats:
        """(n, P) what is known after each of n orders of equal length."""
        if self.effects is not None:
            return self.effects.knowledge(orders, self.start, self.learned)
        known = knowledge_after(self.table, orders, self.retention, self.start)
        if self.beyond and orders.shape[1] > 1:
            P = len(self.table)
            added = np.zeros((P, P, P))
            for pair, more in self.beyond.items():
                added[pair] = more
            known += added[orders[:, -2], orders[:, -1]]
        return known + self.level

    def path(self, order: Sequence[int]) -> Floats:
        """(n + 1, P) what is known before the first task of an order and after each one."""
        prefixes = (np.array([order[:count]], dtype=np.int64) for count in range(len(order) + 1))
        return np.concatenate([self.knowledge(prefix) for prefix in prefixes])

    @property
    def much_kept(self) -> bool:
        """Whether the learner keeps more than orders are compared with."""
        return bool(np.any(self.level))

    @property
    def share(self) -> float:
        """The part of predicted differences between orders that real runs show."""
        return 1.0 if self.effects is None else self.effects.share

    def score(self, orders: Ints) -> Floats:
        """(n,) weighted mean knowledge after each order."""
        return np.asarray(self.knowledge(orders) @ self.weights)

    @property
    def unit(self) -> str:
        """What `outcome` is."""
        return "score" if self.guess is None else "accuracy"

    def outcomes(self, orders: Ints) -> Floats:
        """(n, P) predicted accuracy of every task after each order; its knowledge where accuracies are unknown."""
        known = np.minimum(self.knowledge(orders), 1.0)
        return known if self.guess is None else np.maximum(self.guess + (1 - self.guess) * known, 0.0)

    def outcome(self, orders: Ints) -> Floats:
        """(n,) weighted mean of the outcomes."""
        return np.asarray(self.outcomes(orders) @ self.weights)


def fitted_law(pilot: Pilot, part: Part | None = None) -> FittedLaw:
    """The law as some of the seeds and examples of a pilot show it; all where `part` is left out."""
    measured = pilot.measured
    row = {sequence: index for index, sequence in enumerate(measured.sequences)}
    P = measured.losses.shape[2]
    alone = [row[(task,)] for task in range(P)]
    losses, chance, accuracy = (None if each is None else each.mean(axis=0) for each in measured.drawn(part))
    assert losses is not None
    assert chance is not None
    known = measured.knowledge(part).mean(axis=0)
    counts = measured.counts if part is None or part[1] is None else tuple(len(rows) for rows in part[1])
    guess = None if accuracy is None else measured.guess
    weights = np.ones(P) if pilot.weights is None else pilot.weights
    weights = weights / weights.sum()
    by_sequence = dict(zip(measured.sequences, known, strict=True))
    if pilot.heads:
        effects = PairEffects.of(by_sequence, P)
        return _by_pairs(effects, np.diag(effects.alone), pilot, weights, guess)
    if pilot.fade is not None and len(by_sequence) > P:
        additions = Additions.of(by_sequence, P, fade=pilot.fade, share=pilot.share)
        return _by_pairs(additions, np.minimum(additions.alone, 1.0), pilot, weights, guess)
    rows = learned_rows(by_sequence, P, pilot.on_sample)
    if accuracy is None or counts is None or measured.guess is None:
        table, kept = transfer_table(rows), 1.0
    else:
        tables = losses[alone], chance[alone], accuracy[alone]
        table, kept = _table(*tables, 1 / measured.guess, counts, pilot.sizes, rows)
    # nobody knows more than all, but tasks that help each other (or noise) can make it look so
    table = np.minimum(table, 1.0)
    beyond: dict[Prefix, Floats] = {}
    for pair in (sequence for sequence in row if len(sequence) == 2 and pilot.carried):
        predicted = final_knowledge(table, pair, pilot.on_sample)
        beyond[pair] = pilot.carried * (known[row[pair]] - predicted)
    compared = np.minimum(pilot.retention, COMPARED_AT)
    start = pilot.start if pilot.start is not None else final_knowledge(table, pilot.learned, compared)
    level = _level(table, pilot, start, compared)
    return FittedLaw(table, compared, start, weights, beyond, kept, guess, learned=pilot.learned, level=level)


def _level(table: Floats, pilot: Pilot, start: Floats, compared: Floats) -> Floats | float:
    """(P,) how much more is known at the retention of the real run than at that for comparing orders."""
    if (compared == pilot.retention).all():
        return 0.0
    tasks = np.setdiff1d(np.arange(len(table)), pilot.learned)
    tasks = tasks[np.argsort(table[tasks].sum(axis=1), kind="stable")]  # in whatever order they were given
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(tasks) for _ in range(max(1, LEVEL_ORDERS // len(tasks)))]
    orders = np.array([np.roll(order, shift) for order in drawn for shift in range(len(tasks))])  # all at all positions
    more, less = (knowledge_after(table, orders, d, start) for d in (pilot.retention, compared))
    return np.asarray((more - less).mean(axis=0))


def _by_pairs(
    effects: PairEffects | Additions, table: Floats, pilot: Pilot, weights: Floats, guess: Floats | None
) -> FittedLaw:
    """The law where a network knows nothing of heads or classes that it has not trained."""
    nothing = np.zeros(len(weights))
    start = effects.knowledge(np.array([pilot.learned], dtype=np.int64).reshape(1, -1), nothing)[0]
    start = start if pilot.start is None else pilot.start
    return FittedLaw(table, pilot.retention, start, weights, {}, 1.0, guess, effects, pilot.learned)


def learned_rows(known: Mapping[Prefix, Floats], num_tasks: int, retention: Floats) -> Floats:
    """(P, P) what each task teaches by itself, from every sequence that ends with it and what was known before that.

    known: after each sequence. retention: (P,) of the learner that was measured.

    >>> alone, after = np.array([0.8, 0.2]), np.array([0.4, 0.95])
    >>> known = {(0,): alone, (1,): np.array([0.3, 0.9]), (0, 1): after}
    >>> learned_rows(known, 2, np.array([0.0, 0.0]))
    array([[0.8  , 0.2  ],
           [0.35 , 0.925]])
    """
    rows, weights = np.zeros((num_tasks, num_tasks)), np.zeros(num_tasks)
    for sequence, after in known.items():
        k = sequence[-1]
        kept = retention[k] * known[sequence[:-1]] if len(sequence) > 1 else np.zeros(num_tasks)
        gap = 1 - kept[k]
        rows[k] += gap * (after - kept)
        weights[k] += gap**2
    return rows / weights[:, None]


def _table(
    losses: Floats,
    chance: Floats,
    accuracy: Floats,
    classes: Floats,
    counts: tuple[int, ...],
    sizes: Floats | None,
    rows: Floats,
) -> tuple[Floats, float]:
    """The shrunken table; a row that was learned from more examples than others is shrunken less."""
    if sizes is None:
        return shrunken_table(losses, chance, accuracy, counts, classes, known=rows)
    table, kept = np.empty_like(losses), np.empty(len(losses))
    for size in np.unique(sizes):
        few = sizes == size
        some, share = shrunken_table(losses, chance, accuracy, np.minimum(size, counts), classes, known=rows)
        table[few], kept[few] = some[few], share
    return table, float(kept.mean())
