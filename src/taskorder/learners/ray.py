"""A learner whose fits run on a Ray cluster: `plan(tasks, RayLearner(mine))` runs its pilot there.

Its models are places in Ray's object store, where prefixes that orders share stay as checkpoints; what has no room
there goes to disk, by Ray's own doing. A checkpoint that is lost with its machine is learned again from the one
before it. The process that plans holds no model and no copy of the tasks but its own.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from taskorder.arguments import BadArgument
from taskorder.learners.orders import ModelFailed
from taskorder.learners.protocol import Learner, Model, Score, adopted, described, score
from taskorder.runs.cluster import TRIES, Packed, Share, WorkerLost, cancel, load_once, pack, unpack_value
from taskorder.runs.head import MOMENT_SECONDS, Head, PolledCount, from_outside, need_ray
from taskorder.runs.ray import AHEAD, COUNT_AGAIN_SECONDS
from taskorder.runs.sweep import error_text
from taskorder.task import Task


@dataclass(frozen=True)
class Checkpoint:
    """A model in the object store: one of those that a call made together."""

    models: Any = field(repr=False)
    """Ray's reference to the list of them, packed."""
    place: int


class RayLearner:
    """The learner, with each fit and each scoring a task of Ray.

    The process must be connected: `with connected("auto"): plan(tasks, RayLearner(mine, Share(cpus=4, gpus=1)))`.

    learner: anything that can be pickled and does what learners/protocol.py asks.
    share: what each fit has for itself; one CPU by default.
    """

    def __init__(self, learner: Learner, share: Share | None = None) -> None:
        self.learner = learner
        self.share = share or Share()
        self._ray = need_ray()
        if not self._ray.is_initialized():
            raise BadArgument("`learner` must be made on a Ray cluster, got none. Write: with connected(): plan(...)")
        try:
            packed = pack(learner)
            unpack_value(packed)  # some things fail only here, which would be in a worker
        except Exception as problem:
            raise BadArgument(
                f"`learner` must be one that can be pickled, got {type(learner).__name__}: {error_text(problem)}. "
                "Keep what cannot in a module that the workers import, or make it in `make`."
            ) from None
        self._head = Head()
        self._workers = PolledCount(self.share.workers, self._head, COUNT_AGAIN_SECONDS)
        self._group = int(getattr(learner, "at_once", 1)) if hasattr(learner, "fit_many") else 1
        self._shared = uuid.uuid4().hex, self._ray.put(packed), self.share
        self._tasks: dict[str, Any] = {}
        self._digests: dict[int, tuple[Task, str]] = {}
        options = {"num_cpus": self.share.cpus, "num_gpus": self.share.gpus, "max_calls": 0, "max_retries": TRIES - 1}
        self._make = self._ray.remote(**options)(_make)
        self._fit = self._ray.remote(num_returns=2, **options)(_fit)
        self._score = self._ray.remote(**options)(_score)

    @property
    def at_once(self) -> int:
        """How many models to give to `fit_many`: enough for all workers of the cluster."""
        return AHEAD * self._group * max(1, self._workers.last())

    @property
    def note(self) -> str:
        """What the learner says of its losses."""
        return str(getattr(self.learner, "note", ""))

    @property
    def strategy(self) -> Any:
        """That of the learner."""
        return getattr(self.learner, "strategy", None)

    @property
    def heads(self) -> str:
        """Those of the learner."""
        return str(getattr(self.learner, "heads", "shared"))

    @property
    def perfect(self) -> str:
        """What counts as knowledge 1 for the learner."""
        return str(getattr(self.learner, "perfect", ""))

    @property
    def mixes(self) -> bool:
        """Whether the learner does."""
        return bool(getattr(self.learner, "mixes", self.heads != "task"))

    def with_strategy(self, strategy: Any) -> RayLearner:
        """The same learner with another strategy, on the same cluster."""
        inner: Any = self.learner
        return RayLearner(inner.with_strategy(strategy), self.share)

    def describe(self) -> str:
        """As the learner: what it has learned elsewhere is not learned again."""
        return described(self.learner)

    def make(self, seed: int) -> Checkpoint:
        """A fresh model."""
        return Checkpoint(self._make.remote(*self._shared, seed), 0)

    def adopt(self, given: Any, classes: tuple[Hashable, ...]) -> Checkpoint:
        """A checkpoint of what the learner makes of a model of yours."""
        return given if isinstance(given, Checkpoint) else self.copy(adopted(self.learner, given, classes))

    def copy(self, model: Checkpoint | Model) -> Checkpoint:
        """The checkpoint itself, for it never changes; one of a model of yours."""
        return model if isinstance(model, Checkpoint) else Checkpoint(self._ray.put(pack([model])), 0)

    def fit(self, model: Checkpoint, task: Task) -> Checkpoint | None:
        """The model after training on the task; None where the learner has returned none."""
        with _own_error():
            return self.fit_many([model], [task])[0]

    def loss(self, model: Checkpoint, task: Task) -> float:
        """Mean loss on the data that the task is measured on."""
        with _own_error():
            return self.score_many([model], [task])[0][0].loss

    @from_outside()
    def fit_many(self, models: Sequence[Checkpoint], tasks: Sequence[Task]) -> list[Checkpoint | None]:
        """Every model after training on its task; None where the learner has returned none."""
        fitted, marks = [], []
        for begin in range(0, len(models), self._group):
            self._head.answers()
            part, learned = models[begin : begin + self._group], tasks[begin : begin + self._group]
            refs, places = _distinct(part)
            names = {task.name: self._put(task) for task in learned}
            indices = [list(names).index(task.name) for task in learned]
            made, mark = self._fit.remote(*self._shared, places, indices, len(refs), *refs, *names.values())
            fitted += [Checkpoint(made, place) for place in range(len(part))]
            marks.append(mark)
        there = [mark for group in self._gather(marks) for mark in group]
        return [model if is_there else None for model, is_there in zip(fitted, there, strict=True)]

    @from_outside()
    def score_many(self, models: Sequence[Checkpoint], tasks: Sequence[Task]) -> list[list[Score]]:
        """The scores of every model on every task."""
        self._head.answers()
        put = [self._put(task) for task in tasks]
        waiting = []
        for begin in range(0, len(models), self._group):
            refs, places = _distinct(models[begin : begin + self._group])
            waiting.append(self._score.remote(*self._shared, places, len(refs), *refs, *put))
        return [row for rows in self._gather(waiting) for row in rows]

    def _gather(self, waiting: list[Any]) -> list[Any]:
        """All results; where a task raised, its error with the place of the first model that it was given."""
        results: list[Any] = []
        try:
            for ref in waiting:
                while not self._came(ref):
                    pass
                with self._head.guarded():
                    results.append(self._ray.get(ref))
        except self._ray.exceptions.RayError as problem:
            cause = getattr(problem, "cause", None)
            own = cause if isinstance(cause, Exception) else WorkerLost.from_ray(problem)
            raise ModelFailed(len(results) * self._group, own) from None
        finally:
            cancel(waiting[len(results) :], self._head)
        return results

    def _came(self, ref: Any) -> bool:
        """Whether it has, after a moment at most."""
        with self._head.guarded():
            return bool(self._ray.wait([ref], timeout=MOMENT_SECONDS)[0])

    def _put(self, task: Task) -> Any:
        """The reference of a task that is in the object store, once whatever copies of it come along."""
        if id(task) not in self._digests:
            self._digests[id(task)] = task, task.digest
        digest = self._digests[id(task)][1]
        if digest not in self._tasks:
            self._tasks[digest] = self._ray.put(pack(task))
        return self._tasks[digest]


