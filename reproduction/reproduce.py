"""Run an experiment, keep its numbers as JSON, draw them; and tell from the kept numbers what was reproduced."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reproduction import IMAGES, NAMES, load
from taskorder.files import whole_file
from taskorder.machine import describe
from taskorder.plots.figuredata import FigureData
from taskorder.runs.archive import load_archive
from taskorder.runs.local import Report, run
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.typed import typed

STORE = "runs.sqlite"
TABLES = "tables"
"""Results of large runs, written by `taskorder export --whole`."""


def reproduce(
    name: str,
    folder: str | Path = "reproduction/results",
    *,
    quick: bool = False,
    settings: Mapping[str, str] | None = None,
    again: bool = False,
    partial: bool = False,
    report: Report | None = None,
) -> tuple[FigureData, list[Path]]:
    """The figure called `name` and the files that hold it: JSON, PNG and SVG.

    Numbers that are already in `folder` for these settings are drawn, not computed; `again` computes them anew. An
    image figure with `partial` is made from the runs that are there, and says what is missing; nothing is trained.
    Finished parts of an interrupted run are in the store in `folder`. `settings` changes fields of the Config. Without
    matplotlib there are no pictures.
    """
    experiment = load(name)
    if partial and (again or name not in IMAGES):
        raise ValueError(f"`partial` must come without `again`, with one of: {', '.join(IMAGES)}; got {name}.")
    config = config_of(name, quick, settings or {})
    folder = Path(folder)
    numbers = folder / f"{name}{'-quick' if quick else ''}{'-custom' if settings else ''}.json"
    figure = None if again else _kept(numbers, config)
    if figure is None:
        with Store(folder / STORE) as store:
            specs = experiment.specs(config)
            if again:
                store.forget(specs)
            elif store.missing(specs):
                load_tables(folder / TABLES, store)
            results: list[Any] = (
                store.get(specs)
                if partial
                else run(specs, experiment.run_batch, store, batch_size=experiment.BATCH, report=report)
            )
            made = {
                "seconds": store.seconds(specs),
                "missing": len(store.missing(specs)),
                "device": _device(store, specs),
            }
        command = _command(name, quick, settings or {}) + (" --partial" if made["missing"] else "")
        figure = replace(
            experiment.figure(config, results), made={"command": command, **made, **describe("numpy", "numba")}
        )
        text = figure.to_json()
        write(numbers, text)
        figure = FigureData.from_json(text)  # rounded there: the picture is the same when it is drawn again
    if not can_draw():
        return figure, [numbers]
    from taskorder.plots.draw import save

    return figure, [numbers, *save(figure, folder, numbers.stem.removeprefix(name))]


def _device(store: Store, specs: Sequence[RunSpec]) -> str:
    """What trained the networks behind `specs`; empty where there are none."""
    wanted = {spec.digest for spec in specs}
    return " and ".join(sorted({entry.device for entry in store.entries() if entry.digest in wanted} - {""}))


def load_tables(folder: Path, store: Store) -> int:
    """Put the results that a folder keeps as tables into a store; how many were new."""
    return sum(load_archive(path, store) for path in sorted(folder.glob("*.json")))


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def config_of(name: str, quick: bool, settings: Mapping[str, str]) -> Any:
    """The settings of an experiment, some of them given as text."""
    experiment = load(name)
    config = experiment.QUICK if quick else experiment.Config()
    types = typing.get_type_hints(type(config))
    values = {}
    for key, text in settings.items():
        if key not in types:
            raise ValueError(f"`settings` must name a setting, got {key!r}. Settings: {', '.join(types)}.")
        values[key] = _parsed(key, text, getattr(config, key))
    return replace(config, **values)


def _parsed(key: str, text: str, default: Any) -> Any:
    """Text as the type of the default; a comma separates the entries of a tuple."""
    if isinstance(default, tuple):
        if not default or isinstance(default[0], tuple):
            raise ValueError(f"`settings` must name a setting that is a number, a word or a list of them, got {key!r}.")
        return tuple(_parsed(key, entry, default[0]) for entry in text.split(","))
    try:
        value = type(default)(text)
    except ValueError:
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`settings` must give {key} a value like {default!r}, got {text!r}.")
    return value


def _kept(path: Path, config: Any) -> FigureData | None:
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
        figure = FigureData.from_json(path.read_text(encoding="utf-8-sig"))
        if not {"command", "seconds", "cores", "cpu"} <= set(figure.made):
            raise ValueError("no word on how it was made.")
        typed(float, figure.made["seconds"], "made.seconds")
        return figure
    except ValueError as problem:
        raise ValueError(
            f"`{path}` must hold a figure, got a damaged one: {problem} Compute it anew with `again`."
        ) from None


def stored(folder: str | Path) -> list[FigureData]:
    """The full-size figures that `folder` holds, in the order of the paper."""
    paths = [Path(folder) / f"{name}.json" for name in NAMES]
    return [read(path) for path in paths if path.exists()]


def checks_table(figures: Sequence[FigureData]) -> list[tuple[str, str, str, str]]:
    """(figure, claim, what we found, verdict) for every check; a question of our own holds or does not."""
    own = {"reproduced": "holds", "not reproduced": "does not hold"}
    return [
        (
            figure.name,
            check.claim,
            check.found,
            own.get(check.verdict, check.verdict) if check.source == "ours" else check.verdict,
        )
        for figure in figures
        for check in figure.checks
    ]


def report_text(figures: Sequence[FigureData], folder: str) -> str:
    """REPRODUCTION.md: every claim with our number, verdict, command and cost, from stored figures in `folder`."""
    rows = checks_table(figures)
    count = {verdict: sum(row[3] == verdict for row in rows) for verdict in dict.fromkeys(row[3] for row in rows)}
    tally = ", ".join(f"{number} {verdict}" for verdict, number in sorted(count.items(), key=lambda item: -item[1]))
    lines = [
        "# What we reproduced, and what not",
        "",
        f"Written by `python -m reproduction --report REPRODUCTION.md` from the numbers in `{folder}/`: {tally}.",
        "Rules in `reproduction/` decide the verdicts, never a hand: from a 95 % interval where there is",
        "one, else from an exact number. A claim of the paper is reproduced or not, a question of our own holds or",
        "does not, and either is undecided where the interval reaches to both sides. Where the paper does not say how",
        "much it drew, the module says what we chose. Some rules were changed after a first look at the results: the",
        "modules say which. [docs/errata.md](docs/errata.md) lists the errors that we found.",
    ]
    for figure in figures:
        lines += ["", f"## {figure.name}: {figure.title}", "", f"![{figure.title}]({folder}/{figure.name}.png)", ""]
        lines += [f"`{figure.made['command']}`, {_cost(figure)}. ", *figure.notes, ""]
        lines += ["| claim | source | what we found | verdict |", "|---|---|---|---|"]
        for check, (_, claim, found, verdict) in zip(figure.checks, checks_table([figure]), strict=True):
            lines.append(f"| {_cell(claim)} | {check.source} | {_cell(found)} | {verdict} |")
    missing = [name for name in NAMES if name not in {figure.name for figure in figures}]
    lines += ["", "## Not tested", "", "| figure | | why |", "|---|---|---|"]
    lines += [f"| {name} | | no full-size result in `{folder}/` |" for name in missing]
    lines += ["| fig2a, fig3b, fig3c, fig8 | | drawings and examples, without a claim |"]
    return "\n".join(lines) + "\n"


def _cost(figure: FigureData) -> str:
    seconds = float(figure.made["seconds"])
    spent = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    where = figure.made.get("device") or f"{figure.made['cores']} cores ({figure.made['cpu']})"
    return f"{spent if seconds >= 1 else 'under 1 s'} on {where}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
