import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from taskorder.engine.losses import cross_entropy
from taskorder.engine.nets import Net, mlp
from taskorder.engine.pools import make_pool
from taskorder.engine.single import CURVATURE, single_tasks, transfer_tables
from taskorder.engine.train import Recipe
from taskorder.engine.tree import train_orders, walk
from taskorder.stratified import stratified_share
from taskorder.tables.loss_ratios import loss_ratios, similarity_from_loss_ratios

RECIPE = Recipe(epochs=2)
NET = mlp((8, 8, 1), 2, hidden=(8,))
TASKS = (1, 4, 0)  # task 4 has fewer examples


def tables(net, pool, /, seed=0, recipe=RECIPE, **pools):
    """What `transfer_tables` measures of the networks of TASKS."""
    return transfer_tables(net, pool, [single_tasks(TASKS, seed)], pools, recipe=recipe)[0]


@pytest.mark.slow("training")
def test_single_networks_are_the_first_level_of_the_tree(digits):
    train, test = digits
    measured = tables(NET, train, 5, test=test)["test"]
    ((outcome,), _) = train_orders(NET, train, test, [single_tasks(TASKS, 5)], recipe=RECIPE)
    np.testing.assert_allclose(measured["loss"], outcome.loss[:, 1], rtol=1e-5)
    np.testing.assert_allclose(measured["chance"], outcome.chance[:, 1], rtol=1e-5)


def test_a_network_knows_its_own_task_better_than_others(digits):
    train, test = digits
    net = mlp((8, 8, 1), 2)
    measured = tables(net, train, recipe=Recipe(epochs=20), train=train, test=test)
    for name in ("train", "test"):
        ratios = loss_ratios(measured[name]["loss"], measured[name]["chance"])
        assert (np.diagonal(ratios) < 0.35).all()
        others = (ratios.sum(axis=1) - np.diagonal(ratios)) / 2
        assert (np.diagonal(ratios) < 0.7 * others).all()
        similarity = similarity_from_loss_ratios(ratios)
        assert (similarity == similarity.T).all()
        assert (similarity[~np.eye(3, dtype=bool)] < 1).all()


@pytest.mark.slow("training")
def test_curvature_equals_the_whole_hessian(digits):
    train, _ = digits
    net = mlp((8, 8, 1), 2, hidden=(2,))
    single = [single_tasks(TASKS)]
    (measured,) = transfer_tables(net, train, single, {}, curvature=train, recipe=RECIPE)
    curvature = measured[CURVATURE]["value"]
    networks = {}

    def keep(nodes, state):
        networks.update(
            {node.prefix: jax.tree.map(lambda leaf, i=i: leaf[i], state.params) for i, node in enumerate(nodes)}
        )

    walk(net, train, single, keep, recipe=RECIPE)
    for a, own in enumerate(TASKS):
        flat, unflatten = ravel_pytree(networks[a,])

        def loss(vector, task, unflatten=unflatten):
            rows = train.rows[task][: int(train.counts[task])]
            labels = train.labels[task][: int(train.counts[task])]
            x = jnp.asarray(train.inputs[rows], jnp.float32) / 255
            return cross_entropy(net.apply(unflatten(vector), x), labels).mean()

        H = np.asarray(jax.hessian(loss)(flat, own))
        for b, other in enumerate(TASKS):
            g = np.asarray(jax.grad(loss)(flat, other))
            assert curvature[a, b] == pytest.approx(-g @ H @ g, rel=2e-3, abs=1e-7)


def test_a_user_may_bring_another_net(digits):
    train, test = digits

    def init(key):
        return {"w": 0.01 * jax.random.normal(key, (64, 2))}

    linear = Net(init, lambda p, x: x.reshape(len(x), -1) @ p["w"])
    measured = tables(linear, train, test=test)["test"]
    assert (np.diagonal(measured["loss"]) < np.diagonal(measured["chance"])).all()


def test_pools_pad_with_their_own_examples():
    inputs = np.arange(10, dtype=np.uint8).reshape(10, 1)
    pool = make_pool(inputs, [np.array([1, 2, 3]), np.array([7])], [np.array([0, 1, 0]), np.array([1])])
    assert pool.counts.tolist() == [3, 1]
    assert pool.rows.tolist() == [[1, 2, 3], [7, 7, 7]]
    assert pool.labels[1].tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="at least one example"):
        make_pool(inputs, [np.array([], int)], [np.array([], int)])


def test_a_share_is_stratified():
    labels = np.array([0] * 200 + [1] * 50)
    places = stratified_share(labels, 0.1, seed=1)
    assert np.bincount(labels[places]).tolist() == [20, 5]
    assert np.bincount(labels[stratified_share(labels, 0.001, seed=1)]).tolist() == [1, 1]
    assert not np.array_equal(places, stratified_share(labels, 0.1, seed=2))


@pytest.mark.parametrize(
    ("losses", "chance", "message"),
    [
        ([[0.1, 0.2], [0.3, 0.4]], [[1.0]], "`chance` must be 2 x 2"),
        ([[-0.1]], [[1.0]], "`losses` must be at least 0"),
        ([[0.1]], [[0.0]], "`chance` must be above 0"),
    ],
)
def test_bad_tables_are_named(losses, chance, message):
    with pytest.raises(ValueError, match=message):
        loss_ratios(losses, chance)
