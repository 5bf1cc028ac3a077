"""The best order under the law of retention: against enumeration, constraints, bounds, sizes, bad input."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder import chain, compare, final_error, final_score, solve
from taskorder.constraints import closure
from taskorder.ordering import optimum
from taskorder.ordering.clock import Clock
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.law_search import best_by_law, spread_over_orders
from taskorder.ordering.listing import all_orders
from taskorder.ordering.local_moves import insertion_values
from taskorder.theory.law import PLAIN_RETENTION, knowledge_from_similarity


def transfer(num_tasks, seed, low=0.0):
    """A random transfer table; with `low` below 0 it has negative transfer."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(0.35, 0.12, (num_tasks, 1)) + rng.normal(0, 0.15, (num_tasks, num_tasks))
    table = np.clip(rows + (low if low < 0 else 0), low, 1)
    np.fill_diagonal(table, rng.uniform(0.8, 1, num_tasks))
    return table


def problem_of(table, retention, *, weights=None, start=None, pairs=(), objective="score"):
    P = len(table)
    weights = np.full(P, 1 / P) if weights is None else weights
    precedes = closure(P, pairs, [str(task) for task in range(P)])
    d = np.broadcast_to(np.asarray(retention, float), P)
    start = np.zeros(P) if start is None else start
    return LawProblem(np.arange(P), table, d, start, weights, precedes, objective)


def allowed_orders(problem):
    orders = itertools.permutations(range(problem.size))
    return np.array([order for order in orders if not np.tril(problem.precedes[np.ix_(order, order)]).any()])


@pytest.mark.parametrize("objective", ["score", "error"])
def test_orders_that_share_a_beginning_are_valued_as_each_alone(objective):
    rng = np.random.default_rng(0)
    problem = problem_of(transfer(5, 0, -0.5), rng.random(5), start=rng.random(5), objective=objective)
    for orders in (all_orders(5), rng.permuted(np.tile(np.arange(5), (30, 1)), axis=1), all_orders(5)[:0]):
        np.testing.assert_array_equal(problem.values(orders), problem.value_paths(orders)[:, -1])
        assert [problem.value(order) for order in orders] == pytest.approx(problem.values(orders).tolist(), rel=1e-14)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(1, 6),
    retention=st.sampled_from([0.0, 0.05, 0.13, 0.3, 0.5, 0.7, 0.9, 1.0]),
    low=st.sampled_from([0.0, -0.5]),
    goal=st.sampled_from([1, -1]),
    uneven=st.booleans(),
)
def test_the_beam_finds_and_bounds_the_best_and_the_worst_order(seed, size, retention, low, goal, uneven):
    rng = np.random.default_rng(seed)
    d = retention * rng.random(size) if uneven else retention
    pairs = [(a, b) for a, b in itertools.combinations(range(size), 2) if rng.random() < 0.2]
    problem = problem_of(
        transfer(size, seed, low), d, weights=rng.random(size) + 0.1, start=rng.random(size) * (seed % 2), pairs=pairs
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimum, "MAX_UNCOMPILED", 0)  # a search, where all orders would be listed
        proof = best_by_law(problem, goal, seed=0, clock=Clock(20.0))
    costs = -goal * problem.values(allowed_orders(problem))
    rounding = 1e-9 * spread_over_orders(problem, 0) + 1e-12
    assert proof.error == pytest.approx(-goal * problem.value(proof.order), abs=1e-12)
    assert proof.bound <= costs.min() + rounding
    assert proof.error <= costs.min() + rounding or not proof.complete


@pytest.mark.parametrize("objective", ["score", "error"])
def test_solve_equals_enumeration_with_constraints_weights_and_a_start(objective):
    table, weights = transfer(6, 3), np.array([1.0, 2, 1, 0.5, 1, 3])
    options = {"retention": 0.2, "objective": objective, "weights": weights, "before": [(0, 5), (3, 1)], "last": 4}
    plan = solve(table, **options, start=[0.1, 0, 0, 0.3, 0, 0])
    value = final_score if objective == "score" else final_error
    orders = [
        o
        for o in itertools.permutations(range(6))
        if o[-1] == 4 and o.index(0) < o.index(5) and o.index(3) < o.index(1)
    ]
    values = [value(table, o, retention=0.2, weights=weights, start=[0.1, 0, 0, 0.3, 0, 0]) for o in orders]
    assert plan.value == pytest.approx(max(values) if objective == "score" else min(values), rel=1e-12)
    assert plan.proven
    assert plan.bound == plan.value
    assert plan.objective == objective
    assert plan.score == pytest.approx(np.average(plan.knowledge, weights=weights))
    assert solve(table, "worst", **options).value == pytest.approx(
        (min if objective == "score" else max)(
            value(table, o, retention=0.2, weights=weights) for o in orders
        )
    )  # fmt: skip


