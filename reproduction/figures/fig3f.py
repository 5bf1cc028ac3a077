"""Figure 3f: alpha^-, the coefficient of the max-path part of G, against the mean similarity m.

    alpha^- = -1 + (1 - m)^P (m P / (1 - m) + (3 - m) / (2 - m));    -1 for 0 < m < 1 as P grows.

At m = 0 it is 1/2 for every P, so below some m it asks for the opposite of max-path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import Claim, FigureData, exact_claim
from taskorder.checks import Floats
from taskorder.plots.records import Panel, Series
from taskorder.runs.specs import RunSpec
from taskorder.theory.perturbation import perturbation


@dataclass(frozen=True)
class Config:
    """Settings; the numbers of tasks are the paper's."""

    num_tasks: tuple[int, ...] = (3, 5, 7)
    num_points: int = 101
    """Values of m from 0 to 1."""
    large: tuple[int, ...] = (10, 20, 50, 100)
    """Numbers of tasks that show what "sufficiently large" means; not drawn."""

    def __post_init__(self) -> None:
        limits.whole(self, 2, "num_tasks", "large", "num_points")


QUICK = Config(large=(10, 50))


def specs(config: Config) -> list[RunSpec]:
    """One run for each number of tasks."""
    return [
        RunSpec("theory.alpha-minus.1", {"num_tasks": P, "num_points": config.num_points})
        for P in (*config.num_tasks, *config.large)
    ]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """The line of each number of tasks and the values of m in (0, 1) where it changes sign."""
    return [_run(**spec.params) for spec in specs]


def _run(num_tasks: int, num_points: int) -> dict[str, Any]:
    fine = np.linspace(0, 1, 10 * (num_points - 1) + 1)
    line = np.array([_alpha_minus(num_tasks, m) for m in fine.tolist()])
    return {"alpha": line[::10].tolist(), "changes": _sign_changes(num_tasks, fine, line)}


def _alpha_minus(num_tasks: int, m: float) -> float:
    alpha = perturbation(num_tasks, m).alpha_minus
    assert alpha is not None  # it is missing only for tasks with different readouts
    return alpha


def _sign_changes(num_tasks: int, values: Floats, line: Floats) -> list[float]:
    """Roots between neighbors of different sign, by bisection."""
    roots = []
    for k in np.flatnonzero((line[:-1] > 0) != (line[1:] > 0)).tolist():
        low, high = float(values[k]), float(values[k + 1])
        for _ in range(50):
            middle = (low + high) / 2
            if (_alpha_minus(num_tasks, middle) > 0) == (line[k] > 0):
                low = middle
            else:
                high = middle
        roots.append((low + high) / 2)
    return roots


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """One line for each number of tasks, and the limit of many."""
    m = tuple(np.linspace(0, 1, config.num_points).tolist())
    counts = (*config.num_tasks, *config.large)
    roots = {P: result["changes"] for P, result in zip(counts, results, strict=True)}
    lines = [
        Series(f"{P} tasks", m, tuple(result["alpha"])) for P, result in zip(config.num_tasks, results, strict=False)
    ]
    limit = Series("limit of many tasks", (m[1], m[-1]), (-1.0, -1.0), role="reference")
    return FigureData(
        name="fig3f",
        title="The sign of the max-path part of G",
        panels=(Panel("By the number of tasks", "mean similarity m", "alpha-minus", (*lines, limit)),),
        claims=(*(_negative(P, roots[P]) for P in config.num_tasks), _sufficient(roots)),
        config=asdict(config),
    )


def _negative(P: int, roots: Sequence[float]) -> Claim:
    """The claim at one P, read literally: negative at every m in (0, 1)."""
    start = max(roots, default=0.0)
    return exact_claim(
        claim=f"alpha-minus is negative for all 0 < m < 1 at {P} tasks",
        source="ours",
        found=f"negative for {start:.4f} < m < 1 and positive below" if roots else "negative throughout",
        value=start,
        holds=not roots,
    )


def _sufficient(roots: dict[int, list[float]]) -> Claim:
    """For every m there is a P from which it stays negative: one sign change that moves to 0, about as 1/P."""
    single = all(len(changes) == 1 for changes in roots.values())
    starts = [changes[-1] if changes else 0.0 for _, changes in sorted(roots.items())]
    holds = single and bool((np.diff(starts) < 0).all()) and starts[-1] < 1 / max(roots)
    return exact_claim(
        claim="alpha-minus is negative for 0 < m < 1 when there are sufficiently many tasks "
        "(one change of sign, at an m that falls with P to below 1/P)",
        source="paper, Fig. 3f",
        found="; ".join(
            f"P = {P}: negative above m = {start:.4f}" for P, start in zip(sorted(roots), starts, strict=True)
        )
        + f"; P m there is {max(roots) * starts[-1]:.3f} at the largest P",
        value=max(roots) * starts[-1],
        holds=holds,
    )


FIGURES = (Figure("fig3f", Config(), QUICK, specs, run_batch, figure, batch=10),)
