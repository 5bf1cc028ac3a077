"""Try a learner on a pilot, or on the growing samples of a race, and put what is found into the law's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, counted
from taskorder.constraints import Constraints
from taskorder.learners.orders import FitReport
from taskorder.learners.protocol import Learner, own_outputs
from taskorder.planning.additions import FADE, FADE_REPLAYED, SHARE_REPLAYED
from taskorder.planning.budget import Budget
from taskorder.planning.choice import AUTO
from taskorder.planning.confidence import NOISY
from taskorder.planning.estimate import TransferLosses
from taskorder.planning.fitted_law import CARRIED, COMPARED_AT, FittedLaw, Pilot, fitted_law
from taskorder.planning.measurements import Measurements
from taskorder.planning.measuring import SeedScores, measure_pilot, measurements
from taskorder.planning.pilot import pilot_sample, sample_apart, sample_notes
from taskorder.planning.racing import race
from taskorder.planning.retention import Kept, kept
from taskorder.planning.warnings import ENOUGH
from taskorder.records import Confidence
from taskorder.runs.store import Store
from taskorder.strategies import BY_CLASS, BY_TASK, SHARED, Replay
from taskorder.task import Task
from taskorder.theory.law import PLAIN_RETENTION

KEPT_NEARLY_ALL, MOST_GAINED = 0.96, 1.8
"""Retention, and the most points that the best order of another run earned in a learner that kept so much: fourteen
learners, from scratch and over frozen features (`python -m reproduction.atlas_table`)."""


class Tried(NamedTuple):
    """What a pilot or a race has found."""

    pilot: Pilot
    kept: Kept
    transfer: TransferLosses
    sample: tuple[Task, ...]
    cost: float | None
    """As a share of training once on all examples; None where tasks have no data."""
    notes: tuple[str, ...]
    fits: int


def tried(
    tasks: tuple[Task, ...],
    learner: Learner,
    size: float,
    seeds: tuple[int, ...],
    budget: Budget,
    constraints: Constraints,
    *,
    retention: ArrayLike | Mapping[str, float] | None = None,
    seed: int = 0,
    store: Store | None = None,
    report: FitReport | None = None,
) -> Tried:
    """Learn every task alone, and pairs, within the budget: on samples of one size, or in a race.

    size: of the pilot sample. seed: of the sample.
    """
    if budget.races:
        return _raced(tasks, learner, budget, constraints, retention, seed, store, report)
    has_data = tasks[0].has_data
    sample = _sample(tasks, learner, size, seed) if has_data else tasks
    found = measure_pilot(sample, learner, seeds, budget, store=store, report=report)
    measured = measurements(sample, learner, found.scores)
    sizes = _sizes(tasks) if has_data else None
    sample_sizes = _sizes(sample) if has_data else None
    heads = has_heads(learner, tasks)
    apart, replayed = competing_outputs(tasks, learner) == BY_CLASS, isinstance(declared_strategy(learner), Replay)
    keeps = kept(measured, sizes, sample_sizes, retention, constraints.names, seed=seed, own=heads or apart)
    usual = FADE_REPLAYED if replayed else FADE
    whole = sizes is None or np.array_equal(sizes, _sizes(sample))
    pilot = Pilot(
        measured,
        keeps.real,
        keeps.on_sample,
        1.0 if whole else CARRIED,
        constraints.learned,
        weights=constraints.weights,
        heads=heads,
        fade=None if not apart else usual if retention is None else float(keeps.real.mean()),
        share=SHARE_REPLAYED if replayed else 1.0,
    )
    cost = None if sizes is None else found.examples / float(sizes.sum())
    num_pairs = len(measured.sequences) - len(tasks)
    seeds_used = counted(len(found.seeds), "seed")
    words = f"learned every task alone and {counted(num_pairs, 'pair')} with {seeds_used} in {found.fits} fits"
    transfer = _transfer(measured, constraints.names, found.scores, found.seeds)
    taken = sample_notes(tasks, sample, size) if has_data else ()
    if has_data and all(task.eval_inputs is not None for task in sample):
        taken = (f"{taken[0]}; tested on others", *taken[1:])
    said = (*taken, *_own_notes(measured, constraints.names), _with_cost(words, cost))
    return Tried(pilot, keeps, transfer, tuple(sample), cost, said, found.fits)


def _sample(tasks: Sequence[Task], learner: Learner, size: float, seed: int) -> tuple[Task, ...]:
    """The pilot sample, tested on itself as in the paper.

    A learner that keeps examples, or has outputs that only one task has trained, would pass for one that forgets
    nothing on the examples that it has learned: it is tested on others.
    """
    in_common = getattr(learner, "heads", "") != BY_TASK and competing_outputs(tasks, learner) != BY_CLASS
    if in_common and declared_strategy(learner) is None:
        return pilot_sample(tasks, size, seed, keep_eval=False)
    return sample_apart(tasks, size, seed)


def _raced(
    tasks: tuple[Task, ...],
    learner: Learner,
    budget: Budget,
    constraints: Constraints,
    retention: ArrayLike | Mapping[str, float] | None,
    seed: int,
    store: Store | None,
    report: FitReport | None,
) -> Tried:
    if has_heads(learner, tasks):
        raise BadArgument(
            "`budget` must be fits or a time where each task has a head of its own, got examples: a race reads tasks "
            "alone, which say nothing of another one's head. Take 200 or '30s'."
        )
    if competing_outputs(tasks, learner) == BY_CLASS:
        raise BadArgument(
            "`budget` must be fits or a time where no class is in two tasks, got a training cost: a race reads tasks "
            "alone, which say little of each other. Take 200 or '30s', or share_labels(tasks) if their classes mean "
            "the same by position."
        )
    if not tasks[0].has_data:
        raise BadArgument("`budget` must be fits or a time for tasks without data, got examples. Take 200 or '30s'.")
    sizes = _sizes(tasks)
    total = float(sizes.sum())
    examples = budget.examples if budget.examples is not None else (budget.runs or 0.0) * total
    usual = np.full(len(tasks), PLAIN_RETENTION)

    def fit(scores: SeedScores, learned_from: Floats) -> FittedLaw:
        measured = measurements(tasks, learner, [scores])
        return fitted_law(Pilot(measured, usual, usual, 0.0, weights=constraints.weights, sizes=learned_from))

    held = None
    if declared_strategy(learner) is not None:  # what it keeps of a task must not be what it is tested on
        tasks = sample_apart(tasks, 1.0, seed)
        held = [task if task.eval_inputs is None else _held(task) for task in tasks]
    found = race(
        tasks, learner, examples, fit, constraints.allows_ending,
        held=held, sample_seed=seed, store=store, report=report,
    )  # fmt: skip
    first = measurements(tasks, learner, [found.first])
    keeps = kept(first, sizes, _sizes(found.sample), retention, constraints.names, used_sizes=found.sizes, seed=seed)
    measured = measurements(tasks, learner, [found.scores])
    pilot = Pilot(
        measured, keeps.real, keeps.on_sample, CARRIED, constraints.learned,
        weights=constraints.weights, sizes=found.sizes,
    )  # fmt: skip
    words = f"raced for the last places: {', '.join(found.rounds)}; {found.fits} fits"
    transfer = _transfer(measured, constraints.names, [found.scores], (0,))
    cost = found.examples / total
    said = (*_own_notes(measured, constraints.names), _with_cost(words, cost))
    return Tried(pilot, keeps, transfer, found.sample, cost, said, found.fits)


def _transfer(
    measured: Measurements, names: tuple[str, ...], scores: Sequence[SeedScores], seeds: tuple[int, ...]
) -> TransferLosses:
    """The losses after every task alone; in the terms of knowledge, where that counts from the untouched model."""
    if not measured.from_own:
        return TransferLosses.from_scores(names, scores, seeds)
    alone = [measured.sequences.index((task,)) for task in range(len(names))]
    left = np.maximum(measured.gains / measured.units - measured.knowledge()[:, alone], 0.0)
    return TransferLosses(names, left, np.ones_like(left), None, seeds)


def _own_notes(measured: Measurements, names: Sequence[str]) -> list[str]:
    """What knowledge means, where it is not counted from guessing, and which tasks are known already."""
    if not measured.from_own:
        return []
    notes = ["knowledge of a task: 0 is the loss of the untouched model, 1 that of the model that learned it alone"]
    known = [place for place in range(len(names)) if measured.units[place] != measured.gains[place]]
    for place in known:
        notes.append(
            f"learning {names[place]} alone lowers its loss by {measured.gains[place]:.3g} only: it counts by the mean "
            f"of all tasks, {measured.units[place]:.3g}"
        )
    return notes


def has_heads(learner: Learner, tasks: Sequence[Task]) -> bool:
    """Whether tasks are tested on outputs that others do not train: one head for the same classes is a shared one."""
    own = [own_outputs(learner, task) for task in tasks]
    return len({each.tobytes() for each in own if each is not None}) > 1


def competing_outputs(tasks: Sequence[Task], learner: Learner) -> str:
    """Which outputs compete when a task is tested: its own (task), those of all classes (class), or shared ones."""
    if has_heads(learner, tasks):
        return BY_TASK
    own = [set(task.own_classes) for task in tasks]
    apart = sum(map(len, own)) == len(set().union(*own)) and all(own) and len(own) > 1
    return BY_CLASS if apart else SHARED


def declared_strategy(learner: Learner) -> object:
    """What a learner says that it does against forgetting; None where it says nothing."""
    return getattr(learner, "strategy", None)


def noise_notes(sure: Confidence | None, found: Tried) -> list[str]:
    """What to do where orders cannot be told apart: nothing, where so much is kept that there is little to gain."""
    if sure is None or sure.verdict != NOISY:
        return []
    if found.kept.real.mean() >= KEPT_NEARLY_ALL:
        most = f"{MOST_GAINED:g} points in the mean"
        return [f"learners that keep so much gained at most {most} by the best order (docs/when.md)"]
    if found.pilot.heads:
        return ["pairs ranked the orders of heads on digits, not on Fashion-MNIST: train some and audit them"]
    least = min(len(task.targets) for task in found.sample)
    if not least or least >= ENOUGH:
        return []
    return [f"a pilot of {ENOUGH} examples a task would tell more than one of {least}"]


def order_notes(pilot: Pilot, law: FittedLaw, constraints: Constraints) -> list[str]:
    """What an order goes by where much is kept, or where tasks have classes of their own."""
    if constraints.fixes_order:
        return []
    if law.effects is None and (law.retention < pilot.retention).any():
        share = f"{100 * COMPARED_AT:.0f} %"
        return [f"orders are compared as if {share} were kept: of more, the law makes too much of early tasks"]
    if pilot.fade is None:
        return []
    if law.effects is None:
        return [
            "no class is in two tasks, and tasks alone say little of each other: a larger budget would measure pairs"
        ]
    return ["no class is in two tasks (class-incremental): the order goes by what pairs of tasks add to each other"]


def head_notes(learner: Learner, tasks: Sequence[Task], rule: str) -> list[str]:
    """Where heads are not what they seem, since equal labels are one head, and what a rule does not know of them."""
    if rule != AUTO and competing_outputs(tasks, learner) == BY_CLASS:
        return [f"rule {rule} reads tasks alone, which say little of the classes of other tasks; rule auto reads pairs"]
    if getattr(learner, "heads", "") != BY_TASK or not tasks[0].classes or len(tasks) < 2:
        return []
    if not has_heads(learner, tasks):
        return [
            "all tasks have the same classes and so one head in common; give each labels of its own for a head a task"
        ]
    if rule == AUTO:
        return []
    return [f"rule {rule} reads tasks alone, which say nothing of another one's head; rule auto goes by pairs of tasks"]


def _held(task: Task) -> Task:
    """What a task is tested on, as a task."""
    return replace(task, inputs=task.eval_inputs, labels=task.eval_labels, eval_inputs=None, eval_labels=None)


def _sizes(tasks: Sequence[Task]) -> Floats:
    return np.array([len(task.targets) for task in tasks], dtype=np.float64)


def _with_cost(words: str, cost: float | None) -> str:
    return words if cost is None else f"{words}, {cost:.2g} times the cost of one training run on all examples"
