"""Plans for tasks that each have classes of their own, all of which compete in one output layer."""

import itertools

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import SGDClassifier

from taskorder import plan, run_pilot
from taskorder.constraints import Constraints
from taskorder.learners import Replay, SklearnLearner
from taskorder.planning.additions import FADE, FADE_REPLAYED, Additions
from taskorder.planning.choice import allowed_orders, best_order
from taskorder.planning.fitted_law import FittedLaw
from taskorder.report.plan_numbers import plan_numbers
from taskorder.report.recomputed import by_pairs
from taskorder.task import Task
from taskorder.theory.law import final_knowledge

EXAMPLES = 60


def additions(count=5, seed=0, fade=FADE):
    """What tasks that forget much add to each other."""
    rng = np.random.default_rng(seed)
    alone, own, others = np.diag(rng.uniform(0.7, 0.9, count)), np.zeros((count, count)), np.zeros([count] * 3)
    for i, k in itertools.permutations(range(count), 2):
        own[i, k], others[i, k] = rng.uniform(0.0, 0.5), rng.normal(0, 0.02, count)
        others[i, k, k], others[i, k, i] = -rng.uniform(0.0, 0.2), 0.0
    return Additions(alone, own, others, fade)


def orders_of(count):
    return np.array(list(itertools.permutations(range(count))))


def law_of(effects, **given):
    P = len(effects.alone)
    return FittedLaw(effects.alone, np.full(P, 0.5), np.zeros(P), np.full(P, 1 / P), {}, 1.0, effects=effects, **given)


class Apart:
    """A learner whose knowledge of each task is known; the classes of task k are 2 k and 2 k + 1, answers are drawn."""

    mixes = False

    def __init__(self, effects):
        self.effects = effects

    def make(self, seed):
        return seed, ()

    def copy(self, model):
        return model

    def fit(self, model, task):
        return model[0], (*model[1], int(task.name[1:]))

    def losses_by_class(self, model, inputs):
        """Right answers of low loss as often as the knowledge says, wrong ones of high loss."""
        seed, order = model
        own, P = int(inputs[0, 0]), len(self.effects.alone)
        known = self.effects.knowledge(np.array([order], dtype=int).reshape(1, -1), np.zeros(P))[0, own]
        rng = np.random.default_rng([seed, own, *order, 7])
        truth = 2 * own + inputs[:, 1].astype(int)
        right = rng.random(len(inputs)) < np.clip(1 / (2 * P) + (1 - 1 / (2 * P)) * known, 0, 1)
        losses = np.full((len(inputs), 2 * P), 3.0)
        losses[np.arange(len(inputs)), np.where(right, truth, (truth + 2) % (2 * P))] = 0.1
        return losses

    def loss(self, model, task):
        raise AssertionError("known by class")


def tasks(count=5, size=EXAMPLES):
    rows = np.arange(2 * size) % 2
    return [Task(f"t{k}", np.stack([np.full(2 * size, k), rows], 1).astype(float), 2 * k + rows) for k in range(count)]


@pytest.mark.parametrize("fade", [FADE, FADE_REPLAYED, 0.0, 1.0])
def test_own_additions_are_summed_and_those_to_others_are_a_mean(fade):
    known = additions(4, fade=fade)
    found = known.knowledge(orders_of(4), np.zeros(4))
    for order, after in zip(orders_of(4).tolist(), found, strict=True):
        *before, last = order
        left = [fade**between for between in range(3)][::-1]
        expected = known.alone[last].copy()
        for task, share in zip(before, left, strict=True):
            expected[task] += share * known.own[task, last]
            expected += share / sum(left) * known.others[task, last]
        np.testing.assert_allclose(after, np.minimum(expected, 1.0))


def test_pairs_give_back_what_they_were_made_of():
    known = additions(4)
    measured = {order: known.knowledge(np.array([order]), np.zeros(4))[0]
                for size in (1, 2) for order in itertools.permutations(range(4), size)}  # fmt: skip
    read = Additions.of(measured, 4)
    for part in ("alone", "own", "others"):
        np.testing.assert_allclose(getattr(read, part), getattr(known, part), atol=1e-12)
    assert read.measured == 1


