"""Race the tasks for the last places of an order: few examples for all tasks, ever more for the best of them.

With little retention the last tasks decide what is known at the end, so a budget is best spent on telling the best
last task from the others. A race does that by successive halving:

    round 0     all tasks, and a pair for each of them, on a sample of n examples
    round r     the better half of the tasks of the round before, on 3^r n examples
    ...         until two or three are left

A round is the last one when the budget is spent, or when the leader is surely ahead. Then the place before last: the
other finalists are learned before the winner, as pairs. n follows from the budget. All tasks are tested on the same
examples, so that rounds can be compared. One seed is enough: more examples tell more than more seeds.

How noisy a round is shows in how far it disagrees with the round before it. With g times the examples the noise of the
gain of a task has 1/g of the variance, so the difference of two rounds has 1 + g times that of the later one. That is
the noise of learning from few examples; testing on few adds at most 1/(2 sqrt(n) (1 - 1/K)) for the knowledge of a task
of K classes that is tested on n examples, the same in all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Floats
from taskorder.learners.orders import FitReport, learn_orders
from taskorder.learners.protocol import Learner
from taskorder.planning.fitted_law import FittedLaw
from taskorder.planning.measuring import SeedScores, guessing
from taskorder.planning.pilot import pilot_sample
from taskorder.planning.retention import sampled_pairs
from taskorder.prefixes import Prefix, PrefixTree
from taskorder.runs.store import Store
from taskorder.task import Task

GROWTH = 3
"""How many times the examples of a round the next one has."""
FINALISTS = 3
"""A race ends with so many tasks, or fewer."""
MOST_TESTED = 1000
"""Examples a task to test on: testing is not training, but it takes time, too."""
SURE = 1.645
"""A leader has won when it is ahead by so many standard deviations of a difference: with probability 0.95."""

Fit = Callable[[SeedScores, Floats], FittedLaw]
"""The law from the scores so far, and the examples that each task was learned from."""


class Race(NamedTuple):
    """What a race has measured."""

    first: SeedScores
    """The first round: every task alone, and pairs, which tell the retention."""
    scores: SeedScores
    """Every task alone, on the largest sample that it was learned from, and pairs of finalists on the last one."""
    sizes: Floats
    """(P,) the examples of that sample."""
    sample: tuple[Task, ...]
    """The sample of the first round."""
    fits: int
    examples: int
    """Examples learned from in all."""
    rounds: tuple[str, ...]
    """What each round did, in words."""


def race(
    tasks: Sequence[Task],
    learner: Learner,
    budget: float,
    fit: Fit,
    may_end: Callable[[Prefix], bool] = lambda ending: True,
    *,
    held: Sequence[Task] | None = None,
    seed: int = 0,
    sample_seed: int = 0,
    store: Store | None = None,
    report: FitReport | None = None,
) -> Race:
    """Learn tasks on growing samples, `budget` examples in all.

    fit: how promising tasks are is told by the law. may_end: whether an allowed order can end so. held: what tasks are
    tested on; some of their own examples where it is left out.
    """
    P = len(tasks)
    available = np.array([len(task.targets) for task in tasks])
    whole = tasks if held is None else held
    size = min(MOST_TESTED, *(len(task.targets) for task in whole))
    tested = [_sample_of(task, size, sample_seed) for task in whole]
    # a last task that constraints fix leaves the place before it to race for
    ending: Prefix = ()
    left = [task for task in range(P) if may_end((task,))]
    while len(left) == 1 and len(ending) < P - 1:
        ending = (left[0], *ending)
        left = [task for task in range(P) if task not in ending and may_end((task, *ending))]
    guess = guessing(tested, learner)
    knowledge_noise = 0.5 / np.sqrt([len(task.targets) for task in tested]) / (1 - (0.5 if guess is None else guess))
    counts = round_counts(len(left))
    first = first_size(available, counts, budget)
    spent, fits, rounds = 0, 0, []
    scores: SeedScores = {}
    sizes = np.zeros(P)

    def learn(sequences: Sequence[Prefix], size: int) -> None:
        """Learn sequences on samples of a size, and keep what they show."""
        nonlocal spent, fits
        sample = _sampled(tasks, tested, size, sample_seed)
        tree = PrefixTree(sequences)
        with_base = None if report is None else lambda done, total: report(fits + done, fits + total)
        found = learn_orders(learner, sample, sequences, (seed,), store=store, report=with_base, examples=True)[0]
        for prefix, result in found.items():
            scores[prefix] = result
            if len(prefix) == 1:
                sizes[prefix[0]] = len(sample[prefix[0]].targets)
        spent += sum(len(sample[prefix[-1]].targets) for prefix in tree.rows if prefix)
        fits += len(tree)

    pairs = sampled_pairs(range(P), P, np.random.default_rng(sample_seed)) if P > 1 else []
    learn([*((task,) for task in range(P)), *pairs], first)
    first_round = dict(scores)
    for pair in pairs:  # pairs on this sample say nothing about tasks on a larger one
        del scores[pair]
    rounds.append(f"all {P} tasks on {first} examples")
    law = fit(scores, sizes)
    gains, testing = _gains(law, ending), float(np.linalg.norm(law.weights * knowledge_noise))
    for number, count in enumerate(counts[1:], start=1):
        left = _best(left, gains, count)
        size = int(first * GROWTH**number)
        cost = int(np.minimum(size, available[left]).sum())
        if spent + cost > budget * 1.001 + P:
            break
        growth = float(np.mean(np.minimum(size, available[left]) / sizes[left]))
        learn([(task,) for task in left], size)
        rounds.append(f"{count} on {size}")
        before, gains = gains, _gains(fit(scores, sizes), ending)
        if number < len(counts) - 1 and surely_ahead(before[left], gains[left], growth, testing):
            rounds.append("stopped: the leader is surely ahead")
            break
    left = _best(left, gains, FINALISTS)
    winner = left[0]
    others = [task for task in left if not ending and task != winner and may_end((task, winner))]
    size = int(sizes[winner])
    cost = sum(int(min(size, available[task]) + min(size, available[winner])) for task in others)
    if others and spent + cost <= budget:
        # a pair begins with its first task alone, on the same sample as before
        learn([(task, winner) for task in others], size)
        rounds.append(f"{len(others)} before the winner")
    sample = _sampled(tasks, tested, first, sample_seed)
    return Race(first_round, scores, sizes, sample, fits, spent, tuple(rounds))


def round_counts(num_tasks: int) -> list[int]:
    """How many tasks take part in each round.

    >>> round_counts(20), round_counts(3)
    ([20, 10, 5, 2], [3])
    """
    counts = [num_tasks]
    while counts[-1] > FINALISTS:
        counts.append(max(2, counts[-1] // 2))
    return counts


def first_size(available: Sequence[int] | np.ndarray, counts: Sequence[int], budget: float) -> int:
    """The examples a task of the first round, so that all rounds together take at most `budget` examples.

    >>> first_size([1000] * 20, [20, 10, 5, 2], 5000)
    29
    """
    most = np.asarray(available)

    def cost(size: int) -> float:
        # every task alone and once as the second of a pair; later rounds cost what the largest tasks would
        rounds = [np.sort(np.minimum(size * GROWTH**r, most))[::-1][:count].sum() for r, count in enumerate(counts)]
        return float(np.minimum(size, most).sum() + sum(rounds))

    if cost(2) > budget:
        raise BadArgument(
            f"`budget` must be enough for a race of {len(most)} tasks, at least {cost(2):.0f} examples, "
            f"got {budget:.0f}. Take a larger one, or a number of fits."
        )
    low, high = 2, int(most.max()) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(middle) <= budget else (low, middle)
    return low


def _sampled(tasks: Sequence[Task], tested: Sequence[Task], size: int, seed: int) -> tuple[Task, ...]:
    """Samples to learn from, tested on the same examples in all rounds, which may be among those learned from."""
    return tuple(
        replace(_sample_of(task, size, seed), eval_inputs=test.inputs, eval_labels=test.labels)
        for task, test in zip(tasks, tested, strict=True)
    )


def _sample_of(task: Task, size: int, seed: int) -> Task:
    """So many examples of a task, at least one of each class, and at most all."""
    number = max(len(task.own_classes), min(size, len(task.targets)))
    return pilot_sample([task], number, seed, keep_eval=False)[0]


def surely_ahead(before: Floats, after: Floats, growth: float, testing: float = 0.0) -> bool:
    """Whether the best of some tasks leads by more than the noise, which shows in the disagreement of two rounds.

    before, after: the gain of each task in two rounds, the later one with `growth` times the examples. testing: the
    noise that both have in common.

    >>> surely_ahead(np.array([0.5, 0.3, 0.1]), np.array([0.52, 0.3, 0.1]), 3.0)
    True
    >>> surely_ahead(np.array([0.5, 0.3, 0.1]), np.array([0.3, 0.35, 0.0]), 3.0)
    False
    """
    if len(after) < 2:
        return False
    noise = math.hypot(float(np.std(after - before, ddof=1)) / math.sqrt(1 + growth), testing)
    second, leader = np.sort(after)[-2:]
    return bool(leader - second > SURE * math.sqrt(2) * noise)


def _gains(law: FittedLaw, ending: Prefix) -> Floats:
    """(P,) what each task adds to the score when it is learned before `ending`."""
    gains = law.table @ law.weights
    for last in reversed(ending):
        gains = gains - law.table[:, last] * gains[last]
    return np.asarray(gains)


def _best(left: Sequence[int], gains: Floats, count: int) -> list[int]:
    """The tasks that add most to the score."""
    return sorted(left, key=lambda task: -gains[task])[:count]
