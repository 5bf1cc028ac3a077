"""Does the theory apply? What a pilot shows that makes a plan less sure, each with what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from taskorder.checks import Floats
from taskorder.planning.estimate import TransferLosses
from taskorder.planning.rehearsal import Rehearsal
from taskorder.records import Caution
from taskorder.task import Task

RETAINED_LEAST = 0.1
"""Of what a task alone reaches above chance; below this a second task wipes the first one out."""
NEGATIVE = -0.05
"""Similarity below this is more than rounding and noise around zero."""
EIGENVALUE_LEAST = -0.05
SPREAD_LEAST = 0.02
"""Standard deviation of the similarities, below which a rule orders noise."""
SIZE_RATIO = 4.0
LOSS_RATIO = 3.0
LEARNED_LEAST = 0.5
"""Share of the loss with shuffled labels that is left on a task that was just learned; above it, little was learned."""


def cautions(tasks: Sequence[Task], table: TransferLosses, rehearsal: Rehearsal | None) -> tuple[Caution, ...]:
    """All that applies."""
    checks: tuple[Callable[[], Caution | None], ...] = (
        lambda: not_converged(table),
        lambda: collapse(tasks, rehearsal),
        lambda: negative(table),
        lambda: not_semidefinite(table),
        lambda: uniform(table),
        lambda: different_classes(tasks),
        lambda: different_sizes(tasks),
        lambda: different_scales(table),
    )
    return tuple(caution for check in checks if (caution := check()) is not None)


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


def collapse(tasks: Sequence[Task], rehearsal: Rehearsal | None) -> Caution | None:
    """Of the first task of a pair nothing is left after the second, so that only the last task counts."""
    if rehearsal is None or rehearsal.accuracy is None or not tasks[0].has_data:
        return None
    row = {ending: index for index, ending in enumerate(rehearsal.endings)}
    accuracy = rehearsal.accuracy.mean(axis=0)
    chance = np.array([np.bincount(task.measured[1]).max() / len(task.measured[1]) for task in tasks])
    shares = []
    for ending, index in row.items():
        if len(ending) == 2 and accuracy[row[ending[:1]], ending[0]] - chance[ending[0]] > 0.05:
            first = ending[0]
            # a network that answers the other way round has not forgotten: hence the absolute value
            shares.append(
                abs(accuracy[index, first] - chance[first]) / (accuracy[row[(first,)], first] - chance[first])
            )
    if not shares or np.mean(shares) >= RETAINED_LEAST:
        return None
    return Caution(
        "collapse",
        f"of the first of two tasks {100 * float(np.mean(shares)):.0f} % is left after the second: nothing is kept, so "
        "only the choice of the last task can matter. Train less on each task, or use a method that forgets less.",
    )


def negative(table: TransferLosses) -> Caution | None:
    """Tasks that contradict each other."""
    off = _pairs(table)
    count = int((off < NEGATIVE).sum())
    if not count:
        return None
    return Caution(
        "negative similarity",
        f"{count} of {off.size} pairs of tasks have a negative similarity (down to {off.min():.2f}): what one teaches "
        "misleads on the other. The rules were made for similarities above 0; rehearsal does not need that. If classes "
        "look alike, give them the same label.",
    )


def not_semidefinite(table: TransferLosses) -> Caution | None:
    """A similarity that no set of tasks can have."""
    smallest = float(np.linalg.eigvalsh(np.maximum(table.similarity(), -1.0))[0])
    if smallest >= EIGENVALUE_LEAST:
        return None
    return Caution(
        "not a correlation matrix",
        f"the similarity has the eigenvalue {smallest:.2f}, so that predicted errors are those of the nearest "
        "correlation matrix. Take more seeds or a larger pilot; rehearsal does not need it.",
    )


def uniform(table: TransferLosses) -> Caution | None:
    """Nothing to tell tasks apart by."""
    off = _pairs(table)
    if off.size < 2 or off.std() >= SPREAD_LEAST:
        return None
    return Caution(
        "uniform similarity",
        f"all pairs of tasks are about equally similar ({off.mean():.2f} +- {off.std():.2g}), so that rules on the "
        "similarity have nothing to go by. Rehearse, or take any order.",
    )


def different_classes(tasks: Sequence[Task]) -> Caution | None:
    """Tasks with other classes than the others."""
    if not tasks[0].has_data:
        return None
    first = tasks[0]
    for task in tasks:
        if set(task.own_classes) != set(first.own_classes):
            return Caution(
                "different classes",
                f"tasks differ in their classes ({first.name!r} has {len(first.own_classes)}, {task.name!r} has "
                f"{len(task.own_classes)}, not all the same), so that losses and accuracies are not of one scale. "
                "Rename classes that mean the same (share_labels), or read gains with care.",
            )
    return None


def different_sizes(tasks: Sequence[Task]) -> Caution | None:
    """A task with many more examples than another."""
    if not tasks[0].has_data:
        return None
    small, large = (choose(tasks, key=lambda task: len(task.targets)) for choose in (min, max))
    few, many = len(small.targets), len(large.targets)
    if many < SIZE_RATIO * few:
        return None
    return Caution(
        "different sizes",
        f"task {large.name!r} has {many / few:.3g} times the examples of {small.name!r}: it takes more steps and "
        "overwrites more. Take the same number of examples of each (pilot=100), or keep the sizes as in the real run.",
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
