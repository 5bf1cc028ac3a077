"""The door from tasks and a learner to a plan: rules, votes, re-planning, sizes."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from taskorder.constraints import Constraints
from taskorder.learners import CallableLearner
from taskorder.planning.budget import budget_of
from taskorder.planning.choice import (
    combined_score,
    dissimilar_neighbors,
    predicted_errors,
    rule_order,
    typicality_late,
)
from taskorder.planning.confidence import FINE, MATTERS, NOISY
from taskorder.planning.plan import plan, run_pilot
from taskorder.records import Plan
from taskorder.task import Task
from taskorder.theory.closed_form import final_error
from taskorder.theory.graphs import chain

from .pupils import black_box, learner, names, turned


@pytest.mark.parametrize("rule", ["auto", "rehearsal", "periphery-to-core", "max-path", "optimal", "greedy"])
def test_every_rule_gives_a_whole_plan_that_survives_json(rule):
    found = plan(names(), black_box(chain(5, 0.6)), rule=rule, seeds=2, draws=20)
    assert sorted(found.order) == list(range(5))
    assert found.rule == ("rehearsal" if rule == "auto" else rule)
    assert found.error == pytest.approx(final_error(chain(5, 0.6), found.order), rel=1e-6)
    assert Plan.from_json(found.to_json()) == found
    assert found.confidence is not None
    assert found.confidence.verdict in (MATTERS, NOISY, FINE)
    assert {one.rule for one in found.alternatives} >= {"periphery-to-core", "max-path", "optimal"}


def test_a_plan_from_before_pilots_can_still_be_read():
    from taskorder.ordering.solve import solve

    whole = json.loads(solve(chain(3, 0.5)).to_json())
    old = {key: value for key, value in whole.items() if key not in ("expected", "regret", "confidence", "warnings",
                                                                     "alternatives")}  # fmt: skip
    assert Plan.from_json(json.dumps(old)) == Plan.from_json(json.dumps(whole))
    with pytest.raises(ValueError, match="got an unknown key 'odd' at the top"):
        Plan.from_json(json.dumps({**old, "odd": 1}))
    with pytest.raises(ValueError, match=r"got an unknown key 'odd' at warnings\[0\]"):
        Plan.from_json(json.dumps({**old, "warnings": [{"odd": 1}]}))


def test_the_similarity_of_the_theory_is_found_again():
    found = run_pilot(names(), black_box(chain(5, 0.6)), rule="optimal", seeds=1, draws=0)
    assert np.allclose(found.transfer.similarity(), chain(5, 0.6))
    assert found.plan.proven
    assert found.plan.named_order == ("A", "E", "C", "D", "B")
    assert found.rehearsal is None


def test_auto_follows_the_number_of_tasks():
    for budget, level in ((5, "tasks"), (25, "pairs"), (325, "orders")):
        found = run_pilot(names(), black_box(chain(5, 0.6)), seeds=1, budget=budget, draws=0)
        assert (found.plan.rule, found.rehearsal.level) == ("rehearsal", level)
    many = [Task(f"{k}") for k in range(9)]
    nine = CallableLearner(lambda learned, test, seed: 0.5 if test in learned else 1.0, chance=1.0)
    found = plan(many, nine, seeds=1, draws=0)
    assert found.rule == "optimal"
    assert any("auto chose optimal" in note for note in found.notes)


def test_the_combined_score_is_three_votes_of_one_weight():
    found = run_pilot(names(4), black_box(chain(4, 0.6)), seeds=1, budget=16, draws=0)
    orders = list(itertools.permutations(range(4)))
    similarity, values = found.transfer.similarity(), found.rehearsal.values[0]
    votes = [found.rehearsal.score(orders, values), typicality_late(similarity, orders),
             dissimilar_neighbors(similarity, orders)]  # fmt: skip
    by_hand = sum((vote - vote.mean()) / vote.std() for vote in votes)
    assert combined_score(found.rehearsal, values, similarity, orders, orders) == pytest.approx(by_hand)
    assert found.plan.order == orders[int(by_hand.argmax())]


def test_the_rules_maximize_their_votes():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 6))
    C = (a / np.linalg.norm(a, axis=1, keepdims=True)) @ (a / np.linalg.norm(a, axis=1, keepdims=True)).T
    orders = list(itertools.permutations(range(5)))
    late, apart = typicality_late(C, orders), dissimilar_neighbors(C, orders)
    assert late[orders.index(rule_order(C, "periphery-to-core", Constraints.of(len(C))))] == pytest.approx(late.max())
    assert apart[orders.index(rule_order(C, "max-path", Constraints.of(len(C))))] == pytest.approx(apart.max())
    assert dissimilar_neighbors(C, [(1, 2)], [4, 0])[0] == pytest.approx(-C[0, 1] - C[1, 2])


def test_predicted_errors_are_those_of_the_theory():
    C, orders = chain(4, 0.5), list(itertools.permutations([0, 1, 3]))
    wanted = [final_error(C, [2, *order]) for order in orders]
    assert np.allclose(predicted_errors(C, orders, [2]), wanted)


def test_real_tasks_get_a_plan_and_the_same_one_again(tmp_path):
    tasks = [Task(f"turn {k}", *turned(k * 0.6, k)) for k in range(3)]
    first = run_pilot(tasks, learner(), pilot=0.5, seeds=2, draws=20, store=tmp_path / "fits.sqlite")
    assert first.sample[0].inputs.shape == (40, 2)
    assert first.rehearsal.level == "orders"
    assert first.transfer.losses.shape == (2, 3, 3)
    again = run_pilot(tasks, learner(), pilot=0.5, seeds=2, draws=20, store=tmp_path / "fits.sqlite")
    assert dataclasses.replace(again.plan, seconds=0) == dataclasses.replace(first.plan, seconds=0)
    plain = plan(tasks, learner(), pilot=0.5, seeds=2, draws=20)
    assert dataclasses.replace(plain, seconds=0) == dataclasses.replace(first.plan, seconds=0)


def test_held_out_data_play_no_part_in_the_choice():
    def tasks(flip):
        return [
            Task(f"turn {k}", *turned(k * 0.6, k), turned(k * 0.6, 9)[0], abs(turned(k * 0.6, 9)[1] - flip))
            for k in range(3)
        ]

    one, other = (plan(tasks(flip), learner(), pilot=0.5, seeds=1, draws=0) for flip in (0, 1))
    assert dataclasses.replace(one, seconds=0) == dataclasses.replace(other, seconds=0)


def test_tasks_already_learned_lead_to_the_best_completion_and_its_regret():
    C = chain(5, 0.7)
    learned = plan(names(), black_box(C), rule="optimal", seeds=1, learned=["C"], draws=10)
    assert sorted(learned.order) == [0, 1, 3, 4]
    best = min(final_error(C, [2, *rest]) for rest in itertools.permutations([0, 1, 3, 4]))
    free = min(final_error(C, order) for order in itertools.permutations(range(5)))
    assert learned.error == pytest.approx(best, rel=1e-6)
    assert learned.regret == pytest.approx(best - free, rel=1e-6)
    assert learned.regret > 0
    free_start = plan(names(), black_box(C), rule="optimal", seeds=1, learned=["A"], draws=0)
    assert free_start.regret == pytest.approx(0, abs=1e-9)


def test_going_on_from_a_model_gives_what_learning_anew_gives():
    box = black_box(chain(5, 0.7))
    model = box.fit(box.fit(box.make(0), Task("B")), Task("D"))
    anew = plan(names(), box, rule="rehearsal", seeds=1, learned=["B", "D"], draws=10)
    going_on = plan(names(), box, rule="rehearsal", seeds=1, learned=["B", "D"], model=model, draws=10)
    assert anew.order == going_on.order
    assert anew.expected == pytest.approx(going_on.expected)
    assert going_on.regret is not None
    assert going_on.options["from_model"]


def test_a_new_task_arrives_for_a_real_model():
    tasks = [Task(f"turn {k}", *turned(k * 0.6, k)) for k in range(4)]
    mine = learner()
    model = mine.fit(mine.make(5), tasks[1])
    found = plan(tasks, mine, pilot=0.5, seeds=2, learned=["turn 1"], model=model, draws=20)
    assert sorted(found.order) == [0, 2, 3]
    assert found.confidence.num_orders == 6
    assert model.seen == ("turn 1",)


@pytest.mark.parametrize(
    ("text", "fits", "seconds"), [("200", 200, None), ("30s", None, 30.0), ("2 min", None, 120.0), (7, 7, None)]
)
def test_budgets(text, fits, seconds):
    assert budget_of(text) == (fits, seconds)


def test_the_summary_says_what_a_person_needs():
    text = plan(names(), black_box(chain(5, 0.8), noise=0.02), seeds=3, draws=50).summary()
    assert "Verdict: order matters" in text
    assert "in rehearsal on the pilot" in text


@pytest.mark.parametrize("count", [1, 2])
def test_one_and_two_tasks(count):
    found = plan(names(count), black_box(chain(count, 0.5)), seeds=2, draws=10)
    assert sorted(found.order) == list(range(count))
    assert (found.confidence is None) == (count == 1)


def test_many_tasks_can_be_rehearsed_on_request():
    C = chain(9, 0.7)

    def answer(learned, test, seed):
        r = np.ones(9)
        for name in learned:
            r = r - C[int(name)] * r[int(name)]
        return {"loss": float(r[int(test)] ** 2), "chance": 1.0, "accuracy": float(np.exp(-(r[int(test)] ** 2)))}

    learner = CallableLearner(answer, name="nine")
    found = run_pilot([Task(f"{k}") for k in range(9)], learner, rule="rehearsal", seeds=1, budget=2500, draws=5)
    assert found.rehearsal.level == "beam"
    assert sorted(found.plan.order) == list(range(9))
    assert found.plan.error < np.mean(predicted_errors(C, [np.random.default_rng(k).permutation(9) for k in range(50)]))
    pairs = plan([Task(f"{k}") for k in range(9)], learner, rule="rehearsal", seeds=1, draws=5)
    assert sorted(pairs.order) == list(range(9))


def test_numbers_of_numpy_are_numbers_in_the_plan():
    """A plan that took hours could not be written down for the sake of one np.int64."""
    options = {"seeds": np.int64(1), "budget": np.int64(25), "sample_seed": np.int64(3), "draws": np.int64(5)}
    for size in (np.int64(20), np.float32(0.5)):
        found = plan(names(), black_box(chain(5, 0.6)), pilot=size, **options)
        assert Plan.from_json(found.to_json()) == found
