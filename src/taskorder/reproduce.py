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

from taskorder.execute.local import Report, run
from taskorder.experiments import NAMES, load
from taskorder.figuredata import FigureData
from taskorder.machine import describe
from taskorder.neural.kept import load_kept
from taskorder.store import Store

STORE = "runs.sqlite"
TABLES = "tables"
"""Results of large runs, written by `taskorder export --whole`."""


def reproduce(
    name: str,
    folder: str | Path = "results",
    *,
    quick: bool = False,
    settings: Mapping[str, str] | None = None,
    again: bool = False,
    report: Report | None = None,
) -> tuple[FigureData, list[Path]]:
    """The figure called `name` and the files that hold it: JSON, PNG and SVG.

    Numbers that are already in `folder` for these settings are drawn, not computed; `again` computes them anew.
    Finished parts of an interrupted run are in the store in `folder`. `settings` changes fields of the Config. Without
    matplotlib there are no pictures.
    """
    experiment = load(name)
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
            results = run(specs, experiment.run_batch, store, batch_size=experiment.BATCH, report=report)
            seconds = store.seconds(specs)
        figure = replace(
            experiment.figure(config, results),
            made={"command": _command(name, quick, settings or {}), "seconds": seconds, **describe("numpy", "numba")},
        )
        write(numbers, figure.to_json())
    if not can_draw():
        return figure, [numbers]
    from taskorder.plots.draw import save

    return figure, [numbers, *save(figure, folder, numbers.stem.removeprefix(name))]


def load_tables(folder: Path, store: Store) -> int:
    """Put the results that a folder keeps as tables into a store; how many were new."""
    return sum(load_kept(path, store) for path in sorted(folder.glob("*.json")))


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
            raise ValueError(f"`--set` must name a setting, got {key!r}. Settings: {', '.join(types)}.")
        values[key] = _parsed(key, text, getattr(config, key))
    return replace(config, **values)


def _parsed(key: str, text: str, default: Any) -> Any:
    """Text as the type of the default; a comma separates the entries of a tuple."""
    if isinstance(default, tuple):
        if not default or isinstance(default[0], tuple):
            raise ValueError(f"`--set` must name a setting that is a number, a word or a list of them, got {key!r}.")
        return tuple(_parsed(key, entry, default[0]) for entry in text.split(","))
    try:
        value = type(default)(text)
    except ValueError:
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`--set {key}` must be like {default!r}, got {text!r}.")
    return value


def _kept(path: Path, config: Any) -> FigureData | None:
    """The stored figure, if it was made with these settings."""
    if not path.exists():
        return None
    figure = read(path)
    same = json.loads(json.dumps(dataclasses.asdict(config))) == dict(figure.config)
    return figure if same else None


def _command(name: str, quick: bool, settings: Mapping[str, str]) -> str:
    words = ["taskorder", "reproduce", name, *(["--quick"] if quick else [])]
    return " ".join([*words, *(f"--set {key}={value}" for key, value in settings.items())])


def write(path: Path, text: str) -> None:
    """Write a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read(path: Path) -> FigureData:
    """The figure in a file."""
    try:
        return FigureData.from_json(path.read_text())
    except ValueError as problem:
        raise ValueError(
            f"`{path}` must hold a figure, got a damaged one: {problem} Compute it anew with --again."
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


IMAGES = {"fig1c": "two orders of three CIFAR-10 tasks", "fig5": "both rules on image tasks",
          "fig7": "similarity and five-class tasks", "fig9": "similarity from little CIFAR-10 data",
          "fig10": "similarity from little Fashion-MNIST and CIFAR-100 data"}  # fmt: skip
"""Figures of the paper that need image networks; the others (2a, 3b, 3c and 8) are drawings or examples."""


def report_text(figures: Sequence[FigureData], folder: str) -> str:
    """REPRODUCTION.md: every claim with our number, verdict, command and cost, from stored figures in `folder`."""
    rows = checks_table(figures)
    count = {verdict: sum(row[3] == verdict for row in rows) for verdict in dict.fromkeys(row[3] for row in rows)}
    tally = ", ".join(f"{number} {verdict}" for verdict, number in sorted(count.items(), key=lambda item: -item[1]))
    lines = [
        "# What we reproduced, and what not",
        "",
        f"Written by `taskorder reproduce --report REPRODUCTION.md` from the numbers in `{folder}/`: {tally}.",
        "Rules in `src/taskorder/experiments/` decide the verdicts, never a hand: from a 95 % interval where there is",
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
    lines += ["", "## Not tested", "", "| figure | what it shows | why |", "|---|---|---|"]
    lines += [f"| {name} | | no full-size result in `{folder}/` |" for name in missing]
    lines += [f"| {name} | {shows} | needs the image engine, which comes next |" for name, shows in IMAGES.items()]
    return "\n".join(lines) + "\n"


def _cost(figure: FigureData) -> str:
    seconds = float(figure.made["seconds"])
    spent = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    return f"{spent if seconds >= 1 else 'under 1 s'} on {figure.made['cores']} cores ({figure.made['cpu']})"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
