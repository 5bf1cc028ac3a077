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

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, seed_number
from taskorder.engine.capacity import networks_that_fit
from taskorder.engine.losses import CrossEntropy, as_floats
from taskorder.engine.nets import Net, Params
from taskorder.engine.past import Past, first_memory
from taskorder.engine.train import Recipe, State, remembered, start, train_task
from taskorder.learners.frozen import checked_frozen
from taskorder.learners.frozen_description import frozen_text
from taskorder.learners.jax_examples import SMALLEST_BUCKET, dense_array, on_device, padded_count, padded_pool
from taskorder.learners.jax_frozen import JaxFrozen
from taskorder.learners.jax_strategies import ByEngine, past_of_heads, past_of_kept
from taskorder.learners.protocol import (
    ByClass,
    Score,
    among_own,
    enough_outputs,
    own_outputs,
    same_classes,
    score_by_class,
)
from taskorder.learners.strategy import Old, OwnStrategy, Strategic, checked_heads
from taskorder.strategies import EWC, Distill, L2Init, Replay, Strategy
from taskorder.task import Task

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
    memory: Any = None
    """What the strategy remembers."""


class _Shape(NamedTuple):
    """Models whose tasks have these numbers in common are trained together."""

    size: int
    """Examples of a task, padded."""
    batch_size: int
    num_steps: int
    """Batches an epoch."""
    extra: int
    """Old examples that join a batch."""


