"""Settings of a run from a TOML file."""

from __future__ import annotations

import tomllib
import typing
from pathlib import Path
from typing import Any

from taskorder.checks import number
from taskorder.runs.settings import Config, known_settings, num_random

MAX_BYTES = 100_000
MAX_LETTERS = 40
MOST = {"num_tasks": 1000, "orders": 1_000_000, **dict.fromkeys(("num_sets", "first_set", "num_seeds"), 10_000_000)}
"""A slip of the keyboard must not fill the memory."""
KINDS = {
    str: "a text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple[str, ...]: "a list of texts in quotes",
}


def read_config(path: str | Path) -> Config:
    """The Config that a TOML file describes; keys that it leaves out have their defaults."""
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        values = tomllib.loads(text.decode("utf-8-sig"))
    except FileNotFoundError:
        raise ValueError(f"`config` must be an existing TOML file, got no such file: {path}.") from None
    except OSError as problem:
        raise ValueError(f"`config` must be readable, got {path}: {problem.strerror}.") from None
    except (ValueError, RecursionError) as problem:  # tomllib's errors, and bytes that are no text
        raise ValueError(f"`config` must be a TOML file, got {path}: {problem}.") from None
    if not values:  # a file that was never saved would train the defaults
        raise ValueError(f"`config` must say what to run, got no key in {path}. Start from examples/quick.toml.")
    try:
        return config_of(values)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def config_of(values: dict[str, Any]) -> Config:
    """The Config with these settings.

    >>> config_of({"num_sets": 3, "orders": 20}).orders
    '20'
    """
    known = known_settings()
    for key in values:
        if key not in known:
            raise ValueError(f"`{key}` must be a known key. Known keys: {', '.join(known)}.")
    types = typing.get_type_hints(Config)
    checked = {key: _checked(key, value, types[key]) for key, value in values.items()}
    if len(checked.get("orders", "")) > MAX_LETTERS:  # int refuses thousands of digits
        raise ValueError(f"`orders` must be all, a number, or one like 30+rules, got {len(checked['orders'])} letters.")
    for key, most in MOST.items():
        count = num_random(checked.get(key, "")) if key == "orders" else checked.get(key, 0)
        if count > most:
            raise ValueError(f"`{key}` must be at most {most}, got {str(count)[:20]}.")
    config = Config(**checked)
    if config.num_sets * config.num_seeds > MOST["num_sets"]:
        raise ValueError(f"`num_seeds` must give at most {MOST['num_sets']} runs in all, got {config.num_seeds} a set.")
    return config


def _checked(key: str, value: Any, kind: Any) -> Any:
    if key == "orders" and type(value) is int:  # all, or how many
        return str(value)
    if kind is float and type(value) is int:
        return number(value)
    if kind not in (str, int, float, bool) and isinstance(value, list) and all(type(one) is str for one in value):
        return tuple(value)
    if type(value) is not kind:
        raise ValueError(f"`{key}` must be {KINDS[kind]}, got {value!r}.")
    return value
