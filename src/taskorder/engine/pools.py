"""Tasks as the engine wants them: one array of inputs on the device, and rows and labels of every task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from taskorder.checks import Ints
from taskorder.engine.losses import as_floats
from taskorder.engine.train import Pool

FEATURES_AT_ONCE = 256
"""Examples that go through the fixed part of a network together."""


def make_pool(
    inputs: NDArray[Any] | Array,
    rows: Sequence[Ints],
    labels: Sequence[NDArray[Any]],
    *,
    allowed: NDArray[np.bool_] | None = None,
    length: int = 0,
) -> Pool:
    """A pool of tasks: task t has the examples `rows[t]` of `inputs` with the labels `labels[t]`, at least one each.

    inputs: images are uint8, tokens uint8 or int32; all else becomes float32. allowed: (T, outputs) which outputs
    compete in each task; None for all of them. Equal shapes are compiled once: `length` is the least to pad the tasks
    to.
    """
    counts = [len(task_rows) for task_rows in rows]
    if not counts or min(counts) == 0:
        raise ValueError(f"`rows` must give every task at least one example, got {counts}.")
    n = max(length, *counts)

    numbers = np.result_type(*labels).kind == "f"

    def padded(parts: Sequence[NDArray[Any]], kind: type[np.number[Any]]) -> NDArray[Any]:
        return np.stack([np.pad(np.asarray(part, kind), (0, n - len(part)), mode="wrap") for part in parts])

    return Pool(
        inputs=jnp.asarray(inputs, inputs.dtype if inputs.dtype in (np.uint8, np.int32) else np.float32),
        rows=jnp.asarray(padded(rows, np.int32)),
        labels=jnp.asarray(padded(labels, np.float32 if numbers else np.int32)),
        counts=jnp.asarray(np.array(counts, np.int32)),
        allowed=None if allowed is None else jnp.asarray(allowed, bool),
    )


def frozen_features(features: Callable[[Array], Array], pool: Pool) -> Pool:
    """The pool with `features` of its inputs in their place: what stays fixed in training is computed once.

    features: a part of a network with parameters that do not change, from (batch, ...) inputs, images as numbers from
    0 to 1, to (batch, ...) features; the rest of the network is trained on them. Examples of no task are left out.
    """
    used, places = np.unique(np.asarray(pool.rows), return_inverse=True)
    size = min(FEATURES_AT_ONCE, len(used))
    parts = np.pad(used, (0, -len(used) % size), mode="edge").reshape(-1, size)
    found = lax.map(lambda rows: features(as_floats(pool.inputs[rows])), jnp.asarray(parts))
    inputs = found.reshape(-1, *found.shape[2:])[: len(used)]
    return pool._replace(inputs=inputs, rows=jnp.asarray(places.reshape(pool.rows.shape).astype(np.int32)))
