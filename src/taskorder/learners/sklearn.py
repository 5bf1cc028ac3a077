"""Any scikit-learn classifier or regressor with `partial_fit`: MLP, SGD, Perceptron, passive-aggressive, naive Bayes.

Or a Pipeline that ends with one. Its other steps only transform, so they need no fitting (HashingVectorizer) or are
fitted already; models share them. One epoch is one pass of `partial_fit` over the examples in a new random order, which
depends on the seed, the task and the visit, not on what was learned before. Naive Bayes counts examples, so the order
of tasks does not change it.

With replay a pass holds old examples, too, as many for each new one as in the batches of a network, mixed at random. An
estimator that learns in batches (MLPClassifier) gets larger ones for it, with as many new examples as before.

Estimators work with one thread of BLAS, so that the number of cores changes no loss.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
import zlib
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from taskorder.checks import Floats, positive_count, seed_number
from taskorder.learners.protocol import ByClass, few, inputs_as_floats, same_classes
from taskorder.learners.strategy import Old, OwnStrategy, Strategic
from taskorder.machine import one_blas_thread
from taskorder.strategies import Strategy
from taskorder.task import Rows, Task, rows_of
from taskorder.task.joined import joined

SMALLEST = 1e-15
"""Probabilities below this count as this, so that one sure mistake does not make a loss infinite."""
KEPT = 64
"""Transformed inputs that are kept: those of so many samples."""
LARGEST_AUTO = 200
"""What MLPClassifier takes for a batch size of "auto", where there are so many examples."""


@dataclass
class SklearnModel:
    """An estimator in training."""

    estimator: Any
    """The last step, where the learner is a Pipeline."""
    seed: int
    seen: tuple[str, ...] = ()
    """Names of the tasks learned so far."""
    classes: tuple[Hashable, ...] = ()
    steps: tuple[Any, ...] = ()
    """What transforms inputs before they come to the estimator."""
    memory: Any = None
    """What the strategy remembers; copies share it."""
    by_name: bool = False
    """Whether the estimator knows classes by their names, not by their places: one that somebody else has fitted."""


class SklearnLearner(Strategic, ByClass):
    """A scikit-learn estimator with `partial_fit`, or a Pipeline that ends with one; every model is a clone of it.

    Inputs of all kinds reach the estimator as they are, sparse matrices sparse and DataFrames with their columns.

    Parameters
    ----------
    estimator : estimator
        A classifier: the loss is cross-entropy where it has `predict_proba`, else the share of errors. A regressor: the
        loss is the mean squared error, and guessing is the variance. Steps of a Pipeline before the last one must be
        fitted, or be such as need no fitting.
    epochs : int
        Passes over the examples of a task.
    strategy : Replay or object, optional
        What to do against forgetting: `Replay(20)` mixes examples of old tasks into the passes over new ones. Or an
        object of yours (`OwnStrategy`).

    Examples
    --------
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from taskorder import Task
    >>> learner = SklearnLearner(make_pipeline(HashingVectorizer(n_features=64), SGDClassifier(loss="log_loss")))
    >>> task = Task("mail", ["where is it?", "thank you", "it is late", "thank you all"], ["order", "praise"] * 2)
    >>> learner.accuracy(learner.fit(learner.make(seed=0), task), task)
    1.0
    """

    def __init__(self, estimator: Any, epochs: int = 5, *, strategy: Strategy | OwnStrategy | None = None) -> None:
        self.steps, self.last = _parts(estimator)
        if not hasattr(self.last, "partial_fit") or not hasattr(self.last, "predict"):
            raise ValueError(
                f"`estimator` must be a classifier with partial_fit, got {type(self.last).__name__}. "
                "Take MLPClassifier or SGDClassifier(loss='log_loss'), for example; SGDRegressor for numbers."
            )
        for step in self.steps:
            _check_fitted(
                step,
                "`estimator` must have steps before the last one that are fitted or need no fitting, got",
                f"Fit it first, to the inputs of all tasks: {type(step).__name__}(...).fit(inputs).",
            )
        self.estimator = estimator
        self.epochs = positive_count(epochs, "epochs")
        self.predicts_numbers = _is_regressor(self.last)
        self.has_probabilities = hasattr(self.last, "predict_proba")
        self.note = (
            ""
            if self.has_probabilities or self.predicts_numbers
            else "losses are shares of errors: the estimator gives no probabilities"
        )
        self._kept: dict[tuple[int, ...], tuple[Any, Any, Rows]] = {}
        self._set_strategy(strategy)

    def make(self, seed: int) -> SklearnModel:
        """A clone with this random state."""
        from sklearn.base import clone

        estimator = clone(self.last)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed_number(seed))
        return SklearnModel(estimator, seed, steps=self.steps)

    def adopt(self, given: Any, classes: tuple[Hashable, ...]) -> SklearnModel:
        """A copy of a fitted estimator, of a Pipeline that ends with one, or of a model of this learner."""
        if isinstance(given, SklearnModel):
            self._check_memory(given.memory)
            return self.copy(given)
        steps, last = _parts(given)
        if isinstance(given, type) or not hasattr(last, "predict"):
            raise ValueError(f"`model` must be a fitted estimator of scikit-learn, got {type(given).__name__}.")
        _check_fitted(last, "`model` must be fitted, got", "Fit it first, on the tasks that it has learned.")
        for step in steps:
            _check_fitted(step, "`model` must have fitted steps, got", "")
        known = [] if _is_regressor(last) else np.asarray(last.classes_).tolist()
        if classes and not set(known) & set(classes):
            raise ValueError(
                f"`model` must know some of the classes of the tasks ({few(classes)}), got a model of {few(known)}. "
                "Fit it on the same labels."
            )
        own = copy.deepcopy(last)
        if own.get_params(deep=False).get("random_state", 0) is None:
            own.set_params(random_state=0)  # the same again where it learns on
        return SklearnModel(own, 0, classes=classes, steps=steps or self.steps, by_name=True)

    @one_blas_thread()
    def fit(self, model: SklearnModel, task: Task) -> SklearnModel:
        """Train on; changes the model."""
        model.classes = same_classes(model.classes, task, numbers=self.predicts_numbers)
        rows, targets, options = self._features(task.inputs, model.steps), task.targets, {}
        if not self.predicts_numbers:
            options = {"classes": _known_names(model)}
            targets = _names_of(model, task.classes, targets)
        visit = model.seen.count(task.name)
        rng = np.random.default_rng([model.seed, zlib.crc32(task.name.encode()), visit])
        old = self._old(model.memory, model.seed, task.name, visit)
        kept = None if old is None else self._kept_examples(model, old)
        with _larger_batches(model.estimator, len(rows), old) as num_old:
            for _ in range(self.epochs):
                order = rng.permutation(len(rows))
                some, labels = rows[order], targets[order]
                if old is not None and kept is not None:
                    some, labels = _mixed((some, labels), kept, old, num_old)
                model.estimator.partial_fit(some, labels, **options)
        model.memory = self._remembered(model, task, visit)
        model.seen += (task.name,)
        return model

    def _kept_examples(self, model: SklearnModel, old: Old) -> tuple[Rows, Any]:
        """Old examples as they come to the estimator."""
        rows = self._prepared(old.inputs, model.steps)
        return rows, old.targets if self.predicts_numbers else _names_of(model, model.classes, old.targets)

    @one_blas_thread()
    def losses_by_class(self, model: SklearnModel, inputs: Any) -> Floats:
        """Minus the log probabilities; without probabilities 0 for the predicted class and 1 for the others."""
        rows = self._features(inputs, model.steps).values
        if hasattr(model.estimator, "predict_proba"):
            likely = np.asarray(model.estimator.predict_proba(rows))
        elif not model.by_name:
            return np.asarray(1.0 - np.eye(len(model.classes))[model.estimator.predict(rows)])
        else:
            likely = np.asarray(model.estimator.predict(rows))[:, None] == _known_names(model)[None, :]
        if model.by_name:  # an estimator of somebody else may know fewer classes, and others
            known = _known_names(model).tolist()
            columns = [likely[:, known.index(c)] if c in known else np.zeros(len(likely)) for c in model.classes]
            likely = np.stack(columns, axis=1).astype(np.float64)
        if not hasattr(model.estimator, "predict_proba"):
            return np.asarray(1.0 - likely)
        return np.asarray(-np.log(np.maximum(likely, SMALLEST)))

    @one_blas_thread()
    def predicted(self, model: SklearnModel, inputs: Any) -> Floats:
        """The number that a regressor predicts for each row."""
        rows = self._features(inputs, model.steps)
        return np.asarray(model.estimator.predict(rows.values), np.float64).reshape(len(rows))

    def copy(self, model: SklearnModel) -> SklearnModel:
        """An independent copy; steps that only transform are shared."""
        twin = copy.copy(model)
        twin.estimator = copy.deepcopy(model.estimator)
        return twin

    def describe(self) -> str:
        """The estimator with all its settings, and what steps before it were fitted to."""
        import sklearn

        settings = sorted(self.last.get_params().items())
        text = f"sklearn {sklearn.__version__} {type(self.last).__name__} {settings} epochs={self.epochs}{self._said()}"
        if not self.steps:
            return text
        fitted = hashlib.sha256(pickle.dumps(self.steps)).hexdigest()
        return f"{text} after {[type(step).__name__ for step in self.steps]} {fitted}"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": {}}

    def _features(self, inputs: Any, steps: tuple[Any, ...]) -> Rows:
        """Inputs as they come to the estimator. Those of samples are kept: every model of a pilot reads them."""
        if not steps:
            return self._prepared(inputs, steps)
        key = (id(inputs), *map(id, steps))
        kept = self._kept.get(key)
        if kept is None:
            kept = inputs, steps, self._prepared(inputs, steps)  # both stay, so that no other object gets their id
            if len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = kept
        return kept[-1]

    def _prepared(self, inputs: Any, steps: tuple[Any, ...]) -> Rows:
        """Inputs after the steps."""
        rows = rows_of(inputs)
        values = rows[np.arange(len(rows))] if isinstance(inputs, Rows) else inputs
        for step in steps:
            values = step.transform(values)
            count = len(rows_of(values))
            if count != len(rows):
                raise ValueError(
                    "`estimator` must have steps that return a row for each example, "
                    f"got {count} of {len(rows)} from {type(step).__name__}. "
                    "Vectorizers read one column of texts: frame['text'], not frame[['text']]."
                )
        rows = rows_of(values)
        if not steps and isinstance(rows.values, np.ndarray) and rows.values.dtype.kind in "biuf":
            return rows_of(inputs_as_floats(rows.values).reshape(len(rows), -1))
        if not steps and rows.shown == "texts":
            name = type(self.last).__name__
            raise ValueError(
                f"`estimator` must be a Pipeline that turns texts into numbers, got {name}. "
                f"Write make_pipeline(HashingVectorizer(), {name}(...))."
            )
        return rows


def _parts(estimator: Any) -> tuple[tuple[Any, ...], Any]:
    """The steps before the last one that do something, and the last one."""
    if not hasattr(estimator, "steps") or not hasattr(estimator, "named_steps"):
        return (), estimator
    steps = [step for _, step in estimator.steps]
    return tuple(step for step in steps[:-1] if step not in (None, "passthrough")), steps[-1]


def _check_fitted(step: Any, rule: str, fix: str) -> None:
    """Refuse what would have to be fitted first."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except NotFittedError:
        raise ValueError(f"{rule} {type(step).__name__} as it was made. {fix}".strip()) from None


