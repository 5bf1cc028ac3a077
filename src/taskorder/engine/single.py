"""Networks trained on one task each, and the similarities of tasks that they show.

Zero-shot transfer asks how the network of one task does on another (see tables/loss_ratios.py). Curvature asks how
much the loss of A would rise if the network of A took the step that B wants: with g the gradient of B's loss and H the
Hessian of A's loss, both at the network of A, the similarity is -g.H.g, averaged over both directions.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from taskorder.checks import Floats
from taskorder.engine.evaluate import evaluate
from taskorder.engine.nets import Net, Params
from taskorder.engine.train import Pool, State
from taskorder.engine.tree import Branch, Curriculum, tasks_of, walk

CURVATURE = "curvature"
"""The name of its table."""
CURVATURE_BATCH = 4096
"""Examples of a task that curvature sees at once, of all networks together."""


def single_tasks(tasks: Sequence[int], seed: int = 0) -> Curriculum:
    """Every task alone: the first level of the order tree."""
    return Curriculum(tuple(tasks), tuple((task,) for task in range(len(tasks))), seed)


def transfer_tables(
    net: Net,
    train: Pool,
    curricula: Sequence[Curriculum],
    pools: Mapping[str, Pool],
    curvature: Pool | None = None,
    **options: Any,
) -> list[dict[str, dict[str, Floats]]]:
    """For each curriculum of single tasks, for each of `pools`, (P, P) tables: row A, column B is network A on task B.

    A pool gives the tables accuracy, loss and chance; `curvature` one more entry with the table value. `options` go to
    `tree.walk`.
    """
    measured: list[dict[str, dict[str, Floats]]] = [{} for _ in curricula]

    def put(name: str, kind: str, branches: Sequence[Branch], table: Array) -> None:
        for branch, row in zip(branches, np.asarray(table, np.float64), strict=False):
            tables = measured[branch.curriculum].setdefault(name, {})
            tables.setdefault(kind, np.zeros((len(row), len(row))))[branch.prefix[0]] = row

    def measure(branches: Sequence[Branch], state: State) -> None:
        if not branches[0].prefix:
            return
        tasks = tasks_of(curricula, branches, state)
        for name, pool in pools.items():
            for kind, table in evaluate(net, state.params, pool, tasks)._asdict().items():
                put(name, kind, branches, table)
        if curvature is not None:
            places = np.array([branch.prefix[0] for branch in branches])
            own = tasks[jnp.arange(len(tasks)), jnp.asarray(np.pad(places, (0, len(tasks) - len(places)), mode="edge"))]
            columns = [_curvature(net, state.params, curvature, own, other) for other in tasks.T]
            put(CURVATURE, "value", branches, jnp.stack(columns, axis=1))

    walk(net, train, curricula, measure, **options)
    return measured


@functools.partial(jax.jit, static_argnames=("net",))
def _curvature(net: Net, params: Params, pool: Pool, own: Array, other: Array) -> Array:
    """(N,) -g.H.g of N networks: g from task `other[i]`, H from task `own[i]`."""
    size = max(1, min(pool.rows.shape[1], CURVATURE_BATCH // len(own)))

    def similarity(params: Params, own: Array, other: Array) -> Array:
        direction = mean_gradient(net, params, pool, other, size)
        _, bent = jax.jvp(lambda p: mean_gradient(net, p, pool, own, size), (params,), (direction,))
        products = jax.tree.map(lambda g, b: (g * b).sum(), direction, bent)
        return -functools.reduce(jnp.add, jax.tree.leaves(products))

    return jax.vmap(similarity)(params, own, other)


def mean_gradient(net: Net, params: Params, pool: Pool, task: Array, size: int) -> Params:
    """The gradient of the mean loss over all examples of a task, for one network; `size` examples at a time."""
    n = pool.rows.shape[1]

    def chunk_loss(params: Params, begin: Array) -> Array:
        places = begin + jnp.arange(size)
        within = jnp.minimum(places, n - 1)
        x = pool.inputs[pool.rows[task, within]]
        allowed = None if pool.allowed is None else pool.allowed[task, None]
        losses = net.loss.losses(net.apply(params, net.loss.read(x)), x, pool.labels[task, within], allowed)
        return (losses * (places < pool.counts[task])).sum()

    def add(total: Any, begin: Array) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, jax.grad(chunk_loss)(params, begin)), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    total, _ = lax.scan(add, zeros, jnp.arange(-(-n // size)) * size)
    return jax.tree.map(lambda leaf: leaf / pool.counts[task], total)
