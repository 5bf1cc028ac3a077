"""Tasks from files: one a file, one for each value of a column, or groups of classes of a data set.

A class of one task is the class of the same name in another. Of data sets that come with rows to test on, only the rows
to train on become tasks; the others are left for the real run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.checks import MAX_TASKS, Ints
from taskorder.costs import megabytes
from taskorder.datasets import load
from taskorder.datasets.dataset import MAX_DATASET_BYTES
from taskorder.datasets.features import class_numbers, sorted_classes
from taskorder.datasets.roles import REGRESSION, Roles, Wanted
from taskorder.datasets.sources import SOURCES
from taskorder.datasets.table_files import is_table_file, table_name, tables_in
from taskorder.datasets.task_tables import Examples, class_names, numbers_to_predict, read_task_tables, target_of
from taskorder.parsing import toml_values
from taskorder.task import Task, align, share_labels

KEYS = ("tasks", "column", "classes_per_task")
MAX_SPEC_BYTES = 2**20


@dataclass(frozen=True)
class TaskSpec:
    """How to cut data into tasks, by at most one of the first three, and which columns of a table are what."""

    tasks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Classes of each task, by name of the task."""
    column: str | None = None
    """The column of a table that says which task a row belongs to."""
    classes_per_task: int = 2
    """Without groups, so many classes, as they come, make a task."""
    text: tuple[str, ...] = ()
    """Columns of text to learn from; without them, all columns of numbers."""
    label: str | None = None
    """The column of the labels; by default the one called label, else the last one."""
    target: str | None = None
    """classes or regression; by default numbers with fractions are predicted, and all else are classes."""
    by_position: bool = False
    """Whether the first class of every task shares an output, and so on, in the order of a list of classes, else in
    sorted order; by default classes of one name share an output."""


class TaskFiles(NamedTuple):
    """What files hold."""

    tasks: tuple[Task, ...]
    notes: tuple[str, ...]
    """What was done to the tasks."""
    class_groups: tuple[tuple[int, ...], ...] = ()
    """By task: the ids of its classes, which are their positions in `class_names`. Empty where tasks are no groups."""
    class_names: tuple[str, ...] = ()
    """All classes of the data set, where tasks are groups of them."""


class _Whole(NamedTuple):
    """A data set that is cut into groups of classes."""

    name: str
    inputs: Any
    labels: Ints
    class_names: tuple[str, ...]


def read_task_spec(path: str | Path) -> TaskSpec:
    """The spec in a TOML file: a table [tasks] of lists of classes, or column = "...", or classes_per_task = N."""
    try:
        with open(path, "rb") as file:
            values = toml_values(file.read(MAX_SPEC_BYTES + 1), MAX_SPEC_BYTES)
    except OSError as problem:
        raise ValueError(f"`{path}` must be a readable TOML file, got: {problem.strerror}.") from None
    except ValueError as problem:
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
    """The tasks in one data set or table, or one task a file where there are several, or a folder of tables."""
    files = _files(paths)
    groups: list[tuple[int, ...]] = []
    names: tuple[str, ...] = ()
    if len(files) > 1:
        _check_several(files, spec)
    tables = [Path(path) for path in files if is_table_file(Path(path))]
    notes: list[str] = []
    if tables and len(tables) == len(files):
        wanted = Wanted(spec.text, spec.label, spec.column, spec.target)
        found, roles = read_task_tables(tables, wanted)
        target = target_of(found, wanted)
        notes += _column_notes(roles, spec, target)
        if len(files) == 1 and spec.column is None:
            (examples,) = found.values()
            if target == REGRESSION:
                raise BadArgument(
                    f"`column` must name the column that tells tasks apart, got none for {tables[0]}, "
                    "which has no classes."
                )
            tasks, groups, names = _by_classes(_table_data(tables[0], examples), spec)
        else:
            tasks = [_task(name, examples, target) for name, examples in found.items()]
    else:
        _refuse_columns(spec, files)
        data = [load(path) for path in files]
        if len(files) > 1:
            labels = [[each.class_names[label] for label in each.train_labels] for each in data]
            tasks = [
                Task(table_name(Path(path)), each.train_inputs, of_each)
                for path, each, of_each in zip(files, data, labels, strict=True)
            ]
        else:
            whole = _Whole(data[0].name, data[0].train_inputs, data[0].train_labels, tuple(data[0].class_names))
            tasks, groups, names = _by_classes(whole, spec)
    if len(tasks) < 2:
        raise BadArgument(f"`tasks` must be at least two, got {len(tasks)}: there is nothing to order.")
    notes += _left_out(groups, names, spec)
    align(tasks)  # what cannot be learned by one model is refused before anything is done to it
    if spec.by_position and not groups:
        tasks = list(share_labels(tasks))
    if spec.by_position:
        notes.append("labels by position: the first class of each task shares an output, and so on")
    if isinstance(tasks[0].inputs, np.ndarray) and tasks[0].inputs.dtype != np.uint8:
        tasks = _standardized(tasks)
        notes.append("features were brought to mean 0 and standard deviation 1 over all tasks")
    return TaskFiles(align(tasks), tuple(notes), tuple(groups), names)


