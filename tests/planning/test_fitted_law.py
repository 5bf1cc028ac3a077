"""The table of the law from everything that was learned."""

import itertools

import numpy as np
import pytest

from taskorder import Task, plan
from taskorder.learners import CallableLearner, Score
from taskorder.planning.fitted_law import Pilot, fitted_law, learned_rows
from taskorder.planning.measurements import Measurements
from taskorder.theory.law import final_knowledge
from taskorder.theory.random_orders import knowledge_after

from .pupils import random_table

RETENTION = np.array([0.1, 0.3, 0.6, 0.9])
SEQUENCES = [q for length in (1, 2, 3) for q in itertools.permutations(range(4), length)]


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_rows_are_exact_where_the_law_is(longest):
    table = random_table(4)
    known = {q: final_knowledge(table, q, RETENTION) for q in SEQUENCES if len(q) <= longest}
    np.testing.assert_allclose(learned_rows(known, 4, RETENTION), table)


def test_more_sequences_take_noise_away():
    table, rng = random_table(4), np.random.default_rng(0)
    errors = []
    for _ in range(200):
        known = {q: final_knowledge(table, q, RETENTION) + 0.1 * rng.normal(size=4) for q in SEQUENCES}
        shown = [{q: after for q, after in known.items() if len(q) <= longest} for longest in (1, 2, 3)]
        errors.append([((learned_rows(some, 4, RETENTION) - table) ** 2).mean() for some in shown])
    alone, pairs, triples = np.mean(errors, axis=0)
    assert triples < pairs < 0.75 * alone


def losses(*values):
    """Losses on two tasks, of which 1 is that of the untouched model."""
    return tuple(Score(loss, 1.0, None) for loss in values)


OWN = {(0,): losses(0.5, 0.9), (1,): losses(0.7, 0.6), (0, 1): losses(0.9, 0.2)}


def test_knowledge_may_count_from_the_untouched_model_to_the_own_one():
    measured = Measurements.from_scores([OWN], from_own=True)
    assert measured.gains == pytest.approx([0.5, 0.4])
    np.testing.assert_allclose(measured.knowledge()[0], [[1.0, 0.25], [0.6, 1.0], [0.2, 2.0]])
    seeds = Measurements.from_scores([OWN, {**OWN, (0,): losses(0.3, 1.1)}], from_own=True)
    assert seeds.units == pytest.approx([0.6, 0.4])  # one scale for all seeds
    np.testing.assert_allclose(seeds.knowledge()[:, 0], [[0.5 / 0.6, 0.25], [0.7 / 0.6, -0.25]])


def test_a_task_that_is_known_already_counts_by_the_mean_of_all():
    known = {**OWN, (1,): losses(0.7, 0.99), (0, 1): losses(0.9, 1.3)}
    measured = Measurements.from_scores([known], from_own=True)
    assert measured.units == pytest.approx([0.5, 0.255])
    assert measured.knowledge()[0, 2, 1] == pytest.approx(-0.3 / 0.255)
    worse = {**OWN, (0,): losses(1.5, 0.9), (1,): losses(0.7, 0.99)}
    with pytest.raises(ValueError, match=r"^`learner` must lower the losses of the tasks that it learns, got \+0\.245"):
        Measurements.from_scores([worse], from_own=True).knowledge()


def test_no_entry_of_the_table_is_above_1():
    """What is learned after a task that helps may be learned better than alone; a table that holds more is refused."""
    measured = Measurements.from_scores([OWN], from_own=True)
    nothing = np.zeros(2)
    rows = learned_rows(dict(zip(measured.sequences, measured.knowledge()[0], strict=True)), 2, nothing)
    assert rows[1, 1] == pytest.approx(1.5)
    assert fitted_law(Pilot(measured, nothing, nothing)).table[1, 1] == 1.0


def measured_by_the_law(table, retention):
    """What a learner that follows the law shows in tasks alone and pairs, without noise."""
    P = len(table)
    sequences = [*((k,) for k in range(P)), *itertools.permutations(range(P), 2)]
    known = np.array([final_knowledge(table, sequence, retention) for sequence in sequences])[None]
    return Measurements(tuple(sequences), 1 - known, np.ones_like(known), None, None)


@pytest.mark.parametrize("retention", [0.3, 0.5, 0.9])
def test_orders_are_compared_with_at_most_half_kept_at_the_level_of_the_learner(retention):
    rng = np.random.default_rng(0)
    table = rng.uniform(0.0, 0.3, (5, 5)) + 0.6 * np.eye(5)
    d, orders = np.full(5, retention), np.array(list(itertools.permutations(range(5))))
    law = fitted_law(Pilot(measured_by_the_law(table, retention), d, d, carried=0.0))
    truth = knowledge_after(law.table, orders, d)
    assert law.retention.tolist() == [min(retention, 0.5)] * 5
    assert law.much_kept == (retention > 0.5)
    np.testing.assert_allclose(law.knowledge(orders).mean(axis=0), truth.mean(axis=0), atol=0.03)
    half = knowledge_after(law.table, orders, np.minimum(d, 0.5))
    np.testing.assert_array_equal(law.score(orders).argsort(kind="stable"), half.mean(axis=1).argsort(kind="stable"))


def test_a_plan_of_a_learner_that_keeps_much_says_so_and_is_less_sure():
    tasks = [Task(name) for name in "abcde"]
    rng = np.random.default_rng(1)
    table = rng.uniform(0.0, 0.5, (5, 5)) + 0.5 * np.eye(5)

    def learner(retention):
        def loss(learned, test, seed):
            order = ["abcde".index(name) for name in learned]
            return max(0.0, 1 - float(final_knowledge(table, order, retention)["abcde".index(test)]))

        return CallableLearner(loss, chance=1.0)

    forgets, keeps = (plan(tasks, learner(d), seeds=2, draws=20) for d in (0.2, 0.9))
    said = "orders are compared as if 50 % were kept: of more, the law makes too much of early tasks"
    assert said in keeps.notes
    assert said not in forgets.notes
    assert "keeps 88 %" in keeps.prediction.retention
    widths = [made.prediction.high - made.prediction.low for made in (forgets, keeps)]
    assert widths[1] > widths[0] + 0.1
