"""All results of a config as two small files for a repository: NAME.csv.gz with the numbers, NAME.json with the rest.

The table has a row for each set, seed, network and task. `table` says where a row comes from: orders, where `network`
is a prefix like 2.0.1, or the name of a similarity, where it is the task that the network has learned. Read back,
the results equal those in the store.

The description has a checksum of itself and one of the table, so that a file that has changed, or another table, is
told from what was written. Older descriptions have none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from taskorder.arguments import BadArgument
from taskorder.costs import most_memory
from taskorder.files import gzip_text, whole_file
from taskorder.parsing import json_values
from taskorder.runs.index import RunIndex, run_index
from taskorder.runs.results import misfit, run_result, score_names
from taskorder.runs.specs import KIND, RunSpec, shared_settings
from taskorder.runs.store import Entry, Store
from taskorder.tables.input_files import Refusal, open_file, printable, unpacks_to_more
from taskorder.tables.separated import read_rows, write_rows

PLACES = ("set", "seed", "table", "network", "task")
ORDERS = "orders"
MAX_DESCRIPTION_BYTES = 2**28
MAX_ARCHIVE_BYTES = 2**32
"""Largest table that is read, unpacked."""
FIRST_BYTES, NEXT_BYTES = 600, 120
"""Memory that the rows of a network take: the first one begins lists."""


class Archive(NamedTuple):
    """The description of a table: NAME.json."""

    settings: dict[str, Any]
    """What all its runs share."""
    inputs: str
    device: str
    version: str
    runs: list[dict[str, Any]]
    """set, seed, task_set, network_steps, seconds and finished of each."""
    table: str = ""
    """SHA-256 of the table's file."""
    checksum: str = ""
    """SHA-256 of the rest of the description."""

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
            head: dict[str, Any] = {
                "settings": shared_settings(first.params), "inputs": first.inputs, "device": first.device,
                "version": first.version,
            }  # fmt: skip
            found = hashlib.sha256()
            lines = closing(_write_table(part, store, runs, _columns(head["settings"])))
            with open(about, "w", encoding="utf-8") as words, lines as described:
                words.write(_compact({**head, "runs": []}).removesuffix("]}"))
                for number, run in enumerate(described):
                    words.write(f"{',' if number else ''}{_compact(run)}")
                    found.update(_canonical(run))
                table = _file_checksum(part)
                found.update(_canonical({**head, "table": table}))
                words.write(f'],"table":"{table}","checksum":"{found.hexdigest()}"}}\n')
        return len(runs)


