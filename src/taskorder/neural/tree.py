"""The order tree: train many orders of the same tasks without ever training a shared beginning twice.

Level by level, every distinct beginning of an order is one network; a longer beginning starts from a copy of the state
(parameters and Adam moments) of the one before it. All 120 orders of five tasks take 325 task trainings instead of 600.
Where a level has more networks than fit, it is cut into parts and each part is followed to the end before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from taskorder.checks import Floats
from taskorder.neural.evaluate import evaluate
from taskorder.neural.nets import Net
from taskorder.neural.train import Pool, Recipe, State, start, train_task

Prefix = tuple[int, ...]


@dataclass(frozen=True)
class Curriculum:
    """One set of tasks, one seed, and the orders to learn the tasks in."""

    tasks: tuple[int, ...]
    """Places of the P tasks in the pools."""
    orders: tuple[Prefix, ...]
    """Each is a sequence of positions in `tasks`; any length, repeats allowed."""
    seed: int = 0
    """Draws the initial network and the order of examples, the same for all orders."""


class Outcome(NamedTuple):
    """How P tasks are done: after every visit of K orders, (K, V + 1, P), or by one network, (P,).

    Row s is after s visits, row 0 before training.
    """

    accuracy: Floats
    loss: Floats
    chance: Floats
    """The loss to expect with shuffled labels."""


@dataclass
class Work:
    """What has been done."""

    trainings: int = 0
    """Tasks trained, each by one network."""
    network_steps: int = 0


class _Node(NamedTuple):
    curriculum: int
    prefix: Prefix


@dataclass
class _Run:
    net: Net
    recipe: Recipe
    train: Pool
    test: Pool
    curricula: Sequence[Curriculum]
    max_networks: int
    report: Callable[[Work], object] | None
    work: Work = field(default_factory=Work)
    scores: dict[_Node, Outcome] = field(default_factory=dict)


def train_orders(
    net: Net,
    train: Pool,
    test: Pool,
    curricula: Sequence[Curriculum],
    *,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    max_networks: int = 512,
    report: Callable[[Work], object] | None = None,
) -> tuple[list[Outcome], Work]:
    """Test accuracy and loss of every task after every visit of every order, for each curriculum, and the work it took.

    max_networks: networks in training at the same time; memory holds about three times their states.
    """
    run = _Run(net, recipe, train, test, curricula, max_networks, report)
    roots = [_Node(number, ()) for number in range(len(curricula))]
    for begin in range(0, len(roots), max_networks):
        nodes = roots[begin : begin + max_networks]
        keys = jnp.stack([jax.random.key(curricula[node.curriculum].seed) for node in nodes])
        state = start(net, keys)
        _score(run, nodes, state)
        _grow(run, nodes, state)
    return [_outcome(run, number) for number in range(len(curricula))], run.work


def _grow(run: _Run, nodes: list[_Node], state: State) -> None:
    """Train every beginning that is one visit longer than one of `nodes`, whose networks are in `state`."""
    depth = len(nodes[0].prefix)
    children: dict[_Node, int] = {}
    for row, node in enumerate(nodes):
        for order in run.curricula[node.curriculum].orders:
            if order[:depth] == node.prefix and len(order) > depth:
                children.setdefault(_Node(node.curriculum, order[: depth + 1]), row)
    by_steps: dict[int, list[_Node]] = {}
    for child in children:
        by_steps.setdefault(_num_steps(run, child), []).append(child)
    for num_steps, group in by_steps.items():
        begin = 0
        while begin < len(group):
            part = group[begin : begin + run.max_networks]
            try:
                parents = _padded([children[child] for child in part], run.max_networks)
                grown = _trained(run, part, state.take(jnp.asarray(parents)), num_steps)
                _score(run, part, grown)
            except jax.errors.JaxRuntimeError as problem:
                if "RESOURCE_EXHAUSTED" not in str(problem) or run.max_networks == 1:
                    raise
                run.max_networks = max(1, run.max_networks // 2)
                continue
            begin += len(part)
            run.work.trainings += len(part)
            run.work.network_steps += len(part) * num_steps * run.recipe.epochs
            if run.report is not None:
                run.report(run.work)
            _grow(run, part, grown)


def _num_steps(run: _Run, node: _Node) -> int:
    count = int(run.train.counts[run.curricula[node.curriculum].tasks[node.prefix[-1]]])
    if count < run.recipe.batch_size:
        raise ValueError(f"`batch_size` must be at most the {count} examples of the smallest task.")
    return count // run.recipe.batch_size


def _trained(run: _Run, nodes: list[_Node], state: State, num_steps: int) -> State:
    """The networks after their last task."""
    streams: dict[tuple[int, int, int], int] = {}
    places = []
    for node in nodes:
        curriculum, position = run.curricula[node.curriculum], node.prefix[-1]
        visit = node.prefix.count(position)  # a repeated visit sees the examples in a new order
        key = (curriculum.seed * 1000 + visit - 1, position, curriculum.tasks[position])
        places.append(streams.setdefault(key, len(streams)))
    table = list(streams)
    table += table[-1:] * (_bucket(len(table)) - len(table))
    keys = jnp.stack([jax.random.fold_in(jax.random.key(seed), 1 + position) for seed, position, _ in table])
    tasks = jnp.asarray([task for _, _, task in table])
    chosen = jnp.asarray(_padded(places, run.max_networks))
    trained: State = train_task(run.net, run.recipe, state, run.train, chosen, keys, tasks, jnp.asarray(num_steps))
    return trained


def _score(run: _Run, nodes: list[_Node], state: State) -> None:
    tasks = [run.curricula[node.curriculum].tasks for node in nodes]
    tasks += tasks[-1:] * (len(state.steps) - len(tasks))
    found = [np.asarray(table) for table in evaluate(run.net, state.params, run.test, jnp.asarray(tasks))]
    for row, node in enumerate(nodes):
        run.scores[node] = Outcome(*(table[row] for table in found))


def _outcome(run: _Run, number: int) -> Outcome:
    orders = run.curricula[number].orders
    path = [[run.scores[_Node(number, order[:s])] for s in range(len(order) + 1)] for order in orders]
    return Outcome(*(np.array([[getattr(s, name) for s in row] for row in path]) for name in Outcome._fields))


def _bucket(count: int) -> int:
    """The next power of two: few shapes, so that little is compiled."""
    return 1 << (count - 1).bit_length()


def _padded(values: list[int], most: int) -> list[int]:
    """The values, with the last repeated up to a bucket, but never more than `most`."""
    return values + values[-1:] * (min(_bucket(len(values)), max(most, len(values))) - len(values))
