"""Claims about rules on image task sets, decided by 95 % intervals over task sets (bootstrap; Jeffreys for shares).

A percentile bootstrap of few values is too narrow: its level is raised as for Student's t (Hesterberg 2015, "What
teachers should know about the bootstrap", expanded percentile interval).

Differences and ratios compare rules on the same task sets, and resample whole sets. Thresholds for what the paper says
in words ("comparable", "nearly identical", "small") were fixed before any of these ratios was computed, and before
CIFAR-100 was run; but the mean gains on Fashion-MNIST and on the first twelve sets of CIFAR-10 had been seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reproduction.claims import Claim, Verdict, inside, verdict
from reproduction.image_results import MEAN, PATHS, TYPICALITY, Sets, scores
from taskorder.checks import Floats
from taskorder.stats import bootstrap_interval, share_interval

COMPARABLE = 0.8
"""A gain is comparable to another one when it is more than this share of it."""
IDENTICAL = 0.1
"""Gains are nearly identical when their ratio is within this of 1."""
SMALL = 0.5
"""The lead of one rule over another is small below this share of the leader's gain."""
EVIDENT = 0.1
"""A share of task sets that grows by less than this does not evidently grow."""
PAPER_SETS = 100
"""With fewer task sets than the paper had, an interval around 0 does not confirm that there is no effect."""
DRAWS = 20_000


