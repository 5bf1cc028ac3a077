"""Learn several orders of the same tasks, and score every prefix of each on all tasks.

A prefix that orders share is learned once. Finished prefixes may be kept in a store: what is there is not learned
again, unless a longer prefix grows from it. The cost is counted in fits.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, seed_number, visit_order
from taskorder.learners.protocol import Learner, Model, Score, adopted, copied, described, score
from taskorder.prefixes import Prefix, PrefixTree
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.task import Task, align

FitReport = Callable[[int, int], object]
"""Called after every fit with the number done and the number of all."""


class LearnerError(BadArgument):
    """A learner raised, or gave a loss that is not a number; the message names the task, the seed and the fit.

    Examples
    --------
    >>> from taskorder.learners import CallableLearner
    >>> learner = CallableLearner(lambda learned, test, seed: -1.0, chance=0.7, name="wrong")
    >>> learn_orders(learner, [Task("golf")], [(0,)])
    Traceback (most recent call last):
    ...
    taskorder.learners.orders.LearnerError: `learner` must give a finite loss of at least 0, got -1.0 for 'golf' ...
    """


class ModelFailed(Exception):
    """What `fit_many` and `score_many` may raise in place of an error, to say at which model it came."""

    def __init__(self, place: int, problem: Exception) -> None:
        super().__init__(place, problem)
        self.place, self.problem = place, problem


class _Fit(NamedTuple):
    """A prefix that is learned by the model of one seed; the empty one is the fresh model."""

    seed: int
    prefix: Prefix


@dataclass
class _Run:
    learner: Learner
    tasks: tuple[Task, ...]
    store: Store | None
    report: FitReport | None
    examples: bool
    specs: Callable[[_Fit], RunSpec]
    trees: dict[int, PrefixTree]
    """What to learn, by seed: prefixes without scores and those that they grow from."""
    scores: dict[_Fit, tuple[Score, ...]] = field(default_factory=dict)
    done: int = 0

    @property
    def total(self) -> int:
        """Fits to do in all."""
        return sum(map(len, self.trees.values()))


def learn_orders(
    learner: Learner,
    tasks: Sequence[Task],
    orders: Iterable[Sequence[int]],
    seeds: Sequence[int] = (0,),
    *,
    start: Model | None = None,
    store: Store | None = None,
    report: FitReport | None = None,
    examples: bool = False,
) -> list[dict[Prefix, tuple[Score, ...]]]:
    """Learn orders of tasks, each shared prefix once.

    Parameters
    ----------
    learner : Learner
        What learns; see :mod:`taskorder.learners.protocol`.
    tasks : sequence of Task
        The tasks; their labels are aligned first.
    orders : iterable of sequences of int
        Task indices, in the order of learning; any length, repeats allowed.
    seeds : sequence of int
        Each gives a fresh model.
    start : object, optional
        A model to begin with in place of a fresh one. It is left as it is, and a store cannot be used with it.
    store : Store, optional
        Where finished prefixes are kept; those that it holds are not learned again.
    report : callable, optional
        Called after every fit with the number done and the number of all.
    examples : bool
        Whether to keep the losses of every example too, where the learner gives them.

    Returns
    -------
    list of dict
        For each seed, the scores on all tasks after each prefix: the order (0, 2, 1) has the prefixes (0,), (0, 2)
        and (0, 2, 1).

    Raises
    ------
    LearnerError
        If the learner raises or gives a loss that is not a number; the message names the fit.

    Examples
    --------
    >>> from taskorder import Task
    >>> from taskorder.learners import CallableLearner, learn_orders
    >>> learner = CallableLearner(lambda learned, test, seed: 0.1 if test in learned else 0.6, chance=0.7, name="guess")
    >>> (scores,) = learn_orders(learner, [Task("tennis"), Task("golf")], [(0, 1), (0,)])
    >>> {prefix: [score.loss for score in row] for prefix, row in scores.items()}
    {(0,): [0.1, 0.6], (0, 1): [0.1, 0.1]}
    """
    aligned = align(tasks)
    tree = PrefixTree(visit_order(order, len(aligned), "orders").tolist() for order in orders)
    if start is not None and store is not None:
        raise ValueError("`store` must be left out where learning starts from a model of yours: it cannot be named.")
    shared: dict[str, Any] = {}
    if store is not None:
        shared = {"learner": described(learner), "tasks": [task.digest for task in aligned], "examples": examples}

    def spec(fit: _Fit) -> RunSpec:
        learned = [aligned[task].name for task in fit.prefix]
        return RunSpec("pilot.beginning.2", {**shared, "seed": fit.seed, "learned": learned})

    prefixes = [prefix for prefix in tree.rows if prefix]
    fits = [_Fit(seed, prefix) for seed in dict.fromkeys(map(seed_number, seeds)) for prefix in prefixes]
    known = {} if store is None else dict(zip(fits, store.get(map(spec, fits)), strict=True))
    scores = {fit: _scores(result) for fit, result in known.items() if result is not None}
    missing: dict[int, list[Prefix]] = {}
    for fit in fits:
        if fit not in scores:
            missing.setdefault(fit.seed, []).append(fit.prefix)
    trees = {seed: PrefixTree(rest) for seed, rest in missing.items()}
    run = _Run(learner, aligned, store, report, examples, spec, trees, scores)
    _grow(run, [(_Fit(seed, ()), _made(run, seed, start)) for seed in trees])
    return [{prefix: run.scores[_Fit(seed, prefix)] for prefix in prefixes} for seed in seeds]


def _made(run: _Run, seed: int, start: Model | None) -> Model:
    if start is not None:
        return adopted(run.learner, start, run.tasks[0].classes)
    try:
        return run.learner.make(seed)
    except Exception as problem:
        raise LearnerError(f"{_said('make a model', problem)} (seed {seed}).") from problem


def _grow(run: _Run, parents: list[tuple[_Fit, Model]]) -> None:
    """Learn every prefix that grows from one of `parents`, and all that grow from those.

    Each part is followed to its end before the next, so that few models are in memory.
    """
    waiting = _parts(run, parents)
    while waiting:
        part = waiting.pop()
        fits = [fit for fit, _ in part]
        clock = time.perf_counter()
        grown = _fitted(run, fits, [model for _, model in part])
        _keep(run, fits, _scored(run, fits, grown), clock)
        waiting += _parts(run, list(zip(fits, grown, strict=True)))


def _parts(run: _Run, parents: list[tuple[_Fit, Model]]) -> list[list[tuple[_Fit, Model]]]:
    """What grows from `parents`, each with the model that it grows from, in parts that are learned at once, the first
    one last."""
    children = [
        (_Fit(parent.seed, prefix), model)
        for parent, model in parents
        for prefix in run.trees[parent.seed].children[parent.prefix]
    ]
    size = run.learner.at_once if hasattr(run.learner, "fit_many") and hasattr(run.learner, "at_once") else 1
    return [children[begin : begin + size] for begin in range(0, len(children), size)][::-1]


def _fitted(run: _Run, fits: list[_Fit], models: list[Model]) -> list[Model]:
    tasks = [run.tasks[fit.prefix[-1]] for fit in fits]
    try:
        if hasattr(run.learner, "fit_many"):
            fitted = list(run.learner.fit_many(models, tasks))
            if len(fitted) != len(models):
                raise ValueError(f"`fit_many` must return a model for each of the {len(models)}, got {len(fitted)}")
        else:
            fitted = [run.learner.fit(copied(run.learner, models[0]), tasks[0])]
    except Exception as problem:
        _refuse(run, fits, "fit", problem)
    for place, (model, made) in enumerate(zip(models, fitted, strict=True)):
        if made is None and model is not None:
            raise LearnerError(
                "`learner` must end its method fit with `return model`, "
                f"got None from {_own_name(run.learner)}.fit {_where(run, fits[place], place)}"
            )
    return fitted


def _own_name(learner: Learner) -> str:
    """The class of a learner, of that which learns where another one carries it elsewhere."""
    return type(getattr(learner, "learner", learner)).__name__


def _scored(run: _Run, fits: list[_Fit], models: list[Model]) -> list[tuple[Score, ...]]:
    try:
        if hasattr(run.learner, "score_many"):
            return [tuple(row) for row in run.learner.score_many(models, run.tasks)]
        return [tuple(score(run.learner, model, task) for task in run.tasks) for model in models]
    except Exception as problem:
        _refuse(run, fits, "give losses", problem)


def _refuse(run: _Run, fits: list[_Fit], what: str, problem: Exception) -> NoReturn:
    """Name the fit that failed: the first of several, where the learner does not say which."""
    place, cause = (problem.place, problem.problem) if isinstance(problem, ModelFailed) else (0, problem)
    raise LearnerError(f"{_said(what, cause)} {_where(run, fits[place], place)}") from cause


def _said(what: str, cause: Exception) -> str:
    """What a learner must do, and what came; an error about an argument says by itself what is wrong."""
    if isinstance(cause, BadArgument):
        return str(cause).removesuffix(".")
    return f"`learner` must {what}, got {_error_text(cause)}"


def _keep(run: _Run, fits: list[_Fit], rows: list[tuple[Score, ...]], clock: float) -> None:
    """Check and keep scores, one fit after another: those before a bad one stay."""
    for fit, scores in zip(fits, rows, strict=True):
        for task, entry in zip(run.tasks, scores, strict=True):
            for name, most in (("loss", math.inf), ("chance", math.inf), ("accuracy", 1.0 + 1e-9)):
                value = getattr(entry, name)
                if value is not None and not (0 <= value <= most and math.isfinite(value)):
                    raise LearnerError(
                        f"`learner` must give a finite {name} of at least 0, got {value} for {task.name!r} "
                        f"{_where(run, fit)}"
                    )
        short = [_short(entry.examples) if run.examples else None for entry in scores]
        run.scores[fit] = tuple(entry._replace(examples=e) for entry, e in zip(scores, short, strict=True))
        if run.store is not None:
            seconds = (time.perf_counter() - clock) / len(fits)
            run.store.put([run.specs(fit)], [_result(run.scores[fit])], seconds)
        run.done += 1
        if run.report is not None:
            run.report(run.done, run.total)


def _where(run: _Run, fit: _Fit, ahead: int = 0) -> str:
    """The rest of a message: which fit it was, so many after those that are kept, and what to do."""
    *before, last = (run.tasks[task].name for task in fit.prefix)
    after = f" after {', '.join(map(repr, before))}" if before else ""
    kept = "The fits before it are kept: call again to go on." if run.store else "Give a store to keep finished fits."
    return f"(learning {last!r}{after}, seed {fit.seed}, fit {run.done + 1 + ahead} of {run.total}). {kept}"


def _error_text(problem: Exception) -> str:
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
