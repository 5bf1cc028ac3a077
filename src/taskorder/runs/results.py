"""Finished runs out of a store, found whole: a store is a file, and files come from other versions and other hands."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taskorder.checks import Floats
from taskorder.prefixes import Prefix
from taskorder.runs.specs import shared_settings
from taskorder.runs.store import Entry, Store
from taskorder.runs.store_file import StoreError
from taskorder.strategies import BY_CLASS

SCORES = ("accuracy", "loss", "chance")
"""The tables of a result: a row for each prefix of an order, a column for each task."""
OPTIONAL_SCORES = ("accuracy_seen",)
"""Tables that only runs with all classes in one head have: the accuracy where only classes learned so far compete."""


def score_names(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The tables of the results of runs with these settings.

    >>> score_names({"head": "class"})
    ('accuracy', 'loss', 'chance', 'accuracy_seen')
    """
    return (*SCORES, *OPTIONAL_SCORES) if settings.get("head") == BY_CLASS else SCORES


def config_key(entry: Entry) -> str:
    """Kind and settings of a run but for its set and seed, as a text to sort and compare by."""
    return json.dumps([entry.kind, shared_settings(entry.params)], sort_keys=True)


def run_result(store: Store, entry: Entry, needed: Sequence[str] = SCORES) -> dict[str, Any]:
    """The result of a finished run, after its parts were found to fit together; it must have the tables `needed`."""
    result = store.result(entry.digest)
    problem = misfit(result, needed)
    if problem:
        raise damaged(store, f"a run with {problem} (set {entry.params['set']}, seed {entry.params['seed']})")
    assert result is not None  # a misfit, too
    return result


def damaged(store: Store, problem: str) -> StoreError:
    """The error for a store whose runs do not fit together."""
    return StoreError(f"`store` must hold runs as `taskorder run` writes them, got {problem} in {store.path}.")


def misfit(result: Any, needed: Sequence[str] = SCORES) -> str:
    """What is wrong with a result; empty where nothing is."""
    if not isinstance(result, dict):
        return "no result"
    about = result.get("task_set")
    names = about.get("names") if isinstance(about, dict) else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return "no names of tasks"
    P, prefixes = len(names), result.get("beginnings")
    known = {str(task) for task in range(P)}
    if not isinstance(prefixes, list) or not all(isinstance(text, str) and is_prefix(text, known) for text in prefixes):
        return "prefixes that are no orders"
    distinct = set(prefixes)
    if len(distinct) < len(prefixes) or any(text.rpartition(".")[0] not in distinct for text in prefixes if text):
        return "prefixes that are missing or doubled"
    if type(result.get("network_steps", 0)) is not int:
        return "no number of steps"
    measured = result.get("similarities", {})
    for name in SCORES if not measured else needed:  # what was not measured is told from the scores
        if not is_table(result.get(name), len(prefixes), P):
            return f"no {len(prefixes)} x {P} table of {name}"
    for name in OPTIONAL_SCORES:
        if name in result and not is_table(result[name], len(prefixes), P):
            return f"no {len(prefixes)} x {P} table of {name}"
    if not isinstance(measured, dict) or not all(_is_measured(tables, P) for tables in measured.values()):
        return "similarities of other shapes"
    return ""


def is_prefix(text: str, known: set[str]) -> bool:
    """Whether a text is a prefix of an order of the tasks that are known, like 2.0.1.

    >>> [is_prefix(text, {"0", "1", "2"}) for text in ("", "2.0", "2.2", "3", "02", "x")]
    [True, True, False, False, False, False]
    """
    tasks = text.split(".") if text else []
    return len(set(tasks)) == len(tasks) and known.issuperset(tasks)


def is_table(value: Any, num_rows: int, num_columns: int) -> bool:
    """Whether a JSON value is a table of finite numbers of that size."""
    return (
        isinstance(value, list)
        and len(value) == num_rows
        and all(isinstance(row, list) and len(row) == num_columns for row in value)
        and all(type(cell) in (int, float) and abs(cell) <= sys.float_info.max for row in value for cell in row)
    )


def _is_measured(tables: Any, num_tasks: int) -> bool:
    """Losses and chance, or values."""
    if not isinstance(tables, Mapping) or not ({"loss", "chance"} <= set(tables) or "value" in tables):
        return False
    return all(is_table(table, num_tasks, num_tasks) for table in tables.values())


def prefix_rows(result: Mapping[str, Any]) -> dict[Prefix, int]:
    """The row of every prefix of an order in the tables of a result.

    >>> prefix_rows({"beginnings": ["", "2", "2.0"]})
    {(): 0, (2,): 1, (2, 0): 2}
    """
    return {tuple(map(int, text.split("."))) if text else (): row for row, text in enumerate(result["beginnings"])}


def tables_of(result: Mapping[str, Any]) -> tuple[dict[Prefix, int], dict[str, Floats]]:
    """The row of every prefix, and the (rows, P) tables of a result."""
    return prefix_rows(result), {name: np.array(result[name]) for name in SCORES}
