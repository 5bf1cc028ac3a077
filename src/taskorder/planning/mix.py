"""Sequence or mix? What a sequence costs against learning all tasks at once, and how much of it a strategy buys back.

Where all data can be kept, mixing is what a sequence has to be held against. On the pilot sample, each learned with the
same seeds and tested on examples that nobody has learned, where a task has enough of them:

    mixed       a plain learner on all tasks at once, in as many passes over the examples
    sequence    the learner as it is, in the order of the plan
    plain       the same without its strategy

Intervals come from resampled seeds and examples, the same ones for all three.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from taskorder.checks import Floats, counted
from taskorder.learners.orders import FitReport, LearnerError, learn_orders
from taskorder.learners.protocol import Learner, Score
from taskorder.planning.budget import Budget
from taskorder.planning.measurements import Measurements, Part
from taskorder.planning.measuring import guessing
from taskorder.planning.pilot import sample_apart
from taskorder.planning.tried import competing_outputs
from taskorder.prefixes import Prefix
from taskorder.records import SequenceOrMix
from taskorder.runs.store import Store
from taskorder.runs.sweep import error_text
from taskorder.strategies import EWC, Distill, L2Init, Replay
from taskorder.task import Task
from taskorder.task.mixed import MixedTask

NOT_COMPARED = "a sequence was not compared with all tasks mixed"
MOST_OF_ERROR = 200
"""Characters of an error that are repeated."""
MIX_SHARE = 0.2
"""Of a budget, at most, for this, where the order could do with it."""


class Mixable(NamedTuple):
    """The learners to compare, or why there is nothing to compare."""

    plain: Any = None
    own: Any = None
    """The learner with its strategy; None where it has none, or nobody can take it away."""
    why_not: str = ""

    def fits(self, num_tasks: int) -> int:
        """What one seed costs: a mixture is as much work as all its tasks."""
        return num_tasks * (2 if self.own is None else 3)


def mixable(learner: Learner, tasks: Sequence[Task], *, model: bool = False, budget: Budget | None = None) -> Mixable:
    """What to compare; `model`: whether the learner goes on from a model of a person.

    >>> mixable(None, [Task("golf"), Task("tennis")]).why_not
    'the tasks have no data to mix'
    """
    strategy, why, whole = getattr(learner, "strategy", None), "", cast("Any", learner)
    if not tasks[0].has_data:
        why = "the tasks have no data to mix"
    elif model:
        why = "what the model has learned before is not there to mix"
    elif tasks[0].labels is None and getattr(whole, "perfect", None) == "own":
        why = "what it knows counts from models that learned one task alone"
    elif budget is not None and budget.races:
        why = "a race spends its whole budget on the order"
    elif not getattr(learner, "mixes", getattr(learner, "heads", "") != "task"):
        why = "the learner does not say that it can learn several tasks at once, each with its own head (`mixes`)"
    if why:
        return Mixable(why_not=why)
    if strategy is not None and hasattr(getattr(learner, "learner", learner), "with_strategy"):
        return Mixable(whole.with_strategy(None), learner)
    return Mixable(learner)


class Shared(NamedTuple):
    """A budget in two parts."""

    order: Budget
    """What the pilot may cost."""
    seeds: int
    """Seeds to compare with a mixture; at most so many where time is the budget."""


def shared_budget(budget: Budget, num_tasks: int, num_seeds: int, each: int) -> Shared:
    """The order comes first; a mixture gets what is left, or one seed where that takes little from the pairs.

    each: fits that one seed costs; 0 where nothing is compared.

    >>> [shared_budget(Budget(fits=fits), 5, 3, 10).seeds for fits in (None, 200, 90, 75, 49)]
    [3, 3, 1, 1, 0]
    """
    if not each:
        return Shared(budget, 0)
    if budget.seconds is not None:
        return Shared(budget._replace(seconds=budget.seconds * (1 - MIX_SHARE)), num_seeds)
    if budget.fits is None:
        return Shared(budget, num_seeds)
    seeds = min(num_seeds, max(0, budget.fits - num_seeds * num_tasks**2) // each)
    if not seeds and each <= MIX_SHARE * budget.fits:
        seeds = 1
    return Shared(budget._replace(fits=budget.fits - seeds * each), seeds)


def seeds_in_time(seeds: int, each: int, budget: Budget, passed: float, fits: int) -> int:
    """So many seeds, or as many as the rest of a time is enough for at the pace of the fits before."""
    if budget.seconds is None or not seeds:
        return seeds
    return min(seeds, int(max(0.0, budget.seconds - passed) / max(passed, 1e-9) * fits / each))


def sequence_or_mix(
    sample: Sequence[Task],
    which: Mixable,
    order: Prefix,
    seeds: Sequence[int],
    *,
    weights: Floats | None = None,
    draws: int = 200,
    seed: int = 0,
    store: Store | None = None,
    report: FitReport | None = None,
) -> SequenceOrMix:
    """What the order costs against a mixture of the tasks.

    sample: tested on examples that are not learned.
    """
    P = len(sample)
    tasks, mixed = [*sample, MixedTask.of(sample)], (P,)
    runs = learn_orders(which.plain, tasks, [mixed, order], seeds, store=store, report=report, examples=True)
    scores: list[dict[Prefix, Sequence[Score]]] = [{(0,): run[mixed][:P], (1,): run[order][:P]} for run in runs]
    if which.own is not None:
        owned = learn_orders(which.own, tasks, [order], seeds, store=store, report=report, examples=True)
        scores = [{**known, (2,): run[order][:P]} for known, run in zip(scores, owned, strict=True)]
    measured = Measurements.from_scores(scores, guessing(sample, which.plain))
    importance = np.full(P, 1 / P) if weights is None else weights / weights.sum()

    def compared(part: Part | None = None) -> Floats:
        """Means of mixed, plain and sequence, what the sequence costs, and what the strategy buys back."""
        accuracy = measured.drawn(part)[2]
        known = measured.knowledge(part) if accuracy is None else accuracy
        means = known.mean(axis=0) @ importance
        return np.array([means[0], means[1], means[-1], means[0] - means[-1], means[-1] - means[1]])

    joint, plain, sequence, cost, back = compared().tolist()
    low, high = _ends(measured, compared, draws, seed)
    strategy = getattr(which.own or which.plain, "strategy", None)
    return SequenceOrMix(
        unit="knowledge" if measured.accuracy is None else "accuracy",
        outputs=competing_outputs(sample, which.plain),
        strategy="" if strategy is None else strategy_words(strategy),
        mixed=joint,
        sequence=sequence,
        cost=cost,
        cost_low=None if low is None else float(low[3]),
        cost_high=None if high is None else float(high[3]),
        plain=None if which.own is None else plain,
        back=None if which.own is None else back,
        back_low=None if which.own is None or low is None else float(low[4]),
        back_high=None if which.own is None or high is None else float(high[4]),
        num_seeds=len(seeds),
    )


def _ends(measured: Measurements, compared: Any, draws: int, seed: int) -> tuple[Floats | None, Floats | None]:
    """The ends of 90 % intervals; None where nothing can be resampled."""
    S, counts = measured.num_seeds, measured.counts
    if not draws or (S == 1 and counts is None):
        return None, None
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(draws):
        rows = None if counts is None else [rng.integers(count, size=count) for count in counts]
        drawn.append(compared((rng.integers(S, size=S), rows)))
    # few seeds drawn with replacement show only (S - 1) / S of their variance
    wider = math.sqrt(S / (S - 1)) if S > 1 else 1.0
    value, ends = compared(), np.quantile(drawn, [0.05, 0.95], axis=0)
    low, high = value + (ends - value) * wider
    return low, high


def strategy_words(strategy: object) -> str:
    """What a learner does against forgetting, in words.

    >>> strategy_words(Replay(20)), strategy_words(EWC(100.0))
    ('replay of 20 examples a class', 'EWC at strength 100')
    """
    if isinstance(strategy, Replay):
        return f"replay of {counted(strategy.kept, 'example')} a class"
    if isinstance(strategy, EWC | Distill | L2Init):
        name = {EWC: "EWC", Distill: "distillation", L2Init: "a pull to the first weights"}[type(strategy)]
        return f"{name} at strength {strategy.strength:g}"
    return f"its strategy ({type(strategy).__name__})"


class Compared(NamedTuple):
    """What was found, or why nothing was, and what it cost."""

    found: SequenceOrMix | None = None
    note: str = ""
    cost: float = 0.0
    """In training runs on all examples."""


def compared_with_mix(
    tasks: Sequence[Task],
    size: float,
    which: Mixable,
    order: Prefix,
    seeds: Sequence[int],
    *,
    weights: Floats | None = None,
    draws: int = 200,
    seed: int = 0,
    store: Store | None = None,
    report: FitReport | None = None,
) -> Compared:
    """The order beside a mixture, on a pilot sample of this size; a sentence where there is nothing to compare."""
    why = which.why_not or ("" if seeds else "the budget is only enough for the order")
    if why:
        return Compared(note=f"{NOT_COMPARED}: {why}")
    sample = sample_apart(tasks, size, seed)
    try:
        found = sequence_or_mix(
            sample, which, order, seeds, weights=weights, draws=draws, seed=seed, store=store, report=report
        )
    except LearnerError as problem:  # the order is known by now, and what it has cost must not be lost
        text = " ".join(error_text(problem.__cause__ or problem).split())[:MOST_OF_ERROR]
        fix = "if it cannot learn several tasks at once, let it have mixes = False"
        return Compared(note=f"{NOT_COMPARED}: the learner failed ({text}); {fix}")
    runs = which.fits(len(sample)) // len(sample) * len(seeds)
    cost = runs * sum(len(task.targets) for task in sample) / sum(len(task.targets) for task in tasks)
    note = f"compared with all tasks mixed on {counted(len(seeds), 'seed')}, {cost:.2g} times the cost of one run"
    small = sum(task.eval_inputs is None for task in sample)
    if small:
        note += f"; {counted(small, 'task')} too small to be tested on other examples than are learned"
    return Compared(found, note, cost)
