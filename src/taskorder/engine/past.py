"""What a strategy knows of the tasks that came before, as arrays with a row for each network.

All of it follows from the prefix of an order; what does not, such as the matrix of EWC, is in `State.memory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.checks import Ints
from taskorder.engine.losses import SquaredError
from taskorder.engine.nets import Net, Params
from taskorder.engine.replay import Keeper, check_kept
from taskorder.engine.train import Pool, Recipe
from taskorder.prefixes import Prefix
from taskorder.strategies import EWC, Distill, L2Init, Replay, Strategy


class Past(NamedTuple):
    """Of N networks; None for what their strategy does not need."""

    kept: tuple[Array, Array] | None = None
    """(N, M) examples that replay has kept, as `Pool.batch` reads them, and (N,) how many they are: what follows in a
    row is not used."""
    heads: Array | None = None
    """(N, H, outputs) which outputs each old head has."""

    @classmethod
    def of_examples(cls, kept: Sequence[Ints], most: int) -> Past:
        """That of networks for which replay has kept these examples, at most so many."""
        return cls(kept=(_padded(kept, most, np.int32), jnp.asarray(np.array(list(map(len, kept)), np.int32))))

    @classmethod
    def of_heads(cls, heads: Sequence[NDArray[np.bool_]], most: int) -> Past:
        """That of networks with these old heads, at most so many."""
        return cls(heads=_padded(heads, most, bool))

    def take(self, rows: Array) -> Past:
        """That of the networks at `rows`."""
        return Past(*jax.tree.map(lambda leaf: leaf[rows], tuple(self)))


class Lookback:
    """Makes the past of networks from the prefixes that they have learned."""

    def __init__(self, recipe: Recipe, pool: Pool, sets: Sequence[tuple[int, ...]], used: NDArray[np.bool_]) -> None:
        """sets: the tasks of each set. used: (T, outputs) the outputs that the labels of each task have."""
        self._strategy, self._used = recipe.strategy, used
        self._allowed = None if pool.allowed is None else np.asarray(pool.allowed)
        self._keeper = Keeper(recipe.strategy, pool) if isinstance(recipe.strategy, Replay) else None
        self._most = max(map(self._keeper.most, sets)) if self._keeper else 0
        if isinstance(recipe.strategy, Replay):
            check_kept(self._most, recipe.strategy.extra(recipe.batch_size))
        self._num_heads = 1 if self._allowed is None else max(map(len, sets))

    def kept(self, tasks: Sequence[int], seed: int, prefix: Prefix) -> Ints:
        """The examples that replay has kept."""
        return self._keeper.of_prefix(tasks, seed, prefix) if self._keeper else np.empty(0, np.int64)

    def of(self, learned: Sequence[tuple[Sequence[int], int, Prefix]]) -> Past:
        """The past of networks, each with the tasks of its set, its seed and what it has learned."""
        if self._keeper is not None:
            return Past.of_examples([self.kept(*each) for each in learned], self._most)
        if isinstance(self._strategy, Distill):
            old = [[tasks[position] for position in dict.fromkeys(prefix)] for tasks, _, prefix in learned]
            allowed = self._allowed
            heads = [np.atleast_2d(self._used[own].any(axis=0)) if allowed is None else allowed[own] for own in old]
            return Past.of_heads(heads, self._num_heads)
        return Past()


def _padded(rows: Sequence[NDArray[Any]], most: int, kind: type) -> Array:
    """(N, most, ...) rows of different lengths, which may be 0, with zeros behind."""
    table = np.zeros((len(rows), most, *rows[0].shape[1:]), kind)
    for place, own in zip(table, rows, strict=True):
        place[: len(own)] = own
    return jnp.asarray(table)


def first_memory(strategy: Strategy | None, params: Params) -> Params:
    """What the strategy keeps of fresh networks beside their state."""
    if isinstance(strategy, EWC):
        return jax.tree.map(jnp.zeros_like, params)
    return jax.tree.map(jnp.array, params) if isinstance(strategy, L2Init) else ()


def check_strategy(net: Net, strategy: Strategy | None) -> None:
    """An error where the strategy means nothing for such a network."""
    if isinstance(strategy, Distill) and isinstance(net.loss, SquaredError):
        raise BadArgument(f"`strategy` must be another one where labels are numbers, got {strategy}. Take Replay(20).")
