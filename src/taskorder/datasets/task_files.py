"""Tasks from files: by groups of classes, by files, or by a column of a table.

Only the rows to train on become tasks; a data set's test rows are left for the real run.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.datasets import load
from taskorder.datasets.dataset import Dataset
from taskorder.datasets.features import column_names, read_feature_tables
from taskorder.tables.input_files import refusal
from taskorder.task import Task, align, share_labels

KEYS = ("tasks", "column", "classes_per_task")


@dataclass(frozen=True)
class TaskSpec:
    """How to cut data into tasks; at most one of the three."""

    tasks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Classes of each task, by name of the task; the first class of every task gets the same label, and so on."""
    column: str | None = None
    """The column of a CSV file that says which task a row belongs to."""
    classes_per_task: int = 2
    """Without groups, so many classes, as they come, make a task."""


class TaskFiles(NamedTuple):
    """What files hold."""

    tasks: tuple[Task, ...]
    notes: tuple[str, ...]
    """What was done to the tasks."""
    class_groups: tuple[tuple[int, ...], ...] = ()
    """By task: the ids of its classes, which are their positions in `class_names`. Empty where tasks are no groups."""
    class_names: tuple[str, ...] = ()
    """All classes of the data set, where tasks are groups of them."""


def read_task_spec(path: str | Path) -> TaskSpec:
    """The spec in a TOML file: a table [tasks] of lists of classes, or column = "...", or classes_per_task = N."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise ValueError(f"`{path}` must be a readable TOML file, got: {problem.strerror}.") from None
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"`{path}` must be a TOML file, got: {problem}.") from None
    strange = [key for key in values if key not in KEYS]
    if strange or len(values) != 1:
        got = strange[0] if strange else f"{len(values)} keys"
        raise ValueError(f"`{path}` must have one of the keys {', '.join(KEYS)}, got {got}.")
    groups = values.get("tasks", {})
    are_lists = isinstance(groups, dict) and all(isinstance(group, list) for group in groups.values())
    if not are_lists or ("tasks" in values and not groups):
        raise ValueError(f'`{path}` must list the classes of each task, like pets = ["cat", "dog"] below [tasks].')
    column, size = values.get("column"), values.get("classes_per_task", 2)
    if not isinstance(column, str | None) or type(size) is not int:
        raise ValueError(f"`{path}` must have a text for column and a whole number for classes_per_task.")
    return TaskSpec({name: tuple(map(str, group)) for name, group in groups.items()}, column, size)


def read_tasks(paths: Sequence[str | Path], spec: TaskSpec = TaskSpec()) -> TaskFiles:  # noqa: B008 (frozen)
    """The tasks in one data set, or one task a data set where there are several."""
    groups: list[tuple[int, ...]] = []
    class_names: tuple[str, ...] = ()
    if len(paths) > 1:
        stems = [Path(path).stem for path in paths]
        twice = next((stem for stem in stems if stems.count(stem) > 1), None)
        if twice is not None:
            raise ValueError(f"`DATA` must be files of different names, got {twice!r} more than once. Rename one.")
        if spec != TaskSpec():
            raise BadArgument(
                "`tasks` and ", "column", f" must be left out with several files, got {len(paths)}: each is a task."
            )
        tasks = [_whole(load(path), Path(path).stem) for path in paths]
        _same_columns([Path(path) for path in paths])
    elif spec.column is not None:
        tasks = _by_column(Path(paths[0]), spec.column)
    else:
        data = load(paths[0])
        tasks, groups, class_names = *_by_classes(data, spec), tuple(data.class_names)
    if len(tasks) < 2:
        raise BadArgument(f"`tasks` must be at least two, got {len(tasks)}: there is nothing to order.")
    notes = _left_out(groups, class_names, spec)
    align(tasks)  # what cannot be learned by one network is refused before anything is done to it
    if any(set(a.own_classes).isdisjoint(b.own_classes) for a, b in itertools.combinations(tasks, 2)):
        tasks = list(share_labels(tasks))
        notes.append("tasks have no class in common: the first class of each shares a label, and so on")
    if tasks[0].inputs.dtype != np.uint8:
        tasks = _standardized(tasks)
        notes.append("features were brought to mean 0 and standard deviation 1 over all tasks")
    return TaskFiles(align(tasks), tuple(notes), tuple(groups), class_names)


def _left_out(groups: Sequence[Sequence[int]], class_names: Sequence[str], spec: TaskSpec) -> list[str]:
    """A note on the last classes, where their number cannot be cut into equal tasks; groups that were listed are as
    they should be."""
    rest = class_names[sum(map(len, groups)) :]
    if spec.tasks or not rest:
        return []
    few = f"{len(class_names)} classes cannot be cut into tasks of {spec.classes_per_task}"
    return [f"{few}: in no task {'is' if len(rest) == 1 else 'are'} {', '.join(rest[:12])}"]


def _whole(data: Dataset, name: str) -> Task:
    """All rows of a data set, with the names of its classes."""
    return Task(name, data.train_inputs, [data.class_names[label] for label in data.train_labels])


def _same_columns(paths: Sequence[Path]) -> None:
    """Refuse tables whose header lines differ: features would be mixed up."""
    tables = [(path, column_names(path)) for path in paths if path.suffix.lower() in (".csv", ".tsv")]
    for path, columns in tables:
        first, first_columns = tables[0]
        if columns and first_columns and columns != first_columns:
            rule = f"have the columns of {first} ({', '.join(first_columns[:12])}) in that order"
            raise refusal(path, rule, ", ".join(columns[:12]), "Name and order them alike.")


def _by_classes(data: Dataset, spec: TaskSpec) -> tuple[list[Task], list[tuple[int, ...]]]:
    """The tasks, and the ids of the classes of each."""
    groups = spec.tasks
    if not groups:
        size = spec.classes_per_task
        if size < 2 or data.num_classes < 2 * size:
            raise BadArgument(
                f"`classes_per_task` must give at least two tasks of two classes, got {size} of {data.num_classes} "
                "classes. List the ",
                "tasks",
                ", or name the ",
                "column",
                " that tells them apart.",
            )
        cut = [data.class_names[begin : begin + size] for begin in range(0, data.num_classes - size + 1, size)]
        groups = {"-".join(group): group for group in cut}
    tasks, classes = [], []
    for name, group in groups.items():
        if len(set(group)) < max(2, len(group)):
            got = ", ".join(map(repr, group)) or "none"
            raise BadArgument(f"`tasks` must give task {name!r} two different classes or more, got {got}.")
        for class_name in group:
            if class_name not in data.class_names:
                known = ", ".join(data.class_names[:12])
                raise BadArgument(
                    f"`tasks` must list classes of {data.name} ({known}), got {class_name!r} in task {name!r}."
                    f"{did_you_mean(class_name, data.class_names)}"
                )
        class_ids = [data.class_names.index(class_name) for class_name in group]
        rows = np.flatnonzero(np.isin(data.train_labels, class_ids))
        label_of = {class_id: label for label, class_id in enumerate(class_ids)}
        labels = [label_of[label] for label in data.train_labels[rows].tolist()]
        tasks.append(Task(name, data.train_inputs[rows], labels))
        classes.append(tuple(class_ids))
    return tasks, classes


def _by_column(path: Path, column: str) -> list[Task]:
    """One task for each value of a column; the rest of the table is read as any other."""
    if path.suffix.lower() not in (".csv", ".tsv"):
        raise BadArgument(f"`column` must come with a CSV or TSV file, got {path}.")
    return [_whole(data, value) for value, data in read_feature_tables(path, column).items()]


def _standardized(tasks: Sequence[Task]) -> list[Task]:
    whole: NDArray[Any] = np.concatenate([task.inputs for task in tasks]).astype(np.float64)
    mean, spread = whole.mean(axis=0), whole.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return [replace(task, inputs=((task.inputs - mean) / spread).astype(np.float32)) for task in tasks]
