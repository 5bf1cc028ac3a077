"""With one run an order but many orders: can order be told from noise?

A small ridge regression predicts the accuracy of an order from its last task, its ends, the positions of all tasks, or
positions and neighbors. Which of these, and how strongly it is shrunk, leave-one-out predictions choose. Shuffled
accuracies go through the same choice, so that p-values are those of a permutation test: where the order does nothing,
p < 0.05 in at most one of twenty cases, whatever the distribution of the accuracies. How well orders are predicted that
the model has not seen comes from folds that had no part in the choice.

Leave-one-out residuals of a ridge with hat matrix H and an intercept are (y - H y) / (1 - diag H).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taskorder.audit.order_features import FEATURES, NAMES, Effects, effects_of, feature_table, highest_order
from taskorder.audit.power import LEVEL
from taskorder.checks import Floats, Ints

FEWEST_ORDERS = 8
"""With fewer orders a shuffle of the accuracies says too little."""
MOST_TASKS = 40
MOST_SHUFFLES = 499
SHUFFLED_NUMBERS = 400_000
"""Orders times shuffles, at most."""
NUM_FOLDS = 10
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""In units of the mean square of a singular value."""


@dataclass(frozen=True)
class OrderModel:
    """What a small model says of orders, from one accuracy of each."""

    features: str
    """What it looks at: last task, ends, positions or neighbors."""
    p: float
    """How often shuffled accuracies are predicted as well."""
    num_shuffles: int
    r2: float
    """Share of the variance over orders that it predicts in orders it has not seen; negative if it only misleads."""
    error: float
    """Root mean square error of these predictions."""
    best: str
    """The order that is best by the model, whether or not it was run."""
    best_expected: float
    best_observed: float | None
    """None if it was not run."""
    luckiest: str
    """The order with the best observed accuracy."""
    luckiest_observed: float
    luckiest_expected: float
    predicted: tuple[float, ...]
    """The accuracies of the orders, best first as in `Audit.orders`, each predicted without the order itself."""

    @property
    def tells(self) -> bool:
        """Whether order can be told from noise, at 5 %."""
        return self.p < LEVEL

    @property
    def seen(self) -> str:
        """What the model looks at, in words."""
        return NAMES[self.features]


@dataclass(frozen=True, eq=False)
class _Ridge:
    """A feature table ready to be regressed on."""

    features: str
    mean: Floats
    left: Floats
    singular: Floats
    right: Floats

    @classmethod
    def of(cls, orders: Ints, features: str) -> _Ridge:
        table = feature_table(orders, features)
        mean = table.mean(axis=0)
        left, singular, right = np.linalg.svd(table - mean, full_matrices=False)
        kept = singular > 1e-9 * max(singular.max(initial=0.0), 1e-9)
        return cls(features, mean, left[:, kept], singular[kept], right[kept])

    def shrinkage(self, penalty: float) -> Floats:
        """What is left of each singular direction."""
        squares = self.singular**2
        return squares / (squares + penalty * squares.mean()) if len(squares) else squares

    def residuals(self, values: Floats, penalty: float) -> Floats:
        """(n, k) leave-one-out residuals of (n, k) values."""
        shrunk = self.left * self.shrinkage(penalty)
        leverage = 1 / len(values) + (shrunk * self.left).sum(axis=1)
        rest = values - values.mean(axis=0) - shrunk @ (self.left.T @ values)
        return np.asarray(rest / (1 - leverage)[:, None])

    def effects(self, values: Floats, penalty: float, num_tasks: int) -> Effects:
        """The fit to (n,) values."""
        shrunk = np.divide(self.shrinkage(penalty), self.singular)
        weights = self.right.T @ (shrunk * (self.left.T @ (values - values.mean())))
        return effects_of(weights, float(values.mean() - self.mean @ weights), num_tasks, self.features)


def order_model(
    orders: Sequence[Sequence[int]], values: Floats, names: Sequence[str], seed: int = 0
) -> OrderModel | None:
    """The model of (n,) accuracies of `orders` (task indices), best first; None where they are too few or all alike.

    `names` are what orders call the tasks.
    """
    table, num_tasks = np.array([*orders]), len(names)
    if len(table) < FEWEST_ORDERS or not 2 < num_tasks <= MOST_TASKS or np.ptp(values) < 1e-12:
        return None
    rng = np.random.default_rng(seed)
    num_shuffles = max(99, min(MOST_SHUFFLES, SHUFFLED_NUMBERS // len(values)))
    shuffled = np.stack([values, *(rng.permutation(values) for _ in range(num_shuffles))], axis=1)
    ridges = [_Ridge.of(table, features) for features in FEATURES]
    # the same choice for the accuracies as they are and as shuffled
    gains = np.stack([_gain(ridge, shuffled, penalty) for ridge in ridges for penalty in PENALTIES])
    best = gains.max(axis=0)
    choice = int(gains[:, 0].argmax())
    ridge, penalty = ridges[choice // len(PENALTIES)], PENALTIES[choice % len(PENALTIES)]
    predicted = _unseen(table, values, rng)
    effects = ridge.effects(values, penalty, num_tasks)
    positions = _Ridge.of(table, "positions").effects(values, penalty, num_tasks).positions
    # where tasks in between do not count for the model, the next larger one breaks ties
    tied = Effects(effects.base, effects.positions + 1e-6 * positions, effects.neighbors)
    chosen = highest_order(tied, table[:5].tolist())
    expected = effects.expected(np.array([chosen, table[0]]))
    run = {tuple(order): value for order, value in zip(table.tolist(), values.tolist(), strict=True)}
    squares = ((values - predicted) ** 2).mean()
    return OrderModel(
        features=ridge.features,
        p=float((best >= best[0] - 1e-12).mean()),
        num_shuffles=num_shuffles,
        r2=float(1 - squares / values.var()),
        error=float(np.sqrt(squares)),
        best=">".join(names[task] for task in chosen),
        best_expected=float(expected[0]),
        best_observed=run.get(chosen),
        luckiest=">".join(names[task] for task in table[0]),
        luckiest_observed=float(values[0]),
        luckiest_expected=float(expected[1]),
        predicted=tuple(predicted.tolist()),
    )


def _gain(ridge: _Ridge, values: Floats, penalty: float) -> Floats:
    """(k,) share of the variance that leave-one-out predictions explain, of (n, k) values."""
    num = len(values)
    alone = (values - values.mean(axis=0)) * num / (num - 1)
    return np.asarray(1 - (ridge.residuals(values, penalty) ** 2).sum(axis=0) / (alone**2).sum(axis=0))


def _unseen(orders: Ints, values: Floats, rng: np.random.Generator) -> Floats:
    """(n,) predictions, each from a model that was chosen and fitted without the order."""
    folds = rng.permutation(len(values)) % min(NUM_FOLDS, len(values))
    predicted = np.empty(len(values))
    for fold in range(folds.max() + 1):
        train, test = folds != fold, folds == fold
        if np.ptp(values[train]) < 1e-12:
            predicted[test] = values[train].mean()
            continue
        ridges = [_Ridge.of(orders[train], features) for features in FEATURES]
        options = [(ridge, penalty) for ridge in ridges for penalty in PENALTIES]
        gains = [float(_gain(ridge, values[train, None], penalty)[0]) for ridge, penalty in options]
        ridge, penalty = options[int(np.argmax(gains))]
        predicted[test] = ridge.effects(values[train], penalty, orders.shape[1]).expected(orders[test])
    return predicted
