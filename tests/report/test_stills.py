"""Still drawings: every kind of chart is drawn from the numbers of the page, in SVG that its policy allows."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from taskorder.report import charts, stills
from taskorder.report.charts import Bar, Dot, Line, Mark
from taskorder.report.page import Figure, Table

from .conftest import HOSTILE

RNG = np.random.default_rng(0)
VALUES = np.sort(RNG.random(12))[::-1] * 5
MARKS = [Mark("this plan", "optimal", 1.0, "", strong=True), Mark(HOSTILE[0], "unknown look", 2.0, "")]
ROWS = [Bar(f"{k}. name", 0.5, float(value), "best", "", (value - 0.1, value + 0.1)) for k, value in enumerate(VALUES)]
LINES = [Line("this plan", "optimal", VALUES, ["tip"] * 12), Line("$x$ \x00 rule", "worst", 9 * VALUES)]
BAND = np.quantile(VALUES * RNG.random((30, 1)), [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
CHARTS = {
    "lines": charts.line_chart(LINES, BAND, ("steps", "error")),
    "alone": charts.line_chart(LINES[:1], None, ("steps", "error")),
    "histogram": charts.histogram(VALUES, MARKS, "error"),
    "ranking": charts.ranking(VALUES, MARKS, ("rank", "accuracy"), 0.1 * VALUES),
    "rows": charts.row_chart(ROWS, "error"),
    "ends": charts.row_chart(ROWS, "error", ends=True),
    "columns": charts.column_chart(ROWS * 30, ("step", "error")),
    "scatter": charts.scatter_chart(VALUES, VALUES, [Dot(1.0, 2.0, "greedy", "greedy")], ("x", "y")),
    "map": charts.map_chart(RNG.random((8, 2)), [3, 1, 0, 2, 7, 6, 5], HOSTILE),
    "many": charts.map_chart(RNG.random((200, 2)), range(200), [f"task {k}" for k in range(200)]),
    "heat": charts.heat_map(RNG.standard_normal((3, 3)), [2, 0, 1], ["c", "a", "b"], "similarity"),
    "blocks": charts.heat_map(RNG.standard_normal((300, 300)), range(300), [""] * 300, "cost", warm=True),
}


def drawn(keys=CHARTS):
    figures = {key: Figure(f"A {key} chart", CHARTS[key], Table([], [])) for key in keys}
    return stills.stills(figures)


@pytest.fixture(scope="module")
def drawings():
    return drawn()


@pytest.mark.parametrize("key", CHARTS)
def test_every_kind_is_drawn_without_styles_and_ids_that_nothing_needs(drawings, key):
    root = ElementTree.fromstring(drawings[key])
    assert root.get("aria-label") == f"A {key} chart"
    assert not any("style" in part.attrib or part.tag in ("style", "metadata", "script") for part in root.iter())
    ids = [part.get("id") for part in root.iter() if part.get("id")]
    assert len(ids) == len(set(ids))
    assert set(ids) == set(re.findall(r'(?:url\(|href=")#(\w+)', drawings[key]))
    assert not re.search(r"\bnan\b", drawings[key])
    assert len(drawings[key]) < 100_000


def test_every_kind_of_chart_has_a_function():
    assert {chart["kind"] for chart in CHARTS.values()} == set(stills.STILLS)


def test_names_and_numbers_are_text(drawings):
    def said(key):
        return [part.text for part in ElementTree.fromstring(drawings[key]).iter("text")]

    assert "$x$ \\u0000 rule" in " ".join(said("lines"))
    assert {f"{value:.4g}" for value in VALUES} <= set(said("rows"))
    assert {"this plan", "<script>alert(1)</script>"} <= set(said("histogram"))
    assert {"a", "b", "c", "similarity"} <= set(said("heat"))
    assert {"1", "7", "a", HOSTILE[5]} <= set(" ".join(said("map")).replace("  ", " ").split(" ")) | set(said("map"))
    assert {"1", "2", "3"} <= set(said("heat"))


def test_bars_are_as_long_as_their_values():
    key = "rows"
    root = ElementTree.fromstring(drawn([key])[key])
    boxes = [part.get("d") for part in root.iter("path") if part.get("fill") == "#56b4e9"]
    widths = []
    for box in boxes:
        xs = [float(x) for x in re.findall(r"[ML]([\d.]+) ", box)]
        widths.append(max(xs) - min(xs))
    np.testing.assert_allclose(np.divide(widths, widths[0]), np.abs(VALUES - 0.5) / (VALUES[0] - 0.5), atol=0.01)


def test_the_same_numbers_give_the_same_drawing_and_ids_differ_between_charts(drawings):
    again = drawn(["lines", "ranking"])
    assert again["lines"] == drawings["lines"]
    ids = [set(re.findall(r' id="(\w+)"', text)) for text in drawings.values()]
    assert sum(map(len, ids)) == len(set().union(*ids))


def test_without_matplotlib_the_tables_stay_open(make_page, monkeypatch):
    monkeypatch.setattr("taskorder.report.stills.find_spec", lambda name: None)
    text, _ = make_page(4)
    assert text.count("<figure") == text.count('<details open=""') == 8
    assert "tables in place of charts" in text
    assert "<svg" not in text
