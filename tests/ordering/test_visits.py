from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder import chain, solve
from taskorder.ordering import visits
from taskorder.ordering.solver_input import solver_input

from .questions import correlation, questions
from .reference import final_error


def best_sequence(similarity, budget, learned=(), before=(), first=None, last=None, **options):
    """Smallest error over every sequence of `budget` visits that learns each open task at least once."""
    size = len(similarity)
    best = np.inf
    for sequence in product(range(size), repeat=budget):
        if not set(range(size)) <= set(sequence) | set(learned):
            continue
        met = {task: sequence.index(task) for task in set(sequence)}
        if first is not None and sequence[0] != first:
            continue
        if last is not None and sequence[-1] != last:
            continue
        if all(a in learned or met[a] < met[b] for a, b in before):
            best = min(best, final_error(similarity, sequence, learned=learned, **options))
    return best


@settings(max_examples=25)
@given(questions(min_size=2, max_size=4), st.integers(0, 2))
def test_a_visit_budget_equals_enumeration(question, extra):
    similarity, options = question
    budget = len(similarity) - len(options["learned"]) + extra
    plan = solve(similarity, visits=budget, **options, retention=1)
    assert plan.proven
    scale = np.sum(options.get("weights", np.ones(len(similarity))))
    assert plan.error == pytest.approx(best_sequence(similarity, budget, **options), rel=1e-8, abs=1e-11 * scale)
    assert len(plan.order) <= budget
    assert set(plan.order) | set(options["learned"]) == set(range(len(similarity)))


@settings(max_examples=15)
@given(questions(min_size=3, max_size=4))
def test_the_exchange_for_large_budgets_is_allowed_and_never_below_the_truth(question):
    similarity, options = question
    budget = len(similarity) - len(options["learned"]) + 2
    truth = best_sequence(similarity, budget, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visits, "MAX_CHOICES", 0)
        plan = solve(similarity, visits=budget, **options, retention=1)
    rounding = 1e-11 * np.sum(options.get("weights", np.ones(len(similarity))))
    assert not plan.proven or plan.error <= rounding
    assert truth - rounding <= plan.error <= solve(similarity, **options, retention=1).error + rounding
    assert 0 <= plan.bound <= truth + rounding
    met = {task: plan.order.index(task) for task in set(plan.order)}
    assert all(a in options["learned"] or met[a] < met[b] for a, b in options.get("before", ()))
    assert options.get("first") in (None, plan.order[0])
    assert options.get("last") in (None, plan.order[-1])


def test_insertion_errors_equal_full_evaluation():
    similarity, output = correlation(6, 1), correlation(6, 2)
    weights = np.arange(1.0, 7.0) / 6  # solver input has its weights relative to the largest
    inputs = solver_input(similarity, output=output, weights=weights, learned=[3], retention=1)
    sequence = np.array([0, 5, 1, 5, 2, 4])
    errors = visits.insertion_errors(inputs, sequence)
    assert errors.shape == (7, 6)
    for place, task in product(range(7), range(6)):
        expected = final_error(similarity, np.insert(sequence, place, task), output, weights, [3])
        assert errors[place, task] == pytest.approx(expected, rel=1e-9)


def test_more_visits_never_hurt_and_the_plan_says_where_they_pay():
    similarity = chain(5, 0.7)
    errors = [solve(similarity, visits=budget, retention=1).error for budget in range(5, 9)]
    assert errors == sorted(errors, reverse=True)
    assert errors[3] < 0.5 * errors[0]
    assert any("visited again: " in note for note in solve(similarity, visits=7, retention=1).notes)
    note = "no task is visited again; 3 of the 5 visits are used, no further visit can help"
    assert solve(np.eye(3), visits=5, retention=1).notes == (note,)


@pytest.mark.parametrize("learned", [(), (2,)])
@pytest.mark.parametrize("budget", [5, 6])
def test_the_note_names_the_tasks_that_are_visited_again(learned, budget):
    plan = solve(correlation(4, 0), visits=budget, learned=learned, retention=1)
    again = {task for task in plan.order if plan.order.count(task) > 1 or task in learned}
    assert plan.notes == (f"visited again: {', '.join(plan.names[task] for task in sorted(again))}",)
    assert len(again) < 4