def test_it_is_the_law_where_tasks_alone_know_nothing_of_each_other():
    table, d = np.diag([0.9, 0.6, 0.8, 0.7]), 0.4
    measured = {order: final_knowledge(table, order, d)
                for size in (1, 2) for order in itertools.permutations(range(4), size)}  # fmt: skip
    read = Additions.of(measured, 4, fade=d)
    for order in orders_of(4):
        np.testing.assert_allclose(read.knowledge(order[None], np.zeros(4))[0], final_knowledge(table, order, d))


def test_more_tasks_do_not_push_knowledge_out_of_its_range():
    rng = np.random.default_rng(0)
    for count in (5, 20, 60):
        known = additions(count, fade=FADE_REPLAYED)
        orders = np.array([rng.permutation(count) for _ in range(50)])
        after = known.knowledge(orders, np.zeros(count))
        assert after.min() > -0.1
        assert after[np.arange(50), orders[:, -1]].min() > 0.4  # the task that was just learned


def test_a_missing_pair_is_like_the_others_and_makes_less_sure():
    known = {(k,): np.eye(3)[k] * 0.8 for k in range(3)}
    none = Additions.of(known, 3)
    assert (none.own == 0).all()
    assert none.measured == 0
    one = Additions.of({**known, (0, 1): np.array([0.3, 0.7, 0.05])}, 3)
    np.testing.assert_allclose([one.own[0, 1], one.own[2, 0]], [0.3, 0.3])
    np.testing.assert_allclose(one.others[0, 1], [0, -0.1, 0.05])
    np.testing.assert_allclose(one.others[2, 0], [-0.1, 0.05, 0])
    whole = additions(5)
    assert whole._replace(measured=0.25).unseen == pytest.approx(4 * whole.unseen)


def test_an_order_that_goes_on_ends_like_the_whole_one():
    known = additions(5)
    begun = known.knowledge(np.array([[3, 1]]), np.zeros(5))[0]
    rest = np.array([[0, 2, 4], [4, 0, 2]])
    whole = known.knowledge(np.hstack([np.tile([3, 1], (2, 1)), rest]), np.zeros(5))
    np.testing.assert_allclose(known.knowledge(rest, begun, (3, 1)), whole)
    # what a measured model knows beyond that fades
    more = known.knowledge(rest, begun + 0.1, (3, 1))
    np.testing.assert_allclose(more, np.minimum(whole + 0.1 * FADE**3, 1.0))


