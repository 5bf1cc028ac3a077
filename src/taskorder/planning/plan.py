"""`plan`: from tasks and a learner to a plan; `run_pilot` also returns the measurements that it rests on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, positive_count, seed_number, whole
from taskorder.constraints import Constraints, TaskName
from taskorder.learners.orders import FitReport, learn_orders
from taskorder.learners.protocol import Learner, Model, is_learner
from taskorder.ordering.plans import make_plan
from taskorder.ordering.solve import RULES, RULES_WITHOUT_WEIGHTS, solve_input
from taskorder.ordering.solver_input import SolverInput, checked_table
from taskorder.planning.budget import Budget, budget_of
from taskorder.planning.choice import (
    ALTERNATIVE_RULES,
    AUTO,
    MAX_REHEARSED,
    REHEARSAL,
    auto_rule,
    combined_score,
    compared_orders,
    predicted_errors,
    rule_order,
    similarity_rule,
)
from taskorder.planning.confidence import (
    Evidence,
    RehearsalEvidence,
    SimilarityEvidence,
    confidence,
)
from taskorder.planning.estimate import TransferLosses
from taskorder.planning.pilot import label_notes, pilot_sample
from taskorder.planning.rehearsal import Rehearsal, SeedScores, rehearse
from taskorder.planning.warnings import cautions
from taskorder.prefixes import Prefix
from taskorder.records import Alternative, Plan
from taskorder.runs.store import Store
from taskorder.tables.loss_ratios import clip_similarity
from taskorder.task import Task, align

BUDGET = 200
"""Fits, by default: all pairs of five tasks with three seeds take 75, of eight tasks 192."""
SEARCHES = ("optimal", "worst", "first-order", "max-path", "min-path")
SLOW_DRAWS = 20
"""Resamples for a rule that searches, with many tasks."""


class PilotResult(NamedTuple):
    """A plan and the measurements that it rests on.

    Examples
    --------
    >>> from taskorder import Task, run_pilot
    >>> from taskorder.learners import CallableLearner
    >>> def answer(learned, test, seed):
    ...     return {"loss": 0.0 if learned[-1] == test else 0.5, "chance": 1.0}
    >>> result = run_pilot([Task("x"), Task("y"), Task("z")], CallableLearner(answer, name="pupil"), seeds=1)
    >>> sorted(result.plan.named_order), result.transfer.losses.shape
    (['x', 'y', 'z'], (1, 3, 3))
    """

    plan: Plan
    transfer: TransferLosses
    """What every task alone teaches of the others."""
    rehearsal: Rehearsal | None
    """None where the rule goes by the similarity of tasks alone."""
    sample: tuple[Task, ...]
    """The pilot sample."""


def plan(
    tasks: Iterable[Task], learner: Learner, pilot: float = 0.01, rule: str = AUTO, seeds: int = 3, **how: Any
) -> Plan:
    """The order to learn tasks in, from a pilot with a learner, with its confidence and warnings.

    Parameters
    ----------
    tasks
        The tasks to order.
    learner
        What learns them: see `taskorder.learners`.
    pilot
        Share of each task's examples (a float) or their number (an int), classes in the same shares.
    rule
        auto, rehearsal, or a rule of `solve`, which goes by the similarity of tasks alone.
    seeds
        Number of models and shuffles.
    **how
        before, first, last, weights, learned, model, budget, draws, sample_seed, store, report: see `run_pilot`.

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
    >>> sorted(result.named_order), result.rule
    (['t0', 't1', 't2'], 'rehearsal')
    """
    return run_pilot(tasks, learner, pilot, rule, seeds, **how).plan


def run_pilot(
    tasks: Iterable[Task],
    learner: Learner,
    pilot: float = 0.01,
    rule: str = AUTO,
    seeds: int = 3,
    *,
    before: Iterable[tuple[TaskName, TaskName]] = (),
    first: TaskName | None = None,
    last: TaskName | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    learned: Iterable[TaskName] = (),
    model: Model | None = None,
    budget: int | str | None = BUDGET,
    draws: int = 200,
    sample_seed: int = 0,
    store: str | Path | None = None,
    report: FitReport | None = None,
) -> PilotResult:
    """A plan as `plan` makes it, with the measurements that it rests on.

    Parameters
    ----------
    tasks, learner, pilot, rule, seeds
        As in `plan`.
    before
        Pairs (a, b): a is learned before b. Tasks are given by name or by index.
    first, last
        The tasks at the two ends of the order.
    weights
        How much each task counts: one number for each task, or some by name ({"cats": 2}), the others 1.
    learned
        Tasks already learned, in that order; the plan orders the others, and its `regret` says what the choice of the
        past cost.
    model
        The model that has learned them, to go on from; without it they are learned anew on the pilot.
    budget
        Fits in all (a number) or time ("30s", "5min"). A small budget means shorter endings and fewer seeds. None has
        no limit.
    draws
        Resamples of examples and seeds for the confidence; 0 leaves it out.
    sample_seed
        Seed of the pilot sample and of the resamples.
    store
        A file that keeps every finished fit: after a failure or an interruption, call again to go on.
    report
        Called after every fit with the number of fits done and to do.

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
    if rule not in (AUTO, REHEARSAL, *RULES):
        raise ValueError(f"`rule` must be one of {', '.join((AUTO, REHEARSAL, *RULES))}, got {rule!r}.")
    is_learner(learner)
    resamples, drawn_with = whole(draws), seed_number(sample_seed)
    if resamples is None or resamples < 0:
        raise ValueError(f"`draws` must be a whole number of resamples, or 0 for no confidence, got {draws!r}.")
    aligned = align(tasks)
    names = tuple(task.name for task in aligned)
    constraints = Constraints.of(
        len(names), names=names, learned=learned, before=before, first=first, last=last, weights=weights
    )
    if not constraints.num_open:
        raise ValueError("`learned` must leave at least one task to order, got all of them.")
    if constraints.weights is not None and rule in RULES_WITHOUT_WEIGHTS:
        raise ValueError(
            f"`weights` must be left out with rule '{rule}', which ranks by similarity alone. "
            f"Use rule '{REHEARSAL}' or 'optimal'."
        )
    if model is not None and not constraints.learned:
        raise ValueError("`learned` must name the tasks that `model` has learned, got none.")
    chosen_seeds = tuple(range(positive_count(seeds, "seeds")))
    limits = budget_of(budget)
    notes = [*label_notes(aligned), *filter(None, [getattr(learner, "note", "")])]
    sample = pilot_sample(aligned, pilot, drawn_with, keep_eval=False) if aligned[0].has_data else aligned
    with nullcontext() if store is None else Store(store) as open_store:
        transfer, rehearsal = _measured(
            sample, learner, chosen_seeds, rule, limits, constraints, model, open_store, report
        )
    similarity, raised = clip_similarity(transfer.similarity())
    if raised:
        notes.append(f"{raised} pair{'s' if raised > 1 else ''} of tasks with similarity below -1: taken as -1")
    named = rule
    if rule == AUTO:
        named, why = auto_rule(len(names))
        notes.append(f"auto chose {named}: {why}")
    evidence: Evidence
    if named == REHEARSAL:
        assert rehearsal is not None
        made, evidence = _by_rehearsal(rehearsal, transfer, similarity, constraints)
    else:
        made, evidence = _by_rule(named, transfer, similarity, constraints)
        resamples = min(resamples, SLOW_DRAWS) if len(names) > MAX_REHEARSED + 1 and named in SEARCHES else resamples
    sure = None
    if constraints.num_open > 1 and constraints.fixes_order:
        notes.append("the constraints leave only one order: there is nothing to choose")
    elif resamples and constraints.num_open > 1:
        sure = confidence(evidence, made.order, constraints, draws=resamples, seed=drawn_with)
    made = replace(
        made,
        notes=(*notes, *made.notes),
        expected=_expected(rehearsal, [made.order], constraints)[0],
        regret=_regret(made, similarity, constraints),
        confidence=sure,
        warnings=cautions(sample, transfer, rehearsal),
        alternatives=_alternatives(similarity, rehearsal, constraints),
        seconds=time.perf_counter() - clock,
        options={
            **made.options, "rule": rule, "pilot": _plain(pilot), "seeds": len(transfer.seeds),
            "budget": _plain(budget), "sample_seed": drawn_with,
            "draws": resamples, "from_model": model is not None,
        },
    )  # fmt: skip
    return PilotResult(made, transfer, rehearsal, sample)


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python, which JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


