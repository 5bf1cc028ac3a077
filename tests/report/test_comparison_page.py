"""The page of a comparison."""

import json
import re

from taskorder import chain, compare
from taskorder.report.comparison_page import comparison_page
from taskorder.report.document import page_html

from .conftest import HOSTILE


def numbers_of(text):
    (block,) = re.findall(r'<script type="application/json" id="numbers">(.*?)</script>', text, re.DOTALL)
    return json.loads(block)


def test_it_says_what_the_comparison_says():
    comparison = compare(chain(5, 0.6), names=["ants", "bees", "cats", "dogs", "eels"])
    page = comparison_page(comparison, "Rules on 5 tasks")
    assert page.answer == comparison.verdict
    assert page.facts[0].value == f"{100 * comparison.best:.0f} %"
    rules, elsewhere = page.sections
    (figure,) = rules.figures
    assert [row[1] for row in figure.table.rows] == [score.value for score in comparison.scores]
    assert {bar["start"] for bar in figure.chart["rows"]} == {comparison.random_mean}
    assert [bar["end"] for bar in figure.chart["rows"]] == [score.value for score in comparison.scores]
    (figure,) = elsewhere.figures
    assert [row[0] for row in figure.table.rows] == list(comparison.at_retention[0].shares)
    assert "all 120 allowed orders, so nothing is sampled" in page.confidence[0]
    assert numbers_of(page_html(page, "comparison.report('x.html')"))["verdict"] == comparison.verdict


def test_without_other_retentions_their_section_is_left_out():
    page = comparison_page(compare(chain(3, 0.6), retentions=()), "a")
    assert [section.key for section in page.sections] == ["rules"]


def test_prices_of_constraints_have_a_section():
    comparison = compare(chain(5, 0.7), last="A", groups=[["B", "D"]], retentions=())
    _, prices = comparison_page(comparison, "a").sections
    assert all(f"<li>{price.said('score')}</li>" in prices.content for price in comparison.prices)


def test_errors_of_the_paper_and_one_task():
    page = comparison_page(compare(chain(9, 0.6), retention=1, num_random=20), "a")
    assert "20 random orders; their mean is" in page.confidence[0]
    assert comparison_page(compare([[1.0]]), "a").answer.startswith("Order does not matter here")


def test_hostile_names_stay_text():
    comparison = compare(chain(len(HOSTILE), 0.5), names=HOSTILE, num_random=20)
    text = page_html(comparison_page(comparison, HOSTILE[0]), "x")
    assert "<script>alert(1)" not in text
    assert "<img src=x" not in text
