"""A similarity matrix as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from taskorder.checks import counted, square_matrix
from taskorder.given_table import GivenTable
from taskorder.parsing import json_values
from taskorder.tables._names import checked_names
from taskorder.tables.input_files import Refusal, refusal

_JSON_FORMS = '[[1, 0.5], [0.5, 1]] or {"names": [...], "similarity": [[...]]} or {"A": {"A": 1, "B": 0.5}, ...}'


def parse_json(text: str, label: str, max_tasks: int) -> GivenTable:
    """A JSON table in one of its three forms; null, or a name that a row leaves out, stands for a missing number."""

    def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(mapping := dict(pairs)) < len(pairs):
            last = {key: place for place, (key, _) in enumerate(pairs)}
            twice = next(key for place, (key, _) in enumerate(pairs) if last[key] != place)
            raise refusal(label, "be JSON with unique names", f"{twice[:40]!r} more than once", "")
        return mapping

    try:
        data = json_values(text, object_pairs_hook=unique_keys, parse_int=float)  # int refuses thousands of digits
    except Refusal:
        raise
    except json.JSONDecodeError as problem:
        got = f"{problem.msg} on line {problem.lineno}, column {problem.colno}"
        raise refusal(label, "be JSON", got, f"Expected {_JSON_FORMS}.") from None
    except ValueError as problem:
        raise refusal(label, "be a JSON table", str(problem), f"Expected {_JSON_FORMS}.") from None
    names = None
    if isinstance(data, dict) and isinstance(data.get("similarity"), list):
        extra = sorted(set(data) - {"names", "similarity"})
        if extra:
            raise ValueError(f"`{label}` must have only the keys names and similarity, got {extra[0][:40]!r} too.")
        data, names = data["similarity"], data.get("names")
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise ValueError(f"`{label}` must give `names` as a list of strings, got {str(names)[:60]!r}.")
    elif isinstance(data, dict) and len(data) <= max_tasks:
        data, names = _from_mapping(data, label)
    if isinstance(data, dict | list) and len(data) > max_tasks:
        raise ValueError(f"`{label}` must hold at most {max_tasks} tasks, got {len(data)}. Plan a subset of them.")
    if not isinstance(data, list) or not data or not all(isinstance(row, list) for row in data):
        raise ValueError(f"`{label}` must hold a table, got something else. Expected {_JSON_FORMS}.")
    if all(len(row) == number for number, row in enumerate(data, start=1)):
        data = [row + [None] * (len(data) - len(row)) for row in data]  # a lower triangle
    values = [_numbers(row, number, len(data[0]), label) for number, row in enumerate(data, start=1)]
    matrix = square_matrix(values, label, missing=True)
    return GivenTable(matrix, None if names is None else checked_names(names, len(matrix), label))


def _from_mapping(data: dict[str, Any], label: str) -> tuple[list[list[Any]], list[str]]:
    names = list(data)
    if "similarity_digest" in data:
        raise ValueError(f"`{label}` must hold a table, got a plan. Read it with: taskorder report {label}.")
    for name, row in data.items():
        if not isinstance(row, dict):
            raise ValueError(f"`{label}` must map every task to its row, got no row at {name[:40]!r}: {_JSON_FORMS}.")
        odd = sorted(set(row) - set(names))
        if odd:
            got = f"{odd[0][:40]!r} in that of {name[:40]!r}"
            raise refusal(label, "name tasks that have rows in every row", got, "")
    return [[data[row].get(column) for column in names] for row in names], names


def _numbers(row: list[Any], number: int, length: int, label: str) -> list[float]:
    if len(row) != length:
        got = f"{counted(len(row), 'cell')} in row {number} where row 1 has {length}"
        raise refusal(label, "have equally long rows", got, "")
    cells = [math.nan if cell is None else cell for cell in row]
    for column, cell in enumerate(cells, start=1):
        if isinstance(cell, bool) or not isinstance(cell, (int, float)) or abs(cell) > 1e300:
            got = f"{str(cell)[:40]!r} at row {number}, column {column}"
            raise refusal(label, "hold finite numbers", got, "")
    return [float(cell) for cell in cells]
