"""Tasks of different sizes: specs, the order tree and transfer tables."""

import itertools

import numpy as np
import pytest

from taskorder.datasets.class_tasks import size_shares
from taskorder.runs.settings import Config, config_of
from taskorder.runs.specs import RunSpecs

jax = pytest.importorskip("jax")
pytest.importorskip("sklearn")

import jax.numpy as jnp

from taskorder.datasets.class_tasks import lookup_table, task_indices
from taskorder.engine.estimates import task_pool
from taskorder.runs.training import dataset_of, network, run_batch, task_set
from taskorder.stratified import stratified_share

SETTINGS = {"num_sets": 1, "first_set": 2, "num_tasks": 3, "epochs": 2, "fraction": 0.5}


def test_even_sizes_leave_specs_as_they_were():
    (spec,) = RunSpecs(Config(num_sets=1, uneven=1.0))
    assert spec.digest == "d690c5aa224b7688568b9f888af553ed6d8413b7671d6f098de9216d705d49ba"
    assert "uneven" not in spec.params
    (other,) = RunSpecs(Config(num_sets=1, uneven=100))
    assert other.params["uneven"] == 100
    assert other.digest != spec.digest


def test_shares_span_the_ratio():
    shares = size_shares(5, 100, seed=3)
    assert np.sort(shares) == pytest.approx([0.01, 10**-1.5, 0.1, 10**-0.5, 1])
    assert not np.array_equal(shares, size_shares(5, 100, seed=4))
    assert size_shares(4, 1, seed=0).tolist() == [1, 1, 1, 1]
    assert size_shares(1, 100, seed=0).tolist() == [1]


@pytest.mark.parametrize("uneven", [0.5, float("nan"), float("inf")])
def test_bad_ratios_are_refused(uneven):
    with pytest.raises(ValueError, match="`uneven` must be from 1"):
        config_of({"uneven": uneven})


@pytest.mark.slow("training")
def test_all_orders_equal_a_plain_loop():
    """Prefixes of orders and single tasks, against one network after another, trained on its own examples only."""
    (spec,) = RunSpecs(config_of({**SETTINGS, "uneven": 4, "similarities": ["test"]}))
    (result,) = run_batch([spec])
    losses = dict(zip(result["beginnings"], result["loss"], strict=True))
    tasks, test = plain_tasks(spec.params)
    assert sorted(len(labels) for _, labels in tasks) == pytest.approx([36, 72, 144], rel=0.1)
    for order in itertools.permutations(range(3), 2):
        path = plain_losses(spec.params, tasks, test, order)
        assert losses[".".join(map(str, order))] == pytest.approx(path[1], rel=1e-3, abs=1e-4)
        assert result["similarities"]["test"]["loss"][order[0]] == pytest.approx(path[0], rel=1e-3, abs=1e-4)


def plain_tasks(params):
    """Training and test examples of each task."""
    data = dataset_of("digits")
    drawn = task_set(data, params, params["set"])
    shares = size_shares(3, params["uneven"], params["set"])
    train, test = [], []
    for index, task in enumerate(drawn.tasks):
        table = lookup_table(task, data.num_classes)
        rows = task_indices(data.train_labels, task)
        part = stratified_share(
            data.train_labels[rows], params["fraction"] * shares[index], params["set"] * 100 + index
        )
        train.append((data.train_inputs[rows[part]], table[data.train_labels[rows[part]]]))
        rows = task_indices(data.test_labels, task)
        test.append((data.test_inputs[rows], table[data.test_labels[rows]]))
    return train, test


def plain_losses(params, tasks, test, order):
    """The loss of every task after each step of an order, by one network at a time."""
    net = network("mlp", tasks[0][0].shape[1:], 2)
    longest, seed = max(len(labels) for _, labels in tasks), params["set"] * 1000
    weights = net.init(jax.random.key(seed))
    first = second = jax.tree.map(jnp.zeros_like, weights)

    def loss(weights, x, y):
        x = jnp.asarray(x, jnp.float32) / (255 if x.dtype == np.uint8 else 1)
        return -jnp.take_along_axis(jax.nn.log_softmax(net.apply(weights, x)), jnp.asarray(y)[:, None], axis=1).mean()

    gradient, steps, path = jax.jit(jax.grad(loss)), 0, []
    for task in order:
        x, y = tasks[task]
        key = jax.random.fold_in(jax.random.key(seed * 1000), 1 + task)
        for epoch in range(params["epochs"]):
            noise = np.asarray(jax.random.uniform(jax.random.fold_in(key, epoch), (longest,)))[: len(y)]
            shuffled = np.argsort(noise, kind="stable")
            for begin in range(0, len(y) // 4 * 4, 4):
                batch, steps = shuffled[begin : begin + 4], steps + 1
                g = gradient(weights, x[batch], y[batch])
                first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, g)
                second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, g)
                scale = 1e-3 / (1 - 0.9**steps)
                root = 1 - 0.999**steps
                weights = jax.tree.map(
                    lambda w, m, v, scale=scale, root=root: w - scale * m / (jnp.sqrt(v / root) + 1e-8),
                    weights, first, second,
                )  # fmt: skip
        path.append([float(loss(weights, *examples)) for examples in test])
    return path


def test_pools_of_even_sizes_are_the_same_and_others_are_cut():
    (spec,) = RunSpecs(config_of(SETTINGS))
    data = dataset_of("digits")
    sets = [task_set(data, spec.params, number) for number in (2, 5)]
    before, even, uneven = (
        task_pool(data, sets, share=0.5, **option) for option in ({}, {"uneven": 1.0}, {"uneven": 4})
    )
    for old, new in zip(before, even, strict=True):
        assert np.array_equal(old, new)
    ratio = np.asarray(uneven.counts) / np.asarray(before.counts)
    wanted = np.concatenate([size_shares(3, 4, number) for number in (2, 5)])
    assert ratio == pytest.approx(wanted, abs=0.01)
