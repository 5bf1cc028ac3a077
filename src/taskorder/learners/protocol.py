"""What a learner must do, and what it may do.

A learner needs three methods (`Learner`). It may have more, which make it cheaper or better; where they are missing,
the functions below make do:

    copy(model)                      a second model, independent of the first       else copy.deepcopy
    losses_by_class(model, inputs)   (n, K) loss of each example under each class   else labels are shuffled a few times
    predicted(model, inputs)         (n,) numbers, where labels are numbers         else labels are shuffled a few times
    chance(model, task)              loss to expect if the labels were shuffled     else from one of these, or that of
                                                                                    a fresh model if there are no labels
    adopt(given, classes)            a model that goes on from one of a person      else a copy of it
    accuracy(model, task)            share of the examples it gets right            else unknown
    describe()                       a text that names all settings, for a store    else repr, if no address is in it
    note                             what a reader of the losses should know
    strategy                         what it does against forgetting, if it keeps examples of its own: a pilot then
                                     measures on others; with_strategy(strategy), see learners/strategy.py
    perfect                          "own": of tasks without labels, knowledge 1 is the loss after learning the task
                                     alone, not a loss of 0; for models that knew much before
    heads                            "task": a task is tested on the outputs of its own classes
    mixes                            whether it can learn several tasks at once     else whether it has no such heads:
                                     (task/mixed.py), each with its own head        one task of all their rows
    fit_many, score_many, at_once    several models at the same time, see learners/jax.py

Labels reach a learner as `task.targets`, places in `task.classes`, which all tasks share. Inputs are of the kind that
was given, and `task.rows[numbers]` takes some of them.
"""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.task import Task

Model = Any
"""Whatever `make` returns."""
SHUFFLES = 5
"""How often labels are shuffled for a learner that gives only losses."""


class Learner(Protocol):
    """What a learner must do: make a model, fit it to a task, and say its loss on a task.

    Examples
    --------
    The smallest learner remembers the names of its tasks:

    >>> class Memory:
    ...     def make(self, seed):
    ...         return []
    ...     def fit(self, model, task):
    ...         return [*model, task.name]
    ...     def loss(self, model, task):
    ...         return 0.0 if task.name in model else 1.0
    >>> learner, task = Memory(), Task("golf")
    >>> learner.loss(learner.fit(learner.make(0), task), task)
    0.0
    """

    def make(self, seed: int) -> Model:
        """A fresh model; the same for the same seed."""

    def fit(self, model: Model, task: Task) -> Model:
        """The model after training on the task, from where it is; may change `model` and return it."""

    def loss(self, model: Model, task: Task) -> float:
        """Mean loss on `task.measured`: at least 0, smaller is better."""


class Score(NamedTuple):
    """How a model does on a task.

    Examples
    --------
    >>> Score(loss=0.2, chance=0.7, accuracy=0.9).loss
    0.2
    """

    loss: float
    chance: float | None
    """The loss to expect if the labels were shuffled; None if nobody knows."""
    accuracy: float | None
    examples: Floats | None = None
    """(3, n) loss, loss to expect if shuffled, and 1 or 0 for right or wrong (0 where labels are numbers), of each
    example; None if unknown."""


class ByClass(ABC):
    """A learner that gives `losses_by_class` (and `predicted`, for numbers) gets `loss` and `accuracy` from here."""

    @abstractmethod
    def losses_by_class(self, model: Model, inputs: Any) -> Floats:
        """(n, K) the loss that each example would have under each of the classes."""

    def loss(self, model: Model, task: Task) -> float:
        """Mean loss on the data that the task is measured on."""
        return _measured(self, model, task).loss

    def accuracy(self, model: Model, task: Task) -> float | None:
        """Share of the examples whose own class has the smallest loss; None where labels are numbers."""
        return _measured(self, model, task).accuracy


