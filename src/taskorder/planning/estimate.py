"""Losses of zero-shot transfer, and the similarity of tasks estimated from them.

Zero-shot transfer: learn task A alone and measure the loss on every task B (tables/loss_ratios.py). That takes one fit
for each task and seed. The data of B that losses are measured on are its evaluation data; without any they are its
training data, as in the paper: for B other than A these are unseen by the network of A as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints, positive_count
from taskorder.learners.orders import FitReport, learn_orders
from taskorder.learners.protocol import Learner, Score, is_learner
from taskorder.parsing import json_values
from taskorder.planning.measurements import Measurements
from taskorder.planning.pilot import label_notes
from taskorder.prefixes import Prefix
from taskorder.runs.store import Store
from taskorder.tables.loss_ratios import loss_ratios, similarity_from_loss_ratios
from taskorder.task import Task, align


@dataclass(frozen=True, eq=False)
class TransferLosses:
    """Losses on all tasks after learning each task alone, for S seeds and P tasks; `measure_transfer` returns it.

    Examples
    --------
    >>> losses = np.array([[[0.0, 0.5], [0.5, 0.0]]])
    >>> TransferLosses(("a", "b"), losses, np.ones((1, 2, 2)), None, seeds=(0,)).similarity().round(2)
    array([[1.  , 0.29],
           [0.29, 1.  ]])
    """

    names: tuple[str, ...]
    losses: Floats
    """(S, P, P) row A, column B: the loss on B after learning A alone."""
    chance: Floats
    """(S, P, P) the same with the labels of B shuffled, in expectation."""
    accuracy: Floats | None
    """(S, P, P); None where the learner does not say."""
    seeds: tuple[int, ...]
    notes: tuple[str, ...] = ()
    examples: tuple[Floats, ...] | None = None
    """For each task B (S, P, 3, n): loss, loss to expect if shuffled, right or wrong, of each of its n examples."""

    @property
    def fits(self) -> int:
        """What the table cost, in fits."""
        return len(self.seeds) * len(self.names)

    @property
    def ratios(self) -> Floats:
        """(S, P, P) losses over shuffled losses; not symmetric."""
        return np.stack([loss_ratios(*pair) for pair in zip(self.losses, self.chance, strict=True)])

    def similarities(self) -> Floats:
        """(S, P, P) the similarity that each seed shows."""
        return np.stack([similarity_from_loss_ratios(table) for table in self.ratios])

    def similarity(self) -> Floats:
        """(P, P) mean of the similarities of all seeds; entries may fall below 0, even below -1."""
        return np.asarray(self.similarities().mean(axis=0))

    def drawn(self, seeds: Ints, examples: Sequence[Ints] | None = None) -> TransferLosses:
        """The table of some seeds and, for each task, of some examples; repeats count.

        seeds, examples: indices, not seeds themselves. An example is taken for all networks at once, so that what makes
        it hard for all of them stays shared.
        """
        table = replace(
            self,
            losses=self.losses[seeds],
            chance=self.chance[seeds],
            accuracy=None if self.accuracy is None else self.accuracy[seeds],
            seeds=tuple(self.seeds[index] for index in seeds),
            examples=None,
        )
        if self.examples is None or examples is None:
            return table
        chosen = tuple(values[seeds][..., rows] for values, rows in zip(self.examples, examples, strict=True))
        losses, chance, accuracy = np.moveaxis(np.stack([values.mean(axis=-1) for values in chosen], axis=2), -1, 0)
        known = None if self.accuracy is None else accuracy
        return replace(table, losses=losses, chance=chance, accuracy=known, examples=chosen)

    @classmethod
    def from_scores(
        cls,
        names: Sequence[str],
        scores: Sequence[Mapping[Prefix, Sequence[Score]]],
        seeds: Sequence[int],
        notes: tuple[str, ...] = (),
    ) -> TransferLosses:
        """The losses in the scores of `learn_orders`, by seed; every task must have been learned alone."""
        single = [(task,) for task in range(len(names))]
        alone = Measurements.from_scores([{task: of_seed[task] for task in single} for of_seed in scores])
        tables = alone.losses, alone.chance, alone.accuracy
        return cls(tuple(names), *tables, tuple(seeds), notes, alone.examples)

    def to_json(self, *, indent: int | None = None) -> str:
        """Lossless JSON text; `TransferLosses.from_json` gives back the same table."""

        def plain(value: Any) -> Any:
            return value.tolist() if isinstance(value, np.ndarray) else value

        values = {name: plain(value) for name, value in vars(self).items()}
        values["examples"] = None if self.examples is None else [values.tolist() for values in self.examples]
        return json.dumps(values, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> TransferLosses:
        """The table that `to_json` wrote."""
        try:
            values = json_values(text)
            names, seeds = tuple(map(str, values["names"])), tuple(map(int, values["seeds"]))
            losses, chance = np.array(values["losses"], float), np.array(values["chance"], float)
            accuracy = None if values["accuracy"] is None else np.array(values["accuracy"], float)
            examples = values["examples"]
            examples = None if examples is None else tuple(np.array(each, float) for each in examples)
            tables, S, P = [losses, chance, *([] if accuracy is None else [accuracy])], len(seeds), len(names)
            fit = examples is None or [each.shape[:-1] for each in examples] == [(S, P, 3)] * P
            if len(set(names)) < P:
                raise ValueError("names that are not unique")
            if not fit or any(table.shape != (S, P, P) for table in tables):
                raise ValueError("tables of another size")
            if not all(np.isfinite(table).all() for table in (*tables, *(examples or ()))):
                raise ValueError("numbers that are not finite")
            return cls(names, losses, chance, accuracy, seeds, tuple(map(str, values["notes"])), examples)
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            reason = str(problem) or type(problem).__name__
            raise ValueError(f"`text` must be JSON written by TransferLosses.to_json, got: {reason}.") from None


def measure_transfer(
    tasks: Iterable[Task],
    learner: Learner,
    seeds: int | Sequence[int] = 3,
    *,
    store: str | Path | None = None,
    report: FitReport | None = None,
) -> TransferLosses:
    """Losses, shuffled losses and accuracies on every task after learning each task alone, for every seed.

    Parameters
    ----------
    tasks, learner
        What to learn, and what learns it.
    seeds
        How many (0, 1, ...), or which.
    store
        A file that keeps every finished fit: after a failure or an interruption, call again to go on.
    report
        Called after every fit with the number of fits done and to do.

    Returns
    -------
    TransferLosses

    Examples
    --------
    >>> from taskorder.learners import CallableLearner
    >>> learner = CallableLearner(lambda learned, test, seed: 0.25 if test in learned else 1.0, chance=1.0)
    >>> measure_transfer([Task("a"), Task("b")], learner, seeds=1).losses.tolist()
    [[[0.25, 1.0], [1.0, 0.25]]]
    """
    is_learner(learner)
    aligned = align(tasks)
    notes = label_notes(aligned)
    chosen = tuple(seeds if isinstance(seeds, Sequence) else range(positive_count(seeds, "seeds")))
    if not chosen:
        raise BadArgument("`seeds` must hold at least one seed, got none.")
    with nullcontext() if store is None else Store(store) as open_store:
        singles = [(task,) for task in range(len(aligned))]
        scores = learn_orders(learner, aligned, singles, chosen, store=open_store, report=report, examples=True)
    note = getattr(learner, "note", "")
    return TransferLosses.from_scores(
        [task.name for task in aligned], scores, chosen, notes + ((note,) if note else ())
    )