def carry_module(module: str) -> None:
    """Have functions of a module of yours travel with the learner, so that workers need not be able to import it."""
    need_ray().cloudpickle.register_pickle_by_value(sys.modules[module])


@contextmanager
def _own_error() -> Iterator[None]:
    """Where there is one model, nobody needs to be told which."""
    try:
        yield
    except ModelFailed as problem:
        raise problem.problem from None


def _distinct(models: Sequence[Checkpoint]) -> tuple[list[Any], list[tuple[int, int]]]:
    """The references among checkpoints, and each checkpoint as (number of the reference, place in it)."""
    refs = list(dict.fromkeys(model.models for model in models))
    return refs, [(refs.index(model.models), model.place) for model in models]


def _make(key: str, parts: Packed, share: Share, seed: int) -> Packed:
    return pack([_learner(key, parts, share).make(seed)])


def _fit(
    key: str,
    parts: Packed,
    share: Share,
    places: list[tuple[int, int]],
    indices: list[int],
    num_models: int,
    *packed: Packed,
) -> tuple[Packed, list[bool]]:
    """The fitted models, and of each whether there is one: that says that they are there without bringing them."""
    learner = _learner(key, parts, share)
    models = _taken(packed[:num_models], places)
    tasks = [unpack_value(task) for task in packed[num_models:]]
    learned = [tasks[index] for index in indices]
    given = [model is not None for model in models]
    if hasattr(learner, "fit_many"):
        fitted = list(learner.fit_many(models, learned))
    else:
        fitted = [learner.fit(models[0], learned[0])]  # private already: no copy
    if len(fitted) != len(models):
        raise ValueError(f"`fit_many` must return a model for each of the {len(models)}, got {len(fitted)}")
    return pack(fitted), [model is not None or not had for model, had in zip(fitted, given, strict=True)]


def _score(
    key: str, parts: Packed, share: Share, places: list[tuple[int, int]], num_models: int, *packed: Packed
) -> list[list[Score]]:
    learner = _learner(key, parts, share)
    models = _taken(packed[:num_models], places)
    tasks = [unpack_value(task) for task in packed[num_models:]]
    if hasattr(learner, "score_many"):
        return [list(row) for row in learner.score_many(models, tasks)]
    return [[score(learner, model, task) for task in tasks] for model in models]


def _learner(key: str, parts: Packed, share: Share) -> Learner:
    """In a worker: the learner; where it has brought JAX along, what that compiles is kept on disk."""
    learner: Learner = load_once(key, parts, share)
    if "jax" in sys.modules:
        from taskorder.engine.compiled import keep_compiled

        keep_compiled()
    return learner


def _taken(packed: Sequence[Packed], places: list[tuple[int, int]]) -> list[Model]:
    """The models, in memory of this process that may be written."""
    groups = [unpack_value(models, private=True) for models in packed]
    return [groups[number][place] for number, place in places]
