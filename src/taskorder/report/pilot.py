"""A plan from a pilot, read back from the folder of `taskorder plan`."""

from __future__ import annotations

from pathlib import Path

from taskorder.checks import Floats
from taskorder.records import Plan
from taskorder.report.report_input import open_input
from taskorder.tables.loss_ratios import clip_similarity
from taskorder.tables.reading import read_similarity


def read_pilot(folder: Path) -> tuple[Plan, Floats, tuple[str, ...] | None]:
    """The plan in a folder, the table that it was made from (in older versions the similarity) and its names."""
    if not (folder / "plan.json").exists():
        fix = "The pilot is not finished: give the same command again." if (folder / "fits.sqlite").exists() else ""
        raise ValueError(
            f"`{folder}` must be a folder that `taskorder plan` wrote, got one without plan.json. {fix}".rstrip()
        )
    plan = open_input(str(folder / "plan.json")).plan()
    if plan is None:
        raise ValueError(f"`{folder / 'plan.json'}` must be a plan that `taskorder plan` wrote, got something else.")
    if plan.prediction is not None:
        return plan, *read_similarity(folder / "transfer.csv")
    similarity, names = read_similarity(folder / "similarity.csv")
    return plan, clip_similarity(similarity)[0], names
