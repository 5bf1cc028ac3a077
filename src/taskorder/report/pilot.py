"""A pilot folder, as `taskorder plan` writes it: the plan, the similarity it rests on, and what was rehearsed."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from taskorder.checks import Floats
from taskorder.records import Plan
from taskorder.report.source import open_source
from taskorder.tables.loss_ratios import clip_similarity
from taskorder.tables.reading import read_similarity

MOST_ORDERS = 1000
"""Orders whose numbers go into the page."""


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

    def place(self, order: tuple[int, ...]) -> int | None:
        """The rank of an order, from 0; None if it was not rehearsed."""
        return self.orders.index(order) if order in self.orders else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values of the best orders."""
        kept = self.orders[:MOST_ORDERS]
        return {"orders": kept, "scores": self.scores[: len(kept)].tolist(), "unit": self.unit, "all": len(self.orders)}


def read_pilot(folder: Path) -> tuple[Plan, Floats, Rehearsed | None]:
    """The plan, its similarity matrix, and the whole orders that were rehearsed, if any."""
    if not (folder / "plan.json").exists():
        fix = "The pilot is not finished: give the same command again." if (folder / "fits.sqlite").exists() else ""
        raise ValueError(
            f"`{folder}` must be a folder that `taskorder plan` wrote, got one without plan.json. {fix}".rstrip()
        )
    plan = open_source(str(folder / "plan.json")).plan()
    if plan is None:
        raise ValueError(f"`{folder / 'plan.json'}` must be a plan that `taskorder plan` wrote, got something else.")
    similarity = clip_similarity(read_similarity(folder / "similarity.csv")[0])[0]
    path = folder / "rehearsal.csv"
    return plan, similarity, read_rehearsed(path, plan) if path.exists() else None


def read_rehearsed(path: Path, plan: Plan) -> Rehearsed | None:
    """The orders of all tasks in a table of rehearsed sequences; None where only their ends were rehearsed."""
    from taskorder.planning.rehearsal import Rehearsal

    table, names = _cells(path), {name: place for place, name in enumerate(plan.names)}
    sequences = {text: _places(text.split(">"), names) for _, text, _ in table}
    endings = {text: places for text, places in sequences.items() if places}
    seeds = sorted({seed for seed, _, _ in table}, key=lambda seed: (len(seed), seed))
    shape = len(seeds), len(endings), len(plan.names)
    rows = [(seed, text, name) for seed in seeds for text in endings for name in plan.names]
    if any(row not in table for row in rows):
        raise ValueError(f"`{path}` must have a row for each seed, sequence and task, got some missing.")
    values = np.array([table[row] for row in rows], dtype=np.float64).reshape(*shape, 2)
    known = not np.isnan(values[..., 1]).any()
    told = values[..., int(known)]
    made = Rehearsal(tuple(sorted(plan.order)), tuple(endings.values()), values[..., 0], None, "orders", 0)
    whole = [way for way in made.endings if len(way) == len(plan.order)]
    if not whole:
        return None
    counts = plan.options.get("weights")
    weights = None if counts is None else np.array(counts, dtype=np.float64)
    by_seed = np.stack([made.score(whole, one, None, weights) for one in told])
    there = np.flatnonzero(~np.isnan(by_seed).any(axis=0))
    scores = by_seed.mean(axis=0)
    ranked = sorted(there.tolist(), key=lambda row: -scores[row])
    orders = tuple(whole[row] for row in ranked)
    return Rehearsed(orders, scores[ranked], by_seed[:, ranked], "accuracy" if known else "score") if ranked else None


def _cells(path: Path) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Value and accuracy (NaN where it is unknown) by seed, sequence and task."""
    found = {}
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            for row in csv.DictReader(file):
                numbers = float(row["value"]), float(row["accuracy"] or "nan")
                found[row["seed"], row["learned"], row["test"]] = numbers
    except OSError as problem:
        raise ValueError(f"`{path}` must be readable, got: {problem.strerror}.") from None
    except (KeyError, TypeError, ValueError, csv.Error):
        raise ValueError(f"`{path}` must be the table that `taskorder plan` wrote, got something else.") from None
    return found


def _places(steps: list[str], names: dict[str, int]) -> tuple[int, ...]:
    """The tasks of a sequence; none where a name has a > in it."""
    return tuple(names[step] for step in steps) if all(step in names for step in steps) else ()
