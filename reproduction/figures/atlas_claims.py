"""The claims of `atlas`: in which cells order matters, what lowers the spread, and what predictions earn.

What is asked and how it is decided was fixed before a result was looked at (`reproduction/figures/atlas.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction.atlas import STRATEGIES, AtlasCell
from reproduction.atlas_results import ALL_PAIRS, LAST_PAIR, RUN_ENDING, CellResult, mean_root, over_sets, slope
from reproduction.claims import Claim, inside
from reproduction.fitting import rank_correlation
from reproduction.law_results import CLOSED, ERROR, LAST_ROW, LAW, PATH, ROW_SORT, RUN, SHRUNKEN, TYPICAL
from taskorder.checks import Floats
from taskorder.runs.settings import JOINT
from taskorder.strategies import BY_CLASS, BY_TASK, SHARED

OURS = "ours"
MATTERS = 1.0
"""Points: order matters where the best order of another run earns more."""
RETAINED = 0.5
"""Retention above which it is asked whether the score or the error is the better objective."""
MIN_CELLS = 6
"""With fewer cells, a correlation over cells is not tested."""
DATA = {
    "fashion": "Fashion-MNIST",
    "cifar100": "CIFAR-100",
    "features": "frozen features",
    "cifar100-20tasks": "CIFAR-100, 20 tasks",
    "features-10tasks": "frozen features, 10 tasks",
    "features-20tasks": "frozen features, 20 tasks",
}
HEADS = {SHARED: "one head", BY_TASK: "a head a task", BY_CLASS: "all classes"}
WAYS = {
    "plain": "plain",
    "replay5": "replay of 5",
    "replay20": "replay of 20",
    "replay100": "replay of 100",
    "ewc": "EWC",
    "lwf": "distillation",
    JOINT: "mixed",
}
LOWERS = (("replay20", "plain"), ("ewc", "plain"), ("lwf", "plain"), ("replay20", "replay5"), ("replay100", "replay20"))
RULES = (LAST_ROW, ROW_SORT, TYPICAL, PATH, CLOSED, LAST_PAIR, ALL_PAIRS, RUN_ENDING)


def named(cell: AtlasCell) -> str:
    """Head and strategy of a cell in words."""
    return f"{HEADS[cell.head]}, {WAYS[cell.way]}"


def untested(text: str, why: str) -> Claim:
    """A claim that too few results leave."""
    return Claim(text, OURS, why, None, None, None, "not tested")


def cell_claims(result: CellResult, joint: CellResult | None) -> list[Claim]:
    """Whether order matters in a cell, what predictions earn there, and what mixing all tasks would give."""
    part, label = result.part, result.part.label
    text = f"Order matters by more than a point; {label}"
    if not part.enough:
        return [untested(text, f"{result.count} task sets; a claim needs {part.min_sets}")]
    claims = [_matters(text, result) if part.crossed else untested(text, f"one seed; {_spread(result)}")]
    leads = {other: result.report.gain(LAW) - result.report.gain(other) for other in (LAST_ROW, LAST_PAIR)
             if result.report.has(other)}  # fmt: skip
    claims.append(_above(f"The law's order is above the mean order; {label}", result.report.gain(LAW), _law(result)))
    claims += [_above(f"The law's order is above that of the {other}; {label}", lead) for other, lead in leads.items()]
    for name, pilot in result.pilots.items():
        words = ", ".join(f"{rule} {pilot.gain(rule).mean():+.2f}" for rule in (LAST_ROW, ROW_SORT, TYPICAL, CLOSED))
        earned = pilot.gain(SHRUNKEN)
        claims.append(_above(f"The law's order from a pilot of {name} is above the mean order; {label}", earned, words))
    if joint is not None and part.crossed:
        text = f"Mixing all tasks is above the best order of another run; {label}"
        claims.append(_paired(text, (joint, "accuracy"), (result, "best")))
    return claims


def _spread(result: CellResult) -> str:
    accuracy, spread = over_sets(result.accuracy), over_sets(result.variances, mean_root)
    return (
        f"accuracy {accuracy.show(1)} %, standard deviation over orders {spread.show()} points, "
        f"retention {result.retention.show()}; {result.count} sets"
    )


def _matters(text: str, result: CellResult) -> Claim:
    earned, shared = over_sets(result.report.gain(RUN)), over_sets(result.shared, mean_root)
    report = result.report
    ending = f"by its best ending {report.gain(RUN_ENDING).mean():+.2f}, " if report.has(RUN_ENDING) else ""
    found = (
        f"{earned.show(sign=True)} points by the best order of another run ({ending}by luck "
        f"{report.best.mean():+.2f}); shared standard deviation {shared.show()}; {_spread(result)}"
    )
    return Claim(text, OURS, found, *earned, inside(earned, above=MATTERS))


def _law(result: CellResult) -> str:
    """What the law explains, and what others earn."""
    report = result.report
    others = ", ".join(f"{rule} {report.gain(rule).mean():+.2f}" for rule in (ERROR, *RULES) if report.has(rule))
    explained = {rule: over_sets(report.explained(rule)).show() for rule in (LAW, ERROR, RUN) if report.has(rule)}
    return f"{others}; r^2 {', '.join(f'{rule} {value}' for rule, value in explained.items())}"


def _above(text: str, lead: Floats, more: str = "") -> Claim:
    number = over_sets(lead)
    found = f"{number.show(sign=True)} points{f' ({more})' if more else ''}; {len(lead)} sets"
    return Claim(text, OURS, found, *number, inside(number, above=0))


def comparisons(data: str, results: Sequence[CellResult]) -> list[Claim]:
    """What lowers the spread that seeds share, what orders and strategies are worth, and the law's objective."""
    by_name = {(result.cell.head, result.cell.way): result for result in results}
    claims = []
    for head in HEADS:
        for less, more in LOWERS:
            if (head, less) in by_name and (head, more) in by_name:
                text = f"With {WAYS[less]} order matters less than with {WAYS[more]}; {DATA[data]}, {HEADS[head]}"
                claims.append(_lowers(text, by_name[head, less], by_name[head, more]))
    for way in STRATEGIES:
        text = f"With {HEADS[BY_TASK]} order matters less than with {HEADS[SHARED]}; {DATA[data]}, {WAYS[way]}"
        claims.append(_lowers(text, by_name[BY_TASK, way], by_name[SHARED, way]))
    for head in HEADS:
        text = f"Replay of 20 in any order is above plain training in its best order; {DATA[data]}, {HEADS[head]}"
        claims.append(_paired(text, (by_name[head, "replay20"], "accuracy"), (by_name[head, "plain"], "best")))
    enough = [result for result in results if result.part.enough]
    return [*claims, _kept_and_spread(data, enough), objective_claim(data, enough)]


