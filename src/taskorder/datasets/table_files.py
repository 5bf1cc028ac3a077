"""Tables with named columns: CSV, TSV, JSON lines and Parquet as a header and rows of cells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taskorder.datasets.dataset import MAX_DATASET_BYTES
from taskorder.tables.input_files import file_size, open_lines, printable, refusal, unreadable
from taskorder.tables.separated import is_number, read_rows

SEPARATED, JSON_LINES, PARQUET = (".csv", ".tsv"), (".jsonl", ".ndjson"), (".parquet",)
TABLE_ENDINGS = (*SEPARATED, *JSON_LINES, *PARQUET)
GZIP_ENDING = ".gz"
"""Text may be packed."""
BATCH = 4096
"""Rows of Parquet in memory at a time."""
_KEYS = 'Write one object a line, like {"text": "...", "label": "..."}.'


@dataclass(frozen=True)
class TableFile:
    """The columns of a table, and its rows as they are read."""

    path: Path
    columns: tuple[str, ...]
    """In the order of the file; empty where the first line of separated text holds no names."""
    width: int
    """How many cells a row has."""
    rows: Iterator[tuple[int, list[Any]]]
    """The number of the line (of the row in Parquet) and the cells; what is missing is an empty text."""
    separator: str = ""
    """Between the cells of separated text: it tells decimal commas."""
    unit: str = "line"
    """What the numbers of rows count."""


def is_table_file(path: Path) -> bool:
    """Whether a file has the name of a table."""
    return _ending(path) in TABLE_ENDINGS


def tables_in(folder: Path) -> list[Path]:
    """The tables in a folder, by name."""
    try:
        files = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
    except OSError as problem:
        raise unreadable(folder, problem) from None
    return sorted(filter(is_table_file, files))


def table_name(path: Path) -> str:
    """What a task out of this file is called.

    >>> table_name(Path("customers/acme.csv.gz"))
    'acme'
    """
    return Path(path.name.removesuffix(GZIP_ENDING)).stem


@contextmanager
def open_table(path: Path) -> Iterator[TableFile]:
    """The table in a file, known by the end of its name; a table without rows is refused by who reads it."""
    ending = _ending(path)
    if ending in PARQUET:
        with _parquet(path) as table:
            yield table
        return
    file_size(path, MAX_DATASET_BYTES)
    with open_lines(path, max_bytes=MAX_DATASET_BYTES) as lines:
        yield _json_lines(path, lines) if ending in JSON_LINES else _separated(path, lines)


def holds_names(cells: Sequence[str], separator: str) -> bool:
    """Whether the first row of separated text holds names: one is `label`, or one of all but the last is no number.

    >>> holds_names(["width", "2"], ","), holds_names(["1.5", "cat"], ",")
    (True, False)
    """
    return "label" in map(str.lower, cells) or not all(is_number(cell, separator) for cell in cells[:-1])


def _ending(path: Path) -> str:
    return Path(path.name.removesuffix(GZIP_ENDING)).suffix.lower()


def _separated(path: Path, lines: Iterator[str]) -> TableFile:
    separator, rows = read_rows(lines, printable(path))
    number, first = next(rows, (0, []))
    width = len(first)
    header = bool(first) and holds_names(first, separator)

    def checked() -> Iterator[tuple[int, list[Any]]]:
        if first and not header:
            yield number, first
        for line, cells in rows:
            if len(cells) != width:
                got = f"{len(cells)} on line {line}"
                fix = "Fill or drop the row; quote cells that hold separators."
                raise refusal(path, f"have {width} cells in each row", got, fix)
            yield line, list(cells)

    columns = tuple(first) if header else ()
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise refusal(path, "have columns of different names", f"{twice!r} more than once", "Rename one.")
    return TableFile(path, columns, width, checked(), separator)


def _json_lines(path: Path, lines: Iterator[str]) -> TableFile:
    objects = _objects(path, lines)
    number, first = next(objects, (0, {}))
    columns = tuple(first)

    def rows() -> Iterator[tuple[int, list[Any]]]:
        if first:
            yield number, list(first.values())
        for line, values in objects:
            strange = next((key for key in values if key not in first), None)
            if strange is not None:
                got = f"{strange!r} on line {line}"
                raise refusal(path, "have no other keys than on its first line", got, "Write all keys on the first.")
            yield line, [values.get(column, "") for column in columns]

    return TableFile(path, columns, len(columns), rows())


def _objects(path: Path, lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and the object of each line; null is an empty text."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise refusal(path, "have a JSON object on each line", f"something else on line {number}", _KEYS) from None
        if not isinstance(values, dict) or not values:
            raise refusal(path, "have a JSON object on each line", f"something else on line {number}", _KEYS)
        nested = next((key for key, value in values.items() if isinstance(value, list | dict)), None)
        if nested is not None:
            got = f"a list or an object in {nested!r} on line {number}"
            raise refusal(path, "have texts and numbers only", got, "Write one value a key.")
        yield number, {key: _cell(value) for key, value in values.items()}


@contextmanager
def _parquet(path: Path) -> Iterator[TableFile]:
    file_size(path, MAX_DATASET_BYTES)
    if find_spec("pyarrow") is None:
        fix = 'Install it with: pip install "taskorder[parquet]".'
        raise refusal(path, "be read with pyarrow", "no such package", fix)
    from pyarrow import ArrowException, parquet  # type: ignore[import-untyped,unused-ignore]

    try:
        with parquet.ParquetFile(path) as file:
            columns = tuple(file.schema_arrow.names)
            batches = (batch for batch in file.iter_batches(BATCH))
            rows = (cells for batch in batches for cells in zip(*(c.to_pylist() for c in batch.columns), strict=True))
            numbered = ((number, list(map(_cell, cells))) for number, cells in enumerate(rows, start=1))
            yield TableFile(path, columns, len(columns), numbered, unit="row")
    except (ArrowException, OSError) as problem:
        reason = " ".join(str(problem).split())[:100].rstrip(".")
        raise refusal(path, "be a whole Parquet file", f"a damaged one ({reason})") from None


def _cell(value: Any) -> Any:
    """A number or a text."""
    return "" if value is None else value if isinstance(value, int | float | str) else str(value)
