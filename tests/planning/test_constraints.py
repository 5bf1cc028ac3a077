"""What comes first, last or before what, and what counts most: kept by every rule on every way from tasks to a plan."""

import itertools

import numpy as np
import pytest

from taskorder.constraints import Constraints
from taskorder.learners import CallableLearner
from taskorder.ordering.solve import RULES, RULES_WITHOUT_WEIGHTS
from taskorder.planning.choice import best_order, compared_orders
from taskorder.planning.fitted_law import FittedLaw
from taskorder.planning.plan import plan, run_pilot
from taskorder.records import Plan
from taskorder.tables.knowledge import transfer_table
from taskorder.theory.graphs import chain
from taskorder.theory.law import final_score

from .pupils import NAMES, black_box, names, random_table, retaining

EVERY = ("auto", *RULES)


def keeps(order, before=(), first=None, last=None, groups=()):
    """By hand, on names."""
    places = {NAMES[task]: step for step, task in enumerate(order)}
    steps = [sorted(places[name] for name in group if name in places) for group in groups]
    return (
        all(each[-1] - each[0] < len(each) for each in steps)
        and all(places[a] < places[b] for a, b in before if a in places)
        and (first is None or places[first] == 0)
        and (last is None or places[last] == len(order) - 1)
    )


CONSTRAINTS = [
    {"before": [("E", "A"), ("D", "A")]},
    {"first": "C"},
    {"last": "C"},
    {"before": [("B", "D")], "first": "E", "last": "A"},
    {"groups": [["A", "D"], ["C", "E"]], "before": [("E", "D")]},
]


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("rule", EVERY)
def test_every_rule_keeps_what_was_asked(rule, constraints):
    chosen = plan(names(), black_box(chain(5, 0.6), noise=0.1), rule=rule, seeds=2, draws=5, **constraints)
    allowed = [order for order in itertools.permutations(range(5)) if keeps(order, **constraints)]
    assert chosen.order in allowed
    assert {alternative.order for alternative in chosen.alternatives} <= set(allowed)
    assert set(chosen.confidence.as_good) <= set(allowed)
    assert chosen.confidence.num_orders == len(allowed)
    assert [tuple(pair) for pair in chosen.options["before"]] == constraints.get("before", [])
    assert (chosen.options["first"], chosen.options["last"]) == (constraints.get("first"), constraints.get("last"))
    assert Plan.from_json(chosen.to_json()) == chosen
    costs = [note for note in chosen.notes if note.startswith("what each constraint costs by the law, in points of ")]
    assert len(costs) == (rule == "auto")


@pytest.mark.parametrize("rule", EVERY)
def test_constraints_hold_after_tasks_already_learned(rule):
    constraints = {"before": [("B", "A"), ("D", "C")], "last": "C"}
    chosen = plan(names(), black_box(chain(5, 0.6)), rule=rule, seeds=1, draws=5, learned=["B"], **constraints)
    assert sorted(chosen.order) == [0, 2, 3, 4]
    assert keeps(chosen.order, **constraints)
    assert chosen.regret >= 0


@pytest.mark.parametrize(("count", "budget"), [(5, 5), (5, 25), (7, 49), (9, 40), (9, 100)])
def test_the_law_keeps_them_whatever_the_budget(count, budget):
    constraints = {"before": [("A", "B"), ("C", "B"), ("B", "E")], "first": "D", "groups": [["C", "A"]]}
    result = run_pilot(
        names(count), black_box(chain(count, 0.6), noise=0.05), draws=5, seeds=1, budget=budget, **constraints
    )
    assert keeps(result.plan.order, **constraints)
    assert all(keeps(order, **constraints) for order in result.plan.confidence.as_good)


def test_the_best_allowed_order_is_chosen():
    S, d = transfer_table(random_table(5), 0.5), 0.2
    constraints = {"before": [("E", "A")], "last": "B"}
    chosen = plan(names(), retaining(S, d), seeds=1, draws=0, **constraints)
    allowed = [order for order in itertools.permutations(range(5)) if keeps(order, **constraints)]
    assert final_score(S, chosen.order, d) == pytest.approx(max(final_score(S, order, d) for order in allowed))


@pytest.mark.parametrize("constraints", [{}, {"before": [("A", "B"), ("C", "B")], "last": "F"}, {"first": "B"}])
def test_the_search_from_the_end_finds_what_a_list_of_all_orders_has(constraints, monkeypatch):
    checked = Constraints.of(7, **constraints)
    for seed in range(5):
        table = random_table(7, seed)
        pairs = {(2, 5): np.full(7, 0.02), (0, 1): np.full(7, 0.01)}
        law = FittedLaw(table, np.full(7, 0.2), np.zeros(7), np.full(7, 1 / 7), pairs, 1.0)
        listed = best_order(law, checked)
        with monkeypatch.context() as patch:
            patch.setattr("taskorder.planning.choice.LISTED", 0)
            order = best_order(law, checked)
        assert checked.allows(order)
        assert law.score(np.array([order]))[0] == pytest.approx(law.score(np.array([listed]))[0])


def test_equal_weights_change_nothing():
    for rule in ("auto", "optimal", "max-path", "greedy"):
        plain, equal = (
            plan(names(), black_box(chain(5, 0.6), noise=0.1), rule=rule, seeds=2, draws=10, weights=weights)
            for weights in (None, [1.0] * 5)
        )
        assert plain.order == equal.order
        assert plain.confidence == equal.confidence
        assert plain.error == pytest.approx(equal.error)


