"""The records that taskorder hands out: frozen dataclasses, written as JSON; a Plan is also read back unchanged."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from taskorder.typed import Misfit, typed


@dataclass(frozen=True)
class Repair:
    """How far a similarity matrix had to move to become a correlation matrix.

    Examples
    --------
    >>> from taskorder import solve
    >>> plan = solve([[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]], retention=1)
    >>> round(plan.repair.largest_change, 3), plan.repair.min_eigenvalue < 0
    (0.157, True)
    """

    asymmetry: float
    """Largest |C - C.T| before symmetrizing; 0 for a symmetric input."""
    min_eigenvalue: float
    """Smallest eigenvalue of the symmetrized input; negative when it was not positive semidefinite. Above 300 tasks a
    positive definite input gets 0 here."""
    distance: float
    """Frobenius norm of the total change."""
    largest_change: float
    """Largest change of any one entry."""

    def summary(self) -> str:
        """One line of text."""
        return (
            f"repaired to the nearest correlation matrix: largest entry change {self.largest_change:.3g}, "
            f"Frobenius distance {self.distance:.3g} (asymmetry {self.asymmetry:.3g}, "
            f"smallest eigenvalue {self.min_eigenvalue:.3g})"
        )


@dataclass(frozen=True)
class Confidence:
    """How sure a plan from a pilot is: the choice is made again on resampled examples and seeds of the pilot."""

    verdict: str
    """order matters, too noisy to say, or any order is fine."""
    beats_random: float
    """Probability that the chosen order beats a random order in the real run."""
    gain: float
    """Mean advantage of the chosen order over a random one, in `unit`."""
    gain_low: float
    """Lower end of the 90 % interval of the gain in the real run."""
    gain_high: float
    unit: str
    """accuracy: mean accuracy of all tasks at the end; score: mean knowledge, where accuracy is unknown. Plans of older
    versions may have error: share of the mean predicted error."""
    same_first: float
    """Share of bootstrap draws that begin with the same task as the plan."""
    same_last: float
    same_neighbors: float
    """Mean share of the plan's neighbors that are neighbors in a bootstrap draw's order, too."""
    as_good: tuple[tuple[int, ...], ...]
    """Orders that may be as good as the chosen one in the real run, best first; at most ten."""
    num_as_good: int
    """How many such orders there are among `num_orders`."""
    num_orders: int
    """Orders that were compared."""
    num_draws: int

    def summary(self) -> str:
        """One line of text."""
        unit = "% of the predicted error" if self.unit == "error" else f"points of {self.unit}"
        return (
            f"Confidence: {100 * self.beats_random:.0f} % likely to beat a random order; expected gain "
            f"{100 * self.gain:.1f} {unit} (90 % interval {100 * self.gain_low:.1f} to {100 * self.gain_high:.1f}). "
            f"Verdict: {self.verdict}; {self.num_as_good} of {self.num_orders} orders may be as good."
        )


@dataclass(frozen=True)
class Prediction:
    """What a plan from a pilot expects at the end of the real run, with 90 % intervals."""

    unit: str
    """accuracy; knowledge (the share of the loss of guessing that is gone) where accuracies are unknown."""
    mean: float
    """Weighted mean over all tasks."""
    low: float | None
    high: float | None
    tasks: tuple[float, ...]
    """By task index."""
    tasks_low: tuple[float, ...] | None
    tasks_high: tuple[float, ...] | None
    random_mean: float
    """The mean over random orders."""
    random_std: float
    """The standard deviation between random orders."""
    retention: str = ""
    """How much the learner keeps, in a sentence."""
    cost: float | None = None
    """What the pilot cost, as a share of training once on all examples; None where tasks have no data."""

    def lines(self) -> list[str]:
        """Two lines of text: what to expect, and what the learner keeps."""
        interval = "" if self.low is None or self.high is None else f" [{100 * self.low:.0f}, {100 * self.high:.0f}]"
        mean = f"{100 * self.mean:.0f} % mean {self.unit} at the end{interval}"
        others = f"{100 * self.random_mean:.0f} % +- {100 * self.random_std:.1f}"
        return [f"expect  {mean}; random orders {others}", f"learner {self.retention.removeprefix('the learner ')}"]


@dataclass(frozen=True)
class Caution:
    """Something about the tasks or the learner that makes a plan less sure, and what to do."""

    kind: str
    text: str


@dataclass(frozen=True)
class Alternative:
    """What another rule would have chosen."""

    rule: str
    order: tuple[int, ...]
    error: float
    """Its predicted error, as that of the plan."""
    expected: float | None = None
    """Its predicted mean accuracy (or knowledge), as in the prediction of the plan."""


@dataclass(frozen=True)
class Plan:
    """An order to learn tasks in, what will be known in the end, and where the order comes from.

    `solve` and `plan` return it; `to_json` and `from_json` write and read it.

    Examples
    --------
    >>> from taskorder import solve
    >>> plan = solve([[1, 0.2, 0.6], [0.2, 1, 0.1], [0.6, 0.1, 1]], names=["cats", "cars", "dogs"])
    >>> plan.named_order, round(plan.score, 4), plan.proven
    (('dogs', 'cars', 'cats'), 0.7664, True)
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
        lines += [f"warning {warning.text}" for warning in self.warnings]
        return "\n".join([*lines, *(f"note    {note}" for note in self.notes)])

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

    def to_json(self, *, indent: int | None = 2) -> str:
        """Lossless JSON text; `Plan.from_json` gives back an equal plan."""
        return _written(self, indent)

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
            return plan_of_values(json.loads(text))
        except Misfit as problem:
            raise ValueError(f"`text` must be JSON written by Plan.to_json, got {problem}.") from None
        except (ValueError, RecursionError) as problem:
            raise ValueError(f"`text` must be JSON written by Plan.to_json, got a parse error: {problem}.") from None


