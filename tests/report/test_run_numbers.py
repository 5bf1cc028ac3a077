"""The numbers of a run store, from accuracies that follow a formula."""

import itertools
import json

import numpy as np
import pytest

from taskorder.report.document import page_html
from taskorder.report.run_numbers import run_numbers
from taskorder.report.run_page import run_page
from taskorder.runs.store import Store
from taskorder.theory.law import PLAIN_RETENTION, final_score

from .conftest import HOSTILE, accuracy, embedded


def numbers_of(path, *args):
    with Store(path, create=False) as store:
        return run_numbers(store, *args)


@pytest.mark.parametrize("old", [False, True])
def test_every_order_with_its_accuracy(run_store, old):
    numbers = numbers_of(run_store(old=old))
    wanted = {way: np.mean([accuracy(way, t) for t in range(3)]) for way in itertools.permutations(range(3))}
    assert {tuple(way) for way in numbers.orders.tolist()} == set(wanted)
    for way, value in zip(numbers.orders.tolist(), numbers.accuracy, strict=True):
        assert value == pytest.approx(wanted[tuple(way)])
    assert (np.diff(numbers.accuracy) <= 0).all()
    assert numbers.orders[0].tolist() == [0, 1, 2]
    assert numbers.every
    assert numbers.spread is None


def test_forgetting_similarity_and_prediction(run_store):
    numbers = numbers_of(run_store())
    row = numbers.row((2, 0, 1))
    np.testing.assert_allclose(numbers.learned[row], [0.99 + 0.01, 0.99, 0.98])
    np.testing.assert_allclose(numbers.final[row], [0.9, 0.99, 0.78])
    assert numbers.forgetting[row] == pytest.approx(0.15)
    assert numbers.similarity[0, 2] == pytest.approx(1 - np.sqrt(0.7))
    assert numbers.mean_similarity == pytest.approx(1 - (2 * np.sqrt(0.6) + np.sqrt(0.7)) / 3)
    S = 0.5 - 0.1 * np.abs(np.subtract.outer(np.arange(3), np.arange(3)))  # the losses are symmetric
    assert numbers.predicted[row] == pytest.approx(0.5 + 0.5 * final_score(S, (2, 0, 1), PLAIN_RETENTION))
    assert -1 <= numbers.agreement <= 1


def test_seeds_are_averaged(run_store):
    numbers = numbers_of(run_store(num_seeds=3))
    assert numbers.num_seeds == 3
    assert numbers.accuracy[0] == pytest.approx(np.mean([accuracy((0, 1, 2), t, 1) for t in range(3)]))
    np.testing.assert_allclose(numbers.spread, 0.001 / np.sqrt(3), rtol=1e-6)


def test_sets_are_chosen_and_refused(run_store):
    path = run_store(num_sets=3)
    assert numbers_of(path).number == 0
    assert numbers_of(path, 2).number == 2
    with pytest.raises(ValueError, match=r"`task_set` must name a finished task set, got 7\. Sets: 0 to 2"):
        numbers_of(path, 7)
    with pytest.raises(ValueError, match="got 100000000000000000000"):
        numbers_of(path, 10**20)


def test_a_store_without_runs_is_refused(tmp_path):
    with Store(tmp_path / "empty.sqlite") as store, pytest.raises(ValueError, match="must hold finished runs"):
        run_numbers(store)


def test_the_page_holds_the_numbers_and_hostile_names(run_store):
    numbers = numbers_of(run_store(HOSTILE[:3], num_seeds=2))
    text = page_html(run_page(numbers, "runs", "a file"), "taskorder report a")
    assert "<script>alert" not in text
    assert "<img" not in text
    inside = embedded(text)
    assert inside == json.loads(json.dumps(numbers.to_dict()))
    assert inside["accuracy"] == numbers.accuracy.tolist()
    assert inside["names"] == list(HOSTILE[:3])


def test_the_page_says_the_answer(run_store):
    numbers = numbers_of(run_store())
    text = page_html(run_page(numbers, "runs", "a file"), "taskorder report a")
    assert "The best of all 6 orders is <bdi>cats</bdi> → <bdi>dogs</bdi> → <bdi>owls</bdi>" in text
    assert "one seed" in text