@pytest.mark.parametrize("rule", ["auto", "optimal", "greedy", "max-path", "worst", "random"])
def test_weights_enter_the_prediction(rule):
    S, d = transfer_table(random_table(5), 0.5), 0.2
    weights = np.array([1.0, 1.0, 4.0, 1.0, 0.0])
    chosen = plan(names(), retaining(S, d), rule=rule, seeds=1, draws=5, weights={"C": 4, "E": 0})
    assert chosen.prediction.mean == pytest.approx(final_score(S, chosen.order, d, weights))
    assert chosen.options["weights"] == weights.tolist()
    for alternative in chosen.alternatives:
        assert alternative.expected == pytest.approx(final_score(S, alternative.order, d, weights))
    if rule == "auto":
        best = max(final_score(S, order, d, weights) for order in itertools.permutations(range(5)))
        assert chosen.prediction.mean == pytest.approx(best)


def test_a_task_that_counts_much_comes_last():
    box = retaining(np.eye(5) * 0.6 + 0.4, 0.1, noise=0.02)
    for name in "ABCDE":
        assert plan(names(), box, seeds=2, draws=0, weights={name: 20}).named_order[-1] == name


@pytest.mark.parametrize("rule", RULES_WITHOUT_WEIGHTS)
def test_rules_that_cannot_weigh_say_so_before_anything_is_learned(rule):
    def never(learned, test, seed):
        raise AssertionError("learned before the check")

    with pytest.raises(ValueError, match=f"left out with rule '{rule}'.* Use rule 'auto' or 'optimal'"):
        plan(names(), CallableLearner(never), rule=rule, weights=[1, 2, 1, 1, 1])


def test_where_one_order_is_left_there_is_nothing_to_be_sure_of():
    chosen = plan(names(3), black_box(chain(3, 0.6)), before=[("B", "A"), ("A", "C")], seeds=1, draws=20)
    assert chosen.named_order == ("B", "A", "C")
    assert chosen.confidence is None
    assert any("leave only one order" in note for note in chosen.notes)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"before": [("A", "B"), ("B", "A")]}, "must not contain a cycle, got A before B before A. Drop one"),
        ({"before": [("A", "Z")]}, "`before` must name a known task, got 'Z'. Tasks: A, B, C"),
        ({"before": [("A", "A")]}, "two different tasks"),
        ({"before": "AB"}, r"pairs \(a, b\) of tasks"),
        ({"first": "A", "last": "A"}, "`first` and `last` must be different tasks"),
        ({"first": "A", "before": [("B", "A")]}, "`first` must not contradict `before`, got first A but B before A"),
        ({"last": "A", "before": [("A", "B")]}, "`last` must not contradict `before`, got last A but A before B"),
        ({"first": "A", "learned": ["A"]}, "`first` must name a task that is still to be learned"),
        ({"before": [("B", "A")], "learned": ["A"]}, "which is already in `learned`. Drop the pair, or add B"),
        ({"weights": [1, 2]}, "one number for each of the 5 tasks, got 2"),
        ({"weights": {"Z": 2}}, "`weights` must name a known task, got 'Z'"),
        ({"weights": [0] * 5}, "not all 0"),
        ({"weights": {"A": float("nan")}}, "`weights` must be at least 0"),
    ],
)
def test_contradictions_are_refused_before_anything_is_learned(constraints, message):
    def never(learned, test, seed):
        raise AssertionError("learned before the check")

    with pytest.raises(ValueError, match=message):
        plan(names(), CallableLearner(never), **constraints)


def test_an_ending_is_worth_learning_if_an_allowed_order_ends_so():
    constraints = Constraints.of(5, before=[("A", "C"), ("B", "E")], first="D")
    allowed = [order for order in itertools.permutations(range(5)) if keeps(order, [("A", "C"), ("B", "E")], "D")]
    for size in range(1, 6):
        ends = {order[-size:] for order in allowed}
        assert ends == set(filter(constraints.allows_ending, itertools.permutations(range(5), size)))
    assert compared_orders(constraints, np.random.default_rng(0)).tolist() == [list(order) for order in allowed]
    drawn = compared_orders(Constraints.of(9, before=[("I", "A")], last="C"), np.random.default_rng(0)).tolist()
    assert len(drawn) == len(set(map(tuple, drawn))) > 600
    assert all(keeps(order, [("I", "A")], last="C") for order in drawn)


def test_a_series_is_read_by_its_labels_as_solve_reads_it():
    pandas = pytest.importorskip("pandas")
    weights, kept = (
        {"A": 1.0, "B": 2.0, "C": 3.0, "D": 4.0, "E": 5.0},
        {name: 0.1 * k for k, name in enumerate("ABCDE")},
    )
    backwards = [pandas.Series(dict(reversed(values.items()))) for values in (weights, kept)]
    learner = black_box(chain(5, 0.6))
    named, labelled = (
        plan(names(), learner, seeds=1, draws=0, weights=w, retention=d) for w, d in ((weights, kept), backwards)
    )
    assert labelled.options["weights"] == named.options["weights"] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert labelled.options["retention"] == named.options["retention"]
    assert labelled.order == named.order
    assert plan(names(), learner, seeds=1, draws=0, weights=backwards[0][:2]).options["weights"] == [1, 1, 1, 4, 5]
