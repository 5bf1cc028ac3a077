"""Figure 3a: how the similarity of each pair of positions moves the final error, and the two parts of that matrix.

The paper's G, G+ and G- at P = 7 and m = 0.3, as printed; the true first-order coefficients, by central differences of
the closed form, stand beside them in the claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import FigureData, exact_claim
from taskorder.checks import Floats
from taskorder.plots.records import Heatmap, Panel
from taskorder.runs.specs import RunSpec
from taskorder.theory.closed_form import final_error
from taskorder.theory.perturbation import perturbation

STEP = 1e-5
"""Half width of the central differences."""


@dataclass(frozen=True)
class Config:
    """Settings, all the paper's."""

    num_tasks: int = 7
    m: float = 0.3

    def __post_init__(self) -> None:
        limits.whole(self, 2, "num_tasks", most=100)
        limits.between(self, 0, 1, "m")


QUICK = Config()


def specs(config: Config) -> list[RunSpec]:
    """A single run."""
    return [RunSpec("theory.perturbation-matrix.1", asdict(config))]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """The printed matrices and the numerical derivative of the final error."""
    return [_run(**spec.params) for spec in specs]


def _run(num_tasks: int, m: float) -> dict[str, Any]:
    around = perturbation(num_tasks, m)
    return {
        "G": around.paper.tolist(),
        "G+": around.typicality.tolist(),
        "G-": around.distance.tolist(),
        "derivative": _derivative(num_tasks, m).tolist(),
    }


def _derivative(num_tasks: int, m: float) -> Floats:
    """(P, P) d error / d C_ij for i < j in the order 0, 1, ..., P - 1."""
    flat = np.full((num_tasks, num_tasks), m) + (1 - m) * np.eye(num_tasks)
    derivative = np.zeros_like(flat)
    for i, j in zip(*np.triu_indices(num_tasks, 1), strict=True):
        change = np.zeros_like(flat)
        change[i, j] = change[j, i] = STEP
        up, down = (final_error(flat + sign * change, range(num_tasks)) for sign in (1, -1))
        derivative[i, j] = (up - down) / (2 * STEP)
    return derivative


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Three maps: G, G+ and G-."""
    (result,) = results
    upper = np.triu_indices(config.num_tasks, 1)
    G, derivative = np.array(result["G"]), np.array(result["derivative"])
    ratio = derivative[upper] / G[upper]
    off = float(np.abs(ratio - 1).max())
    return FigureData(
        name="fig3a",
        title=f"First-order effect of the similarity of two positions, {config.num_tasks} tasks, m = {config.m:g}",
        panels=tuple(_map(key, result[key]) for key in ("G", "G+", "G-")),
        claims=(
            exact_claim(
                "Raising the similarity of the first and second tasks raises the error: G_12 > 0",
                "paper, Fig. 3a",
                f"G_12 = {G[0, 1]:.4f}",
                float(G[0, 1]),
                bool(G[0, 1] > 0),
            ),
            exact_claim(
                "Raising the similarity of the first and last tasks lowers the error: its corner of G is negative",
                "paper, Fig. 3a",
                f"G_1{config.num_tasks} = {G[0, -1]:.4f}",
                float(G[0, -1]),
                bool(G[0, -1] < 0),
            ),
            exact_claim(
                "The first-order change of the error is the sum of G dM (Theorem 4.1; within 1 %)",
                "paper, Fig. 3a",
                f"the numerical derivative over G lies between {ratio.min():.4f} and {ratio.max():.4f} for all "
                f"{len(ratio)} pairs (docs/errata.md, item 1)",
                float(ratio.mean()),
                off < 0.01,
            ),
        ),
        config=asdict(config),
    )


def _map(name: str, matrix: Sequence[Sequence[float]]) -> Panel:
    places = tuple(float(k + 1) for k in range(len(matrix)))
    values = tuple(tuple(value if j > i else None for j, value in enumerate(row)) for i, row in enumerate(matrix))
    return Panel(
        title=name,
        x_label="position of the later task",
        y_label="position of the earlier task",
        heatmap=Heatmap(values, places, places, upward=False, diverging=True),
    )


FIGURES = (Figure("fig3a", Config(), QUICK, specs, run_batch, figure),)
