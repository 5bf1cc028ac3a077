"""Plans that were edited: what their own numbers, or their table, refute is not shown, and it is said."""

import dataclasses

import numpy as np
import pytest

from taskorder import Task, run_pilot, solve
from taskorder.learners import CallableLearner
from taskorder.records import Alternative, Confidence, Prediction, SequenceOrMix
from taskorder.report.contradictions import without_contradictions
from taskorder.report.plan_numbers import plan_numbers
from taskorder.report.plan_page import plan_page

SURE = Confidence("order matters", 0.9, 0.05, 0.01, 0.09, "accuracy", 0.8, 0.7, 0.6, (), 3, 20, 100)


def change(plan, **fields):
    return dataclasses.replace(plan, **fields)


def expected(plan, **fields):
    """A prediction that fits a plan, with some other numbers."""
    tasks = plan.knowledge
    fitting = Prediction(
        unit="knowledge", mean=float(np.mean(tasks)), low=float(np.mean(tasks)) - 0.1, high=float(np.mean(tasks)) + 0.1,
        tasks=tasks, tasks_low=None, tasks_high=None, random_mean=0.5, random_std=0.1,
    )  # fmt: skip
    return dataclasses.replace(fitting, **fields)


@pytest.mark.parametrize("options", [{}, {"retention": 1}, {"retention": 0.5, "objective": "error"}, {"weights": True}])
@pytest.mark.parametrize("rule", ["optimal", "worst", "greedy", "random"])
def test_plans_as_they_are_made_contradict_nothing(make_correlation, options, rule):
    C = make_correlation(6, 1)
    weights = {"weights": [1.0, 2, 3, 1, 1, 0.5]} if options.pop("weights", False) else {}
    plan = solve(C, rule, **options, **weights)
    assert without_contradictions(plan) == (plan, ())
    assert plan_numbers(plan, C).disagreements == ()
    fitting = change(plan, prediction=expected(plan), confidence=SURE)
    if not weights:
        assert without_contradictions(fitting) == (fitting, ())


def test_a_plan_with_an_output_similarity_or_visits_contradicts_nothing(make_correlation):
    C = make_correlation(5, 1)
    for options in ({"output": make_correlation(5, 2)}, {"visits": 7}, {"learned": ["B"]}, {"time_limit": 1e-9}):
        plan = solve(C, retention=1, **options)
        assert without_contradictions(plan) == (plan, ())
        assert plan_numbers(plan, C).disagreements == ()


@pytest.mark.parametrize("retention", [0.2, 1])
def test_sums_are_those_of_the_last_step(make_correlation, retention):
    plan = solve(make_correlation(5, 0), retention=retention)
    lie = {"score": 0.999, "bound": 0.999} if retention < 1 else {"error": 1e-9, "bound": 1e-9}
    mended, problems = without_contradictions(change(plan, **lie))
    assert mended.value == pytest.approx(plan.value)
    assert (mended.proven, mended.bound) == (False, None)
    assert f"where its steps end with {plan.value:.4g}" in problems[0]
    mended, problems = without_contradictions(change(plan, task_errors=(0.0,) * 5))
    assert mended.task_errors == pytest.approx(plan.task_errors)
    assert "it says other task errors than its steps end with" in problems[0]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rule": "greedy"}, "the rule greedy proves nothing"),
        ({"bound": None}, "its bound is unknown for a value of"),
        ({"bound": 0.0}, "a proof leaves no gap"),
        ({"bound": 9.0, "proven": False}, "is past its bound of 9"),
    ],
)
def test_what_cannot_be_a_proof_is_left_out(make_correlation, fields, said):
    plan = solve(make_correlation(5, 0), retention=1)
    mended, problems = without_contradictions(change(plan, **fields))
    assert (mended.proven, mended.bound) == (False, None)
    assert said in problems[0]


def test_the_worst_plan_has_its_bound_on_the_other_side(make_correlation):
    plan = solve(make_correlation(5, 0), "worst", retention=1)
    above, below = (change(plan, proven=False, bound=factor * plan.error) for factor in (2, 0.5))
    assert without_contradictions(above) == (above, ())
    assert "is past its bound" in without_contradictions(below)[1][0]


@pytest.mark.parametrize(
    ("field", "fields", "said"),
    [
        ("prediction", {"mean": 0.99, "low": None}, "it predicts a mean knowledge of 0.99, where its tasks have"),
        ("prediction", {"low": 2.0, "high": 3.0}, "outside of its own interval"),
        ("confidence", {"beats_random": 1.5}, "outside of [0, 1]"),
        ("confidence", {"gain": 0.5}, "its expected gain is outside of its own interval"),
        ("confidence", {"beats_random": 0.5}, "it says that order matters, with a gain of 5.0 points and 50 % likely"),
    ],
)
def test_what_a_pilot_cannot_have_said_is_left_out(make_correlation, field, fields, said):
    plan = solve(make_correlation(5, 0))
    plan = change(plan, prediction=expected(plan), confidence=SURE)
    mended, problems = without_contradictions(
        change(plan, **{field: dataclasses.replace(getattr(plan, field), **fields)})
    )
    assert getattr(mended, field) is None
    assert len(problems) == 1
    assert said in problems[0]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cost": 0.5}, "a sequence costs 0.5, where 0.85 and 0.8 were reached"),
        ({"back": 0.5}, "its strategy buys back another share"),
        ({"plain": None}, "its strategy buys back another share"),
    ],
)
def test_what_a_sequence_costs_is_a_difference(make_correlation, fields, said):
    plan = solve(make_correlation(5, 0))
    mix = SequenceOrMix("accuracy", "shared", "replay", 0.85, 0.8, 0.05, 0.02, 0.08, 0.6, 0.2, 0.16, 0.24)
    for true in (mix, dataclasses.replace(mix, plain=None, back=None)):
        assert without_contradictions(change(plan, mix=true)) == (change(plan, mix=true), ())
    mended, problems = without_contradictions(change(plan, mix=dataclasses.replace(mix, **fields)))
    assert mended.mix is None
    assert len(problems) == 1
    assert said in problems[0]


