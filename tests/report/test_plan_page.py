"""The words of a plan's page: they fit what the plan was made for, the score of the law or the paper's error."""

import re

import numpy as np
import pytest

from taskorder import chain, solve
from taskorder.report.document import page_html
from taskorder.report.plan_numbers import plan_numbers
from taskorder.report.plan_page import plan_page


def page_of(table, *, matrix=True, **options):
    plan = solve(table, **options)
    numbers = plan_numbers(plan, np.asarray(table, float) if matrix else None)
    page = plan_page(numbers, "A title", "a file")
    text = page_html(page, "taskorder report a")
    return plan, page, re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("matrix", [True, False])
@pytest.mark.parametrize("table", [chain(5, 0.7), [[1, 0.9, 0.1], [0.2, 1, 0.3], [0.1, 0.5, 0.8]]])
def test_a_plan_by_score_speaks_of_knowledge(table, matrix):
    plan, page, text = page_of(table, matrix=matrix, retention=0.13)
    assert "the law of retention predicts a score of" in page.answer
    assert "The learner keeps 13 % of what it knew when the next task is learned." in page.answer
    facts = {fact.label: fact.value for fact in page.facts}
    assert facts["Predicted score"] == f"{plan.score:.4g}"
    assert facts["Proof"] == "proven"
    assert "A proof is a proof about the model." in page.confidence
    assert not re.search(r"final error|closed form|least error|\d % (less|more) than", text)


def test_against_random_a_score_has_a_lead_and_no_ratio():
    plan, page, _ = page_of(chain(5, 0.7), retention=0.13)
    facts = {fact.label: fact for fact in page.facts}
    mean = float(facts["Against random"].detail.split()[2])
    assert float(facts["Against random"].value) == pytest.approx(plan.score - mean, abs=2e-4)
    assert facts["Better orders"].value == "0 %"
    assert "more than a random order on average" in page.answer


def test_a_better_rival_of_a_score_is_named():
    _, page, _ = page_of(chain(5, 0.7), rule="core-to-periphery", retention=0.13)
    assert "The rule optimal does better here" in page.answer
    assert "less than a random order on average" in page.answer
    _, page, _ = page_of(chain(5, 0.7), retention=0.13)
    assert "does better here" not in page.answer


def test_the_papers_theory_speaks_of_errors():
    plan, page, text = page_of(chain(5, 0.7), retention=1)
    assert f"the closed form predicts a final error of {plan.error:.4g}" in page.answer
    assert "% less than a random order on average" in page.answer
    assert "A proof is a proof about the model." in page.confidence
    assert "Predicted score" not in text
