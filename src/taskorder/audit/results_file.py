"""Results of training runs from a file: separated text, plain or in gzip."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from taskorder.audit.results import ResultRow, Results, needed_columns, results_from_rows
from taskorder.tables.input_files import open_lines, printable, refusal
from taskorder.tables.separated import read_rows

MAX_RESULTS_BYTES = 2**30
"""Of text, after unpacking."""


def read_results(path: str | os.PathLike[str], where: Mapping[str, str] | None = None) -> Results:
    r"""Read the results of training in several orders with several seeds, to be audited.

    The file has a header and a row for each run and task, with the columns order (like 2>0>1, or task names), seed,
    task and accuracy. Rows are read one at a time; only those kept take memory.

    Parameters
    ----------
    path : path
        Separated text, plain or in gzip; "-" reads standard input.
    where : mapping from column to value, optional
        Keeps the rows with these values, as in ``{"set": "0"}``.

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
    ...     _ = file.write("order,seed,task,accuracy\n0>1,1,0,0.8\n0>1,1,1,0.9\n")
    ...     file.flush()
    ...     read_results(file.name).accuracy
    array([[[0.8, 0.9]]])
    """
    label = "standard input" if os.fspath(path) == "-" else printable(path)
    with open_lines(path, max_bytes=MAX_RESULTS_BYTES) as lines:
        return results_from_rows(_named_cells(lines, label), label, where)


def _named_cells(lines: Iterator[str], label: str) -> Iterator[ResultRow]:
    """Line number and cells by column of every row below the header."""
    header: list[str] = []
    for line, cells in read_rows(lines, label)[1]:
        if not any(cells):
            continue
        if not header:
            header = [cell.lower() for cell in cells]
            columns: set[str] = set()
            for name in header:
                if name in columns:
                    raise ValueError(f"`{label}` must name each column once, got {name!r} twice on line {line}.")
                columns.add(name)
            needed_columns(header, label)
        elif len(cells) != len(header):
            got = f"{len(cells)} on line {line}"
            raise refusal(label, f"have {len(header)} cells a row", got, "Fill or drop the row.")
        else:
            yield line, dict(zip(header, cells, strict=True))
