"""Every rule against the whole truth: all 120 orders of every task set, so that a rule's order has a place among them.

A question of ours. Rules choose by zero-shot transfer to test data, as in the paper; pairwise preference (Lad et al.
2009) also by every pair of tasks learned in both orders, and the paths of Bell and Lawrence (2022) by curvature. The
best order is known only after the fact, and part of its lead is luck: see noise-ceiling.

What the last task explains, and what ending with the most typical task is worth, we asked after the first picture of
all orders had shown blocks of orders that end alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reproduction import Figure
from reproduction.claims import Claim, FigureData, inside
from reproduction.image_claims import Number, difference, mean_number, ratio_number, share_number, untested
from reproduction.image_panels import dots
from reproduction.image_results import (
    CURVATURE,
    LAST,
    ONE,
    PAIRS,
    PATHS,
    TYPICALITY,
    Scores,
    Sets,
    gains_by_last,
    headroom,
    one_way,
    position_shares,
    rank_correlations,
    scores,
)
from reproduction.image_runs import BATCH, Shared, progress_notes, run_batch, sets_by_part, specs
from taskorder.checks import Floats
from taskorder.ordering.candidates import CURVATURE_PATHS, PAIRWISE

ESTIMATE = "test"
RULES = {
    TYPICALITY[0]: (ESTIMATE, TYPICALITY[0]),
    LAST: (ESTIMATE, LAST),
    PATHS[0]: (ESTIMATE, PATHS[0]),
    one_way(PATHS[0]): (ESTIMATE, one_way(PATHS[0])),
    "optimal": (ESTIMATE, "optimal"),
    "first-order": (ESTIMATE, "first-order"),
    "greedy": (ESTIMATE, "greedy"),
    "pairwise, zero-shot": (ESTIMATE, PAIRWISE),
    "pairwise, trained": (PAIRS, PAIRWISE),
    "longest curvature": (CURVATURE, CURVATURE_PATHS[0]),
    ONE: (ESTIMATE, ONE),
    "shortest curvature": (CURVATURE, CURVATURE_PATHS[1]),
    PATHS[1]: (ESTIMATE, PATHS[1]),
    TYPICALITY[1]: (ESTIMATE, TYPICALITY[1]),
}
"""By what we call it, the estimate that a rule chooses by and its name there."""
OPPOSITES = ("shortest curvature", PATHS[1], TYPICALITY[1])
"""Expected below the mean order."""
BEST = "best order"


@dataclass(frozen=True)
class Config(Shared):
    """Settings: the number of task sets of each part, with all orders."""

    fashion_mnist: int = 100
    cifar10: int = 30
    cifar100_p5: int = 100
    cifar100_25labels: int = 100


QUICK = Config(
    fashion_mnist=4, cifar10=0, cifar100_p5=0, cifar100_25labels=0,
    similarities=("test", "curvature"), fraction=0.02, min_sets=4,
)  # fmt: skip


def figure(config: Config, results: Sequence[dict[str, Any] | None]) -> FigureData:
    """For every rule and data set: gain, percentile, share of task sets and rank correlation."""
    sets = sets_by_part(config, results)
    there = [part for part in sets.values() if part.enough and part.whole and part.has(ESTIMATE)]
    by_rule = {part.label: scores_by_rule(part) for part in there}
    gains = {
        part.label: {rule: mean_number(result.gain) for rule, result in by_rule[part.label].items()}
        | {BEST: mean_number(headroom(part))}
        for part in there
    }
    percentiles = _table(by_rule, lambda result: mean_number(result.percentile))
    wins = _table(by_rule, lambda result: share_number(result.gain, 0 * result.gain))
    ranks = {part.label: {rule: mean_number(r) for rule, r in ranks_by_rule(part).items()} for part in there}
    places = {part.label: _by_rank(position_shares(part), "first", "last") for part in there}
    ends = {part.label: _by_rank(gains_by_last(part, ESTIMATE), "least", "most") for part in there}
    panels = (
        dots("Gain", "points above the mean order", gains, 0.0),
        dots("Place", "percentile among all orders", percentiles, 50.0),
        dots("Wins", "share of task sets above the mean order", wins, 0.5),
        dots("Rank correlation of a rule's score of all orders", "Spearman correlation with accuracy", ranks, 0.0),
        dots("What each position explains alone", "share of the variance over all orders", places, 0.0),
        dots("Ending with the least to the most typical task", "points above the mean order", ends, 0.0),
    )
    return FigureData(
        name="truth",
        title="Every rule among all orders of its tasks",
        panels=panels if there else (),
        claims=tuple(claim for part in sets.values() for claim in _claims(part)),
        config=asdict(config),
        columns=2,
        notes=(*progress_notes(config, sets), *(_headroom(part) for part in there)),
    )


def _by_rank(values: Floats, first: str, last: str) -> dict[str, Number]:
    """Mean over task sets of each column of a (sets, P) table."""
    names = [first, *(f"{place}." for place in range(2, values.shape[1])), last]
    return {name: mean_number(column) for name, column in zip(names, values.T, strict=True)}


def _table(
    by_rule: Mapping[str, Mapping[str, Scores]], number: Callable[[Scores], Number]
) -> dict[str, dict[str, Number]]:
    return {label: {rule: number(result) for rule, result in results.items()} for label, results in by_rule.items()}


def scores_by_rule(sets: Sets) -> dict[str, Scores]:
    """What each of `RULES` gave, where its estimate was measured."""
    return {
        label: scores(sets, estimate)[rule]
        for label, (estimate, rule) in RULES.items()
        if estimate == PAIRS or sets.has(estimate)
    }


def ranks_by_rule(sets: Sets) -> dict[str, Floats]:
    """(sets,) rank correlations of those of `RULES` that have a score for every order; the opposites' are mirrored."""
    return {
        label: rank_correlations(sets, estimate)[rule]
        for label, (estimate, rule) in RULES.items()
        if (estimate == PAIRS or sets.has(estimate)) and rule in rank_correlations(sets, estimate)
    }