def test_a_path_ends_where_the_order_does():
    known, order = additions(4), (2, 0, 3, 1)
    path = law_of(known).path(order)
    assert path.shape == (5, 4)
    assert (path[0] == 0).all()
    np.testing.assert_allclose(path[-1], known.knowledge(np.array([order]), np.zeros(4))[0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_search_finds_the_best_of_all_orders(seed, weighted):
    known = additions(6, seed, FADE_REPLAYED if seed % 2 else FADE)
    weights = np.random.default_rng(seed).uniform(0.1, 1, 6) if weighted else np.ones(6)
    weights /= weights.sum()
    values = known.knowledge(orders_of(6), np.zeros(6)) @ weights
    found = known.best(weights, Constraints.of(6))
    assert known.knowledge(np.array([found]), np.zeros(6))[0] @ weights == pytest.approx(values.max())


@pytest.mark.parametrize(
    "wishes",
    [
        {"before": [(0, 1), (4, 2)]}, {"first": 3}, {"last": 2}, {"first": 1, "last": 0, "before": [(5, 4)]},
        {"groups": [(0, 1), (2, 3)]}, {"groups": [(0, 1, 2)], "before": [(3, 0)]}, {"learned": [5]},
        {"learned": [2], "before": [(0, 1)], "last": 4},
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_the_search_keeps_constraints_and_finds_nearly_the_best(wishes, seed):
    known, constraints = additions(6, seed), Constraints.of(6, **wishes)
    law = law_of(known, learned=constraints.learned)
    listed = allowed_orders(constraints)
    found = known.best(law.weights, constraints)
    assert constraints.allows(found)
    assert law.score(np.array([found]))[0] >= np.quantile(law.score(listed), 0.9)
    if "before" not in wishes and "groups" not in wishes:
        assert law.score(np.array([found]))[0] == pytest.approx(law.score(listed).max())


def test_many_tasks_take_no_time_and_no_random_order_is_better():
    known = additions(60)
    law = law_of(known)
    found = best_order(law, Constraints.of(60, first=7, before=[(3, 4)]))
    assert found[0] == 7
    assert found.index(3) < found.index(4)
    rng = np.random.default_rng(0)
    others = np.array([rng.permutation(60) for _ in range(300)])
    assert law.score(np.array([found]))[0] > law.score(others).max()


def test_a_plan_of_tasks_apart_follows_pairs_and_says_so():
    known = additions(5, seed=3)
    result = run_pilot(tasks(), Apart(known), pilot=EXAMPLES, seeds=2, draws=20)
    made = result.plan
    truth = known.knowledge(orders_of(5), np.zeros(5)).mean(axis=1)
    own = known.knowledge(np.array([made.order]), np.zeros(5)).mean()
    assert (truth < own).mean() > 0.95
    assert by_pairs(made)
    assert made.options["heads"] == "class"
    assert made.objective == "score"
    assert any("tested on others" in note for note in made.notes)
    assert any("(class-incremental): the order goes by what pairs of tasks add" in note for note in made.notes)
    assert "different classes" in [caution.kind for caution in made.warnings]
    assert made.prediction.random_mean == pytest.approx(np.mean(1 / 10 + 0.9 * truth), abs=0.08)
    numbers = plan_numbers(made, result.table)
    assert numbers.disagreements == ()
    assert numbers.plan.score == made.score  # not that of the table, which holds tasks alone


def test_without_pairs_the_law_reads_tasks_alone():
    made = run_pilot(tasks(), Apart(additions(5)), pilot=EXAMPLES, seeds=1, budget=5, mix=False, draws=0).plan
    assert not by_pairs(made)
    assert any("tasks alone say little of each other: a larger budget would measure pairs" in n for n in made.notes)
    sure = plan(tasks(), Apart(additions(5)), pilot=EXAMPLES, seeds=1, budget=5, mix=False, draws=20).confidence
    assert sure.verdict == "too noisy to say"  # tasks alone look as if any order were fine


def test_a_rule_is_told_what_it_cannot_know():
    made = plan(tasks(3), Apart(additions(3)), pilot=EXAMPLES, rule="row-sums", seeds=1, draws=0)
    assert any(
        "rule row-sums reads tasks alone, which say little of the classes of other tasks" in note for note in made.notes
    )


def test_a_race_is_refused():
    with pytest.raises(
        ValueError, match=r"^`budget` must be fits or a time where no class is in two tasks, got a training cost"
    ):
        plan(tasks(), Apart(additions(5)), budget="1 runs")


def test_a_given_retention_is_how_additions_fade():
    plans = [plan(tasks(), Apart(additions(5)), pilot=EXAMPLES, seeds=1, mix=False, retention=d) for d in (0.0, 0.9)]
    forgetful, lasting = (made.prediction.mean for made in plans)
    assert lasting > forgetful + 0.05


def test_replay_in_a_plan_of_tasks_apart():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(8, 5)) * 2
    some = [Task(f"t{k}", np.concatenate([rng.normal(size=(60, 5)) + centers[c] for c in (2 * k, 2 * k + 1)]),
                 np.repeat([2 * k, 2 * k + 1], 60)) for k in range(4)]  # fmt: skip
    learner = SklearnLearner(SGDClassifier(loss="log_loss"), strategy=Replay(10))
    made = plan(some, learner, pilot=40, seeds=2, draws=10)
    assert by_pairs(made)
    assert sorted(made.order) == [0, 1, 2, 3]
    assert made.confidence.verdict in ("order matters", "too noisy to say", "any order is fine")