def plan_of_values(values: Any) -> Plan:
    """The plan in plain JSON values; a Misfit where they are none, or parts do not fit together."""
    if isinstance(values, dict) and "lower_bound" in values:  # what `bound` was called
        values = {"bound" if key == "lower_bound" else key: value for key, value in values.items()}
    plan = typed(Plan, values)
    assert isinstance(plan, Plan)
    _check_numbers(plan)
    _check_orders(plan)
    try:
        json.dumps(plan.options, allow_nan=False)
    except (ValueError, RecursionError):
        raise Misfit("a number that is not finite at options") from None
    return plan


def _check_numbers(plan: Plan) -> None:
    """A Misfit where the numbers are not those of its tasks and steps."""
    num_tasks, num_rows, scored = len(plan.names), len(plan.order) + 1, plan.objective == "score"
    if not num_tasks:
        raise Misfit("no tasks at names")
    if not scored and plan.objective != "error":
        raise Misfit(f"{plan.objective[:40]!r} at objective")
    if scored and plan.score is None:
        raise Misfit("None at score")
    by_task = [  # whether they may be left out comes last
        ("task_errors", plan.task_errors, False),
        ("knowledge", plan.knowledge, not scored),
        ("task_retention", plan.task_retention, True),
    ]
    if plan.prediction is not None:
        by_task += [
            ("prediction.tasks", plan.prediction.tasks, False),
            ("prediction.tasks_low", plan.prediction.tasks_low or (), True),
            ("prediction.tasks_high", plan.prediction.tasks_high or (), True),
        ]
    for where, numbers, optional in by_task:
        if len(numbers) != num_tasks and (numbers or not optional):
            raise Misfit(f"{len(numbers)} numbers for {num_tasks} tasks at {where}")
    for where, path, optional in (
        ("error_path", plan.error_path, scored),
        ("knowledge_path", plan.knowledge_path, not scored),
    ):
        if [len(row) for row in path] != [num_tasks] * num_rows and (path or not optional):
            raise Misfit(f"other than {num_rows} rows of {num_tasks} numbers at {where}")


def _check_orders(plan: Plan) -> None:
    """A Misfit where an order does not hold the tasks that are left to learn."""
    index = {name: task for task, name in enumerate(plan.names)}
    learned = plan.options.get("learned") or []
    if not isinstance(learned, list) or any(not isinstance(name, str) or name not in index for name in learned):
        raise Misfit("other than names of its tasks at options.learned")
    known = {index[name] for name in learned}
    tasks, to_learn = sorted(plan.order), [task for task in range(len(plan.names)) if task not in known]
    again = plan.options.get("visits") is not None  # then tasks may come again, those already learned, too
    if (sorted(set(tasks) - known) if again else tasks) != to_learn:
        raise Misfit(f"other than each task to learn {'at least ' if again else ''}once at order")
    others = [(f"alternatives[{k}].order", other.order) for k, other in enumerate(plan.alternatives)]
    if plan.confidence is not None:
        others += [(f"confidence.as_good[{k}]", order) for k, order in enumerate(plan.confidence.as_good)]
    for where, order in others:
        if sorted(order) != tasks:
            raise Misfit(f"other tasks than those of the order at {where}")


