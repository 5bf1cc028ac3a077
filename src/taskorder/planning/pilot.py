"""From tasks and a learner to a table of transfer losses, on a small sample of the data.

Zero-shot transfer: learn task A alone and measure the loss on every task B (tables/loss_ratios.py). That takes one fit
for each task and seed. The data of B that losses are measured on are its evaluation data; without any they are its
training data, as in the paper: for B other than A these are unseen by the network of A as well.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from taskorder.checks import Floats, Ints, number, positive_count, seed_number, whole
from taskorder.learners.orders import Report, learn_orders
from taskorder.learners.protocol import Learner, Score, is_learner
from taskorder.prefixes import Prefix
from taskorder.runs.store import Store
from taskorder.tables.loss_ratios import loss_ratios, similarity_from_loss_ratios
from taskorder.task import Task, align


@dataclass(frozen=True, eq=False)
class TransferTable:
    """How a network that has learned one task does on the others, for S seeds and P tasks."""

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

    def drawn(self, seeds: Ints, examples: Sequence[Ints] | None = None) -> TransferTable:
        """The table of some seeds and, for each task, of some examples; repeats count.

        seeds, examples: places, not seeds themselves. An example is taken for all networks at once, so that what makes
        it hard for all of them stays shared.
        """
        table = replace(
            self,
            losses=self.losses[seeds],
            chance=self.chance[seeds],
            accuracy=None if self.accuracy is None else self.accuracy[seeds],
            seeds=tuple(self.seeds[place] for place in seeds),
            examples=None,
        )
        if self.examples is None or examples is None:
            return table
        kept = tuple(one[seeds][..., places] for one, places in zip(self.examples, examples, strict=True))
        losses, chance, accuracy = np.moveaxis(np.stack([one.mean(axis=-1) for one in kept], axis=2), -1, 0)
        return replace(table, losses=losses, chance=chance, accuracy=accuracy, examples=kept)

    @classmethod
    def from_scores(
        cls,
        names: Sequence[str],
        found: Sequence[Mapping[Prefix, Sequence[Score]]],
        seeds: Sequence[int],
        notes: tuple[str, ...] = (),
    ) -> TransferTable:
        """The table in what `learn_orders` found for each seed; every task must have been learned alone."""
        rows = [[scores[(place,)] for place in range(len(names))] for scores in found]

        def table(name: str) -> Floats | None:
            values = np.array([[[getattr(one, name) for one in row] for row in seed] for seed in rows], dtype=object)
            return None if (values == None).any() else values.astype(np.float64)  # noqa: E711 (by element)

        losses, chance = table("loss"), table("chance")
        if losses is None or chance is None:
            raise ValueError("`learner` must know the loss with shuffled labels, got None. Give it a method chance().")
        examples = None
        if all(one.examples is not None for seed in rows for row in seed for one in row):
            columns = range(len(names))
            examples = tuple(np.array([[row[b].examples for row in seed] for seed in rows]) for b in columns)
        return cls(tuple(names), losses, chance, table("accuracy"), tuple(seeds), notes, examples)

    def to_json(self, *, indent: int | None = None) -> str:
        """Lossless JSON text; `TransferTable.from_json` gives back the same table."""

        def plain(value: Any) -> Any:
            return value.tolist() if isinstance(value, np.ndarray) else value

        values = {name: plain(value) for name, value in vars(self).items()}
        values["examples"] = None if self.examples is None else [one.tolist() for one in self.examples]
        return json.dumps(values, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> TransferTable:
        """The table that `to_json` wrote."""
        try:
            values = json.loads(text)
            names, seeds = tuple(map(str, values["names"])), tuple(map(int, values["seeds"]))
            losses, chance = np.array(values["losses"], float), np.array(values["chance"], float)
            accuracy = None if values["accuracy"] is None else np.array(values["accuracy"], float)
            examples = values["examples"]
            examples = None if examples is None else tuple(np.array(one, float) for one in examples)
            tables, S, P = [losses, chance, *([] if accuracy is None else [accuracy])], len(seeds), len(names)
            fit = examples is None or [one.shape[:-1] for one in examples] == [(S, P, 3)] * P
            if len(set(names)) < P:
                raise ValueError("names that are not unique")
            if not fit or any(table.shape != (S, P, P) for table in tables):
                raise ValueError("tables of another size")
            if not all(np.isfinite(table).all() for table in (*tables, *(examples or ()))):
                raise ValueError("numbers that are not finite")
            return cls(names, losses, chance, accuracy, seeds, tuple(map(str, values["notes"])), examples)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as problem:
            reason = str(problem) or type(problem).__name__
            raise ValueError(f"`text` must be JSON written by TransferTable.to_json, got: {reason}.") from None


def pilot_sample(
    tasks: Iterable[Task], size: float = 0.01, seed: int = 0, *, keep_eval: bool = True
) -> tuple[Task, ...]:
    """The tasks with few of their training examples, the classes in the same shares, at least one of each.

    size: a share of each task's examples (a float up to 1.0) or a number of examples a task (an int).
    keep_eval: keep the evaluation data, whole, to measure on; False drops them, and losses are measured on the sample
    itself, as in the paper: then the evaluation data play no part in choosing an order.

    >>> task = Task("a", np.arange(200.0).reshape(100, 2), [0, 1, 1, 1] * 25)
    >>> np.bincount(pilot_sample([task], 0.12)[0].targets).tolist()
    [3, 9]
    """
    counted = whole(size) is not None
    if not (number(size) >= 1 if counted else 0 < number(size) <= 1):
        raise ValueError(
            f"`pilot` must be a share above 0 and up to 1.0 or a whole number of examples a task, got {size!r}."
        )
    seed_number(seed)
    sampled = []
    for task in align(tasks):
        if not task.has_data:
            raise ValueError(f"`tasks` must have data to sample from, got only the name {task.name!r}.")
        rng = np.random.default_rng([seed, zlib.crc32(task.name.encode())])
        rows = _stratified(task, int(size) if counted else round(float(size) * len(task.targets)), size, rng)
        sample = replace(task, inputs=task.inputs[rows], labels=task.labels[rows])
        sampled.append(sample if keep_eval else replace(sample, eval_inputs=None, eval_labels=None))
    return tuple(sampled)


def transfer_table(
    tasks: Iterable[Task],
    learner: Learner,
    seeds: int | Sequence[int] = 3,
    *,
    store: str | Path | None = None,
    report: Report | None = None,
) -> TransferTable:
    """Losses, shuffled losses and accuracies on every task after learning each task alone, for every seed.

    seeds: how many (0, 1, ...), or which.
    store: a file that keeps every finished fit: after a failure or an interruption, call again to go on.
    report: called after every fit with the number of fits done and to do.
    """
    is_learner(learner)
    aligned = align(tasks)
    notes = label_notes(aligned)
    chosen = tuple(seeds if isinstance(seeds, Sequence) else range(positive_count(seeds, "seeds")))
    if not chosen:
        raise ValueError("`seeds` must hold at least one seed, got none.")
    with nullcontext() if store is None else Store(store) as kept:
        singles = [(place,) for place in range(len(aligned))]
        found = learn_orders(learner, aligned, singles, chosen, store=kept, report=report, examples=True)
    note = getattr(learner, "note", "")
    return TransferTable.from_scores([task.name for task in aligned], found, chosen, notes + ((note,) if note else ()))


def _stratified(task: Task, total: int, size: float, rng: np.random.Generator) -> Ints:
    """Sorted rows: `total` of them, shared out among the classes by largest remainder, at least one of each."""
    places, counts = np.unique(task.targets, return_counts=True)
    if total < len(places):
        n, k = len(task.targets), len(places)
        raise ValueError(
            f"`pilot` must give task {task.name!r} at least one example of each of its {k} classes, "
            f"got {size!r} of its {n} examples. Take {k} or more, or a share of at least {min(1.0, k / n):.2g}."
        )
    total = min(total, len(task.targets))
    exact = counts * (total / len(task.targets))
    taken = np.maximum(np.floor(exact), 1).astype(np.int64)
    while taken.sum() > total:  # rare classes got their one: the others make room
        taken[np.where(taken > 1, taken - exact, -np.inf).argmax()] -= 1
    while taken.sum() < total:
        taken[np.where(taken < counts, exact - taken, -np.inf).argmax()] += 1
    rows = [rng.permutation(np.flatnonzero(task.targets == p))[:n] for p, n in zip(places, taken, strict=True)]
    return np.sort(np.concatenate(rows))


def label_notes(tasks: tuple[Task, ...]) -> tuple[str, ...]:
    """An error for two tasks without a class in common, a note where two differ in some."""
    if not tasks[0].has_data:
        return ()
    differ: tuple[str, ...] = ()
    for a in tasks:
        for b in tasks:
            unseen = [label for label in b.own_classes if label not in a.own_classes]
            if len(unseen) == len(b.own_classes):
                raise ValueError(
                    f"`tasks` must share labels, got {unseen[0]!r} and all others of {b.name!r} unseen in {a.name!r}: "
                    "what one network knows could not show on the other. Rename classes: share_labels(tasks)."
                )
            if unseen and not differ:
                differ = (f"tasks differ in their classes: {unseen[0]!r} of {b.name!r} is unseen in {a.name!r}",)
    return differ
