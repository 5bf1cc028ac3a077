import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taskorder
from taskorder import Plan, chain, compare, final_error, solve
from taskorder.ordering.solve import RULES

from .questions import correlation, questions
from .reference import extremes
from .reference import final_error as plain_error


@given(questions())
def test_optimal_and_worst_equal_enumeration(question):
    similarity, options = question
    best, worst = extremes(similarity, **options)
    low, high = solve(similarity, **options), solve(similarity, "worst", **options)
    assert low.proven
    assert high.proven
    assert low.error == pytest.approx(best, rel=1e-8, abs=1e-11)
    assert high.error == pytest.approx(worst, rel=1e-8, abs=1e-11)
    for plan in (low, high):
        assert plan.lower_bound == plan.error
        assert plan.error == pytest.approx(
            plain_error(similarity, plan.order, options.get("output"), options.get("weights"), options["learned"]),
            abs=1e-11,
        )


@given(questions(max_size=6), st.sampled_from(sorted(RULES)))
def test_every_rule_obeys_or_refuses(question, rule):
    similarity, options = question
    blind = rule in ("periphery-to-core", "core-to-periphery")
    if ("weights" in options and (blind or rule == "first-order")) or ("output" in options and blind):
        with pytest.raises(ValueError, match=f"must be left out with rule '{rule}'"):
            solve(similarity, rule, **options)
        return
    if rule == "first-order" and "output" in options and len(similarity) > 2:
        with pytest.raises(ValueError, match="must be the same for all pairs"):
            solve(similarity, rule, **options)
        return
    plan = solve(similarity, rule, **options)
    assert sorted((*plan.order, *options["learned"])) == list(range(len(similarity)))
    place = {task: step for step, task in enumerate((*options["learned"], *plan.order))}
    assert all(place[a] < place[b] for a, b in options.get("before", ()))
    if "first" in options:
        assert plan.order[0] == options["first"]
    if "last" in options:
        assert plan.order[-1] == options["last"]
    assert plan.error >= solve(similarity, **options).error - 1e-9
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("size", [1, 2, 6, 11])
def test_rules_keep_the_contract(rule, size):
    similarity = correlation(size, 7)
    before = similarity.copy()
    one, two = solve(similarity, rule, seed=3), solve(similarity, rule, seed=3)
    assert sorted(one.order) == list(range(size))
    assert one.order == two.order
    assert one.error == two.error
    assert one.error == pytest.approx(final_error(similarity, one.order), rel=1e-12, abs=1e-15)
    assert sum(one.task_errors) == pytest.approx(one.error, abs=1e-12)
    assert np.array(one.error_path).shape == (size + 1, size)
    assert one.error_path[0] == (1.0,) * size
    assert one.error_path[-1] == one.task_errors
    assert (similarity == before).all()
    assert one.proven == (rule in ("optimal", "worst"))
    assert one.version == taskorder.__version__
    assert one.rule in one.summary()


@settings(max_examples=25)
@given(st.integers(9, 12), st.integers(0, 10**6), st.sampled_from(["optimal", "worst", "greedy", "periphery-to-core"]))
def test_relabelling_tasks_relabels_the_order(size, seed, rule):
    similarity = correlation(size, seed)
    shuffle = np.random.default_rng(seed).permutation(size)
    plan = solve(similarity, rule)
    moved = solve(similarity[np.ix_(shuffle, shuffle)], rule)
    assert moved.error == pytest.approx(plan.error, rel=1e-8)
    assert tuple(shuffle[list(moved.order)]) == plan.order


@pytest.mark.parametrize("name", ["chain-5", "ring-5", "tree-7", "leaves-4", "leaves-8"])
def test_goldens(goldens, name):
    golden = goldens[name]
    similarity = getattr(taskorder, golden["family"])(golden["num_tasks"], golden["a"])
    plan, worst = solve(similarity), solve(similarity, "worst")
    assert "".join(plan.named_order) == min(golden["optimal_orders"])
    assert plan.error == pytest.approx(golden["best"], rel=1e-12)
    assert worst.error == pytest.approx(golden["worst"], rel=1e-12)
    result = compare(similarity)
    assert result.random_exact
    assert result.random_mean == pytest.approx(golden["mean"], rel=1e-12)
    assert result.random_std == pytest.approx(golden["std"], rel=1e-9)
    assert (result.best, result.worst) == pytest.approx((golden["best"], golden["worst"]), rel=1e-12)


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_heuristics_are_never_below_the_proven_optimum(seed, shift):
    similarity = (1 - shift) * correlation(12, seed) + shift
    best = solve(similarity)
    assert best.proven
    for rule in RULES:
        if rule != "worst":
            assert solve(similarity, rule).error >= best.error * (1 - 1e-8)


