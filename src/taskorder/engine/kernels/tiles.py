"""What the GPU kernels share: how they are called, and tiles of matrices and images."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def call(kernel, name, grid, in_specs, out_specs, out_shape, warps, *, aliases=(), **constants):
    """The kernel as a function of arrays, on a grid of programs; interpreted where there is no GPU (tests do that)."""
    return pl.pallas_call(
        functools.partial(kernel, **constants),
        name=name, grid=grid, in_specs=in_specs, out_specs=out_specs, out_shape=out_shape,
        input_output_aliases=dict(aliases),
        compiler_params=plt.CompilerParams(num_warps=warps, num_stages=1),
        interpret=jax.default_backend() != "gpu",
    )  # fmt: skip


def whole(*shape):
    """A block that is all of one network's array; the network is the last axis of the grid."""
    return pl.BlockSpec((None, *shape), lambda *place: (place[-1],) + (0,) * len(shape))


def part(rows, width):
    """A block of `rows` rows of one network's matrix, numbered by the first axis of the grid."""
    return pl.BlockSpec((None, rows, width), lambda i, network: (network, i, 0))


def float_array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def byte_array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.uint8)


def dot(a, b, **options):
    return plt.dot(a, b, precision=lax.Precision.DEFAULT, **options)


def gather(ref, rows, columns, inside=None):
    """ref[rows, columns] as a tile, zero where not `inside`."""
    rows, columns = jnp.broadcast_arrays(rows, columns)
    if inside is None:
        return plt.load(ref.at[rows, columns])
    return plt.load(ref.at[rows, columns], mask=jnp.broadcast_to(inside, rows.shape), other=jnp.zeros((), ref.dtype))


def scatter(ref, rows, columns, values, inside=None):
    """Write values to ref[rows, columns], where `inside`."""
    rows, columns = jnp.broadcast_arrays(rows, columns)
    plt.store(ref.at[rows, columns], values, mask=None if inside is None else jnp.broadcast_to(inside, rows.shape))


def log2(number):
    if number & (number - 1):
        raise ValueError(f"sides and channels must be powers of two for the kernels, got {number}.")
    return number.bit_length() - 1


def split(pixel, side):
    """Image, row and column of a pooled pixel; an image has side x side of them."""
    k = log2(side)
    return pixel >> (2 * k), (pixel >> k) & (side - 1), pixel & (side - 1)


def relu_pool(outputs):
    """Mean of the ReLU of the four outputs of a quad, and their signs as bits of a byte."""
    pooled = sum(jnp.maximum(tile, 0.0) for tile in outputs) * 0.25
    bits = sum(jnp.where(tile > 0, 1 << q, 0) for q, tile in enumerate(outputs))
    return pooled, bits.astype(jnp.uint8)


def unpool(d, bits, q):
    """Gradient at output q of each quad, but for the factor 1/4, from that at the pooled pixel."""
    return jnp.where((bits & (1 << q)) != 0, d, 0.0)
