"""Which column of a table of results says what: the same in a table by hand and in exports of W&B and MLflow.

A table is *long* (one row for each run and task, columns task and accuracy), *wide* (one row a run, one column a task)
or of *averages* (one row a run, one accuracy).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.tables.input_files import refusal

AVERAGE = "average"
"""What stands for the tasks in a table of averages."""
ALIASES: Mapping[str, tuple[str, ...]] = {
    "order": ("order", "task_order", "order_of_tasks", "task_sequence", "sequence", "permutation", "class_order"),
    "seed": ("seed", "random_seed", "training_seed", "train_seed", "rng_seed", "random_state", "repetition",
             "replicate", "rep", "trial", "run"),
    "method": ("method", "strategy", "algorithm", "approach"),
    "task": ("task", "task_id", "test_task", "eval_task"),
    "accuracy": ("accuracy", "acc", "final_accuracy", "final_acc", "average_accuracy", "avg_accuracy", "mean_accuracy",
                 "average_acc", "avg_acc", "mean_acc", "final_average_accuracy", "test_accuracy", "test_acc",
                 "accuracy_avg", "acc_avg", "accuracy_mean", "acc_mean", "average", "avg_test_acc", "faa"),
    "state": ("state", "status"),
}  # fmt: skip
"""Names of columns in lower case with underscores, the likeliest first."""
PREFIXES = ("data.params.", "data.metrics.", "data.tags.", "params.", "metrics.", "tags.", "config.", "summary.")
"""What MLflow and W&B write before the names that a user has logged."""
RECORDED = frozenset((
    "name", "agent", "notes", "user", "tags", "created", "runtime", "sweep", "group", "job_type", "hostname", "id",
    "run_id", "run_name", "run_uuid", "experiment_id", "artifact_uri", "start_time", "end_time", "lifecycle_stage",
    "user_id", "url", "commit", "index", "unnamed:_0", "", "_step", "_runtime", "_timestamp", "_wandb",
    "mlflow.runname", "mlflow.user", "mlflow.source.name", "mlflow.source.type", "mlflow.source.git.commit",
    "mlflow.log_model.history",
))  # fmt: skip
"""What trackers record of every run: never a setting."""
NOT_ACCURACY = re.compile(r"loss|forget|time|error|steps?$|epoch|transfer|bwt|fwt|std|chance")
MAX_COLUMNS = 100_000
LONGEST_COLUMN = 100
"""Characters of the name of a column, or of a task in it."""
MOST_NAMED = 6
"""Columns that a message names."""


@dataclass(frozen=True)
class Layout:
    """Which column says what; None where a table has no such column."""

    order: str
    seed: str | None
    method: str | None
    task: str | None
    accuracy: str | None
    """Of a long table or one of averages."""
    task_columns: Mapping[str, str]
    """Of a wide table: the column of each task."""
    state: str | None
    step: str | None
    """`step` of `taskorder export`: counts the tasks learned so far."""
    log_step: str | None
    """`_step` of a W&B history: the last value of each column counts.
    Not in a summary, which has `_wandb`."""
    run: str | None
    """What a tracker calls the run."""

    def accuracies(self, cells: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The tasks of a row with the cells of their accuracies."""
        if self.task_columns:
            yield from ((task, cells[column]) for task, column in self.task_columns.items())
        elif self.accuracy is not None:
            yield (AVERAGE if self.task is None else cells[self.task]), cells[self.accuracy]

    @property
    def used(self) -> frozenset[str]:
        """The columns that say what was run and how well it did."""
        named = (self.order, self.seed, self.method, self.task, self.accuracy, self.state, self.step, self.log_step)
        return frozenset(column for column in (*named, *self.task_columns.values()) if column is not None)


def plain_name(column: str) -> str:
    """A column as it is compared: without a tracker's prefix, in lower case, with underscores.

    >>> plain_name("params.Task Order"), plain_name("summary.avg/acc")
    ('task_order', 'avg_acc')
    """
    return re.sub(r"[\s/-]+", "_", _unprefixed(column.strip()).lower())


def named_column(name: str, columns: Iterable[str]) -> str | None:
    """The column that somebody calls `name`: exactly, else in any case, else without a tracker's prefix."""
    columns = list(columns)
    for same in (str, str.lower, plain_name):
        matches = [column for column in columns if same(column) == same(name)]
        if matches:
            return matches[0]
    return None


def order_column(columns: Sequence[str], chosen: Mapping[str, str], label: str) -> str:
    """The column of orders; `chosen` says what the user calls some of the columns."""
    unknown = [role for role in chosen if role not in ALIASES]
    if unknown:
        raise BadArgument(f"`columns` must name some of {', '.join(ALIASES)}, got {unknown[0]!r}.")
    order = role_column("order", columns, chosen)
    if order is None:
        got = f"none among: {shown_columns(columns)}"
        raise refusal(label, "have a column order", got, "Say which it is with ", "columns", ": order=NAME.")
    return order


