"""The retention of a learner, from pairs of tasks that it learned one after the other.

The law (theory/law.py) says what is known after task i and then task k:

    M_ik = m_k + d (m_i - m_k m_ik)

with m_i the knowledge after i alone. Over pairs and tasks j other than k, d is the slope of y = M_ikj - m_kj on
x = m_ij - m_kj m_ik. Noise in x pulls a least-squares slope down, and m_kj is in x and in y. So x is measured twice,
on halves of the examples and with different seeds, and the second one is the instrument of the first:

    d = sum(x' y) / sum(x' x)

which noise does not bias as long as it is independent between the two. The interval comes from resampled pairs,
examples and seeds.

Where each task has a head or classes of its own (`own`), M_ik says something of those of i and k alone: then x = m_ii
and y = M_iki.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, Ints, counted
from taskorder.planning.measurements import Measurements, Part, halves
from taskorder.prefixes import Prefix
from taskorder.theory.law import PLAIN_RETENTION, checked_retention
from taskorder.theory.steps import retention_for_steps

SPLITS = 10
"""Random halves that an estimate is the mean of."""
DRAWS = 200
"""Resamples for the interval."""
RELIABLE_LEAST = 0.1
"""Share of the variance of x that is no noise; below this, pairs cannot tell d."""
WIDEST = 0.9
"""An interval wider than this says nothing about d."""


MOST_RETAINED = 0.999
"""A learner that keeps all is the paper's theory, which needs a symmetric similarity."""


class Retention(NamedTuple):
    """The retention of a learner and its 90 % interval.

    Examples
    --------
    >>> Retention(0.09, 0.06, 0.12, 10).sentence
    'keeps 9 % [6, 12] of what it knew when the next task is learned (measured on 10 pairs)'
    """

    value: float
    low: float
    high: float
    num_pairs: int = 0
    """Pairs that it was measured on; 0 where it was given or assumed."""
    given: bool = False
    """Whether a person said so."""

    @property
    def sentence(self) -> str:
        """What a person understands."""
        source = "given" if self.given else "assumed"
        if self.num_pairs:
            source = f"measured on {counted(self.num_pairs, 'pair')}"
        interval = f" [{100 * self.low:.0f}, {100 * self.high:.0f}]" if self.num_pairs else ""
        share = f"{100 * self.value:.0f} %{interval}"
        return f"keeps {share} of what it knew when the next task is learned ({source})"


def sampled_pairs(tasks: Sequence[int], num_pairs: int, rng: np.random.Generator) -> list[Prefix]:
    """Ordered pairs, every task first and second about equally often.

    >>> sampled_pairs([0, 1, 2], 6, np.random.default_rng(0))
    [(2, 1), (0, 2), (1, 0), (2, 0), (0, 1), (1, 2)]
    """
    mixed = rng.permutation(np.asarray(tasks)).tolist()
    P = len(mixed)
    shifts = 1 + rng.permutation(P - 1)
    pairs: list[Prefix] = [(mixed[place], mixed[(place + shift) % P]) for shift in shifts for place in range(P)]
    return pairs[:num_pairs]


def retention_from_pairs(
    measured: Measurements, *, draws: int = DRAWS, seed: int = 0, own: bool = False
) -> Retention | None:
    """The retention in the pairs that were measured, with its interval; None if they cannot tell it.

    measured: every task of a pair alone, and the pairs. With one seed and no single examples noise is not corrected.
    """
    pairs = np.array([sequence for sequence in measured.sequences if len(sequence) == 2], dtype=np.int64)
    if not len(pairs):
        return None
    rng = np.random.default_rng(seed)
    splits = [
        _moments(measured, pairs, *halves(measured, rng), own=own) for _ in range(SPLITS if measured.counts else 1)
    ]
    yx, xx, raw = np.mean(splits, axis=0).sum(axis=1)
    if raw <= 0 or xx < RELIABLE_LEAST * raw:
        return None
    slopes = []
    for _ in range(draws):
        some = _moments(measured, pairs, *halves(measured, rng, again=True), rng, own=own)
        # a task is in several pairs, which are therefore resampled by their tasks
        weight = rng.exponential(size=pairs.max() + 1)
        by_pair = np.sqrt(weight[pairs[:, 0]] * weight[pairs[:, 1]])
        slopes.append((some[0] @ by_pair, some[1] @ by_pair))
    numerator, denominator = np.array(slopes).T
    if np.quantile(denominator, 0.05) <= 0:
        return None
    value = float(np.clip(yx / xx, 0.0, 1.0))
    ends = np.quantile(numerator / denominator, [0.05, 0.95])
    if measured.num_seeds > 1:
        # few seeds cannot be resampled well: wider by this, 80 to 100 % of intervals held the truth in simulations
        few = measured.num_seeds / (measured.num_seeds - 1)
        ends = value + (ends - value) * (few if measured.counts is None else np.sqrt(few))
    low, high = np.clip(ends, 0.0, 1.0).tolist()
    low, high = min(low, value), max(high, value)
    return None if high - low > WIDEST else Retention(value, low, high, len(pairs))


