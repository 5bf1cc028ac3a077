"""The batched path equals the plain one, and both agree with the engine's own tables."""

import itertools

import numpy as np
import pytest

pytest.importorskip("jax")
from taskorder.engine import train
from taskorder.engine.nets import mlp
from taskorder.engine.pools import make_pool
from taskorder.engine.single import single_tasks, transfer_tables
from taskorder.engine.train import Recipe
from taskorder.learners import JaxLearner, learn_orders
from taskorder.planning.estimate import measure_transfer
from taskorder.tables.loss_ratios import loss_ratios, similarity_from_loss_ratios
from taskorder.task import Task, align

NET = mlp((64,), 2, (16,))


class Plain:
    """The same learner without its batched methods."""

    def __init__(self, learner):
        self.make, self.fit, self.loss = learner.make, learner.fit, learner.loss
        self.losses_by_class, self.copy = learner.losses_by_class, learner.copy


@pytest.mark.slow("training")
def test_many_at_once_equal_one_by_one(digits):
    learner = JaxLearner(NET, Recipe(epochs=2))
    learner.at_once = 4  # the last part is not full, and task 4 has fewer examples than the others
    tasks, orders = digits[2:], list(itertools.permutations(range(3)))
    fast = learn_orders(learner, tasks, orders, (0, 7))
    slow = learn_orders(Plain(learner), tasks, orders, (0, 7))
    assert len(fast[0]) == 15
    for batched, single in zip(fast, slow, strict=True):
        assert batched.keys() == single.keys()
        for prefix in batched:
            ours, theirs = ([score[:3] for score in scores[prefix]] for scores in (batched, single))
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_fits_do_not_depend_on_their_company(digits):
    learner = JaxLearner(NET, Recipe(epochs=1))
    models = [learner.make(seed) for seed in range(3)]
    together = learner.fit_many(models, [digits[0], digits[4], digits[1]])
    alone = learner.fit(models[1], digits[4])
    assert together[1].seen == alone.seen == ("8 or 9",)
    assert learner.loss(together[1], digits[0]) == pytest.approx(learner.loss(alone, digits[0]), rel=1e-5)


def test_a_group_of_networks_shuffles_no_more_than_it_learns(digits, monkeypatch):
    made, shuffles = [], train.shuffles
    monkeypatch.setattr(train, "shuffles", lambda keys, *more: made.append(len(keys)) or shuffles(keys, *more))
    monkeypatch.setattr(train, "MAX_GROUP", 4)
    learner = JaxLearner(mlp((64,), 2, (3,)), Recipe(epochs=1))
    trained = learner.fit_many([learner.make(seed) for seed in range(8)], digits[:2] * 4)
    assert made == [4]
    alone = learner.fit(learner.make(6), digits[0])
    assert learner.loss(trained[6], digits[1]) == pytest.approx(learner.loss(alone, digits[1]), rel=1e-4)


def test_numbers_are_read_the_same_beside_those_of_a_smaller_type():
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 300, (40, 3))
    tasks = align([Task("bits", wide > 150, wide[:, 0] % 2), Task("counts", wide, wide[:, 1] % 2)])
    learner = JaxLearner(mlp((3,), 2, (4,)), Recipe(epochs=1))
    model = learner.make(0)
    together, alone = learner.fit_many([model, model], tasks)[1], learner.fit(model, tasks[1])
    assert learner.loss(together, tasks[1]) == pytest.approx(learner.loss(alone, tasks[1]), rel=1e-4)


def test_similarity_agrees_with_the_engine(digits):
    # with the whole task in a batch the order of examples does not matter, and both must give the same networks
    tasks = digits[:4]
    recipe = Recipe(epochs=40, batch_size=60, learning_rate=1e-2)
    table = measure_transfer(tasks, JaxLearner(NET, recipe), seeds=[2])
    pools = []
    for inputs, labels in (("inputs", "labels"), ("eval_inputs", "eval_labels")):
        whole = np.concatenate([getattr(task, inputs) for task in tasks])
        n = len(whole) // len(tasks)
        rows = [np.arange(n) + n * place for place in range(len(tasks))]
        pools.append(make_pool(whole, rows, [getattr(task, labels) for task in tasks]))
    (tables,) = transfer_tables(NET, pools[0], [single_tasks(range(4), 2)], {"test": pools[1]}, recipe=recipe)
    measured = tables["test"]
    np.testing.assert_allclose(table.losses[0], measured["loss"], rtol=2e-3)
    wanted = similarity_from_loss_ratios(loss_ratios(measured["loss"], measured["chance"]))
    np.testing.assert_allclose(table.similarity(), wanted, atol=2e-3)
    assert np.abs(wanted - np.eye(4)).max() > 0.1


def test_a_pair_of_functions_will_do_and_a_misfit_is_named(digits):
    import jax

    def init(key):
        return {"w": 0.01 * jax.random.normal(key, (64, 2))}

    linear = JaxLearner((init, lambda p, x: x @ p["w"]))
    model = linear.fit(linear.make(0), digits[0])
    assert linear.accuracy(model, digits[0]) > 0.9
    narrow = JaxLearner(mlp((32,), 2))
    with pytest.raises(ValueError, match=r"`net` must fit the inputs of task '0 or 1', \(64,\) each"):
        narrow.fit(narrow.make(0), digits[0])


def test_a_task_smaller_than_a_batch_is_learned(digits):
    from taskorder.planning.pilot import pilot_sample

    learner = JaxLearner(NET, Recipe(epochs=60, learning_rate=1e-2))
    (small,) = pilot_sample(digits[:1], 3, keep_eval=False)
    assert learner.loss(learner.fit(learner.make(0), small), small) < 0.3