def score(learner: Learner, model: Model, task: Task) -> Score:
    """Loss, loss to expect with shuffled labels, and accuracy of a model on a task.

    Parameters
    ----------
    learner : Learner
        What made the model; its optional methods are used where it has them.
    model : object
        The model.
    task : Task
        The task to measure it on.

    Returns
    -------
    Score
        What the learner cannot say is None.

    Examples
    --------
    >>> from taskorder.learners import CallableLearner
    >>> learner = CallableLearner(lambda learned, test, seed: 0.5, chance=0.7, name="half")
    >>> score(learner, learner.make(0), Task("golf"))[:3]
    (0.5, 0.7, None)
    """
    if hasattr(learner, "predicted" if task.regression else "losses_by_class") and task.labels is not None:
        return _measured(learner, model, task)
    loss = float(learner.loss(model, task))
    if hasattr(learner, "chance"):
        chance = learner.chance(model, task)
    elif task.has_data and task.labels is None:
        chance = float(learner.loss(learner.make(0), task))
    elif task.has_data:
        chance = float(np.mean([learner.loss(model, task.shuffled(seed)) for seed in range(SHUFFLES)]))
    else:
        chance = None
    accuracy = learner.accuracy(model, task) if hasattr(learner, "accuracy") else None
    return Score(loss, None if chance is None else float(chance), None if accuracy is None else float(accuracy))


def _measured(learner: Any, model: Model, task: Task) -> Score:
    """Score from losses under each class, or from predicted numbers."""
    inputs, targets = task.measured
    if task.regression:
        return score_by_square(learner.predicted(model, inputs), targets)
    return score_by_class(*among_own(learner.losses_by_class(model, inputs), targets, own_outputs(learner, task)))


def own_outputs(learner: Any, task: Task) -> Ints | None:
    """The classes that a task is tested on, as places among all of them; None for all."""
    return np.unique(task.targets) if getattr(learner, "heads", "") == "task" and task.classes else None


def among_own(losses: Floats, targets: Ints, own: Ints | None) -> tuple[Floats, Ints]:
    """(n, own) losses where only some classes can be the answer, and the targets among those.

    Minus log probabilities p(k | own) = p(k) / sum of p over own: what a softmax over their outputs alone says.

    >>> losses, targets = among_own(-np.log([[0.8, 0.1, 0.1]]), np.array([2]), np.array([1, 2]))
    >>> np.exp(-losses).round(2).tolist(), targets.tolist()
    ([[0.5, 0.5]], [1])
    """
    if own is None:
        return losses, targets
    some = losses[:, own]
    return some + np.logaddexp.reduce(-some, axis=1, keepdims=True), np.searchsorted(own, targets)


def score_by_class(losses: Floats, targets: Ints) -> Score:
    """Score from (n, K) losses under each class: no shuffle is needed.

    With q_k the share of class k among the n targets, the loss to expect with shuffled labels is the mean of
    sum_k q_k losses[i, k]. The class of least loss is the prediction; ties go to the first.

    >>> score_by_class(np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([0, 1]))[:3]
    (0.5, 1.0, 0.5)
    """
    shares = np.bincount(targets, minlength=losses.shape[1]) / len(targets)
    own = losses[np.arange(len(targets)), targets]
    right = losses.argmin(axis=1) == targets
    examples = np.stack([own, losses @ shares, right])
    loss, chance, accuracy = examples.mean(axis=1).tolist()
    return Score(loss, chance, accuracy, examples)


def score_by_square(predicted: Floats, targets: Floats) -> Score:
    """Score from predicted numbers: the mean squared error, and as chance the variance, the error of their mean.

    >>> score_by_square(np.array([1.0, 2.0, 5.0]), np.array([1.0, 2.0, 3.0]))[:3]
    (1.3333333333333333, 0.6666666666666666, None)
    """
    examples = np.stack([(predicted - targets) ** 2, (targets - targets.mean()) ** 2, np.zeros(len(targets))])
    loss, chance, _ = examples.mean(axis=1).tolist()
    return Score(loss, chance, None, examples)


