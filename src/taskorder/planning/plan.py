"""`plan`: from tasks and a learner to a plan; `run_pilot` also returns the measurements that it rests on.

    pilot sample -> every task alone, pairs -> transfer table, retention -> the order of the highest score
                                            -> confidence, prediction, warnings

A budget in examples or runs is spent in a race on growing samples (planning/racing.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument, unknown
from taskorder.checks import Floats, positive_count, seed_number, whole
from taskorder.constraints import Constraints, TaskName
from taskorder.given_table import by_name
from taskorder.learners.orders import FitReport
from taskorder.learners.protocol import Learner, Model, adopted, is_learner
from taskorder.ordering.plans import make_plan
from taskorder.ordering.solve import RULES, RULES_WITHOUT_WEIGHTS
from taskorder.planning.budget import budget_of
from taskorder.planning.choice import (
    AUTO,
    SECONDS,
    Order,
    alternatives,
    best_order,
    law_input,
    plan_order,
    price_notes,
    regret,
    rule_order,
)
from taskorder.planning.confidence import confidence, predicted
from taskorder.planning.estimate import TransferLosses
from taskorder.planning.fitted_law import FittedLaw, fitted_law
from taskorder.planning.measurements import Measurements, Part
from taskorder.planning.measuring import known_now
from taskorder.planning.mix import Compared, compared_with_mix, mixable, seeds_in_time, shared_budget
from taskorder.planning.pair_effects import PairEffects
from taskorder.planning.pair_orders import pair_orders
from taskorder.planning.pilot import checked_size, label_notes
from taskorder.planning.tried import head_notes, noise_notes, order_notes, tried
from taskorder.planning.warnings import cautions
from taskorder.progress import shown_progress
from taskorder.records import Plan
from taskorder.runs.store import Store
from taskorder.strategies import BY_CLASS, BY_TASK
from taskorder.task import Task, align
from taskorder.theory.law import checked_retention

BUDGET = 200
"""Fits, by default: all pairs of five tasks with three seeds take 75, of eight tasks 192."""
SEARCHES = ("optimal", "worst", "first-order", "max-path", "min-path")
SLOW_FROM, SLOW_DRAWS = 9, 20
"""With so many tasks a rule that searches is slow, and gets so many resamples."""


class PilotResult(NamedTuple):
    """A plan and the measurements that it rests on.

    Examples
    --------
    >>> from taskorder import Task, run_pilot
    >>> from taskorder.learners import CallableLearner
    >>> def answer(learned, test, seed):
    ...     return {"loss": 0.0 if learned[-1] == test else 0.5, "chance": 1.0}
    >>> result = run_pilot([Task("x"), Task("y"), Task("z")], CallableLearner(answer, name="pupil"), seeds=1)
    >>> sorted(result.plan.named_order), result.measured.losses.shape
    (['x', 'y', 'z'], (1, 9, 3))
    """

    plan: Plan
    table: Floats
    """(P, P) the transfer table that the plan was made from."""
    transfer: TransferLosses
    """What every task alone teaches of the others."""
    measured: Measurements
    """The same and more: every task alone, and pairs of tasks."""
    sample: tuple[Task, ...]
    """The pilot sample; in a race, that of the first round."""

    def __repr__(self) -> str:
        return f"{self.plan!r}\nand what it rests on: {', '.join(self._fields[1:])}"

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()


def plan(
    tasks: Iterable[Task],
    learner: Learner,
    pilot: float = 0.01,
    rule: str = AUTO,
    seeds: int = 3,
    *,
    retention: ArrayLike | Mapping[str, float] | None = None,
    before: Iterable[tuple[TaskName, TaskName]] = (),
    first: TaskName | None = None,
    last: TaskName | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    learned: Iterable[TaskName] = (),
    groups: Iterable[Iterable[TaskName]] = (),
    model: Model | None = None,
    budget: int | str | None = BUDGET,
    mix: bool = True,
    draws: int = 200,
    sample_seed: int = 0,
    store: str | Path | None = None,
    report: FitReport | None = None,
    progress: bool | None = None,
) -> Plan:
    """The order to learn tasks in, from a pilot with a learner, with its confidence and warnings.

    Parameters
    ----------
    tasks
        The tasks to order.
    learner
        What learns them: see `taskorder.learners`.
    pilot
        Share of each task's examples (a float) or their number (an int), classes in the same shares. A share takes at
        least 15 examples of each class, where there are so many.
    rule
        auto follows the law of retention, or pairs, with all that the pilot measures; a rule of `solve` reads a table.
    seeds
        Number of models and shuffles.
    retention
        The share of its knowledge that the learner keeps when it learns the next task in the real run: one number, or
        one for each task. Where it is left out, pairs of tasks tell it. It does not count with a head for each task.
    before
        Pairs (a, b): a is learned before b. Tasks are given by name or by index.
    first, last
        The tasks at the two ends of the order.
    weights
        How much each task counts: one number for each task, or some by name ({"cats": 2}), the others 1.
    learned
        Tasks already learned, in that order; the plan orders the others, and its `regret` says what the choice of the
        past cost.
    groups
        Lists of tasks that stay together: those of one list follow each other, in any order.
    model
        The model that has learned them: what it knows is measured. Without it the law says what it knows. A fitted
        estimator or Pipeline, an nn.Module or (module, optimizer), parameters of a JAX net, names of tasks for a black
        box, or a model of the learner; it is left as it is.
    budget
        Fits in all (a number) or time ("30s", "5min"): a small one means fewer seeds, then fewer pairs. Or what to
        learn from, as a share of one training run on all examples ("0.25 runs") or in examples ("5000 examples"):
        then tasks race for the last places on growing samples, and `pilot` and `seeds` do not count. None has no limit.
    mix
        Whether to say what learning in this order costs against learning all tasks at once (`Plan.mix`).
    draws
        Resamples of examples and seeds for the confidence; 0 leaves it out.
    sample_seed
        Seed of the pilot sample and of the resamples.
    store
        A file that keeps every finished fit: after a failure or an interruption, call again to go on.
    report
        Called after every fit with the number of fits done and to do.
    progress
        Whether to show a bar while the pilot runs (in a log file a line for every tenth of it). None shows it only in
        notebooks and on terminals, and where there is no `report`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from taskorder.learners import SklearnLearner
    >>> rng = np.random.default_rng(0)
    >>> tasks = [Task(f"t{k}", x := rng.normal(size=(60, 3)), x[:, k] > 0) for k in range(3)]
    >>> result = plan(tasks, SklearnLearner(SGDClassifier(loss="log_loss")), pilot=1.0, seeds=2)
    >>> sorted(result.named_order), result.prediction.unit
    (['t0', 't1', 't2'], 'accuracy')
    """
    return run_pilot(
        tasks, learner, pilot, rule, seeds, retention=retention, before=before, first=first, last=last, weights=weights,
        learned=learned, groups=groups, model=model, budget=budget, mix=mix, draws=draws, sample_seed=sample_seed,
        store=store, report=report, progress=progress,
    ).plan  # fmt: skip


def run_pilot(
    tasks: Iterable[Task],
    learner: Learner,
    pilot: float = 0.01,
    rule: str = AUTO,
    seeds: int = 3,
    *,
    retention: ArrayLike | Mapping[str, float] | None = None,
    before: Iterable[tuple[TaskName, TaskName]] = (),
    first: TaskName | None = None,
    last: TaskName | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    learned: Iterable[TaskName] = (),
    groups: Iterable[Iterable[TaskName]] = (),
    model: Model | None = None,
    budget: int | str | None = BUDGET,
    mix: bool = True,
    draws: int = 200,
    sample_seed: int = 0,
    store: str | Path | None = None,
    report: FitReport | None = None,
    progress: bool | None = None,
) -> PilotResult:
    """A plan as `plan` makes it, with the measurements that it rests on.

    Parameters
    ----------
    tasks, learner, pilot, rule, seeds
        As in `plan`.
    retention, before, first, last, weights, learned, groups, model, budget, mix, draws, sample_seed, store, report
        As in `plan`.
    progress
        As in `plan`.

    Returns
    -------
    PilotResult

    Examples
    --------
    >>> from taskorder.learners import CallableLearner
    >>> loss = lambda learned, test, seed: 0.5 ** learned.count(test)
    >>> result = run_pilot([Task("a"), Task("b")], CallableLearner(loss, chance=1.0), seeds=1, draws=0)
    >>> result.transfer.losses[0]
    array([[0.5, 1. ],
           [1. , 0.5]])
    """
    clock = time.perf_counter()
    if rule not in (AUTO, *RULES):
        raise unknown("rule", rule, (AUTO, *RULES))
    is_learner(learner)
    resamples, drawn_with = whole(draws), seed_number(sample_seed, "sample_seed")
    if resamples is None or resamples < 0:
        raise ValueError(f"`draws` must be a whole number of resamples, or 0 for no confidence, got {draws!r}.")
    aligned = align(tasks)
    names = tuple(task.name for task in aligned)
    retention = by_name(retention)
    constraints = Constraints.of(
        len(names), names=names, learned=learned, before=before, first=first, last=last, weights=by_name(weights),
        groups=groups,
    )  # fmt: skip
    if not constraints.num_open:
        raise BadArgument("`learned` must leave at least one task to order, got all of them.")
    if constraints.weights is not None and rule in RULES_WITHOUT_WEIGHTS:
        raise BadArgument(
            f"`weights` must be left out with rule '{rule}', which ranks by similarity alone. "
            f"Use rule '{AUTO}' or 'optimal'."
        )
    if model is not None and not constraints.learned:
        raise BadArgument("`learned` must name the tasks that `model` has learned, got none.")
    own = None if model is None else adopted(learner, model, aligned[0].classes)  # refused before anything is learned
    if retention is not None:
        checked_retention(retention, len(names), names)
    checked_size(pilot)  # before a store is made
    chosen_seeds, limits = tuple(range(positive_count(seeds, "seeds"))), budget_of(budget)
    notes = [*label_notes(aligned), *head_notes(learner, aligned, rule), *filter(None, [getattr(learner, "note", "")])]
    which = mixable(learner, aligned, model=model is not None, budget=limits) if mix and len(names) > 1 else None
    each = 0 if which is None or which.why_not else which.fits(len(names))
    shared = shared_budget(limits, len(names), len(chosen_seeds), each)
    with shown_progress(progress, report) as counted, nullcontext() if store is None else Store(store) as open_store:
        found = tried(
            aligned, learner, pilot, chosen_seeds, shared.order, constraints,
            retention=retention, seed=drawn_with, store=open_store, report=counted,
        )  # fmt: skip
        if own is not None:
            start = known_now(found.sample, learner, own, found.pilot.measured)
            found = found._replace(pilot=found.pilot._replace(start=start))
        law = fitted_law(found.pilot)

        def choose(law: FittedLaw, part: Part | None) -> Order:
            if rule == AUTO:
                return best_order(law, constraints)
            drawn = found.transfer if part is None else found.transfer.drawn(np.asarray(part[0]), part[1])
            return rule_order(law, drawn.similarity(), rule, constraints)

        order, cut = plan_order(law, found.transfer.similarity(), rule, constraints)
        beside = Compared()
        if which is not None:
            ways = seeds_in_time(shared.seeds, each, limits, time.perf_counter() - clock, found.fits)
            beside = compared_with_mix(
                aligned, pilot, which, (*constraints.learned, *order), chosen_seeds[:ways], weights=constraints.weights,
                draws=resamples, seed=drawn_with, store=open_store, report=counted,
            )  # fmt: skip
    defaults = {"output": None, "time_limit": SECONDS, "seed": 0, "repair": True}  # those of `solve`
    made = make_plan(law_input(law, constraints), order, rule, options=defaults)
    if law.effects is not None:
        made = _by_pairs(made, law, constraints)
    if rule in SEARCHES and len(names) >= SLOW_FROM:
        resamples = min(resamples, SLOW_DRAWS)
    sure = None
    if constraints.num_open > 1 and constraints.fixes_order:
        notes.append("the constraints leave only one order: there is nothing to choose")
    elif resamples and constraints.num_open > 1:
        sure = confidence(found.pilot, choose, made.order, constraints, draws=resamples, seed=drawn_with)
    if rule == AUTO:
        notes += [*order_notes(found.pilot, law, constraints), *price_notes(law, made.order, constraints)]
    prediction = predicted(found.pilot, made.order, constraints, draws=resamples, seed=drawn_with)
    made = replace(
        made,
        notes=(*notes, *found.notes, *filter(None, [beside.note]), *cut, *noise_notes(sure, found), *made.notes),
        prediction=replace(prediction, retention=found.kept.sentence, cost=found.cost and found.cost + beside.cost),
        mix=beside.found,
        regret=regret(law, made.order, constraints),
        confidence=sure,
        warnings=cautions(
            found.sample, found.transfer, sure.verdict if sure else "", aligned,
            heads=found.pilot.heads, strategy=getattr(learner, "strategy", None),
            in_pairs=pair_orders(found.pilot, law), apart=found.pilot.fade is not None,
        ),
        alternatives=alternatives(law, found.transfer.similarity(), constraints),
        seconds=time.perf_counter() - clock,
        options={
            **made.options, "rule": rule, "pilot": _plain(pilot), "seeds": len(found.transfer.seeds),
            "budget": _plain(budget), "sample_seed": drawn_with,
            "draws": resamples, "from_model": model is not None, "mix": mix,
        },
    )  # fmt: skip
    return PilotResult(made, law.table, found.transfer, found.pilot.measured, found.sample)


def _by_pairs(made: Plan, law: FittedLaw, constraints: Constraints) -> Plan:
    """The plan with what pairs of tasks predict: its table holds tasks alone, on which orders hardly differ."""
    path, importance = law.path(made.order), constraints.importance
    errors = (1 - path[-1]) ** 2
    return replace(
        made,
        score=float(path[-1] @ law.weights),
        knowledge=tuple(path[-1].tolist()),
        knowledge_path=tuple(map(tuple, path.tolist())),
        error=float(errors @ importance),
        task_errors=tuple(errors.tolist()),
        options={**made.options, "heads": BY_TASK if isinstance(law.effects, PairEffects) else BY_CLASS},
    )


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python, which JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value
