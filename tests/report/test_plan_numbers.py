"""The numbers of a plan's page against plan, compare and the recursion."""

import dataclasses
import json

import numpy as np
import pytest

from taskorder.ordering.compare import compare
from taskorder.ordering.solve import solve
from taskorder.report.plan_numbers import NAME_BUDGET, page_names, plan_numbers
from taskorder.theory.closed_form import error_path, final_error
from taskorder.theory.law import final_knowledge, knowledge_path


def without_seconds(record):
    return {key: value for key, value in json.loads(record.to_json()).items() if key != "seconds"}


@pytest.mark.parametrize("retention", [None, 1])
@pytest.mark.parametrize("num_tasks", [1, 2, 5, 9])
def test_records_are_those_of_plan_and_compare(make_correlation, num_tasks, retention):
    C = make_correlation(num_tasks, 0)
    numbers = json.loads(json.dumps(plan_numbers(solve(C, retention=retention), C, time_limit=60.0).to_dict()))
    numbers["plan"].pop("seconds")
    assert numbers["plan"] == without_seconds(solve(C, retention=retention))
    assert numbers["comparison"] == json.loads(compare(C, time_limit=60.0, retention=retention).to_json())
    assert numbers["left_out"] == []
    assert numbers["disagreements"] == []


def test_values_before_and_after(make_correlation):
    C, weights = make_correlation(6, 1), [1.0, 2.0, 1.0, 0.5, 1.0, 3.0]
    plan = solve(C, weights=weights, learned=["B"], first="D", retention=1)
    numbers = plan_numbers(plan, C)
    path = error_path(C, [1, *plan.order])[1:]
    np.testing.assert_allclose(numbers.values, path @ weights)
    assert numbers.values[-1] == pytest.approx(plan.error)
    for step, task in enumerate(plan.order, start=1):
        assert numbers.before[task] == path[step - 1, task]
        assert numbers.after[task] == pytest.approx(0.0)
    assert numbers.after[1] == path[0, 1]


@pytest.mark.parametrize("num_tasks", [6, 12])
def test_random_orders_are_those_of_compare(make_correlation, num_tasks):
    C = make_correlation(num_tasks, 2)
    around = plan_numbers(solve(C, weights=[2.0] * num_tasks, retention=1), C).around
    assert around.random_values.mean() == pytest.approx(around.comparison.random_mean, rel=1e-12)
    assert len(around.random_values) == around.comparison.random_count
    assert (np.diff(around.band, axis=0) >= 0).all()
    np.testing.assert_allclose(around.band[:, 0], 2.0 * num_tasks)
    np.testing.assert_allclose(around.band[2, -1], np.median(around.random_values))
    for score in around.comparison.scores:
        assert around.rivals[score.rule][-1] == pytest.approx(score.value)
        ties = np.isclose(around.random_values, score.value, rtol=1e-9, atol=0).mean()
        assert around.share_better(score.value) == pytest.approx(score.quantile - ties / 2)
    assert around.share_better(around.comparison.scores[0].value) == 0  # the best order, which is proven


def test_slopes_are_taken_at_the_plan_with_its_options(make_correlation):
    C, weights = make_correlation(5, 4), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    plan = solve(C, weights=weights, learned=[2], visits=6, retention=1)
    slopes = plan_numbers(plan, C).around.slopes
    step = np.zeros_like(C)
    step[0, 3] = step[3, 0] = 1e-5
    ways = [2, *plan.order]
    up, down = final_error(C + step, ways, weights=weights), final_error(C - step, ways, weights=weights)
    assert slopes[0, 3] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_knowledge_before_and_after(make_correlation):
    C, weights = make_correlation(6, 1), [1.0, 2.0, 1.0, 0.5, 1.0, 3.0]
    plan = solve(C, weights=weights, learned=["B"], first="D")
    numbers = plan_numbers(plan, C)
    S = 1 - (1 - C) ** 2
    path = knowledge_path(S, [1, *plan.order], 0.13)[1:]
    np.testing.assert_allclose(numbers.table.values, S)
    np.testing.assert_allclose(numbers.values, path @ weights / sum(weights))
    assert numbers.values[-1] == pytest.approx(plan.score)
    for step, task in enumerate(plan.order, start=1):
        assert numbers.before[task] == path[step - 1, task]
        assert numbers.after[task] == pytest.approx(1.0)


