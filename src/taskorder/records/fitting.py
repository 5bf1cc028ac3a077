"""Whether the parts of a plan fit together: a file may have been edited by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskorder.checks import MAX_TASKS
from taskorder.typed import Misfit

if TYPE_CHECKING:
    from taskorder.records.plan import Plan


def check_numbers(plan: Plan) -> None:
    """A Misfit where the numbers are not those of its tasks and steps."""
    num_tasks, num_rows, scored = len(plan.names), len(plan.order) + 1, plan.objective == "score"
    if not num_tasks:
        raise Misfit("no tasks at names")
    if num_tasks > MAX_TASKS:
        raise Misfit(f"more than {MAX_TASKS} tasks at names")
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


def check_orders(plan: Plan) -> None:
    """A Misfit where an order does not hold the tasks that are left to learn."""
    index = {name: task for task, name in enumerate(plan.names)}
    learned = plan.options.get("learned") or []
    if not isinstance(learned, list) or any(not isinstance(name, str) or name not in index for name in learned):
        raise Misfit("other than names of its tasks at options.learned")
    known = {index[name] for name in learned}
    tasks, to_learn = sorted(plan.order), [task for task in range(len(plan.names)) if task not in known]
    again = plan.options.get("visits") is not None  # then tasks may come again, those already learned, too
    # numbers of any size may share a hash: none goes into a set before it is found to be small
    known_tasks = all(0 <= task < len(plan.names) for task in tasks)
    if not known_tasks or (sorted(set(tasks) - known) if again else tasks) != to_learn:
        raise Misfit(f"other than each task to learn {'at least ' if again else ''}once at order")
    others = [(f"alternatives[{k}].order", other.order) for k, other in enumerate(plan.alternatives)]
    if plan.confidence is not None:
        others += [(f"confidence.as_good[{k}]", order) for k, order in enumerate(plan.confidence.as_good)]
    for where, order in others:
        if sorted(order) != tasks:
            raise Misfit(f"other tasks than those of the order at {where}")
