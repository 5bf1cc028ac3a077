"""Test many networks at once on many tasks: accuracy, loss, and the loss to expect if labels were shuffled."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from taskorder.engine.nets import Net, Params
from taskorder.engine.train import Pool, as_floats

IMAGES_AT_ONCE = 16_384
"""Examples that all networks together see at once: memory for activations is this many times that of one example."""


class Scores(NamedTuple):
    """How N networks do on Q tasks each; every array is (N, Q)."""

    accuracy: Array
    loss: Array
    """Mean cross-entropy."""
    chance: Array
    """Mean cross-entropy to expect when the labels are shuffled: for each input the losses of all labels, weighted by
    the shares of the labels in the task. No shuffle is drawn."""


@functools.partial(jax.jit, static_argnames=("net",))
def evaluate(net: Net, params: Params, pool: Pool, tasks: Array) -> Scores:
    """Network i on the tasks `tasks[i]`; (N, Q) places in the pool."""
    N = len(tasks)
    n = pool.rows.shape[1]
    size = max(1, min(n, IMAGES_AT_ONCE // N))
    num_chunks = -(-n // size)
    outputs = jax.eval_shape(jax.vmap(net.apply), params, _example(pool, N)).shape[-1]
    shares = _label_shares(pool, outputs)

    def on_task(task: Array) -> Array:
        """(3, N) means over the examples of the task of each network."""

        def on_chunk(sums: Array, begin: Array) -> tuple[Array, None]:
            places = begin + jnp.arange(size)
            within = jnp.minimum(places, n - 1)
            rows, labels = pool.rows[task][:, within], pool.labels[task][:, within]
            counted = (places < pool.counts[task][:, None]).astype(jnp.float32)
            logits = jax.vmap(net.apply)(params, as_floats(pool.inputs[rows]))
            losses = -jax.nn.log_softmax(logits)
            own = jnp.take_along_axis(losses, labels[:, :, None], axis=2)[:, :, 0]
            right = logits.argmax(axis=2) == labels
            mixed = jnp.einsum("nbk,nk->nb", losses, shares[task])
            return sums + jnp.stack([(part * counted).sum(axis=1) for part in (right, own, mixed)]), None

        sums, _ = lax.scan(on_chunk, jnp.zeros((3, N)), jnp.arange(num_chunks) * size)
        return sums / pool.counts[task]

    means = lax.map(on_task, tasks.T)
    return Scores(*means.transpose(1, 2, 0))


def _example(pool: Pool, N: int) -> Array:
    return jnp.zeros((N, 1, *pool.inputs.shape[1:]))


def _label_shares(pool: Pool, outputs: int) -> Array:
    """(T, outputs) share of each label in each task."""
    counted = jnp.arange(pool.rows.shape[1]) < pool.counts[:, None]
    hits = jax.nn.one_hot(pool.labels, outputs) * counted[:, :, None]
    return hits.sum(axis=1) / pool.counts[:, None]