@dataclass(frozen=True)
class RuleScore:
    """One row of a comparison."""

    rule: str
    order: tuple[int, ...]
    value: float
    """Score or error, as the objective of the comparison says."""
    quantile: float
    """Share of random orders that are better (ties count half): 0 is best, 0.5 is typical, 1 is worst."""
    proven: bool = False
    complete: bool = True
    """False when the time limit cut the rule's own search short."""


@dataclass(frozen=True)
class AtRetention:
    """The best order and the rules at another retention."""

    retention: float
    objective: str
    order: tuple[int, ...]
    """The best order found."""
    value: float
    """Its score or error."""
    random_mean: float
    shares: Mapping[str, float]
    """For each rule the share of the best order's lead over a random order that it earns; negative is worse than
    random."""


@dataclass(frozen=True)
class BestOrder:
    """An order and the range of retentions in which no other is better by more than 0.1 % of its lead."""

    low: float
    high: float
    order: tuple[int, ...]


@dataclass(frozen=True)
class Comparison:
    """Every rule on one table, beside random orders; `compare` returns it.

    Examples
    --------
    >>> from taskorder import chain, compare
    >>> comparison = compare(chain(4, 0.6))
    >>> comparison.scores[0].rule, comparison.random_count, round(comparison.random_mean, 3)
    ('optimal', 24, 0.793)
    """

    names: tuple[str, ...]
    scores: tuple[RuleScore, ...]
    """Best first."""
    random_mean: float
    random_sem: float
    """Standard error of `random_mean`; 0 when every allowed order was listed."""
    random_std: float
    random_count: int
    random_exact: bool
    """True when the random statistics come from every allowed order."""
    best: float
    worst: float
    verdict: str
    """A plain sentence on whether order matters here."""
    objective: str = "error"
    """What is compared: score (more is better) or error (less is better)."""
    retention: float = 1.0
    at_retention: tuple[AtRetention, ...] = ()
    """The best order and the rules for learners that keep less or more."""
    best_orders: tuple[BestOrder, ...] = ()
    """Where the best order changes with the retention."""
    notes: tuple[str, ...] = ()

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text of all fields."""
        return _written(self, indent)


@dataclass(frozen=True)
class TaskSimulation:
    """One task of a simulation: its error after the last visit."""

    name: str
    simulated_mean: float
    simulated_sem: float | None
    closed_form: float
    stopped_form: float


@dataclass(frozen=True)
class Simulation:
    """Gradient descent on random linear tasks beside the closed form.

    Examples
    --------
    >>> from taskorder import chain, simulate
    >>> simulation = simulate(chain(3, 0.5), [0, 2, 1], num_seeds=2)
    >>> simulation.named_order, round(simulation.closed_form, 4)
    (('A', 'C', 'B'), 0.0664)
    """

    order: tuple[int, ...]
    names: tuple[str, ...]
    simulated_mean: float
    """Sum of all task errors after the last visit, averaged over seeds."""
    simulated_sem: float | None
    """Its standard error over seeds; None for a single seed."""
    closed_form: float
    """The theory's value for tasks trained to convergence."""
    stopped_form: float
    """The theory's value for training that stops after `steps`; equal to `closed_form` for convergence."""
    finite_form: float | None
    """The theory's value for convergence with the first correction for finite N_x; None above 100 tasks."""
    per_task: tuple[TaskSimulation, ...]
    """By task index."""
    num_seeds: int
    seed: int
    steps: int | None
    """Gradient steps a task; None for convergence."""
    learning_rate: float
    """0 for convergence, which does not depend on it."""
    num_latent: int
    num_inputs: int
    num_outputs: int
    notes: tuple[str, ...] = ()

    @property
    def named_order(self) -> tuple[str, ...]:
        """The order as task names."""
        return tuple(self.names[i] for i in self.order)

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text of all fields."""
        return _written(self, indent)


def _written(record: Plan | Comparison | Simulation, indent: int | None) -> str:
    """JSON text of all fields, piece by piece: a list of all pieces would be four times as large."""
    text = io.StringIO()
    json.dump(vars(record), text, indent=indent, allow_nan=False, default=asdict)
    return text.getvalue()
