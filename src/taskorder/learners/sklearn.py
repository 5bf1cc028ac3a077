"""Any scikit-learn classifier with `partial_fit`: MLP, SGD, Perceptron, passive-aggressive, naive Bayes.

One epoch is one pass of `partial_fit` over the examples in a new random order, which depends on the seed, the task and
the visit, not on what was learned before. Naive Bayes counts examples, so the order of tasks does not change it.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Floats, positive_count, seed_number
from taskorder.learners.protocol import ByClass, inputs_as_floats, same_classes
from taskorder.task import Task

SMALLEST = 1e-15
"""Probabilities below this count as this, so that one sure mistake does not make a loss infinite."""


@dataclass
class SklearnModel:
    """An estimator in training."""

    estimator: Any
    seed: int
    seen: tuple[str, ...] = ()
    """Names of the tasks learned so far."""
    classes: tuple[Hashable, ...] = ()


class SklearnLearner(ByClass):
    """A scikit-learn classifier with `partial_fit`; every model is a clone of it.

    Parameters
    ----------
    estimator : estimator
        The loss is cross-entropy where it has `predict_proba`, else the share of errors.
    epochs : int
        Passes over the examples of a task.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from taskorder import Task
    >>> learner = SklearnLearner(GaussianNB())
    >>> task = Task("signs", [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> learner.accuracy(learner.fit(learner.make(seed=0), task), task)
    1.0
    """

    def __init__(self, estimator: Any, epochs: int = 5) -> None:
        if not hasattr(estimator, "partial_fit") or not hasattr(estimator, "predict"):
            raise ValueError(
                f"`estimator` must be a classifier with partial_fit, got {type(estimator).__name__}. "
                "Take MLPClassifier or SGDClassifier(loss='log_loss'), for example."
            )
        self.estimator = estimator
        self.epochs = positive_count(epochs, "epochs")
        self.has_probabilities = hasattr(estimator, "predict_proba")
        self.note = (
            "" if self.has_probabilities else "losses are shares of errors: the estimator gives no probabilities"
        )

    def make(self, seed: int) -> SklearnModel:
        """A clone with this random state."""
        from sklearn.base import clone

        estimator = clone(self.estimator)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed_number(seed))
        return SklearnModel(estimator, seed)

    def fit(self, model: SklearnModel, task: Task) -> SklearnModel:
        """Train on; changes the model."""
        model.classes = same_classes(model.classes, task)
        inputs, classes = _rows(task.inputs), np.arange(len(model.classes))
        rng = np.random.default_rng([model.seed, zlib.crc32(task.name.encode()), model.seen.count(task.name)])
        for _ in range(self.epochs):
            order = rng.permutation(len(inputs))
            model.estimator.partial_fit(inputs[order], task.targets[order], classes=classes)
        model.seen += (task.name,)
        return model

    def losses_by_class(self, model: SklearnModel, inputs: NDArray[Any]) -> Floats:
        """Minus the log probabilities; without probabilities 0 for the predicted class and 1 for the others."""
        rows = _rows(inputs)
        if self.has_probabilities:
            return np.asarray(-np.log(np.maximum(model.estimator.predict_proba(rows), SMALLEST)))
        return np.asarray(1.0 - np.eye(len(model.classes))[model.estimator.predict(rows)])

    def copy(self, model: SklearnModel) -> SklearnModel:
        """An independent copy."""
        return copy.deepcopy(model)

    def describe(self) -> str:
        """The estimator with all its settings."""
        import sklearn

        settings = sorted(self.estimator.get_params().items())
        return f"sklearn {sklearn.__version__} {type(self.estimator).__name__} {settings} epochs={self.epochs}"


def _rows(inputs: NDArray[Any]) -> NDArray[Any]:
    return inputs_as_floats(inputs).reshape(len(inputs), -1)
