"""Plans for learners with a head for each task, and for learners that replay."""

import itertools

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import SGDClassifier

from taskorder import plan, run_pilot
from taskorder.constraints import Constraints
from taskorder.learners import Replay, SklearnLearner
from taskorder.ordering.solve import solve_input
from taskorder.planning import choice, pair_effects
from taskorder.planning.choice import allowed_orders, best_order
from taskorder.planning.fitted_law import FittedLaw, Pilot, fitted_law
from taskorder.planning.measurements import Measurements
from taskorder.planning.pair_effects import PairEffects, pairwise_better
from taskorder.planning.retention import retention_from_pairs
from taskorder.planning.warnings import all_kept
from taskorder.records import Plan
from taskorder.report.plan_numbers import plan_numbers
from taskorder.report.plan_page import plan_page
from taskorder.task import Task, align

EXAMPLES = 60


class Heads:
    """A learner whose knowledge of each task is known: heads of their own, and what tasks do to each other.

    gain[i, j]: what i before j adds to j. kept[j, k]: the share of j that k leaves. Answers are drawn from it.
    """

    heads, mixes = "task", False

    def __init__(self, alone, gain, kept, draw=0):
        self.draw = draw  # another one answers with other noise
        self.effects = PairEffects(np.array(alone), np.array(gain), np.array(kept))

    def make(self, seed):
        return seed, ()

    def copy(self, model):
        return model

    def fit(self, model, task):
        return model[0], (*model[1], task.name)

    def losses_by_class(self, model, inputs):
        """Right answers of low loss as often as the knowledge says; drawn anew for every model and task."""
        seed, learned = model
        own = int(inputs[0, 0])
        order = [int(name[1:]) for name in learned]
        known = self.effects.knowledge(np.array([order], dtype=int).reshape(1, -1), np.zeros(len(self.effects.alone)))
        share = np.clip(0.5 + known[0, own] / 2, 0, 1)
        rng = np.random.default_rng([self.draw, seed, own, *order, 7])
        right = rng.random(len(inputs)) < share
        truth = inputs[:, 1].astype(int)
        said = np.where(right, truth, 1 - truth)
        losses = np.full((len(inputs), 2 * len(self.effects.alone)), 9.0)
        losses[np.arange(len(inputs)), 2 * own + said] = 0.1
        losses[np.arange(len(inputs)), 2 * own + 1 - said] = 2.4
        return losses

    def loss(self, model, task):
        raise AssertionError("known by class")


def tasks(count=4, size=EXAMPLES):
    rows = np.arange(2 * size) % 2
    return align([Task(f"t{k}", np.stack([np.full(2 * size, k), rows], 1).astype(float), 2 * k + rows)
                  for k in range(count)])  # fmt: skip


def effects(count=4, seed=0, size=0.1):
    rng = np.random.default_rng(seed)
    gain, lost = rng.normal(0, size / 3, (count, count)), np.abs(rng.normal(0, size, (count, count)))
    np.fill_diagonal(gain, 0)
    np.fill_diagonal(lost, 0)
    return PairEffects(rng.uniform(0.7, 0.9, count), gain, 1 - lost)


def test_pairs_predict_what_a_learner_with_heads_does():
    known = effects()
    orders = np.array(list(itertools.permutations(range(4))))
    truth = known.knowledge(orders, np.zeros(4))
    by_pair = {pair: known.knowledge(np.array([pair]), np.zeros(4))[0] for k in (1, 2)
               for pair in itertools.permutations(range(4), k)}  # fmt: skip
    read = PairEffects.of(by_pair, 4)
    np.testing.assert_allclose(read.knowledge(orders, np.zeros(4)).mean(axis=1).argsort()[-1], truth.mean(1).argmax())
    np.testing.assert_allclose(read.knowledge(orders, np.zeros(4)), truth, atol=0.02)


def test_a_missing_pair_is_like_the_others():
    known = {(0,): np.array([0.8, 0, 0]), (1,): np.array([0, 0.8, 0]), (2,): np.array([0, 0, 0.8])}
    neutral = PairEffects.of(known, 3)
    assert (neutral.gain == 0).all()
    assert (neutral.kept == 1).all()
    one = PairEffects.of({**known, (0, 1): np.array([0.4, 0.7, 0])}, 3)
    assert one.kept[0, 1] == one.kept[2, 0] == pytest.approx(0.5)
    assert one.gain[2, 1] == pytest.approx(-0.1)
    assert one.differences == pytest.approx(0)


