"""Tables with named columns: CSV, TSV, JSON lines and Parquet as a header and rows of cells."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taskorder.costs import megabytes, most_memory, most_unpacked
from taskorder.datasets.dataset import MAX_DATASET_BYTES
from taskorder.parsing import json_values
from taskorder.tables.input_files import file_size, open_lines, printable, refusal, unreadable
from taskorder.tables.separated import is_number, read_rows

SEPARATED, JSON_LINES, PARQUET = (".csv", ".tsv"), (".jsonl", ".ndjson"), (".parquet",)
TABLE_ENDINGS = (*SEPARATED, *JSON_LINES, *PARQUET)
GZIP_ENDING = ".gz"
"""Text may be packed."""
BATCH = 4096
"""Rows of Parquet in memory at a time."""
CELL_WORK, ROW_CELLS = 12, 2
"""Bytes of the budget that a cell of Parquet counts, and the cells that a row counts beside its own: equal values take
hardly any room in a file, and all the same time."""
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
    return table_ending(path) in TABLE_ENDINGS


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
def open_table(path: Path, separator: str = "") -> Iterator[TableFile]:
    """The table in a file, known by the end of its name; a table without rows is refused by who reads it.

    separator: between the cells of separated text, where it cannot be found because there is one column only.
    """
    ending = table_ending(path)
    if ending in PARQUET:
        with _parquet(path) as table:
            yield table
        return
    file_size(path, MAX_DATASET_BYTES)
    with open_lines(path, max_bytes=MAX_DATASET_BYTES) as lines:
        yield _json_lines(path, lines) if ending in JSON_LINES else _separated(path, lines, separator)


def holds_names(cells: Sequence[str], separator: str) -> bool:
    """Whether the first row of separated text holds names: one is `label`, or one of all but the last is no number.

    >>> holds_names(["width", "2"], ","), holds_names(["1.5", "cat"], ","), holds_names(["review"], ",")
    (True, False, True)
    """
    return "label" in map(str.lower, cells) or not all(is_number(cell, separator) for cell in cells[:-1] or cells)


def table_ending(path: Path) -> str:
    """What tells the format, without that of packed text.

    >>> table_ending(Path("customers/acme.CSV.gz"))
    '.csv'
    """
    return Path(path.name.removesuffix(GZIP_ENDING)).suffix.lower()


def _separated(path: Path, lines: Iterator[str], separator: str) -> TableFile:
    separator, rows = read_rows(lines, printable(path), separator=separator)
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
    twice = next((name for name, count in Counter(columns).items() if count > 1), None)
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
            values = json_values(line)
        except ValueError as problem:
            got = "something else" if isinstance(problem, json.JSONDecodeError) else str(problem)
            raise refusal(path, "have a JSON object on each line", f"{got} on line {number}", _KEYS) from None
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
        texts = _checked_parquet(path, parquet.ParquetFile(path))
        # a text that comes often is one object, however long
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            columns = tuple(file.schema_arrow.names)
            batches = (map(_values, batch.columns) for batch in file.iter_batches(BATCH))
            rows = (cells for batch in batches for cells in zip(*batch, strict=True))
            numbered = ((number, list(map(_cell, cells))) for number, cells in enumerate(rows, start=1))
            yield TableFile(path, columns, len(columns), numbered, unit="row")
    except (ArrowException, OSError) as problem:
        reason = " ".join(str(problem).split())[:100].rstrip(".")
        raise refusal(path, "be a whole Parquet file", f"a damaged one ({reason})") from None


def _checked_parquet(path: Path, file: Any) -> list[str]:
    """The columns of text, once the file is found to hold plain columns that do not unpack to too much."""
    from pyarrow import types

    with file:
        kinds = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
        odd = (name for name, kind in kinds.items() if types.is_nested(kind) or types.is_fixed_size_binary(kind))
        nested = next(odd, None)
        if nested is not None:
            got = f"lists or objects in {nested!r}"
            raise refusal(path, "have texts and numbers only", got, "Write one value a column.")
        about, num_bytes = file.metadata, path.stat().st_size
        if about.num_rows * (about.num_columns + ROW_CELLS) * CELL_WORK > most_memory(num_bytes):
            got = f"{about.num_rows} rows of {about.num_columns} columns, most of them alike"
            raise refusal(path, "hold as many values as its size allows", got, "Keep fewer rows or columns.")
        groups = map(about.row_group, range(about.num_row_groups))
        size, most = sum(group.total_byte_size for group in groups), most_unpacked(num_bytes)
        if size > most:
            rule, fix = f"unpack to at most {megabytes(most)} for its size", "Save it without compression."
            raise refusal(path, rule, megabytes(size), fix)
    texts = types.is_string, types.is_large_string, types.is_binary, types.is_large_binary
    return [name for name, kind in kinds.items() if any(is_text(kind) for is_text in texts)]


def _values(column: Any) -> list[Any]:
    """The values of a part of a column."""
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    used = column.indices.unique()
    texts = dict(zip(used.to_pylist(), column.dictionary.take(used).to_pylist(), strict=True))
    return [texts[place] for place in column.indices.to_pylist()]


def _cell(value: Any) -> Any:
    """A number or a text."""
    return "" if value is None else value if isinstance(value, int | float | str) else str(value)
