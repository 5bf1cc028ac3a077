"""Runs as records: JSON of W&B, MLflow and pandas, DataFrames, and lists of dicts, as rows of text cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from taskorder.audit.columns import MAX_COLUMNS, PREFIXES
from taskorder.audit.results import CELL_BYTES, ResultRow
from taskorder.costs import most_memory
from taskorder.parsing import json_values, literal_values
from taskorder.tables.input_files import refusal

MOST_PARSED = 1_000_000
"""Characters of a cell that holds a whole configuration."""
PACKED = ("summary", "config")
"""Columns that hold dicts in the export that W&B shows in its documentation."""
NESTED = ("summary", "config", "summary_metrics", "metrics", "params", "tags", "data", "info")
"""What trackers nest in a run."""


def rows_of_json(text: str, label: str, num_bytes: int) -> Iterator[ResultRow]:
    """The runs in a JSON text: a list of records, pandas' columns, MLflow's answer, or one record a line.

    num_bytes: the size of the file, which may be packed.
    """
    fix = "Save it again, or save it as CSV."
    try:
        data = json_values(text, num_bytes=num_bytes)
    except json.JSONDecodeError:
        try:
            data = [json_values(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise refusal(label, "be JSON", "something else", fix) from None
    except ValueError as problem:
        raise refusal(label, "be JSON of runs", str(problem), fix) from None
    return rows_of_records(_records(data, label, num_bytes), label, num_bytes)


def rows_of_records(
    records: Iterable[Mapping[str, Any]], label: str, num_bytes: int | None = None
) -> Iterator[ResultRow]:
    """Runs as rows with the same columns; what a run does not have is blank.

    num_bytes: the size of the file that the records come from, if they do.
    """
    flat = [_flat(record) for record in records]
    columns = dict.fromkeys(column for record in flat for column in record)
    if len(columns) > MAX_COLUMNS:
        raise refusal(label, f"have at most {MAX_COLUMNS} columns", str(len(columns)), "Keep only those needed.")
    _refuse_cells(len(flat), len(columns), label, num_bytes)
    for number, record in enumerate(flat, start=1):
        yield f"in record {number}", {column: record.get(column, "") for column in columns}


def rows_of_frame(frame: Any, label: str) -> Iterator[ResultRow]:
    """The rows of a pandas or polars DataFrame."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise refusal(label, "name each column once", f"{twice!r} twice", "Rename or drop one.")
    rows = frame.iter_rows() if hasattr(frame, "iter_rows") else frame.itertuples(index=False, name=None)
    return rows_of_records((dict(zip(names, row, strict=True)) for row in rows), label)


def unpacked_rows(rows: Iterable[ResultRow], label: str, num_bytes: int | None) -> Iterator[ResultRow]:
    """Rows of text with the dicts in their columns taken apart."""
    records = ({**cells, **{name: _parsed(cells[name]) for name in PACKED}} for _, cells in rows)
    return rows_of_records(records, label, num_bytes)


def _refuse_cells(num_rows: int, num_columns: int, label: str, num_bytes: int | None) -> None:
    """Refuse records that have little in common: as rows with all columns they are far larger than their file."""
    if num_bytes is not None and num_rows * num_columns * CELL_BYTES > most_memory(num_bytes):
        got = f"{num_rows} records of {num_columns} columns, most of them blank"
        raise refusal(label, "have runs with the same columns", got, "Keep only the columns needed.")


def _parsed(cell: str) -> Any:
    """A dict as Python or JSON write it."""
    if len(cell) > MOST_PARSED:
        return {}
    for parse in (json_values, literal_values):
        try:
            return parse(cell)
        except ValueError:
            continue
    return {}


def _records(data: Any, label: str, num_bytes: int) -> Sequence[Mapping[str, Any]]:
    if isinstance(data, dict):
        columns = list(data.values())
        if isinstance(data.get("runs"), list):  # the answer of MLflow's REST interface
            data = data["runs"]
        elif {"columns", "data"} <= set(data) and isinstance(data["columns"], list):  # pandas' orient="split"
            data = [dict(zip(map(str, data["columns"]), row, strict=False)) for row in data["data"]]
        elif columns and all(isinstance(column, dict) for column in columns):  # pandas' own choice: by column
            keys = dict.fromkeys(key for column in columns for key in column)
            _refuse_cells(len(keys), len(columns), label, num_bytes)
            data = [{name: column.get(key) for name, column in data.items()} for key in keys]
        else:
            data = [data]
    if not isinstance(data, list) or not all(isinstance(record, dict) for record in data):
        raise refusal(label, "hold a list of runs", "something else", 'Save it with to_json(orient="records").')
    return data


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested dicts as one, with dots; the names that users have logged stay as they are."""
    flat: dict[str, str] = {}
    for name, value in record.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            inner = "" if key in NESTED or f"{key}." in PREFIXES else f"{key}."
            for column, cell in _flat(value, inner).items():
                flat.setdefault(column, cell)
        elif isinstance(value, list) and key in ("metrics", "params", "tags") and _is_pairs(value):
            for pair in value:  # MLflow's REST interface
                flat.setdefault(str(pair["key"]), _text(pair["value"]))
        else:
            flat.setdefault(key, _text(value))
    return flat


def _is_pairs(values: Sequence[Any]) -> bool:
    return all(isinstance(pair, dict) and {"key", "value"} <= set(pair) for pair in values)


def _text(value: Any) -> str:
    """A value as it would stand in a file."""
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, (list, tuple)):
        return repr([getattr(part, "item", lambda part=part: part)() for part in value])
    return str(value).strip()