def _moments(
    measured: Measurements,
    pairs: Ints,
    one: Part,
    other: Part,
    rng: np.random.Generator | None = None,
    *,
    own: bool = False,
) -> Floats:
    """(3, pairs) sums over tasks and seeds of x' y, x' x and, with its noise, x^2; of resampled seeds with an `rng`."""
    S = measured.num_seeds
    drawn = np.arange(S) if rng is None or S < 3 else rng.integers(S, size=S)
    while S >= 3 and (drawn == drawn[0]).all() and rng is not None:
        drawn = rng.integers(S, size=S)
    x, y = _regression(measured, pairs, one, own=own)
    again, again_y = (x, y) if measured.counts is None else _regression(measured, pairs, other, own=own)
    # two draws of the same seed are not independent; a single seed has only its halves
    apart = (drawn[:, None] != drawn[None, :]) if S > 1 else np.ones((1, 1), dtype=bool)
    x, y, again, again_y = x[drawn], y[drawn], again[drawn], again_y[drawn]
    count = apart.sum()
    yx = np.einsum("st,spj,tpj->p", apart, again, y) + np.einsum("st,spj,tpj->p", apart, x, again_y)
    xx = np.einsum("st,spj,tpj->p", apart, again, x) + np.einsum("st,spj,tpj->p", apart, x, again)
    raw = (x**2).sum(axis=(0, 2)) / S
    return np.stack([yx / 2 / count, xx / 2 / count, raw])


def _regression(measured: Measurements, pairs: Ints, part: Part, *, own: bool = False) -> tuple[Floats, Floats]:
    """(S, pairs, P) x and y of each pair and task; 0 for the second task of the pair, and with `own` for all but the
    first."""
    known = measured.knowledge(part)
    row = {sequence: index for index, sequence in enumerate(measured.sequences)}
    i, k = pairs.T
    first, second = ([row[(task,)] for task in column.tolist()] for column in (i, k))
    m_i, m_k = known[:, first], known[:, second]
    both = known[:, [row[pair] for pair in map(tuple, pairs.tolist())]]
    m_ik = np.take_along_axis(m_i, np.broadcast_to(k[None, :, None], (len(known), len(k), 1)), axis=2)
    if own:
        first_only = np.arange(known.shape[2]) == i[:, None]
        return m_i * first_only, both * first_only
    x, y = m_i - m_k * m_ik, both - m_k
    x[:, np.arange(len(k)), k] = y[:, np.arange(len(k)), k] = 0.0
    return x, y


class Kept(NamedTuple):
    """The retention of every task, in the real run and on the pilot."""

    real: Floats
    """(P,)"""
    on_sample: Floats
    """(P,)"""
    sentence: str
    """What a person understands."""


def kept(
    measured: Measurements,
    sizes: ArrayLike | None,
    sample_sizes: ArrayLike | None,
    given: ArrayLike | Mapping[str, float] | None = None,
    names: Sequence[str] = (),
    *,
    used_sizes: ArrayLike | None = None,
    seed: int = 0,
    own: bool = False,
) -> Kept:
    """The retention that a person gave, or that pairs show, or else that of plain networks.

    sizes, sample_sizes: (P,) examples of each task in the real run and in the pilot; None where tasks have no data.
    used_sizes: examples of the samples that `on_sample` is about, where these are others.
    Tasks that train longer keep less (theory/steps.py): so do all tasks in the real run, beside the pilot.
    """
    P = measured.losses.shape[2]
    found = retention_from_pairs(measured, seed=seed, own=own)
    if found is not None:
        found = found._replace(value=min(found.value, MOST_RETAINED))
    if given is not None:
        real = np.minimum(checked_retention(given, P, names), MOST_RETAINED)
        one = Retention(float(real.mean()), float(real.min()), float(real.max()), given=True)
        return Kept(real, np.full(P, found.value) if found else real, _sentence(one))
    known = found or Retention(PLAIN_RETENTION, 0.0, 1.0)
    if sizes is None or sample_sizes is None:
        return Kept(np.full(P, known.value), np.full(P, known.value), _sentence(known))
    # pairs were measured on the sample; what is usual for plain networks is so in real runs
    middle = float(np.exp(np.log(sizes if found is None else sample_sizes).mean()))
    real = retention_for_steps(sizes, known.value, middle)
    on_sample = retention_for_steps(sample_sizes if used_sizes is None else used_sizes, known.value, middle)
    return Kept(real, on_sample, _sentence(known, float(real.mean())))


def _sentence(known: Retention, real: float | None = None) -> str:
    text = f"the learner {known.sentence}"
    if real is not None and abs(real - known.value) >= 0.01:
        text += f"; about {100 * real:.0f} % when it trains on all examples"
    if not known.num_pairs and not known.given:
        text += ": the usual value of plain networks, for lack of pairs that tell"
    return text
