"""What notebooks show: escaped, and short."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from taskorder.records import Caution

from .conftest import HOSTILE


class Tags(HTMLParser):
    """The elements and the text of a page, and whether every element ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_plan_is_a_table_of_its_steps(solved):
    page = Tags(solved._repr_html_())
    assert page.open == []
    assert page.seen.count("tr") == 5
    assert re.findall("|".join(solved.names), page.text) == list(solved.named_order)
    assert "knowledge at the end" in page.text
    assert f"{100 * solved.knowledge[solved.order[-1]]:.0f} %" in page.text


def test_a_pilot_shows_intervals_and_warnings(pilot):
    prediction = pilot.plan.prediction
    page = Tags(replace(pilot.plan, warnings=(Caution("few", "Too < small."),))._repr_html_())
    assert "knowledge at the end" in page.text
    low, high = 100 * prediction.tasks_low[0], 100 * prediction.tasks_high[0]
    assert f"{100 * prediction.tasks[0]:.0f} % [{low:.0f}, {high:.0f}]" in page.text
    assert "Warning: Too < small." in page.text


@pytest.mark.parametrize("name", ["hostile", "solved", "long", "compared", "pilot"])
def test_names_never_become_markup(name, request):
    record = request.getfixturevalue(name)
    page = Tags(getattr(record, "plan", record)._repr_html_())
    assert page.open == []
    assert not {"script", "img", "svg"} & set(page.seen)
    if name == "hostile":
        assert HOSTILE[0][:20] in page.text
        assert len(page.text) < 1000


def test_a_long_order_shows_its_ends(long):
    page = Tags(long._repr_html_())
    assert page.seen.count("tr") == 1 + 12 + 1 + 6
    assert "42 more tasks" in page.text


def test_a_comparison_is_a_table_of_its_rules(compared):
    page = Tags(compared._repr_html_())
    assert compared.verdict in page.text
    assert page.seen.count("tr") == 1 + len(compared) + 1
    assert "random (24 orders)" in page.text


def test_colors_are_those_of_the_page(compared, solved):
    """Text and background are left to the notebook, so that both are readable on light and on dark pages."""
    for record in (compared, solved):
        colors = re.findall(r"(?<![-\w])(?:color|background):([^;\"]+)", record._repr_html_())
        assert set(colors) <= {"inherit", "none", "#009e73"}