def _by_rehearsal(
    rehearsal: Rehearsal, transfer: TransferLosses, similarity: Floats, constraints: Constraints
) -> tuple[Plan, Evidence]:
    """The plan with the best combined score, and what it rests on."""
    base = _base(similarity, constraints)
    evidence = RehearsalEvidence(rehearsal, transfer, lambda rest: _as_in(base, rest), constraints)
    counts = evidence.sizes()[1]
    everything = None if counts is None else [np.arange(count) for count in counts]
    order = evidence.view(np.arange(rehearsal.num_seeds), everything).choose()
    seeds = "1 seed" if rehearsal.num_seeds == 1 else f"{rehearsal.num_seeds} seeds"
    note = f"rehearsed {rehearsal.level} with {seeds} in {rehearsal.fits} fits"
    defaults = {"output": None, "time_limit": 10.0, "seed": 0, "repair": True}  # those of `solve`
    made = make_plan(SolverInput(checked_table(similarity), constraints), order, REHEARSAL, options=defaults)
    return replace(made, notes=(note, *made.notes)), evidence


def _by_rule(
    rule: str, transfer: TransferLosses, similarity: Floats, constraints: Constraints
) -> tuple[Plan, Evidence]:
    """The plan of a rule on the similarity, and what it rests on."""
    made = solve_input(SolverInput(checked_table(similarity), constraints), rule)
    evidence = SimilarityEvidence(
        transfer,
        lambda drawn: rule_order(drawn, rule, constraints),
        lambda drawn, orders: predicted_errors(drawn, orders, constraints.learned, constraints.weights),
    )
    return made, evidence


