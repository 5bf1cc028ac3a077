"""The table of the law from everything that was learned."""

import itertools

import numpy as np
import pytest

from taskorder.learners import Score
from taskorder.planning.fitted_law import Pilot, fitted_law, learned_rows
from taskorder.planning.measurements import Measurements
from taskorder.theory.law import final_knowledge

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