def test_what_the_steps_leave_adds_up_to_the_score(make_correlation):
    C = make_correlation(7, 3)
    plan = solve(C, retention=0.4, visits=9)
    around = plan_numbers(plan, C).around
    assert around.left.sum() == pytest.approx(plan.score)
    assert around.left[-1] == pytest.approx((1 - (1 - C[plan.order[-1]]) ** 2).mean())
    learned = solve(C, retention=0.4, learned=["A", "C"])
    left = plan_numbers(learned, C).around.left
    assert len(left) == 5
    from_nothing = final_knowledge(1 - (1 - C) ** 2, learned.order, 0.4).mean()
    assert left.sum() == pytest.approx(from_nothing) != pytest.approx(learned.score)


def test_this_order_at_other_retentions(make_correlation):
    C = make_correlation(6, 2)
    plan = solve(C)
    around = plan_numbers(plan, C).around
    assert [other.retention for other in around.comparison.at_retention] == [0.1, 0.5, 1.0]
    S = 1 - (1 - C) ** 2
    wanted = [final_knowledge(S, plan.order, 0.1).mean(), final_knowledge(S, plan.order, 0.5).mean(), None]
    np.testing.assert_allclose(around.elsewhere[:2], wanted[:2])
    assert around.elsewhere[2] == pytest.approx(final_error(C, plan.order))


def test_a_plan_that_its_table_refutes_is_corrected_and_said_to_be(make_correlation):
    C = make_correlation(5, 0)
    for retention in (None, 1):
        plan = solve(C, retention=retention)
        assert plan_numbers(plan, C).disagreements == ()
        better = {"score": 0.999} if retention is None else {"error": 1e-9}
        numbers = plan_numbers(dataclasses.replace(plan, **better), C)
        assert numbers.plan.value == pytest.approx(plan.value)
        assert not numbers.plan.proven
        assert f"its table gives {plan.value:.4g}" in numbers.disagreements[0]
        worst = dataclasses.replace(solve(C, "worst", retention=retention), rule="optimal")
        numbers = plan_numbers(worst, C)
        assert not numbers.plan.proven
        assert "but the rule optimal ends with" in numbers.disagreements[0]
        path = dataclasses.replace(plan, task_errors=(0.5,) * 5)
        assert "do not agree on: task errors" in plan_numbers(path, C).disagreements[0]


def test_an_order_that_breaks_its_own_constraints_is_said_to(make_correlation):
    C = make_correlation(4, 0)
    plan = solve(C, first="B")
    turned = dataclasses.replace(plan, order=plan.order[::-1])
    assert "The plan's order breaks its own constraints." in plan_numbers(turned, C).disagreements
    twice = dataclasses.replace(plan, order=(0, 0, 1, 2))
    assert "The plan's order does not visit every task that is left to learn." in plan_numbers(twice, C).disagreements


def test_a_plan_alone_has_no_surroundings(make_correlation):
    numbers = plan_numbers(solve(make_correlation(4, 0), retention=1))
    assert numbers.around is None
    assert "comparison" not in numbers.to_dict()


def test_another_matrix_is_refused(make_correlation):
    with pytest.raises(ValueError, match="`similarity` must be the matrix that the plan was made from"):
        plan_numbers(solve(make_correlation(4, 0), retention=1), make_correlation(4, 1))


def test_large_tables_are_left_out_and_said_to_be(make_correlation):
    C = make_correlation(130, 0)
    plan = solve(C, "periphery-to-core", retention=1)
    numbers = plan_numbers(plan, C, time_limit=1.0).to_dict()
    assert numbers["table"] is None
    assert {"plan.error_path", "table", "derivatives"} <= set(numbers["left_out"])
    assert numbers["plan"]["order"] == plan.order
    assert len(json.dumps(numbers)) < 400_000


def test_names_are_cut_only_where_they_are_too_long():
    short = ("a", "b" * 300)
    assert page_names(short) == short
    cut = page_names([f"{i} <&>\N{GRINNING FACE}" + "x" * 5000 for i in range(500)])
    assert len(set(cut)) == 500
    assert sum(len(json.dumps(name)) for name in cut) < 2 * NAME_BUDGET
    assert all(name.endswith("…") for name in cut)


def test_a_plan_may_be_read_from_older_json(make_correlation):
    C = make_correlation(4, 0)
    plan = dataclasses.replace(solve(C, retention=1), options={})
    assert plan_numbers(plan, C).around.comparison.scores[0].rule in ("optimal", "periphery-to-core")