def archive_checksum(archive: Archive) -> str:
    """That of a description, whatever the layout of its file: of its runs, one after the other, and of the rest."""
    found = hashlib.sha256()
    rest = {key: value for key, value in archive._asdict().items() if key not in ("runs", "checksum")}
    for part in (*archive.runs, rest):
        found.update(_canonical(part))
    return found.hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _file_checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def _columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The numbers of a row: scores, or what was measured otherwise."""
    return *score_names(settings), "value"


def _write_table(
    path: Path, store: Store, entries: Iterable[Entry], columns: Sequence[str]
) -> Generator[dict[str, Any]]:
    """Write the numbers; what the description says of each run."""
    with gzip_text(path) as file:
        write_rows(file, [(*PLACES, *columns)])
        for entry in entries:
            result = run_result(store, entry)
            place = {key: entry.params[key] for key in ("set", "seed")}
            write_rows(file, ([*place.values(), *row] for row in _rows(result, columns)))
            about = {"task_set": result["task_set"], "network_steps": result.get("network_steps", 0)}
            yield {**place, **about, "seconds": round(entry.seconds, 3), "finished": entry.finished}


def description_path(path: Path) -> Path:
    """NAME.json of NAME.csv.gz."""
    return path.with_name(path.name.removesuffix(".csv.gz") + ".json")


def read_archive(path: Path) -> Archive:
    """What NAME.json says."""
    try:
        with open_file(path) as file:
            archive = Archive(**json_values(file.read(MAX_DESCRIPTION_BYTES), num_bytes=file.num_bytes))
    except Refusal:
        raise
    except (TypeError, ValueError) as problem:
        raise ValueError(f"`{path}` must describe a table of runs, got {problem}.") from None
    texts = archive.inputs, archive.device, archive.version, archive.table, archive.checksum
    if not (isinstance(archive.settings, dict) and isinstance(archive.runs, list) and all(map(_is_run, archive.runs))):
        raise ValueError(f"`{path}` must describe runs by set and seed, got others. Get the file again.")
    if not all(isinstance(text, str) and text.isprintable() for text in texts) or not _is_finite(archive.settings):
        raise ValueError(f"`{path}` must have texts and finite numbers, got others. Get the file again.")
    if archive.checksum and archive.checksum != archive_checksum(archive):
        raise ValueError(f"`{path}` must be as it was written, got a file that has changed. Get the file again.")
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
    table = path.with_name(f"{path.stem}.csv.gz")
    results = _results(table, archive)
    if archive.table and archive.table != _file_checksum(table):
        raise ValueError(f"`{table}` must be the table that {path.name} describes, got another. Get both files again.")
    for spec, run, result in zip(archive.specs, archive.runs, results, strict=True):
        if spec.digest in missing:
            store.put([spec], [result], run["seconds"], inputs=archive.inputs, device=archive.device)
    return len(missing)


def _rows(result: Mapping[str, Any], columns: Sequence[str]) -> Iterator[list[Any]]:
    """table, network, task and its numbers."""
    for row, network in enumerate(result["beginnings"]):
        for task, numbers in enumerate(zip(*(result[name][row] for name in columns[:-1]), strict=True)):
            yield [ORDERS, network, task, *numbers, ""]
    for name, tables in result.get("similarities", {}).items():
        for network, row in enumerate(tables[next(iter(tables))]):
            for task in range(len(row)):
                yield [
                    name,
                    network,
                    task,
                    *(tables[kind][network][task] if kind in tables else "" for kind in columns),
                ]


def _results(path: Path, archive: Archive) -> list[dict[str, Any]]:
    columns = _columns(archive.settings)
    results: dict[tuple[int, int], dict[str, Any]] = {
        (run["set"], run["seed"]): {
            "task_set": run["task_set"], "network_steps": run["network_steps"],
            "beginnings": [], **{name: [] for name in columns[:-1]}, "similarities": {},
        }
        for run in archive.runs
    }  # fmt: skip
    try:
        with open_file(path) as file:
            rows = read_rows(file.lines(MAX_ARCHIVE_BYTES), printable(path), separator=",")[1]
            if next(rows, (0, []))[1] != [*PLACES, *columns]:
                raise ValueError("other columns")
            left = most = most_memory(file.num_bytes or 0)
            for _, (number, seed, table, network, task, *cells) in rows:
                _put(results[int(number), int(seed)], table, network, int(task), dict(zip(columns, cells, strict=True)))
                left -= NEXT_BYTES if int(task) else FIRST_BYTES
                if left < 0:
                    raise unpacks_to_more(path, most)
    except Refusal:
        raise
    except (LookupError, ValueError) as problem:
        raise ValueError(f"`{path}` must be a table written by `taskorder export --whole`, got {problem!r}.") from None
    damage = next(filter(None, map(misfit, results.values())), "")
    if damage or len(results) < len(archive.runs):
        raise ValueError(f"`{path}` must hold whole runs, got {damage or 'one of them twice'}. Get the file again.")
    return list(results.values())


def _put(result: dict[str, Any], table: str, network: str, task: int, cells: Mapping[str, str]) -> None:
    """Add one row of the file; rows come in the order in which they were written."""
    if table == ORDERS:
        if task == 0:
            result["beginnings"].append(network)
            for name in list(cells)[:-1]:
                result[name].append([])
        for name in list(cells)[:-1]:
            result[name][-1].append(float(cells[name]))
        return
    tables = result["similarities"].setdefault(table, {})
    for name, cell in cells.items():
        if cell:
            rows = tables.setdefault(name, [])
            if task == 0:
                rows.append([])
            rows[-1].append(float(cell))