def _files(paths: Sequence[str | Path]) -> list[str | Path]:
    """The paths, where a folder of tables stands for all of them."""
    if len(paths) == 1 and paths[0] not in SOURCES and Path(paths[0]).is_dir():
        tables = tables_in(Path(paths[0]))
        if tables:
            return list(tables)
    return list(paths)


def _check_several(files: Sequence[str | Path], spec: TaskSpec) -> None:
    names = [table_name(Path(path)) for path in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"`DATA` must be files of different names, got {twice!r} more than once. Rename one.")
    if spec.tasks or spec.column is not None or spec.classes_per_task != TaskSpec().classes_per_task:
        raise BadArgument(
            "`tasks` and ", "column", f" must be left out with several files, got {len(files)}: each is a task."
        )
    mixed = next((path for path in files if is_table_file(Path(path)) != is_table_file(Path(files[0]))), None)
    if mixed is not None:
        raise ValueError(f"`DATA` must be files of one kind, got {files[0]} and {mixed}.")


def _refuse_columns(spec: TaskSpec, files: Sequence[str | Path]) -> None:
    """Options about columns need a table."""
    known = files[0] in SOURCES or Path(files[0]).exists()  # who loads it says that it is nowhere
    for name in ("column", "text", "label", "target"):
        if known and getattr(spec, name):
            raise BadArgument(f"`{name}` must come with a table (CSV, TSV, JSON lines or Parquet), got {files[0]}.")


def _table_data(path: Path, examples: Examples) -> _Whole:
    labels = class_names(examples)
    names = sorted_classes(labels)
    return _Whole(table_name(path), examples.inputs, class_numbers(labels, names), names)


def _task(name: str, examples: Examples, target: str) -> Task:
    if target == REGRESSION:
        return Task(name, examples.inputs, numbers_to_predict(examples), regression=True)
    return Task(name, examples.inputs, class_names(examples))


def _column_notes(roles: Roles, spec: TaskSpec, target: str) -> list[str]:
    """What columns were taken for, where nobody said so."""
    notes = []
    if roles.text:
        unused = f"; not used: {', '.join(roles.unused)}" if roles.unused else ""
        notes.append(f"learned from the text of {', '.join(roles.text)}; labels are {roles.label}{unused}")
    elif spec.label is None and roles.named and roles.label.lower() != "label":
        notes.append(f"labels are the last column, {roles.label}")
    if target == REGRESSION and spec.target is None:
        notes.append(f"{roles.label} holds numbers with fractions, which are predicted (a regression)")
    return notes


