"""Similarity matrices and weights from files: CSV, TSV, other separated text, JSON, NPY, NPZ and workbooks (.xlsx).

Separated text may have a header row, a name column, both or neither; lines that start with # are comments. Decimal
commas are read where semicolons or tabs separate the cells, and refused elsewhere. Every failure is a ValueError of one
line that names the file, the place and, where one is known, the fix.
"""

from __future__ import annotations

import io
import itertools
import logging
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.checks import MAX_TASKS, Floats, is_text, square_matrix, task_index, task_names
from taskorder.files import utf8_text
from taskorder.given_table import GivenTable, checked_kind, completed, given_table
from taskorder.tables._json_table import parse_json
from taskorder.tables._names import checked_names
from taskorder.tables._text_table import parse_text
from taskorder.tables._workbook import is_workbook, read_workbook, split_sheet
from taskorder.tables.arrays import NPY_MAGIC, ZIP_MAGIC, one_line, read_npy, read_npz
from taskorder.tables.input_files import FileOrStream, read_bytes, refusal, refuse_binary, text_lines
from taskorder.tables.separated import is_number, read_rows, split_names
from taskorder.visible import visible

MAX_TABLE_BYTES = 256 * 2**20
"""Larger files are refused before they are read; 2000 x 2000 numbers with 17 digits take about 80 MB."""

_logger = logging.getLogger(__name__)

_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]")


def read_similarity(
    path_or_stream: FileOrStream | Any,
    *,
    name: str | None = None,
    kind: str | None = None,
    sheet: str | None = None,
    max_bytes: int = MAX_TABLE_BYTES,
) -> tuple[Floats, tuple[str, ...] | None]:
    r"""Read a similarity matrix, or any other P x P table, and the names of its tasks.

    The contents decide the format: NPY, NPZ and .xlsx by their first bytes, JSON by its first bracket; everything else
    is separated text. A DataFrame is taken as it is.

    Missing cells (empty, or a word like n/a) of a similarity are filled from the other side of the diagonal, a missing
    diagonal with ones, and what was filled is logged. A transfer table must be complete. Cells like 45 % are shares.

    Parameters
    ----------
    path_or_stream : path, open stream or DataFrame
        "-" reads standard input; "table.xlsx:Sheet2" reads that sheet.
    name : str, optional
        What messages call the table. Default: its path.
    kind : {"similarity", "transfer"}, optional
        What the table holds. By default that is told by what is there of it.
    sheet : str, optional
        The sheet of a workbook. Default: the only one that holds a table.
    max_bytes : int
        Larger files are refused before they are read.

    Returns
    -------
    matrix : (P, P) array of finite floats
    names : tuple of str, or None where the file has none

    Raises
    ------
    ValueError
        In one line that names the file, the place and, where one is known, the fix.

    Examples
    --------
    >>> import io
    >>> from taskorder import read_similarity
    >>> read_similarity(io.StringIO("task,cats,dogs\ncats,1,0.5\ndogs,0.5,1"))
    (array([[1. , 0.5], [0.5, 1. ]]), ('cats', 'dogs'))
    >>> read_similarity(io.StringIO("cats,1\ndogs,50 %,1"))
    (array([[1. , 0.5], [0.5, 1. ]]), ('cats', 'dogs'))
    """
    given, label = read_table(path_or_stream, name=name, sheet=sheet, max_bytes=max_bytes)
    given = completed(given, label, checked_kind(kind))
    for note in given.notes:
        _logger.warning("%s: %s", label, visible(note))
    return given.values, given.names