def test_many_tasks_are_searched_and_constraints_hold():
    known = effects(6, seed=3)
    constraints = Constraints.of(6, before=[(0, 1)], last=2)
    weights = np.full(6, 1 / 6)
    listed = allowed_orders(constraints)
    worth = known.worth(weights)
    sums = [sum(worth[pair] for pair in itertools.combinations(order, 2)) for order in listed.tolist()]
    found = pairwise_better(listed[0].tolist(), worth, constraints.allows)
    assert constraints.allows(found)
    value = sum(worth[pair] for pair in itertools.combinations(found, 2))
    assert value >= np.quantile(sums, 0.95)
    many = effects(20, seed=1)
    law = FittedLaw(np.diag(many.alone), np.full(20, 0.9), np.zeros(20), np.full(20, 0.05), {}, 1.0, effects=many)
    order = best_order(law, Constraints.of(20, first=3))
    assert order[0] == 3
    rng = np.random.default_rng(0)
    others = np.array([rng.permutation(20) for _ in range(300)])
    assert law.score(np.array([order]))[0] > law.score(others).max()


def test_a_search_ends_when_nothing_helps(monkeypatch):
    looks = []
    real = pair_effects._best_place
    monkeypatch.setattr(pair_effects, "_best_place", lambda *given: looks.append(1) or real(*given))
    worth = effects(12).worth(np.full(12, 1 / 12))
    best = pairwise_better(range(12), worth, lambda order: True)
    assert len(looks) < 12 * pair_effects.MOST_SWEEPS / 2
    looks.clear()
    assert pairwise_better(best, worth, lambda order: True) == best
    assert len(looks) == 12


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_moved_as_wholes(seed):
    groups = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    every = [[*itertools.chain(*parts)] for wholes in itertools.permutations(groups)
             for parts in itertools.product(*map(itertools.permutations, wholes))]  # fmt: skip
    known = effects(9, seed)
    law = FittedLaw(np.diag(known.alone), np.full(9, 0.9), np.zeros(9), np.full(9, 1 / 9), {}, 1.0, effects=known)
    constraints = Constraints.of(9, groups=groups)
    order = best_order(law, constraints)
    assert constraints.allows(order)
    worth = known.worth(law.weights)
    sums = [sum(worth[pair] for pair in itertools.combinations(each, 2)) for each in (order, *every)]
    assert sums[0] == pytest.approx(max(sums))


def test_a_plan_finds_the_order_that_pairs_show():
    kept = np.where(np.triu(np.ones((5, 5)), 1) > 0, 0.5, 1.0)  # each task takes from those before it in the list
    made = plan(tasks(5), Heads([0.8] * 5, np.zeros((5, 5)), kept), pilot=EXAMPLES, draws=60)
    assert made.named_order == ("t4", "t3", "t2", "t1", "t0")
    assert made.confidence.beats_random > 0.75
    assert made.confidence.verdict == "too noisy to say"  # what pairs show of heads is not known to hold
    assert any("audit them" in note for note in made.notes)
    assert made.prediction.mean == pytest.approx(0.84, abs=0.06)
    assert made.objective == "score"
    assert not {"negative similarity", "uniform similarity", "different classes"} & {w.kind for w in made.warnings}


def test_all_numbers_of_a_plan_and_its_report_go_by_pairs():
    known = effects(seed=2, size=0.3)
    weights = [1, 2, 1, 1]
    options = {"pilot": EXAMPLES, "seeds": 1, "draws": 0, "mix": False, "learned": ["t3"], "weights": weights}
    found = run_pilot(tasks(), Heads(*known), **options)
    made = found.plan
    accuracy = (1 + np.array(made.knowledge)) / 2
    np.testing.assert_allclose(accuracy, made.prediction.tasks)
    assert (1 + made.score) / 2 == pytest.approx(made.prediction.mean)
    assert made.error == pytest.approx((1 - np.array(made.knowledge)) ** 2 @ weights)
    np.testing.assert_allclose([row[3] for row in made.knowledge_path[:1]], known.alone[3], atol=0.2)
    assert np.allclose(found.table, np.diag(np.diag(found.table)))  # by which all orders end nearly alike
    numbers = plan_numbers(Plan.from_json(made.to_json()), found.table, names=("t0", "t1", "t2", "cats"))
    assert (numbers.plan.score, numbers.around) == (made.score, None)
    assert numbers.disagreements == ("The plan calls a task t3 that its table calls cats.",)
    said = " ".join(str(section.words) for section in plan_page(numbers, "title", "plan.json").sections)
    assert "Pairs of tasks predict a mean accuracy" in said
    assert "law" not in said


def test_no_time_is_lost_on_a_search_that_says_nothing(monkeypatch):
    def solved(inputs, rule, **options):
        assert rule == "row-sums"
        return solve_input(inputs, rule, **options)

    monkeypatch.setattr(choice, "solve_input", solved)
    many = effects(12, seed=1)
    law = FittedLaw(np.diag(many.alone), np.full(12, 0.9), np.zeros(12), np.full(12, 1 / 12), {}, 1.0, effects=many)
    order, notes = choice.plan_order(law, np.eye(12), choice.AUTO, Constraints.of(12))
    assert (order, notes) == (best_order(law, Constraints.of(12)), [])


