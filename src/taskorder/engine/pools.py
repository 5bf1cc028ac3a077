"""Tasks as the engine wants them: one array of inputs on the device, and rows and labels of every task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from taskorder.checks import Ints
from taskorder.engine.train import Pool


def make_pool(inputs: NDArray[Any] | Array, rows: Sequence[Ints], labels: Sequence[Ints], *, length: int = 0) -> Pool:
    """A pool of tasks: task t has the examples `rows[t]` of `inputs` with the labels `labels[t]`, at least one each.

    Equal shapes are compiled once: `length` is the least to pad the tasks to.
    """
    counts = [len(task_rows) for task_rows in rows]
    if not counts or min(counts) == 0:
        raise ValueError(f"`rows` must give every task at least one example, got {counts}.")
    n = max(length, *counts)

    def padded(parts: Sequence[Ints]) -> NDArray[np.int32]:
        return np.stack([np.pad(np.asarray(part, np.int32), (0, n - len(part)), mode="wrap") for part in parts])

    return Pool(
        inputs=jnp.asarray(inputs, np.uint8 if inputs.dtype == np.uint8 else np.float32),
        rows=jnp.asarray(padded(rows)),
        labels=jnp.asarray(padded(labels)),
        counts=jnp.asarray(np.array(counts, np.int32)),
    )