def read_table(
    source: FileOrStream | Any, *, name: str | None = None, sheet: str | None = None, max_bytes: int = MAX_TABLE_BYTES
) -> tuple[GivenTable, str]:
    """A table as it stands in a file or a DataFrame, where cells may be missing, and what messages call it."""
    if hasattr(source, "to_numpy"):
        label = name or "table"
        given = given_table(source, label)
    else:
        source, sheet = split_sheet(source, sheet)
        data, label = read_bytes(source, name, max_bytes=max_bytes)
        with warnings.catch_warnings():  # numpy's and openpyxl's, of odd headers and numbers, which are checked here
            warnings.simplefilter("ignore")
            given = _parse(data, label, sheet)
    if len(given.values) > MAX_TASKS:
        got = len(given.values)
        raise ValueError(f"`{label}` must hold at most {MAX_TASKS} tasks, got {got}. Plan a subset of them.")
    names = None if given.names is None else checked_names(given.names, len(given.values), label)
    return replace(given, names=names), label


def demo_similarity() -> tuple[Floats, tuple[str, ...]]:
    """Read the matrix that comes with the package: similarities of 12 CIFAR-100 tasks (see data/README.md).

    Returns
    -------
    matrix : (12, 12) array
    names : tuple of str

    Examples
    --------
    >>> from taskorder import demo_similarity
    >>> matrix, names = demo_similarity()
    >>> matrix.shape, names[0]
    ((12, 12), 'bear-bus')
    """
    source = resources.files("taskorder").joinpath("data", "demo.csv")
    matrix, names = read_similarity(io.BytesIO(source.read_bytes()), name="demo.csv")
    return matrix, task_names(names, len(matrix))


def _parse(data: bytes, label: str, sheet: str | None) -> GivenTable:
    if is_workbook(data, label):
        return read_workbook(data, label, sheet, MAX_TASKS, max_bytes=MAX_TABLE_BYTES)
    if sheet is not None:
        raise refusal(label, "be an .xlsx file to have sheets", "another format", "Leave the sheet out.")
    if data.startswith(NPY_MAGIC):
        return GivenTable(square_matrix(read_npy(data, label, _array_problem), label, missing=True))
    if data.startswith(ZIP_MAGIC):
        values, names = _parse_npz(data, label)
        matrix = square_matrix(values, label, missing=True)
        return GivenTable(matrix, None if names is None else checked_names(names, len(matrix), label))
    refuse_binary(data, label)
    if label.lower().endswith((".npy", ".npz")):
        raise refusal(label, "be an NPY or NPZ file", "something else", "Save it with numpy.save or savez.")
    if label.lower().endswith(".json") or _JSON.match(data):
        return parse_json(utf8_text(data, label), label, MAX_TASKS)
    lines = text_lines(io.BufferedReader(io.BytesIO(data)), label, max_bytes=len(data))
    given = parse_text(lines, label, MAX_TASKS)
    return replace(given, values=square_matrix(given.values, label, missing=True))


def _parse_npz(data: bytes, label: str) -> tuple[NDArray[Any], list[str] | None]:
    """The array `similarity` (or the only array), and `names` where there are any."""

    def choose(keys: Sequence[str]) -> list[str]:
        tables = [key for key in keys if key != "names"]
        if "similarity" not in keys and len(tables) != 1:
            got = one_line(", ".join(sorted(keys)[:8])) or "no arrays"
            fix = "Save it with np.savez(path, similarity=..., names=...)."
            raise refusal(label, "hold an array called similarity", got, fix)
        return ["similarity" if "similarity" in keys else tables[0], *(["names"] if "names" in keys else [])]

    table, *rest = read_npz(io.BytesIO(data), label, choose, _array_problem, max_bytes=MAX_TABLE_BYTES).values()
    if not rest:
        return table, None
    names = rest[0]
    try:
        names = np.char.decode(names, "utf-8") if names.dtype.kind == "S" else names
    except UnicodeDecodeError:
        raise refusal(label, "hold UTF-8 text in names", "odd bytes", "Save it again.") from None
    if not is_text(names):
        raise refusal(label, "hold text in names", "characters that are none", "Save it again.")
    return table, [str(name) for name in names]