@pytest.mark.parametrize("alone", [0.8, 0.95])
def test_tasks_without_influence_are_no_false_alarm(alone):
    verdicts, gains = [], set()
    for draw in range(30):
        learner = Heads([alone] * 4, np.zeros((4, 4)), np.ones((4, 4)), draw)
        sure = plan(tasks(), learner, pilot=EXAMPLES, draws=40, mix=False, seeds=1 + draw % 3).confidence
        verdicts.append(sure.verdict)
        gains.add((sure.beats_random, sure.gain_low))
    assert len(gains) > 25  # the plans are not the same one again
    assert "order matters" not in verdicts


def test_a_sure_learner_without_influence_may_take_any_order():
    learner = Heads([1.0] * 4, np.zeros((4, 4)), np.ones((4, 4)))
    made = plan(tasks(), learner, pilot=EXAMPLES, draws=40)
    assert made.confidence.verdict == "any order is fine"


def test_the_retention_is_that_of_the_own_head():
    kept = np.full((4, 4), 0.6)
    np.fill_diagonal(kept, 1)
    known = PairEffects(np.full(4, 0.8), np.zeros((4, 4)), kept)
    learner = Heads(*known)
    result = run_pilot(tasks(), learner, pilot=EXAMPLES, draws=0)
    assert "keeps 6" in result.plan.prediction.retention or "keeps 5" in result.plan.prediction.retention
    found = retention_from_pairs(result.measured, own=True)
    assert found.low < 0.6 < found.high
    assert abs(found.value - 0.6) < 0.06


def test_a_model_that_has_learned_some_tasks_goes_on_from_there():
    known = effects()
    measured = {seq: known.knowledge(np.array([seq]), np.zeros(4))[0] for k in (1, 2)
                for seq in itertools.permutations(range(4), k)}  # fmt: skip
    rows = np.array(list(measured.values()))[None]
    law = fitted_law(Pilot(Measurements(tuple(measured), 1 - rows, np.ones_like(rows), None, None), np.full(4, 0.9),
                           np.full(4, 0.9), learned=(2, 0), heads=True))  # fmt: skip
    whole = law.effects.knowledge(np.array([(2, 0, 1, 3), (2, 0, 3, 1)]), np.zeros(4))
    np.testing.assert_allclose(law.knowledge(np.array([(1, 3), (3, 1)])), whole)


def test_the_regret_of_learned_tasks_counts_their_gains_once():
    gain = np.full((4, 4), 0.2)
    np.fill_diagonal(gain, 0)
    learner = Heads([0.2] * 4, gain, np.ones((4, 4)))  # all orders end alike but for noise
    made = plan(tasks(4, 400), learner, pilot=400, draws=0, mix=False, learned=["t0", "t1"])
    assert made.regret < 0.05


def test_a_race_reads_tasks_alone():
    with pytest.raises(ValueError, match=r"^`budget` must be fits or a time where each task has a head of its own"):
        plan(tasks(), Heads(*effects()), budget="0.5 runs")


def two_sides(count=4):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, 120, 2))
    return [Task(f"t{k}", x[k], (x[k] @ [np.cos(k), np.sin(k)] > 0).astype(int)) for k in range(count)]


def test_a_head_that_all_tasks_share_is_a_note():
    class ByTask(SklearnLearner):
        heads = "task"

    def notes(own, **more):
        learner = ByTask(SGDClassifier(loss="log_loss"))
        return " ".join(plan(own, learner, pilot=20, seeds=1, draws=0, mix=False, **more).notes)

    apart = [Task(task.name, task.inputs, task.labels + 2 * k) for k, task in enumerate(two_sides())]
    assert "all tasks have the same classes and so one head in common" in notes(two_sides())
    assert "head" not in notes(apart)
    assert "rule row-sums reads tasks alone, which say nothing of another one's head" in notes(apart, rule="row-sums")


def test_with_replay_the_predicted_retention_rises():
    def kept(strategy):
        learner = SklearnLearner(SGDClassifier(loss="log_loss", alpha=0.01), 2, strategy=strategy)
        return run_pilot(two_sides(), learner, pilot=40, draws=0, mix=False).plan.retention

    plain, some, more = kept(None), kept(Replay(4)), kept(Replay(15, share=0.7))
    assert plain < some < more


def test_replay_of_most_of_a_pilot_is_a_warning():
    sample, whole = tasks(2, 15), tasks(2, 500)
    assert "keeps 100 % of the pilot's examples, but 4 % in the real run" in all_kept(sample, Replay(20), whole).text
    assert all_kept(sample, Replay(2), whole) is None
    assert all_kept(whole, Replay(20), whole) is None
    assert all_kept(sample, None, whole) is None


def test_a_race_with_replay_is_tested_on_others():
    seen = {}

    class Watched(SklearnLearner):
        def fit(self, model, task):
            learned = {row.tobytes() for row in np.asarray(task.inputs)}
            assert not learned & {row.tobytes() for row in np.asarray(task.eval_inputs)}
            seen[task.name] = len(learned)
            return super().fit(model, task)

    made = plan(two_sides(), Watched(SGDClassifier(loss="log_loss"), strategy=Replay(3)), budget="1 run", draws=0)
    assert len(seen) == 4
    assert made.prediction.cost <= 1.01
