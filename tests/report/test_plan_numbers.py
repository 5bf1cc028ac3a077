"""The numbers of a plan's page against plan, compare and the recursion."""

import dataclasses
import json

import numpy as np
import pytest

from taskorder.ordering.compare import compare
from taskorder.ordering.solve import solve
from taskorder.report.plan_numbers import NAME_BUDGET, page_names, plan_numbers
from taskorder.theory.closed_form import error_path, final_error


def without_seconds(record):
    return {key: value for key, value in json.loads(record.to_json()).items() if key != "seconds"}


@pytest.mark.parametrize("num_tasks", [1, 2, 5, 9])
def test_records_are_those_of_plan_and_compare(make_correlation, num_tasks):
    C = make_correlation(num_tasks, 0)
    found = json.loads(json.dumps(plan_numbers(solve(C, retention=1), C, time_limit=60.0).to_dict()))
    found["plan"].pop("seconds")
    assert found["plan"] == without_seconds(solve(C, retention=1))
    assert found["comparison"] == json.loads(compare(C, time_limit=60.0, retention=1, retentions=[]).to_json())
    assert found["left_out"] == []


def test_totals_before_and_after(make_correlation):
    C, weights = make_correlation(6, 1), [1.0, 2.0, 1.0, 0.5, 1.0, 3.0]
    plan = solve(C, weights=weights, learned=["B"], first="D", retention=1)
    numbers = plan_numbers(plan, C)
    path = error_path(C, [1, *plan.order])[1:]
    np.testing.assert_allclose(numbers.totals, path @ weights)
    assert numbers.totals[-1] == pytest.approx(plan.error)
    for step, task in enumerate(plan.order, start=1):
        assert numbers.before[task] == path[step - 1, task]
        assert numbers.after[task] == pytest.approx(0.0)
    assert numbers.after[1] == path[0, 1]


@pytest.mark.parametrize("num_tasks", [6, 12])
def test_random_orders_are_those_of_compare(make_correlation, num_tasks):
    C = make_correlation(num_tasks, 2)
    around = plan_numbers(solve(C, weights=[2.0] * num_tasks, retention=1), C).around
    assert around.random_errors.mean() == pytest.approx(around.comparison.random_mean, rel=1e-12)
    assert len(around.random_errors) == around.comparison.random_count
    assert (np.diff(around.band, axis=0) >= 0).all()
    np.testing.assert_allclose(around.band[:, 0], 2.0 * num_tasks)
    np.testing.assert_allclose(around.band[2, -1], np.median(around.random_errors))
    for score in around.comparison.scores:
        assert around.rivals[score.rule][-1] == pytest.approx(score.value)
        ties = np.isclose(around.random_errors, score.value, rtol=1e-9, atol=0).mean()
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
    found = plan_numbers(plan, C, time_limit=1.0).to_dict()
    assert found["similarity"] is None
    assert {"plan.error_path", "similarity", "pair_derivatives"} <= set(found["left_out"])
    assert found["plan"]["order"] == plan.order
    assert len(json.dumps(found)) < 400_000


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
