"""The order tree: the same numbers as orders trained alone, and never a beginning twice."""

import itertools

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from taskorder.engine import tree
from taskorder.engine.nets import mlp
from taskorder.engine.train import Recipe
from taskorder.engine.tree import Curriculum, train_orders

RECIPE = Recipe(epochs=1)
NET = mlp((8, 8, 1), 2, hidden=(16,))
ALL = tuple(itertools.permutations(range(4)))


@pytest.mark.slow("training")
def test_all_orders_equal_orders_alone(digits):
    curricula = [Curriculum((0, 1, 2, 4), ALL, seed=3), Curriculum((3, 2, 1, 0), ALL[5:9], seed=8)]
    together, work = train_orders(NET, *digits, curricula, recipe=RECIPE)
    assert together[0].accuracy.shape == (24, 5, 4)
    assert together[1].loss.shape == (4, 5, 4)
    prefixes = {order[:k] for order in ALL for k in range(1, 5)}
    assert len(prefixes) == 64
    some = {order[:k] for order in ALL[5:9] for k in range(1, 5)}
    assert work.trainings == len(prefixes) + len(some)
    for number, place in ((0, 7), (0, 23), (1, 2)):
        curriculum = curricula[number]
        alone, _ = train_orders(
            NET,
            *digits,
            [Curriculum(curriculum.tasks, curriculum.orders[place : place + 1], curriculum.seed)],
            recipe=RECIPE,
        )
        np.testing.assert_allclose(alone[0].loss[0], together[number].loss[place], rtol=2e-5)
        np.testing.assert_allclose(alone[0].accuracy[0], together[number].accuracy[place], atol=1e-6)


@pytest.mark.slow("training")
def test_five_tasks_take_325_trainings(digits):
    orders = tuple(itertools.permutations(range(5)))
    _, work = train_orders(NET, *digits, [Curriculum((0, 1, 2, 3, 4), orders)], recipe=RECIPE)
    assert work.trainings == 325
    steps = {task: (41 if task == 4 else 60) // 4 for task in range(5)}
    prefixes = {order[:k] for order in orders for k in range(1, 6)}
    assert work.network_steps == sum(steps[prefix[-1]] for prefix in prefixes)


@pytest.mark.slow("training")
def test_few_networks_at_a_time_give_the_same(digits):
    curricula = [Curriculum((0, 1, 2, 4), ALL[:9], seed=3)]
    many, _ = train_orders(NET, *digits, curricula, recipe=RECIPE)
    few, work = train_orders(NET, *digits, curricula, recipe=RECIPE, max_networks=3)
    np.testing.assert_allclose(few[0].loss, many[0].loss, rtol=2e-5)
    assert work.trainings == len({order[:k] for order in ALL[:9] for k in range(1, 5)})


def test_a_full_device_halves_the_batch_and_goes_on(digits, monkeypatch):
    sizes = []
    real = tree._trained

    def small_device(run, nodes, state, *steps):
        sizes.append(len(nodes))
        if len(nodes) > 4:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory while trying to allocate")
        return real(run, nodes, state, *steps)

    curricula = [Curriculum((0, 1, 2, 4), ALL, seed=3)]
    wanted, _ = train_orders(NET, *digits, curricula, recipe=RECIPE)
    monkeypatch.setattr(tree, "_trained", small_device)
    outcomes, work = train_orders(NET, *digits, curricula, recipe=RECIPE, max_networks=64)
    assert max(sizes) > 4
    assert work.trainings == 64
    np.testing.assert_allclose(outcomes[0].loss, wanted[0].loss, rtol=2e-5)


def test_other_failures_are_not_hidden(digits, monkeypatch):
    def broken(*ignored):
        raise jax.errors.JaxRuntimeError("INTERNAL: broken")

    monkeypatch.setattr(tree, "_trained", broken)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        train_orders(NET, *digits, [Curriculum((0, 1), ((0, 1),))], recipe=RECIPE)


def test_repeated_visits_see_new_shuffles_and_keep_adam(digits):
    once, _ = train_orders(NET, *digits, [Curriculum((0, 1), ((0, 1, 0),))], recipe=RECIPE)
    assert once[0].accuracy.shape == (1, 4, 2)
    assert once[0].loss[0, 3, 0] < once[0].loss[0, 2, 0]


def test_seeds_and_orders_do_not_mix(digits):
    """The first task of an order does not depend on what follows; another seed changes it."""
    a, b = (Curriculum((0, 1), ((0, 1), (1, 0)), seed=s) for s in (0, 1))
    outcomes, _ = train_orders(NET, *digits, [a, b, Curriculum((0, 1), ((0,), (1,)), seed=0)], recipe=RECIPE)
    np.testing.assert_allclose(outcomes[0].loss[0, 1], outcomes[2].loss[0, 1], rtol=1e-6)
    assert not np.allclose(outcomes[0].loss[0, 0], outcomes[1].loss[0, 0], rtol=1e-3)


def test_a_batch_larger_than_a_task_is_refused(digits):
    with pytest.raises(ValueError, match="`batch_size` must be at most the 41 examples"):
        train_orders(NET, *digits, [Curriculum((4,), ((0,),))], recipe=Recipe(batch_size=64))