@pytest.mark.parametrize("low", [0.0, -0.2])
@pytest.mark.parametrize(("size", "retention"), [(200, 0.0), (200, 0.13), (200, 0.3), (20, 0.5)])
def test_orders_of_many_tasks_are_proven(size, retention, low):
    plan = solve(transfer(size, 1, low), retention=retention)
    assert plan.proven
    assert sorted(plan.order) == list(range(size))
    rng = np.random.default_rng(0)
    scores = [final_score(transfer(size, 1, low), rng.permutation(size), retention) for _ in range(50)]
    assert plan.score >= max(scores)


def test_the_search_ends_at_its_time_limit_and_says_so():
    plan = solve(transfer(60, 0), retention=0.8, time_limit=0.5)
    assert not plan.proven
    assert any("time limit" in note for note in plan.notes)


def test_the_same_seed_gives_the_same_plan_and_renamed_tasks_the_same_order():
    table = transfer(15, 5)
    plan = solve(table, retention=0.4)
    assert solve(table, retention=0.4).order == plan.order
    renamed = np.random.default_rng(0).permutation(15)
    again = solve(table[np.ix_(renamed, renamed)], retention=0.4)
    assert again.score == pytest.approx(plan.score, rel=1e-12)
    assert [int(renamed[task]) for task in again.order] == list(plan.order)


def test_insertion_values_are_those_of_the_whole_orders():
    problem = problem_of(transfer(9, 2, -0.3), np.linspace(0.1, 0.9, 9), start=np.linspace(0, 0.4, 9))
    rest = np.array([3, 1, 0, 8, 7, 2, 5, 6])
    for low, high in ((0, 8), (2, 5), (8, 8)):
        values = insertion_values(problem, rest, 4, low, high)
        orders = np.array([np.insert(rest, position, 4) for position in range(low, high + 1)])
        np.testing.assert_allclose(values, problem.values(orders), atol=1e-13)


def test_learned_tasks_are_the_start_and_repeats_never_hurt():
    table = transfer(5, 7)
    plan = solve(table, retention=0.3, learned=["B", "D"])
    best = max(itertools.permutations([0, 2, 4]), key=lambda rest: final_score(table, [1, 3, *rest], 0.3))
    assert plan.order == best
    more = solve(table, retention=0.3, learned=["B", "D"], visits=5)
    sequences = (seq for n in (3, 4, 5) for seq in itertools.product(range(5), repeat=n) if {0, 2, 4} <= set(seq))
    best = max(final_score(table, [1, 3, *seq], 0.3) for seq in sequences)
    assert best - 2e-3 <= more.score <= best + 1e-12  # a visit that adds less than 0.001 is left out
    assert more.score >= plan.score
    assert more.bound >= best - 1e-12


def test_many_repeats_are_added_where_they_help():
    table = transfer(12, 7)
    plan = solve(table, retention=0.8, objective="error", time_limit=5)
    more = solve(table, retention=0.8, objective="error", visits=20, time_limit=5)
    assert more.error < plan.error
    assert len(more.order) <= 20
    assert set(more.order) == set(range(12))
    assert more.error == pytest.approx(final_error(table, more.order, retention=0.8))


def test_a_similarity_stands_for_knowledge_below_retention_1():
    plan, similarity = solve(chain(5, 0.7)), chain(5, 0.7)
    assert plan.retention == PLAIN_RETENTION
    assert plan.objective == "score"
    knowledge = knowledge_from_similarity(similarity)
    assert plan.score == pytest.approx(final_score(knowledge, plan.order, PLAIN_RETENTION))
    assert "1 - (1 - rho)^2" in plan.table
    as_given = solve(similarity, kind="transfer")
    assert as_given.score == pytest.approx(final_score(similarity, as_given.order, PLAIN_RETENTION))
    paper = solve(similarity, retention=1)
    assert (paper.objective, paper.table) == ("error", "similarity")
    assert paper.error == pytest.approx(final_error(similarity, paper.order))
    assert paper.score == pytest.approx(final_score(similarity, paper.order, 1.0))


