"""A JAX network (engine/nets.py, or any pair of init and apply) trained by the engine, many at a time.

`fit_many` trains several models on several tasks in one compiled batch; `fit` is a batch of one, so that both give the
same numbers. The order of examples depends on the seed, the task and the visit, not on what was learned before.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from taskorder.checks import Floats, seed_number
from taskorder.engine.capacity import networks_that_fit
from taskorder.engine.nets import Net, Params
from taskorder.engine.train import Pool, Recipe, State, as_floats, start, train_task
from taskorder.learners.protocol import ByClass, Score, enough_outputs, same_classes, score_by_class
from taskorder.task import Task, number_array, rows_of

SMALLEST_BUCKET = 64
"""Numbers of examples are padded to a power of two, at least this: few shapes, so that little is compiled."""
EXAMPLES_AT_ONCE = 4096
"""Examples in one forward pass when losses are measured."""


class JaxModel(NamedTuple):
    """One network in training; nothing changes it, so it needs no copies."""

    batch: State
    """The networks that were trained together."""
    row: int
    """Which of them it is."""
    seed: int
    seen: tuple[str, ...] = ()
    """Names of the tasks learned so far."""
    classes: tuple[Hashable, ...] = ()


class JaxLearner(ByClass):
    """A JAX network, trained by Adam; many models are trained in one compiled batch.

    Parameters
    ----------
    net : Net or pair of callables
        A Net, such as `mlp((64,), 2)`, or a pair (init, apply) of functions like those of a Net.
    recipe : Recipe
        Epochs, batch size (never larger than the task) and learning rate.

    Examples
    --------
    >>> from taskorder import Task
    >>> from taskorder.engine.nets import mlp
    >>> learner = JaxLearner(mlp((1,), 2, hidden=(4,)))
    >>> task = Task("signs", [[-1.0], [1.0]] * 8, [0, 1] * 8)
    >>> before = learner.make(seed=0)
    >>> learner.loss(learner.fit(before, task), task) < learner.loss(before, task)
    True
    """

    def __init__(
        self,
        net: Net | tuple[Callable[[Array], Params], Callable[[Params, Array], Array]],
        recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    ) -> None:
        self.net = net if isinstance(net, Net) else Net(*net)
        self.recipe = recipe
        self.at_once = networks_that_fit(self.net)
        self._outputs: dict[tuple[int, ...], int] = {}

    def make(self, seed: int) -> JaxModel:
        """A freshly drawn network."""
        return JaxModel(start(self.net, jax.random.key(seed_number(seed))[None]), 0, seed)

    def fit(self, model: JaxModel, task: Task) -> JaxModel:
        """The model after training on the task."""
        return self.fit_many([model], [task])[0]

    def fit_many(self, models: Sequence[JaxModel], tasks: Sequence[Task]) -> list[JaxModel]:
        """Every model after training on its task, all in one batch where the tasks are of about the same size."""
        groups: dict[tuple[int, int, int], list[int]] = {}
        for place, (model, task) in enumerate(zip(models, tasks, strict=True)):
            same_classes(model.classes, task)
            enough_outputs(self._num_outputs(task), task.classes)
            count = len(task.targets)
            batch_size = min(self.recipe.batch_size, count)
            groups.setdefault((_bucket(count, SMALLEST_BUCKET), batch_size, count // batch_size), []).append(place)
        fitted: dict[int, JaxModel] = {}
        for (bucket, batch_size, num_steps), places in groups.items():
            recipe = replace(self.recipe, batch_size=batch_size)
            chosen, learned = [models[p] for p in places], [tasks[p] for p in places]
            for place, model in zip(places, self._train(recipe, bucket, num_steps, chosen, learned), strict=True):
                fitted[place] = model
        return [fitted[place] for place in range(len(models))]

    def losses_by_class(self, model: JaxModel, inputs: Any) -> Floats:
        """Minus the log probabilities."""
        return self._losses([model], inputs)[0]

    def score_many(self, models: Sequence[JaxModel], tasks: Sequence[Task]) -> list[list[Score]]:
        """The scores of every model on every task."""
        tables = [(self._losses(models, inputs), targets) for inputs, targets in (task.measured for task in tasks)]
        return [[score_by_class(table[row], targets) for table, targets in tables] for row in range(len(models))]

    def adopt(self, given: Any, classes: tuple[Hashable, ...]) -> JaxModel:
        """A model of this learner, or one with the parameters of a network of yours, as `init` of the net has them."""
        if isinstance(given, JaxModel):
            return given
        model = self.make(0)
        wanted = jax.tree.map(lambda leaf: leaf.shape[1:], model.batch.params)
        if jax.tree.map(jnp.shape, given) != wanted:
            raise ValueError(f"`model` must be parameters like those of the net, {wanted}, got {type(given).__name__}.")
        params = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], given)
        return model._replace(batch=model.batch._replace(params=params), classes=classes)

    def copy(self, model: JaxModel) -> JaxModel:
        """The model itself."""
        return model

    def describe(self) -> str:
        """Shapes and sums of the first parameters, and the recipe."""
        params = self.make(0).batch.params
        weights = [(str(jax.tree_util.keystr(path)), leaf.shape, float(leaf.sum()))
                   for path, leaf in jax.tree_util.tree_leaves_with_path(params)]  # fmt: skip
        return f"jax {jax.__version__} {jax.default_backend()} {weights} {self.recipe}"

    def _train(
        self, recipe: Recipe, bucket: int, num_steps: int, models: Sequence[JaxModel], tasks: Sequence[Task]
    ) -> list[JaxModel]:
        """The engine at work: N models, padded to a power of two, on the distinct tasks among `tasks`."""
        distinct = list({task.name: task for task in tasks}.values())
        place = {task.name: number for number, task in enumerate(distinct)}
        rows = [min(row, len(models) - 1) for row in range(_bucket(len(models)))]
        keys = jnp.stack([_stream(models[row], tasks[row]) for row in rows])
        streams, places = jnp.arange(len(rows)), jnp.asarray([place[tasks[row].name] for row in rows])
        state = train_task(
            self.net, recipe, _together([models[row] for row in rows]), _pool(distinct, bucket), streams, keys, places,
            jnp.asarray(num_steps),
        )  # fmt: skip
        return [
            JaxModel(state, row, model.seed, (*model.seen, task.name), task.classes)
            for row, (model, task) in enumerate(zip(models, tasks, strict=True))
        ]

    def _losses(self, models: Sequence[JaxModel], inputs: Any) -> Floats:
        """(N, n, K) losses of n examples under each class by N models."""
        inputs = _array(inputs)
        rows = [min(row, len(models) - 1) for row in range(_bucket(len(models)))]
        params = _together([models[row] for row in rows]).params
        size = min(_bucket(len(inputs), SMALLEST_BUCKET), EXAMPLES_AT_ONCE)
        parts = []
        for begin in range(0, len(inputs), size):
            part = inputs[begin : begin + size]
            padded = np.concatenate([part, np.zeros((size - len(part), *part.shape[1:]), part.dtype)])
            losses = np.asarray(_log_losses(self.net, params, _on_device(padded)), np.float64)
            parts.append(losses[: len(models), : len(part)])
        return np.concatenate(parts, axis=1)

    def _num_outputs(self, task: Task) -> int:
        """How many outputs the network has for inputs like those of the task."""
        shape = _array(task.inputs).shape[1:]
        if shape not in self._outputs:
            try:
                params = jax.eval_shape(self.net.init, jax.random.key(0))
                self._outputs[shape] = jax.eval_shape(self.net.apply, params, jnp.zeros((1, *shape))).shape[-1]
            except (TypeError, ValueError) as problem:
                reason = " ".join(str(problem).split())[:120]
                raise ValueError(
                    f"`net` must fit the inputs of task {task.name!r}, {shape} each, got: {reason}."
                ) from None
        return self._outputs[shape]


def _together(models: Sequence[JaxModel]) -> State:
    """Copies of the networks as one batch; those that were trained together are taken together."""
    batches = {id(model.batch): model.batch for model in models}
    if len(batches) == 1:
        return _take(models[0].batch, jnp.asarray([model.row for model in models]))
    place, count = {}, 0
    for key, batch in batches.items():
        place[key] = count
        count += len(batch.steps)
    whole = _joined(list(batches.values()))
    return _take(whole, jnp.asarray([place[id(model.batch)] + model.row for model in models]))


@jax.jit
def _take(batch: State, rows: Array) -> State:
    return batch.take(rows)


@jax.jit
def _joined(batches: list[State]) -> State:
    return State(*jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *map(tuple, batches)))


@functools.partial(jax.jit, static_argnames=("net",))
def _log_losses(net: Net, params: Params, inputs: Array) -> Array:
    return -jax.nn.log_softmax(jax.vmap(net.apply, in_axes=(0, None))(params, as_floats(inputs)))


def _pool(tasks: Sequence[Task], bucket: int) -> Pool:
    """The tasks on the device, each padded to `bucket` rows: shapes, and with them shuffles, depend on nothing else."""
    counts = [len(task.targets) for task in tasks]
    arrays = [_array(task.inputs) for task in tasks]
    inputs = np.zeros((len(tasks) * bucket, *arrays[0].shape[1:]), arrays[0].dtype)
    rows = np.empty((len(tasks), bucket), np.int32)
    labels = np.empty((len(tasks), bucket), np.int32)
    for number, (task, count) in enumerate(zip(tasks, counts, strict=True)):
        inputs[number * bucket : number * bucket + count] = arrays[number]
        within = np.arange(bucket) % count
        rows[number] = number * bucket + within
        labels[number] = task.targets[within]
    return Pool(_on_device(inputs), jnp.asarray(rows), jnp.asarray(labels), jnp.asarray(np.array(counts, np.int32)))


def _array(inputs: Any) -> NDArray[Any]:
    """All inputs as an array of numbers: the engine has them on the device."""
    rows = rows_of(inputs)
    if hasattr(rows.values, "tocsr"):
        raise ValueError(
            "`inputs` must be dense for this learner, got a sparse matrix. Take SklearnLearner or TorchLearner, or "
            "write inputs.toarray()."
        )
    return number_array(rows[np.arange(len(rows))] if rows.values is rows else rows.values)


def _on_device(inputs: NDArray[Any]) -> Array:
    return jnp.asarray(inputs if inputs.dtype == np.uint8 else np.asarray(inputs, np.float32))


def _stream(model: JaxModel, task: Task) -> Array:
    """The random key for the order of a task's examples."""
    key = jax.random.fold_in(jax.random.key(model.seed), zlib.crc32(task.name.encode()))
    return jax.random.fold_in(key, model.seen.count(task.name))


def _bucket(count: int, least: int = 1) -> int:
    """The next power of two, at least `least`."""
    return max(least, 1 << (count - 1).bit_length())
