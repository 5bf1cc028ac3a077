"""Examples on the device in few shapes, so that little is compiled: numbers of them are padded to powers of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from taskorder.engine.train import Pool
from taskorder.learners.jax_training import Heads, OldPool
from taskorder.learners.strategy import KeptExamples, Old
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


def padded_pool(tasks: Sequence[Task], size: int, given: Callable[[Any], NDArray[Any]] = dense_array) -> Pool:
    """The tasks on the device, each padded to `size` rows: shapes, and with them shuffles, depend on nothing else.

    given: from rows to what the network is given.
    """
    counts = [len(task.targets) for task in tasks]
    arrays = [given(task.inputs) for task in tasks]
    inputs = np.zeros((len(tasks) * size, *arrays[0].shape[1:]), np.result_type(*arrays))
    rows = np.empty((len(tasks), size), np.int32)
    labels = np.empty((len(tasks), size), np.int32)
    for number, (task, count) in enumerate(zip(tasks, counts, strict=True)):
        inputs[number * size : number * size + count] = arrays[number]
        within = np.arange(size) % count
        rows[number] = number * size + within
        labels[number] = task.targets[within]
    return Pool(on_device(inputs), jnp.asarray(rows), jnp.asarray(labels), jnp.asarray(np.array(counts, np.int32)))


class HeadNumbers:
    """The outputs that examples are about, each set of classes once."""

    def __init__(self, learner: Any, outputs: int) -> None:
        self.learner, self.outputs = learner, outputs
        self._numbers: dict[bytes, int] = {}
        self._allowed: list[NDArray[np.bool_]] = []

    def of(self, classes: NDArray[Any]) -> int:
        """The number of a head."""
        number = self._numbers.setdefault(classes.tobytes(), len(self._numbers))
        if number == len(self._allowed):
            self._allowed.append(class_mask(classes, self.outputs))
        return number

    def of_tasks(self, tasks: Sequence[Task], size: int) -> NDArray[np.int32] | None:
        """(T, size) the head of each example of a pool, whose tasks may be mixtures; None where all outputs compete."""
        if self.learner.heads != "task":
            return None
        rows = []
        for task in tasks:
            own = [np.full(len(part.targets), self.of(np.unique(part.targets)), np.int32) for part in parts_of(task)]
            rows.append(np.resize(np.concatenate(own), size))
        return np.stack(rows)

    def heads(self, new: NDArray[np.int32] | None) -> Heads | None:
        """All of them, on the device."""
        if new is None:
            return None
        allowed = np.zeros((padded_count(len(self._allowed), HEADS_BUCKET), self.outputs), bool)
        allowed[: len(self._allowed)] = self._allowed
        return Heads(jnp.asarray(allowed), jnp.asarray(new))


def class_mask(classes: NDArray[Any], outputs: int) -> NDArray[np.bool_]:
    """(outputs,) which of them are for these classes."""
    return np.isin(np.arange(outputs), classes)


def old_pool(olds: Sequence[Old], keys: Array, heads: HeadNumbers) -> OldPool:
    """What N networks have kept; examples that several of them share are on the device once."""
    distinct: dict[int, KeptExamples] = {id(part): part for old in olds for part in old.parts}
    begins = dict(zip(distinct, np.cumsum([0, *map(len, distinct.values())]).tolist(), strict=False))
    inputs = np.concatenate([heads.learner.given(part.inputs) for part in distinct.values()])
    padded = np.zeros((padded_count(len(inputs), POOL_BUCKET), *inputs.shape[1:]), inputs.dtype)
    padded[: len(inputs)] = inputs
    counts = [len(old.targets) for old in olds]
    rows, labels, numbers = (np.zeros((len(olds), padded_count(max(counts), KEPT_BUCKET)), np.int32) for _ in range(3))
    for network, (old, count) in enumerate(zip(olds, counts, strict=True)):
        rows[network, :count] = np.concatenate([begins[id(part)] + np.arange(len(part)) for part in old.parts])
        labels[network, :count] = old.targets
        if heads.learner.heads == "task":
            numbers[network, :count] = np.concatenate([np.full(len(part), heads.of(part.own)) for part in old.parts])
    return OldPool(
        on_device(padded), jnp.asarray(rows), jnp.asarray(labels), jnp.asarray(numbers),
        jnp.asarray(np.array(counts, np.int32)), keys,
    )  # fmt: skip