class JaxLearner(Strategic, ByClass):
    """A JAX network, trained by Adam; many models are trained in one compiled batch.

    Parameters
    ----------
    net : Net or pair of callables
        A Net, such as `mlp((64,), 2)`, or a pair (init, apply) of functions like those of a Net.
    recipe : Recipe
        Epochs, batch size (never larger than the task) and learning rate.
    heads : str
        As in `TorchLearner`: with task, each task is trained and tested on the outputs of its own classes.
    strategy : Replay, EWC, Distill, L2Init or object, optional
        What to do against forgetting: a record of `taskorder.strategies`, or an object of yours that replays examples
        (`OwnStrategy`).
    frozen : callable, optional
        What is never trained, such as `lambda x: apply(weights, x)` with a pretrained network: it turns a batch of
        inputs, images as numbers from 0 to 1, into features, and these are what the net is given. Each example goes
        through it once in a process, 64 at a time.

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
        *,
        heads: str = "shared",
        strategy: Strategy | OwnStrategy | None = None,
        frozen: Callable[[Array], Array] | None = None,
    ) -> None:
        self.net = net if isinstance(net, Net) else Net(*net)
        if recipe.strategy is not None:
            raise BadArgument(f"`recipe` must have no strategy, got {recipe.strategy}. Give it to `strategy` instead.")
        if self.net.loss != CrossEntropy():
            raise BadArgument(
                f"`net` must have the loss of classes, got {self.net.loss}. "
                "Take taskorder.engine.tree.train_orders for it."
            )
        self.recipe = recipe
        self._outputs: dict[tuple[int, ...], int] = {}
        wanted = "a function of a batch of inputs, like lambda x: apply(weights, x)"
        self.frozen = checked_frozen(frozen, wanted, modules=False)
        self._frozen = None if frozen is None else JaxFrozen(frozen)
        self.heads = checked_heads(heads)
        self._set_strategy(strategy)

    def make(self, seed: int) -> JaxModel:
        """A freshly drawn network."""
        return self._begun(JaxModel(start(self.net, jax.random.key(seed_number(seed))[None]), 0, seed))

    def fit(self, model: JaxModel, task: Task) -> JaxModel:
        """The model after training on the task."""
        return self.fit_many([model], [task])[0]

    def fit_many(self, models: Sequence[JaxModel], tasks: Sequence[Task]) -> list[JaxModel]:
        """Every model after training on its task, all in one batch where the tasks are of about the same size."""
        visits = [model.seen.count(task.name) for model, task in zip(models, tasks, strict=True)]
        olds = [self._old(model.memory, model.seed, task.name, visit)
                for model, task, visit in zip(models, tasks, visits, strict=True)]  # fmt: skip
        groups: dict[_Shape, list[int]] = {}
        for place, (task, old) in enumerate(zip(tasks, olds, strict=True)):
            same_classes(models[place].classes, task)
            enough_outputs(self.num_outputs(task), task.classes)
            groups.setdefault(self._shape(len(task.targets), old), []).append(place)
        fitted: dict[int, JaxModel] = {}
        for shape, places in groups.items():
            some, learned = [models[place] for place in places], [tasks[place] for place in places]
            trained = self._train(shape, some, learned, [olds[place] for place in places])
            for place, model in zip(places, trained, strict=True):
                memory = self._remembered(model, tasks[place], visits[place])
                fitted[place] = model._replace(memory=memory, seen=(*model.seen, tasks[place].name))
        return [fitted[place] for place in range(len(models))]

    def losses_by_class(self, model: JaxModel, inputs: Any) -> Floats:
        """Minus the log probabilities."""
        return self._losses([model], inputs)[0]

    def score_many(self, models: Sequence[JaxModel], tasks: Sequence[Task]) -> list[list[Score]]:
        """The scores of every model on every task."""
        tables = [(self._losses(models, task.measured[0]), task.measured[1], own_outputs(self, task)) for task in tasks]
        return [
            [score_by_class(*among_own(table[row], targets, own)) for table, targets, own in tables]
            for row in range(len(models))
        ]

    def adopt(self, given: Any, classes: tuple[Hashable, ...]) -> JaxModel:
        """A model of this learner, or one with the parameters of a network of yours, as `init` of the net has them."""
        if isinstance(given, JaxModel):
            self._check_memory(given.memory)
            return self._begun(given)
        model = self.make(0)
        wanted = jax.tree.map(lambda leaf: leaf.shape[1:], model.batch.params)
        if jax.tree.map(jnp.shape, given) != wanted:
            raise ValueError(f"`model` must be parameters like those of the net, {wanted}, got {type(given).__name__}.")
        params = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], given)
        return self._begun(model._replace(batch=model.batch._replace(params=params), classes=classes, memory=None))

    def copy(self, model: JaxModel) -> JaxModel:
        """The model itself."""
        return model

    def describe(self) -> str:
        """Shapes and sums of the first parameters, and the recipe."""
        params = self.make(0).batch.params
        weights = [(str(jax.tree_util.keystr(path)), leaf.shape, float(leaf.sum()))
                   for path, leaf in jax.tree_util.tree_leaves_with_path(params)]  # fmt: skip
        frozen = "" if self.frozen is None else f" frozen={frozen_text(self.frozen)}"
        return f"jax {jax.__version__} {jax.default_backend()} {weights} {self.recipe}{self._said()}{frozen}"

    def _begun(self, model: JaxModel) -> JaxModel:
        """With what the strategy remembers before the first task."""
        if model.memory is not None or not isinstance(self._acting, ByEngine):
            return model
        batch = model.batch._replace(memory=first_memory(self.strategy, model.batch.params))
        return model._replace(batch=batch)

    def _set_strategy(self, strategy: Strategy | OwnStrategy | None) -> None:
        super()._set_strategy(strategy)
        self.at_once = networks_that_fit(self.net, strategy=strategy if isinstance(strategy, Strategy) else None)

    def _carried_out(self, strategy: Strategy | OwnStrategy) -> Any:
        """Also what adds to the loss."""
        if isinstance(strategy, EWC | Distill | L2Init):
            return ByEngine(strategy)
        return super()._carried_out(strategy)

    def _shape(self, count: int, old: Old | None) -> _Shape:
        """What is compiled for a task of so many examples."""
        batch_size = min(self.recipe.batch_size, count)
        extra = 0 if old is None else old.replay.extra(batch_size)
        return _Shape(padded_count(count, SMALLEST_BUCKET), batch_size, count // batch_size, extra)

    def _train(
        self,
        shape: _Shape,
        models: Sequence[JaxModel],
        tasks: Sequence[Task],
        olds: Sequence[Old | None],
    ) -> list[JaxModel]:
        """N models, padded to a power of two, after training on the distinct tasks among `tasks`."""
        by_engine = isinstance(self._acting, ByEngine)
        strategy = self.strategy if by_engine else None if olds[0] is None else olds[0].replay
        recipe = replace(self.recipe, batch_size=shape.batch_size, strategy=strategy)
        distinct = list({task.name: task for task in tasks}.values())
        place = {task.name: number for number, task in enumerate(distinct)}
        rows = [min(row, len(models) - 1) for row in range(padded_count(len(models)))]
        keys = jnp.stack([_stream(models[row], tasks[row]) for row in rows])
        places, num_steps = jnp.asarray([place[tasks[row].name] for row in rows]), jnp.asarray(shape.num_steps)
        kept = {id(part): part for old in olds if old is not None for part in old.parts}
        pool = padded_pool(self, distinct, shape.size, list(kept.values()))
        before, streams = _together([models[row] for row in rows]), jnp.arange(len(rows))
        past = Past() if by_engine else None
        if isinstance(strategy, Distill):
            past = past_of_heads([models[row].memory for row in rows], self.heads, self.num_outputs(tasks[0]))
        elif isinstance(strategy, Replay):
            begins = len(distinct) * shape.size + np.cumsum([0, *map(len, kept.values())])
            own = [old for row in rows if (old := olds[row]) is not None]
            past = past_of_kept(own, dict(zip(kept, begins, strict=False)), shape.batch_size)
        state = train_task(self.net, recipe, before, pool, streams, keys, places, num_steps, past)
        state = remembered(self.net, recipe, state, pool, streams, keys, places)
        return [
            model._replace(batch=state, row=row, classes=task.classes)
            for row, (model, task) in enumerate(zip(models, tasks, strict=True))
        ]

    def _losses(self, models: Sequence[JaxModel], inputs: Any) -> Floats:
        """(N, n, K) losses of n examples under each class by N models."""
        inputs = self.given(inputs)
        rows = [min(row, len(models) - 1) for row in range(padded_count(len(models)))]
        params = _together([models[row] for row in rows]).params
        size = min(padded_count(len(inputs), SMALLEST_BUCKET), EXAMPLES_AT_ONCE)
        parts = []
        for begin in range(0, len(inputs), size):
            part = inputs[begin : begin + size]
            padded = np.concatenate([part, np.zeros((size - len(part), *part.shape[1:]), part.dtype)])
            losses = np.asarray(_log_losses(self.net, params, on_device(padded)), np.float64)
            parts.append(losses[: len(models), : len(part)])
        return np.concatenate(parts, axis=1)

    def given(self, inputs: Any) -> NDArray[Any]:
        """All rows as the network is given them: features where there is a frozen part, which nobody may write to."""
        if self._frozen is None:
            return dense_array(inputs)
        features: NDArray[Any] = self._frozen.features(inputs, self)
        return features

    def num_outputs(self, task: Task) -> int:
        """How many outputs the network has for inputs like those of the task."""
        shape = self.given(task.inputs).shape[1:]
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


def _stream(model: JaxModel, task: Task) -> Array:
    """The random key for the order of a task's examples."""
    key = jax.random.fold_in(jax.random.key(model.seed), zlib.crc32(task.name.encode()))
    return jax.random.fold_in(key, model.seen.count(task.name))
