"""Convolution, bias, ReLU and pooling of many small networks at once on a GPU, as Pallas (Triton) kernels.

Every array has a leading axis over networks. The convolutions are matrix products on the tensor cores whose operands
are gathered on the way: no matrix of columns is ever written. The unit of work is a *pooled* pixel: a program owns
`tile` pooled pixels of one network and sums the four outputs that are averaged into each (QUAD) side by side, so that
bias, ReLU and pooling cost no memory traffic. For the backward pass the four signs of a pooled value are written as
bits of a byte; the gradient at the outputs is rebuilt from the pooled gradient and these bits, and never written.

Operands of the products are float32 with Precision.DEFAULT: on the tensor cores TF32, with 10 bits of mantissa. All
sums, and all arrays in memory but the bits, are float32. Images are square; sides, output channels and batch must be
powers of two (a rule of Triton).
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

from taskorder.engine.kernels.tiles import (
    byte_array,
    call,
    dot,
    float_array,
    gather,
    log2,
    part,
    relu_pool,
    scatter,
    split,
    unpool,
    whole,
)

QUAD = ((0, 0), (0, 1), (1, 0), (1, 1))
"""Rows and columns of the four outputs that are averaged into one pooled pixel."""
TUNED = {"first": (64, 4), "first_back": (64, 2), "conv": (64, 4), "conv_dx": (64, 4), "conv_dw": (32, 4)}
"""Pooled pixels of a tile and warps, by measurement on an H200 with 32 and 64 channels."""


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def conv_first(x: Array, w: Array, b: Array, scale: float = 1 / 255) -> Array:
    """The first layer: 3 x 3 convolution of `scale` times bytes, zero padding, bias, ReLU, 2 x 2 average pooling.

    x: (n, batch, side, side, depth) uint8, has no gradient. w: (n, 3, 3, depth, out). b: (n, out).
    Gives (n, batch, side / 2, side / 2, out) float32.
    """
    return _first(x, w, b, scale)[0]


@jax.custom_vjp
def conv_pool(x: Array, w: Array, b: Array) -> Array:
    """A further layer: the same of x as it is, (n, batch, side, side, depth) float32, depth a power of two."""
    return _conv(x, w, b)[0]


def _tuned(name, rows):
    tile, warps = TUNED[name]
    return min(tile, rows), warps


def _patch(x_ref, pixel, u, place, low, high, side, depth):
    """Byte `place` of the line of the image that starts at row 2 y + u - 1, column 2 x - 1, as float; zero outside.

    (y, x) is the pooled pixel; `place` must be in [low, high). Bytes are exact in TF32.
    """
    image, y, x = split(pixel, side)
    row, column = 2 * y + u - 1, (2 * x - 1) * depth + place
    inside = (row >= 0) & (row < 2 * side) & (column >= 0) & (column < 2 * side * depth)
    inside &= (place >= low) & (place < high)
    at = jnp.where(inside, (image * 2 * side + row) * (2 * side * depth) + column, 0)
    values = plt.load(x_ref.at[at], mask=inside, other=jnp.zeros((), x_ref.dtype))
    return values.astype(jnp.int32).astype(jnp.float32)


def _first_kernel(x_ref, w_ref, b_ref, o_ref, bits_ref, *, tile, side, depth, pad, scale):
    """Owns a part of a network's pooled pixels; writes their values and bits, tile by tile.

    All outputs of a quad come from one 4 x 4 patch, whose lines of 4 depth bytes are padded to `pad`.
    """
    rows, out = o_ref.shape
    k, o = jnp.arange(4 * pad), jnp.arange(out)
    u, place = k >> log2(pad), k & (pad - 1)
    kernels = []  # the 3 x 3 kernel at the four places of the patch
    for di, dj in QUAD:
        i, c = u - di, place - dj * depth
        inside = (i >= 0) & (i < 3) & (c >= 0) & (c < 3 * depth)
        kernels.append(gather(w_ref, jnp.where(inside, i * 3 * depth + c, 0)[:, None], o[None, :], inside[:, None]))
    b = b_ref[...][None, :]
    begin = pl.program_id(0) * rows

    def body(number, _):
        r = number * tile + jnp.arange(tile)
        x = _patch(x_ref, (begin + r)[:, None], u[None, :], place[None, :], 0, 4 * depth, side, depth)
        pooled, bits = relu_pool([dot(x, w) * scale + b for w in kernels])
        scatter(o_ref, r[:, None], o[None, :], pooled)
        scatter(bits_ref, r[:, None], o[None, :], bits)
        return 0

    lax.fori_loop(0, rows // tile, body, 0)


def _first_back_kernel(x_ref, d_ref, bits_ref, dw_ref, db_ref, *, tile, side, depth, pad, scale):
    """Owns a network; writes the gradients of w, (9 depth, out), and of b. Rows of dw are padded to `pad` inside."""
    rows, out = d_ref.shape
    k, o = jnp.arange(pad), jnp.arange(out)
    i = (k >= 3 * depth).astype(jnp.int32) + (k >= 6 * depth).astype(jnp.int32)
    place = k - i * 3 * depth

    def body(number, sums):
        dw, db = sums
        r = number * tile + jnp.arange(tile)
        d = gather(d_ref, r[:, None], o[None, :])
        bits = gather(bits_ref, r[:, None], o[None, :]).astype(jnp.int32)
        for q, (di, dj) in enumerate(QUAD):
            g = unpool(d, bits, q)
            db += g
            low = dj * depth
            x = _patch(x_ref, r[None, :], (i + di)[:, None], (place + low)[:, None], low, low + 3 * depth, side, depth)
            dw += dot(x, g)
        return dw, db

    zeros = jnp.zeros((pad, out), jnp.float32), jnp.zeros((tile, out), jnp.float32)
    dw, db = lax.fori_loop(0, rows // tile, body, zeros)
    scatter(dw_ref, k[:, None], o[None, :], dw * (0.25 * scale), (k < 9 * depth)[:, None])
    db_ref[...] = jnp.sum(db, axis=0) * 0.25


def _first(x, w, b, scale):
    """Pooled outputs and bits of the first layer; the pixels of a network are shared by two programs."""
    n, batch, height, _, depth = x.shape
    side, out = height // 2, w.shape[-1]
    rows = batch * side * side
    tile, warps = _tuned("first", rows)
    share = max(tile, rows // 2)
    pooled, bits = call(
        _first_kernel, "first", (rows // share, n), [whole(4 * rows * depth), whole(9 * depth, out), whole(out)],
        [part(share, out), part(share, out)], [float_array(n, rows, out), byte_array(n, rows, out)],
        warps, tile=tile, side=side, depth=depth, pad=max(8, 1 << (4 * depth - 1).bit_length()), scale=scale,
    )(x.reshape(n, -1), w.reshape(n, 9 * depth, out), b)  # fmt: skip
    return pooled.reshape(n, batch, side, side, out), bits


def _first_forward(x, w, b, scale):
    pooled, bits = _first(x, w, b, scale)
    return pooled, (x, w, bits)


def _first_backward(scale, saved, d):
    x, w, bits = saved
    n, rows, out = bits.shape
    side, depth = x.shape[2] // 2, x.shape[-1]
    tile, warps = _tuned("first_back", rows)
    dw, db = call(
        _first_back_kernel, "first_back", (n,), [whole(4 * rows * depth), whole(rows, out), whole(rows, out)],
        [whole(9 * depth, out), whole(out)], [float_array(n, 9 * depth, out), float_array(n, out)],
        warps, tile=tile, side=side, depth=depth, pad=max(16, 1 << (9 * depth - 1).bit_length()), scale=scale,
    )(x.reshape(n, -1), d.reshape(n, rows, out), bits)  # fmt: skip
    return np.zeros(x.shape, jax.dtypes.float0), dw.reshape(w.shape), db


conv_first.defvjp(_first_forward, _first_backward)


def _shifted(x_ref, pixel, side, u, v):
    """(tile, depth) pixels at row 2 y + u - 1, column 2 x + v - 1 of the input of pooled pixel (y, x); zero outside."""
    image, y, x = split(pixel, side)
    row, column = 2 * y + (u - 1), 2 * x + (v - 1)
    inside = (row >= 0) & (row < 2 * side) & (column >= 0) & (column < 2 * side)
    at = jnp.where(inside, (image * 2 * side + row) * 2 * side + column, 0)
    return gather(x_ref, at[:, None], jnp.arange(x_ref.shape[-1])[None, :], inside[:, None])


def _conv_kernel(x_ref, w_ref, b_ref, o_ref, bits_ref, *, tile, side):
    """Owns a tile of pooled pixels; writes their values and bits."""
    out = w_ref.shape[-1]
    r = pl.program_id(0) * tile + jnp.arange(tile)

    def body(i, sums):  # row i of the 3 x 3 kernel
        sums = list(sums)
        w = [w_ref[3 * i + j] for j in range(3)]
        for di in range(2):
            for v in range(4):
                x = _shifted(x_ref, r, side, di + i, v)
                for dj in range(2):
                    if 0 <= v - dj < 3:
                        sums[2 * di + dj] += dot(x, w[v - dj])
        return tuple(sums)

    sums = lax.fori_loop(0, 3, body, (jnp.zeros((tile, out), jnp.float32),) * 4)
    o_ref[...], bits_ref[...] = relu_pool([total + b_ref[...][None, :] for total in sums])


def _conv_dx_kernel(d_ref, bits_ref, w_ref, dx_ref, *, tile, side):
    """Owns the upper or the lower two of the four inputs under each pooled pixel of a tile; writes their gradient."""
    depth, out = w_ref.shape[1:]
    a = pl.program_id(0) & 1  # the inputs are in row 2 y + a
    r = (pl.program_id(0) >> 1) * tile + jnp.arange(tile)
    image, y, x = split(r, side)
    o = jnp.arange(out)[None, :]

    def body(i, sums):  # row i of the 3 x 3 kernel
        sums = list(sums)
        w = [w_ref[3 * i + j] for j in range(3)]
        u = a + 1 - i  # the output's row less 2 y: -1, 0, 1 or 2
        row = y + (u >> 1)
        for shift in (-1, 0, 1):
            column = x + shift
            inside = (row >= 0) & (row < side) & (column >= 0) & (column < side)
            at = jnp.where(inside, (image * side + row) * side + column, 0)[:, None]
            d = gather(d_ref, at, o, inside[:, None])
            bits = gather(bits_ref, at, o, inside[:, None]).astype(jnp.int32) >> (2 * (u & 1))
            for dj in range(2):
                v = 2 * shift + dj  # the output's column less 2 x
                if -1 <= v <= 2:
                    g = unpool(d, bits, dj)
                    for b in range(2):  # the input's column is 2 x + b
                        if 0 <= b + 1 - v < 3:
                            sums[b] += dot(g, w[b + 1 - v], trans_b=True)
        return tuple(sums)

    sums = lax.fori_loop(0, 3, body, (jnp.zeros((tile, depth), jnp.float32),) * 2)
    for b in range(2):
        at = (image * 2 * side + 2 * y + a) * 2 * side + 2 * x + b
        scatter(dx_ref, at[:, None], jnp.arange(depth)[None, :], sums[b] * 0.25)


def _conv_dw_kernel(x_ref, d_ref, bits_ref, dw_ref, *, tile, side):
    """Owns a network; writes the gradient of w, (9 depth, out)."""
    depth, (rows, out) = x_ref.shape[-1], d_ref.shape
    o, c = jnp.arange(out), jnp.arange(depth)

    def body(number, dw):
        dw = list(dw)
        r = number * tile + jnp.arange(tile)
        d = gather(d_ref, r[None, :], o[:, None])
        bits = gather(bits_ref, r[None, :], o[:, None]).astype(jnp.int32)
        g = [unpool(d, bits, q) for q in range(4)]
        for u in range(4):
            for v in range(4):
                x = _shifted(x_ref, r, side, u, v)
                for q, (di, dj) in enumerate(QUAD):
                    if 0 <= u - di < 3 and 0 <= v - dj < 3:
                        dw[3 * (u - di) + v - dj] += dot(g[q], x)
        return tuple(dw)

    dw = lax.fori_loop(0, rows // tile, body, (jnp.zeros((out, depth), jnp.float32),) * 9)
    for i in range(9):
        scatter(dw_ref, i * depth + c[None, :], o[:, None], dw[i] * 0.25)


def _conv(x, w, b):
    """Pooled outputs and bits of a further layer."""
    n, batch, height, _, depth = x.shape
    side, out = height // 2, w.shape[-1]
    rows = batch * side * side
    tile, warps = _tuned("conv", rows)
    pooled, bits = call(
        _conv_kernel, "conv", (rows // tile, n), [whole(4 * rows, depth), whole(9, depth, out), whole(out)],
        [part(tile, out), part(tile, out)], [float_array(n, rows, out), byte_array(n, rows, out)],
        warps, tile=tile, side=side,
    )(x.reshape(n, 4 * rows, depth), w.reshape(n, 9, depth, out), b)  # fmt: skip
    return pooled.reshape(n, batch, side, side, out), bits


def _conv_forward(x, w, b):
    pooled, bits = _conv(x, w, b)
    return pooled, (x, w, bits)


def _conv_backward(saved, d):
    x, w, bits = saved
    n, rows, out = bits.shape
    side, depth = x.shape[2] // 2, x.shape[-1]
    d = d.reshape(bits.shape)
    tile, warps = _tuned("conv_dx", rows)
    dx = call(
        _conv_dx_kernel, "conv_dx", (2 * rows // tile, n),
        [whole(rows, out), whole(rows, out), whole(9, depth, out)], whole(4 * rows, depth),
        float_array(n, 4 * rows, depth), warps, tile=tile, side=side,
    )(d, bits, w.reshape(n, 9, depth, out))  # fmt: skip
    tile, warps = _tuned("conv_dw", rows)
    dw = call(
        _conv_dw_kernel, "conv_dw", (n,), [whole(4 * rows, depth), whole(rows, out), whole(rows, out)],
        whole(9 * depth, out), float_array(n, 9 * depth, out), warps, tile=tile, side=side,
    )(x.reshape(n, 4 * rows, depth), d, bits)  # fmt: skip
    db = 0.25 * jnp.sum(d * lax.population_count(bits).astype(jnp.float32), axis=1)
    return dx.reshape(x.shape), dw.reshape(w.shape), db


conv_pool.defvjp(_conv_forward, _conv_backward)
