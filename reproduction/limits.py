"""Limits of the settings of a figure, checked before anything runs."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from typing import Any


def whole(config: Any, least: int, *names: str, most: float = math.inf) -> None:
    """Refuse fields that are no whole numbers, or tuples of them, from `least` to `most`."""
    limits = f"of at least {least}" if most == math.inf else f"from {least} to {most:g}"
    for name in names:
        for value in _entries(config, name):
            if not (_is_whole(value) and least <= value <= most):
                raise ValueError(f"`{name}` must be a whole number {limits}, got {value!r}.")


def between(config: Any, low: float, high: float, *names: str) -> None:
    """Refuse fields that are no numbers, or tuples of them, above `low` and below `high`."""
    limits = f"above {low:g}" + ("" if high == math.inf else f" and below {high:g}")
    for name in names:
        for value in _entries(config, name):
            if not low < value < high:  # false for NaN, too
                raise ValueError(f"`{name}` must be a number {limits}, got {value!r}.")


def known(config: Any, choices: Collection[str], *names: str) -> None:
    """Refuse fields whose entries (the first of each, where it is a tuple) are not among `choices`."""
    for name in names:
        for value in _entries(config, name):
            word = value[0] if isinstance(value, tuple) else value
            if word not in choices:
                raise ValueError(f"`{name}` must name only {', '.join(choices)}, got {word!r}.")


def ascending(config: Any, *names: str) -> None:
    """Refuse tuples that do not rise from entry to entry."""
    for name in names:
        values = _entries(config, name)
        if list(values) != sorted(set(values)):
            raise ValueError(f"`{name}` must rise from entry to entry, got {', '.join(map(str, values))}.")


def descent(config: Any) -> None:
    """Refuse sizes and rates at which gradient descent has nothing to learn, or diverges."""
    whole(config, 1, "num_latent", "num_inputs", "num_outputs", "steps")
    largest = max(_entries(config, "num_inputs"))
    between(config, 0, 2 * config.num_latent / largest, "learning_rate")


def _entries(config: Any, name: str) -> tuple[Any, ...]:
    """The entries of a field; a single value is one entry."""
    value = getattr(config, name)
    if value == ():
        raise ValueError(f"`{name}` must have at least one entry, got none.")
    return value if isinstance(value, tuple) else (value,)


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)
