"""The words of a plan's page: they fit what the plan was made for, the score of the law or the paper's error."""

import re
from dataclasses import replace

import numpy as np
import pytest

from taskorder import chain, compare, solve
from taskorder.records import Confidence, Prediction
from taskorder.report.document import page_html
from taskorder.report.plan_numbers import plan_numbers
from taskorder.report.plan_page import plan_page
from taskorder.report.text import percent


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
    assert f"this is predicted to end with {percent(plan.score)} knowledge of all tasks on average" in page.answer
    assert "The learner keeps 13 % of what it knew when the next task is learned." in page.answer
    facts = {fact.label: fact.value for fact in page.facts}
    assert facts["Predicted knowledge"] == percent(plan.score)
    assert facts["Proof"] == "proven"
    assert page.made["Learner"] == plan.keeps
    assert page.made["Table"] == plan.table
    assert any("A proof is a proof about the model" in line for line in page.confidence)
    assert not re.search(r"final error|closed form|least error|\d % (less|more) than", text)


def test_against_random_a_score_has_a_lead_and_no_ratio():
    plan, page, _ = page_of(chain(5, 0.7), retention=0.13)
    facts = {fact.label: fact for fact in page.facts}
    mean = compare(chain(5, 0.7), retention=0.13, retentions=[]).random_mean
    assert facts["A random order"].value == percent(mean)
    assert facts["Better orders"].value == "0 %"
    assert f"{100 * (plan.score - mean):.1f} points more than after a random order ({percent(mean)})" in page.answer


def test_a_better_rival_of_a_score_is_named():
    _, page, _ = page_of(chain(5, 0.7), rule="core-to-periphery", retention=0.13)
    assert "The rule optimal does better here" in page.answer
    assert "points less than after a random order" in page.answer
    _, page, _ = page_of(chain(5, 0.7), retention=0.13)
    assert "does better here" not in page.answer


def test_the_papers_theory_speaks_of_errors():
    plan, page, text = page_of(chain(5, 0.7), retention=1)
    assert f"this is predicted to end with {plan.error:.4g} error in sum, in the paper" in page.answer
    assert "% less than after a random order" in page.answer
    assert any("A proof is a proof about the model" in line for line in page.confidence)
    assert "Predicted knowledge" not in text


SURE = Confidence(
    verdict="order matters", beats_random=0.78, gain=0.043, gain_low=-0.003, gain_high=0.09, unit="accuracy",
    same_first=0.2, same_last=0.9, same_neighbors=0.5, as_good=(), num_as_good=3, num_orders=120, num_draws=200,
)  # fmt: skip
EXPECTED = Prediction(
    unit="accuracy", mean=0.79, low=0.71, high=0.87, tasks=(0.6, 0.7, 0.8, 0.9, 0.95),
    tasks_low=(0.5, 0.6, 0.7, 0.8, 0.9), tasks_high=(0.7, 0.8, 0.9, 1.0, 1.0), random_mean=0.74, random_std=0.033,
    retention="keeps 9 % [6, 12] of what it knew when the next task is learned (measured on 10 pairs)",
)  # fmt: skip


@pytest.mark.parametrize("retention", [0.13, 1])
@pytest.mark.parametrize(
    ("verdict", "leads"),
    [
        ("order matters", "Order matters. Learn "),
        ("too noisy to say", "Too noisy to say: "),
        ("any order is fine", "Any order is fine"),
    ],
)
def test_the_verdict_of_a_pilot_leads_and_nothing_contradicts_it(verdict, leads, retention):
    table = chain(5, 0.7)
    sure = replace(SURE, verdict=verdict)
    plan = replace(solve(table, retention=retention), confidence=sure, prediction=EXPECTED)
    assert plan.proven
    page = plan_page(plan_numbers(plan, table), "A title", "a file")
    assert page.answer.startswith(leads)
    assert "Expect a mean accuracy of 79 % (90 % interval 71 % to 87 %) at the end." in page.answer
    assert "proven" not in page.answer
    assert [fact.label for fact in page.facts] == ["Predicted", "A random order", "Confidence"]
    text = page_html(page, "taskorder report a")
    text = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    others = {"order matters", "too noisy to say", "any order is fine"} - {verdict}
    assert not re.search("|".join(others) + "|order hardly matters|than after a random order", text, re.IGNORECASE)
    about = [line for line in page.confidence if "proven" in line]
    assert about == [
        "The search: It is proven in the model that no allowed order is better. A proof is a proof about the model, "
        "not about your network."
    ]
    assert "keeps 9 % [6, 12] of what it knew" in text
    assert "keeps 100 %" not in text
    prediction = next(section for section in page.sections if section.key == "prediction")
    assert [row["interval"] for row in prediction.figures[0].chart["rows"]] == [
        (EXPECTED.tasks_low[k], EXPECTED.tasks_high[k]) for k in plan.order
    ]


@pytest.mark.parametrize("retention", [0.13, 1.0])
def test_the_page_says_what_each_constraint_costs(retention):
    asked = {"last": "A", "groups": [["B", "E"]]}
    _, page, text = page_of(chain(5, 0.7), retention=retention, **asked)
    prices = compare(chain(5, 0.7), retention=retention, retentions=[], **asked).prices
    worth = next(section for section in page.sections if section.key == "worth")
    for price in prices:
        assert price.said("score" if retention < 1 else "error") in worth.content
    assert "last A costs" in text
    assert "group B,E costs" in text
    free = page_of(chain(5, 0.7), retention=retention)[1]
    assert not next(section for section in free.sections if section.key == "worth").content
