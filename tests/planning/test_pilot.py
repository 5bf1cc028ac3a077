"""Pilot samples, transfer tables, and what happens when a learner fails."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sklearn")
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.neural_network import MLPClassifier

from taskorder import solve
from taskorder.learners import LearnerError, SklearnLearner
from taskorder.planning.estimate import TransferLosses, measure_transfer
from taskorder.planning.pilot import LEAST, pilot_sample, sample_notes
from taskorder.planning.plan import plan
from taskorder.tables.loss_ratios import clip_similarity, loss_ratios, similarity_from_loss_ratios
from taskorder.task import Task, share_labels


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    tasks = []
    for low in range(0, 10, 2):
        rows = np.flatnonzero(np.isin(data.target, (low, low + 1)))
        inputs, labels = data.data[rows] / 16, (data.target[rows] == low + 1).astype(int)
        tasks.append(Task(f"{low} or {low + 1}", inputs[:250], labels[:250], inputs[250:], labels[250:]))
    return tasks


def learner(epochs=30):
    return SklearnLearner(MLPClassifier((32,), batch_size=16), epochs)


@given(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.integers(1, 200), st.integers(0, 5))
def test_a_sample_of_a_number_has_the_shares_of_the_classes(counts, total, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    task = Task("t", np.arange(float(len(labels)))[:, None], labels)
    if total < len(counts):
        with pytest.raises(ValueError, match="at least one example of each of its"):
            pilot_sample([task], total, seed)
        return
    (sample,) = pilot_sample([task], total, seed)
    total = min(total, len(labels))
    taken = np.bincount(sample.targets)
    assert taken.min() >= 1
    assert (taken <= counts).all()
    assert taken.sum() == total
    exact = np.array(counts) * total / len(labels)
    assert (np.abs(taken - exact)[exact >= 1] < len(counts)).all()
    if exact.min() >= 1:
        assert (np.abs(taken - exact) < 1).all()
    rows = sample.inputs[:, 0].astype(int)
    assert len(set(rows)) == len(rows)
    assert (labels[rows] == sample.labels).all()


@given(st.lists(st.integers(1, 400), min_size=2, max_size=5), st.floats(0.001, 1.0), st.integers(0, 5))
def test_a_share_of_a_small_task_is_at_least_a_number_of_each_class(counts, share, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    task = Task("t", np.arange(float(len(labels)))[:, None], labels)
    (sample,) = pilot_sample([task], share, seed)
    taken = np.bincount(sample.targets)
    least = np.minimum(counts, LEAST)
    assert (taken >= least).all()
    assert taken.sum() == max(round(share * len(labels)), least.sum())
    exact = np.array(counts) * share
    if exact.min() >= LEAST:
        assert (np.abs(taken - exact) < 1.5).all()


def test_one_percent_of_200_rows_are_not_two():
    task = Task("a", np.zeros((200, 1)), [0, 1] * 100)
    assert np.bincount(pilot_sample([task], 0.01)[0].targets).tolist() == [15, 15]


def sized(name, *counts):
    return Task(name, np.zeros((sum(counts), 1)), np.repeat([f"class {k}" for k in range(len(counts))], counts))


@pytest.mark.parametrize(
    ("tasks", "size", "notes"),
    [
        (
            [sized("a", 100, 100), sized("b", 3000, 3000)],
            0.01,
            ("pilot: 30 of 200 examples of a, 60 of 6,000 of b; at least 15 of each class, where 1 % is fewer",),
        ),
        ([sized("a", 3000, 3000), sized("b", 3000, 3000)], 0.01, ("pilot: 60 of 6,000 examples of each task",)),
        ([sized("a", 20, 20), sized("b", 30, 30)], 1.0, ("pilot: all examples of all tasks",)),
        (
            [sized("a", 90, 4), sized("b", 30, 30)],
            20,
            ("pilot: 20 of 94 examples of a, 20 of 60 of b", "classes with fewer than 15 examples: class 1 of a (4)"),
        ),
        (
            [sized(f"t{k}", 50 + k, 50) for k in range(11)],
            0.01,
            (
                "pilot: 30 of 100 examples of t0, 30 of 101 of t1, 30 of 102 of t2, 30 of 103 of t3, 30 of 104 of t4, "
                "30 of 105 of t5, 30 of 106 of t6, 30 of 107 of t7, and 3 more tasks; at least 15 of each class, "
                "where 1 % is fewer",
            ),
        ),
    ],
)  # fmt: skip
def test_a_plan_says_what_its_pilot_took(tasks, size, notes):
    assert sample_notes(tasks, pilot_sample(tasks, size), size) == notes
    result = plan(
        tasks, SklearnLearner(SGDClassifier(loss="log_loss"), epochs=1), size, seeds=1, budget=len(tasks), draws=0
    )
    assert [note for note in result.notes if note in notes] == list(notes)


def test_a_sample_depends_on_the_seed_and_the_name_alone(digits):
    first, again = (pilot_sample(tasks, 20, seed=1)[-1] for tasks in (digits, digits[3:]))
    other = pilot_sample(digits, 20, seed=2)[-1]
    assert first.digest == again.digest != other.digest
    assert len(first.targets) == 20


def test_evaluation_data_are_kept_or_dropped(digits):
    assert len(pilot_sample(digits, 25)[0].measured[1]) == len(digits[0].eval_labels)
    dropped = pilot_sample(digits, 25, keep_eval=False)[0]
    assert dropped.measured[1] is dropped.targets
    assert len(dropped.targets) == 25
    assert len(pilot_sample(digits, 1.0)[0].targets) == len(pilot_sample(digits, 10_000)[0].targets) == 250


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (1, "each of its 2 classes, got 1 of its 250 examples. Take 2 or more, or a share."),
        (0, "`pilot` must be a share above 0 and up to 1.0 or a whole number of examples a task, got 0."),
        (1.5, "got 1.5"),
        (-2, "got -2"),
        (True, "got True"),
        ("1%", "got '1%'"),
        (float("nan"), "got nan"),
    ],
)
def test_a_pilot_that_is_too_small_or_no_size(digits, size, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        pilot_sample(digits, size)


@pytest.mark.parametrize("options", [{"pilot": 20}, {"budget": "0.3 runs"}])
def test_a_sample_of_rare_numbers_that_holds_one_of_them_is_refused(options):
    inputs = np.arange(400.0)[:, None] / 400
    rare = [Task(name, inputs, [0.0] * 399 + [1.0], regression=True) for name in "ab"]
    said = (
        r"`tasks` must have different numbers to predict in a sample, got only 0\.0 in \d+ of the 400 examples of 'a'"
    )
    with pytest.raises(ValueError, match=rf"^{said}\. Take a larger `pilot` or `budget`\.$"):
        plan(rare, SklearnLearner(SGDRegressor()), seeds=1, **options)


def test_from_a_pilot_to_a_plan(digits):
    table = measure_transfer(pilot_sample(digits, 40), learner(), seeds=2)
    assert table.losses.shape == table.chance.shape == table.accuracy.shape == (2, 5, 5)
    assert table.fits == 10
    own = np.diagonal(table.ratios, axis1=1, axis2=2)
    assert (own < 0.7).all()
    wanted = np.mean(
        [similarity_from_loss_ratios(loss_ratios(table.losses[s], table.chance[s])) for s in (0, 1)], axis=0
    )
    np.testing.assert_allclose(table.similarity(), wanted)
    solved = solve(clip_similarity(table.similarity())[0], names=table.names)
    assert sorted(solved.order) == [0, 1, 2, 3, 4]


def test_a_small_pilot_sees_what_all_data_show(digits):
    def off_diagonal(tasks):
        similarity = measure_transfer(tasks, learner(), seeds=3).similarity()
        return similarity[np.triu_indices(5, 1)]

    whole, sampled = off_diagonal(digits), off_diagonal(pilot_sample(digits, 0.2))
    assert np.corrcoef(whole, sampled)[0, 1] > 0.8


def resampled(table, seed):
    """Seeds, and the examples of each task, drawn with replacement."""
    rng = np.random.default_rng(seed)
    seeds = rng.integers(len(table.seeds), size=len(table.seeds))
    return table.drawn(seeds, [rng.integers(part.shape[-1], size=part.shape[-1]) for part in table.examples])


def test_a_table_goes_through_json(digits):
    table = measure_transfer(pilot_sample(digits[:3], 20), learner(5), seeds=[4, 2])
    again = TransferLosses.from_json(table.to_json())
    assert again.names == table.names
    assert again.seeds == (4, 2)
    for name in ("losses", "chance", "accuracy"):
        np.testing.assert_array_equal(getattr(again, name), getattr(table, name))
    assert resampled(again, 1).to_json() == resampled(table, 1).to_json()
    for text in ("{", "{}", table.to_json().replace('"losses"', '"lost"'), table.to_json().replace("[4, 2]", "[4]")):
        with pytest.raises(ValueError, match=r"written by TransferLosses\.to_json"):
            TransferLosses.from_json(text)


def test_a_bootstrap_draw_moves_about_the_table(digits):
    table = measure_transfer(pilot_sample(digits[:3], 40), learner(5), seeds=4)
    draws = [resampled(table, seed) for seed in range(300)]
    assert draws[0].to_json() == resampled(table, 0).to_json()
    assert draws[0].to_json() != draws[1].to_json()
    assert all(draw.losses.shape == table.losses.shape for draw in draws)
    means = np.array([draw.losses.mean(axis=0) for draw in draws])
    spread = means.std(axis=0)
    assert (spread > 0).all()
    assert (np.abs(means.mean(axis=0) - table.losses.mean(axis=0)) < 5 * spread / 300**0.5).all()
    for b, part in enumerate(table.examples):  # the parts that the means come from
        np.testing.assert_allclose(part.mean(axis=-1)[..., 0], table.losses[:, :, b])
        np.testing.assert_allclose(part.mean(axis=-1)[..., 1], table.chance[:, :, b])
        np.testing.assert_allclose(part.mean(axis=-1)[..., 2], table.accuracy[:, :, b])


class Tired(SklearnLearner):
    """Gives up on its third fit, or answers with no number from then on."""

    def __init__(self, how):
        super().__init__(SGDClassifier(loss="log_loss"), epochs=1)
        self.how, self.count = how, 0

    def fit(self, model, task):
        self.count += 1
        if self.how == "raises" and self.count == 3:
            raise MemoryError("no memory left")
        return super().fit(model, task)

    def losses_by_class(self, model, inputs):
        losses = super().losses_by_class(model, inputs)
        return losses * np.nan if self.how == "answers nan" and self.count >= 3 else losses


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", "got MemoryError: no memory left (learning '4 or 5', seed 0, fit 3 of 10). The fits before it"),
        ("answers nan", "got nan for '0 or 1' (learning '4 or 5', seed 0, fit 3 of 10). The fits before it are kept"),
    ],
)
def test_a_failure_on_the_third_fit_is_named_and_nothing_is_lost(digits, tmp_path, how, message):
    path = tmp_path / "pilot.sqlite"
    wanted = measure_transfer(digits, Tired("never"), seeds=2)
    with pytest.raises(LearnerError, match=re.escape(message)):
        measure_transfer(digits, Tired(how), seeds=2, store=path)
    again, counts = Tired("never"), []
    table = measure_transfer(digits, again, seeds=2, store=path, report=lambda *now: counts.append(now))
    assert again.count == 8
    assert counts == [(done, 8) for done in range(1, 9)]
    assert table.to_json() == wanted.to_json()


def test_without_a_store_the_message_says_how_to_keep(digits):
    with pytest.raises(LearnerError, match=r"fit 3 of 10\)\. Give a store to keep finished fits\."):
        measure_transfer(digits, Tired("raises"), seeds=2)


def test_labels_unseen_in_another_task(digits):
    strangers = [digits[0], Task("letters", digits[1].inputs, np.where(digits[1].labels == 1, "a", "b"))]
    (note,) = measure_transfer(strangers, learner(1), seeds=1).notes
    assert note == (
        "classes are matched by name: 4 outputs, 0 of them for classes of two tasks or more; where tasks are to share "
        "outputs, say so: share_labels(tasks)"
    )
    assert measure_transfer(share_labels(strangers), learner(1), seeds=1).notes == ()
    three = Task("three", digits[1].inputs[:90], [0, 1, 2] * 30)
    (note,) = measure_transfer([digits[0], three], learner(1), seeds=1).notes
    assert note == "classes are matched by name: 3 outputs, 2 of them for classes of two tasks or more"


@pytest.mark.parametrize("seeds", [0, [], [-1], 1.5])
def test_seeds(digits, seeds):
    with pytest.raises(ValueError, match=r"`seeds?` must"):
        measure_transfer(digits, learner(), seeds=seeds)
