"""Joint training: all tasks of a set mixed, in as many steps as orders take. It is what learning without order gives.

Every epoch shuffles the examples of all tasks together, and the steps of a task take the next slice of each of these
shuffles: in the end every example has come once an epoch, and after s tasks as many steps are done as in an order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import jax.numpy as jnp
import numpy as np

from taskorder.arguments import BadArgument
from taskorder.engine.train import Pool, Recipe
from taskorder.prefixes import Prefix


def mixed_pool(pool: Pool, sets: Sequence[Sequence[int]]) -> Pool:
    """A pool in which all tasks of a set are one: task k has the examples of the tasks `sets[k]`."""
    counts, length = np.asarray(pool.counts), pool.rows.shape[1]
    own = [np.concatenate([task * length + np.arange(counts[task]) for task in tasks]) for tasks in sets]
    most = max(map(len, own))
    examples = np.stack([np.pad(part, (0, most - len(part)), mode="wrap") for part in own])
    rows, labels = (np.asarray(part).reshape(-1)[examples] for part in (pool.rows, pool.labels))
    return Pool(
        inputs=pool.inputs,
        rows=jnp.asarray(rows),
        labels=jnp.asarray(labels),
        counts=jnp.asarray(np.array(list(map(len, own)), np.int32)),
        allowed=pool.allowed,
        own=None if pool.allowed is None else jnp.asarray(examples // length),
    )


def check_joint(recipe: Recipe, orders: Iterable[Prefix]) -> None:
    """An error where a recipe or an order has what means nothing without an order."""
    if recipe.strategy is not None:
        raise BadArgument(f"`strategy` must be None in joint training, got {recipe.strategy}.")
    if recipe.reset:
        raise BadArgument("`reset` must be False in joint training, which has no tasks to reset the optimizer at.")
    again = next((order for order in orders if len(set(order)) < len(order)), None)
    if again is not None:  # an epoch has every example once
        raise BadArgument(f"`orders` must have every task once in joint training, got {again}. Take more epochs.")
