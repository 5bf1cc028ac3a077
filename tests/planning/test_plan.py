"""The door from tasks and a learner to a plan: the law, rules, re-planning, sizes."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest

from taskorder.constraints import Constraints
from taskorder.learners import CallableLearner
from taskorder.planning.budget import Budget, budget_of
from taskorder.planning.confidence import FINE, MATTERS, NOISY
from taskorder.planning.plan import plan, run_pilot
from taskorder.planning.tried import tried
from taskorder.records import Plan
from taskorder.tables.knowledge import transfer_table
from taskorder.task import Task, align
from taskorder.theory.graphs import chain
from taskorder.theory.law import final_knowledge, final_score

from .pupils import NAMES, black_box, learner, names, random_table, retaining, turned


@pytest.mark.parametrize("rule", ["auto", "periphery-to-core", "max-path", "optimal", "greedy"])
def test_every_rule_gives_a_whole_plan_that_survives_json(rule):
    chosen = plan(names(), black_box(chain(5, 0.6)), rule=rule, seeds=2, draws=20)
    assert sorted(chosen.order) == list(range(5))
    assert chosen.rule == rule
    assert Plan.from_json(chosen.to_json()) == chosen
    assert chosen.confidence.verdict in (MATTERS, NOISY, FINE)
    assert {alternative.rule for alternative in chosen.alternatives} >= {"periphery-to-core", "max-path"}


def test_a_plan_from_before_pilots_can_still_be_read():
    from taskorder.ordering.solve import solve

    whole = json.loads(solve(chain(3, 0.5)).to_json())
    added = ("expected", "regret", "confidence", "prediction", "warnings", "alternatives")
    old = {key: value for key, value in whole.items() if key not in added}
    assert Plan.from_json(json.dumps(old)) == Plan.from_json(json.dumps(whole))
    renamed = {**{key: value for key, value in old.items() if key != "bound"}, "lower_bound": old["bound"]}
    assert Plan.from_json(json.dumps(renamed)) == Plan.from_json(json.dumps(whole))
    with pytest.raises(ValueError, match="got an unknown key 'odd' at the top"):
        Plan.from_json(json.dumps({**old, "odd": 1}))
    with pytest.raises(ValueError, match=r"got an unknown key 'odd' at warnings\[0\]"):
        Plan.from_json(json.dumps({**old, "warnings": [{"odd": 1}]}))


def test_a_plan_of_the_paper_can_still_be_read():
    from taskorder.ordering.solve import solve

    whole = solve(chain(3, 0.5), retention=1)
    later = ("objective", "score", "knowledge", "knowledge_path", "retention", "task_retention", "table")
    old = {key: value for key, value in json.loads(whole.to_json()).items() if key not in later}
    read = Plan.from_json(json.dumps(old))
    assert (read.order, read.error_path, read.knowledge) == (whole.order, whole.error_path, ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"names": []}, "no tasks at names"),
        ({"names": ["A", "B"]}, "3 numbers for 2 tasks at task_errors"),
        ({"names": [str(k) for k in range(2001)]}, "more than 2000 tasks at names"),
        ({"task_errors": [0.5]}, "1 numbers for 3 tasks at task_errors"),
        ({"objective": "odd"}, "'odd' at objective"),
        ({"score": None}, "None at score"),
        ({"knowledge": []}, "0 numbers for 3 tasks at knowledge"),
        ({"task_retention": [0.1, 0.2]}, "2 numbers for 3 tasks at task_retention"),
        ({"knowledge_path": []}, "other than 4 rows of 3 numbers at knowledge_path"),
        ({"error_path": [[1.0]]}, "other than 4 rows of 3 numbers at error_path"),
        ({"order": [0, 1, 3]}, "other than each task to learn once at order"),
        ({"order": [0, 1, -1]}, "other than each task to learn once at order"),
        ({"order": [0, 1, 1]}, "other than each task to learn once at order"),
        ({"order": [0, 1, 1], "options": {"visits": 3}}, "other than each task to learn at least once at order"),
        ({"options": {"learned": ["A"]}}, "other than each task to learn once at order"),
        ({"options": {"x": float("inf")}}, "a number that is not finite at options"),
        (
            {"alternatives": [{"rule": "greedy", "order": [0, 1], "error": 1.0}]},
            "other tasks than those of the order at alternatives[0].order",
        ),
    ],
)
def test_a_plan_whose_parts_do_not_fit_together(change, said):
    from taskorder.ordering.solve import solve

    whole = json.loads(solve(chain(3, 0.5)).to_json())
    with pytest.raises(ValueError, match=re.escape(f"written by Plan.to_json, got {said}.")):
        Plan.from_json(json.dumps({**whole, **change}))


def test_numbers_of_one_hash_go_into_no_set(monkeypatch):
    """Multiples of 2**61 - 1 have one hash: a set of n of them takes n^2 steps."""
    from taskorder.ordering.solve import solve
    from taskorder.records import fitting

    whole, sizes = json.loads(solve(chain(3, 0.5), visits=4).to_json()), []
    monkeypatch.setattr(fitting, "set", lambda values: sizes.append(len(values)) or set(values), raising=False)
    Plan.from_json(json.dumps(whole))
    assert sizes == [len(whole["order"])]
    rows = [[0.5] * 3] * 101
    order = [k * (2**61 - 1) for k in range(100)]
    with pytest.raises(ValueError, match="other than each task to learn at least once at order"):
        Plan.from_json(json.dumps({**whole, "order": order, "error_path": rows, "knowledge_path": rows}))
    assert len(sizes) == 1


@pytest.mark.parametrize("options", [{"learned": ["B"]}, {"visits": 6}, {"learned": ["B"], "visits": 5}])
@pytest.mark.parametrize("retention", [0.13, 1])
def test_plans_that_skip_or_repeat_tasks_are_read(options, retention):
    from taskorder.ordering.solve import solve

    made = solve(chain(4, 0.5), retention=retention, **options)
    assert Plan.from_json(made.to_json()) == made


@pytest.mark.parametrize("d", [0.05, 0.3])
@pytest.mark.parametrize("count", [3, 5, 6])
def test_auto_finds_the_best_order_of_a_learner_that_obeys_the_law(count, d):
    S = transfer_table(random_table(count), 0.5)  # symmetric, so that nothing is shrunken
    chosen = plan(names(count), retaining(S, d), seeds=1, draws=0)
    best = max(final_score(S, order, d) for order in itertools.permutations(range(count)))
    assert final_score(S, chosen.order, d) == pytest.approx(best, abs=1e-9)
    assert chosen.prediction.mean == pytest.approx(best, abs=1e-6)
    assert chosen.prediction.tasks == pytest.approx(final_knowledge(S, chosen.order, d), abs=1e-6)
    assert chosen.prediction.unit == "knowledge"


def test_the_retention_is_measured_or_given_or_assumed():
    S, box = random_table(5), retaining(random_table(5), 0.4)
    measured = plan(names(), box, seeds=1, draws=0)
    assert "keeps 40 % [40, 40]" in measured.prediction.retention
    assert "(measured on 20 pairs)" in measured.prediction.retention
    given = plan(names(), box, seeds=1, draws=0, retention=0.9)
    assert "keeps 90 %" in given.prediction.retention
    assert "(given)" in given.prediction.retention
    alone = plan(names(), box, seeds=1, draws=0, budget=5)
    assert "keeps 13 % " in alone.prediction.retention
    assert "(assumed): the usual value of plain networks" in alone.prediction.retention
    assert alone.prediction.mean == pytest.approx(final_score(transfer_table(S), alone.order, 0.13))


def test_what_pairs_show_beyond_the_law_decides_between_endings():
    S = transfer_table(random_table(4), 0.5)

    def answer(learned, test, seed):
        known = final_knowledge(S, [NAMES.index(name) for name in learned], 0.1)[NAMES.index(test)]
        if tuple(learned[-2:]) == ("D", "A"):
            known = 1.0  # as no law says
        return {"loss": max(0.0, 1 - known), "chance": 1.0}

    chosen = plan(names(4), CallableLearner(answer, name="odd"), seeds=1, draws=0)
    assert chosen.named_order[-2:] == ("D", "A")
    assert plan(names(4), retaining(S, 0.1), seeds=1, draws=0).named_order[-2:] != ("D", "A")


def test_more_tasks_get_the_law_too():
    many = [Task(f"{k}") for k in range(30)]
    S = transfer_table(random_table(30, seed=3), 0.5)

    def answer(learned, test, seed):
        known = final_knowledge(S, [int(name) for name in learned], 0.1)[int(test)]
        return {"loss": max(0.0, 1 - known), "chance": 1.0}

    chosen = plan(many, CallableLearner(answer, name="many"), seeds=1, budget=100, draws=0)
    assert sorted(chosen.order) == list(range(30))
    rng = np.random.default_rng(0)
    drawn = max(final_score(S, rng.permutation(30), 0.1) for _ in range(3000))
    assert final_score(S, chosen.order, 0.1) > drawn
    assert chosen.order[-1] == int(S.sum(axis=1).argmax())


def test_uneven_tasks_keep_less_the_longer_they_train():
    sizes = (900, 300, 100)
    tasks = [Task(f"turn {k}", *turned(k * 0.6, k, size)) for k, size in enumerate(sizes)]
    aligned = align(tasks)
    constraints = Constraints.of(3, names=[task.name for task in tasks])
    pilot = tried(aligned, learner(), 0.4, (0, 1), Budget(fits=50), constraints)
    assert (np.diff(pilot.kept.real) > 0).all()
    assert (pilot.kept.real < pilot.kept.on_sample).all()


def test_real_tasks_get_a_plan_and_the_same_one_again(tmp_path):
    tasks = [Task(f"turn {k}", *turned(k * 0.6, k)) for k in range(3)]
    first = run_pilot(tasks, learner(), pilot=0.5, seeds=2, draws=20, store=tmp_path / "fits.sqlite")
    assert first.sample[0].inputs.shape == (40, 2)
    assert len(first.measured.sequences) == 9
    assert first.transfer.losses.shape == (2, 3, 3)
    again = run_pilot(tasks, learner(), pilot=0.5, seeds=2, draws=20, store=tmp_path / "fits.sqlite")
    assert dataclasses.replace(again.plan, seconds=0) == dataclasses.replace(first.plan, seconds=0)
    plain = plan(tasks, learner(), pilot=0.5, seeds=2, draws=20)
    assert dataclasses.replace(plain, seconds=0) == dataclasses.replace(first.plan, seconds=0)
    prediction = plain.prediction
    assert prediction.unit == "accuracy"
    assert prediction.low < prediction.mean < prediction.high
    assert all(low <= value <= high for low, value, high in
               zip(prediction.tasks_low, prediction.tasks, prediction.tasks_high, strict=True))  # fmt: skip
    assert prediction.cost == pytest.approx(2 * 9 * 40 / 240 + 2 * 2 * 120 / 240)  # and all tasks mixed


def test_held_out_data_play_no_part_in_the_choice():
    def tasks(flip):
        return [
            Task(f"turn {k}", *turned(k * 0.6, k), turned(k * 0.6, 9)[0], abs(turned(k * 0.6, 9)[1] - flip))
            for k in range(3)
        ]

    plain, flipped = (plan(tasks(flip), learner(), pilot=0.5, seeds=1, draws=0) for flip in (0, 1))
    assert dataclasses.replace(plain, seconds=0) == dataclasses.replace(flipped, seconds=0)


def test_tasks_already_learned_lead_to_the_best_completion_and_its_regret():
    S, d = transfer_table(random_table(5), 0.5), 0.5
    chosen = plan(names(), retaining(S, d), seeds=1, learned=["C"], draws=0)
    best = max(final_score(S, [2, *rest], d) for rest in itertools.permutations([0, 1, 3, 4]))
    free = max(final_score(S, order, d) for order in itertools.permutations(range(5)))
    assert final_score(S, [2, *chosen.order], d) == pytest.approx(best)
    assert chosen.regret == pytest.approx(free - best)


def test_a_model_is_asked_what_it_knows():
    S, d = transfer_table(random_table(5), 0.5), 0.3
    box = retaining(S, d)
    model = box.fit(box.fit(box.make(0), Task("B")), Task("D"))
    anew = plan(names(), box, seeds=1, learned=["B", "D"], draws=0)
    going_on = plan(names(), box, seeds=1, learned=["B", "D"], model=model, draws=0)
    assert anew.order == going_on.order
    assert anew.prediction.tasks == pytest.approx(going_on.prediction.tasks)
    fresh = plan(names(), box, seeds=1, learned=["B", "D"], model=box.make(0), draws=0)
    assert fresh.prediction.mean < going_on.prediction.mean
    assert going_on.options["from_model"]


def test_a_new_task_arrives_for_a_real_model():
    tasks = [Task(f"turn {k}", *turned(k * 0.6, k)) for k in range(4)]
    mine = learner()
    model = mine.fit(mine.make(5), tasks[1])
    chosen = plan(tasks, mine, pilot=0.5, seeds=2, learned=["turn 1"], model=model, draws=20)
    assert sorted(chosen.order) == [0, 2, 3]
    assert chosen.confidence.num_orders == 6
    assert model.seen == ("turn 1",)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("200", (200, None, None, None)), ("30s", (None, 30.0, None, None)), ("2 min", (None, 120.0, None, None)),
     (7, (7, None, None, None)), ("0.25 runs", (None, None, 0.25, None)), ("1 run", (None, None, 1.0, None)),
     ("5000 examples", (None, None, None, 5000.0))],
)  # fmt: skip
def test_budgets(text, wanted):
    assert budget_of(text) == wanted


def test_fits_stay_within_the_budget_and_buy_pairs_before_seeds():
    for budget, pairs, seeds in ((5, 0, 1), (12, 7, 1), (15, 10, 1), (30, 10, 2), (75, 20, 3), (500, 20, 3)):
        done = []
        how = {"budget": budget, "draws": 0, "report": lambda now, total, done=done: done.append(now)}
        result = run_pilot(names(), black_box(chain(5, 0.6)), **how)
        assert len(result.measured.sequences) - 5 == pairs
        assert result.measured.num_seeds == seeds
        assert done[-1] == seeds * (5 + pairs) <= budget


def test_seconds_stay_within_the_budget():
    fits = []
    clock = {"now": 0.0}

    def answer(learned, test, seed):
        return {"loss": 0.1 if learned[-1] == test else 0.6, "chance": 1.0}

    class Slow(CallableLearner):
        def fit(self, model, task):
            fits.append(task.name)
            return super().fit(model, task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("taskorder.planning.budget.time.perf_counter", lambda: clock["now"] + len(fits))
        plan(names(), Slow(answer, name="slow"), seeds=2, budget="60s", draws=0)
    assert 40 < len(fits) <= 60


def test_the_summary_says_what_a_person_needs_and_nothing_else():
    text = plan(names(), black_box(chain(5, 0.8), noise=0.02), seeds=3, draws=50).summary()
    assert "likely to beat a random order" in text
    assert "random orders" in text
    assert "proven" not in text


@pytest.mark.parametrize("count", [1, 2])
def test_one_and_two_tasks(count):
    chosen = plan(names(count), black_box(chain(count, 0.5)), seeds=2, draws=10)
    assert sorted(chosen.order) == list(range(count))
    assert (chosen.confidence is None) == (count == 1)


def test_numbers_of_numpy_are_numbers_in_the_plan():
    """A plan that took hours could not be written down for the sake of one np.int64."""
    options = {"seeds": np.int64(1), "budget": np.int64(25), "sample_seed": np.int64(3), "draws": np.int64(5)}
    for size in (np.int64(20), np.float32(0.5)):
        chosen = plan(names(), black_box(chain(5, 0.6)), pilot=size, **options)
        assert Plan.from_json(chosen.to_json()) == chosen


def test_plan_and_run_pilot_take_the_same():
    from inspect import signature

    ours, theirs = signature(plan).parameters, signature(run_pilot).parameters
    assert list(ours.values()) == list(theirs.values())
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in ours.values())


def test_public_functions_spell_out_what_they_take():
    import inspect

    import taskorder

    functions = [value for name in taskorder.__all__ if inspect.isfunction(value := getattr(taskorder, name))]
    assert len(functions) > 20
    open_ended = [
        function.__name__
        for function in functions
        if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
    ]
    assert open_ended == []


def test_plan_hands_everything_on(monkeypatch):
    """Every argument reaches run_pilot: one that `plan` forgot would keep its default."""
    import inspect

    from taskorder.planning import plan as module

    given = {name: object() for name in inspect.signature(plan).parameters}
    handed = {}

    def noted(*args, **options):
        handed.update(inspect.signature(run_pilot).bind(*args, **options).arguments)
        return module.PilotResult(*[None] * 5)

    monkeypatch.setattr(module, "run_pilot", noted)
    plan(**given)
    assert handed == given


def test_a_pilot_prints_as_its_plan_does():
    result = run_pilot(names(), black_box(chain(5, 0.6)), seeds=1, draws=10)
    assert repr(result).startswith(repr(result.plan) + "\n")
    assert repr(result).endswith(": table, transfer, measured, sample")
    assert len(repr(result)) < 700
    assert result._repr_html_() == result.plan._repr_html_()


@pytest.mark.parametrize(("retention", "said"), [(0.97, True), (0.9, False)])
def test_where_nearly_all_is_kept_no_larger_pilot_is_asked_for(retention, said):
    found = plan(names(), retaining(random_table(5), retention), seeds=1, draws=20, retention=retention)
    assert found.confidence.verdict == NOISY
    assert any("keep so much gained at most 1.8 points" in note for note in found.notes) is said
