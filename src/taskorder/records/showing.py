"""Pictures and pages of records: the one place where a low room asks higher ones, and only when it is called.

A reader has a plan in hand and writes `plan.plot()`. What draws it is in `plots`, what makes its page in `report`;
both read records, so that records must not load them. tests/test_imports.py knows this file and no other.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from taskorder.records.comparison import Comparison
    from taskorder.records.plan import Plan


def plan_figure(plan: Plan) -> Figure:
    """The picture of a plan."""
    from taskorder.plots.draw import draw
    from taskorder.plots.results import plan_drawing

    return draw(plan_drawing(plan))


def comparison_figure(comparison: Comparison) -> Figure:
    """The picture of a comparison."""
    from taskorder.plots.draw import draw
    from taskorder.plots.results import comparison_drawing

    return draw(comparison_drawing(comparison))


def plan_report(plan: Plan, path: Any, table: ArrayLike | None, title: str | None) -> Path:
    """Write the page of a plan."""
    from taskorder.report.written import write_plan

    return write_plan(plan, path, table, title)


def comparison_report(comparison: Comparison, path: Any, title: str | None) -> Path:
    """Write the page of a comparison."""
    from taskorder.report.written import write_comparison

    return write_comparison(comparison, path, title)