def _headroom(sets: Sets) -> str:
    lead = mean_number(headroom(sets))
    return f"{sets.label}: the best order is {lead.show()} points above the mean order."


def _claims(sets: Sets) -> list[Claim]:
    if not (sets.enough and sets.whole and sets.has(ESTIMATE)):
        return [untested(f"Rules are above the mean order; {sets.label}", "ours", sets, why="all orders are needed")]
    by_rule, ranks = scores_by_rule(sets), ranks_by_rule(sets)
    decided = [_place(sets, label, result) for label, result in by_rule.items() if label != ONE]
    for better, worse, words in (
        (TYPICALITY[0], LAST, f"{TYPICALITY[0]} is above all orders that end with the most typical task"),
        ("optimal", TYPICALITY[0], f"The closed-form optimum is above {TYPICALITY[0]}"),
        (one_way(PATHS[0]), PATHS[0], "Of the two directions of the longest path the planned one is the better"),
        ("longest curvature", "shortest curvature", "The longest curvature path is above the shortest"),
        ("pairwise, trained", "pairwise, zero-shot", "Trained pairs tell more than zero-shot transfer"),
    ):
        if better in by_rule and worse in by_rule:
            claim = f"{words}; {sets.label}"
            decided.append(difference(claim, "ours", sets, by_rule[better].accuracy, by_rule[worse].accuracy))
    return [*decided, _last_task(sets), *(_rank(sets, label, values) for label, values in ranks.items())]


def _last_task(sets: Sets) -> Claim:
    """The share of the variance over orders that the last task explains is above a half."""
    shares = position_shares(sets)
    last, first = mean_number(shares[:, -1]), mean_number(shares[:, 0])
    text = f"{last.percent()}; the first task {first.percent()}; {sets.count_words}"
    claim = f"The last task alone explains most of how orders differ; {sets.label}"
    return Claim(claim, "ours", text, *last, inside(last, above=0.5))


def _place(sets: Sets, label: str, result: Scores) -> Claim:
    """A rule above the mean order, an opposite below it, with its place among all orders."""
    gain, share = mean_number(result.gain), ratio_number(result.gain, headroom(sets))
    won = share_number(result.gain, 0 * result.gain)
    text = (
        f"{gain.show(sign=True)} points, {share.percent()} of the best order's lead; percentile "
        f"{mean_number(result.percentile).show(0)}; above on {won.percent()} of {sets.count_words}"
    )
    side, bounds = ("below", {"below": 0.0}) if label in OPPOSITES else ("above", {"above": 0.0})
    return Claim(f"{label} is {side} the mean order; {sets.label}", "ours", text, *gain, inside(gain, **bounds))


def _rank(sets: Sets, label: str, values: Floats) -> Claim:
    """The score of a rule ranks orders."""
    mean = mean_number(values)
    text = f"mean rank correlation {mean.show(sign=True)} over {sets.count_words}"
    claim = f"The score of {label} ranks all orders of a set by their accuracy; {sets.label}"
    return Claim(claim, "ours", text, *mean, inside(mean, above=0))


FIGURES = (Figure("truth", Config(), QUICK, specs, run_batch, figure, BATCH),)
