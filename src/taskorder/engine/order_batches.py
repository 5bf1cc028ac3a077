"""The batches of whole orders: which examples each step takes, of all tasks one after another."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Ints
from taskorder.engine.past import Lookback
from taskorder.engine.replay import draws, kept_places
from taskorder.engine.train import Pool, Recipe, shuffles
from taskorder.engine.tree import Curriculum, stream_key
from taskorder.prefixes import Prefix
from taskorder.strategies import Replay


class OrderBatches:
    """The examples of each step of the tasks of a curriculum, as `Pool.batch` reads them."""

    def __init__(self, train: Pool, curriculum: Curriculum, recipe: Recipe, lookback: Lookback | None) -> None:
        self._curriculum, self._lookback = curriculum, lookback
        self._examples: dict[tuple[int, int], Ints] = {}
        self._drawn: dict[tuple[int, int], Ints] = {}
        most = max((max(Counter(order).values(), default=1) for order in curriculum.orders), default=1)
        for visit in range(most):
            self._add_visit(train, recipe, visit)

    def _add_visit(self, train: Pool, recipe: Recipe, visit: int) -> None:
        """The examples of each task when it is visited again, after so many visits."""
        curriculum = self._curriculum
        tasks = jnp.asarray(curriculum.tasks)
        keys = jnp.stack([stream_key(curriculum.seed * 1000 + visit, k) for k in range(len(curriculum.tasks))])
        epochs = [jnp.asarray(epoch) for epoch in range(recipe.epochs)]
        orders = [np.asarray(shuffles(keys, tasks, train, epoch, recipe.batch_size)).swapaxes(0, 1) for epoch in epochs]
        extra = recipe.strategy.extra(recipe.batch_size) if isinstance(recipe.strategy, Replay) else 0
        drawn = [np.asarray(draws(keys, epoch, orders[0].shape[1], extra)).swapaxes(0, 1) for epoch in epochs]
        for position, task in enumerate(curriculum.tasks):
            count = int(train.counts[task])
            if count < recipe.batch_size:
                raise BadArgument(f"`batch_size` must be at most the {count} examples of the smallest task.")
            steps = count // recipe.batch_size
            within = np.concatenate([order[position, :steps] for order in orders])
            self._examples[position, visit] = task * train.rows.shape[1] + within
            self._drawn[position, visit] = np.concatenate([numbers[position, :steps] for numbers in drawn])

    def ends(self, order: Sequence[int]) -> list[int]:
        """After how many steps each task of an order ends."""
        return list(itertools.accumulate(len(self._examples[task, 0]) for task in order))

    def span(self, order: Prefix, first: int, length: int) -> Ints:
        """(length, batch) examples of an order from step `first` on; beyond its end, zeros that are never used.

        Those that replay adds come last; -1 where nothing is kept yet.
        """
        parts, begin = [], 0
        for step, position in enumerate(order):
            visit = position, order[:step].count(position)
            part, drawn = self._examples[visit], self._drawn[visit]
            low, high = max(first - begin, 0), min(first + length - begin, len(part))
            if low < high:
                old = np.full(drawn[low:high].shape, -1)
                if step > 0 and self._lookback is not None and old.size:
                    kept = self._lookback.kept(self._curriculum.tasks, self._curriculum.seed, order[:step])
                    old = kept[kept_places(drawn[low:high], np.array(len(kept)))]
                parts.append(np.concatenate([part[low:high], old], axis=1))
            begin += len(part)
        span = np.concatenate(parts)
        return np.pad(span, ((0, length - len(span)), (0, 0)))
