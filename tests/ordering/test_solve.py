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


@pytest.mark.parametrize("listed", [8, 1], ids=["listed", "searched and proven"])
@settings(max_examples=100)
@given(questions())
def test_optimal_and_worst_equal_enumeration(listed, question):
    similarity, options = question
    best, worst = extremes(similarity, **options)
    scale = np.sum(options.get("weights", np.ones(len(similarity))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("taskorder.ordering.optimum.MAX_UNCOMPILED", listed)
        low, high = solve(similarity, **options, retention=1), solve(similarity, "worst", **options, retention=1)
    for plan, truth in ((low, best), (high, worst)):
        assert plan.proven
        assert plan.bound == plan.error
        # what `proven` promises, and as much again for the sums of this test
        assert plan.error == pytest.approx(truth, rel=2e-9, abs=2e-12 * scale)
        assert plan.error == pytest.approx(
            plain_error(similarity, plan.order, options.get("output"), options.get("weights"), options["learned"]),
            rel=1e-9,
            abs=1e-13 * scale,
        )
        assert keeps(plan.order, **options)


def keeps(order, learned=(), before=(), first=None, last=None, **others):
    place = {task: step for step, task in enumerate((*learned, *order))}
    ends = (first is None or order[0] == first) and (last is None or order[-1] == last)
    return ends and all(place[a] < place[b] for a, b in before)


@pytest.mark.parametrize("factor", [1e-12, 1e-3, 1e9, 1e18])
@pytest.mark.parametrize("rule", ["optimal", "worst", "greedy"])
def test_the_unit_of_the_weights_does_not_matter(rule, factor):
    similarity, output = correlation(9, 1), correlation(9, 2, 3)
    weights = np.random.default_rng(0).uniform(0.5, 2, 9)
    plain = solve(similarity, rule, weights=weights, output=output, before=[(3, 0)], retention=1)
    scaled = solve(similarity, rule, weights=factor * weights, output=output, before=[(3, 0)], retention=1)
    assert plain.order == scaled.order
    assert scaled.error == pytest.approx(factor * plain.error, rel=1e-9)
    assert keeps(scaled.order, before=[(3, 0)])
    assert compare(chain(6, 0.8), weights=np.full(6, factor), retention=1).verdict.startswith("Order matters here")


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e8])
def test_a_task_that_has_nothing_to_do_with_the_others_changes_nothing(weight):
    alone = 0.99 * np.eye(9) + 0.01 * correlation(9, 4)
    similarity = np.eye(10)
    similarity[1:, 1:] = alone
    plan = solve(similarity, weights=[weight, *np.ones(9)], retention=1)
    truth = solve(alone, retention=1)
    assert plan.proven
    assert [task - 1 for task in plan.order if task] == list(truth.order)
    assert plan.error == pytest.approx(truth.error, rel=1e-8)


@given(questions(max_size=6), st.sampled_from(sorted(RULES)))
def test_every_rule_obeys_or_refuses(question, rule):
    similarity, options = question
    blind = rule in ("periphery-to-core", "core-to-periphery")
    if ("weights" in options and (blind or rule == "first-order")) or ("output" in options and blind):
        with pytest.raises(ValueError, match=f"must be left out with rule '{rule}'"):
            solve(similarity, rule, **options, retention=1)
        return
    output = options.get("output", np.ones((2, 2)))
    off = output[~np.eye(len(output), dtype=bool)]
    if rule == "first-order" and off.size and np.ptp(off) > 1e-8:
        with pytest.raises(ValueError, match="must be the same for all pairs"):
            solve(similarity, rule, **options, retention=1)
        return
    plan = solve(similarity, rule, **options, retention=1)
    assert sorted((*plan.order, *options["learned"])) == list(range(len(similarity)))
    assert keeps(plan.order, **options)
    assert plan.error >= solve(similarity, **options, retention=1).error * (1 - 1e-8) - 1e-12 * np.sum(
        options.get("weights", 9)
    )
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("size", [1, 2, 6, 11])
def test_rules_keep_the_contract(rule, size):
    similarity = correlation(size, 7)
    before = similarity.copy()
    plan, again = solve(similarity, rule, seed=3, retention=1), solve(similarity, rule, seed=3, retention=1)
    assert sorted(plan.order) == list(range(size))
    assert plan.order == again.order
    assert plan.error == again.error
    assert plan.error == pytest.approx(final_error(similarity, plan.order), rel=1e-12, abs=1e-15)
    assert sum(plan.task_errors) == pytest.approx(plan.error, abs=1e-12)
    assert np.array(plan.error_path).shape == (size + 1, size)
    assert plan.error_path[0] == (1.0,) * size
    assert plan.error_path[-1] == plan.task_errors
    assert (similarity == before).all()
    assert plan.proven == (rule in ("optimal", "worst"))
    assert plan.version == taskorder.__version__
    assert plan.rule in plan.summary()