@pytest.mark.slow("time")
def test_large_budgets_stay_within_the_time_limit():
    plan = solve(correlation(40, 0), visits=60, time_limit=3, retention=1)
    assert plan.seconds < 8
    assert plan.error < solve(correlation(40, 0), time_limit=1, retention=1).error


@pytest.mark.parametrize("limits", [{"first": 0, "last": 0}, {"last": 0, "before": [(0, 1)]}])
@pytest.mark.parametrize("budget", [5, 6])
def test_a_task_may_come_early_and_last_when_it_may_be_visited_twice(limits, budget):
    similarity = correlation(4, 3)
    plan = solve(similarity, visits=budget, **limits, retention=1)
    assert plan.proven
    assert plan.error == pytest.approx(best_sequence(similarity, budget, **limits), rel=1e-8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visits, "MAX_CHOICES", 0)
        assert solve(similarity, visits=budget, **limits, retention=1).error >= plan.error - 1e-9
    with pytest.raises(ValueError, match=r"`last` must not|`first` and `last` must be different"):
        solve(similarity, visits=4, **limits, retention=1)


def test_a_large_budget_for_the_worst_order_has_no_bound_but_a_plan():
    plan = solve(chain(6, 0.5), "worst", visits=14, time_limit=2, retention=1)
    assert plan.bound is None
    assert type(plan).from_json(plan.to_json()) == plan
    assert "no bound known" in plan.summary()


@pytest.mark.parametrize("visits_", [2, 2.5, "many"])
def test_a_budget_below_one_visit_a_task_is_refused(visits_):
    with pytest.raises(ValueError, match="`visits` must be at least 4"):
        solve(chain(4, 0.5), visits=visits_, retention=1)


def test_choices_that_tie_to_rounding_are_a_proof():
    """Found with the oldest hypothesis: the bound of one choice lay one rounding below the error of another."""
    output = [
        [1.0, 0.31839671113355794, 0.27958511818491105],
        [0.31839671113355794, 1.0, 0.9423725775811013],
        [0.27958511818491105, 0.9423725775811013, 1.0],
    ]
    plan = solve(np.ones((3, 3)), output=output, visits=4, retention=1)
    assert plan.proven
    assert plan.bound == plan.error


@pytest.mark.parametrize("rule", ["optimal", "worst"])
def test_the_only_open_task_may_be_first_and_last_with_visits_between(rule):
    matrix = correlation(3, 1)
    plan = solve(matrix, rule, learned=[1, 2], first=0, last=0, visits=3, retention=1)
    sign = 1 if rule == "optimal" else -1
    best = min(sign * final_error(matrix, [1, 2, *way]) for way in [(0,), (0, 1, 0), (0, 2, 0)])
    assert plan.proven
    assert sign * plan.error == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("options", [{"first": 0}, {"before": [(0, 1)]}])
def test_random_visits_make_room_for_a_task_that_must_come_twice(options):
    for seed in range(20):
        order = solve(correlation(4, 0), "random", last=0, visits=5, seed=seed, **options, retention=1).order
        assert sorted(order) == [0, 0, 1, 2, 3]
        assert order[-1] == 0


def test_what_a_further_visit_adds_is_said_in_the_unit_of_the_plan_and_not_without_a_search():
    table = chain(4, 0.3)
    weights = [0.3888586046479793, 1.2933269604627005, 1.7051850277932394, 1.003075935100697]
    asked = {"retention": 0.13, "objective": "error", "kind": "similarity", "weights": weights, "first": 3}
    plan = solve(table, visits=5, **asked)
    (note,) = (note for note in plan.notes if "of the 5 visits are used" in note)
    least = float(note.rpartition(" ")[2])
    assert least == pytest.approx(1e-3 * max(weights), rel=1e-5)
    twice = [0, 1, 2, 3, 3]  # a second visit of the first task, as a copy without weight
    better = solve(table[np.ix_(twice, twice)], before=[(3, 4)], **{**asked, "weights": [*weights, 0.0]})
    assert 1e-3 < plan.error - better.error < least
    table = np.random.default_rng(0).uniform(0, 0.8, (10, 10))
    np.fill_diagonal(table, 0.9)
    late, plan = (solve(table, retention=0.5, visits=13, time_limit=limit) for limit in (1e-9, None))
    assert len(plan.order) == 13  # every further visit adds more
    assert "10 of the 13 visits are used: none that adds 0.001 was found in time" in late.notes[0]