class Number(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def show(self, digits: int = 2, sign: bool = False) -> str:
        """As text."""
        plus = "+" if sign else ""
        return f"{self.value:{plus}.{digits}f} [{self.low:{plus}.{digits}f}, {self.high:{plus}.{digits}f}]"

    def percent(self) -> str:
        """A share as text."""
        return f"{100 * self.value:.0f} % [{100 * self.low:.0f}, {100 * self.high:.0f}]"


def expanded_level(count: int) -> float:
    """The level at which a percentile bootstrap of `count` values has the width of a 95 % interval.

    >>> round(expanded_level(1000), 3), round(expanded_level(5), 3)
    (0.95, 0.998)
    """
    from scipy.special import ndtr, stdtrit

    return float(2 * ndtr(np.sqrt(count / (count - 1)) * stdtrit(count - 1, 0.975)) - 1)


def mean_number(values: Floats) -> Number:
    """Mean over task sets."""
    level = expanded_level(len(values))
    return Number(float(values.mean()), *bootstrap_interval(values, lambda x: np.asarray(x.mean(axis=1)), level=level))


def ratio_number(top: Floats, bottom: Floats) -> Number:
    """Ratio of two means over the same task sets; of use only where the second is clearly above 0."""

    def ratio(pairs: Floats) -> Floats:
        means = pairs.mean(axis=-2)
        return np.asarray(means[..., 0] / means[..., 1])

    pairs = np.column_stack([top, bottom])
    return Number(float(ratio(pairs)), *bootstrap_interval(pairs, ratio, level=expanded_level(len(pairs))))


def share_number(better: Floats, worse: Floats) -> Number:
    """The share of task sets on which `better` is more accurate; a tie counts half."""
    wins = float((better > worse).sum() + (better == worse).sum() / 2)
    return Number(wins / len(better), *share_interval(wins, len(better)))


def untested(claim: str, source: str, *sets: Sets, why: str = "these similarities were not measured") -> Claim:
    """The check that too few runs leave; `why` where they are enough, but lack something."""
    short = [part for part in sets if not part.enough]
    few = "; ".join(f"{part.label}: {part.count_words}; a claim needs {part.min_sets}" for part in short)
    return Claim(claim, source, few or why, None, None, None, "not tested")


def above(claim: str, source: str, sets: Sets, estimate: str, better: str, worse: str = MEAN) -> Claim:
    """`better` has the higher mean accuracy: the interval of the difference, in points, lies above 0."""
    if not (sets.enough and sets.has(estimate)):
        return untested(claim, source, sets)
    by_rule = scores(sets, estimate)
    return difference(claim, source, sets, by_rule[better].accuracy, by_rule[worse].accuracy)


def difference(claim: str, source: str, sets: Sets, better: Floats, worse: Floats, more: str = "") -> Claim:
    """The same for two lists of accuracies."""
    lead = mean_number(better - worse)
    text = f"{lead.show(sign=True)} points; wins on {share_number(better, worse).percent()} of {sets.count_words}{more}"
    return Claim(claim, source, text, *lead, inside(lead, above=0))


def comparable(claim: str, source: str, sets: Sets, rule: str, estimate: str, whole: str) -> Claim:
    """The gain of a rule by `estimate` is more than `COMPARABLE` of its gain by `whole`."""
    return _ratio(claim, source, sets, rule, estimate, whole, COMPARABLE, np.inf)


def identical(claim: str, source: str, sets: Sets, rule: str, estimate: str, whole: str) -> Claim:
    """The gain of a rule by `estimate` is within `IDENTICAL` of its gain by `whole`."""
    return _ratio(claim, source, sets, rule, estimate, whole, 1 - IDENTICAL, 1 + IDENTICAL)


def _ratio(claim: str, source: str, sets: Sets, rule: str, estimate: str, whole: str, low: float, high: float) -> Claim:
    if not (sets.enough and sets.has(estimate) and sets.has(whole)):
        return untested(claim, source, sets)
    part, all_of_it = (scores(sets, name)[rule].gain for name in (estimate, whole))
    gains = [mean_number(gain) for gain in (part, all_of_it)]
    words = f"{gains[0].show(sign=True)} points by {estimate}, {gains[1].show(sign=True)} by {whole}"
    if gains[1].low <= 0:
        text = f"{words}: no gain to compare with; {sets.count_words}"
        return Claim(claim, source, text, None, None, None, "undecided")
    ratio = ratio_number(part, all_of_it)
    text = f"{ratio.show()} of the gain ({words}); {sets.count_words}"
    return Claim(claim, source, text, *ratio, inside(ratio, above=low, below=high))


def not_significant(claim: str, source: str, sets: Sets, rule: str, estimate: str) -> Claim:
    """The interval of the gain contains 0, with as many task sets as the paper had; excluding 0 shows the opposite."""
    if not (sets.enough and sets.has(estimate)):
        return untested(claim, source, sets)
    gain = mean_number(scores(sets, estimate)[rule].gain)
    text = f"{gain.show(sign=True)} points over the mean order; {sets.count_words}"
    contains = gain.low <= 0 <= gain.high
    return Claim(claim, source, text, *gain, verdict(contains and len(sets.truths) >= PAPER_SETS, not contains))


def slightly_above(claim: str, source: str, sets: Sets, estimate: str, better: str, worse: str) -> Claim:
    """`better` leads, by less than `SMALL` of its own gain."""
    if not (sets.enough and sets.has(estimate)):
        return untested(claim, source, sets)
    ahead, behind = (scores(sets, estimate)[rule] for rule in (better, worse))
    lead, gain = mean_number(ahead.gain - behind.gain), float(ahead.gain.mean())
    won = share_number(ahead.accuracy, behind.accuracy)
    text = f"{lead.show(sign=True)} points of a gain of {gain:.2f}; wins on {won.percent()} of {sets.count_words}"
    return Claim(claim, source, text, *lead, inside(lead, above=0, below=SMALL * max(gain, 0.0)))


def share_grows(
    claim: str, source: str, few: Sets, many: Sets, estimate: str, pair: tuple[str, str], *, evident: bool
) -> Claim:
    """The share of task sets that the first of `pair` wins is larger in `many`; or, not `evident`, hardly so."""
    if not (few.enough and many.enough and few.has(estimate) and many.has(estimate)):
        return untested(claim, source, few, many)
    won = [_wins(part, estimate, pair) for part in (few, many)]
    growth = _between(won[0], won[1])
    points = [mean_number(_lead(part, estimate, pair)).show(sign=True) for part in (few, many)]
    text = (
        f"share of sets won {won[0][0] / won[0][1]:.2f} for {few.label} and {won[1][0] / won[1][1]:.2f} for "
        f"{many.label}: {growth.show(sign=True)}; lead {points[0]} and {points[1]} points"
    )
    decided: Verdict = inside(growth, above=0) if evident else verdict(growth.high < EVIDENT, growth.low > 0)
    return Claim(claim, source, text, *growth, decided)


def share_smaller(claim: str, source: str, less: Sets, more: Sets, estimate: str, pair: tuple[str, str]) -> Claim:
    """The share of task sets that the first of `pair` wins is smaller in `less` than in `more`."""
    if not (less.enough and more.enough and less.has(estimate) and more.has(estimate)):
        return untested(claim, source, less, more)
    won = [_wins(part, estimate, pair) for part in (less, more)]
    gap = _between(won[1], won[0])
    shares = [f"{wins / trials:.2f} on {part.label}" for (wins, trials), part in zip(won, (less, more), strict=True)]
    text = f"share of sets won {', '.join(shares)}: {gap.show(sign=True)}"
    return Claim(claim, source, text, *gap, inside(gap, below=0))


def lead_smaller(claim: str, source: str, less: Sets, more: Sets, estimate: str, pair: tuple[str, str]) -> Claim:
    """The first of `pair` leads the second by fewer points in `less` than in `more`."""
    if not (less.enough and more.enough and less.has(estimate) and more.has(estimate)):
        return untested(claim, source, less, more)
    leads = [_lead(part, estimate, pair) for part in (less, more)]
    rng = np.random.default_rng(0)
    spread = [lead[rng.integers(0, len(lead), (DRAWS, len(lead)))].mean(axis=1) for lead in leads]
    tail = (1 - expanded_level(min(map(len, leads)))) / 2
    low, high = np.quantile(spread[0] - spread[1], [tail, 1 - tail])
    gap = Number(float(leads[0].mean() - leads[1].mean()), float(low), float(high))
    each = [
        f"{mean_number(lead).show(sign=True)} on {part.label}" for lead, part in zip(leads, (less, more), strict=True)
    ]
    return Claim(claim, source, f"{', '.join(each)}: {gap.show(sign=True)} points", *gap, inside(gap, below=0))


def _lead(sets: Sets, estimate: str, pair: tuple[str, str]) -> Floats:
    better, worse = (scores(sets, estimate)[rule].accuracy for rule in pair)
    return np.asarray(better - worse)


def _wins(sets: Sets, estimate: str, pair: tuple[str, str]) -> tuple[float, int]:
    better, worse = (scores(sets, estimate)[rule].accuracy for rule in pair)
    return share_number(better, worse).value * len(better), len(better)


def _between(first: tuple[float, int], second: tuple[float, int]) -> Number:
    """How much larger the second share is, for independent task sets."""
    rng = np.random.default_rng(0)
    draws = [rng.beta(wins + 0.5, trials - wins + 0.5, DRAWS) for wins, trials in (first, second)]
    low, high = np.quantile(draws[1] - draws[0], [0.025, 0.975])
    return Number(second[0] / second[1] - first[0] / first[1], float(low), float(high))


def pair_claims(sets: Sets, estimate: str, sources: Sequence[str], where: str = "") -> list[Claim]:
    """Each rule above its opposite and above the mean order; `sources` are those of the two pairs of rules."""
    return [
        above(f"{rule} is above {words}; {sets.label}{where}", source, sets, estimate, rule, worse)
        for source, (rule, opposite) in zip(sources, (TYPICALITY, PATHS), strict=True)
        for worse, words in ((opposite, opposite), (MEAN, "the mean order"))
    ]
