"""Dense and convolutional layers in the forms that are fast for very many small networks.

At batch 4 a training step is bound by memory: the weights are read twice, and weights and both Adam moments are read
and written. The gradient of a dense layer is a sum of few outer products; written as such, XLA computes it inside the
Adam update and never stores it, which saves two passes out of ten. Which form of a convolution is the fastest depends
on the device: `conv_form` measures.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax

MAX_OUTER = 8
"""Up to this batch size the weight gradient of a dense layer is a sum of outer products, above it a matrix product."""


@jax.custom_vjp
def dense(x: Array, w: Array) -> Array:
    """x @ w, (batch, inputs) by (inputs, outputs)."""
    return x @ w


def _dense_forward(x: Array, w: Array) -> tuple[Array, tuple[Array, Array]]:
    return x @ w, (x, w)


def _dense_backward(saved: tuple[Array, Array], dy: Array) -> tuple[Array, Array]:
    x, w = saved
    if len(x) > MAX_OUTER:
        return dy @ w.T, x.T @ dy
    return dy @ w.T, functools.reduce(jnp.add, [x[b][:, None] * dy[b] for b in range(len(x))])


dense.defvjp(_dense_forward, _dense_backward)


def conv_native(x: Array, w: Array) -> Array:
    """3 x 3 convolution of (batch, height, width, channels) with zero padding, by XLA's own operator."""
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv_columns(x: Array, w: Array) -> Array:
    """The same as one matrix product of nine shifted copies."""
    batch, height, width, channels = x.shape
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifted = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    columns = jnp.concatenate(shifted, axis=-1).reshape(-1, 9 * channels)
    return (columns @ w.reshape(9 * channels, -1)).reshape(batch, height, width, -1)


def conv_shifts(x: Array, w: Array) -> Array:
    """The same as a sum of nine matrix products."""
    batch, height, width, channels = x.shape
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    parts = [
        padded[:, i : i + height, j : j + width].reshape(-1, channels) @ w[i, j] for i in range(3) for j in range(3)
    ]
    return functools.reduce(jnp.add, parts).reshape(batch, height, width, -1)


CONV_FORMS: dict[str, Callable[[Array, Array], Array]] = {
    "native": conv_native,
    "columns": conv_columns,
    "shifts": conv_shifts,
}


@functools.cache
def conv_form(backend: str = "") -> str:
    """The name of the form that trains fastest on this device, by measurement; a few seconds, once a process.

    On a CPU it is always columns, which `benchmarks/engine.py forms` finds the fastest: measured by a busy process, the
    choice would change from one to the next, and the last bits of the results with it.
    """
    if backend == "cpu":
        return "columns"
    networks = 4 if jax.default_backend() == "cpu" else 256
    times = {name: _seconds(form, networks) for name, form in CONV_FORMS.items()}
    return min(times, key=lambda name: times[name])


def _seconds(form: Callable[[Array, Array], Array], networks: int) -> float:
    """Seconds for a few training-like passes through the paper's second convolution."""
    keys = jax.random.split(jax.random.key(0))
    x = jax.random.normal(keys[0], (networks, 4, 16, 16, 32))
    w = jax.random.normal(keys[1], (networks, 3, 3, 32, 64)) / 17

    def passes(x: Array, w: Array) -> Array:
        def step(w: Array, _: None) -> tuple[Array, None]:
            g = jax.vmap(jax.grad(lambda w, x: (form(x, w) ** 2).mean()))(w, x)
            return w - 1e-3 * g, None

        return lax.scan(step, w, None, length=3)[0]

    run = jax.jit(passes)
    run(x, w).block_until_ready()
    best = float("inf")
    for _ in range(2):
        begin = time.perf_counter()
        run(x, w).block_until_ready()
        best = min(best, time.perf_counter() - begin)
    return best


def average_pool(x: Array) -> Array:
    """Means over 2 x 2 blocks of (batch, height, width, channels); an odd last row or column is left out."""
    batch, height, width, channels = x.shape
    even = x[:, : height // 2 * 2, : width // 2 * 2]
    return even.reshape(batch, height // 2, 2, width // 2, 2, channels).mean(axis=(2, 4))
