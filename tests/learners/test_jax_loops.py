"""JaxLearner beside the same training written out: `jax.grad` of one network, Adam in NumPy, one task after another."""

import zlib
from types import SimpleNamespace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from taskorder.engine.cnn import cnn
from taskorder.engine.nets import mlp
from taskorder.engine.train import Recipe
from taskorder.learners import JaxLearner, learn_orders, score

from .plain_loops import ORDERS, as_tasks, numbers

RECIPE = Recipe(epochs=2, batch_size=5, learning_rate=0.02)


def own_pair():
    """A network that is no Net: a function of parameters in a tree of its own."""

    def init(key):
        first, last = jax.random.split(key)
        return {"in": jax.random.normal(first, (3, 6)), "out": [jax.random.normal(last, (6, 4)) / 3]}

    return init, lambda params, x: jnp.tanh(x @ params["in"]) @ params["out"][0]  # four outputs for three classes


def places_of(seed, name, visit, epoch, count, batch_size):
    """The order of examples that the learner promises: by seed, task, visit and epoch; a rest is left out."""
    key = jax.random.fold_in(jax.random.key(seed), zlib.crc32(name.encode()))
    key = jax.random.fold_in(jax.random.fold_in(key, visit), epoch)
    padded = max(64, 1 << (count - 1).bit_length())
    noise = np.asarray(jax.random.uniform(key, (padded,)))[:count]
    return np.argsort(noise, kind="stable")[: count // batch_size * batch_size].reshape(-1, batch_size)


def trained(init, apply, recipe, inputs, targets, order, seed):
    """Parameters after an order."""

    @jax.jit
    def gradient(params, x, y):
        def loss(params):
            logs = jax.nn.log_softmax(apply(params, x))
            return -logs[jnp.arange(len(y)), y].mean()

        return jax.grad(loss)(params)

    params, tree = jax.tree.flatten(init(jax.random.key(seed)))
    params = [np.asarray(leaf, np.float64) for leaf in params]
    adam = SimpleNamespace(steps=0, mean=[0.0 * leaf for leaf in params], square=[0.0 * leaf for leaf in params])
    for step, task in enumerate(order):
        visit, count = order[:step].count(task), len(targets[task])
        if recipe.reset:
            adam.steps, adam.mean, adam.square = 0, [0 * leaf for leaf in params], [0 * leaf for leaf in params]
        for epoch in range(recipe.epochs):
            for rows in places_of(seed, f"t{task}", visit, epoch, count, min(recipe.batch_size, count)):
                now = jax.tree.unflatten(tree, [jnp.asarray(leaf, jnp.float32) for leaf in params])
                slopes = jax.tree.leaves(gradient(now, inputs[task][rows], targets[task][rows]))
                adam.steps += 1
                for k, slope in enumerate(np.asarray(leaf, np.float64) for leaf in slopes):
                    adam.mean[k] = recipe.decay_mean * adam.mean[k] + (1 - recipe.decay_mean) * slope
                    adam.square[k] = recipe.decay_square * adam.square[k] + (1 - recipe.decay_square) * slope**2
                    first = adam.mean[k] / (1 - recipe.decay_mean**adam.steps)
                    second = adam.square[k] / (1 - recipe.decay_square**adam.steps)
                    params[k] = params[k] - recipe.learning_rate * first / (np.sqrt(second) + recipe.epsilon)
    return jax.tree.unflatten(tree, [jnp.asarray(leaf, jnp.float32) for leaf in params])


def same(learner, tasks, inputs, targets, orders=ORDERS, seeds=(0, 4)):
    """Compare all orders: as many at once as the learner takes, and one after the other."""
    floats = [np.asarray(x, np.float32) for x in inputs]
    found = learn_orders(learner, tasks, orders, seeds)
    for seed, scores in zip(seeds, found, strict=True):
        for order in orders:
            params = trained(learner.net.init, learner.net.apply, learner.recipe, floats, targets, order, seed)
            model = learner.make(seed)
            for task in order:
                model = learner.fit(model, tasks[task])
            for ours, theirs in zip(jax.tree.leaves(model.batch.params), jax.tree.leaves(params), strict=True):
                np.testing.assert_allclose(ours[model.row], theirs, rtol=2e-3, atol=2e-4)
            for task, (x, y) in enumerate(zip(floats, targets, strict=True)):
                logs = -np.asarray(jax.nn.log_softmax(learner.net.apply(params, x)), np.float64)
                for one in (scores[order][task], score(learner, model, tasks[task])):
                    assert one.loss == pytest.approx(logs[np.arange(len(y)), y].mean(), rel=2e-3, abs=1e-4)
                    assert one.chance == pytest.approx(logs[:, y].mean(), rel=2e-3, abs=1e-4)
                    assert one.accuracy == pytest.approx((logs.argmin(axis=1) == y).mean(), abs=1.01 / len(y))


def learned(net, at_once, **more):
    """Compare a network that is learned so many at once."""
    learner = JaxLearner(net, RECIPE)
    learner.at_once = at_once
    parts = numbers()
    inputs, targets = zip(*parts, strict=True)
    same(learner, as_tasks(parts), inputs, targets, **more)


def test_a_pair_of_functions_several_at_once():
    learned(own_pair(), 2, orders=[(1, 0, 1), (1, 2)], seeds=(4,))


@pytest.mark.slow("training")
@pytest.mark.parametrize("at_once", [1, 3, 1000])
@pytest.mark.parametrize("net", [mlp((3,), 3, (6,)), own_pair()], ids=["mlp", "own pair"])
def test_all_orders_however_many_at_once(net, at_once):
    learned(net, at_once)


@pytest.mark.slow("training")
@pytest.mark.parametrize(
    "recipe", [Recipe(1, 64, 0.02), Recipe(3, 4, 0.01, reset=True), Recipe(2, 5, 0.02, 0.8, 0.99, 1e-3)]
)
def test_recipes(recipe):
    parts = numbers(count=30)
    inputs, targets = zip(*parts, strict=True)
    same(JaxLearner(mlp((3,), 3, (6,)), recipe), as_tasks(parts), inputs, targets, orders=[(1, 0, 1)])


@pytest.mark.slow("training")
def test_tasks_of_different_sizes_in_one_batch():
    """Below and above the padding, and smaller than a batch."""
    parts = [part for count in (70, 9, 130) for part in numbers(count, count)[:1]]
    parts[1] = (parts[1][0][:4], parts[1][1][:4])
    inputs, targets = zip(*parts, strict=True)
    same(JaxLearner(mlp((3,), 3, (6,)), RECIPE), as_tasks(parts), inputs, targets, orders=[(0, 1, 2), (1, 2, 0)])


@pytest.mark.slow("training")
@pytest.mark.parametrize("kind", ["float", "uint8", "lists", "pandas"])
def test_inputs_of_all_kinds(kind):
    parts = numbers()
    inputs, targets = [x for x, _ in parts], [y for _, y in parts]
    read = {"float": np.array, "lists": lambda x: x.tolist()}.get(kind)
    if kind == "pandas":
        read = pytest.importorskip("pandas").DataFrame
    if kind == "uint8":
        given = [np.rint(60 * x + 128).clip(0, 255).astype(np.uint8) for x in inputs]
        inputs, read = [x.astype(np.float32) / 255 for x in given], np.array
        parts = list(zip(given, targets, strict=True))
    same(JaxLearner(mlp((3,), 3, (6,)), RECIPE), as_tasks(parts, read), inputs, targets, orders=[(0, 2, 0)], seeds=(1,))


@pytest.mark.slow("training")
def test_a_convolutional_network_with_a_training_step_of_its_own():
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (len(y), 8, 8, 3)).astype(np.uint8) for _, y in numbers()]
    targets = [y for _, y in numbers()]
    tasks = as_tasks(list(zip(images, targets, strict=True)))
    floats = [x.astype(np.float32) / 255 for x in images]
    recipe = Recipe(epochs=1, batch_size=5, learning_rate=2e-3)
    same(JaxLearner(cnn((8, 8, 3), 3), recipe), tasks, floats, targets, orders=[(0, 1)], seeds=(0,))


@pytest.mark.slow("training")
def test_the_comparison_can_fail():
    parts = numbers()
    inputs, targets = zip(*parts, strict=True)
    with pytest.raises(AssertionError):
        same(JaxLearner(own_pair(), RECIPE), as_tasks(parts), inputs, [y[::-1].copy() for y in targets], [(0,)], (0,))