def _left_out(groups: Sequence[Sequence[int]], names: Sequence[str], spec: TaskSpec) -> list[str]:
    """A note on the last classes, where their number cannot be cut into equal tasks; groups that were listed are as
    they should be."""
    rest = names[sum(map(len, groups)) :]
    if spec.tasks or not rest:
        return []
    few = f"{len(names)} classes cannot be cut into tasks of {spec.classes_per_task}"
    return [f"{few}: in no task {'is' if len(rest) == 1 else 'are'} {', '.join(rest[:12])}"]


def _by_classes(data: _Whole, spec: TaskSpec) -> tuple[list[Task], list[tuple[int, ...]], tuple[str, ...]]:
    """The tasks, the ids of the classes of each, and the names of all classes."""
    groups = spec.tasks or _equal_groups(data.class_names, spec.classes_per_task)
    number_of = {class_name: number for number, class_name in enumerate(data.class_names)}
    # the rows of each class, so that they are looked for once and not for each task
    ends = np.cumsum(np.bincount(data.labels, minlength=len(number_of)))
    by_class = np.split(np.argsort(data.labels, kind="stable"), ends[:-1])
    tasks: list[Task] = []
    ids, num_bytes = [], 0
    for name, group in groups.items():
        if len(set(group)) < max(2, len(group)):
            got = ", ".join(map(repr, group)) or "none"
            raise BadArgument(f"`tasks` must give task {name!r} two different classes or more, got {got}.")
        for class_name in group:
            if class_name not in number_of:
                known = ", ".join(data.class_names[:12])
                raise BadArgument(
                    f"`tasks` must list classes of {data.name} ({known}), got {class_name!r} in task {name!r}."
                    f"{did_you_mean(class_name, data.class_names)}"
                )
        class_ids = [number_of[class_name] for class_name in group]
        rows = np.sort(np.concatenate([by_class[number] for number in class_ids]))
        num_bytes += len(rows) * _row_bytes(data.inputs)
        if num_bytes > MAX_DATASET_BYTES or len(tasks) == MAX_TASKS:
            got = f"more with task {name!r}"
            raise BadArgument(
                f"`tasks` must be at most {MAX_TASKS} of {megabytes(MAX_DATASET_BYTES)} in all, got {got}."
            )
        named = range(len(group)) if spec.by_position else group
        label_of = dict(zip(class_ids, named, strict=True))
        labels: list[Any] = [label_of[number] for number in data.labels[rows].tolist()]
        tasks.append(Task(name, _taken(data.inputs, rows), labels))
        ids.append(tuple(class_ids))
    return tasks, ids, data.class_names


def _equal_groups(class_names: tuple[str, ...], size: int) -> dict[str, tuple[str, ...]]:
    """So many classes each, as they come."""
    num_classes = len(class_names)
    if size < 2 or num_classes < 2 * size:
        raise BadArgument(
            f"`classes_per_task` must give at least two tasks of two classes, got {size} of {num_classes} classes. "
            "List the ",
            "tasks",
            ", or name the ",
            "column",
            " that tells them apart.",
        )
    if num_classes // size > MAX_TASKS:
        got = f"{num_classes // size} of {num_classes} classes"
        raise BadArgument(f"`classes_per_task` must give at most {MAX_TASKS} tasks, got {got}. Is the label a class?")
    cut = [class_names[begin : begin + size] for begin in range(0, num_classes - size + 1, size)]
    return {"-".join(group): group for group in cut}


def _row_bytes(inputs: Any) -> int:
    """What one more copy of a row takes; texts are not copied."""
    return int(inputs[:1].nbytes) if isinstance(inputs, np.ndarray) else 8


def _taken(inputs: Any, rows: Ints) -> Any:
    return inputs[rows] if isinstance(inputs, np.ndarray) else [inputs[row] for row in rows.tolist()]


def _standardized(tasks: Sequence[Task]) -> list[Task]:
    whole: NDArray[Any] = np.concatenate([task.inputs for task in tasks]).astype(np.float64)
    mean, spread = whole.mean(axis=0), whole.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return [replace(task, inputs=((task.inputs - mean) / spread).astype(np.float32)) for task in tasks]