def test_a_matrix_that_is_no_correlation_matrix_is_repaired_and_said_so():
    signed = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1.0]])
    plan = solve(signed)
    assert plan.repair is not None
    assert plan.repair.min_eigenvalue < 0
    assert any("repaired" in note for note in plan.notes)
    with pytest.raises(ValueError, match="must be positive semidefinite"):
        solve(signed, repair=False)
    one_way = np.array([[1, 0.5], [0.1, 1]])
    assert solve(one_way).repair.asymmetry == pytest.approx(0.4)
    with pytest.raises(ValueError, match="must be symmetric"):
        solve(one_way, repair=False)
    assert solve(chain(4, 0.5)).repair is None


def test_stopping_early_returns_the_best_so_far_and_says_so():
    calls = []

    def watch(error, bound, seconds):
        calls.append((error, bound, seconds))
        return len(calls) > 2

    similarity = correlation(60, 1)
    plan = solve(similarity, time_limit=60, watch=watch)
    assert not plan.proven
    assert plan.seconds < 30
    assert any("by request" in note for note in plan.notes)
    assert plan.error <= solve(similarity, "greedy").error
    assert all(bound <= error for error, bound, _ in calls)


def test_time_limit_is_kept_and_the_bound_is_honest():
    similarity = correlation(120, 2)
    plan = solve(similarity, time_limit=1.0)
    assert plan.seconds < 6  # the first call also loads compiled kernels
    assert 0 < plan.lower_bound < plan.error
    assert any("time limit" in note for note in plan.notes) or plan.proven is False


def test_names_may_be_used_everywhere():
    names = ["cats", "dogs", "ships", "trucks"]
    plan = solve(chain(4, 0.6), names=names, before=[("ships", "cats")], last="dogs", learned=["trucks"])
    assert plan.named_order == ("ships", "cats", "dogs")
    assert json.loads(plan.to_json())["options"]["before"] == [["ships", "cats"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "best"}, "`rule` must be one of optimal, periphery-to-core"),
        ({"weights": [1, 2]}, "`weights` must hold one number for each of the 4 tasks"),
        ({"weights": [1, 1, 1, -1]}, "`weights` must be finite, at least 0"),
        ({"output": np.eye(3)}, "`output` must be 4 x 4"),
        ({"names": ["a", "a", "b", "c"]}, "`names` must be unique, got 'a'"),
        ({"before": [("A", "Z")]}, "`before` must name a known task, got 'Z'"),
        ({"before": [("A", "B"), ("B", "A")]}, "cycle, got A before B before A"),
        ({"first": "A", "last": "A"}, "`first` and `last` must be different"),
        ({"learned": ["A", "A"]}, "`learned` must list a task at most once"),
        ({"visits": 3}, "`visits` must be at least 4"),
        ({"visits": 6, "rule": "max-path"}, "`visits` must be left out with rule 'max-path'"),
        ({"weights": [1, 2, 1, 1], "rule": "core-to-periphery"}, "`weights` must be left out"),
        ({"time_limit": 0}, "`time_limit` must be a positive number"),
        ({"seed": -1}, "`seed` must be a nonnegative integer"),
    ],
)
def test_bad_options_are_refused_with_the_fix(change, message):
    with pytest.raises(ValueError, match=r"\A.*\Z") as refusal:
        solve(chain(4, 0.5), **change)
    assert message in str(refusal.value)


def test_bad_matrices_are_refused_with_the_fix():
    for matrix, message in [
        ([[1, 0.5]], "square P x P matrix, got 1 x 2"),
        ([[1, 0.5], [0.5]], "ragged rows"),
        ([[1, np.nan], [0.5, 1]], "must be finite, got nan at row 1, column 2"),
        ([[2, 0.5], [0.5, 1]], "ones on the diagonal, got 2"),
        ([[1, 3], [3, 1]], "entries in [-1, 1], got 3"),
        (np.eye(2001), "at most 2000 tasks"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            solve(matrix)


def test_everything_learned_leaves_nothing_to_plan():
    plan = solve(chain(3, 0.5), learned=["A", "B", "C"])
    assert plan.order == ()
    assert plan.proven
    assert plan.error == pytest.approx(final_error(chain(3, 0.5), [0, 1, 2]))
