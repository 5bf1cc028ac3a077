"""Figure 3d: G+ of every pair of positions against the mean similarity m, at P = 7.

The figure covers 0 < m < 1, where the claim is made. Our own question is what happens for m < 0, as far down as all
tasks can be equally dissimilar: m > -1 / (P - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import FigureData, exact_claim
from taskorder.checks import Floats
from taskorder.plots.records import Panel, Series
from taskorder.runs.specs import RunSpec
from taskorder.theory.perturbation import perturbation


@dataclass(frozen=True)
class Config:
    """Settings; the number of tasks is the paper's."""

    num_tasks: int = 7
    num_checked: int = 999
    """Values of m in (0, 1) at which the claims are checked, and as many in (-1 / (P - 1), 0)."""
    drawn_every: int = 20

    def __post_init__(self) -> None:
        limits.whole(self, 3, "num_tasks", most=100)
        limits.whole(self, 1, "num_checked")
        limits.whole(self, 1, "drawn_every", most=self.num_checked)


QUICK = Config(num_checked=99, drawn_every=2)


def specs(config: Config) -> list[RunSpec]:
    """A single run."""
    return [RunSpec("theory.typicality-part.1", asdict(config))]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """The lines, and for how many m they keep the order that the paper states."""
    return [_run(**spec.params) for spec in specs]


def _run(num_tasks: int, num_checked: int, drawn_every: int) -> dict[str, Any]:
    above, below = _inside(0.0, 1.0, num_checked), _inside(-1 / (num_tasks - 1), 0.0, num_checked)
    G = _typicality(num_tasks, above)
    upper = np.triu_indices(num_tasks, 1)
    lines = G[:, *upper]
    drawn = slice(drawn_every - 1, None, drawn_every)
    return {
        "m": above[drawn].tolist(),
        "lines": lines[drawn].T.tolist(),
        "decreasing": int(_decreasing(G).sum()),
        "top_is_first": int((lines.argmax(axis=1) == 0).sum()),
        "bottom_is_last": int((lines.argmin(axis=1) == lines.shape[1] - 1).sum()),
        "decreasing_below_zero": int(_decreasing(_typicality(num_tasks, below)).sum()),
        "increasing_below_zero": int(_decreasing(-_typicality(num_tasks, below)).sum()),
    }


def _inside(low: float, high: float, count: int) -> Floats:
    return np.linspace(low, high, count + 2)[1:-1]


def _typicality(num_tasks: int, values: Floats) -> Floats:
    return np.array([perturbation(num_tasks, m).typicality for m in values.tolist()])


def _decreasing(G: Floats) -> np.ndarray:
    """For each matrix, whether entries above the diagonal fall strictly along every row and every column."""
    inside = np.triu(np.ones(G.shape[1:], dtype=bool), 1)
    along = (np.diff(G, axis=2) < 0) | ~(inside[:, 1:] & inside[:, :-1])
    down = (np.diff(G, axis=1) < 0) | ~(inside[1:] & inside[:-1])
    return np.asarray(along.all(axis=(1, 2)) & down.all(axis=(1, 2)))


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """One line for each pair of positions; the legend names the first and the last."""
    (result,) = results
    P, count = config.num_tasks, config.num_checked
    pairs = [(i + 1, j + 1) for i, j in zip(*np.triu_indices(P, 1), strict=True)]
    series = tuple(
        Series(f"positions {i} and {j}", tuple(result["m"]), tuple(line))
        for (i, j), line in zip(pairs, result["lines"], strict=True)
    )
    falls, rises = result["decreasing_below_zero"], result["increasing_below_zero"]
    return FigureData(
        name="fig3d",
        title=f"The part of G that asks for periphery-to-core, {P} tasks",
        panels=(Panel("G+ of every pair of positions", "mean similarity m", "G+", series),),
        claims=(
            exact_claim(
                "G+ decreases in both positions for 0 < m < 1",
                "paper, Fig. 3d",
                f"strictly at {result['decreasing']} of {count} values of m",
                result["decreasing"] / count,
                result["decreasing"] == count,
            ),
            exact_claim(
                f"The top line is positions 1 and 2, the bottom line {P - 1} and {P}",
                "paper, Fig. 3d",
                f"top at {result['top_is_first']}, bottom at {result['bottom_is_last']} of {count} values of m",
                min(result["top_is_first"], result["bottom_is_last"]) / count,
                result["top_is_first"] == result["bottom_is_last"] == count,
            ),
            exact_claim(
                f"G+ also decreases for negative m, down to -1/{P - 1}",
                "ours",
                f"at {falls} of {count} values of m below 0; it increases in both positions at {rises}",
                falls / count,
                falls == count,
            ),
        ),
        config=asdict(config),
    )


FIGURES = (Figure("fig3d", Config(), QUICK, specs, run_batch, figure),)
