"""What the pictures of plans and comparisons show: `draw` makes figures for a paper of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskorder.arguments import BadArgument
from taskorder.plots.records import Drawing, Panel, Series
from taskorder.plots.style import ROLES
from taskorder.visible import visible

if TYPE_CHECKING:
    from taskorder.records import Comparison, Plan, Prediction

MOST_STEP_NAMES = 40
"""Steps with the names of their tasks; of more, only their numbers."""
LONGEST_NAME = 18
VALUES = {"score": "knowledge", "error": "error"}
Values = tuple[float, ...]


def plan_drawing(plan: Plan) -> Drawing:
    """What to expect of each task at the end, along the order.

    With a pilot: its prediction with 90 % intervals, beside the mean of random orders. Else what the model says that is
    known when a task was just learned, and at the end.
    """
    if not plan.order:
        raise BadArgument("`plan` must have a step to draw, got one with nothing left to learn.")
    learned = [plan.names.index(name) for name in plan.options.get("learned") or ()]
    tasks = [*dict.fromkeys(learned), *plan.order]
    before = len(tasks) - len(plan.order)
    names = tuple(f"({_cut(plan.names[k])})" if step < before else _cut(plan.names[k]) for step, k in enumerate(tasks))
    few = len(tasks) <= MOST_STEP_NAMES
    if plan.prediction is None:
        label, series = f"predicted {VALUES[plan.objective]}", _modeled(plan, tasks)
    else:
        label, series = f"predicted {plan.prediction.unit} at the end", _predicted(plan, plan.prediction, tasks)
    panel = Panel("", "tasks in the order of the plan" if few else "step", label, series, steps=names if few else ())
    return Drawing("plan", "", (panel,), width=_width(len(tasks)))


def _predicted(plan: Plan, told: Prediction, tasks: list[int]) -> tuple[Series, ...]:
    """Intervals of the tasks, and the means of this order and of random ones."""
    low, high = (None if ends is None else _of(ends, tasks) for ends in (told.tasks_low, told.tasks_high))
    label = "this order" if low is None else "this order, 90 % interval"
    spread = told.random_mean - told.random_std, told.random_mean + told.random_std
    return (
        _level("random orders, mean ± standard deviation", told.random_mean, len(tasks), "random", spread),
        _level("this order, mean", told.mean, len(tasks), "reference"),
        Series(label, _middles(len(tasks)), _of(told.tasks, tasks), low, high, role=_role(plan), style="intervals"),
    )


def _modeled(plan: Plan, tasks: list[int]) -> tuple[Series, ...]:
    """What is known when a task was just learned, and at the end."""
    by_score, steps = plan.objective == "score", _middles(len(tasks))
    ends, path = (plan.knowledge, plan.knowledge_path) if by_score else (plan.task_errors, plan.error_path)
    before = len(tasks) - len(plan.order)
    just = tuple(path[max(0, step - before + 1)][task] for step, task in enumerate(tasks))
    end = _of(ends, tasks)
    means = [plan.score] if by_score and plan.score is not None else []
    return (
        *(_level("mean at the end", value, len(tasks), "reference") for value in means),
        # a faint line joins both values of a task
        Series(
            "when just learned", steps, just, tuple(map(min, just, end)), tuple(map(max, just, end)), style="points"
        ),
        Series("at the end", steps, end, role=_role(plan), style="points"),
    )


def comparison_drawing(comparison: Comparison) -> Drawing:
    """The value of each rule, best first, beside random orders."""
    rules = [score.rule for score in comparison.scores]
    spread = comparison.random_mean - comparison.random_std, comparison.random_mean + comparison.random_std
    which = f"{'all' if comparison.random_exact else 'random'} orders, mean ± standard deviation"
    points = [
        Series("", (at,), (score.value,), role=score.rule, style="intervals")
        for at, score in zip(_middles(len(rules)), comparison.scores, strict=True)
    ]
    what = "mean knowledge" if comparison.objective == "score" else "error"
    panel = Panel(
        "", "", f"predicted {what} at the end",
        (_level(which, comparison.random_mean, len(rules), "random", spread), *points), steps=tuple(rules),
    )  # fmt: skip
    return Drawing("comparison", "", (panel,), width=_width(len(rules)))


def _level(label: str, value: float, num_steps: int, role: str, spread: tuple[float, float] | None = None) -> Series:
    """One value for all steps, with a band around it where there is a spread."""
    low, high = (None, None) if spread is None else ((spread[0],) * 2, (spread[1],) * 2)
    return Series(label, (0.0, float(num_steps)), (value, value), low, high, role)


def _of(values: Values, tasks: list[int]) -> Values:
    return tuple(values[task] for task in tasks)


def _middles(num_steps: int) -> Values:
    """Where the values of each step stand: in the middle of its unit of the axis."""
    return tuple(step + 0.5 for step in range(num_steps))


def _role(plan: Plan) -> str:
    """The color of the rule; that of `optimal` for orders that other ways have chosen."""
    return plan.rule if plan.rule in ROLES else "optimal"


def _cut(name: str) -> str:
    """A name on one line, at most so long, in which matplotlib finds no formula."""
    plain = visible(" ".join(name.split()))
    short = plain if len(plain) <= LONGEST_NAME else plain[: LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")


def _width(num_steps: int) -> float:
    """Inches of a panel with so many names along its axis."""
    return min(max(4.6, 1.6 + 0.3 * num_steps), 8.0)
