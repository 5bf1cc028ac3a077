"""Finished runs out of a store, found whole: a store is a file, and files come from other versions and other hands."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from taskorder.runs.settings import SCORES
from taskorder.runs.store import Entry, Store, StoreError


def config_of(entry: Entry) -> str:
    """Kind and settings of a run but for its set and seed, as a text to sort and compare by."""
    others = {key: value for key, value in entry.params.items() if key not in ("set", "seed")}
    return json.dumps([entry.kind, others], sort_keys=True)


def run_result(store: Store, entry: Entry, needed: Sequence[str] = SCORES) -> dict[str, Any]:
    """The result of a finished run, after its parts were found to fit together; it must have the tables `needed`."""
    result = store.result(entry.digest)
    problem = misfit(result, needed)
    if problem:
        raise _damaged(store, f"a run with {problem} (set {entry.params['set']}, seed {entry.params['seed']})")
    assert result is not None  # a misfit, too
    return result


def _damaged(store: Store, found: str) -> StoreError:
    return StoreError(f"`store` must hold runs as `taskorder run` writes them, got {found} in {store.path}.")


def misfit(result: Any, needed: Sequence[str] = SCORES) -> str:
    """What is wrong with a result; empty where nothing is."""
    if not isinstance(result, dict):
        return "no result"
    about = result.get("task_set")
    names = about.get("names") if isinstance(about, dict) else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return "no names of tasks"
    P, ways = len(names), result.get("beginnings")
    if not isinstance(ways, list) or not all(isinstance(way, str) and is_beginning(way, P) for way in ways):
        return "beginnings that are no orders"
    kept = set(ways)
    if len(kept) < len(ways) or any(way.rpartition(".")[0] not in kept for way in ways if way):
        return "beginnings that are missing or doubled"
    if type(result.get("network_steps", 0)) is not int:
        return "no number of steps"
    measured = result.get("similarities", {})
    for name in SCORES if not measured else needed:  # what was not measured is told from the scores
        if not is_table(result.get(name), len(ways), P):
            return f"no {len(ways)} x {P} table of {name}"
    if not isinstance(measured, dict) or not all(_is_measured(tables, P) for tables in measured.values()):
        return "similarities of other shapes"
    return ""


def is_beginning(way: str, num_tasks: int) -> bool:
    """Whether a text is a beginning of an order, like 2.0.1.

    >>> [is_beginning(way, 3) for way in ("", "2.0", "2.2", "3", "02", "x")]
    [True, True, False, False, False, False]
    """
    tasks = way.split(".") if way else []
    known = {str(task) for task in range(num_tasks)}
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
