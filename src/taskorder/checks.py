"""Input checks for the public doors. One message form: `name` must RULE, got VALUE. Then the fix."""

from __future__ import annotations

import hashlib
import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taskorder.arguments import BadArgument, did_you_mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SYMMETRY_TOLERANCE = 1e-8
EIGENVALUE_TOLERANCE = 1e-8
DISTANCES = "Distances are not similarities: 1 - distance often is."
MAX_TASKS = 2000
"""Beyond this a search step takes seconds and the matrices alone several hundred megabytes."""
MAX_COUNT = 2**53
"""Every whole number up to here is a float, too."""


def to_float(value: Any) -> float:
    """A number as a float; nan for what is none, truth values and texts too; infinite where it is too large.

    >>> to_float(3), to_float("3"), to_float(10**400)
    (3.0, nan, inf)
    """
    if isinstance(value, bool | np.bool_ | str | bytes):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(value: Any) -> int | None:
    """A whole number as an int; None for what is none, truth values too."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def counted(number: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def numbers(value: ArrayLike) -> Floats | None:
    """A float64 copy of a table or list of numbers; None for what is none, or holds a number too large for a float."""
    try:
        return np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        return None


def square_matrix(value: ArrayLike, name: str = "similarity", *, missing: bool = False) -> Floats:
    """A float64 copy of a finite, square, nonempty matrix; `missing` allows nan, for a missing number."""
    if isinstance(value, str):
        fix = "Read a file with `read_similarity(path)`: it gives the table and the names."
        raise BadArgument(f"`{name}` must be a square table of numbers, got the text {value[:60]!r}. {fix}")
    matrix = numbers(value)
    if matrix is None:
        raise BadArgument(f"`{name}` must be a square table of numbers, got ragged rows, text or too large a number.")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        shape = " x ".join(map(str, matrix.shape)) or "a single number"
        raise BadArgument(f"`{name}` must be a square P x P matrix, got {shape}.")
    wrong = np.isinf(matrix) if missing else ~np.isfinite(matrix)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise BadArgument(
            f"`{name}` must be finite, got {matrix[row, column]} at row {row + 1}, column {column + 1}. "
            "Fill or drop missing entries first."
        )
    return matrix


def unit_diagonal(matrix: Floats, name: str = "similarity") -> None:
    """Refuse a diagonal that is not one."""
    off = np.abs(np.diagonal(matrix) - 1)
    if off.max() > SYMMETRY_TOLERANCE:
        where = int(off.argmax())
        fix = "A covariance becomes a correlation when divided by both standard deviations."
        raise BadArgument(
            f"`{name}` must have ones on the diagonal, got {matrix[where, where]:.6g} for task {where + 1}. "
            f"{fix if np.diagonal(matrix).any() else DISTANCES}"
        )


def correlation_entries(matrix: Floats, name: str = "similarity") -> None:
    """Refuse a diagonal that is not one and entries past [-1, 1]."""
    unit_diagonal(matrix, name)
    if np.abs(matrix).max() > 1 + SYMMETRY_TOLERANCE:
        row, column = np.unravel_index(np.abs(matrix).argmax(), matrix.shape)
        raise BadArgument(
            f"`{name}` must have entries in [-1, 1], got {matrix[row, column]:.6g} at row {row + 1}, "
            f"column {column + 1}. {DISTANCES}"
        )


def asymmetry(matrix: Floats) -> float:
    """Largest |C - C.T|."""
    return float(np.abs(matrix - matrix.T).max())


def symmetric(matrix: Floats, name: str = "similarity") -> None:
    """Refuse an asymmetric matrix."""
    worst = asymmetry(matrix)
    if worst > SYMMETRY_TOLERANCE:
        raise BadArgument(f"`{name}` must be symmetric, got |C - C.T| up to {worst:.3g}.")


def positive_semidefinite(matrix: Floats, name: str = "similarity") -> None:
    """Refuse a symmetric matrix with a clearly negative eigenvalue."""
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -EIGENVALUE_TOLERANCE * len(matrix):
        raise BadArgument(
            f"`{name}` must be positive semidefinite, got smallest eigenvalue {smallest:.3g}. "
            f"Repair it with nearest_correlation."
        )


def output_similarity(value: ArrayLike | None, num_tasks: int) -> Floats | None:
    """The checked output similarity Co, a correlation matrix; None stands for all ones (one shared readout)."""
    if value is None:
        return None
    matrix = output_entries(value, num_tasks)
    symmetric(matrix, "output")
    matrix = (matrix + matrix.T) / 2
    positive_semidefinite(matrix, "output")
    return matrix


def output_entries(value: ArrayLike, num_tasks: int) -> Floats:
    """Co with ones on the diagonal and entries in [-1, 1], not yet known to be a correlation matrix."""
    matrix = square_matrix(value, "output")
    if len(matrix) != num_tasks:
        raise BadArgument(
            f"`output` must be {num_tasks} x {num_tasks} like `similarity`, got {len(matrix)} x {len(matrix)}."
        )
    correlation_entries(matrix, "output")
    return matrix


def task_weights(value: ArrayLike | None, num_tasks: int) -> Floats:
    """The checked importance weights; all ones by default."""
    if value is None:
        return np.ones(num_tasks)
    weights = numbers(value)
    if weights is None:
        raise BadArgument(f"`weights` must be {num_tasks} numbers, got {value!r}.")
    if weights.shape != (num_tasks,):
        raise BadArgument(f"`weights` must hold one number for each of the {num_tasks} tasks, got {weights.size}.")
    if not (weights <= 1e100).all() or (weights < 0).any() or not (weights > 1e-100).any():
        raise BadArgument(f"`weights` must be at least 0, at most 1e100 and not all 0, got {weights.tolist()}.")
    return weights


def visit_order(value: Iterable[Any], num_tasks: int, name: str = "order") -> Ints:
    """Task indices in [0, P); repeats and omissions are allowed here."""
    order = list(value)
    indices = [task for task in map(whole, order) if task is not None]
    if len(indices) < len(order):
        raise BadArgument(f"`{name}` must list task indices, got {order!r}.")
    bad = [task for task in indices if not 0 <= task < num_tasks]
    if bad:
        raise BadArgument(f"`{name}` must list task indices from 0 to {num_tasks - 1}, got {bad[0]}.")
    return np.array(indices, dtype=np.int64)


def task_names(value: Sequence[str] | None, num_tasks: int, label: str = "`names`") -> tuple[str, ...]:
    """The checked task names; A, B, C, ... by default. `label` is what a message calls them."""
    if value is None:
        if num_tasks <= 26:
            return tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:num_tasks])
        width = len(str(num_tasks))
        return tuple(f"T{i + 1:0{width}d}" for i in range(num_tasks))
    names = tuple(str(name).strip() for name in value)
    if len(names) != num_tasks:
        raise ValueError(f"{label} must name each of the {num_tasks} tasks, got {len(names)} names.")
    if not all(names):
        raise ValueError(f"{label} must not be empty, got a blank name at position {names.index('') + 1}.")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{label} must be unique, got {twice[0]!r} more than once.")
    return names


def some_names(names: Sequence[str]) -> str:
    """The first names of a list, for a message."""
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def task_index(task: Any, names: Sequence[str], option: str) -> int:
    """The index of a task given by name or by index."""
    if isinstance(task, str):
        if task.strip() in names:
            return names.index(task.strip())
        meant = did_you_mean(task, names)
        raise BadArgument(f"`{option}` must name a known task, got {task!r}.{meant} Tasks: {some_names(names)}.")
    return int(visit_order([task], len(names), option)[0])


def is_text(values: NDArray[Any]) -> bool:
    """Whether every character of a numpy array of text is one of Unicode; of others numpy makes broken strings.

    >>> is_text(np.array(["cats"])), is_text(np.array([2**31], dtype=np.uint32).view("U1"))
    (True, False)
    """
    native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("=")))
    return native.size == 0 or native.dtype.itemsize == 0 or int(native.view(np.uint32).max()) <= 0x10FFFF


def seconds_limit(value: float | None, name: str = "time_limit") -> float:
    """A positive time limit; None means no limit."""
    if value is None:
        return math.inf
    seconds = to_float(value)
    if not seconds > 0:
        raise BadArgument(f"`{name}` must be a positive number of seconds, got {value!r}.")
    return seconds


def seed_number(value: int, name: str = "seed") -> int:
    """A nonnegative integer seed; `name` is what the message calls it."""
    seed = whole(value)
    if seed is None or seed < 0:
        raise BadArgument(f"`{name}` must be a nonnegative integer, got {value!r}.")
    return seed


def digest(matrix: Floats) -> str:
    """SHA-256 of a matrix as little-endian float64, row by row."""
    return hashlib.sha256(np.ascontiguousarray(matrix, dtype="<f8").tobytes()).hexdigest()


def positive_count(value: int, name: str = "num_tasks") -> int:
    """A positive integer."""
    count = whole(value)
    if count is None or count < 1:
        raise BadArgument(f"`{name}` must be a positive integer, got {value!r}.")
    if count > MAX_COUNT:
        raise BadArgument(f"`{name}` must be at most 2**53, got {value!r}.")
    return count


def similarity_number(value: float, name: str) -> float:
    """One similarity."""
    similarity = to_float(value)
    if not -1 <= similarity <= 1:
        raise BadArgument(f"`{name}` must be a similarity in [-1, 1], got {value!r}.")
    return similarity


def progress_number(value: float) -> float:
    """The share of its residual that a task loses in training."""
    progress = to_float(value)
    if not 0 < progress < 2:
        raise ValueError(f"`progress` must be above 0 and below 2 (1 is training to convergence), got {value!r}.")
    return progress
