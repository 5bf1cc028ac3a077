"""Training of many JAX networks with heads and strategies: batches of new and of old examples, and penalties.

The engine trains what has neither (engine/train.py); this is the general step for all else, compiled and batched over
networks in the same way. What is drawn at random depends on the seed, the task and the visit of each network.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from taskorder.engine.losses import among, as_floats, cross_entropy
from taskorder.engine.lwf import divergence
from taskorder.engine.nets import Net, Params
from taskorder.engine.train import MAX_GROUP, Pool, Recipe, State, adam, shuffles
from taskorder.machine import cores
from taskorder.strategies import EWC, Distill, L2Init

Penalized = EWC | Distill | L2Init


class Heads(NamedTuple):
    """The outputs that examples are about."""

    allowed: Array
    """(H, outputs) bool: the classes of each head."""
    new: Array
    """(T, n) int32 the head of each example of the pool."""


class OldPool(NamedTuple):
    """Examples of old tasks, those of each of N networks."""

    inputs: Array
    """(M, ...) shared by all networks."""
    rows: Array
    """(N, m) int32 places in `inputs`; beyond the own ones of a network they say nothing."""
    labels: Array
    """(N, m) int32"""
    heads: Array
    """(N, m) int32"""
    counts: Array
    """(N,) int32 examples of each network."""
    keys: Array
    """(N,) random keys."""

    def take(self, some: slice) -> OldPool:
        """What some of the networks have."""
        return OldPool(self.inputs, *(each[some] for each in self[1:]))


class Lessons(NamedTuple):
    """What N networks learn."""

    pool: Pool
    heads: Heads | None
    """None where all outputs compete."""
    keys: Array
    """(N,) random keys for the order of examples."""
    tasks: Array
    """(N,) task of the pool."""
    num_steps: Array
    """Batches an epoch."""
    old: OldPool | None
    memory: Any
    """What the penalty reads: a tree with a leading axis of length N; None without one."""

    def take(self, some: slice) -> Lessons:
        """What some of the networks learn."""
        old = None if self.old is None else self.old.take(some)
        memory = jax.tree.map(lambda leaf: leaf[some], self.memory)
        return self._replace(keys=self.keys[some], tasks=self.tasks[some], old=old, memory=memory)


class FormerAnswers(NamedTuple):
    """What distillation reads of each network."""

    params: Params
    heads: Array
    """(N, H, outputs) bool: classes that compete; none in what fills up."""


def train_mixed(net: Net, recipe: Recipe, settings: Penalized | None, extra: int, state: State, work: Lessons) -> State:
    """Every network after its task: `extra` old examples join each batch, and the penalty of `settings` the loss.

    A GPU takes all networks at once; a CPU a few for each core.
    """
    count = len(state.steps)
    size = min(count, MAX_GROUP) if jax.default_backend() == "cpu" else count
    if size == count:
        whole: State = _trained(net, recipe, settings, extra, state, work)
        return whole

    def train(begin: int) -> State:
        some = slice(begin, begin + size)
        part = State(*jax.tree.map(lambda leaf: leaf[some], tuple(state)))
        done: State = _trained(net, recipe, settings, extra, part, work.take(some))
        done.steps.block_until_ready()
        return done

    with ThreadPoolExecutor(cores()) as threads:  # JAX frees the interpreter while it computes
        groups = list(threads.map(train, range(0, count, size)))
    return State(*jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *map(tuple, groups)))


@functools.partial(jax.jit, static_argnames=("net", "recipe", "settings", "extra"))
def _trained(net: Net, recipe: Recipe, settings: Penalized | None, extra: int, state: State, work: Lessons) -> State:
    pool, heads, tasks, old = work.pool, work.heads, work.tasks, work.old
    networks = jnp.arange(len(tasks))
    if recipe.reset:
        state = State(state.params, *jax.tree.map(jnp.zeros_like, tuple(state[1:])))

    def loss(params: Params, memory: Any, inputs: Array, labels: Array, allowed: Array | None) -> Array:
        inputs = as_floats(inputs)
        outputs = net.apply(params, inputs)
        total = cross_entropy(among(outputs, allowed), labels).mean()
        if settings is None:
            return total
        new = slice(None, recipe.batch_size)
        return total + penalty(settings, net, memory, params, inputs[new], outputs[new])

    def run_epoch(epoch: Array, state: State) -> State:
        order = shuffles(work.keys, tasks, pool, epoch, recipe.batch_size)

        def step(number: Array, state: State) -> State:
            places = tasks[:, None], order[number]
            batch = [pool.inputs[pool.rows[places]], pool.labels[places], None if heads is None else heads.new[places]]
            if old is not None:
                kept = networks[:, None], _drawn(old, extra, epoch, number)
                more = old.inputs[old.rows[kept]], old.labels[kept], old.heads[kept]
                batch = [None if a is None else jnp.concatenate([a, b], 1) for a, b in zip(batch, more, strict=True)]
            allowed = None if heads is None else heads.allowed[batch[2]]
            axes = (0, 0, 0, 0, None if allowed is None else 0)
            gradient = jax.vmap(jax.grad(loss), axes)(state.params, work.memory, batch[0], batch[1], allowed)
            return adam(recipe, state, gradient)

        trained: State = lax.fori_loop(0, work.num_steps, step, state)
        return trained

    trained: State = lax.fori_loop(0, recipe.epochs, run_epoch, state)
    return trained


def _drawn(old: OldPool, extra: int, epoch: Array, number: Array) -> Array:
    """(N, extra) places among the old examples of each network, each equally likely."""

    def draw(key: Array, count: Array) -> Array:
        return jax.random.randint(jax.random.fold_in(jax.random.fold_in(key, epoch), number), (extra,), 0, count)

    return jax.vmap(draw)(old.keys, old.counts)


def penalty(settings: Penalized, net: Net, memory: Any, params: Params, inputs: Array, outputs: Array) -> Array:
    """What a strategy adds to the loss of one network on a batch of new examples."""
    if isinstance(settings, Distill):
        return divergence(settings, outputs, net.apply(memory.params, inputs), memory.heads)
    if isinstance(settings, EWC):
        moved = jax.tree.map(lambda f, now, w: (f * (now - w) ** 2).sum(), memory.matters, params, memory.weights)
    else:
        moved = jax.tree.map(lambda now, w: ((now - w) ** 2).sum(), params, memory)
    return settings.strength / 2 * jnp.stack(jax.tree.leaves(moved)).sum()


@functools.partial(jax.jit, static_argnames=("net",))
def squared_gradients(net: Net, params: Params, inputs: Array, labels: Array, own: Array, count: Array) -> Params:
    """The mean squares of the gradients of the log-likelihood, one example at a time, over the first `count`."""

    def loss(params: Params, x: Array, y: Array) -> Array:
        return cross_entropy(among(net.apply(params, as_floats(x[None])), own), y[None])[0]

    def add(number: Array, total: Params) -> Params:
        gradient = jax.grad(loss)(params, inputs[number], labels[number])
        return jax.tree.map(lambda t, g: t + g**2 / count, total, gradient)

    return lax.fori_loop(0, count, add, jax.tree.map(jnp.zeros_like, params))


def together(trees: Sequence[Any]) -> Any:
    """Trees of arrays as one with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *trees)