def _common(results: Sequence[CellResult]) -> list[int]:
    """The task sets that all of these have."""
    return sorted(set.intersection(*(set(result.numbers) for result in results))) if results else []


def _lowers(text: str, less: CellResult, more: CellResult) -> Claim:
    common = _common([less, more])
    if len(common) < less.part.min_sets:
        return _few(text, less, more)
    rows = np.column_stack([result.shared[result.at(common)] for result in (more, less)])
    gap = over_sets(rows, lambda of_sets: mean_root(of_sets[:, 0]) - mean_root(of_sets[:, 1]))
    before, after = (mean_root(column) for column in rows.T)
    found = f"{before:.2f} points to {after:.2f}: {gap.show(sign=True)} less; {len(common)} sets"
    return Claim(text, OURS, found, *gap, inside(gap, above=0))


def _paired(text: str, better: tuple[CellResult, str], worse: tuple[CellResult, str]) -> Claim:
    """One accuracy of a cell, mean or best, above one of another on the task sets that both have."""
    pair = better[0], worse[0]
    common = _common(pair)
    if len(common) < pair[0].part.min_sets:
        return _few(text, *pair)
    left, right = (getattr(result, accuracy)[result.at(common)] for result, accuracy in (better, worse))
    return _above(text, left - right, f"{left.mean():.1f} % and {right.mean():.1f} %")


def _few(text: str, *results: CellResult) -> Claim:
    there = "; ".join(f"{result.part.label}: {result.count} task sets" for result in results)
    return untested(text, f"{there}; a claim needs {results[0].part.min_sets}")


def _kept_and_spread(data: str, results: Sequence[CellResult]) -> Claim:
    """Whether retention and shared spread fall and rise together over cells."""
    text = f"Order matters less where more is kept; {DATA[data]}"
    common = _common(results)
    if len(results) < MIN_CELLS or len(common) < results[0].part.min_sets:
        return untested(text, f"{len(results)} cells with {len(common)} task sets in common; it needs {MIN_CELLS}")
    rows = np.stack([np.column_stack([result.shared, result.moments])[result.at(common)] for result in results], axis=1)

    def correlation(of_sets: Floats) -> float:
        kept = [slope(cell[:, 1:]) for cell in of_sets.transpose(1, 0, 2)]
        spread = [mean_root(cell[:, 0]) for cell in of_sets.transpose(1, 0, 2)]
        return rank_correlation(np.array(kept), np.array(spread))

    found = over_sets(rows, correlation)
    words = f"rank correlation {found.show(sign=True)} of {len(results)} cells; {len(common)} sets"
    return Claim(text, OURS, words, *found, inside(found, below=0))


def objective_claim(data: str, results: Sequence[CellResult]) -> Claim:
    """Whether score or error ranks orders better, over the cells that keep much and whose tables know other tasks."""
    text = f"Above retention {RETAINED} the score ranks orders better than the error; {DATA[data]}"
    kept = [result for result in results if result.cell.head != BY_TASK and result.retention.value > RETAINED]
    common = _common(kept)
    if not kept or len(common) < kept[0].part.min_sets:
        return untested(text, f"{len(kept)} cells with {len(common)} task sets in common keep so much")

    def mean_rank(rule: str) -> Floats:
        return np.asarray(np.mean([result.report.rank(rule)[result.at(common)] for result in kept], axis=0))

    lead = over_sets(mean_rank(LAW) - mean_rank(ERROR))
    where = ", ".join(f"{HEADS[result.cell.head]} {WAYS[result.cell.way]}" for result in kept)
    words = (
        f"rank correlations {mean_rank(LAW).mean():.2f} and {mean_rank(ERROR).mean():.2f}: {lead.show(sign=True)}; "
        f"{where}; {len(common)} sets"
    )
    return Claim(text, OURS, words, *lead, inside(lead, above=0))
