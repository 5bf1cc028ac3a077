"""A page before it is HTML: an answer, a few facts, and sections with charts and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taskorder.report.charts import Chart
from taskorder.report.markup import Html

NOTHING = Html("")
Names = Sequence[str]
"""Task names, by task index."""
MAX_TEXT = 160
"""Characters of an order in a table or a tip."""
MOST_LISTED = 300
"""Orders in a table; of more, the best and the worst."""
MOST_ORDERS = 1000
"""Orders whose numbers go into the data of a page."""


@dataclass(frozen=True)
class Table:
    """Plain cells; numbers stand to the right."""

    headers: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""
    """What is left out, where something is."""


@dataclass(frozen=True)
class Figure:
    """A chart, what a screen reader says in its place, and the table of its numbers."""

    title: str
    chart: Chart
    table: Table


@dataclass(frozen=True)
class Section:
    """A heading, what to see, and figures."""

    key: str
    title: str
    words: Html
    content: Html = NOTHING
    """What stands between the words and the figures."""
    figures: Sequence[Figure] = ()


@dataclass(frozen=True)
class Fact:
    """One large number with what it is and what it means."""

    label: str
    value: str
    detail: str


@dataclass(frozen=True)
class Page:
    """All of a page."""

    title: str
    answer: Html
    facts: Sequence[Fact]
    sections: Sequence[Section]
    confidence: Sequence[str]
    warnings: Sequence[str]
    """What should keep a reader from trusting the answer."""
    notes: Sequence[str]
    """What was done that a reader may want to know."""
    made: Mapping[str, str]
    """How it was made: what is said, by name."""
    numbers: Mapping[str, Any]
    """Plain JSON values of all that is shown."""