def _measured(
    sample: tuple[Task, ...],
    learner: Learner,
    seeds: tuple[int, ...],
    rule: str,
    limits: Budget,
    constraints: Constraints,
    model: Model | None,
    store: Store | None,
    report: FitReport | None,
) -> tuple[TransferLosses, Rehearsal | None]:
    """The losses of transfer, and the rehearsal where the rule needs one."""
    names = [task.name for task in sample]
    rehearses = rule == REHEARSAL or (rule == AUTO and len(sample) <= MAX_REHEARSED)
    singles = [(task,) for task in range(len(sample))]
    if not rehearses or constraints.learned:
        alone = learn_orders(learner, sample, singles, seeds, store=store, report=report, examples=True)
        transfer = TransferLosses.from_scores(names, alone, seeds)
        if not rehearses:
            return transfer, None
    if model is not None:
        seeds, store = seeds[:1], None  # the model is what it is: other seeds would change nothing

    def rank(made: Rehearsal, scores: list[SeedScores], endings: list[Prefix]) -> Floats:
        known = transfer if constraints.learned else TransferLosses.from_scores(names, scores, seeds[: made.num_seeds])
        similarity = known.similarity()
        base = _base(similarity, constraints)
        orders = [(*_as_in(base, set(made.open_tasks) - set(ending)), *ending) for ending in endings]
        reference = compared_orders(constraints, np.random.default_rng(0))
        values = made.values.mean(axis=0)
        return combined_score(made, values, similarity, orders, reference, constraints.learned, constraints.weights)

    rehearsal, scores, allowed = rehearse(
        sample, learner, seeds, fits=limits.fits, seconds=limits.seconds, learned=constraints.learned, start=model,
        rank=rank, may_end=constraints.allows_ending, store=store, report=report,
    )  # fmt: skip
    if not constraints.learned:
        transfer = TransferLosses.from_scores(names, scores, allowed)
    return transfer, rehearsal


def _base(similarity: Floats, constraints: Constraints) -> tuple[int, ...]:
    """An allowed order by the similarity alone, for the prefixes that were not rehearsed."""
    rule, _ = similarity_rule(len(similarity))
    return rule_order(similarity, rule, constraints)


def _regret(made: Plan, similarity: Floats, constraints: Constraints) -> float | None:
    """How much smaller the error of the best order would be, had nothing been learned."""
    if not constraints.learned:
        return None
    # `first` was about the next task and does not hold from the start
    from_start = replace(constraints, learned=(), first=None)
    return max(0.0, made.error - solve_input(SolverInput(checked_table(similarity), from_start), "optimal").error)


def _alternatives(similarity: Floats, rehearsal: Rehearsal | None, constraints: Constraints) -> tuple[Alternative, ...]:
    """What the other rules would choose."""
    orders = [rule_order(similarity, rule, constraints) for rule in ALTERNATIVE_RULES]
    errors = predicted_errors(similarity, orders, constraints.learned, constraints.weights).tolist()
    scores = _expected(rehearsal, orders, constraints)
    return tuple(
        Alternative(rule, order, error, score)
        for rule, order, error, score in zip(ALTERNATIVE_RULES, orders, errors, scores, strict=True)
    )


def _expected(
    rehearsal: Rehearsal | None, orders: Sequence[Sequence[int]], constraints: Constraints
) -> list[float | None]:
    """What was rehearsed of each order; None where it was not."""
    if rehearsal is None:
        return [None] * len(orders)
    outcome = rehearsal.outcome.mean(axis=0)
    scores = rehearsal.score([tuple(order) for order in orders], outcome, None, constraints.weights)
    return [None if np.isnan(score) else score for score in scores.tolist()]


def _as_in(order: Sequence[int], rest: Iterable[int]) -> list[int]:
    """The tasks of `rest`, as they come in `order`."""
    chosen = set(rest)
    return [task for task in order if task in chosen]
