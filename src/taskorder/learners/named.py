"""Learners by name, for the command line: mlp, cnn, sklearn:CLASS(...), torch:MODULE:FACTORY, hf:MODEL_PATH(...)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.checks import positive_count
from taskorder.learners.call_settings import named_call
from taskorder.learners.protocol import Learner
from taskorder.learners.strategy import checked_heads
from taskorder.strategies import SHARED, Strategy
from taskorder.task import Task

SKLEARN = ("neural_network", "linear_model", "naive_bayes")
TEXTS = "texts"
TEXT_CLASSIFIER = 'sklearn:SGDClassifier(loss="log_loss")'
TEXT_REGRESSOR = 'sklearn:SGDRegressor(learning_rate="constant",eta0=0.3)'
"""Hashed words have length 1: steps of 0.01, the default, learn next to nothing from the few rows of a pilot."""
NUM_HASHES = 2**13
"""Features that words and pairs of words are hashed into: enough for a pilot. From 10,000 on, BLAS starts threads for
every step, and learning takes ten times as long."""
FORMS = "mlp, cnn, sklearn:CLASS, torch:MODULE:FACTORY or hf:MODEL_PATH"


def default_name(task: Task | None = None) -> str:
    """What is used where nothing is asked for: the paper's network, or without JAX one of scikit-learn.

    Texts and numbers to predict have a learner of scikit-learn.
    """
    if task is not None and task.rows.shown == TEXTS:
        return TEXT_REGRESSOR if task.regression else TEXT_CLASSIFIER
    if task is not None and task.regression:
        return "sklearn:MLPRegressor"
    return "mlp" if find_spec("jax") else "sklearn:MLPClassifier"


def named_learner(
    learner: str,
    tasks: Sequence[Task],
    *,
    epochs: int = 5,
    batch_size: int | None = None,
    heads: str = SHARED,
    strategy: Strategy | None = None,
) -> Learner:
    """The learner of that name for these tasks, which must be aligned.

    mlp and cnn are the paper's networks; `sklearn:SGDClassifier(loss="log_loss")` takes plain values as settings, and
    reads texts as hashed words and pairs of words; `torch:nets:make` calls `make()` of `nets.py` here for a module with
    an output for each class; `hf:models/minilm(lora=8)` fine-tunes a model of transformers.
    """
    kind, _, rest = learner.partition(":")
    positive_count(epochs, "epochs")
    if batch_size is not None:
        positive_count(batch_size, "batch_size")
    if kind != "hf" and any(task.has_data and task.labels is None for task in tasks):
        raise BadArgument(
            f"`learner` must be hf:MODEL_PATH, with a language model, for texts without labels, got {learner}. "
            "Or name the column of the labels."
        )
    if kind in ("mlp", "cnn") and not rest:
        return _network(kind, tasks[0], epochs, batch_size or 4, heads, strategy)
    if kind == "sklearn" and rest:
        from taskorder.learners.sklearn import SklearnLearner

        if checked_heads(heads) == "task":
            raise BadArgument(
                "`heads` must be shared for a learner of scikit-learn, got 'task'. Take mlp, cnn or "
                "torch:MODULE:FACTORY."
            )
        return SklearnLearner(_reading(_estimator(rest, batch_size), tasks[0]), epochs, strategy=strategy)
    if kind == "torch" and rest.count(":") == 1:
        from taskorder.learners.own_factory import factory_named
        from taskorder.learners.torch import TorchLearner, need_torch

        need_torch()
        factory = factory_named(rest)
        # files hold images with their channels last
        return TorchLearner(
            factory, epochs=epochs, batch_size=batch_size or 32, channels="last", heads=heads, strategy=strategy
        )
    if kind == "hf" and rest:
        from taskorder.learners.huggingface_named import named_huggingface

        return named_huggingface(rest, tasks, epochs, batch_size, heads, strategy)
    raise BadArgument(f"`learner` must be {FORMS}, got {learner!r}.")


def keep_compiled_for(name: str) -> None:
    """What JAX compiles is kept for the next run, where it is JAX that learns."""
    if name in ("mlp", "cnn"):
        from taskorder.engine.compiled import keep_compiled

        keep_compiled()


def _network(kind: str, task: Task, epochs: int, batch_size: int, heads: str, strategy: Strategy | None) -> Learner:
    if find_spec("jax") is None:
        raise ValueError('The JAX engine is not installed. Install it with: pip install "taskorder[neural]".')
    from taskorder.engine.cnn import cnn
    from taskorder.engine.nets import mlp
    from taskorder.engine.train import Recipe
    from taskorder.learners.jax import JaxLearner

    if task.rows.shown == TEXTS or task.regression:
        what = "numbers to predict" if task.regression else "texts"
        raise BadArgument(f"`learner` must be one for {what}, like {default_name(task)}, got {kind}.")
    shape = task.inputs.shape[1:]
    if kind == "cnn" and len(shape) != 3:
        raise BadArgument(f"`learner` must be mlp for inputs that are no images, got cnn for {shape}.")
    net = (mlp if kind == "mlp" else cnn)(shape, len(task.classes))
    return JaxLearner(net, Recipe(epochs, batch_size), heads=heads, strategy=strategy)


def _reading(estimator: Any, task: Task) -> Any:
    """An estimator that reads the inputs of the task: texts through a vectorizer that needs no fitting."""
    if task.rows.shown != TEXTS:
        return estimator
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(HashingVectorizer(n_features=NUM_HASHES, ngram_range=(1, 2)), estimator)


def _estimator(text: str, batch_size: int | None) -> Any:
    """The estimator that a text like `SGDClassifier(loss="log_loss")` stands for; only plain values are read."""
    if find_spec("sklearn") is None:
        raise ValueError('scikit-learn is not installed. Install it with: pip install "taskorder[neural]".')
    name, settings = named_call(text, text, "sklearn:SGDClassifier(alpha=1)")
    from sklearn.base import BaseEstimator

    for module in SKLEARN:
        estimator = getattr(import_module(f"sklearn.{module}"), name, None) if name else None
        if isinstance(estimator, type) and issubclass(estimator, BaseEstimator):
            if batch_size is not None and "batch_size" not in signature(estimator).parameters:
                raise BadArgument(f"`batch_size` must be left out for {name}, which has none, got {batch_size}.")
            if batch_size is not None:
                settings.setdefault("batch_size", batch_size)
            try:
                return estimator(**settings)
            except TypeError as problem:
                raise BadArgument(f"`learner` must have settings that {name} knows, got: {problem}.") from None
    known = [each for module in SKLEARN for each in dir(import_module(f"sklearn.{module}")) if each[0].isupper()]
    meant = did_you_mean(name, known)
    raise BadArgument(f"`learner` must name a class of scikit-learn's {', '.join(SKLEARN)}, got {text!r}.{meant}")
