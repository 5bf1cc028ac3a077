"""Networks trained on one task each, and the similarities of tasks that they show.

Zero-shot transfer asks how the network of one task does on another (see similarity/transfer.py). Curvature asks how
much the loss of A would rise if the network of A took the step that B wants: with g the gradient of B's loss and H the
Hessian of A's loss, both at the network of A, the similarity is -g.H.g, averaged over both directions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from taskorder.checks import Floats
from taskorder.neural.evaluate import evaluate
from taskorder.neural.nets import Net, Params
from taskorder.neural.train import Pool, Recipe, State, as_floats, cross_entropy, start, train_task

CHUNK = 256
"""Examples of a task that curvature sees at once."""


def train_single(
    net: Net,
    train: Pool,
    tasks: Sequence[int],
    seed: int = 0,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
) -> State:
    """One network for each of `tasks` (places in the pool), all from the same initial network; P networks."""
    counts = np.asarray(train.counts)[list(tasks)]
    if counts.min() < recipe.batch_size:
        raise ValueError(f"`batch_size` must be at most the {counts.min()} examples of the smallest task.")
    parts: list[State] = []
    order: list[int] = []
    for steps in np.unique(counts // recipe.batch_size).tolist():
        chosen = np.flatnonzero(counts // recipe.batch_size == steps)
        keys = jnp.stack([jax.random.fold_in(jax.random.key(seed * 1000), 1 + int(p)) for p in chosen])
        state = start(net, jnp.stack([jax.random.key(seed)] * len(chosen)))
        places = jnp.asarray(np.asarray(tasks)[chosen])
        streams = jnp.arange(len(chosen))
        parts.append(train_task(net, recipe, state, train, streams, keys, places, jnp.asarray(steps)))
        order += chosen.tolist()
    whole = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)
    return State(*whole).take(jnp.asarray(np.argsort(order)))


def transfer_losses(net: Net, networks: State, pool: Pool, tasks: Sequence[int]) -> tuple[Floats, Floats]:
    """(P, P) losses and losses with shuffled labels: row A, column B is network A on task B of `pool`.

    The pool may hold test data, training data, or a share of either.
    """
    scores = evaluate(net, networks.params, pool, jnp.asarray([list(tasks)] * len(tasks)))
    return np.asarray(scores.loss, np.float64), np.asarray(scores.chance, np.float64)


def curvature_similarity(net: Net, networks: State, pool: Pool, tasks: Sequence[int]) -> Floats:
    """(P, P) table of -g.H.g by Hessian-vector products: row A is the network, column B the task; not symmetric."""
    places = jnp.asarray(list(tasks))
    columns = [_curvature(net, networks.params, pool, places, jnp.full_like(places, int(task))) for task in tasks]
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


@functools.partial(jax.jit, static_argnames=("net",))
def _curvature(net: Net, params: Params, pool: Pool, own: Array, other: Array) -> Array:
    """(N,) -g.H.g of N networks: g from task `other[i]`, H from task `own[i]`."""

    def one(params: Params, own: Array, other: Array) -> Array:
        direction = mean_gradient(net, params, pool, other)
        _, bent = jax.jvp(lambda p: mean_gradient(net, p, pool, own), (params,), (direction,))
        products = jax.tree.map(lambda g, b: (g * b).sum(), direction, bent)
        return -functools.reduce(jnp.add, jax.tree.leaves(products))

    return jax.vmap(one)(params, own, other)


def mean_gradient(net: Net, params: Params, pool: Pool, task: Array) -> Params:
    """The gradient of the mean loss over all examples of a task, for one network."""
    n = pool.rows.shape[1]
    size = min(CHUNK, n)

    def chunk_loss(params: Params, begin: Array) -> Array:
        places = begin + jnp.arange(size)
        within = jnp.minimum(places, n - 1)
        x = as_floats(pool.inputs[pool.rows[task, within]])
        losses = cross_entropy(net.apply(params, x), pool.labels[task, within])
        return (losses * (places < pool.counts[task])).sum()

    def add(total: Any, begin: Array) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, jax.grad(chunk_loss)(params, begin)), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    total, _ = lax.scan(add, zeros, jnp.arange(-(-n // size)) * size)
    return jax.tree.map(lambda leaf: leaf / pool.counts[task], total)
