"""Frozen records out of plain JSON values, each checked against its type: files may have been edited by hand."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


class Misfit(ValueError):
    """A value that does not have its type; says where."""


def typed(kind: Any, value: Any, where: str = "") -> Any:
    """`value` as `kind`: a record, a tuple, a number that is finite, a text, a truth value, a mapping, or one of
    several.

    >>> typed(tuple[int, ...], [1, 2])
    (1, 2)
    >>> typed(tuple[int, ...], [1, "x"])
    Traceback (most recent call last):
    ...
    taskorder.typed.Misfit: 'x' at [1]
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None and type(None) in parts else typed(parts[0], value, where)
    if is_dataclass(kind):
        return _record(kind, value, where)
    if kind == tuple[float, ...] and isinstance(value, list) and _plain_floats(value):
        return tuple(value)  # a table has millions of these
    if origin is tuple and isinstance(value, list):
        kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else list(parts)
        if len(kinds) == len(value):
            return tuple(
                typed(kind, part, f"{where}[{k}]") for k, (kind, part) in enumerate(zip(kinds, value, strict=True))
            )
    if origin is Mapping and isinstance(value, dict):
        return value
    if kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
        return value if abs(value) < 2**53 else float(value)  # a whole number stays one, so that it is written alike
    if kind in (int, str, bool) and type(value) is kind:
        return value
    if origin is Literal and value in parts:
        return value
    raise Misfit(f"{_short(value)} at {where or 'the top'}")


def _plain_floats(values: list[Any]) -> bool:
    return set(map(type, values)) <= {float} and all(map(math.isfinite, values))


def _record(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise Misfit(f"{_short(value)} at {where or 'the top'}")
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}
    misfits = [f"an unknown key {_short(key)}" for key in value if key not in known]
    misfits += [f"no key {key!r}" for key, field in known.items() if key not in value and field.default is MISSING]
    if misfits:
        raise Misfit(f"{misfits[0]} at {where or 'the top'}")
    inside = f"{where}." if where else ""
    return kind(**{key: typed(hints[key], part, f"{inside}{key}") for key, part in value.items()})


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
