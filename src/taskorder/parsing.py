"""JSON, TOML and Python literals that others wrote, parsed once it is known that their values fit into the budget.

A byte of JSON can become thirty of Python objects, and a line of TOML with n dots asks for n^2 of them. What is wrong
is a ValueError whose text says what was got, for the message of who reads the file. The budget: taskorder/costs.py.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from taskorder.costs import megabytes, most_memory

JSON_COSTS = {"[": 104, "{": 200, ":": 48, ",": 40, '"': 32}
"""About the bytes that CPython takes for a list, a dict, a key in it, a number in a list, and half a text."""
LITERAL_COSTS = {"[": 1000, "(": 1000, "{": 2000, ":": 500, ",": 1000}
"""The same for Python literals, which become a syntax tree first."""
MOST_DEPTH = 100
"""Lists in lists: readers that go down into them have Python's stack."""
MOST_PREFIXES = 4_000_000
"""Parts of all beginnings of dotted keys in TOML, which tomllib keeps."""

# Text between quotes, and one without an end up to where it must end: so both take one pass.
_JSON_TEXT = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_TOML_TEXT = re.compile(r"\"[^\"\\\n]*+(?:\\.?[^\"\\\n]*+)*+(?:\"|$)|'[^'\n]*+(?:'|$)", re.MULTILINE)


def json_values(
    text: str | bytes,
    *,
    num_bytes: int | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_int: Callable[[str], Any] | None = None,
) -> Any:
    """The values in a JSON text, with the hooks of `json.loads`.

    num_bytes: the size of the file, where it is packed.

    >>> json_values("[1, 2]")
    [1, 2]
    >>> json_values("[" * 101 + "]" * 101)
    Traceback (most recent call last):
    ...
    ValueError: more than 100 lists or objects in one another
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    _refuse_cost(text, JSON_COSTS, len(text) if num_bytes is None else num_bytes)
    if text.count("[") + text.count("{") > MOST_DEPTH and _depth(text) > MOST_DEPTH:
        raise ValueError(f"more than {MOST_DEPTH} lists or objects in one another")
    return json.loads(text, object_pairs_hook=object_pairs_hook, parse_int=parse_int)


def toml_values(data: bytes, most_bytes: int) -> dict[str, Any]:
    """The values in a TOML file.

    >>> toml_values(b"a = 1", 100)
    {'a': 1}
    >>> toml_values(b"a." * 3000 + b"b = 1", 10_000)
    Traceback (most recent call last):
    ...
    ValueError: dotted keys of too many parts
    """
    if len(data) > most_bytes:
        raise ValueError(f"it has more than {most_bytes} bytes")
    text = data.decode("utf-8-sig")
    # A text of several lines may end in what looks like the beginning of another one: then all dots count.
    plain = text if '"""' in text or "'''" in text else _TOML_TEXT.sub("", text)
    dots = [line.count(".") for line in plain.split("\n")]
    if max(dots) * (sum(dots) + len(dots)) > MOST_PREFIXES:
        raise ValueError("dotted keys of too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("too many lists or tables in one another") from None


def literal_values(text: str) -> Any:
    """The values in a Python literal.

    >>> literal_values("(1, 'two')")
    (1, 'two')
    """
    _refuse_cost(text, LITERAL_COSTS, len(text))
    try:
        return ast.literal_eval(text)
    except (SyntaxError, TypeError, RecursionError, MemoryError):
        raise ValueError("no literal") from None


def _refuse_cost(text: str, costs: Mapping[str, int], num_bytes: int) -> None:
    cost = sum(text.count(mark) * size for mark, size in costs.items())
    if cost > most_memory(num_bytes):
        raise ValueError(f"so many small values that they would take {megabytes(cost)}")


def _depth(text: str) -> int:
    """How many lists and objects are in one another."""
    deep = _bracket_depth(text)
    # brackets in texts count for nothing, but to leave them out takes longer
    return deep if deep <= MOST_DEPTH else _bracket_depth(_JSON_TEXT.sub("", text))


def _bracket_depth(text: str) -> int:
    data = np.frombuffer(text.encode("ascii", "replace"), np.uint8)
    folded = data & 0b1101_1111  # braces as brackets
    opens, closes = folded == ord("["), folded == ord("]")
    steps = opens.astype(np.int8) - closes
    return int(np.cumsum(steps[steps != 0], dtype=np.int32).max(initial=0))
