"""Elastic weight consolidation, online: weights that mattered to earlier tasks are pulled back to where they were.

    loss + strength / 2 * sum of F (w - w*)^2,    F <- fading F + mean of (gradient of the log-likelihood)^2

w* are the weights when the task began, so they need not be kept; F is diagonal, and the mean goes over the labels as
they are, of at most SQUARED_EXAMPLES examples of the task that was learned, those that its next epoch would begin with.
The pull is added to the gradient: F (w - w*) is elementwise and needs no second pass through the network.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import Array, lax

from taskorder.engine.nets import Net, Params
from taskorder.strategies import EWC

if TYPE_CHECKING:
    from taskorder.engine.train import Batch, Pool

SQUARED_EXAMPLES = 1000
"""Examples of a task whose gradients are squared: more add time, not precision."""
SQUARED_AT_ONCE = 4
"""Of each network. Their squares are added one by one: XLA then computes the gradients inside the sum, where a sum over
an axis would be a hundred times slower on a CPU."""


def pulled_back(settings: EWC, gradient: Params, params: Params, anchor: Params, matters: Params) -> Params:
    """The gradient of the loss and of the penalty; elementwise, for any number of networks."""
    return jax.tree.map(
        lambda g, w, start, F: g + settings.strength * F * (w - start), gradient, params, anchor, matters
    )


@functools.partial(jax.jit, static_argnames=("net", "settings"))
def consolidated(
    net: Net, settings: EWC, params: Params, matters: Params, pool: Pool, tasks: Array, places: Array
) -> Params:
    """F of N networks after task `tasks[i]`; places: (N, m) examples of it, the first of which are used."""
    size, most = SQUARED_AT_ONCE, min(places.shape[1], SQUARED_EXAMPLES)
    used = jnp.pad(places[:, :most], ((0, 0), (0, -most % size)), mode="edge")
    counts = jnp.minimum(pool.counts[tasks], SQUARED_EXAMPLES)

    def squares(params: Params, task: Array, own: Array, numbers: Array, count: Array) -> Params:
        """Sums over a few examples of one network."""

        def likelihood(params: Params, one: Batch) -> Array:
            outputs = net.apply(params, net.loss.read(one.inputs))
            return net.loss.likelihood * net.loss.losses(outputs, one.inputs, one.labels, one.allowed)[0]

        ones = [pool.batch(task * pool.rows.shape[1] + own[k : k + 1]) for k in range(size)]
        gradients = [jax.grad(likelihood)(params, one) for one in ones]
        counted = (numbers < count).astype(jnp.float32)
        return jax.tree.map(lambda *each: sum(c * g * g for c, g in zip(counted, each, strict=True)), *gradients)

    def add(total: Params, begin: Array) -> tuple[Params, None]:
        own = lax.dynamic_slice_in_dim(used, begin, size, axis=1)
        more = jax.vmap(squares, in_axes=(0, 0, 0, None, 0))(params, tasks, own, begin + jnp.arange(size), counts)
        return jax.tree.map(jnp.add, total, more), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    total, _ = lax.scan(add, zeros, jnp.arange(0, used.shape[1], size))

    def joined(F: Array, sums: Array) -> Array:
        return settings.fading * F + sums / counts.reshape(-1, *[1] * (sums.ndim - 1))

    return jax.tree.map(joined, matters, total)