def test_a_regret_needs_tasks_that_were_learned(make_correlation):
    plan = solve(make_correlation(5, 0))
    mended, problems = without_contradictions(change(plan, regret=0.5))
    assert mended.regret is None
    assert "it has a regret, but no tasks were learned before" in problems[0]
    later = change(solve(make_correlation(5, 0), learned=["A"]), regret=0.5)
    assert without_contradictions(later) == (later, ())


def test_the_page_of_a_plan_alone_says_what_contradicts_itself(make_correlation):
    plan = change(solve(make_correlation(5, 0), retention=1), error=1e-9, bound=1e-9)
    numbers = plan_numbers(plan)
    assert numbers.plan.error > 1e-3
    page = plan_page(numbers, "title", "plan.json")
    assert any("The plan contradicts itself: it says a final error of 1e-09" in line for line in page.warnings)
    assert "proven in the model" not in str(page.answer)


def test_a_table_refutes_rules_repairs_notes_and_names(make_correlation):
    C = make_correlation(6, 3)
    noisy = C.copy()
    noisy[0, 1] = noisy[1, 0] = -1.0
    plan = solve(C, "greedy", retention=1)
    other = solve(C, "random", retention=1)
    numbers = plan_numbers(change(other, rule="greedy", options={**other.options, "rule": "greedy"}), C)
    assert numbers.plan.rule == "by-hand"
    assert "its order is that of the rule greedy, which chooses another one on this table" in numbers.disagreements[0]
    assert plan_numbers(plan, C).disagreements == ()
    repaired = solve(noisy, retention=1)
    assert repaired.repair is not None
    assert plan_numbers(repaired, noisy).disagreements == ()
    for lie in (None, dataclasses.replace(repaired.repair, largest_change=1e-3)):
        numbers = plan_numbers(change(repaired, repair=lie), noisy)
        assert numbers.plan.repair == repaired.repair
        assert "The plan does not say truly" in numbers.disagreements[0]
    numbers = plan_numbers(change(plan, table="transfer table, as given"), C)
    assert numbers.plan.table == "similarity"
    assert "it was made from 'transfer table, as given'" in numbers.disagreements[0]
    law = solve(C)
    false = "the first 6 of 6 tasks may come in any order: the score changes by less than 0.001"
    numbers = plan_numbers(change(law, notes=(*law.notes, false)), C)
    assert false not in numbers.plan.notes
    assert f"The plan notes that {false}; on its table that is not so." in numbers.disagreements
    assert plan_numbers(law, C, names=law.names).disagreements == ()
    told = plan_numbers(law, C, names=("A", "B", "cats", "D", "E", "F")).disagreements
    assert told == ("The plan calls a task C that its table calls cats.",)


@pytest.mark.parametrize("rule", ["periphery-to-core", "core-to-periphery"])
def test_in_a_pilot_a_rule_reads_the_similarity_that_was_measured(rule):
    losses = np.random.default_rng(0).uniform(0.3, 1.6, size=(5, 5))
    np.fill_diagonal(losses, 0.1)

    def loss(learned, test, seed):
        known = 1.0
        for task in map(int, learned):
            known = 0.3 * known + 0.7 * losses[task, int(test)]
        return known

    found = run_pilot([Task(str(k)) for k in range(5)], CallableLearner(loss, chance=1.0), rule=rule, seeds=1, draws=0)
    numbers = plan_numbers(found.plan, found.table)
    (score,) = (score for score in numbers.around.comparison.scores if score.rule == rule)
    assert score.value != pytest.approx(found.plan.value)  # else this would test nothing
    assert (numbers.plan.rule, numbers.disagreements) == (rule, ())


@pytest.mark.parametrize("retention", [0.2, 1])
def test_a_better_order_refutes_a_proof_and_a_worse_one_that_of_the_worst(make_correlation, retention):
    C = make_correlation(6, 3)
    best, worst = (solve(C, rule, retention=retention) for rule in ("optimal", "worst"))
    for lie, rival in ((change(worst, rule="optimal"), "best"), (change(best, rule="worst"), "worst")):
        numbers = plan_numbers(lie, C)
        assert not numbers.plan.proven
        assert f"its order is proven to be the {rival}, but the rule" in numbers.disagreements[0]


def test_alternatives_go_with_a_prediction_that_is_none(make_correlation):
    plan = solve(make_correlation(5, 0))
    other = Alternative("greedy", plan.order, plan.error, 0.5)
    plan = change(plan, prediction=expected(plan, mean=0.99, low=None), alternatives=(other,))
    assert without_contradictions(plan)[0].alternatives == ()


@pytest.mark.parametrize("note", ["proven optimal: no order is better", "this proves that it is best"])
def test_a_note_claims_no_proof_that_the_plan_does_not_hold(make_correlation, note):
    plan = solve(make_correlation(5, 0), "row-sums")
    honest = "the order is the best found, not proven"
    mended, problems = without_contradictions(change(plan, proven=False, notes=(*plan.notes, honest, note)))
    assert mended.notes == (*plan.notes, honest)
    assert problems == (f"The plan notes that {note}; it holds no proof.",)
