"""The backward pass of a dense layer and Adam in one pass over its weights, as a Pallas (Triton) kernel.

At batch 4 nearly all memory traffic of a training step is that of the largest weight matrix. Here the weights and both
moments are read once and written once, in place; the gradient of the weights lives in registers alone.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl

from taskorder.engine.kernels.tiles import call, float_array

ROWS, COLUMNS, WARPS = 8, 256, 4
"""Weights of a tile, and warps, by measurement on an H200."""


def dense_update(
    x: Array, dy: Array, w: Array, mean: Array, square: Array, factors: Array,
    *, decay_mean: float, decay_square: float, epsilon: float,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Adam's step for the weights of y = x @ w, and the gradient of x: the new (w, mean, square), and dx.

    x: (n, batch, inputs). dy: (n, batch, outputs). w, mean, square: (n, inputs, outputs), overwritten where JAX may.
    factors: (n, 2), for each network the learning rate / (1 - decay_mean^t) and 1 / sqrt(1 - decay_square^t).
    All sums are float32, not TF32. Numbers of inputs and outputs must be powers of two.
    """
    n, batch, inputs = x.shape
    rows, columns = min(ROWS, inputs), min(COLUMNS, w.shape[-1])
    parts = w.shape[-1] // columns
    tile = pl.BlockSpec((None, rows, columns), lambda c, r, network: (network, r, c))
    update = call(
        _kernel, "dense_update", (parts, inputs // rows, n),
        [
            pl.BlockSpec((None, 2), lambda c, r, network: (network, 0)),
            pl.BlockSpec((None, batch, rows), lambda c, r, network: (network, 0, r)),
            pl.BlockSpec((None, batch, columns), lambda c, r, network: (network, 0, c)),
            tile, tile, tile,
        ],
        [tile, tile, tile, pl.BlockSpec((None, None, batch, rows), lambda c, r, network: (network, c, 0, r))],
        [*[float_array(*w.shape)] * 3, float_array(n, parts, batch, inputs)],
        WARPS, aliases=((3, 0), (4, 1), (5, 2)),
        decay_mean=decay_mean, decay_square=decay_square, epsilon=epsilon,
    )  # fmt: skip
    *new, dx = update(factors, x, dy, w, mean, square)
    return *new, dx.sum(axis=1)


def _kernel(
    factors_ref, x_ref, dy_ref, w_ref, mean_ref, square_ref, new_w_ref, new_mean_ref, new_square_ref, dx_ref,
    *, decay_mean, decay_square, epsilon,
):  # fmt: skip
    """Owns a tile of one network's weights; writes them, their moments, and what they give to dx."""
    w = w_ref[...]
    g = 0.0
    for example in range(x_ref.shape[0]):
        dy = dy_ref[example, :][None, :]
        dx_ref[example, :] = jnp.sum(w * dy, axis=1)
        g += x_ref[example, :][:, None] * dy
    mean = decay_mean * mean_ref[...] + (1 - decay_mean) * g
    square = decay_square * square_ref[...] + (1 - decay_square) * (g * g)
    root = square * lax.rsqrt(jnp.maximum(square, 1e-37))  # its square root; the correctly rounded one is slow
    new_w_ref[...] = w - factors_ref[0] * mean / (root * factors_ref[1] + epsilon)
    new_mean_ref[...] = mean
    new_square_ref[...] = square
