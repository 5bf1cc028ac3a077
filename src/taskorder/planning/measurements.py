"""What was measured on every task after sequences of tasks were learned, and how much of it is knowledge.

Knowledge is that of tables/knowledge.py: 1 is perfect, 0 is chance. Of a language model it is the share of the way from
the loss of the untouched model, 0, to the loss of the model that was tuned on the task alone, 1. Where single examples
are known, it can be computed again on some of the seeds and examples, which is what intervals and corrections for noise
rest on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.learners.protocol import Score
from taskorder.prefixes import Prefix

Part = tuple[Ints, Sequence[Ints] | None]
"""Indices of seeds and, for each task, of examples (None: all); repeats count."""

LEAST_GAIN = 0.1
"""Share of the mean gain of all tasks. A task whose own tuning gains less is known already, and counts by that mean:
its own gain is next to nothing, and what is lost of it would be many times that."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Losses and accuracies on P tasks after B sequences of tasks, for S seeds.

    Examples
    --------
    >>> scores = [{(0,): (Score(0.2, 1.0, None), Score(0.9, 1.0, None))}]
    >>> Measurements.from_scores(scores).knowledge()[0].round(1)
    array([[0.8, 0.1]])
    """

    sequences: tuple[Prefix, ...]
    losses: Floats
    """(S, B, P) after each sequence the loss on each task."""
    chance: Floats
    """(S, B, P) the same with the labels of the task shuffled, in expectation."""
    accuracy: Floats | None
    """(S, B, P); None where the learner does not say."""
    guess: Floats | None
    """(P,) the accuracy of guessing; None where nobody knows, and then knowledge is that of losses alone."""
    examples: tuple[Floats, ...] | None = None
    """For each task (S, B, 3, n): loss, loss to expect if shuffled, right or wrong, of each of its n examples."""
    from_own: bool = False
    """Whether knowledge 1 of a task is the loss after learning it alone, in place of a loss of 0; chance is then the
    loss of the untouched model."""

    @classmethod
    def from_scores(
        cls, scores: Sequence[Mapping[Prefix, Sequence[Score]]], guess: Floats | None = None, *, from_own: bool = False
    ) -> Measurements:
        """What `learn_orders` returned, by seed."""
        sequences = tuple(scores[0])
        rows = [[of_seed[sequence] for sequence in sequences] for of_seed in scores]

        def table(name: str) -> Floats | None:
            values = [[[getattr(score, name) for score in row] for row in of_seed] for of_seed in rows]
            array = np.array(values, dtype=object)
            return None if (array == None).any() else array.astype(np.float64)  # noqa: E711 (by element)

        losses, chance = table("loss"), table("chance")
        if losses is None or chance is None:
            raise BadArgument("`learner` must know the loss with shuffled labels, got None. Give it a method chance().")
        examples = None
        if all(score.examples is not None for of_seed in rows for row in of_seed for score in row):
            tasks = range(losses.shape[2])
            examples = tuple(np.array([[row[task].examples for row in of_seed] for of_seed in rows]) for task in tasks)
        return cls(sequences, losses, chance, table("accuracy"), guess, examples, from_own)

    @property
    def num_seeds(self) -> int:
        """S."""
        return len(self.losses)

    @property
    def counts(self) -> tuple[int, ...] | None:
        """How many examples each task was measured on, if single ones are known."""
        return None if self.examples is None else tuple(each.shape[-1] for each in self.examples)

    @property
    def everything(self) -> Part:
        """All seeds and examples."""
        counts = self.counts
        return np.arange(self.num_seeds), None if counts is None else [np.arange(count) for count in counts]

    def drawn(self, part: Part | None = None) -> tuple[Floats, Floats, Floats | None]:
        """(S', B, P) losses, chance and accuracy of some seeds, means over some examples."""
        seeds, chosen = self.everything if part is None else part
        if self.examples is None or chosen is None or part is None:
            accuracy = None if self.accuracy is None else self.accuracy[seeds]
            return self.losses[seeds], self.chance[seeds], accuracy
        means = []
        for values, rows in zip(self.examples, chosen, strict=True):
            shares = np.bincount(rows, minlength=values.shape[-1]) / len(rows)
            means.append(values[seeds] @ shares)
        losses, chance, accuracy = np.moveaxis(np.stack(means, axis=2), 3, 0)
        if self.accuracy is None:
            return losses, chance, None
        return losses, chance, np.clip(accuracy, 0.0, 1.0)  # shares add up to 1 only to rounding

    def knowledge(self, part: Part | None = None) -> Floats:
        """(S', B, P) knowledge of each task after each sequence, for each of some seeds."""
        return self.known(*self.drawn(part))

    def known(self, losses: Floats, chance: Floats, accuracy: Floats | None) -> Floats:
        """(..., P) knowledge from losses and accuracies on all tasks."""
        if self.from_own:
            return np.asarray((chance - losses) / self.units)
        ratios = losses / chance
        if accuracy is None or self.guess is None:
            return np.asarray(1 - ratios)
        return np.asarray(1 - ((1 - accuracy) / (1 - self.guess) + ratios) / 2)

    @cached_property
    def gains(self) -> Floats:
        """(P,) by how much learning a task alone lowers its loss below that of the untouched model."""
        tasks = np.arange(self.losses.shape[2])
        alone = [self.sequences.index((task,)) for task in tasks]
        return np.asarray((self.chance - self.losses)[:, alone, tasks].mean(axis=0))

    @cached_property
    def units(self) -> Floats:
        """(P,) the loss that knowledge of 1 is worth, where it counts from the untouched model."""
        mean = float(self.gains.mean())
        if mean <= 0:
            raise BadArgument(
                "`learner` must lower the losses of the tasks that it learns, "
                f"got {-mean:+.3g} on their mean after learning each alone. Take more steps, or another learning rate."
            )
        return np.where(self.gains < LEAST_GAIN * mean, mean, self.gains)


def halves(measured: Measurements, rng: np.random.Generator, *, again: bool = False) -> tuple[Part, Part]:
    """Two parts without an example in common; each has all seeds. With `again`, examples are drawn with replacement."""
    seeds = np.arange(measured.num_seeds)
    if measured.counts is None:
        return (seeds, None), (seeds, None)
    split = [split_rows(count, rng) for count in measured.counts]
    if again:
        split = [tuple(rng.choice(rows, len(rows)) for rows in pair) for pair in split]  # type: ignore[misc]
    return (seeds, [pair[0] for pair in split]), (seeds, [pair[1] for pair in split])


def split_rows(count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Two random halves; the odd one goes to either, a single one to both."""
    if count == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    mixed = rng.permutation(count)
    middle = math.ceil(count / 2) if rng.integers(2) else count // 2
    return mixed[:middle], mixed[middle:]
