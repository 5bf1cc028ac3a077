"""What a pilot adds to a plan: the orders that were rehearsed, from memory or from the folder of `taskorder plan`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taskorder.checks import Floats
from taskorder.constraints import Constraints
from taskorder.records import Plan
from taskorder.report.page import MOST_ORDERS
from taskorder.report.report_input import open_input
from taskorder.tables.input_files import Refusal, open_lines, printable
from taskorder.tables.loss_ratios import clip_similarity
from taskorder.tables.reading import read_similarity
from taskorder.tables.separated import read_rows

if TYPE_CHECKING:
    from taskorder.planning.rehearsal import Rehearsal

MAX_REHEARSAL_BYTES = 2**30
"""Largest rehearsal.csv that is read."""


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """Whole orders that were rehearsed on the pilot, best first."""

    orders: tuple[tuple[int, ...], ...]
    scores: Floats
    """(n,) mean over the endings of an order, tasks and seeds, of the accuracy, or of its stand-in."""
    by_seed: Floats
    """(seeds, n) the same for each seed."""
    unit: str
    """accuracy, or score where the learner does not say."""

    def rank(self, order: tuple[int, ...]) -> int | None:
        """The rank of an order, from 0; None if it was not rehearsed."""
        return self.orders.index(order) if order in self.orders else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values of the best orders."""
        best = self.orders[:MOST_ORDERS]
        return {"orders": best, "scores": self.scores[: len(best)].tolist(), "unit": self.unit, "all": len(self.orders)}


def rehearsed_orders(plan: Plan, rehearsal: Rehearsal | None) -> Rehearsed | None:
    """The whole orders that were rehearsed, best first; None where only their endings were."""
    whole = [] if rehearsal is None else [order for order in rehearsal.endings if len(order) == len(plan.order)]
    if rehearsal is None or not whole:
        return None
    weights = Constraints.from_options(plan.names, plan.options).weights
    by_seed = np.stack([rehearsal.score(whole, table, None, weights) for table in rehearsal.outcome])
    scored = np.flatnonzero(~np.isnan(by_seed).any(axis=0))
    if not len(scored):
        return None
    scores = by_seed.mean(axis=0)
    ranked = sorted(scored.tolist(), key=lambda row: -scores[row])
    unit = "score" if rehearsal.accuracy is None else "accuracy"
    return Rehearsed(tuple(whole[row] for row in ranked), scores[ranked], by_seed[:, ranked], unit)


def read_pilot(folder: Path) -> tuple[Plan, Floats, Rehearsed | None]:
    """The plan in a folder, its similarity matrix, and the whole orders that were rehearsed, if any."""
    if not (folder / "plan.json").exists():
        fix = "The pilot is not finished: give the same command again." if (folder / "fits.sqlite").exists() else ""
        raise ValueError(
            f"`{folder}` must be a folder that `taskorder plan` wrote, got one without plan.json. {fix}".rstrip()
        )
    plan = open_input(str(folder / "plan.json")).plan()
    if plan is None:
        raise ValueError(f"`{folder / 'plan.json'}` must be a plan that `taskorder plan` wrote, got something else.")
    similarity = clip_similarity(read_similarity(folder / "similarity.csv")[0])[0]
    path = folder / "rehearsal.csv"
    return plan, similarity, rehearsed_orders(plan, read_rehearsal(path, plan)) if path.exists() else None


def read_rehearsal(path: Path, plan: Plan) -> Rehearsal:
    """The rehearsal of a plan's tasks in the table that `taskorder plan` wrote."""
    from taskorder.planning.rehearsal import Rehearsal

    cells, tasks = _cells(path), {name: task for task, name in enumerate(plan.names)}
    sequences = {text: _tasks(text.split(">"), tasks) for _, text, _ in cells}
    endings = {text: ending for text, ending in sequences.items() if ending}
    seeds = sorted({seed for seed, _, _ in cells}, key=lambda seed: (len(seed), seed))
    rows = [(seed, text, name) for seed in seeds for text in endings for name in plan.names]
    if any(row not in cells for row in rows):
        raise ValueError(f"`{path}` must have a row for each seed, sequence and task, got some missing.")
    shape = len(seeds), len(endings), len(plan.names), 2
    values = np.array([cells[row] for row in rows], dtype=np.float64).reshape(shape)
    accuracy = None if np.isnan(values[..., 1]).any() else values[..., 1]
    return Rehearsal(tuple(sorted(plan.order)), tuple(endings.values()), values[..., 0], accuracy, "orders", 0)


def _cells(path: Path) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Value and accuracy (NaN where it is unknown) by seed, sequence and task."""
    cells = {}
    try:
        with open_lines(path, max_bytes=MAX_REHEARSAL_BYTES) as lines:
            rows = (row for _, row in read_rows(lines, printable(path), separator=",")[1])
            header = next(rows, [])
            for row in rows:
                entry = dict(zip(header, row, strict=True))
                numbers = float(entry["value"]), float(entry["accuracy"] or "nan")
                cells[entry["seed"], entry["learned"], entry["test"]] = numbers
    except Refusal:
        raise
    except (KeyError, ValueError):
        raise ValueError(f"`{path}` must be the table that `taskorder plan` wrote, got something else.") from None
    return cells


def _tasks(steps: list[str], tasks: dict[str, int]) -> tuple[int, ...]:
    """The tasks of a sequence; none where a name has a > in it."""
    return tuple(tasks[step] for step in steps) if all(step in tasks for step in steps) else ()
