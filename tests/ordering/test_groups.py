"""Groups: no answer of any rule breaks one, and proofs with groups equal the best of all orders that keep them."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder import Plan, compare, final_error, final_score, solve
from taskorder.ordering import optimum, sampling
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import prove
from taskorder.ordering.first_order import first_order_rule
from taskorder.ordering.group_moves import GroupMoves
from taskorder.ordering.groups import count_orders, grouped_orders, keeps_groups
from taskorder.ordering.search_groups import search_order
from taskorder.ordering.solve import RULES
from taskorder.ordering.solver_input import solver_input

from .questions import correlation, questions
from .reference import allowed_orders, extremes
from .reference import keeps_groups as kept

OPTIONS = ("learned", "before", "first", "last", "groups")


def transfer(size, seed):
    table = np.random.default_rng(seed).uniform(-0.2, 0.8, (size, size))
    np.fill_diagonal(table, 1.0)
    return table


def allowed(size, options):
    return list(allowed_orders(size, **{key: options[key] for key in OPTIONS if key in options}))


@pytest.mark.parametrize("listed", [8, 1], ids=["listed", "searched and proven"])
@settings(max_examples=60)
@given(questions(grouped=True))
def test_with_groups_the_paper_s_optimum_equals_enumeration(listed, question):
    similarity, options = question
    best, worst = extremes(similarity, **options)
    scale = np.sum(options.get("weights", np.ones(len(similarity))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimum, "MAX_UNCOMPILED", listed)
        low, high = solve(similarity, **options, retention=1), solve(similarity, "worst", **options, retention=1)
    for plan, truth in ((low, best), (high, worst)):
        assert plan.proven
        assert plan.error == pytest.approx(truth, rel=2e-9, abs=2e-12 * scale)
        assert tuple(plan.order) in allowed(len(similarity), options)
    assert Plan.from_json(low.to_json()) == low


@settings(max_examples=80)
@given(
    questions(grouped=True, max_size=6),
    st.sampled_from([0.0, 0.13, 0.5, 0.9, 1.0]),
    st.sampled_from(["score", "error"]),
    st.sampled_from([8, 1]),
)
def test_with_groups_the_law_equals_enumeration_at_every_retention(question, retention, objective, listed):
    similarity, options = question
    options = {key: value for key, value in options.items() if key != "output"}
    retention = 0.7 if retention == 1 and objective == "error" else retention
    table = transfer(len(similarity), int(1e6 * abs(similarity).sum()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimum, "MAX_UNCOMPILED", listed)
        plans = [
            solve(table, rule, retention=retention, objective=objective, kind="transfer", **options)
            for rule in ("optimal", "worst")
        ]
    orders, weights, past = allowed(len(table), options), options.get("weights"), options["learned"]
    value = final_score if objective == "score" else final_error
    values = [value(table, (*past, *order), retention=retention, weights=weights) for order in orders]
    ends = (max, min) if objective == "score" else (min, max)
    rounding = 1e-8 * max(np.std(values), np.abs(values).max()) + 1e-12
    for plan, end in zip(plans, ends, strict=True):
        assert plan.order in orders
        truth = end(values)
        assert plan.proven or listed == 1
        assert plan.value == pytest.approx(truth, abs=rounding) or not plan.proven
        if plan.bound is not None:
            assert (truth - plan.bound) * (1 if end is min else -1) >= -rounding


@settings(max_examples=60)
@given(questions(grouped=True, max_size=7), st.sampled_from(sorted(RULES)), st.sampled_from([0.13, 1.0]))
def test_no_rule_breaks_a_group(question, rule, retention):
    similarity, options = question
    options = {key: options[key] for key in OPTIONS if key in options}
    plan = solve(similarity, rule, retention=retention, **options)
    assert plan.order in allowed(len(similarity), options)


GROUPS = [[0, 3, 5, 11], [1, 2], [7, 9, 10]]
MANY = {"groups": GROUPS, "before": [(4, 3)], "last": 2}


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("retention", [0.13, 0.95, 1.0])
def test_rules_keep_groups_of_many_tasks(rule, retention):
    plan = solve(correlation(24, 3), rule, retention=retention, time_limit=1.0, **MANY)
    assert sorted(plan.order) == list(range(24))
    assert kept(plan.order, GROUPS)
    assert plan.order[-1] == 2
    assert plan.order.index(4) < min(plan.order.index(task) for task in GROUPS[0])


@pytest.mark.parametrize("size", [70, 200])
def test_searches_without_a_proof_keep_groups_and_beat_every_simple_rule(size):
    groups = [list(range(start, start + 5)) for start in range(0, size - 10, 10)]
    C = correlation(size, 1, 8)
    best = solve(C, retention=1, groups=groups, time_limit=2.0)
    assert kept(best.order, groups)
    assert not best.proven
    assert best.bound <= best.error
    for rule in ("periphery-to-core", "greedy", "random"):
        assert best.error < solve(C, rule, retention=1, groups=groups).error


def test_two_thousand_tasks_in_groups_of_five_are_proven_at_small_retention():
    size = 2000
    table = np.random.default_rng(0).random((size, size)) ** 8
    np.fill_diagonal(table, 1.0)
    groups = np.random.default_rng(1).permutation(size).reshape(-1, 5).tolist()
    plan = solve(table, retention=0.05, kind="transfer", groups=groups, time_limit=60.0)
    assert plan.proven
    assert kept(plan.order, groups)


def test_sorting_rules_rank_groups_by_their_mean_and_say_so():
    table = np.diag([0.9, 0.1, 0.6, 0.2, 0.5]) + 0.0
    plan = solve(table, "row-sums", retention=0.1, kind="transfer", groups=[["A", "D"]])
    assert plan.named_order == ("B", "E", "D", "A", "C")  # 0.1, 0.5, (0.2 + 0.9) / 2, 0.6
    assert any("the mean of its tasks" in note for note in plan.notes)
    assert not any("group" in note for note in solve(table, "row-sums", retention=0.1, kind="transfer").notes)


def test_groups_of_one_and_a_group_of_all_change_nothing():
    C = correlation(10, 2)
    for retention in (0.2, 1.0):
        plain = solve(C, retention=retention)
        for groups in ([["A"], ["B"]], [list("ABCDEFGHIJ")]):
            grouped = solve(C, retention=retention, groups=groups)
            assert (grouped.order, grouped.value, grouped.bound) == (plain.order, plain.value, plain.bound)


def test_random_orders_are_uniform_over_those_that_keep_groups_and_precedence():
    inputs = solver_input(correlation(6, 0), groups=[[0, 2, 4], [1, 5]], before=[(4, 0), (3, 1)])
    precedes, together = inputs.constraints.precedence(), inputs.constraints.together
    orders = [tuple(order) for order in grouped_orders(together, precedes).tolist()]
    assert sorted(orders) == sorted(allowed_orders(6, before=[(4, 0), (3, 1)], groups=[[0, 2, 4], [1, 5]]))
    num = 400 * len(orders)
    drawn = sampling.random_orders(precedes, num, np.random.default_rng(1), together)
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) == set(orders)
    assert sum((count - 400) ** 2 / 400 for count in counts.values()) < len(orders) + 5 * math.sqrt(2 * len(orders))
    assert sampling.is_uniform(precedes, together)


def test_the_number_of_orders_with_groups():
    together = np.array([0, 1, 0, 3, 1, 0])
    orders = grouped_orders(together, np.zeros((6, 6), bool))
    assert len(orders) == count_orders(together) == math.factorial(3) * 6 * 2
    assert keeps_groups(orders, together).all()
    assert (np.lexsort(orders.T[::-1]) == np.arange(len(orders))).all()


@pytest.mark.parametrize("rank", [None, 2], ids=["one row", "many rows"])
def test_branch_and_bound_with_groups_equals_the_list(rank):
    output = None if rank is None else correlation(10, 5, rank)
    for seed in range(2, 4):
        inputs = solver_input(
            correlation(10, seed), retention=1, output=output, groups=[[0, 4, 8], [1, 2, 3], [5, 9]], before=[(2, 5)]
        )
        problem = inputs.problem()
        listed = optimum.best_listed(problem, grouped_orders(problem.together, problem.precedes))
        start = grouped_orders(problem.together, problem.precedes)[-1]
        proof = prove(problem, start, Clock(60.0))
        assert proof.complete
        assert proof.error == pytest.approx(listed.error, rel=2e-9)
        assert keeps_groups(proof.order[None], problem.together).all()
        order = search_order(problem, seed=0, clock=Clock(60.0))
        assert problem.error(order) <= 1.02 * listed.error


def test_the_first_order_rule_with_groups_is_the_best_of_the_list_and_searches_beyond_it():
    C, groups = correlation(9, 4), [[0, 1, 2, 3, 4], [5, 6]]
    plan = solve(C, "first-order", retention=1, groups=groups)
    assert not any("local search" in note for note in plan.notes)
    together = np.array([0, 0, 0, 0, 0, 5, 5, 7, 8])
    every = np.zeros((9, 9), bool)
    order, objective, exact = first_order_rule(C, np.arange(9), every, together=together)
    searched = GroupMoves(every, together, lambda orders, _: np.array([cost(C, order) for order in orders]))
    assert exact
    assert tuple(order.tolist()) == plan.order
    assert cost(C, order) == pytest.approx(objective)
    assert cost(C, searched.improved(np.arange(9), 0, Clock(60.0))) >= objective - 1e-9
    larger = solve(correlation(30, 4), "first-order", retention=1, groups=groups, time_limit=1.0)
    assert any("local search" in note for note in larger.notes)
    assert kept(larger.order, groups)


def cost(C, order):
    from taskorder.ordering.first_order import coefficients
    from taskorder.ordering.first_order import objective as first_order_objective

    S = C.copy()
    np.fill_diagonal(S, 0.0)
    return first_order_objective(S, coefficients(S), np.asarray(order))


def test_compare_keeps_groups_in_every_order_and_in_its_random_ones():
    result = compare(correlation(7, 1), groups=[[0, 3, 6], [1, 2]], retentions=(1.0,))
    assert result.random_exact
    assert result.random_count == math.factorial(4) * 6 * 2
    for order in [*(score.order for score in result.scores), *(best.order for best in result.best_orders)]:
        assert kept(order, [[0, 3, 6], [1, 2]])
    large = compare(correlation(12, 1), groups=[[0, 3, 6]], retentions=(), num_random=50, time_limit=2.0)
    assert large.random_count == 50
    assert all(kept(score.order, [[0, 3, 6]]) for score in large.scores)


def test_further_visits_and_groups_exclude_each_other():
    with pytest.raises(ValueError, match=r"^`groups` must be left out with more visits than open tasks, got 6 for 5"):
        solve(correlation(5, 1), groups=[["A", "B"]], visits=6)
    assert solve(correlation(5, 1), groups=[["A", "B"]], visits=5).proven
