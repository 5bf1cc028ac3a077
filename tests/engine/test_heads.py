"""One head for all tasks, one for each task, and all classes in one softmax."""

import itertools

import numpy as np
import pytest

from taskorder.datasets.class_tasks import ClassTask
from taskorder.engine.heads import allowed_outputs, num_outputs, outputs_of
from taskorder.strategies import HEADS

jax = pytest.importorskip("jax")

from taskorder.engine.nets import mlp
from taskorder.engine.pools import make_pool
from taskorder.engine.train import Recipe
from taskorder.engine.tree import Curriculum, train_orders
from taskorder.engine.whole_orders import train_whole_orders

from .reference import Tasks, plain, scores_of

SETS: tuple[ClassTask, ...] = (((4, 0), (1, 0)), ((1, 5, 2), (2, 0, 1)), ((3, 6), (0, 1)))
"""Tasks of two and three classes."""
SIZES = (16, 21, 12)
RECIPE = Recipe(epochs=2)
ORDERS = tuple(itertools.permutations(range(3)))


def pools_of(head, sizes=SIZES):
    """(train, test) of the same examples of the tasks, and a network with outputs for them."""
    rng = np.random.default_rng(0)
    width = num_outputs(SETS, head)
    rows, labels, inputs = [], [], []
    for task, ((classes, _), outputs, size) in enumerate(zip(SETS, outputs_of(SETS, head), sizes, strict=True)):
        targets = np.arange(2 * size) // 2 % len(classes)
        x = rng.normal(size=(2 * size, 6)).astype(np.float32)
        x[np.arange(2 * size), targets] += 2
        x[:, 3 + task] += 1
        inputs.append(x), labels.append(outputs[targets])
        rows.append(np.arange(2 * size) + sum(map(len, rows)))
    inputs = np.concatenate(inputs)
    allowed = np.array(allowed_outputs(SETS, head, width)) if head == "task" else None
    halves = [
        make_pool(inputs, [part[k::2] for part in rows], [part[k::2] for part in labels], allowed=allowed)
        for k in (0, 1)
    ]
    return *halves, mlp((6,), width, hidden=(5,))


@pytest.mark.slow("training")
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("form", [train_orders, train_whole_orders])
def test_the_orders_of_each_head_equal_a_plain_loop(head, form):
    train, test, net = pools_of(head)
    curricula = [Curriculum((0, 1, 2), ORDERS, seed=3), Curriculum((2, 0, 1), ((0, 1),), seed=4)]
    if form is train_orders:
        (outcome, other), work = train_orders(net, train, test, curricula, recipe=RECIPE, head=head)
        assert work.trainings == 15 + 2
    else:
        outcome, other = train_whole_orders(net, train, test, curricula, recipe=RECIPE, head=head)
    for order in (ORDERS[1], ORDERS[4]):
        path = plain(net, Tasks(train, (0, 1, 2), 3), order, RECIPE)
        for step in range(4) if form is train_orders else [3]:
            row = ORDERS.index(order), *((step,) if form is train_orders else ())
            accuracy, loss = scores_of(net, path[step], Tasks(test, (0, 1, 2)))
            assert outcome.loss[row] == pytest.approx(loss, rel=1e-3)
            assert outcome.accuracy[row] == pytest.approx(accuracy)
            among = None
            if head == "class":
                among = {output for task in order[:step] for output in outputs_of(SETS, head)[task].tolist()}
            with np.errstate(all="ignore"):
                seen, _ = scores_of(net, path[step], Tasks(test, (0, 1, 2)), among)
            learned = list(order[:step])
            assert outcome.accuracy_seen[row][learned] == pytest.approx(seen[learned])
            if head == "class":
                assert (np.delete(outcome.accuracy_seen[row], learned) == 0).all()
    # another set in the same batch is trained as alone
    alone = form(net, train, test, curricula[1:], recipe=RECIPE, head=head)
    alone = alone[0][0] if form is train_orders else alone[0]
    np.testing.assert_allclose(other.loss, alone.loss, rtol=1e-5)


@pytest.mark.slow("training")
def test_heads_differ_in_what_is_forgotten():
    """A head of its own keeps the first task better than one that all tasks share."""
    ends = {}
    for head in HEADS:
        train, test, net = pools_of(head)
        outcomes, _ = train_orders(
            net, train, test, [Curriculum((0, 1, 2), ORDERS)], recipe=Recipe(epochs=30), head=head
        )
        first = [outcomes[0].accuracy[row, -1, order[0]] for row, order in enumerate(ORDERS)]
        ends[head] = np.mean(first)
    assert ends["task"] > ends["shared"] + 0.1
    assert ends["class"] < ends["shared"]


def test_an_untrained_head_is_at_chance():
    train, test, net = pools_of("task")
    outcomes, _ = train_orders(
        net, train, test, [Curriculum((0, 1, 2), ((0, 1, 2),))], recipe=Recipe(epochs=30), head="task"
    )
    own, others = outcomes[0].loss[0, 1, 0], outcomes[0].loss[0, 1, 1:]
    assert own < 0.5
    assert (np.abs(others / outcomes[0].chance[0, 1, 1:] - 1) < 0.6).all()
