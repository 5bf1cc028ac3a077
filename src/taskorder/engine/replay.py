"""Replay: each step takes b new examples and e kept ones of earlier tasks, and the loss is the mean over all of them.

    loss = (sum of the losses of the new + sum of the losses of the kept) / (b + e),    e = Replay(...).extra(b)

Every example of a task has a random priority that depends on the seed, the task and the visit alone. Those of the
highest stay: balanced, `kept` of each class of a task; reservoir, of all tasks together `kept` times the number of
classes of the set. So what is kept follows from the prefix of an order, whatever networks are trained beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.prefixes import Prefix
from taskorder.strategies import Replay

if TYPE_CHECKING:
    from taskorder.engine.train import Pool


class Keeper:
    """Which examples of the tasks of a pool are kept, as numbers that `Pool.batch` reads."""

    def __init__(self, settings: Replay, pool: Pool) -> None:
        self._settings, self._length = settings, pool.rows.shape[1]
        self._labels, self._counts = np.asarray(pool.labels), np.asarray(pool.counts)
        self._kept: dict[tuple[int, int, int, int, int], tuple[Ints, Floats]] = {}

    def most(self, tasks: Sequence[int]) -> int:
        """The most examples that can be kept of a set of tasks; those that have fewer are kept whole."""
        classes = [np.unique(self._own(task), return_counts=True)[1] for task in tasks]
        if self._settings.memory == "reservoir":
            return min(self._room(tasks), sum(int(sizes.sum()) for sizes in classes))
        return sum(int(np.minimum(sizes, self._settings.kept).sum()) for sizes in classes)

    def of_prefix(self, tasks: Sequence[int], seed: int, prefix: Prefix) -> Ints:
        """The examples that are kept after a prefix of an order; of a repeated task those of the last visit."""
        room = self._room(tasks)
        parts = [
            self._of_task(tasks[position], seed, position, prefix.count(position), room)
            for position in dict.fromkeys(prefix)
        ]
        if not parts:
            return np.empty(0, np.int64)
        examples, priorities = (np.concatenate(part) for part in zip(*parts, strict=True))
        if self._settings.memory == "reservoir" and len(examples) > room:
            examples = examples[np.sort(np.argsort(-priorities, kind="stable")[:room])]
        return examples

    def _of_task(self, task: int, seed: int, position: int, visit: int, room: int) -> tuple[Ints, Floats]:
        """The examples of a task that may stay, and their priorities."""
        key = task, seed, position, visit, room  # sets that share a task may have different room
        if key not in self._kept:
            labels = self._own(task)
            priority = np.random.default_rng([seed, position, visit]).random(len(labels))
            ranked = np.argsort(-priority, kind="stable")
            if self._settings.memory == "reservoir":
                chosen = ranked[:room]
            else:
                by_class = [ranked[labels[ranked] == label][: self._settings.kept] for label in np.unique(labels)]
                chosen = np.concatenate(by_class)
            chosen = np.sort(chosen)
            self._kept[key] = task * self._length + chosen, priority[chosen]
        return self._kept[key]

    def _own(self, task: int) -> Ints:
        """The classes of the examples of a task; where labels are numbers there is one."""
        labels = self._labels[task, : self._counts[task]]
        return labels if labels.dtype.kind in "iu" else np.zeros(len(labels), np.int64)

    def _room(self, tasks: Sequence[int]) -> int:
        """How many examples a reservoir holds."""
        return self._settings.kept * sum(len(np.unique(self._own(task))) for task in tasks)


def draws(keys: Array, epoch: Array, num_steps: int, extra: int) -> Array:
    """(steps, S, extra) random uint16 that tell which kept examples join; apart from the shuffles of the tasks."""

    def of_stream(key: Array) -> Array:
        return jax.random.bits(jax.random.fold_in(jax.random.fold_in(key, epoch), 1), (num_steps, extra), jnp.uint16)

    return jax.vmap(of_stream, out_axes=1)(keys)


def kept_places(drawn: Any, counts: Any) -> Any:
    """(..., extra) places among `counts` (...) kept examples: one from each of `extra` equal parts of the memory.

    All examples are equally likely, and the tasks, which follow each other in the memory, come evenly. Whole numbers,
    so that NumPy and JAX agree: floor((j + drawn / 2^16) counts / extra).
    """
    extra, counts, drawn = drawn.shape[-1], counts[..., None].astype(np.uint32), drawn.astype(np.uint32)
    high, low = counts >> np.uint32(16), counts & np.uint32(0xFFFF)  # a product of more than 32 bits in two parts
    within = drawn * high + ((drawn * low) >> np.uint32(16))
    return ((np.arange(extra, dtype=np.uint32) * counts + within) // np.uint32(extra)).astype(np.int32)


def check_kept(count: int, extra: int) -> None:
    """An error where draws of 16 bits cannot tell so many kept examples of a network, or places overflow 32 bits."""
    most = min(extra << 16, (1 << 32) // extra - 1)
    if count > most:
        raise BadArgument(f"`kept` must make at most {most} kept examples in all, got {count}.")