@settings(max_examples=25)
@given(st.integers(9, 12), st.integers(0, 10**6), st.sampled_from(["optimal", "worst", "greedy", "periphery-to-core"]))
def test_relabelling_tasks_relabels_the_order(size, seed, rule):
    similarity = correlation(size, seed)
    shuffle = np.random.default_rng(seed).permutation(size)
    plan = solve(similarity, rule, retention=1)
    moved = solve(similarity[np.ix_(shuffle, shuffle)], rule, retention=1)
    assert moved.error == pytest.approx(plan.error, rel=1e-8)
    assert tuple(shuffle[list(moved.order)]) == plan.order


@pytest.mark.parametrize("name", ["chain-5", "ring-5", "tree-7", "leaves-4", "leaves-8"])
def test_goldens(goldens, name):
    golden = goldens[name]
    similarity = getattr(taskorder, golden["family"])(golden["num_tasks"], golden["a"])
    plan, worst = solve(similarity, retention=1), solve(similarity, "worst", retention=1)
    assert "".join(plan.named_order) == min(golden["optimal_orders"])
    assert plan.error == pytest.approx(golden["best"], rel=1e-12)
    assert worst.error == pytest.approx(golden["worst"], rel=1e-12)
    result = compare(similarity, retention=1)
    assert result.random_exact
    assert result.random_mean == pytest.approx(golden["mean"], rel=1e-12)
    assert result.random_std == pytest.approx(golden["std"], rel=1e-9)
    assert (result.best, result.worst) == pytest.approx((golden["best"], golden["worst"]), rel=1e-12)


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_heuristics_are_never_below_the_proven_optimum(seed, shift):
    similarity = (1 - shift) * correlation(12, seed) + shift
    best = solve(similarity, retention=1)
    assert best.proven
    for rule in RULES:
        if rule != "worst":
            assert solve(similarity, rule, retention=1).error >= best.error * (1 - 1e-8)


def test_a_matrix_that_is_no_correlation_matrix_is_repaired_and_said_so():
    signed = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1.0]])
    plan = solve(signed, retention=1)
    assert plan.repair is not None
    assert plan.repair.min_eigenvalue < 0
    assert any("repaired" in note for note in plan.notes)
    with pytest.raises(ValueError, match="must be positive semidefinite"):
        solve(signed, repair=False, retention=1)
    one_way = np.array([[1, 0.5], [0.1, 1]])
    assert solve(one_way, kind="similarity", retention=1).repair.asymmetry == pytest.approx(0.4)
    with pytest.raises(ValueError, match="must be symmetric"):
        solve(one_way, kind="similarity", repair=False, retention=1)
    assert solve(chain(4, 0.5), retention=1).repair is None
    output = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]
    assert any("output repaired" in note for note in solve(chain(3, 0.5), output=output, retention=1).notes)
    with pytest.raises(ValueError, match="`output` must be positive semidefinite"):
        solve(chain(3, 0.5), output=output, repair=False, retention=1)


def test_stopping_early_returns_the_best_so_far_and_says_so():
    calls = []

    def watch(error, bound, seconds):
        calls.append((error, bound, seconds))
        return len(calls) > 2

    similarity = correlation(60, 1)
    plan = solve(similarity, time_limit=60, watch=watch, retention=1)
    assert not plan.proven
    assert any("by request" in note for note in plan.notes)
    assert plan.error <= solve(similarity, "greedy", retention=1).error
    assert all(bound <= error for error, bound, _ in calls)


@pytest.mark.slow("time")
def test_time_limit_is_kept_and_the_bound_is_honest():
    similarity = correlation(120, 2)
    plan = solve(similarity, time_limit=1.0, retention=1)
    assert plan.seconds < 6  # the first call also loads compiled kernels
    assert 0 < plan.bound < plan.error
    assert not plan.proven
    assert any("at the time limit" in note for note in plan.notes)


