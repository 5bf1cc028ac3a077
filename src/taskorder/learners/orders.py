"""Learn several orders of the same tasks, and score every beginning of each on all tasks.

A beginning that orders share is learned once. Finished beginnings may be kept in a store: what is there is not learned
again, unless a longer beginning grows from it. The cost is counted in fits.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from taskorder.checks import Floats, seed_number, visit_order
from taskorder.learners.protocol import Learner, Model, Score, copied, described, score
from taskorder.records import RunSpec
from taskorder.runs.store import Store
from taskorder.task import Task, align

Beginning = tuple[int, ...]
"""Places of tasks, in the order of learning."""
Report = Callable[[int, int], object]
"""Called after every fit with the number done and the number of all."""


class LearnerError(ValueError):
    """A learner raised, or gave a loss that is no number; the message names the task, the seed and the fit."""


class OneFailed(Exception):
    """What `fit_many` and `score_many` may raise in place of an error, to say at which model it came."""

    def __init__(self, place: int, problem: Exception) -> None:
        super().__init__(place, problem)
        self.place, self.problem = place, problem


class _Node(NamedTuple):
    seed: int
    beginning: Beginning


@dataclass
class _Run:
    learner: Learner
    tasks: tuple[Task, ...]
    store: Store | None
    report: Report | None
    examples: bool
    specs: Callable[[_Node], RunSpec]
    grows: dict[_Node, list[_Node]]
    """What to learn: beginnings without scores and those that they grow from, each with what grows from it."""
    scores: dict[_Node, tuple[Score, ...]] = field(default_factory=dict)
    done: int = 0

    @property
    def total(self) -> int:
        """Fits to do in all."""
        return sum(bool(node.beginning) for node in self.grows)


def learn_orders(
    learner: Learner,
    tasks: Sequence[Task],
    orders: Iterable[Sequence[int]],
    seeds: Sequence[int] = (0,),
    *,
    start: Model | None = None,
    store: Store | None = None,
    report: Report | None = None,
    examples: bool = False,
) -> list[dict[Beginning, tuple[Score, ...]]]:
    """For each seed, the scores on all tasks after each beginning of `orders`.

    The beginnings of the order (0, 2, 1) are (0,), (0, 2) and (0, 2, 1).

    orders: places of tasks; any length, repeats allowed.
    start: a model to begin with in place of a fresh one; it is left as it is, and nothing can be kept in a store.
    examples: keep the losses of every example too, where the learner gives them.
    """
    aligned = align(tasks)
    ways = [tuple(visit_order(order, len(aligned), "orders").tolist()) for order in orders]
    if start is not None and store is not None:
        raise ValueError("`store` must be left out where learning starts from a model of yours: it cannot be named.")
    shared: dict[str, Any] = {}
    if store is not None:
        shared = {"learner": described(learner), "tasks": [task.digest for task in aligned], "examples": examples}

    def spec(node: _Node) -> RunSpec:
        learned = [aligned[place].name for place in node.beginning]
        return RunSpec("pilot.beginning.2", {**shared, "seed": node.seed, "learned": learned})

    wanted = list(
        dict.fromkeys(
            _Node(seed_number(seed), way[:length])
            for seed in seeds
            for way in ways
            for length in range(1, len(way) + 1)
        )
    )
    known = {} if store is None else dict(zip(wanted, store.get(map(spec, wanted)), strict=True))
    scores = {node: _scores(result) for node, result in known.items() if result is not None}
    grows: dict[_Node, list[_Node]] = {}
    for node in wanted:
        if node not in scores:
            _plant(grows, node)
    run = _Run(learner, aligned, store, report, examples, spec, grows, scores)
    roots = [node for node in grows if not node.beginning]
    _grow(run, [(root, _made(run, root.seed, start)) for root in roots])
    return [{node.beginning: run.scores[node] for node in wanted if node.seed == seed} for seed in seeds]


def _plant(grows: dict[_Node, list[_Node]], node: _Node) -> None:
    """Note that a beginning is to be learned, and from which one it grows."""
    grown: list[_Node] = []
    while node not in grows:
        grows[node] = grown
        if not node.beginning:
            return
        grown, node = [node], _Node(node.seed, node.beginning[:-1])
    grows[node] += grown


def _made(run: _Run, seed: int, start: Model | None) -> Model:
    if start is not None:
        return copied(run.learner, start)
    try:
        return run.learner.make(seed)
    except Exception as problem:
        raise LearnerError(f"`learner` must make a model, got {_said(problem)} (seed {seed}).") from problem


def _grow(run: _Run, parents: list[tuple[_Node, Model]]) -> None:
    """Learn every beginning that grows from one of `parents`, and all that grow from those.

    Each part is followed to its end before the next, so that few models are in memory.
    """
    waiting = _parts(run, parents)
    while waiting:
        part = waiting.pop()
        nodes = [node for node, _ in part]
        clock = time.perf_counter()
        grown = _fitted(run, nodes, [model for _, model in part])
        _keep(run, nodes, _scored(run, nodes, grown), clock)
        waiting += _parts(run, list(zip(nodes, grown, strict=True)))


def _parts(run: _Run, parents: list[tuple[_Node, Model]]) -> list[list[tuple[_Node, Model]]]:
    """What grows from `parents`, each with the model that it grows from, in parts that are learned at once, the first
    one last."""
    children = [(child, model) for parent, model in parents for child in run.grows[parent]]
    size = run.learner.at_once if hasattr(run.learner, "fit_many") and hasattr(run.learner, "at_once") else 1
    return [children[begin : begin + size] for begin in range(0, len(children), size)][::-1]


def _fitted(run: _Run, nodes: list[_Node], models: list[Model]) -> list[Model]:
    tasks = [run.tasks[node.beginning[-1]] for node in nodes]
    try:
        if hasattr(run.learner, "fit_many"):
            fitted = list(run.learner.fit_many(models, tasks))
            if len(fitted) != len(models):
                raise ValueError(f"`fit_many` must return a model for each of the {len(models)}, got {len(fitted)}")
        else:
            fitted = [run.learner.fit(copied(run.learner, models[0]), tasks[0])]
    except Exception as problem:
        _refuse(run, nodes, "fit", problem)
    for place, (model, made) in enumerate(zip(models, fitted, strict=True)):
        if made is None and model is not None:
            raise LearnerError(
                "`learner` must end its method fit with `return model`, "
                f"got None from {_own_name(run.learner)}.fit {_where(run, nodes[place], place)}"
            )
    return fitted


def _own_name(learner: Learner) -> str:
    """The class of a learner, of that which learns where another one carries it elsewhere."""
    return type(getattr(learner, "learner", learner)).__name__


def _scored(run: _Run, nodes: list[_Node], models: list[Model]) -> list[tuple[Score, ...]]:
    try:
        if hasattr(run.learner, "score_many"):
            return [tuple(row) for row in run.learner.score_many(models, run.tasks)]
        return [tuple(score(run.learner, model, task) for task in run.tasks) for model in models]
    except Exception as problem:
        _refuse(run, nodes, "give losses", problem)


def _refuse(run: _Run, nodes: list[_Node], what: str, problem: Exception) -> NoReturn:
    """Name the fit that failed: the first of several, where the learner does not say which."""
    place, cause = (problem.place, problem.problem) if isinstance(problem, OneFailed) else (0, problem)
    raise LearnerError(f"`learner` must {what}, got {_said(cause)} {_where(run, nodes[place], place)}") from cause


def _keep(run: _Run, nodes: list[_Node], found: list[tuple[Score, ...]], clock: float) -> None:
    """Check and keep scores, one fit after another: those before a bad one stay."""
    for node, scores in zip(nodes, found, strict=True):
        for task, one in zip(run.tasks, scores, strict=True):
            for name, most in (("loss", math.inf), ("chance", math.inf), ("accuracy", 1.0 + 1e-9)):
                value = getattr(one, name)
                if value is not None and not (0 <= value <= most and math.isfinite(value)):
                    raise LearnerError(
                        f"`learner` must give a finite {name} of at least 0, got {value} for {task.name!r} "
                        f"{_where(run, node)}"
                    )
        short = [_short(one.examples) if run.examples else None for one in scores]
        run.scores[node] = tuple(one._replace(examples=kept) for one, kept in zip(scores, short, strict=True))
        if run.store is not None:
            seconds = (time.perf_counter() - clock) / len(nodes)
            run.store.put([run.specs(node)], [_result(run.scores[node])], seconds)
        run.done += 1
        if run.report is not None:
            run.report(run.done, run.total)


def _where(run: _Run, node: _Node, ahead: int = 0) -> str:
    """The rest of a message: which fit it was, so many after those that are kept, and what to do."""
    *before, last = (run.tasks[place].name for place in node.beginning)
    after = f" after {', '.join(map(repr, before))}" if before else ""
    kept = "The fits before it are kept: call again to go on." if run.store else "Give a store to keep finished fits."
    return f"(learning {last!r}{after}, seed {node.seed}, fit {run.done + 1 + ahead} of {run.total}). {kept}"


def _said(problem: Exception) -> str:
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


def _short(examples: Floats | None) -> Floats | None:
    """Single examples as they come out of a store, so that it makes no difference whether they have been there."""
    return None if examples is None else examples.astype(np.float32).astype(np.float64)


def _result(scores: tuple[Score, ...]) -> dict[str, Any]:
    """Plain values; the numbers of single examples as text in base 64 of four bytes each, for there are many."""
    rows = []
    for loss, chance, accuracy, examples in scores:
        text = None if examples is None else base64.b64encode(examples.astype("<f4").tobytes()).decode()
        rows.append([loss, chance, accuracy, text])
    return {"scores": rows}


def _scores(result: dict[str, Any]) -> tuple[Score, ...]:
    def numbers(text: str | None) -> Floats | None:
        return None if text is None else np.frombuffer(base64.b64decode(text), "<f4").reshape(3, -1).astype(np.float64)

    return tuple(
        Score(loss, chance, accuracy, numbers(examples)) for loss, chance, accuracy, examples in result["scores"]
    )
