"""From the name of a figure to its files: run what is missing, write the numbers as JSON, and draw them."""

from __future__ import annotations

import dataclasses
import gzip
import importlib.util
import json
import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reproduction import IMAGES, NAMES, load
from reproduction.claims import FigureData
from taskorder.arguments import BadArgument
from taskorder.files import utf8_text, whole_file
from taskorder.machine import describe
from taskorder.parsing import json_values
from taskorder.runs.archive import load_archive
from taskorder.runs.local import RunReport, run
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.tables.input_files import open_file
from taskorder.typed import typed

STORE = "runs.sqlite"
TABLES = "tables"
"""Results of large runs, written by `taskorder export --whole`, or by figures that keep theirs."""
KEPT = ".runs.json.gz"
MAX_KEPT_BYTES = 2**28


def reproduce(
    name: str,
    folder: str | Path = "reproduction/results",
    *,
    quick: bool = False,
    settings: Mapping[str, str] | None = None,
    again: bool = False,
    partial: bool = False,
    report: RunReport | None = None,
) -> tuple[FigureData, list[Path]]:
    """The figure called `name` and the files that hold it: JSON, PNG and SVG.

    Numbers that are already in `folder` for these settings are drawn, not computed; `again` computes them anew. An
    image figure with `partial` is made from the runs that are there, and says what is missing; nothing is trained. A
    figure that never trains takes up new runs by itself.
    Finished parts of an interrupted run are in the store in `folder`. `settings` changes single settings. Without
    matplotlib there are no pictures.
    """
    source = load(name)
    if partial and (again or name not in IMAGES):
        raise BadArgument("`partial` must come without ", "again", f", with one of: {', '.join(IMAGES)}; got {name}.")
    config = config_of(name, quick, settings or {})
    folder = Path(folder)
    numbers = folder / f"{name}{'-quick' if quick else ''}{'-custom' if settings else ''}.json"
    figure = None if again else _stored(numbers, config)
    if figure is None:
        with Store(folder / STORE) as store:
            specs = source.specs(config)
            if again and source.run_batch:
                store.forget(specs)
            elif store.missing(specs):
                load_tables(folder / TABLES, store)
            results: list[Any] = (
                store.get(specs)
                if partial or source.run_batch is None
                else run(specs, source.run_batch, store, batch_size=source.batch, report=report)
            )
            if source.keep and not quick and not settings:
                keep_results(folder / TABLES / f"{name}{KEPT}", store, specs)
            made = {
                "seconds": store.seconds(specs),
                "missing": len(store.missing(specs)),
                "device": _device(store, specs),
            }
        command = _command(name, quick, settings or {}) + (" --partial" if partial and made["missing"] else "")
        figure = replace(
            source.figure(config, results), made={"command": command, **made, **describe("numpy", "numba")}
        )
        text = figure.to_json()
        write(numbers, text)
        figure = FigureData.from_json(text)  # rounded there: the picture is the same when it is drawn again
    if not can_draw():
        return figure, [numbers]
    from taskorder.plots.draw import save

    return figure, [numbers, *save(figure.drawing, folder, numbers.stem.removeprefix(name))]


def _device(store: Store, specs: Sequence[RunSpec]) -> str:
    """What trained the networks behind `specs`; empty where there are none."""
    digests = {spec.digest for spec in specs}
    return " and ".join(sorted({entry.device for entry in store.entries() if entry.digest in digests} - {""}))


def load_tables(folder: Path, store: Store) -> int:
    """Put the results that a folder keeps into a store; how many were new."""
    archives = sum(load_archive(path, store) for path in sorted(folder.glob("*.json")))
    return archives + sum(load_results(path, store) for path in sorted(folder.glob(f"*{KEPT}")))


