"""What the experiment on rules at scale decides.

Rules were fixed before the first run, but for one: that the best order found beats a random one was first asked of the
mean over a few matrices, and is now asked of every single one. How far a rule reaches was first told as the last place
where its mean crosses that of random orders, which noise moves up; now by the sizes with the interval on one side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from reproduction._claims import exact_check, inside, together
from taskorder.plots.figuredata import Check
from taskorder.stats import mean_and_sem, share_interval

Family = tuple[str, float]
"""Name and level of similarity."""
Cells = Mapping[tuple[Family, int], Sequence[Mapping[str, Any]]]
"""Errors by rule of each matrix, by family and number of tasks."""

CLEAR = 0.05
"""Two rules count as ranked by the closed form when their errors differ by more than this share."""


def name_of(family: Family) -> str:
    """As a title."""
    return (
        f"{family[0]}, {'a' if family[0] == 'chain' else 'level' if family[0] == 'clusters' else 'm'} = {family[1]:g}"
    )


def log_ratio(rows: Sequence[Mapping[str, Any]], rule: str, other: str) -> tuple[float, float, float]:
    """Mean over matrices of log(error of rule / error of other) and its 95 % interval by Student's t.

    A single matrix (a chain) is all there is: no error.
    """
    from scipy.special import stdtrit

    mean, sem = mean_and_sem(np.log([row[rule] / row[other] for row in rows]))
    half = float(stdtrit(len(rows) - 1, 0.975) * sem) if len(rows) > 1 else 0.0
    return float(mean), float(mean) - half, float(mean) + half


def reach(num_tasks: Sequence[int], cells: Cells, family: Family, rule: str) -> str:
    """Up to which P a rule is better than a random order and from which it is worse, among the P that were run.

    A size counts for one side only when its whole interval lies there.
    """
    ends = {P: log_ratio(cells[family, P], rule, "random")[1:] for P in num_tasks}
    better = [P for P, (_, high) in ends.items() if high < 0]
    worse = [P for P, (low, _) in ends.items() if low > 0]
    first = [P for P in num_tasks if all(size in better for size in num_tasks if size <= P)]
    last = [P for P in num_tasks if all(size in worse for size in num_tasks if size >= P)]
    if first == list(num_tasks):
        return f"better than random at every P from {first[0]} to {first[-1]}"
    said = f"better than random at every P up to {first[-1]}" if first else "never better than random"
    if better and not first:
        said = f"better than random only at P = {', '.join(map(str, better))}"
    if last:
        return f"{said}, worse at every P from {last[0]}"
    return f"{said}, {'again better' if num_tasks[-1] in better else 'not told apart'} at P = {num_tasks[-1]}"


def still_helps(num_tasks: Sequence[int], cells: Cells, rule: str, kind: str) -> Check:
    """Holds when at the largest P, at every level, the rule's error is below random's, interval included."""
    families = [family for family, P in cells if family[0] == kind and num_tasks[-1] == P]
    largest = {family: np.exp(log_ratio(cells[family, num_tasks[-1]], rule, "random")) for family in families}
    worst = max(largest.values(), key=lambda found: float(found[0]))
    phrases = []
    for family, (value, low, high) in largest.items():
        far = np.exp(log_ratio(cells[family, num_tasks[-1]], rule, "optimal")[0])
        phrases.append(
            f"{name_of(family)}: {reach(num_tasks, cells, family, rule)} ({value:.2g} [{low:.2g}, {high:.2g}] times "
            f"random and {far:.2g} times the best found at P = {num_tasks[-1]})"
        )
    return Check(
        claim=f"{rule} still beats a random order at {num_tasks[-1]} tasks; {kind}",
        source="ours",
        found="; ".join(phrases),
        value=float(worst[0]),
        low=float(worst[1]),
        high=float(worst[2]),
        verdict=together(inside(found, below=1) for found in largest.values()),
    )


def optimum_stays_below(cells: Cells) -> Check:
    """Holds when the best found order is below the mean random one in every single matrix."""
    ratios = {key: [row["optimal"] / row["random"] for row in rows] for key, rows in cells.items()}
    worst = max(ratios, key=lambda key: max(ratios[key]))
    top = max(P for _, P in cells)
    largest = np.exp([log_ratio(rows, "optimal", "random")[0] for (_, P), rows in cells.items() if top == P])
    return exact_check(
        claim="The best order found by minimizing the closed form beats a random order in every matrix",
        source="ours",
        found=f"at most {max(ratios[worst]):.2f} times random, in one of {sum(map(len, ratios.values()))} matrices "
        f"({name_of(worst[0])}, P = {worst[1]}); {largest.min():.2f} to {largest.max():.2f} times at P = {top}",
        value=float(max(ratios[worst])),
        holds=max(ratios[worst]) < 1,
    )


def same_ranking(simulated: Sequence[Mapping[str, Any]]) -> Check:
    """Holds when at least 90 % of the clearly ranked pairs of rules are ranked alike, interval included.

    Pairs of one matrix are not independent, so the interval is somewhat too narrow.
    """
    pairs = [
        (row[a], row[b])
        for row in simulated
        for a, b in combinations(row, 2)
        if abs(np.log(row[a][0] / row[b][0])) > np.log1p(CLEAR)
    ]
    alike = sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs)
    deviations = [abs(found[1] / found[0] - 1) for row in simulated for found in row.values()]
    low, high = share_interval(alike, len(pairs))
    return Check(
        claim="The simulation ranks the two rules, greedy, the best found and random orders as the closed form does",
        source="ours",
        found=f"{alike} of {len(pairs)} pairs with errors more than {CLEAR:.0%} apart are ranked alike, in "
        f"{len(simulated)} matrices; simulated and closed form differ by {np.median(deviations):.1%} (median), "
        f"{max(deviations):.1%} (most)",
        value=alike / len(pairs),
        low=low,
        high=high,
        verdict=inside((low, high), above=0.9),
    )
