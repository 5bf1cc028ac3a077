"""Train many long orders, one network each, in one loop over steps: for many tasks, and for tasks of different sizes.

Random orders of many tasks share few prefixes, and networks that learn tasks of different sizes are never at the same
task. So each network has its own sequence of batches, all its tasks one after another, and all networks step together.
Each is trained as in the tree of prefixes (engine/tree.py), on the same examples in the same order; only what is known
at the end is tested.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from taskorder.arguments import BadArgument
from taskorder.checks import Ints
from taskorder.engine.evaluate import evaluate
from taskorder.engine.nets import Net
from taskorder.engine.train import Pool, Recipe, State, gradient_step, shuffles, start
from taskorder.engine.tree import Branch, Curriculum, Outcome, tasks_of

SPAN = 1000
"""Steps between two reports."""


def train_whole_orders(
    net: Net,
    train: Pool,
    test: Pool,
    curricula: Sequence[Curriculum],
    *,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    max_networks: int = 512,
    report: Callable[[int], object] | None = None,
) -> list[Outcome]:
    """For each curriculum, test accuracy, loss and chance of every task at the end of every order: tables (K, P).

    report: called with the number of network-steps so far.
    """
    if recipe.reset:
        raise ValueError("`reset` must be False for whole orders: their networks begin tasks at different steps.")
    batches = [_batches(train, curriculum, recipe) for curriculum in curricula]
    by_steps: dict[int, list[Branch]] = {}
    for number, curriculum in enumerate(curricula):
        for order in curriculum.orders:
            num_steps = sum(len(batches[number][task][0]) for task in order)
            by_steps.setdefault(num_steps, []).append(Branch(number, order))
    ends: dict[Branch, Outcome] = {}
    done = 0
    for num_steps, branches in by_steps.items():
        for begin in range(0, len(branches), max_networks):
            part = branches[begin : begin + max_networks]
            state = start(net, jnp.stack([jax.random.key(curricula[branch.curriculum].seed) for branch in part]))
            for first in range(0, num_steps, SPAN):
                count = min(SPAN, num_steps - first)
                rows, labels = (
                    np.stack([_span(batches[branch.curriculum], branch.prefix, kind, first, SPAN) for branch in part])
                    for kind in (0, 1)
                )
                state = _steps(net, recipe, state, train.inputs, rows, labels, jnp.asarray(count))
                done += count * len(part)
                if report is not None:
                    state.steps.block_until_ready()
                    report(done)
            tested = [np.asarray(t) for t in evaluate(net, state.params, test, tasks_of(curricula, part, state))]
            for row, branch in enumerate(part):
                ends[branch] = Outcome(*(table[row] for table in tested))
    return [
        Outcome(*(np.array([getattr(ends[Branch(n, order)], kind) for order in c.orders]) for kind in Outcome._fields))
        for n, c in enumerate(curricula)
    ]


def _batches(train: Pool, curriculum: Curriculum, recipe: Recipe) -> list[tuple[Ints, Ints]]:
    """For each task of a curriculum, (steps, batch) rows in the inputs and labels, all epochs one after another."""
    tasks = jnp.asarray(curriculum.tasks)
    keys = jnp.stack(
        [
            jax.random.fold_in(jax.random.key(curriculum.seed * 1000), 1 + position)
            for position in range(len(curriculum.tasks))
        ]
    )
    orders = [
        np.asarray(shuffles(keys, tasks, train, jnp.asarray(epoch), recipe.batch_size)).swapaxes(0, 1)
        for epoch in range(recipe.epochs)
    ]
    rows, labels, counts = (
        np.asarray(part)[list(curriculum.tasks)] for part in (train.rows, train.labels, train.counts)
    )
    batches = []
    for position, count in enumerate(counts.tolist()):
        if count < recipe.batch_size:
            raise BadArgument(f"`batch_size` must be at most the {count} examples of the smallest task.")
        places = np.concatenate([order[position, : count // recipe.batch_size] for order in orders])
        batches.append((rows[position][places], labels[position][places]))
    return batches


def _span(batches: Sequence[tuple[Ints, Ints]], order: Sequence[int], kind: int, first: int, length: int) -> Ints:
    """(length, batch) rows or labels of an order from step `first` on; beyond its end, zeros that are never used."""
    parts, begin = [], 0
    for task in order:
        part = batches[task][kind]
        low, high = max(first - begin, 0), min(first + length - begin, len(part))
        if low < high:
            parts.append(part[low:high])
        begin += len(part)
    span = np.concatenate(parts)
    return np.pad(span, ((0, length - len(span)), (0, 0)))


@functools.partial(jax.jit, static_argnames=("net", "recipe"), donate_argnames=("state",))
def _steps(
    net: Net, recipe: Recipe, state: State, inputs: Array, rows: Array, labels: Array, num_steps: Array
) -> State:
    """The networks after `num_steps` steps of their (N, SPAN, batch) rows and labels."""
    train_step = net.step or functools.partial(gradient_step, net.apply)

    def step(number: Array, state: State) -> State:
        return train_step(recipe, state, inputs[rows[:, number]], labels[:, number])

    return lax.fori_loop(0, num_steps, step, state)