def _is_regressor(estimator: Any) -> bool:
    from sklearn.base import is_regressor

    return bool(is_regressor(estimator))


def _known_names(model: SklearnModel) -> Any:
    """The classes as the estimator knows them."""
    return np.asarray(model.estimator.classes_) if model.by_name else np.arange(len(model.classes))


def _names_of(model: SklearnModel, classes: tuple[Hashable, ...], targets: Any) -> Any:
    """(n,) the classes of examples as the estimator knows them."""
    if not model.by_name:
        return targets
    names = _known_names(model)
    place = {name: number for number, name in enumerate(names.tolist())}
    unknown = next((classes[index] for index in np.unique(targets) if classes[index] not in place), None)
    if unknown is not None:
        raise ValueError(f"`model` must know the classes that it goes on to learn, got {unknown!r}.")
    return names[np.array([place.get(label, 0) for label in classes])[targets]]


def _mixed(new: tuple[Any, Any], kept: tuple[Rows, Any], old: Old, num_old: int) -> tuple[Any, Any]:
    """Rows and targets of new examples and of so many old ones, in random order."""
    rows, targets = new
    places = old.places(num_old)
    order = old.rng.permutation(len(targets) + len(places))
    return rows_of(joined([rows, kept[0][places]]))[order], np.concatenate([targets, kept[1][places]])[order]


@contextmanager
def _larger_batches(estimator: Any, count: int, old: Old | None) -> Iterator[int]:
    """Batches of the estimator have room for old examples, so many a pass: as many steps are taken as without them."""
    size = estimator.get_params(deep=False).get("batch_size") if old is not None else None
    if old is None or size is None:
        yield 0 if old is None else old.replay.extra(count)
        return
    new = min(LARGEST_AUTO if size == "auto" else size, count)
    extra, rest = old.replay.extra(new), count % new
    estimator.set_params(batch_size=new + extra)
    try:
        yield count // new * extra + (old.replay.extra(rest) if rest else 0)
    finally:
        estimator.set_params(batch_size=size)