def _array_problem(key: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    """What is wrong with an array that should be a table, or names where it is called so."""
    is_names = key == "names"
    if dtype.kind not in ("SU" if is_names else "fiub") or dtype.itemsize > 4096:
        return f"hold {'text' if is_names else 'real numbers'} in {key}, got dtype {one_line(dtype.str)}."
    size = " x ".join(map(str, shape)) or "a single number"
    if not is_names and len(shape) != 2:
        return f"be a square P x P matrix, got {size}."
    if len(shape) > 2 - is_names or max(shape, default=0) > MAX_TASKS:
        rule = f"at most {MAX_TASKS} names" if is_names else f"a table of at most {MAX_TASKS} x {MAX_TASKS}"
        return f"hold {rule} in {key}, got {size}."
    return ""


def read_weights(text: str, names: Sequence[str], *, max_bytes: int = MAX_TABLE_BYTES) -> Floats:
    """One weight for each task, from an option value or a file.

    Either one number for each task ("2,1,1"), or NAME=NUMBER pairs ("cats=2,dogs=0.5"; tasks left out weigh 1), or the
    path of a text file with one number, NAME,NUMBER or NAME=NUMBER a line, below a header or not. Names with
    commas go in double quotes.

    >>> read_weights("dogs=3", ["cats", "dogs"])
    array([1., 3.])
    """
    if os.path.exists(text) and not os.path.isdir(text):
        rows, label = _weight_rows(text, names, max_bytes)
    else:
        label = "weights"
        cells = split_names(text, label)
        if len(cells) == 1 and "=" not in text and not is_number(text):
            got = "a directory" if os.path.isdir(text) else "no such file"
            raise BadArgument(f"`weights` must be numbers, NAME=NUMBER pairs or a file, got {got}: {text[:60]!r}.")
        rows = [[part.strip() for part in cell.rsplit("=", 1)] for cell in cells]
    if any(len(row) != len(rows[0]) or len(row) > 2 for row in rows):
        raise BadArgument(f"`{label}` must be all numbers or all NAME=NUMBER pairs, got a mixture in {text[:60]!r}.")
    if not rows or len(rows[0]) == 1:
        if len(rows) != len(names):
            raise BadArgument(
                f"`{label}` must hold one number for each of the {len(names)} tasks, got {len(rows)}. "
                "Name the tasks to weigh only some: NAME=NUMBER."
            )
        return np.array([_weight(row[0], label) for row in rows])
    weights = np.ones(len(names))
    seen: set[str] = set()
    for task, number in rows:
        if task in seen:
            raise BadArgument(f"`{label}` must name each task once, got {task!r} more than once.")
        seen.add(task)
        weights[task_index(task, names, label)] = _weight(number, label)
    return weights


def _weight_rows(path: str, names: Sequence[str], max_bytes: int) -> tuple[list[list[str]], str]:
    """The lines of a weights file as [number] or [name, number], without a header, and what to call the file."""
    data, label = read_bytes(path, max_bytes=max_bytes, content="one weight a line")
    lines = text_lines(io.BufferedReader(io.BytesIO(data)), label, max_bytes=len(data))
    separator, numbered = read_rows(lines, label, max_cells=2 * len(names) + 2, comments=True)
    rows = [cells for _, cells in itertools.islice(numbered, 2 * len(names) + 3)]
    if separator == " " and all("=" in "".join(row) for row in rows):
        rows = [[" ".join(row)] for row in rows]  # blanks in names or around =
    if all("=" in cell for row in rows for cell in row):
        rows = [[part.strip() for part in cell.rsplit("=", 1)] for row in rows for cell in row]
    if len(rows) > 1 and rows[0][0] not in names and not is_number(rows[0][-1]):
        del rows[0]
    return rows, label


def _weight(cell: str, label: str) -> float:
    if not is_number(cell, ","):
        raise BadArgument(f"`{label}` must hold numbers, got {cell[:40]!r}. Write 2,1,1 or NAME=2.")
    return float(cell)