def copied(learner: Learner, model: Model) -> Model:
    """A second model, independent of the first."""
    return learner.copy(model) if hasattr(learner, "copy") else copy.deepcopy(model)


def adopted(learner: Learner, given: Any, classes: tuple[Hashable, ...]) -> Model:
    """A model of the learner that knows what a model of a person knows; `given` stays as it is."""
    known = getattr(given, "classes", None)
    if isinstance(known, tuple) and known and known != classes:
        raise BadArgument(
            f"`model` must have learned tasks with the classes of all tasks ({few(classes)}), got {few(known)}. "
            "Align them before you fit it: align(tasks)."
        )
    return learner.adopt(given, classes) if hasattr(learner, "adopt") else copied(learner, given)


def is_learner(learner: Any) -> None:
    """Refuse what is no learner, before anything is done: an estimator or a module as it is, a class."""
    if isinstance(learner, type) or not hasattr(learner, "make"):
        kind = f"the class {learner.__name__}" if isinstance(learner, type) else type(learner).__name__
        raise BadArgument(
            f"`learner` must have make, fit and loss, got {kind}. Wrap what you have: SklearnLearner(estimator), "
            "TorchLearner(module_factory), CallableLearner(answer), or see taskorder/learners/protocol.py."
        )


def described(learner: Learner) -> str:
    """Text that names the learner with all its settings: equal texts, equal results."""
    try:
        text = str(learner.describe()) if hasattr(learner, "describe") else repr(learner)
    except ValueError:
        raise
    except Exception as problem:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise BadArgument(f"`learner` must say what it is, got {reason}. Mend what makes its model.") from problem
    if re.search(r" at 0x[0-9a-f]+", text):
        raise BadArgument(
            f"`learner` must say what it is, to be used with a store, got {text}. "
            "Give it a method describe() that returns a text with all its settings."
        )
    return text


def same_classes(known: tuple[Hashable, ...], task: Task, *, numbers: bool = False) -> tuple[Hashable, ...]:
    """The classes of a model that learns `task`; an error if it has learned others, or predicts `numbers`."""
    if not task.has_data:
        raise ValueError(
            f"`tasks` must have data for this learner, got only the name {task.name!r}. "
            "A black box can learn from names: CommandLearner or CallableLearner."
        )
    if task.labels is None:
        raise ValueError(
            f"`tasks` must have labels for this learner, got none for {task.name!r}. Write Task(name, inputs, labels), "
            "where labels may be the name of a column."
        )
    if task.regression != numbers:
        wanted, got, fix = (
            ("numbers to predict", "classes", "Make it with regression=True, or take a classifier.")
            if numbers
            else ("classes", "numbers to predict", "Take SklearnLearner(SGDRegressor()) or TorchLearner.")
        )
        raise ValueError(f"`tasks` must have {wanted} for this learner, got {got} in {task.name!r}. {fix}")
    if known and known != task.classes:
        raise ValueError(
            f"`task` {task.name!r} must have the classes that the model knows ({few(known)}), "
            f"got {few(task.classes)}. Align all tasks first: align(tasks)."
        )
    return task.classes


def enough_outputs(outputs: int, classes: Sequence[Hashable]) -> None:
    """Refuse a network with fewer outputs than there are classes."""
    if outputs < len(classes):
        raise BadArgument(
            f"`learner` must have an output for each of the {len(classes)} classes of all tasks, got {outputs}. "
            "Make the network wider, or share labels between tasks by position: share_labels(tasks)."
        )


def inputs_as_floats(inputs: NDArray[Any]) -> NDArray[Any]:
    """Images (uint8) from 0 to 1, all else as it is."""
    return inputs.astype(np.float32) / 255 if inputs.dtype == np.uint8 else inputs


def few(classes: Sequence[Hashable]) -> str:
    """Classes for a message, not too many."""
    return ", ".join(map(repr, classes[:6])) + (", ..." if len(classes) > 6 else "")
