"""Similarity tables as JSON, NPY and NPZ. Sizes are checked before memory is taken, and pickles are never opened."""

from __future__ import annotations

import io
import json
import zipfile
from typing import IO, Any

import numpy as np

from taskorder.checks import is_text
from taskorder.tables.separated import counted

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")

_JSON_FORMS = '[[1, 0.5], [0.5, 1]] or {"names": [...], "similarity": [[...]]} or {"A": {"A": 1, "B": 0.5}, ...}'
_PICKLE = "got Python objects (a pickle), which can run code when opened. Save plain numbers and string names instead."


def parse_json(text: str, label: str) -> tuple[list[list[float]], list[str] | None]:
    """The rows and names of a JSON table in one of its three forms."""

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"`{label}` must be JSON with unique names, got {twice[:40]!r} more than once.")
        return found

    try:
        data = json.loads(text, object_pairs_hook=object_of, parse_int=float)  # int refuses thousands of digits
    except json.JSONDecodeError as problem:
        raise ValueError(
            f"`{label}` must be JSON, got {problem.msg} on line {problem.lineno}, column {problem.colno}. "
            f"Expected {_JSON_FORMS}."
        ) from None
    except RecursionError:
        raise ValueError(f"`{label}` must be a JSON table, got too deep a nesting. Expected {_JSON_FORMS}.") from None
    names = None
    if isinstance(data, dict) and isinstance(data.get("similarity"), list):
        extra = sorted(set(data) - {"names", "similarity"})
        if extra:
            raise ValueError(f"`{label}` must have only the keys names and similarity, got {extra[0][:40]!r} too.")
        data, names = data["similarity"], data.get("names")
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise ValueError(f"`{label}` must give `names` as a list of strings, got {str(names)[:60]!r}.")
    elif isinstance(data, dict):
        data, names = _from_mapping(data, label)
    if not isinstance(data, list) or not data or not all(isinstance(row, list) for row in data):
        raise ValueError(f"`{label}` must hold a table, got something else. Expected {_JSON_FORMS}.")
    return [_json_row(row, place, len(data[0]), label) for place, row in enumerate(data, start=1)], names


def _from_mapping(data: dict[str, Any], label: str) -> tuple[list[list[Any]], list[str]]:
    names = list(data)
    if "similarity_digest" in data:
        raise ValueError(f"`{label}` must hold a table, got a plan. Read it with: taskorder report {label}.")
    for name, row in data.items():
        if not isinstance(row, dict):
            raise ValueError(f"`{label}` must map every task to its row, got no row at {name[:40]!r}: {_JSON_FORMS}.")
        odd = sorted(set(row) ^ set(names))
        if odd:
            raise ValueError(
                f"`{label}` must name the same tasks in every row, got {name[:40]!r} with another {odd[0][:40]!r}."
            )
    return [[data[row][column] for column in names] for row in names], names


def _json_row(row: list[Any], place: int, length: int, label: str) -> list[float]:
    if len(row) != length:
        raise ValueError(
            f"`{label}` must have equally long rows, got {counted(len(row), 'cell')} in row {place} "
            f"where row 1 has {length}."
        )
    for column, cell in enumerate(row, start=1):
        if isinstance(cell, bool) or not isinstance(cell, (int, float)) or not abs(cell) <= 1e300:
            raise ValueError(
                f"`{label}` must hold finite numbers, got {str(cell)[:40]!r} at row {place}, column {column}."
            )
    return [float(cell) for cell in row]


class _Refusal(ValueError):
    """A message of our own, as opposed to one of the many errors that a damaged file causes in numpy and zipfile."""


def parse_npy(data: bytes, label: str, max_tasks: int) -> np.ndarray:
    """The array of an NPY file."""
    try:
        return _read_array(io.BytesIO(data), label, max_tasks, "the array")
    except _Refusal:
        raise
    except Exception as problem:
        raise _damaged(label, problem) from None


def parse_npz(data: bytes, label: str, max_tasks: int) -> tuple[np.ndarray, list[str] | None]:
    """The array `similarity` (or the only array) of an NPZ archive, and `names` where it has them."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            key = _table_key(list(members), label)
            with archive.open(members[key]) as stream:
                table = _read_array(stream, label, max_tasks, key)
            if "names" not in members:
                return table, None
            with archive.open(members["names"]) as stream:
                names = _read_array(stream, label, max_tasks, "names", text=True)
        if names.dtype.kind == "S":
            names = np.char.decode(names, "utf-8")
        if not is_text(names):
            raise _Refusal(f"`{label}` must hold text in names, got characters that are none. Save it again.")
        return table, [str(name) for name in names]
    except _Refusal:
        raise
    except Exception as problem:
        raise _damaged(label, problem) from None


def _table_key(keys: list[str], label: str) -> str:
    tables = [key for key in keys if key != "names"]
    if "similarity" not in keys and len(tables) != 1:
        found = ", ".join(sorted(keys)[:8]) or "no arrays"
        raise _Refusal(
            f"`{label}` must hold an array called similarity, got {_one_line(found)}. "
            "Save it with np.savez(path, similarity=..., names=...)."
        )
    return "similarity" if "similarity" in keys else tables[0]


def _read_array(stream: IO[bytes], label: str, max_tasks: int, key: str, *, text: bool = False) -> np.ndarray:
    """One array, after its header was found to promise a small table of the right kind."""
    start, key = stream.tell(), _one_line(key)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise _Refusal(f"`{label}` must hold plain numbers in {key}, got NPY version {version}. Save a plain array.")
    if dtype.hasobject:
        raise _Refusal(f"`{label}` must be free of pickles, {_PICKLE}")
    if dtype.kind not in ("SU" if text else "fiub") or dtype.itemsize > 4096:
        kind = "text" if text else "real numbers"
        raise _Refusal(f"`{label}` must hold {kind} in {key}, got dtype {_one_line(dtype.str)}.")
    size = " x ".join(map(str, shape)) or "a single number"
    if not text and len(shape) != 2:
        raise _Refusal(f"`{label}` must be a square P x P matrix, got {size}.")
    if len(shape) != (1 if text else 2) or max(shape, default=0) > max_tasks:
        rule = f"at most {max_tasks} names" if text else f"a table of at most {max_tasks} x {max_tasks}"
        raise _Refusal(f"`{label}` must hold {rule} in {key}, got {size}.")
    stream.seek(start)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _damaged(label: str, problem: Exception) -> ValueError:
    reason = _one_line(str(problem) or type(problem).__name__).rstrip(".")
    return ValueError(f"`{label}` must be a whole NPY or NPZ file, got a damaged one: {reason}. Save it again.")


def _one_line(text: str) -> str:
    return repr(text[:120])[1:-1]
