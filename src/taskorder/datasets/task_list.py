"""Tasks that a TOML file lists, each with a table of its own:

    text = "review"      # a column, or a list of them; "text" where it is left out
    label = "stars"      # left out: texts without labels, for a language model

    [tasks]
    films = "films.jsonl"
    books = "books.csv"

Paths are seen from the folder of the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.datasets.dataset import MAX_DATASET_BYTES
from taskorder.datasets.roles import CLASSES, Wanted
from taskorder.datasets.table_files import SEPARATED, is_table_file, open_table, table_ending
from taskorder.datasets.task_files import TaskFiles, TaskSpec, read_tasks
from taskorder.datasets.task_tables import class_names, read_task_tables
from taskorder.parsing import toml_values
from taskorder.tables.input_files import open_lines, printable, refusal
from taskorder.task import Task, align, share_labels

LIST_ENDING = ".toml"
MAX_LIST_BYTES = 100_000
LIST_KEYS = ("text", "label", "tasks")
LIST_EXAMPLE = 'Write text = "review", label = "stars", and below [tasks] one line a task, like films = "films.jsonl".'


def read_data(paths: Sequence[str | Path], spec: TaskSpec) -> TaskFiles:
    """The tasks in one list of tables, or in what `read_tasks` reads."""
    if len(paths) != 1 or Path(paths[0]).suffix.lower() != LIST_ENDING:
        return read_tasks(paths, spec)
    for name in ("column", "tasks", "target"):
        if getattr(spec, name):
            raise BadArgument(f"`{name}` must be left out with a list of tasks, got it with {paths[0]}.")
    return read_task_list(Path(paths[0]), spec)


def read_task_list(path: Path, spec: TaskSpec = TaskSpec()) -> TaskFiles:  # noqa: B008 (frozen)
    """The tasks in the tables that a list names; what the spec says of columns goes first."""
    values = _values(path)
    text = spec.text or values["text"]
    label = spec.label or values["label"]
    files = {name: path.parent / file for name, file in values["tasks"].items()}
    if label is None:
        tasks = [Task(name, _texts(file, text)) for name, file in files.items()]
        notes = [f"texts of {', '.join(text)} without labels, for a language model"]
    else:
        tasks = [_labeled(name, file, text, label) for name, file in files.items()]
        notes = [f"learned from the text of {', '.join(text)}; labels are {label}"]
    if spec.by_position:
        tasks = list(share_labels(tasks))
        notes.append("labels by position: the first class of each task shares an output, and so on")
    return TaskFiles(align(tasks), tuple(notes))


def _values(path: Path) -> dict[str, Any]:
    """What the list says."""
    try:
        with open(path, "rb") as file:
            values = toml_values(file.read(MAX_LIST_BYTES + 1), MAX_LIST_BYTES)
    except OSError as problem:
        raise ValueError(f"`{path}` must be a readable TOML file, got: {problem.strerror}.") from None
    except ValueError as problem:
        raise ValueError(f"`{path}` must be a TOML file, got: {problem}. {LIST_EXAMPLE}") from None
    strange = next((key for key in values if key not in LIST_KEYS), None)
    if strange is not None:
        meant = did_you_mean(strange, LIST_KEYS)
        raise refusal(path, f"have the keys {', '.join(LIST_KEYS)}", repr(strange), f"{LIST_EXAMPLE}{meant}")
    tasks, text, label = values.get("tasks"), values.get("text", "text"), values.get("label")
    if not isinstance(tasks, dict) or len(tasks) < 2:
        got = "none" if not isinstance(tasks, dict) else str(len(tasks))
        raise refusal(path, "list at least two tasks", got, LIST_EXAMPLE)
    text = (text,) if isinstance(text, str) else tuple(text) if isinstance(text, list) else ()
    if not text or not all(isinstance(name, str) for name in text) or not isinstance(label, str | None):
        raise refusal(path, "name the columns of text and label", f"{values.get('text')!r}, {label!r}", LIST_EXAMPLE)
    odd = next((name for name, file in tasks.items() if not isinstance(file, str)), None)
    if odd is None:
        odd = next((name for name, file in tasks.items() if not is_table_file(Path(file))), None)
    if odd is not None:
        rule = "name a table (CSV, TSV, JSON lines or Parquet) for each task"
        raise refusal(path, rule, f"{tasks[odd]!r} for {odd!r}", LIST_EXAMPLE)
    return {"tasks": tasks, "text": text, "label": label}


def _labeled(name: str, file: Path, text: tuple[str, ...], label: str) -> Task:
    found, _ = read_task_tables([file], Wanted(text, label, target=CLASSES))
    (examples,) = found.values()
    return Task(name, examples.inputs, class_names(examples))


def _only_separator(file: Path, columns: tuple[str, ...]) -> str:
    """A comma for separated text whose first line is the name of the only column; else nothing, for it can be found."""
    if table_ending(file) not in SEPARATED:
        return ""
    with open_lines(file, max_bytes=MAX_DATASET_BYTES) as lines:
        return "," if next(lines, "").strip().strip('"') == columns[0] and len(columns) == 1 else ""


def _texts(file: Path, columns: tuple[str, ...]) -> list[str]:
    """The texts of a table, that of several columns one below the other."""
    texts, size = [], 0
    with open_table(file, _only_separator(file, columns)) as table:
        missing = next((name for name in columns if name not in table.columns), None)
        if missing is not None:
            known = ", ".join(table.columns[:12]) or "(none)"
            meant = did_you_mean(missing, table.columns)
            raise refusal(file, f"have the column {missing!r}", known, f"Name another one as text.{meant}")
        places = [table.columns.index(name) for name in columns]
        for number, cells in table.rows:
            text = "\n".join(str(cells[place]) for place in places)
            if not text.strip():
                raise refusal(file, "have a text in each row", f"none on {table.unit} {number}", "Drop the row.")
            size += len(text)
            if size > MAX_DATASET_BYTES:
                raise refusal(file, f"take at most {MAX_DATASET_BYTES / 2**20:.4g} MB", "more", "Keep fewer rows.")
            texts.append(text)
    if not texts:
        raise refusal(printable(file), "have rows of text", "none", "Write one row a line.")
    return texts
