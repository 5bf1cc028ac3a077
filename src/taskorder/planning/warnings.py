"""Does the theory apply? What a pilot shows that makes a plan less sure, each with what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from taskorder.checks import Floats
from taskorder.planning.estimate import TransferLosses
from taskorder.planning.pair_orders import CONFIRMED_LEAST, PairOrders
from taskorder.records import Caution
from taskorder.strategies import Replay
from taskorder.task import Task

FEW = 30
"""Examples a task, below which little can be known; `ENOUGH` are worth having (docs/choose.md)."""
ENOUGH = 300
NEGATIVE = -0.05
"""Similarity below this is more than rounding and noise around zero."""
SPREAD_LEAST = 0.02
"""Standard deviation of the similarities, below which a rule orders noise."""
LOSS_RATIO = 3.0
KEPT_MUCH = 0.5
"""Share of a pilot that replay keeps, from which the pilot is no picture of the real run."""
LEARNED_LEAST = 0.5
"""Share of the loss with shuffled labels that is left on a task that was just learned; above it, little was learned."""
DIFFERENCE_LEAST = 0.005
"""Half a point of knowledge between the two orders of a pair: a smaller one is not worth a word."""


def cautions(
    tasks: Sequence[Task],
    table: TransferLosses,
    verdict: str = "",
    whole: Sequence[Task] = (),
    heads: bool = False,
    strategy: object = None,
    in_pairs: PairOrders | None = None,
    apart: bool = False,
) -> tuple[Caution, ...]:
    """All that applies.

    tasks: those of the pilot sample. verdict: what the plan says. whole: the tasks that the sample is from. heads:
    whether each has a head of its own. strategy: of the learner. in_pairs: what became of predictions in pairs. apart:
    whether pairs tell orders apart since no class is in two tasks.
    """
    if heads or apart:  # of another task's head or classes a network knows nothing: no similarity can be read from that
        alone = [small_pilot(tasks, verdict, whole), not_converged(table), all_kept(tasks, strategy, whole)]
        return tuple(filter(None, alone if heads else [*alone, different_classes(tasks)]))
    checks: tuple[Callable[[], Caution | None], ...] = (
        lambda: small_pilot(tasks, verdict, whole),
        lambda: not_converged(table),
        lambda: pairs_alike(in_pairs),
        lambda: pairs_otherwise(in_pairs),
        lambda: all_kept(tasks, strategy, whole),
        lambda: negative(table, classes=bool(tasks[0].classes)),
        lambda: uniform(table, verdict),
        lambda: different_classes(tasks),
        lambda: None if tasks[0].regression else different_scales(table),  # squared errors are held against variances
    )
    return tuple(caution for check in checks if (caution := check()) is not None)


def small_pilot(tasks: Sequence[Task], verdict: str = "", whole: Sequence[Task] = ()) -> Caution | None:
    """Too few examples to know anything."""
    counts = [len(task.targets) for task in tasks]
    small = [place for place, task in enumerate(tasks) if task.has_data and counts[place] < FEW]
    if not small:
        return None
    least = min(small, key=counts.__getitem__)
    others = f" and fewer than {FEW} of {len(small) - 1} more" if len(small) > 1 else ""
    rests = f"the verdict ({verdict}) rests on" if verdict else "the pilot has"
    used_up = [tasks[place].name for place in small if whole and len(whole[place].targets) == counts[place]]
    fix = f"Take a larger pilot ({ENOUGH} examples a task), or a larger budget."
    if used_up:
        fix = f"All of {used_up[0]!r} is in it: collect more of it, or merge it with another task."
    return Caution(
        "small pilot",
        f"{rests} {counts[least]} examples of {tasks[least].name!r}{others}: below {FEW} little can be known about an "
        f"order, and about {ENOUGH} are worth having. {fix}",
    )


def not_converged(table: TransferLosses) -> Caution | None:
    """A task alone is not learned."""
    own = np.diagonal(table.ratios.mean(axis=0))
    worst = int(own.argmax())
    if own[worst] <= LEARNED_LEAST:
        return None
    return Caution(
        "not converged",
        f"the learner has not learned task {table.names[worst]!r} alone: {100 * own[worst]:.0f} % of the loss of "
        "guessing is left. Train longer (more epochs or a larger learning rate), or take a larger pilot.",
    )


def pairs_alike(in_pairs: PairOrders | None) -> Caution | None:
    """Which of two tasks came first made less of a difference than predicted."""
    if in_pairs is None or in_pairs.otherwise:
        return None
    if in_pairs.share >= CONFIRMED_LEAST or in_pairs.predicted < DIFFERENCE_LEAST:
        return None
    return Caution(
        "pairs alike",
        f"{in_pairs.num_pairs} pairs of tasks ended nearly alike in both orders: {100 * in_pairs.measured:.2g} points "
        f"of knowledge apart, where {100 * in_pairs.predicted:.2g} were predicted. At most {100 * in_pairs.share:.0f} "
        "% of the predicted gain counts. Train longer, or take a larger pilot, if the real run does.",
    )


def pairs_otherwise(in_pairs: PairOrders | None) -> Caution | None:
    """Which of two tasks came first made a difference, but another one than predicted."""
    if in_pairs is None or not in_pairs.otherwise or in_pairs.measured < DIFFERENCE_LEAST:
        return None
    return Caution(
        "pairs otherwise",
        f"{in_pairs.num_pairs} pairs of tasks ended {100 * in_pairs.measured:.2g} points of knowledge apart in their "
        f"two orders, but not as the law says. At most {100 * in_pairs.share:.0f} % of the predicted gain counts. Take "
        "a larger pilot; if that says the same, train some whole orders and audit them.",
    )


def all_kept(tasks: Sequence[Task], strategy: object, whole: Sequence[Task]) -> Caution | None:
    """Replay keeps more of the pilot than of the real run."""
    if not isinstance(strategy, Replay) or not tasks[0].has_data:
        return None
    least, most = (min(_class_sizes(some), default=1.0) for some in (tasks, whole))
    share, real = min(1.0, strategy.kept / least), min(1.0, strategy.kept / most)
    if share < KEPT_MUCH or real > share / 2:
        return None
    return Caution(
        "replay of the pilot",
        f"replay of {strategy.kept} a class keeps {100 * share:.0f} % of the pilot's examples, but {100 * real:.2g} % "
        f"in the real run, which may keep less knowledge. Take a pilot of {4 * strategy.kept} examples a class.",
    )


def _class_sizes(tasks: Sequence[Task]) -> list[float]:
    """Mean examples of a class in each task."""
    return [len(task.targets) / len(np.unique(task.strata)) for task in tasks]


def negative(table: TransferLosses, *, classes: bool = True) -> Caution | None:
    """Tasks that contradict each other."""
    off = _pairs(table)
    count = int((off < NEGATIVE).sum())
    if not count:
        return None
    pairs = f"{count} of {off.size} pairs of tasks {'has' if count == 1 else 'have'}"
    return Caution(
        "negative similarity",
        f"{pairs} a negative similarity (down to {off.min():.2f}): what one teaches misleads on the other."
        f"{' If classes look alike, give them the same label.' if classes else ''}",
    )


def uniform(table: TransferLosses, verdict: str = "") -> Caution | None:
    """Nothing to tell tasks apart by."""
    off = _pairs(table)
    if off.size < 2 or off.std() >= SPREAD_LEAST:
        return None
    alike = f"all pairs of tasks are about equally similar ({off.mean():.2f} +- {off.std():.2g})"
    if verdict == "order matters":
        text = f"{alike} in their losses, so that the verdict ({verdict}) rests on accuracies. Take a larger pilot."
    else:
        text = f"{alike}, so that there is nothing to tell orders apart by. Take any order, or a larger pilot."
    return Caution("uniform similarity", text)


def different_classes(tasks: Sequence[Task]) -> Caution | None:
    """Tasks with no class in common."""
    sets = [set(task.own_classes) for task in tasks]
    seen = Counter(label for own in sets for label in own)
    alone = [place for place, own in enumerate(sets) if own and all(seen[label] == 1 for label in own)]
    if not alone or len(tasks) < 2:
        return None
    which = (
        "no two tasks have" if len(alone) == len(tasks) else f"task {tasks[alone[0]].name!r} and the others have not"
    )
    return Caution(
        "different classes",
        f"{which} a class in common: each class has an output of its own, so that what one teaches hardly shows on "
        "another. If their first classes mean the same, and so on, relabel them by position: share_labels(tasks), or "
        "--labels by-position.",
    )


def different_scales(table: TransferLosses) -> Caution | None:
    """Losses of very different size."""
    scale = table.chance.mean(axis=(0, 1))
    low, high = int(scale.argmin()), int(scale.argmax())
    if scale[high] < LOSS_RATIO * scale[low]:
        return None
    return Caution(
        "different loss scales",
        f"guessing costs {scale[high] / scale[low]:.3g} times as much on {table.names[high]!r} as on "
        f"{table.names[low]!r}: one task outweighs the others in a sum of losses. Judge by accuracy, or bring the "
        "losses to one scale.",
    )


def _pairs(table: TransferLosses) -> Floats:
    """Similarities of all pairs of different tasks."""
    similarity = table.similarity()
    return np.asarray(similarity[np.triu_indices(len(similarity), 1)])
