"""Train many long orders, one network each, in one loop over steps: for many tasks, and for tasks of different sizes.

Random orders of many tasks share few prefixes, and networks that learn tasks of different sizes are never at the same
task. So each network has its own sequence of batches, all its tasks one after another, and all networks step together;
where a strategy has something to do at the end of a task, they stop there. Each is trained as in the tree of prefixes
(engine/tree.py), on the same examples in the same order; only what is known at the end is tested.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from taskorder.checks import Ints
from taskorder.engine.nets import Net, Params
from taskorder.engine.order_batches import OrderBatches
from taskorder.engine.past import Lookback, first_memory
from taskorder.engine.train import Pool, Recipe, State, remembered, start, train_step
from taskorder.engine.tree import (
    Branch,
    Curriculum,
    Outcome,
    bucket,
    label_outputs,
    lookback_of,
    stream_key,
    tested,
)
from taskorder.prefixes import Prefix
from taskorder.strategies import BY_CLASS, EWC, SHARED, Distill, Replay

SPAN = 1000
"""Steps between two reports."""


def train_whole_orders(
    net: Net,
    train: Pool,
    test: Pool,
    curricula: Sequence[Curriculum],
    *,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    head: str = SHARED,
    max_networks: int = 512,
    report: Callable[[int], object] | None = None,
) -> list[Outcome]:
    """For each curriculum, test accuracy, loss and chance of every task at the end of every order: tables (K, P).

    head: see `tree.train_orders`. report: called with the number of network-steps so far.
    """
    if recipe.reset:
        raise ValueError("`reset` must be False for whole orders: their networks begin tasks at different steps.")
    lookback = lookback_of(net, recipe, train, curricula)
    used = label_outputs(net, train) if head == BY_CLASS else None
    batches = [OrderBatches(train, curriculum, recipe, lookback) for curriculum in curricula]
    by_steps: dict[int, list[Branch]] = {}
    for number, curriculum in enumerate(curricula):
        for order in curriculum.orders:
            by_steps.setdefault(batches[number].ends(order)[-1], []).append(Branch(number, order))
    finished: dict[Branch, Outcome] = {}
    done = 0
    for num_steps, branches in by_steps.items():
        for begin in range(0, len(branches), max_networks):
            part = branches[begin : begin + max_networks]
            ends = _table([batches[branch.curriculum].ends(branch.prefix) for branch in part])
            state = start(net, jnp.stack([jax.random.key(curricula[branch.curriculum].seed) for branch in part]))
            state = state._replace(memory=first_memory(recipe.strategy, state.params))
            anchor = jax.tree.map(jnp.array, state.params) if isinstance(recipe.strategy, EWC | Distill) else None
            for now, stop in itertools.pairwise((0, *_stops(recipe, ends))):
                learned = [branch.prefix[: sum(end <= now)] for branch, end in zip(part, ends, strict=True)]
                heads = _heads(lookback, recipe, curricula, part, learned)
                for first in range(now, stop, SPAN):
                    count = min(SPAN, stop - first)
                    spans = [batches[branch.curriculum].span(branch.prefix, first, SPAN) for branch in part]
                    span, weigh = _needed(np.stack(spans), count, recipe.batch_size)
                    state = _steps(net, recipe, state, train, span, jnp.asarray(count), anchor, heads, weigh=weigh)
                    done += count * len(part)
                    if report is not None:
                        state.steps.block_until_ready()
                        report(done)
                if anchor is not None and stop < num_steps:
                    ended: list[int] = np.flatnonzero((ends == stop).any(axis=1)).tolist()
                    last = [Branch(part[row].curriculum, part[row].prefix[: len(learned[row]) + 1]) for row in ended]
                    state = _remembered(net, recipe, state, train, curricula, last, ended)
                    anchor = _replaced(anchor, state.params, jnp.asarray(_padded_rows(ended)))
            tables = tested(net, state, test, curricula, part, used)
            for row, branch in enumerate(part):
                finished[branch] = Outcome(*(table[row] for table in tables))
    return [
        Outcome(
            *(np.array([getattr(finished[Branch(n, order)], kind) for order in c.orders]) for kind in Outcome._fields)
        )
        for n, c in enumerate(curricula)
    ]


def _table(ends: Sequence[Sequence[int]]) -> Ints:
    """(N, P) after how many steps each network ends its tasks; those with fewer tasks end the last one again."""
    most = max(map(len, ends))
    return np.array([[*own, *own[-1:] * (most - len(own))] for own in map(list, ends)])


def _stops(recipe: Recipe, ends: Ints) -> list[int]:
    """Where networks stop on their way, by the (N, P) steps at which they end tasks: where the strategy must act."""
    if isinstance(recipe.strategy, EWC | Distill):
        return np.unique(ends).tolist()
    if isinstance(recipe.strategy, Replay):  # the first task has nothing to replay
        return np.unique([*ends[:, 0], ends[0, -1]]).tolist()
    return [int(ends[0, -1])]


def _heads(
    lookback: Lookback | None,
    recipe: Recipe,
    curricula: Sequence[Curriculum],
    part: Sequence[Branch],
    learned: Sequence[Prefix],
) -> Array | None:
    """The old heads of each network, for strategies that ask for them."""
    if lookback is None or not isinstance(recipe.strategy, Distill):
        return None
    of = [curricula[branch.curriculum] for branch in part]
    return lookback.of([(own.tasks, own.seed, prefix) for own, prefix in zip(of, learned, strict=True)]).heads


def _needed(span: Ints, count: int, batch_size: int) -> tuple[Ints, bool]:
    """The examples of a span that are used, and whether some of them are missing and count for nothing."""
    old = span[:, :count, batch_size:]
    if (old < 0).all():
        return span[:, :, :batch_size], False
    missing = bool((old < 0).any())
    return (span if missing else np.maximum(span, 0)), missing


def _padded_rows(rows: list[int]) -> list[int]:
    """The rows, with the last repeated up to a bucket: few shapes, so that little is compiled."""
    return rows + rows[-1:] * (bucket(len(rows)) - len(rows))


def _remembered(
    net: Net,
    recipe: Recipe,
    state: State,
    train: Pool,
    curricula: Sequence[Curriculum],
    last: Sequence[Branch],
    ended: list[int],
) -> State:
    """The networks, of which those at `ended` have just learned the last tasks of `last`."""
    if not isinstance(recipe.strategy, EWC):
        return state
    rows = jnp.asarray(_padded_rows(ended))
    own = [(curricula[branch.curriculum], branch.prefix) for branch in last]
    own += own[-1:] * (len(rows) - len(own))
    keys = jnp.stack([stream_key(each.seed * 1000 + prefix.count(prefix[-1]) - 1, prefix[-1]) for each, prefix in own])
    tasks = jnp.asarray([each.tasks[prefix[-1]] for each, prefix in own])
    some = remembered(net, recipe, state.take(rows), train, jnp.arange(len(rows)), keys, tasks)
    return state._replace(memory=jax.tree.map(lambda old, new: old.at[rows].set(new), state.memory, some.memory))


@functools.partial(jax.jit, donate_argnums=0)
def _replaced(old: Params, new: Params, rows: Array) -> Params:
    """The old parameters with the new ones at some rows."""
    return jax.tree.map(lambda a, b: a.at[rows].set(b[rows]), old, new)


@functools.partial(jax.jit, static_argnames=("net", "recipe", "weigh"), donate_argnames=("state",))
def _steps(
    net: Net,
    recipe: Recipe,
    state: State,
    pool: Pool,
    examples: Array,
    num_steps: Array,
    anchor: Params,
    heads: Array | None,
    *,
    weigh: bool,
) -> State:
    """The networks after `num_steps` steps of their (N, SPAN, batch) examples; with `weigh`, those below 0 are none."""

    def step(number: Array, state: State) -> State:
        chosen = examples[:, number]
        batch = pool.batch(jnp.maximum(chosen, 0) if weigh else chosen)
        if weigh:
            batch = batch._replace(weights=(chosen >= 0).astype(jnp.float32))
        return train_step(net, recipe, state, batch, anchor, heads)

    return lax.fori_loop(0, num_steps, step, state)
