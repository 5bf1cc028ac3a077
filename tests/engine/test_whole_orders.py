"""Whole orders, one network each, end as they do in the tree of prefixes."""

import itertools

import numpy as np
import pytest

pytest.importorskip("jax")

from taskorder.engine.nets import mlp
from taskorder.engine.pools import make_pool
from taskorder.engine.train import Recipe
from taskorder.engine.tree import Curriculum, train_orders
from taskorder.engine.whole_orders import SPAN, train_whole_orders

RECIPE = Recipe(epochs=2, batch_size=4)
ORDERS = ((0, 1, 2), (2, 0, 1), (1, 2, 0))


def pools(sizes):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(sum(sizes), 3)).astype(np.float32)
    ends = np.cumsum((0, *sizes))
    rows = [np.arange(begin, end) for begin, end in itertools.pairwise(ends)]
    labels = [(inputs[part, task % 3] > 0).astype(np.int64) for task, part in enumerate(rows)]
    return make_pool(inputs, rows, labels)


@pytest.mark.parametrize("sizes", [(16, 16, 16), (8, 40, 20)], ids=["even", "uneven"])
def test_the_ends_are_those_of_the_tree(sizes):
    pool, net = pools((*sizes, *sizes)), mlp((3,), 2, hidden=(8,))
    curricula = [Curriculum((0, 1, 2), ORDERS, seed=1), Curriculum((3, 4, 5), ORDERS[:2], seed=7)]
    whole = train_whole_orders(net, pool, pool, curricula, recipe=RECIPE, max_networks=4)
    paths, _ = train_orders(net, pool, pool, curricula, recipe=RECIPE)
    for end, path in zip(whole, paths, strict=True):
        for kind, table in end._asdict().items():
            np.testing.assert_allclose(table, getattr(path, kind)[:, -1], rtol=1e-4, atol=1e-5)
    assert np.ptp(whole[0].loss[:, 0]) > 1e-3  # orders do differ


def test_long_orders_go_on_over_spans():
    pool, net = pools((4 * SPAN, 400)), mlp((3,), 2, hidden=())
    curricula = [Curriculum((0, 1), ((0, 1), (1, 0)))]
    steps = []
    recipe = Recipe(epochs=1, batch_size=4)
    (whole,) = train_whole_orders(net, pool, pool, curricula, recipe=recipe, report=steps.append)
    (path,), _ = train_orders(net, pool, pool, curricula, recipe=recipe)
    np.testing.assert_allclose(whole.loss, path.loss[:, -1], rtol=1e-4)
    assert steps == [2 * SPAN, 2 * (SPAN + 100)]


def test_what_it_cannot_do_is_refused():
    pool, net = pools((8, 2)), mlp((3,), 2, hidden=())
    curricula = [Curriculum((0, 1), ((0, 1),))]
    with pytest.raises(ValueError, match="`reset` must be False"):
        train_whole_orders(net, pool, pool, curricula, recipe=Recipe(reset=True))
    with pytest.raises(ValueError, match="`batch_size` must be at most the 2 examples"):
        train_whole_orders(net, pool, pool, curricula, recipe=RECIPE)
