"""Rehearsal: what a budget buys, what an order is scored by, and nothing is lost or decided twice."""

import itertools
import math

import numpy as np
import pytest

from taskorder.learners import CallableLearner
from taskorder.planning.rehearsal import Rehearsal, affinity, fits_of, rehearse
from taskorder.runs.store import Store
from taskorder.task import Task
from taskorder.theory.graphs import chain


def tasks(count):
    return [Task(f"t{k}") for k in range(count)]


def linear(similarity, noise=0.0, accuracy=True):
    """A black box that does what the theory says: residuals r <- r - C[j] r[j], losses r squared."""

    def answer(learned, test, seed):
        r = np.ones(len(similarity))
        for name in learned:
            j = int(name[1:])
            r = r - similarity[j] * r[j]
        loss = r[int(test[1:])] ** 2
        if noise:
            key = [seed, int(test[1:]), *(int(name[1:]) for name in learned)]
            loss += noise * np.random.default_rng(key).random()
        return {"loss": loss, "chance": 1.0, **({"accuracy": math.exp(-loss)} if accuracy else {})}

    return CallableLearner(answer, name=f"linear {similarity.tolist()} {noise}")


@pytest.mark.parametrize(
    ("budget", "level", "seeds", "spent"),
    [(5, "tasks", 1, 5), (24, "tasks", 3, 15), (25, "pairs", 1, 25), (74, "pairs", 2, 50), (324, "pairs", 3, 75),
     (650, "orders", 2, 650), (10_000, "orders", 3, 975)],
)  # fmt: skip
def test_a_budget_in_fits_is_kept_and_used(budget, level, seeds, spent):
    found, _, allowed = rehearse(tasks(5), linear(chain(5, 0.6)), (0, 1, 2), fits=budget)
    assert (found.level, len(allowed)) == (level, seeds)
    assert found.values.shape == (seeds, len(found.endings), 5)
    assert found.fits == spent <= budget


def test_without_a_budget_all_orders_are_rehearsed_and_beyond_six_tasks_pairs():
    assert rehearse(tasks(3), linear(chain(3, 0.5)), (0,))[0].level == "orders"
    found = rehearse(tasks(7), linear(chain(7, 0.5)), (0,))[0]
    assert (found.level, found.fits) == ("pairs", fits_of(7, "pairs"))


def test_too_small_a_budget_says_what_is_needed():
    with pytest.raises(ValueError, match="one fit for each of the 4 tasks to order, got 3"):
        rehearse(tasks(4), linear(chain(4, 0.5)), (0,), fits=3)