def test_however_short_the_time_the_plan_beats_simple_orders():
    similarity = correlation(400, 5)
    plan = solve(similarity, time_limit=0.01, retention=1)
    for rule in ("periphery-to-core", "core-to-periphery"):
        assert plan.error <= solve(similarity, rule, retention=1).error * (1 + 1e-12)


def test_names_may_be_used_everywhere():
    names = ["cats", "dogs", "ships", "trucks"]
    plan = solve(chain(4, 0.6), names=names, before=[("ships", "cats")], last="dogs", learned=["trucks"], retention=1)
    assert plan.named_order == ("ships", "cats", "dogs")
    assert json.loads(plan.to_json())["options"]["before"] == [["ships", "cats"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "best"}, "`rule` must be one of optimal, row-sums, periphery-to-core"),
        ({"weights": [1, 2]}, "`weights` must hold one number for each of the 4 tasks"),
        ({"weights": [1, 1, 1, -1]}, "`weights` must be at least 0, at most 1e100 and not all 0"),
        ({"weights": [1, 1, 1, 1e300]}, "`weights` must be at least 0, at most 1e100 and not all 0"),
        ({"visits": 10**9}, "`visits` must be at most 3000"),
        ({"output": np.eye(3)}, "`output` must be 4 x 4"),
        ({"names": ["a", "a", "b", "c"]}, "`names` must be unique, got 'a'"),
        ({"before": [("A", "Z")]}, "`before` must name a known task, got 'Z'"),
        ({"before": [("A", "B"), ("B", "A")]}, "cycle, got A before B before A"),
        ({"first": "A", "last": "A"}, "`first` and `last` must be different"),
        ({"learned": ["A", "A"]}, "`learned` must list a task at most once"),
        ({"learned": "AB"}, "`learned` must be a list of tasks"),
        ({"before": ("A", "B")}, "`before` must be a list of pairs (a, b) of tasks, got 'A'. Write [(a, b)]"),
        ({"visits": 3}, "`visits` must be at least 4"),
        ({"visits": 6, "rule": "max-path"}, "`visits` must be left out with rule 'max-path'"),
        ({"weights": [1, 2, 1, 1], "rule": "core-to-periphery"}, "`weights` must be left out"),
        ({"time_limit": 0}, "`time_limit` must be a positive number"),
        ({"seed": -1}, "`seed` must be a nonnegative integer"),
    ],
)
def test_bad_options_are_refused_with_the_fix(change, message):
    with pytest.raises(ValueError, match=r"\A.*\Z") as refusal:
        solve(chain(4, 0.5), **change, retention=1)
    assert message in str(refusal.value)


def test_bad_matrices_are_refused_with_the_fix():
    for matrix, message in [
        ([[1, 0.5]], "square P x P matrix, got 1 x 2"),
        ([[1, 0.5], [0.5]], "ragged rows"),
        ([[1, np.inf], [0.5, 1]], "must be finite, got inf at row 1, column 2"),
        ([[1, np.nan], [np.nan, 1]], "a number for every pair of tasks, got none for A and B in either direction"),
        ([[2, 0.5], [0.5, 1]], "ones on the diagonal, got 2"),
        ([[1, 3], [3, 1]], "entries in [-1, 1], got 3"),
        (np.eye(2001), "at most 2000 tasks"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            solve(matrix, retention=1)


def test_options_of_any_number_type_survive_json():
    for options in (
        {"visits": np.int64(5)},
        {"time_limit": np.float32(3)},
        {"time_limit": float("inf")},
        {"seed": np.int8(1)},
    ):
        plan = solve(chain(4, 0.5), **options, retention=1)
        assert Plan.from_json(plan.to_json()) == plan
    assert solve(chain(4, 0.5), before=np.array([[1, 0]]), retention=1).options["before"] == [["B", "A"]]


def test_a_cut_path_search_says_so():
    plan = solve(correlation(300, 1), "max-path", time_limit=0.05, retention=1)
    assert any("at the time limit" in note for note in plan.notes)


def test_everything_learned_leaves_nothing_to_plan():
    plan = solve(chain(3, 0.5), learned=["A", "B", "C"], retention=1)
    assert plan.order == ()
    assert plan.proven
    assert plan.error == pytest.approx(final_error(chain(3, 0.5), [0, 1, 2]))
