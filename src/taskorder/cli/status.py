"""`taskorder status`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from textwrap import indent
from typing import TYPE_CHECKING, Any

from taskorder.cli.output import page, write

if TYPE_CHECKING:
    from rich.table import Table

    from taskorder.runs.progress import RequestProgress
    from taskorder.runs.store import Failure, Store

HEADERS = ("config", "done", "of", "failed", "running", "seconds", "network-steps", "steps/s")
SHOWN_FAILURES = 5
SHOWN_LETTERS = 200

EPILOG = """\
STORE can be read at any time, also while other processes write to it. Seconds
are the time spent on finished runs, compilation included.

example:
  taskorder status results/quick.sqlite
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "status", help="how far a run is", description="How far the runs of a store are.", epilog=EPILOG
    )
    parser.add_argument("store", metavar="STORE", help="the file that `taskorder run` writes")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.runs.progress import store_progress
    from taskorder.runs.store import Store

    with Store(args.store, create=False) as store:
        progress = store_progress(store, 0 if args.json else SHOWN_FAILURES)
        rows = [_row(tally) for tally in progress.tallies]
        made = {key: sorted(values - {""}) for key, values in progress.made.items()}
        if args.json:
            return next((code for part in _document(rows, store, made) if (code := write(part))), 0), ""
    lines = [f"{key:<8}{value}" for key, values in made.items() for value in values]
    lines += [f"failed  {_line(failure)}" for failure in progress.failures]
    if progress.num_failures > SHOWN_FAILURES:
        lines.append(f"        and {progress.num_failures - SHOWN_FAILURES} more; --json lists all")
    return 0, page(lambda width: (_table(rows), lines))


def _document(rows: list[dict[str, Any]], store: Store, made: dict[str, list[str]]) -> Iterator[str]:
    """The JSON document, in parts: there may be as many failures as specs."""
    before = "\n"
    yield json.dumps({"configs": rows}, indent=2).removesuffix("\n}") + ',\n  "failures": ['
    for failure in store.each_failure():
        yield before + indent(json.dumps(failure._asdict(), indent=2), "    ")
        before = ",\n"
    yield ("]" if before == "\n" else "\n  ]") + "," + json.dumps(made, indent=2).removeprefix("{") + "\n"


def _row(tally: RequestProgress) -> dict[str, Any]:
    return {
        "config": tally.name,
        "done": tally.done,
        "of": tally.total,
        "failed": tally.failed,
        "running": tally.running,
        "seconds": round(tally.seconds, 3),
        "network_steps": tally.network_steps,
        "settings": tally.settings,
    }


def _line(failure: Failure) -> str:
    who = ", ".join(f"{key} {failure.params[key]}" for key in ("set", "seed") if key in failure.params)
    error = " ".join(failure.error.split())
    shown = error if len(error) <= SHOWN_LETTERS else f"{error[:SHOWN_LETTERS]}..."
    return f"{who or failure.kind}: {shown} ({failure.failed})"


def _table(rows: list[dict[str, Any]]) -> Table:
    from taskorder.cli.render import plain_table

    lines = []
    for row in rows:
        rate = row["network_steps"] / row["seconds"] if row["seconds"] else 0
        numbers = row["done"], row["of"], row["failed"], row["running"]
        shown = *map(str, numbers), f"{row['seconds']:.1f}", f"{row['network_steps']:,}", f"{rate:,.0f}"
        lines.append((row["config"], *shown))
    return plain_table(HEADERS, lines, ("config",))