def test_a_budget_in_seconds_degrades(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("taskorder.planning.budget.time.perf_counter", lambda: now[0])
    slow = linear(chain(5, 0.5))
    quick = slow.fit

    def fit(model, task):
        now[0] += 1.0
        return quick(model, task)

    slow.fit = fit
    levels = [rehearse(tasks(5), slow, (0, 1), seconds=limit)[0].level for limit in (1.0, 45.0, 400.0)]
    assert levels == ["tasks", "pairs", "orders"]
    before = now[0]
    rehearse(tasks(5), slow, (0, 1), seconds=800.0)
    assert 600 < now[0] - before <= 800


@pytest.mark.parametrize("accuracy", [True, False])
def test_the_score_is_the_mean_over_all_endings_and_tasks(accuracy):
    C = chain(3, 0.5)
    found, _, _ = rehearse(tasks(3), linear(C, accuracy=accuracy), (0,))
    row = found.endings.index
    values = found.values[0]
    by_hand = (values[row((2,))].mean() + values[row((0, 2))].mean() + values[row((1, 0, 2))].mean()) / 3
    assert found.score([(1, 0, 2)], values)[0] == pytest.approx(by_hand)
    assert values[row((0,))] == pytest.approx(affinity([0.0, 0.25, (1 - 0.25) ** 2]))
    assert (found.accuracy is not None) == accuracy


def test_the_best_rehearsed_order_is_among_the_good_ones_of_the_theory():
    from taskorder.theory.closed_form import final_error

    rng = np.random.default_rng(3)
    ranks = []
    for _ in range(6):
        a = rng.normal(size=(5, 8)) + 0.5
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        C = a @ a.T
        found = rehearse(tasks(5), linear(C), (0,))[0]
        orders = found.candidates(list)
        best = orders[int(found.score(orders, found.values[0]).argmax())]
        errors = [final_error(C, order) for order in itertools.permutations(range(5))]
        ranks.append(np.mean(np.array(errors) < final_error(C, best)))
    assert np.mean(ranks) < 0.3  # a random order would be at 0.5; shorter endings help against noise, and here is none


def test_a_beam_grows_the_best_endings_and_can_be_scored_to_its_full_length():
    found = rehearse(tasks(8), linear(chain(8, 0.6)), (0,), fits=1500)[0]
    assert found.level == "beam"
    longest = max(map(len, found.endings))
    assert longest > 2
    orders = found.candidates(sorted)
    assert all(sorted(order) == list(range(8)) for order in orders)
    assert not np.isnan(found.score(orders, found.values[0])).any()
    pairs = [ending for ending in found.endings if len(ending) == 2]
    kept = {ending[-2:] for ending in found.endings if len(ending) == 3}
    scores = dict(zip(pairs, found.score(pairs, found.values[0], 2), strict=True))
    assert min(scores[pair] for pair in kept) >= max(score for pair, score in scores.items() if pair not in kept)


def test_an_interrupted_beam_goes_on_to_the_same_end(tmp_path):
    def run(learner, store=None):
        return rehearse(tasks(7), learner, (0,), fits=600, store=store)[0]

    whole = run(linear(chain(7, 0.6), noise=0.1))
    failing = linear(chain(7, 0.6), noise=0.1)
    fits, steady = [0], failing.fit

    def fit(model, task):
        fits[0] += 1
        if fits[0] == 200:
            raise RuntimeError("no power")
        return steady(model, task)

    failing.fit = fit
    with Store(tmp_path / "kept.sqlite") as store:
        with pytest.raises(ValueError, match="no power"):
            run(failing, store)
        again = run(linear(chain(7, 0.6), noise=0.1), store)
    assert whole.level == "beam"
    assert (again.endings, again.fits) == (whole.endings, whole.fits)
    assert np.array_equal(again.values, whole.values)


def test_what_was_learned_comes_first_and_a_model_is_gone_on_from():
    C = chain(4, 0.6)
    learner = linear(C)
    fresh = rehearse(tasks(4), learner, (0,), learned=(2, 1))[0]
    model = learner.fit(learner.fit(learner.make(0), Task("t2")), Task("t1"))
    going_on = rehearse(tasks(4), learner, (0,), learned=(2, 1), start=model)[0]
    assert fresh.open_tasks == going_on.open_tasks == (0, 3)
    assert fresh.endings == going_on.endings == ((0,), (0, 3), (3,), (3, 0))
    assert np.allclose(fresh.values, going_on.values)


def test_parts_of_the_evidence_are_means_over_seeds_and_examples():
    rng = np.random.default_rng(0)
    examples = tuple(rng.random((2, 3, 4, n)).astype(np.float32) for n in (5, 7))
    values, told = (np.stack([one[kind].mean(axis=-1) for one in examples], axis=2) for kind in (0, 1))
    found = Rehearsal((0, 1), ((0,), (0, 1), (1,), (1, 0)), values, told, "orders", 12, examples)
    everything = found.drawn(np.arange(3), [np.arange(5), np.arange(7)])
    assert np.allclose(everything[0], values.mean(axis=0), atol=1e-6)
    assert np.allclose(everything[1], told.mean(axis=0), atol=1e-6)
    some = found.drawn(np.array([1, 1]), [np.array([4, 4]), np.array([0])])
    assert np.allclose(some[0][:, 0], examples[0][0, 1, :, 4], atol=1e-6)
    assert np.allclose(some[1][:, 1], examples[1][1, 1, :, 0], atol=1e-6)


def test_an_order_that_was_not_rehearsed_has_no_score():
    found = rehearse(tasks(8), linear(chain(8, 0.6)), (0,), fits=1500)[0]
    assert np.isnan(found.score([(7, 6, 5, 4, 3, 2, 1, 0), (0, 1, 2, 3, 4, 5, 6, 7)], found.values[0])).any()


@pytest.mark.parametrize(("loss", "value"), [(0.0, 1.0), (2 * math.log(4), 0.25)])
def test_affinity_is_the_root_of_the_probability(loss, value):
    assert affinity(loss) == pytest.approx(value)
