"""Results of training runs from files, DataFrames and lists of records."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from taskorder.audit.columns import ALIASES, MAX_COLUMNS, plain_name
from taskorder.audit.records import PACKED, rows_of_frame, rows_of_json, rows_of_records, unpacked_rows
from taskorder.audit.results import ResultRow, Results, methods_from_rows, only_method
from taskorder.files import utf8_text
from taskorder.tables.input_files import OpenFile, open_file, printable, refusal
from taskorder.tables.separated import read_rows

MAX_RESULTS_BYTES = 2**30
"""Of text, after unpacking."""
MLFLOW_KEYS = ("info", "data", "metrics")
"""Keys of a run as MLflow writes it."""
MAX_JSON_BYTES = 2**26
"""Of JSON, which is read as a whole."""
HEAD_BYTES = 64
"""Bytes in which JSON shows its first bracket."""


def read_results(
    source: Any, where: Mapping[str, str] | None = None, *, columns: Mapping[str, str] | None = None
) -> Results:
    r"""Read the results of training in several orders with several seeds, to be audited.

    A table has a row for each run and task, with the columns order (like 2>0>1, or task names), seed, task and
    accuracy; or a row for each run with one column a task, or with one accuracy. Accuracies are shares or percent.
    Exports of W&B and MLflow runs are such tables, too.

    Parameters
    ----------
    source : path, DataFrame or list of dicts
        Separated text or JSON, plain or in gzip ("-" reads standard input); a pandas or polars DataFrame; or a dict
        for each run. Rows of separated text are read one at a time; only those kept take memory.
    where : mapping from column to value, optional
        Keeps the rows with these values, as in ``{"set": "0"}``.
    columns : mapping, optional
        What the table calls its columns order, seed, method, task, accuracy and state, as in ``{"order": "task_list"}``
        or, with one column a task, ``{"accuracy": "test/{task}"}``. Usual names are known.

    Returns
    -------
    Results
        What `audit_results` takes.

    Raises
    ------
    ValueError
        In one line that names the file, the line and, where one is known, the fix.

    Examples
    --------
    >>> import tempfile
    >>> from taskorder import read_results
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("order,seed,cats,dogs\ncats>dogs,1,80%,90%\n")
    ...     file.flush()
    ...     read_results(file.name).accuracy
    array([[[0.8, 0.9]]])
    """
    return only_method(read_methods(source, where, columns=columns), _label(source))


def read_methods(
    source: Any, where: Mapping[str, str] | None = None, *, columns: Mapping[str, str] | None = None
) -> dict[str, Results]:
    """Read the results of several methods from a table with a column method.

    Parameters
    ----------
    source, where, columns
        As for `read_results`.

    Returns
    -------
    dict from method to Results
        What `audit_methods` takes. A table without a column method has one, called "".

    Examples
    --------
    >>> from taskorder import read_methods
    >>> runs = [{"method": "replay", "order": [0, 1], "seed": 0, "accuracy": 0.8},
    ...         {"method": "plain", "order": [0, 1], "seed": 0, "accuracy": 0.6}]
    >>> sorted(read_methods(runs))
    ['plain', 'replay']
    """
    label = _label(source)
    if hasattr(source, "columns") and (hasattr(source, "itertuples") or hasattr(source, "iter_rows")):
        return methods_from_rows(rows_of_frame(source, label), label, where, columns)
    if isinstance(source, Iterable) and not isinstance(source, (str, os.PathLike)):
        records = [*source]
        if not all(isinstance(record, Mapping) for record in records):
            raise ValueError("`results` must be a path, a DataFrame or a list of dicts, got a list of something else.")
        return methods_from_rows(rows_of_records(records, label), label, where, columns)
    if not isinstance(source, (str, os.PathLike)):
        kind = type(source).__name__
        raise ValueError(f"`results` must be a path, a DataFrame or a list of dicts, got {kind}.")
    if label.lower().endswith((".xlsx", ".xls", ".ods")):
        fix = "Save the sheet as CSV, or give the DataFrame of pandas.read_excel."
        raise refusal(label, "be separated text or JSON", "a workbook", fix)
    with open_file(source) as file:
        return methods_from_rows(_rows(file), label, where, columns, file.num_bytes)


def is_header(cells: Iterable[str]) -> bool:
    """Whether a first row names the columns of results: an order, and what it gave.

    >>> is_header(["params.order", "metrics.avg_acc"]), is_header(["task", "cats", "dogs"])
    (True, False)
    """
    cells = [*cells]
    names = {plain_name(cell) for cell in cells}
    if names.issuperset(PACKED) or names.issuperset(MLFLOW_KEYS):
        return True
    roles = {role for role, aliases in ALIASES.items() if role != "state" and not names.isdisjoint(aliases)}
    return ("order" in roles and len(roles) > 1) or {"seed", "task", "accuracy"} <= roles


def _label(source: Any) -> str:
    """What messages call a source."""
    if not isinstance(source, (str, os.PathLike)):
        return "results"
    return "standard input" if os.fspath(source) == "-" else printable(source)


def _rows(file: OpenFile) -> Iterator[ResultRow]:
    """The rows of a file: JSON by its first bracket, else separated text."""
    if file.stream.peek(HEAD_BYTES)[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        data = file.read(MAX_JSON_BYTES, "Save it as CSV.")
        num_bytes = len(data) if file.num_bytes is None else file.num_bytes
        return rows_of_json(utf8_text(data, file.label), file.label, num_bytes)
    rows = _named_cells(file.lines(MAX_RESULTS_BYTES), file.label)
    head = [*itertools.islice(rows, 1)]
    rows = itertools.chain(head, rows)
    packed = bool(head) and all(head[0][1].get(name, "").startswith("{") for name in PACKED)
    return unpacked_rows(rows, file.label, file.num_bytes) if packed else rows


def _named_cells(lines: Iterator[str], label: str) -> Iterator[ResultRow]:
    """Line number and cells by column of every row below the header."""
    header: list[str] = []
    for line, cells in read_rows(lines, label, max_cells=MAX_COLUMNS)[1]:
        if not any(cells):
            continue
        if not header:
            header = cells
            columns: set[str] = set()
            for name in header:
                if name in columns:
                    raise ValueError(f"`{label}` must name each column once, got {name!r} twice on line {line}.")
                columns.add(name)
        elif len(cells) != len(header):
            got = f"{len(cells)} on line {line}"
            raise refusal(label, f"have {len(header)} cells a row", got, "Fill or drop the row.")
        else:
            yield line, dict(zip(header, cells, strict=True))
