"""Test many networks at once on many tasks: accuracy, loss, and the loss to expect if labels were shuffled."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from taskorder.engine.nets import Net, Params
from taskorder.engine.train import Pool

IMAGES_AT_ONCE = 16_384
"""Examples that all networks together see at once: memory for activations is this many times that of one example."""


class Scores(NamedTuple):
    """How N networks do on Q tasks each; every array is (N, Q)."""

    accuracy: Array
    loss: Array
    """Mean loss, by default the cross-entropy."""
    chance: Array
    """Mean loss to expect when the labels are shuffled: for each input the losses of all labels, weighted by the shares
    of the labels in the task. No shuffle is drawn."""


def evaluate(net: Net, params: Params, pool: Pool, tasks: Array) -> Scores:
    """Network i on the tasks `tasks[i]`; (N, Q) places in the pool."""
    return Scores(*_means(net, params, pool, tasks, None))


def evaluate_seen(net: Net, params: Params, pool: Pool, tasks: Array, seen: Array) -> tuple[Scores, Array]:
    """The same, and the accuracies where only the outputs that network i has `seen` compete; (N, outputs) of bools.

    A task is wrong throughout where the network has seen other labels, but none of its own.
    """
    *scores, accuracy = _means(net, params, pool, tasks, seen)
    return Scores(*scores), accuracy


@functools.partial(jax.jit, static_argnames=("net",))
def _means(net: Net, params: Params, pool: Pool, tasks: Array, seen: Array | None) -> Array:
    """(3 or 4, N, Q) means over the examples of each task."""
    N = len(tasks)
    n = pool.rows.shape[1]
    size = max(1, min(n, IMAGES_AT_ONCE // N))
    num_chunks = -(-n // size)
    outputs = jax.eval_shape(jax.vmap(net.apply), params, _example(net, pool, N)).shape[-1]
    summary = net.loss.summary(pool, outputs)

    def on_task(task: Array) -> Array:
        """(3 or 4, N) means over the examples of the task of each network."""
        allowed = None if pool.allowed is None else pool.allowed[task, None]

        def on_chunk(sums: Array, begin: Array) -> tuple[Array, None]:
            places = begin + jnp.arange(size)
            within = jnp.minimum(places, n - 1)
            rows, labels = pool.rows[task][:, within], pool.labels[task][:, within]
            counted = (places < pool.counts[task][:, None]).astype(jnp.float32)
            x = pool.inputs[rows]
            found = jax.vmap(net.apply)(params, net.loss.read(x))
            parts: tuple[Array, ...] = jax.vmap(net.loss.scores)(found, x, labels, summary[task], allowed)
            if seen is not None:
                parts = (*parts, jax.vmap(net.loss.scores)(found, x, labels, summary[task], seen[:, None])[0])
            return sums + jnp.stack([(part * counted).sum(axis=1) for part in parts]), None

        sums, _ = lax.scan(on_chunk, jnp.zeros((3 if seen is None else 4, N)), jnp.arange(num_chunks) * size)
        return sums / pool.counts[task]

    return lax.map(on_task, tasks.T).transpose(1, 2, 0)


def _example(net: Net, pool: Pool, N: int) -> Array:
    """One input for each network."""
    return net.loss.read(jnp.zeros((N, 1, *pool.inputs.shape[1:]), pool.inputs.dtype))
