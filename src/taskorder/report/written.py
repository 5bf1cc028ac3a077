"""Pages of records in hand, written to a file: what `plan.report("x.html")` does."""

from __future__ import annotations

import os
from pathlib import Path

from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.checks import counted, square_matrix
from taskorder.files import whole_file
from taskorder.records import Comparison, Plan
from taskorder.report.comparison_page import comparison_page
from taskorder.report.document import page_html
from taskorder.report.page import Page
from taskorder.report.plan_numbers import plan_numbers
from taskorder.report.plan_page import plan_page

Target = str | os.PathLike[str]


def write_plan(plan: Plan, path: Target, table: ArrayLike | None, title: str | None) -> Path:
    """Write the page of a plan, with all that its table tells where that is given."""
    target = page_file(path)
    numbers = plan_numbers(plan, None if table is None else square_matrix(table, "table"))
    page = plan_page(numbers, title or f"The order of {counted(len(plan.names), 'task')}", "a plan in Python")
    return write_page(page, f"plan.report({target.name!r}{'' if table is None else ', table'})", target)


def write_comparison(comparison: Comparison, path: Target, title: str | None) -> Path:
    """Write the page of a comparison."""
    target = page_file(path)
    page = comparison_page(comparison, title or f"Rules on {counted(len(comparison.names), 'task')}")
    return write_page(page, f"comparison.report({target.name!r})", target)


def page_file(path: Target) -> Path:
    """The file for a page, asked for before there is any work.

    >>> page_file("plan.pdf")
    Traceback (most recent call last):
    ...
    taskorder.arguments.BadArgument: `path` must end in .html or .htm, got 'plan.pdf'. For print use plot().savefig.
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadArgument(f"`path` must end in .html or .htm, got {target.name!r}. For print use plot().savefig.")
    if not target.parent.is_dir():
        raise BadArgument(f"`path` must be in a folder that exists, got {str(path)!r}. Make the folder first.")
    return target


def write_page(page: Page, command: str, target: Path) -> Path:
    """Write a whole page or nothing; `command` makes it again."""
    # lone surrogates in a name have no UTF-8; the browser shows a mark for them
    data = page_html(page, command).encode("utf-8", errors="xmlcharrefreplace")
    with whole_file(target) as part:
        part.write_bytes(data)
    return target
