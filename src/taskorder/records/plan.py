"""A plan: an order, what to expect of it, and where it comes from; written as JSON and read back unchanged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskorder.parsing import json_values
from taskorder.records import brief, card, notebook, showing
from taskorder.records.fitting import check_numbers, check_orders
from taskorder.records.flat import flat_plan
from taskorder.records.parts import Alternative, Caution, Confidence, Prediction, Repair, SequenceOrMix
from taskorder.records.writing import Record
from taskorder.typed import Misfit, typed
from taskorder.visible import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Plan(Record):
    """An order to learn tasks in, what will be known in the end, and where the order comes from.

    `solve` and `plan` return it; `to_json` and `from_json` write and read it. `for name in plan` goes along it.

    Examples
    --------
    >>> from taskorder import solve
    >>> plan = solve([[1, 0.2, 0.6], [0.2, 1, 0.1], [0.6, 0.1, 1]], names=["cats", "cars", "dogs"])
    >>> plan.named_order, round(plan.score, 4), plan.proven
    (('dogs', 'cars', 'cats'), 0.7664, True)
    >>> list(plan), len(plan)
    (['dogs', 'cars', 'cats'], 3)
    >>> Plan.from_json(plan.to_json()) == plan
    True
    """

    order: tuple[int, ...]
    """`order[k]` is the index of the task at step k; tasks already learned are not repeated here."""
    names: tuple[str, ...]
    """Names of all P tasks, by task index (not by position in the order)."""
    error: float
    """Sum over tasks (times weights) of the error, (1 - knowledge)^2, after the last step."""
    task_errors: tuple[float, ...]
    """Final error of each task, by task index, without weights."""
    error_path: tuple[tuple[float, ...], ...]
    """Row s is every task's error after s steps of `order`; row 0 is before the first step. Empty where the objective
    is the score."""
    rule: str
    objective: str = "error"
    """What the rule `optimal` optimizes and `bound` is about: score (as large as possible) or error (as small)."""
    score: float | None = None
    """Weighted mean knowledge after the last step; None where the tasks have an output similarity."""
    knowledge: tuple[float, ...] = ()
    """Final knowledge of each task, by task index: 0 is chance, 1 is perfect."""
    knowledge_path: tuple[tuple[float, ...], ...] = ()
    """As `error_path`, for knowledge; empty where the objective is the error."""
    retention: float = 1.0
    """Share of its knowledge that the learner keeps when it learns the next task; of several, their mean."""
    task_retention: tuple[float, ...] = ()
    """One for each task, where they differ."""
    table: str = "similarity"
    """What the prediction was computed on, and how it was made."""
    bound: float | None = None
    """No allowed order has a larger score or a smaller error than this (for rule `worst`: the other way round); None
    if unknown."""
    proven: bool = False
    """True only when the search proved that no allowed order is better (for `worst`: worse) in the model."""
    seconds: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options this plan was made with, as plain JSON values."""
    notes: tuple[str, ...] = ()
    """What the reader should know: repairs, chosen directions, exhausted time limits."""
    repair: Repair | None = None
    similarity_digest: str = ""
    """SHA-256 of the similarity matrix as given (little-endian float64, row by row)."""
    version: str = ""
    expected: float | None = None
    """For a plan of an older version from a pilot: the score of the order in rehearsal."""
    regret: float | None = None
    """With tasks already learned: how much smaller the error of the best order would be if none had been; for a plan
    from a pilot, how much higher its score."""
    confidence: Confidence | None = None
    prediction: Prediction | None = None
    warnings: tuple[Caution, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    mix: SequenceOrMix | None = None
    """What learning one after another costs against all tasks at once, of a plan from a pilot."""

    @property
    def named_order(self) -> tuple[str, ...]:
        """The order as task names."""
        return tuple(self.names[i] for i in self.order)

    @property
    def value(self) -> float:
        """The score or the error, whichever is the objective."""
        return self.error if self.score is None or self.objective == "error" else self.score

    @property
    def gap(self) -> float | None:
        """Distance between value and bound, relative to the larger: 0.02 means the optimum is at most 2 % better."""
        if self.bound is None:
            return None
        top = max(abs(self.value), abs(self.bound))
        return abs(self.value - self.bound) / top if top > 0 else 0.0

    @property
    def keeps(self) -> str:
        """The retention in words."""
        if self.task_retention:
            low, high = min(self.task_retention), max(self.task_retention)
            return f"keeps {100 * low:.3g} to {100 * high:.3g} % of what it knew when the next task is learned"
        return f"keeps {100 * self.retention:.3g} % of what it knew when the next task is learned"

    def summary(self) -> str:
        """The order, what to expect of it, its rule and proof, and what to know about it, one line each.

        >>> from taskorder import solve
        >>> print(solve([[1, 0.5], [0.5, 1]]).summary().splitlines()[0])
        order   A -> B
        """
        lines = [
            f"order   {' -> '.join(self.named_order)}",
            *(self._modeled() if self.prediction is None else self.prediction.lines()),
            f"rule    {self.rule}",
            f"time    {self.seconds:.3g} s",
        ]
        if self.expected is not None:
            lines.append(f"pilot   {self.expected:.4f} in rehearsal")
        if self.regret is not None:
            lost = "more error" if self.prediction is None else "less knowledge"
            lines.append(f"regret  {self.regret:.6g} {lost} than if no task had been learned yet")
        if self.confidence is not None:
            lines.append(self.confidence.summary())
        if self.mix is not None:
            lines.append(f"mix     {self.mix.summary()}")
        lines += [f"warning {warning.text}" for warning in self.warnings]
        return "\n".join(map(visible, [*lines, *(f"note    {note}" for note in self.notes)]))

    def _modeled(self) -> list[str]:
        """What the model says; a pilot says what to expect of the real run instead."""
        return [self._expectation(), f"learner {self.keeps}", f"proof   {self._proof()}"]

    def _expectation(self) -> str:
        """What to expect in the end: the mean knowledge, or the sum of errors."""
        weighted = "weighted " if self.options.get("weights") else ""
        if self.objective == "score":
            mean = "of the only task" if len(self.names) == 1 else f"{weighted}mean over {len(self.names)} tasks"
            return f"score   {self.value:.4f} (predicted knowledge after the last step, {mean}: 0 is chance, 1 perfect)"
        total = "of the only task" if len(self.names) == 1 else f"{weighted}sum over {len(self.names)} tasks"
        return f"error   {self.error:.6g} ({total} after the last step)"

    def _proof(self) -> str:
        extreme = "worse" if self.rule == "worst" else "better"
        if self.proven:
            return f"proven in the model: no allowed order is {extreme}"
        if self.bound is None:
            searched = self.rule in ("optimal", "worst")
            return (
                "not proven; no bound known" if searched else f"none: this rule does not optimize the {self.objective}"
            )
        side = "upper" if (self.rule == "worst") == (self.objective == "error") else "lower"
        return f"not proven; {side} bound {self.bound:.6g}, gap {100 * (self.gap or 0.0):.3g} %"

    def to_dict(self, *, flat: bool = False) -> dict[str, Any]:
        """All fields as plain values; `flat` gives one mapping of names to numbers and texts, for trackers.

        In the flat form all that was predicted or measured is a float; what describes the plan is text, a whole number
        or a truth value. Paths and what is unknown are left out.

        >>> from taskorder import solve
        >>> flat = solve([[1, 0.5], [0.5, 1]], names=["cats", "dogs"]).to_dict(flat=True)
        >>> flat["order"], round(flat["knowledge/cats"], 3)
        ('cats > dogs', 0.807)
        """
        return flat_plan(self) if flat else super().to_dict()

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote.

        Parameters
        ----------
        text
            JSON of a plan; plans of older versions, which lack what a pilot adds, are read, too.

        Raises
        ------
        ValueError
            If a key is missing or unknown, a value does not have its type, or parts do not fit together; says where.
        """
        try:
            return plan_of_values(json_values(text))
        except Misfit as problem:
            raise ValueError(f"`text` must be JSON written by Plan.to_json, got {problem}.") from None
        except ValueError as problem:
            raise ValueError(f"`text` must be JSON written by Plan.to_json, got a parse error: {problem}.") from None

    def to_markdown(self) -> str:
        """A section for a model card (README.md): the order, what was predicted, how sure that was and how it was made.

        >>> from taskorder import solve
        >>> print(solve([[1, 0.5], [0.5, 1]], names=["cats", "dogs"]).to_markdown().splitlines()[6])
        | 1 | cats | 81 % |
        """
        return card.plan_card(self)

    def plot(self) -> Figure:
        """A figure for a paper of what to expect of each task along the order: `plan.plot().savefig("plan.pdf")`.

        Needs matplotlib: pip install "taskorder[plot]".
        """
        return showing.plan_figure(self)

    def report(self, path: str | os.PathLike[str], table: ArrayLike | None = None, *, title: str | None = None) -> Path:
        """Write one HTML page that loads nothing, and return its path.

        Parameters
        ----------
        path
            The file, which ends in .html.
        table
            The table that the plan was made from (of a pilot, `PilotResult.table`). With it the page also shows rival
            rules, random orders and a map of the tasks; a plan itself holds only its digest.
        title
            The heading of the page.
        """
        return showing.plan_report(self, path, table, title)

    def __repr__(self) -> str:
        return "\n".join(map(visible, brief.brief_plan(self)))

    def _repr_html_(self) -> str:
        return notebook.plan_html(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self.named_order)

    def __len__(self) -> int:
        return len(self.order)


def plan_of_values(values: Any) -> Plan:
    """The plan in plain JSON values; a Misfit where they are none, or parts do not fit together."""
    if isinstance(values, dict) and "lower_bound" in values:  # what `bound` was called
        values = {"bound" if key == "lower_bound" else key: value for key, value in values.items()}
    plan = typed(Plan, values)
    assert isinstance(plan, Plan)
    check_numbers(plan)
    check_orders(plan)
    try:
        json.dumps(plan.options, allow_nan=False)
    except (ValueError, RecursionError):
        raise Misfit("a number that is not finite at options") from None
    return plan
