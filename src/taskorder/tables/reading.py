"""Similarity matrices from and to files: CSV, TSV, other separated text, JSON, NPY and NPZ.

Separated text may have a header row, a name column, both or neither; lines that start with # are comments. Decimal
commas are read where semicolons or tabs separate the cells, and refused elsewhere. Every failure is a ValueError of one
line that names the file, the place and, where one is known, the fix.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import warnings
from collections.abc import Sequence
from importlib import resources
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import MAX_TASKS, Floats, square_matrix, task_index, task_names
from taskorder.files import utf8_text
from taskorder.tables import _arrays, separated
from taskorder.tables._names import checked_names

MAX_BYTES = 256 * 2**20
"""Larger files are refused before they are read; 2000 x 2000 numbers with 17 digits take about 80 MB."""


def read_similarity(
    path_or_stream: str | os.PathLike[str] | IO[Any], *, name: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[Floats, tuple[str, ...] | None]:
    r"""The P x P matrix in a file and its task names (None where the file has none).

    `path_or_stream` is a path, "-" for standard input, or an open stream; `name` is what messages call it. The contents
    decide the format: NPY and NPZ by their first bytes, JSON by its first bracket, all else is separated text.

    >>> import io
    >>> read_similarity(io.StringIO("task,cats,dogs\ncats,1,0.5\ndogs,0.5,1"))
    (array([[1. , 0.5], [0.5, 1. ]]), ('cats', 'dogs'))
    """
    data, label = _read_bytes(path_or_stream, name, max_bytes)
    with (
        warnings.catch_warnings()
    ):  # what numpy thinks of odd headers and huge numbers; the checks below have their say
        warnings.simplefilter("ignore")
        values, names = _parse(data, label, MAX_TASKS)
        matrix = square_matrix(values, label)
    if len(matrix) > MAX_TASKS:
        raise ValueError(f"`{label}` must hold at most {MAX_TASKS} tasks, got {len(matrix)}. Plan a subset of them.")
    return matrix, None if names is None else checked_names(names, len(matrix), label)


def _parse(data: bytes, label: str, max_tasks: int) -> tuple[ArrayLike, Sequence[str] | None]:
    if data.startswith(_arrays.NPY_MAGIC):
        return _arrays.parse_npy(data, label, max_tasks), None
    if data.startswith(_arrays.ZIP_MAGIC):
        return _arrays.parse_npz(data, label, max_tasks)
    text = _decode(data, label)
    if label.lower().endswith(".json") or text.lstrip()[:1] in ("[", "{"):
        return _arrays.parse_json(text, label)
    return separated.parse_delimited(text, label, max_tasks)


def read_weights(text: str, names: Sequence[str], *, max_bytes: int = MAX_BYTES) -> Floats:
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
        cells = separated.split_names(text, label)
        if len(cells) == 1 and "=" not in text and not separated.is_number(text):
            found = "a directory" if os.path.isdir(text) else "no such file"
            raise ValueError(f"`weights` must be numbers, NAME=NUMBER pairs or a file, got {found}: {text[:60]!r}.")
        rows = [[part.strip() for part in cell.rsplit("=", 1)] for cell in cells]
    if any(len(row) != len(rows[0]) or len(row) > 2 for row in rows):
        raise ValueError(f"`{label}` must be all numbers or all NAME=NUMBER pairs, got a mixture in {text[:60]!r}.")
    if not rows or len(rows[0]) == 1:
        if len(rows) != len(names):
            raise ValueError(
                f"`{label}` must hold one number for each of the {len(names)} tasks, got {len(rows)}. "
                "Name the tasks to weigh only some: NAME=NUMBER."
            )
        return np.array([_weight(row[0], label) for row in rows])
    weights = np.ones(len(names))
    seen: set[str] = set()
    for task, number in rows:
        if task in seen:
            raise ValueError(f"`{label}` must name each task once, got {task!r} more than once.")
        seen.add(task)
        weights[task_index(task, names, label)] = _weight(number, label)
    return weights


def _weight_rows(path: str, names: Sequence[str], max_bytes: int) -> tuple[list[list[str]], str]:
    """The lines of a weights file as [number] or [name, number], without a header, and what to call the file."""
    data, label = _read_bytes(path, None, max_bytes, "one weight a line")
    _, rows, separator = separated.read_rows(_decode(data, label), label, 2 * len(names) + 2)
    if separator == " " and all("=" in "".join(row) for row in rows):
        rows = [[" ".join(row)] for row in rows]  # blanks in names or around =
    if all("=" in cell for row in rows for cell in row):
        rows = [[part.strip() for part in cell.rsplit("=", 1)] for row in rows for cell in row]
    if len(rows) > 1 and rows[0][0] not in names and not separated.is_number(rows[0][-1]):
        del rows[0]
    return rows, label


def demo_similarity() -> tuple[Floats, tuple[str, ...]]:
    """The matrix that ships with the package: transfer between 12 CIFAR-100 tasks (see data/README.md).

    >>> matrix, names = demo_similarity()
    >>> matrix.shape, names[0]
    ((12, 12), 'bear-bus')
    """
    source = resources.files("taskorder").joinpath("data", "demo.csv")
    matrix, names = read_similarity(io.BytesIO(source.read_bytes()), name="demo.csv")
    return matrix, task_names(names, len(matrix))


def _read_bytes(
    source: str | os.PathLike[str] | IO[Any], name: str | None, max_bytes: int, content: str = "a similarity matrix"
) -> tuple[bytes, str]:
    """The contents and what to call them; never reads more than `max_bytes`."""
    if isinstance(source, (str, os.PathLike)) and str(source) == "-":
        if sys.stdin is None:
            raise ValueError("`standard input` must be open to read from it, got a closed one. Name a file.")
        source, name = sys.stdin.buffer, name or "standard input"
    if isinstance(source, (str, os.PathLike)):
        shown = _printable(name or os.fspath(source))
        try:
            found = os.stat(source)
            if stat.S_ISDIR(found.st_mode):
                raise ValueError(f"`{shown}` must be a file, got a directory. Name the table inside it.")
            _small_enough(found.st_size, max_bytes, shown)
            with open(source, "rb") as stream:
                data = stream.read(max_bytes + 1)
        except FileNotFoundError:
            raise ValueError(f"`{shown}` must be an existing file, got no such file. Check the path.") from None
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise ValueError(f"`{shown}` must be readable, got: {reason}. Check its permissions and path.") from None
    else:
        shown = _printable(name or str(getattr(source, "name", "the stream")))
        try:
            found_data = source.read(max_bytes + 1)
        except OSError as problem:
            raise ValueError(f"`{shown}` must be readable, got: {problem.strerror}.") from None
        data = found_data.encode("utf-8") if isinstance(found_data, str) else found_data
    _small_enough(len(data), max_bytes, shown)
    if not data.strip():
        raise ValueError(f"`{shown}` must hold {content}, got an empty file.")
    return data, shown


def _small_enough(size: int, max_bytes: int, label: str) -> None:
    if size > max_bytes:
        raise ValueError(
            f"`{label}` must be at most {max_bytes / 2**20:.4g} MB, got at least {size / 2**20:.4g} MB. "
            "Keep only the similarity matrix in it, or save it as NPY."
        )


def _decode(data: bytes, label: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"`{label}` must be UTF-8 text, got UTF-16. Save it as UTF-8.")
    if label.lower().endswith((".npy", ".npz")) or data.startswith(b"\x80"):
        kind = "a pickle" if data.startswith(b"\x80") else "something else"
        raise ValueError(f"`{label}` must be a text table, NPY or NPZ, got {kind}. Save it with numpy.save or savez.")
    if data.startswith(b"SQLite format 3"):
        raise ValueError(f"`{label}` must hold a table, got a store of runs. Read it with: taskorder report {label}.")
    head = data[:4096]
    if b"\0" in head or sum(byte < 32 and byte not in b"\t\n\r\f" for byte in head) > len(head) / 10:
        raise ValueError(f"`{label}` must hold a table, got binary data: not a text table, NPY or NPZ.")
    return utf8_text(data, label)


def _weight(cell: str, label: str) -> float:
    if not separated.is_number(cell) or "," in cell:
        raise ValueError(f"`{label}` must hold numbers, got {cell[:40]!r}. Write 2,1,1 or NAME=2.")
    return float(cell)


def _printable(text: str) -> str:
    return text if text.isprintable() else repr(text)[1:-1]