def keep_results(path: Path, store: Store, specs: Sequence[RunSpec]) -> None:
    """Write the finished runs of a figure to a file: their specs and results, and how they came about."""
    rows = []
    for spec, result in zip(specs, store.get(specs), strict=True):
        entry = store.entry(spec.digest)
        if result is not None and entry is not None:
            about = {"seconds": entry.seconds, "device": entry.device, "inputs": entry.inputs}
            rows.append({"kind": spec.kind, "params": dict(spec.params), **about, "result": result})
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, separators=(",", ":"))
    with whole_file(path) as part:
        part.write_bytes(gzip.compress(text.encode(), mtime=0))  # no time of writing: equal results, equal files


def load_results(path: Path, store: Store) -> int:
    """Put the runs that `keep_results` wrote into a store; how many were new."""
    try:
        with open_file(path) as file:
            rows = json_values(file.read(MAX_KEPT_BYTES), num_bytes=file.num_bytes)
    except ValueError as problem:
        raise BadArgument(f"`{path}` must be as it was written, got a damaged file: {problem}. Get it again.") from None
    specs = [RunSpec(row["kind"], row["params"]) for row in rows]
    new = {spec.digest for spec in store.missing(specs)}
    for spec, row in zip(specs, rows, strict=True):
        if spec.digest in new:
            store.put([spec], [row["result"]], row["seconds"], inputs=row["inputs"], device=row["device"])
    return len(new)


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def config_of(name: str, quick: bool, settings: Mapping[str, str]) -> Any:
    """The settings of a figure, some of them given as text."""
    source = load(name)
    config = source.quick if quick else source.full
    types = typing.get_type_hints(type(config))
    values = {}
    for key, text in settings.items():
        if key not in types:
            raise BadArgument(f"`settings` must name a setting, got {key!r}. Settings: {', '.join(types)}.")
        values[key] = _parsed(key, text, getattr(config, key))
    return replace(config, **values)


def _parsed(key: str, text: str, default: Any) -> Any:
    """Text as the type of the default; a comma separates the entries of a tuple."""
    if isinstance(default, tuple):
        if not default or isinstance(default[0], tuple):
            raise BadArgument(
                f"`settings` must name a setting that is a number, a word or a list of them, got {key!r}."
            )
        return tuple(_parsed(key, entry, default[0]) for entry in text.split(","))
    try:
        value = type(default)(text)
    except ValueError:
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        raise BadArgument(f"`settings` must give {key} a value like {default!r}, got {text!r}.")
    return value


def _stored(path: Path, config: Any) -> FigureData | None:
    """The stored figure, if it was made with these settings."""
    if not path.exists():
        return None
    figure = read(path)
    same = json.loads(json.dumps(dataclasses.asdict(config))) == dict(figure.config)
    return figure if same and not figure.made.get("missing") else None


def _command(name: str, quick: bool, settings: Mapping[str, str]) -> str:
    words = ["python", "-m", "reproduction", name, *(["--quick"] if quick else [])]
    return " ".join([*words, *(f"--set {key}={value}" for key, value in settings.items())])


def write(path: Path, text: str) -> None:
    """Write a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8", errors="surrogateescape")  # names of folders are bytes


def read(path: Path) -> FigureData:
    """The figure in a file."""
    try:
        with open_file(path) as file:
            figure = FigureData.from_json(utf8_text(file.read(MAX_KEPT_BYTES), str(path)))
        if not {"command", "seconds", "cores", "cpu"} <= set(figure.made):
            raise ValueError("It does not say how it was made.")
        typed(float, figure.made["seconds"], "made.seconds")
        return figure
    except ValueError as problem:
        raise BadArgument(
            f"`{path}` must hold a figure, got a damaged one: {problem} Compute it anew with ", "again", "."
        ) from None


def stored(folder: str | Path) -> list[FigureData]:
    """The full-size figures that `folder` holds, in the order of the paper."""
    paths = [Path(folder) / f"{name}.json" for name in NAMES]
    return [read(path) for path in paths if path.exists()]
