"""Numbers and tokens: training, testing and chance by the same code as classes; and features that stay fixed."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from taskorder.engine.evaluate import evaluate
from taskorder.engine.losses import NextToken, SquaredError
from taskorder.engine.nets import Net, mlp
from taskorder.engine.pools import frozen_features, make_pool
from taskorder.engine.train import Recipe
from taskorder.engine.tree import Curriculum, train_orders
from taskorder.engine.whole_orders import train_whole_orders
from taskorder.strategies import EWC, Distill

from .reference import Adam, Tasks

RECIPE = Recipe(epochs=3, learning_rate=0.01)
TOKENS, LENGTH, WIDTH = 7, 6, 4
NUMBERS = replace(mlp((3,), 1, hidden=(8,)), loss=SquaredError())


def draw_tokens(key):
    """An embedding and a dense layer."""
    one, other = jax.random.split(key)
    return {"embedding": jax.random.normal(one, (TOKENS, WIDTH)), "dense": jax.random.normal(other, (WIDTH, TOKENS))}


def token_logits(params, x):
    """What follows each token, from this token alone."""
    return params["embedding"][x] @ params["dense"]


SEQUENCES = Net(draw_tokens, token_logits, loss=NextToken())


def numbers_pool():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(60, 3)).astype(np.float32)
    rows = [np.arange(0, 20), np.arange(20, 45), np.arange(45, 60)]
    labels = [inputs[part] @ rng.normal(size=3).astype(np.float32) + task for task, part in enumerate(rows)]
    return make_pool(inputs, rows, labels)


def tokens_pool(kind=np.int32):
    """Every task has a cycle of its own."""
    rng = np.random.default_rng(0)
    steps = np.repeat([1, 2, 3], [20, 25, 15])
    inputs = (rng.integers(0, TOKENS, 60)[:, None] + steps[:, None] * np.arange(LENGTH)) % TOKENS
    rows = [np.arange(0, 20), np.arange(20, 45), np.arange(45, 60)]
    return make_pool(inputs.astype(kind), rows, [np.zeros(len(part), int) for part in rows])


def plain_loss(net, params, x, y):
    outputs = net.apply(params, jnp.asarray(x))
    if net is NUMBERS:
        return ((outputs[:, 0] - y) ** 2).mean()
    logs = outputs - jax.scipy.special.logsumexp(outputs, axis=2, keepdims=True)
    each = [logs[:, place, :][jnp.arange(len(x)), x[:, place + 1]] for place in range(x.shape[1] - 1)]
    return -jnp.stack(each).mean()


CASES = pytest.mark.parametrize(("net", "pool"), [(NUMBERS, numbers_pool()), (SEQUENCES, tokens_pool())],
                                ids=["numbers", "tokens"])  # fmt: skip


@pytest.mark.slow("training")
@CASES
def test_orders_equal_a_plain_loop(net, pool):
    curricula = [Curriculum((0, 1, 2), tuple(itertools.permutations(range(3))), seed=2)]
    (outcome,), _ = train_orders(net, pool, pool, curricula, recipe=RECIPE)
    tasks, order = Tasks(pool, (0, 1, 2), 2), (1, 2, 0)
    adam = Adam(net.init(jax.random.key(2)), RECIPE.learning_rate)
    gradient = jax.jit(jax.grad(lambda p, x, y: plain_loss(net, p, x, y)))
    for step, position in enumerate(order, 1):
        x, y = plain_examples(pool, position)
        for epoch in range(RECIPE.epochs):
            for places in tasks.batches(position, epoch, RECIPE.batch_size):
                adam.step(gradient(adam.params, x[places], y[places]))
        losses = [float(plain_loss(net, adam.params, *plain_examples(pool, task))) for task in range(3)]
        assert outcome.loss[0, step] != pytest.approx(losses, rel=5e-4)  # another order
        assert outcome.loss[3, step] == pytest.approx(losses, rel=5e-4)
    recipe = replace(RECIPE, strategy=EWC(10.0) if net is NUMBERS else Distill(20.0))
    (other,), _ = train_orders(net, pool, pool, curricula, recipe=recipe)
    (whole,) = train_whole_orders(net, pool, pool, curricula, recipe=recipe)
    np.testing.assert_allclose(whole.loss, other.loss[:, -1], rtol=1e-3)
    assert np.abs(other.loss[:, -1] - outcome.loss[:, -1]).max() > 0.01


def plain_examples(pool, task):
    rows = np.asarray(pool.rows)[task, : int(pool.counts[task])]
    return np.asarray(pool.inputs)[rows], np.asarray(pool.labels)[task, : len(rows)]


@CASES
def test_chance_is_the_mean_loss_with_shuffled_labels(net, pool):
    params = jax.tree.map(lambda leaf: leaf[None], net.init(jax.random.key(4)))
    found = evaluate(net, params, pool, jnp.asarray([[0, 1, 2]]))
    rng = np.random.default_rng(0)
    for task in range(3):
        x, y = plain_examples(pool, task)
        one = jax.tree.map(lambda leaf: leaf[0], params)
        assert float(found.loss[0, task]) == pytest.approx(float(plain_loss(net, one, x, y)), rel=1e-5)
        outputs = np.asarray(net.apply(one, jnp.asarray(x)))
        if net is NUMBERS:
            shuffled = [((outputs[:, 0] - rng.permutation(y)) ** 2).mean() for _ in range(3000)]
            assert float(found.accuracy[0, task]) == 0
        else:
            logs = np.asarray(jax.nn.log_softmax(outputs))[:, :-1].reshape(-1, TOKENS)
            followers = x[:, 1:].ravel()
            shuffled = [-logs[np.arange(len(logs)), rng.permutation(followers)].mean() for _ in range(3000)]
            right = (outputs[:, :-1].argmax(axis=2) == x[:, 1:]).mean()
            assert float(found.accuracy[0, task]) == pytest.approx(right)
        wanted, noise = np.mean(shuffled), 5 * np.std(shuffled) / np.sqrt(3000)
        assert float(found.chance[0, task]) == pytest.approx(wanted, abs=noise)


def test_bytes_are_tokens_and_not_images():
    params = jax.tree.map(lambda leaf: leaf[None], SEQUENCES.init(jax.random.key(4)))
    tasks = jnp.asarray([[0, 1, 2]])
    of_bytes, of_numbers = (evaluate(SEQUENCES, params, tokens_pool(kind), tasks) for kind in (np.uint8, np.int32))
    np.testing.assert_array_equal(of_bytes.loss, of_numbers.loss)


def test_a_pickled_net_keeps_its_loss():
    assert pickle.loads(pickle.dumps(NUMBERS)).loss == SquaredError()
    assert pickle.loads(pickle.dumps(SEQUENCES)) == SEQUENCES


def test_features_that_stay_fixed_are_computed_once(monkeypatch):
    """One evaluation for each example that some task has; training and testing see what a whole network would."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (50, 4, 4, 1), dtype=np.uint8)
    rows = [np.arange(0, 20), np.arange(10, 30), np.arange(30, 42)]  # ten examples are in two tasks, eight in none
    pool = make_pool(images, rows, [np.arange(len(part)) % 2 for part in rows])
    weights = jnp.asarray(rng.normal(size=(16, 5)).astype(np.float32))
    seen = []

    def features(x):
        jax.debug.callback(lambda count: seen.append(int(count)), len(x))
        return jnp.tanh(x.reshape(len(x), -1) @ weights)

    monkeypatch.setattr("taskorder.engine.pools.FEATURES_AT_ONCE", 16)
    fixed = frozen_features(features, pool)
    jax.effects_barrier()
    assert sum(seen) == 48  # 42 examples in three equal parts
    assert fixed.inputs.shape == (42, 5)
    seen.clear()
    top = mlp((5,), 2, hidden=(4,))
    whole = Net(top.init, lambda params, x: top.apply(params, jnp.tanh(x.reshape(len(x), -1) @ weights)))
    curricula = [Curriculum((0, 1, 2), ((0, 1, 2), (2, 0, 1)))]
    (ours,), _ = train_orders(top, fixed, fixed, curricula, recipe=RECIPE)
    (theirs,), _ = train_orders(whole, pool, pool, curricula, recipe=RECIPE)
    assert seen == []
    np.testing.assert_allclose(ours.loss, theirs.loss, rtol=1e-4)