def test_retention_by_task_and_by_name():
    table = transfer(4, 1)
    plan = solve(table, retention=[0.1, 0.2, 0.3, 0.4])
    named = solve(table, retention={"A": 0.1, "B": 0.2, "C": 0.3, "D": 0.4})
    assert named.order == plan.order
    assert plan.task_retention == (0.1, 0.2, 0.3, 0.4)
    assert plan.score == pytest.approx(final_score(table, plan.order, [0.1, 0.2, 0.3, 0.4]))
    assert "10 to 40 %" in plan.keeps


def test_positions_that_do_not_matter_are_counted():
    table = transfer(30, 4)
    plan = solve(table, retention=0.1)
    note = next(note for note in plan.notes if "any order" in note)
    free = int(note.split()[2])
    assert 20 < free < 30
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = [*rng.permutation(plan.order[:free]).tolist(), *plan.order[free:]]
        assert abs(final_score(table, other, 0.1) - plan.score) < 1e-3


@pytest.mark.parametrize("rule", ["row-sums", "periphery-to-core", "max-path", "greedy", "random"])
def test_rules_keep_the_constraints_of_a_transfer_table(rule):
    plan = solve(transfer(7, 2), rule, retention=0.2, before=[("F", "A")], first="C")
    assert plan.order[0] == 2
    assert plan.order.index(5) < plan.order.index(0)
    assert plan.score <= solve(transfer(7, 2), retention=0.2, before=[("F", "A")], first="C").score + 1e-12


def test_compare_shows_the_rules_at_other_retentions():
    table = transfer(6, 9)
    result = compare(table, retention=0.13)
    assert (result.objective, result.retention) == ("score", 0.13)
    assert result.scores[0].rule == "optimal"
    assert result.best == pytest.approx(result.scores[0].value)
    scores = [final_score(table, order, 0.13) for order in itertools.permutations(range(6))]
    assert result.random_mean == pytest.approx(np.mean(scores))
    assert result.worst == pytest.approx(min(scores))
    assert [other.retention for other in result.at_retention] == [0.1, 0.5]  # a transfer table has no value at 1
    half = result.at_retention[1]
    values = [final_score(table, order, 0.5) for order in itertools.permutations(range(6))]
    assert half.value == pytest.approx(max(values))
    rows = next(score for score in result.scores if score.rule == "row-sums")
    lead = (final_score(table, rows.order, 0.5) - np.mean(values)) / (max(values) - np.mean(values))
    assert half.shares["row-sums"] == pytest.approx(lead)
    assert [other.retention for other in compare(chain(4, 0.5)).at_retention] == [0.1, 0.5, 1.0]
    ranges = result.best_orders
    assert ranges[0].low == 0
    assert all(a.high < b.low for a, b in itertools.pairwise(ranges))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"retention": 1.5}, r"`retention` must be in \[0, 1\]"),
        ({"retention": "much"}, "`retention` must be a number"),
        ({"retention": [0.1, 0.2]}, "`retention` must be one number or 3"),
        ({"retention": {"A": 0.1}}, "'B' is missing"),
        ({"retention": 1}, r"`retention` must be below 1 for a transfer table.*pass \(S \+ S.T\) / 2"),
        ({"objective": "loss"}, "`objective` must be one of score, error"),
        ({"kind": "matrix"}, "`kind` must be one of similarity, transfer"),
        ({"output": np.ones((3, 3))}, "`output` must be left out with a retention of 0.13"),
        ({"start": [0, 1]}, "`start` must be 3 finite numbers"),
        ({"repair": False}, "`repair` must be left out with a transfer table"),
        ({"rule": "first-order"}, "must not be 'first-order' with a transfer table"),
        (
            {"table": [[1, 0.5, np.nan], [0.2, 1, 0.1], [0.3, 0.2, 1]]},
            "`table` must have a number in every cell, got none in row A, column C",
        ),
        ({"table": [[1, 85, 60], [50, 1, 70], [55, 60, 1]]}, "`table` must hold knowledge of at most 1"),
        ({"table": [[0.1, 0.6, 0.7], [0.8, 0.1, 0.7], [0.5, 0.6, 0.1]]}, "less of a learner's own task"),
    ],
)
def test_bad_input_is_refused_with_the_fix(change, message):
    table = [[0.9, 0.5, 0.2], [0.1, 1.0, 0.4], [0.3, 0.2, 0.95]]
    with pytest.raises(ValueError, match=message):
        solve(**{"table": table, **change})
    with pytest.raises(ValueError, match="`start` must be left out with retention=1"):
        solve(chain(3, 0.5), retention=1, start=[0, 0, 0])


def test_a_bound_that_says_nothing_is_none():
    plan = solve(transfer(12, 0), retention=0.95, time_limit=1)
    assert plan.bound is None or math.isfinite(plan.bound)
    assert not plan.proven
