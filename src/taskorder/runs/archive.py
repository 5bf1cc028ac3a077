"""All results of a config as two small files for a repository: NAME.csv.gz with the numbers, NAME.json with the rest.

The table has a row for each set, seed, network and task. `table` says where a row comes from: orders, where `network`
is a prefix like 2.0.1, or the name of a similarity, where it is the task that the network has learned. Read back,
the results equal those in the store.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from taskorder.arguments import BadArgument
from taskorder.files import gzip_text, whole_file
from taskorder.runs.index import RunIndex, run_index
from taskorder.runs.results import SCORES, misfit, run_result
from taskorder.runs.specs import KIND, RunSpec, shared_settings
from taskorder.runs.store import Entry, Store
from taskorder.tables.input_files import Refusal, open_lines, printable
from taskorder.tables.separated import read_rows

COLUMNS = (*SCORES, "value")
HEADER = ("set", "seed", "table", "network", "task", *COLUMNS)
ORDERS = "orders"
MAX_ARCHIVE_BYTES = 2**32
"""Largest table that is read, unpacked."""


class Archive(NamedTuple):
    """The description of a table: NAME.json."""

    settings: dict[str, Any]
    """What all its runs share."""
    inputs: str
    device: str
    version: str
    runs: list[dict[str, Any]]
    """set, seed, task_set, network_steps, seconds and finished of each."""

    @property
    def specs(self) -> list[RunSpec]:
        """The specs of its runs."""
        return [RunSpec(KIND, {**self.settings, "set": run["set"], "seed": run["seed"]}) for run in self.runs]


def write_archive(path: Path, store: Store) -> int:
    """Write all runs of a store with one config to `path` (NAME.csv.gz) and NAME.json; how many there are.

    One run at a time is in memory.
    """
    with run_index(store, KIND) as runs:
        first = _alike(runs)
        with whole_file(description_path(path)) as about, whole_file(path) as part:
            archive = Archive(shared_settings(first.params), first.inputs, first.device, first.version, [])
            lines = closing(_write_table(part, store, runs))
            with open(about, "w", encoding="utf-8") as words, lines as described:
                words.write(_compact(archive._asdict()).removesuffix("]}"))
                for number, run in enumerate(described):
                    words.write(f"{',' if number else ''}{_compact(run)}")
                words.write("]}\n")
        return len(runs)


def _alike(runs: RunIndex) -> Entry:
    """The first run; an error where others differ from it in what the archive states once."""
    first = next(iter(runs), None)
    if first is None:
        raise BadArgument("`store` must hold finished runs of `taskorder run`, got none.")
    shared: dict[str, Callable[[Entry], Any]] = {
        "config": lambda entry: shared_settings(entry.params), "data": attrgetter("inputs"),
        "device": attrgetter("device"),
    }  # fmt: skip
    different = {name for entry in runs for name, of in shared.items() if of(entry) != of(first)}
    for name in shared:
        if name in different:
            raise BadArgument(f"`store` must hold runs of one {name}, got several. Use a store of its own for each.")
    return first


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _write_table(path: Path, store: Store, entries: Iterable[Entry]) -> Generator[dict[str, Any]]:
    """Write the numbers; what the description says of each run."""
    with gzip_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for entry in entries:
            result = run_result(store, entry)
            place = {key: entry.params[key] for key in ("set", "seed")}
            writer.writerows([*place.values(), *row] for row in _rows(result))
            about = {"task_set": result["task_set"], "network_steps": result.get("network_steps", 0)}
            yield {**place, **about, "seconds": round(entry.seconds, 3), "finished": entry.finished}


def description_path(path: Path) -> Path:
    """NAME.json of NAME.csv.gz."""
    return path.with_name(path.name.removesuffix(".csv.gz") + ".json")


def read_archive(path: Path) -> Archive:
    """What NAME.json says."""
    try:
        archive = Archive(**json.loads(path.read_text(encoding="utf-8-sig")))
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(f"`{path}` must describe a table of runs, got {problem}.") from None
    texts = archive.inputs, archive.device, archive.version
    if not (isinstance(archive.settings, dict) and isinstance(archive.runs, list) and all(map(_is_run, archive.runs))):
        raise ValueError(f"`{path}` must describe runs by set and seed, got others. Get the file again.")
    if not all(isinstance(text, str) and text.isprintable() for text in texts) or not _is_finite(archive.settings):
        raise ValueError(f"`{path}` must have texts and finite numbers, got others. Get the file again.")
    return archive


def _is_run(run: Any) -> bool:
    return (
        isinstance(run, dict)
        and all(type(run.get(key)) is int for key in ("set", "seed"))
        and type(run.get("seconds")) in (int, float)
        and 0 <= run["seconds"] < 1e15
        and {"task_set", "network_steps"} <= set(run)
    )


def _is_finite(settings: Mapping[str, Any]) -> bool:
    try:
        json.dumps(settings, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def load_archive(path: Path, store: Store) -> int:
    """Put the runs of NAME.json and NAME.csv.gz that the store lacks into it; how many they were."""
    archive = read_archive(path)
    missing = {spec.digest for spec in store.missing(archive.specs)}
    if not missing:
        return 0
    results = _results(path.with_name(f"{path.stem}.csv.gz"), archive)
    for spec, run, result in zip(archive.specs, archive.runs, results, strict=True):
        if spec.digest in missing:
            store.put([spec], [result], run["seconds"], inputs=archive.inputs, device=archive.device)
    return len(missing)


def _rows(result: Mapping[str, Any]) -> Iterator[list[Any]]:
    """table, network, task and its numbers."""
    for row, network in enumerate(result["beginnings"]):
        for task, numbers in enumerate(zip(*(result[name][row] for name in SCORES), strict=True)):
            yield [ORDERS, network, task, *numbers, ""]
    for name, tables in result.get("similarities", {}).items():
        for network, row in enumerate(tables[next(iter(tables))]):
            for task in range(len(row)):
                yield [
                    name,
                    network,
                    task,
                    *(tables[kind][network][task] if kind in tables else "" for kind in COLUMNS),
                ]


def _results(path: Path, archive: Archive) -> list[dict[str, Any]]:
    results: dict[tuple[int, int], dict[str, Any]] = {
        (run["set"], run["seed"]): {
            "task_set": run["task_set"], "network_steps": run["network_steps"],
            "beginnings": [], **{name: [] for name in SCORES}, "similarities": {},
        }
        for run in archive.runs
    }  # fmt: skip
    try:
        with open_lines(path, max_bytes=MAX_ARCHIVE_BYTES) as lines:
            rows = read_rows(lines, printable(path), separator=",")[1]
            if next(rows, (0, []))[1] != list(HEADER):
                raise ValueError("other columns")
            for _, (number, seed, table, network, task, *cells) in rows:
                _put(results[int(number), int(seed)], table, network, int(task), cells)
    except Refusal:
        raise
    except (LookupError, ValueError) as problem:
        raise ValueError(f"`{path}` must be a table written by `taskorder export --whole`, got {problem!r}.") from None
    damage = next(filter(None, map(misfit, results.values())), "")
    if damage or len(results) < len(archive.runs):
        raise ValueError(f"`{path}` must hold whole runs, got {damage or 'one of them twice'}. Get the file again.")
    return list(results.values())


def _put(result: dict[str, Any], table: str, network: str, task: int, cells: Sequence[str]) -> None:
    """Add one row of the file; rows come in the order in which they were written."""
    if table == ORDERS:
        if task == 0:
            result["beginnings"].append(network)
            for name in SCORES:
                result[name].append([])
        for name, cell in zip(SCORES, cells, strict=False):
            result[name][-1].append(float(cell))
        return
    tables = result["similarities"].setdefault(table, {})
    for name, cell in zip(COLUMNS, cells, strict=True):
        if cell:
            rows = tables.setdefault(name, [])
            if task == 0:
                rows.append([])
            rows[-1].append(float(cell))