def layout_of(columns: Sequence[str], steps: Sequence[str], chosen: Mapping[str, str], label: str) -> Layout:
    """The columns of a table in which one order has these steps."""
    pattern = chosen.get("accuracy", "") if "{task}" in chosen.get("accuracy", "") else ""
    roles = {role: role_column(role, columns, {} if role == "accuracy" and pattern else chosen) for role in ALIASES}
    is_export = {"kind", "set"} <= set(columns)  # whose settings have names of their own
    task, accuracy = roles["task"], roles["accuracy"]
    tasks = list(steps) if len(steps) > 1 else []
    wide: dict[str, str] = {}
    if pattern:
        wide = _by_pattern(pattern, columns, tasks, label)
    elif "accuracy" not in chosen and (task is None or accuracy is None):
        taken = {column for role, column in roles.items() if column is not None and role != "accuracy"}
        wide = _wide([column for column in columns if column not in taken], tasks, label)
    if wide:
        task = accuracy = None
    elif accuracy is None:
        got = f"neither among: {shown_columns(columns)}"
        fix = "Say which it is with ", "columns", ": accuracy=NAME, or accuracy=acc/{task}."
        raise refusal(label, "have a column accuracy, or one for each task", got, *fix)
    elif task is None and "accuracy" not in chosen:
        _sole_accuracy(columns, label)
    return Layout(
        order=order_column(columns, chosen, label),
        seed=roles["seed"],
        method=None if is_export and "method" not in chosen else roles["method"],
        task=task,
        accuracy=accuracy,
        task_columns=wide,
        state=roles["state"],
        step=None if wide or task is None else next((column for column in columns if column.lower() == "step"), None),
        log_step="_step" if "_step" in columns and not any(name.startswith("_wandb") for name in columns) else None,
        run=next((column for column in columns if plain_name(column) in ("run_id", "name", "run_name", "id")), None),
    )


def role_column(role: str, columns: Sequence[str], chosen: Mapping[str, str]) -> str | None:
    """The column that says what somebody calls order, seed, method, task, accuracy or state."""
    if role in chosen:
        column = named_column(chosen[role], columns)
        if column is None:
            raise BadArgument(
                f"`columns` must name a column, got {role}={chosen[role]}.{did_you_mean(chosen[role], columns)} "
                f"Columns: {shown_columns(columns)}."
            )
        return column
    plain: dict[str, str] = {}
    for column in columns:
        plain.setdefault(plain_name(column), column)
    return next((plain[alias] for alias in ALIASES[role] if alias in plain), None)


def _sole_accuracy(columns: Sequence[str], label: str) -> None:
    """Refuse to guess which of several columns is the average."""
    likely = [column for column in columns if plain_name(column) in ALIASES["accuracy"]]
    if len(likely) > 1:
        got = f"several: {', '.join(likely[:MOST_NAMED])}"
        fix = "Choose one with ", "columns", f": accuracy={likely[-1]}."
        raise refusal(label, "have one column of accuracies", got, *fix)


def _by_pattern(pattern: str, columns: Sequence[str], tasks: Sequence[str], label: str) -> dict[str, str]:
    """The columns that a pattern like acc/{task} names, by task."""
    before, _, after = pattern.partition("{task}")
    if tasks:
        by_task = {task: named_column(before + task + after, columns) for task in tasks}
        lacking = next((task for task, column in by_task.items() if column is None), None)
        if lacking is not None:
            got = f"none called {before + lacking + after!r} among: {shown_columns(columns)}"
            raise refusal(label, f"have a column {pattern} for each task", got, "")
        return {task: column for task, column in by_task.items() if column is not None}
    matches = {
        column[len(before) : len(column) - len(after)]: column
        for column in map(str, columns)
        if column.startswith(before) and column.endswith(after) and len(column) > len(before) + len(after)
    }
    if not matches:
        raise refusal(label, f"have columns {pattern}", f"none among: {shown_columns(columns)}", "")
    return matches


def _wide(columns: Sequence[str], tasks: Sequence[str], label: str) -> dict[str, str]:
    """The column of each task, where every task has one of the same form; empty where there are none."""
    forms: dict[tuple[str, str], dict[str, str]] = {}
    wanted = set(tasks)
    lengths = sorted({len(task) for task in tasks if 0 < len(task) <= LONGEST_COLUMN})
    for column in columns if len(columns) >= len(tasks) else ():
        for task, form in _forms(column, wanted, lengths) if len(column) <= LONGEST_COLUMN else ():
            forms.setdefault(form, {})[task] = column
    whole = {form: by for form, by in forms.items() if len(by) == len(tasks) == len(set(by.values()))}
    if len(whole) > 1:
        accuracy = {form for form in whole if "acc" in "".join(form).lower()}
        whole = {form: by for form, by in whole.items() if not accuracy or form in accuracy}
    if len(whole) > 1:
        whole = {form: by for form, by in whole.items() if not NOT_ACCURACY.search("".join(form).lower())} or whole
    if len(whole) > 1:
        shown = [f"{before}{{task}}{after}" for before, after in whole]
        got = f"several: {', '.join(shown[:MOST_NAMED])}"
        fix = "Choose one with ", "columns", f": accuracy={shown[-1]}."
        raise refusal(label, "have one column of accuracies for each task", got, *fix)
    return next(iter(whole.values()), {})


def _forms(column: str, tasks: Container[str], lengths: Sequence[int]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The tasks in the name of a column that are words of their own there, each with what stands before and after."""
    for start in range(len(column)):
        before = column[:start]
        open_before = not before or not before[-1].isalnum()
        for length in lengths:
            task, after = column[start : start + length], column[start + length :]
            if task not in tasks or len(task) < length or (after and after[0].isalnum()):
                continue
            if open_before or (task[0].isdigit() and before[-1].isalpha()):  # task0, acc1
                yield task, (before, after)


def _unprefixed(column: str) -> str:
    return next((column[len(prefix) :] for prefix in PREFIXES if column.startswith(prefix)), column)


def shown_columns(columns: Iterable[str]) -> str:
    """Columns on one line for a message."""
    return textwrap.shorten(", ".join(columns), 200, placeholder=" ...")
