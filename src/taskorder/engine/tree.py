"""Train many orders of the same tasks without ever training a shared prefix twice.

Level by level, every distinct prefix of an order is one network; a longer prefix starts from a copy of the state
(parameters and Adam moments) of the one before it. All 120 orders of five tasks take 325 task trainings instead of 600.
Where a level has more networks than fit, it is cut into parts and each part is followed to the end before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.engine.evaluate import evaluate
from taskorder.engine.nets import Net
from taskorder.engine.train import Pool, Recipe, State, start, train_task
from taskorder.prefixes import Prefix, PrefixTree


@dataclass(frozen=True)
class Curriculum:
    """One set of tasks, one seed, and the orders to learn the tasks in."""

    tasks: tuple[int, ...]
    """Rows of the P tasks in the pools."""
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


class Branch(NamedTuple):
    """A prefix of an order of one of the curricula: one network."""

    curriculum: int
    prefix: Prefix


Visit = Callable[[Sequence[Branch], State], None]
"""Called with the networks of some branches as soon as they are trained. There may be more networks than branches: the
last is repeated. It must copy what it needs later: the walk overwrites the networks."""


@dataclass
class _Walk:
    net: Net
    train: Pool
    curricula: Sequence[Curriculum]
    visit: Visit
    recipe: Recipe
    max_networks: int
    work: Work
    report: Callable[[Work], object] | None
    counts: Ints
    trees: list[PrefixTree]


def train_orders(
    net: Net,
    train: Pool,
    test: Pool,
    curricula: Sequence[Curriculum],
    *,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    max_networks: int = 512,
    work: Work | None = None,
    report: Callable[[Work], object] | None = None,
) -> tuple[list[Outcome], Work]:
    """Test accuracy and loss of every task after every visit of every order, for each curriculum, and the work it took.

    max_networks: networks in training at the same time; memory holds about three times their states.
    """
    scores: dict[Branch, Outcome] = {}

    def score(branches: Sequence[Branch], state: State) -> None:
        tables = [
            np.asarray(table) for table in evaluate(net, state.params, test, tasks_of(curricula, branches, state))
        ]
        for row, branch in enumerate(branches):
            scores[branch] = Outcome(*(table[row] for table in tables))

    work = work or Work()
    walk(net, train, curricula, score, recipe=recipe, max_networks=max_networks, work=work, report=report)
    return [_outcome(scores, number, curriculum.orders) for number, curriculum in enumerate(curricula)], work


def walk(
    net: Net,
    train: Pool,
    curricula: Sequence[Curriculum],
    visit: Visit,
    *,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    max_networks: int = 512,
    work: Work | None = None,
    report: Callable[[Work], object] | None = None,
) -> None:
    """Train every distinct prefix of the orders once, and show it to `visit`; the empty ones come first."""
    counts, trees = np.asarray(train.counts), [PrefixTree(curriculum.orders) for curriculum in curricula]
    run = _Walk(net, train, curricula, visit, recipe, max_networks, work or Work(), report, counts, trees)
    roots = [Branch(number, ()) for number in range(len(curricula))]
    for begin in range(0, len(roots), max_networks):
        branches = roots[begin : begin + max_networks]
        keys = jnp.stack([jax.random.key(curricula[branch.curriculum].seed) for branch in branches])
        state = start(net, keys)
        visit(branches, state)
        _grow(run, branches, state)


def tasks_of(curricula: Sequence[Curriculum], branches: Sequence[Branch], state: State) -> Array:
    """(N, P) rows in the pools of the tasks that each network of `state` is about."""
    tasks = [curricula[branch.curriculum].tasks for branch in branches]
    return jnp.asarray(tasks + tasks[-1:] * (len(state.steps) - len(tasks)))


def _grow(run: _Walk, branches: list[Branch], state: State) -> None:
    """Train every prefix that is one visit longer than one of `branches`, whose networks are in `state`."""
    parents: dict[Branch, int] = {}
    by_steps: dict[int, list[Branch]] = {}
    for row, branch in enumerate(branches):
        for prefix in run.trees[branch.curriculum].children[branch.prefix]:
            child = Branch(branch.curriculum, prefix)
            parents[child] = row
            by_steps.setdefault(_num_steps(run, child), []).append(child)
    for num_steps, group in by_steps.items():
        begin = 0
        while begin < len(group):
            part = group[begin : begin + run.max_networks]
            try:
                rows = _padded([parents[child] for child in part], run.max_networks)
                grown = _trained(run, part, state.take(jnp.asarray(rows)), num_steps)
                run.visit(part, grown)
            except jax.errors.JaxRuntimeError as problem:
                if "RESOURCE_EXHAUSTED" not in str(problem) or run.max_networks == 1:
                    raise
                # The device is full: the same part again, with half as many networks.
                run.max_networks = max(1, run.max_networks // 2)
                continue
            begin += len(part)
            run.work.trainings += len(part)
            run.work.network_steps += len(part) * num_steps * run.recipe.epochs
            if run.report is not None:
                run.report(run.work)
            _grow(run, part, grown)


def _num_steps(run: _Walk, branch: Branch) -> int:
    count = int(run.counts[run.curricula[branch.curriculum].tasks[branch.prefix[-1]]])
    if count < run.recipe.batch_size:
        raise BadArgument(f"`batch_size` must be at most the {count} examples of the smallest task.")
    return count // run.recipe.batch_size


def _trained(run: _Walk, branches: list[Branch], state: State, num_steps: int) -> State:
    """The networks after their last task."""
    streams: dict[tuple[int, int, int], int] = {}
    chosen = []
    for branch in branches:
        curriculum, position = run.curricula[branch.curriculum], branch.prefix[-1]
        visit = branch.prefix.count(position)  # a repeated visit sees the examples in a new order
        key = (curriculum.seed * 1000 + visit - 1, position, curriculum.tasks[position])
        chosen.append(streams.setdefault(key, len(streams)))
    table = list(streams)
    table += table[-1:] * (bucket(len(table)) - len(table))
    keys = jnp.stack([jax.random.fold_in(jax.random.key(seed), 1 + position) for seed, position, _ in table])
    tasks = jnp.asarray([task for _, _, task in table])
    rows = jnp.asarray(_padded(chosen, run.max_networks))
    trained: State = train_task(run.net, run.recipe, state, run.train, rows, keys, tasks, jnp.asarray(num_steps))
    return trained


def _outcome(scores: Mapping[Branch, Outcome], number: int, orders: Sequence[Prefix]) -> Outcome:
    path = [[scores[Branch(number, order[:s])] for s in range(len(order) + 1)] for order in orders]
    return Outcome(*(np.array([[getattr(s, name) for s in row] for row in path]) for name in Outcome._fields))


def bucket(count: int) -> int:
    """The next power of two up to 32, then the next eighth of an octave: few shapes, so that little is compiled.

    >>> [bucket(count) for count in (5, 20, 100, 161)]
    [8, 32, 104, 176]
    """
    grain = 1 << (count - 1).bit_length() if count <= 32 else 1 << (count.bit_length() - 4)
    return -(-count // grain) * grain


def _padded(values: list[int], most: int) -> list[int]:
    """The values, with the last repeated up to a bucket, but never more than `most`."""
    return values + values[-1:] * (min(bucket(len(values)), max(most, len(values))) - len(values))
