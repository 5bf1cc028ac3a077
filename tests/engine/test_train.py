"""One network in a batch of many is trained exactly as a plain loop would train it alone."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from taskorder.engine import nets
from taskorder.engine.evaluate import evaluate
from taskorder.engine.losses import cross_entropy
from taskorder.engine.train import Recipe, adam, shuffles, start, train_task

RECIPE = Recipe(epochs=2, batch_size=4)


def plain(net, params, pool, task, key, num_steps, recipe):
    """Adam as in its paper, one network, one step after the other, moments in float64 NumPy."""
    leaves, tree = jax.tree.flatten(params)
    leaves = [np.asarray(leaf, np.float64) for leaf in leaves]
    mean, square = ([np.zeros_like(leaf) for leaf in leaves] for _ in range(2))
    t = 0

    def loss(p, x, y):
        return cross_entropy(net.apply(p, x), y).mean()

    for epoch in range(recipe.epochs):
        order = shuffles(key[None], jnp.asarray([task]), pool, jnp.asarray(epoch), recipe.batch_size)
        for places in np.asarray(order)[:num_steps, 0]:
            rows, labels = pool.rows[task][places], pool.labels[task][places]
            x = np.asarray(pool.inputs[rows], np.float32) / 255
            now = jax.tree.unflatten(tree, [jnp.asarray(leaf, jnp.float32) for leaf in leaves])
            gradient = [np.asarray(g, np.float64) for g in jax.tree.leaves(jax.grad(loss)(now, x, labels))]
            t += 1
            for i, g in enumerate(gradient):
                mean[i] = 0.9 * mean[i] + 0.1 * g
                square[i] = 0.999 * square[i] + 0.001 * g * g
                step = (mean[i] / (1 - 0.9**t)) / (np.sqrt(square[i] / (1 - 0.999**t)) + 1e-8)
                leaves[i] = leaves[i] - 1e-3 * step
    return leaves


@pytest.mark.parametrize("make", [nets.mlp, lambda *a: nets.general_cnn(*a, channels=(4, 6), hidden=16, form="native")])
@pytest.mark.slow("training")
def test_a_batch_equals_a_plain_loop(digits, make):
    train, _ = digits
    net = make((8, 8, 1), 2)
    keys = jax.random.split(jax.random.key(1), 3)
    state = start(net, keys)
    first = [jax.tree.map(lambda leaf, i=i: leaf[i], state.params) for i in range(3)]
    tasks, streams = jnp.asarray([0, 3]), jnp.asarray([0, 1, 1])
    done = train_task(net, RECIPE, state, train, streams, keys[:2], tasks, jnp.asarray(6))
    assert done.steps.tolist() == [12, 12, 12]
    for i, stream in enumerate(streams.tolist()):
        wanted = plain(net, first[i], train, int(tasks[stream]), keys[stream], 6, RECIPE)
        for ours, reference in zip(jax.tree.leaves(done.params), wanted, strict=True):
            np.testing.assert_allclose(ours[i], reference, rtol=2e-3, atol=2e-5)


@pytest.mark.slow("training")
def test_adam_decreases_the_loss(digits):
    train, test = digits
    net = nets.mlp((8, 8, 1), 2)
    state = start(net, jax.random.split(jax.random.key(0), 2))
    before = evaluate(net, state.params, test, jnp.asarray([[1], [2]]))
    done = train_task(
        net, Recipe(epochs=8), state, train, jnp.asarray([0, 1]), jax.random.split(jax.random.key(5)),
        jnp.asarray([1, 2]), jnp.asarray(15),
    )  # fmt: skip
    after = evaluate(net, done.params, test, jnp.asarray([[1], [2]]))
    assert (np.asarray(after.loss) < 0.3 * np.asarray(before.loss)).all()
    assert (np.asarray(after.accuracy) > 0.9).all()


def test_shuffles_are_permutations_that_depend_on_stream_and_epoch_alone(digits):
    train, _ = digits
    keys = jax.random.split(jax.random.key(0), 3)
    tasks = jnp.asarray([0, 4, 0])

    def drawn(chosen, epoch):
        chosen = jnp.asarray(chosen)
        return np.asarray(shuffles(keys[chosen], tasks[chosen], train, jnp.asarray(epoch), 4)).swapaxes(0, 1)

    table = drawn([0, 1, 2], 0).reshape(3, -1)
    assert table.shape == (3, 60)
    assert sorted(table[0].tolist()) == list(range(60))
    assert sorted(table[1, :41].tolist()) == list(range(41))  # a smaller task has its own examples first
    np.testing.assert_array_equal(drawn([1], 0).reshape(1, -1), table[1:2])
    assert not np.array_equal(drawn([0], 1).ravel(), table[0])
    assert not np.array_equal(table[0], table[2])


def test_evaluation_equals_a_plain_computation(digits, monkeypatch):
    import taskorder.engine.evaluate as module

    _, test = digits
    net = nets.mlp((8, 8, 1), 2)
    state = start(net, jax.random.split(jax.random.key(3), 2))
    tasks = jnp.asarray([[0, 1, 4], [2, 2, 3]])
    evaluation = evaluate(net, state.params, test, tasks)
    for i in range(2):
        params = jax.tree.map(lambda leaf, i=i: leaf[i], state.params)
        for q in range(3):
            task = int(tasks[i, q])
            count = int(test.counts[task])
            rows, labels = test.rows[task][:count], np.asarray(test.labels[task][:count])
            logits = np.asarray(net.apply(params, jnp.asarray(test.inputs[rows], jnp.float32) / 255), np.float64)
            losses = np.log(np.exp(logits).sum(axis=1))[:, None] - logits
            assert float(evaluation.accuracy[i, q]) == pytest.approx((logits.argmax(axis=1) == labels).mean())
            assert float(evaluation.loss[i, q]) == pytest.approx(losses[np.arange(count), labels].mean(), rel=1e-4)
            rng = np.random.default_rng(0)
            shuffled = [losses[np.arange(count), rng.permutation(labels)].mean() for _ in range(4000)]
            assert float(evaluation.chance[i, q]) == pytest.approx(np.mean(shuffled), abs=5 * np.std(shuffled) / 60)
    monkeypatch.setattr(module, "IMAGES_AT_ONCE", 6)  # three examples at a time, the last chunk not full
    module._means.clear_cache()
    again = evaluate(net, state.params, test, tasks)
    np.testing.assert_allclose(again.loss, evaluation.loss, rtol=1e-5)
    np.testing.assert_allclose(again.accuracy, evaluation.accuracy, rtol=1e-6)
    module._means.clear_cache()


@pytest.mark.slow("training")
def test_adam_keeps_one_count_for_each_network():
    net = nets.mlp((2,), 2, hidden=(3,))
    state = start(net, jax.random.split(jax.random.key(0)))
    state = state._replace(steps=jnp.asarray([0, 100]))
    gradient = jax.tree.map(jnp.ones_like, state.params)
    after = adam(Recipe(), state, gradient)
    assert after.steps.tolist() == [1, 101]
    pairs = zip(jax.tree.leaves(after.params), jax.tree.leaves(state.params), strict=True)
    moved = [np.abs(np.asarray(a - b)).max() for a, b in pairs]
    first = jax.tree.leaves(after.params)[0][0] - jax.tree.leaves(state.params)[0][0]
    np.testing.assert_allclose(first, -1e-3, rtol=1e-3)  # the bias is corrected on the first step
    assert max(moved) < 2e-3
