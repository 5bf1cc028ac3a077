"""Examples on the device in few shapes, so that little is compiled: numbers of them are padded to powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from taskorder.engine.train import Pool
from taskorder.learners.strategy import KeptExamples
from taskorder.task import Task, number_array, rows_of
from taskorder.task.mixed import parts_of

SMALLEST_BUCKET = 64
"""Numbers of examples are padded to at least this."""
KEPT_BUCKET, POOL_BUCKET, HEADS_BUCKET = 256, 1024, 16
"""The same for the old examples of a network, of a batch of them, and for heads: all grow with every task."""


def padded_count(count: int, least: int = 1) -> int:
    """The next power of two, at least `least`.

    >>> padded_count(5), padded_count(5, SMALLEST_BUCKET)
    (8, 64)
    """
    return max(least, 1 << (count - 1).bit_length())


def dense_array(inputs: Any) -> NDArray[Any]:
    """All inputs as an array of numbers: the engine has them on the device."""
    rows = rows_of(inputs)
    if hasattr(rows.values, "tocsr"):
        raise ValueError(
            "`inputs` must be dense for this learner, got a sparse matrix. Take SklearnLearner or TorchLearner, or "
            "write inputs.toarray()."
        )
    return number_array(rows[np.arange(len(rows))] if rows.values is rows else rows.values)


def on_device(inputs: NDArray[Any]) -> Array:
    """Bytes as bytes, all else in single precision."""
    return jnp.asarray(inputs if inputs.dtype == np.uint8 else np.asarray(inputs, np.float32))


def padded_pool(learner: Any, tasks: Sequence[Task], size: int, kept: Sequence[KeptExamples] = ()) -> Pool:
    """Tasks on the device, each padded to `size` rows, and behind them what was kept of others.

    Shapes, and with them shuffles, depend on little more than `size`.
    """
    new, old = ([learner.given(each.inputs) for each in some] for some in (tasks, kept))
    begin, count = len(tasks) * size, sum(map(len, old))
    room = padded_count(count, POOL_BUCKET) if old else 0
    inputs = np.zeros((begin + room, *new[0].shape[1:]), np.result_type(*new, *old))
    rows = np.arange(begin + -(-room // size) * size, dtype=np.int32).reshape(-1, size)
    labels = np.zeros(rows.shape, np.int32)
    for number, (task, array) in enumerate(zip(tasks, new, strict=True)):
        within = np.arange(size) % len(array)
        inputs[number * size : number * size + len(array)] = array
        rows[number], labels[number] = number * size + within, task.targets[within]
    if old:
        inputs[begin : begin + count] = np.concatenate(old)
        labels.flat[begin : begin + count] = np.concatenate([part.targets for part in kept])
    counts = np.array(list(map(len, new)), np.int32)
    pool = Pool(on_device(inputs), *map(jnp.asarray, (np.minimum(rows, len(inputs) - 1), labels, counts)))
    return _with_heads(pool, tasks, kept, learner.num_outputs(tasks[0])) if learner.heads == "task" else pool


def _with_heads(pool: Pool, tasks: Sequence[Task], kept: Sequence[KeptExamples], outputs: int) -> Pool:
    """The pool where only the classes of its own task compete for an example; tasks may be mixtures."""
    numbers: dict[tuple[int, ...], int] = {}

    def heads_of(parts: Sequence[tuple[NDArray[Any], int]]) -> NDArray[np.int32]:
        """The head of each example, out of classes and numbers of examples."""
        heads = [numbers.setdefault(tuple(classes.tolist()), len(numbers)) for classes, _ in parts]
        return np.repeat(np.array(heads, np.int32), [count for _, count in parts])

    own = np.zeros(pool.rows.shape, np.int32)
    for number, task in enumerate(tasks):
        parts = [(np.unique(part.targets), len(part.targets)) for part in parts_of(task)]
        own[number] = np.resize(heads_of(parts), own.shape[1])
    behind = heads_of([(part.own, len(part)) for part in kept])
    own[len(tasks) :].flat[: len(behind)] = behind
    allowed = np.zeros((padded_count(len(numbers), HEADS_BUCKET), outputs), bool)
    for classes, head in numbers.items():
        allowed[head] = class_mask(classes, outputs)
    return pool._replace(allowed=jnp.asarray(allowed), own=jnp.asarray(own))


def class_mask(classes: Sequence[int] | NDArray[Any], outputs: int) -> NDArray[np.bool_]:
    """(outputs,) which of them are for these classes."""
    return np.isin(np.arange(outputs), classes)
