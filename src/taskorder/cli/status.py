"""`taskorder status`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from taskorder.cli.output import page

if TYPE_CHECKING:
    from rich.table import Table

    from taskorder.store import Entry, Failure, Store

HEADERS = ("config", "done", "of", "failed", "running", "seconds", "network-steps", "steps/s")
SHOWN_FAILURES = 5
SHOWN_LETTERS = 200

EPILOG = """\
It may be asked at any time, while other processes write. Seconds are those
spent on what is done, compiling included.

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
    from taskorder.store import Store

    with Store(args.store, create=False) as store:
        rows, failures, entries = _rows(store)
    made = {key: sorted({getattr(entry, key) for entry in entries} - {""}) for key in ("device", "version", "inputs")}
    if args.json:
        failed = [failure._asdict() for failure in failures]
        return 0, json.dumps({"configs": rows, "failures": failed, **made}, indent=2) + "\n"
    lines = [f"{key:<8}{value}" for key, values in made.items() for value in values]
    lines += [f"failed  {_line(failure)}" for failure in failures[:SHOWN_FAILURES]]
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"        and {len(failures) - SHOWN_FAILURES} more; --json lists all")
    return 0, page(lambda width: (_table(rows), lines))


def _rows(store: Store) -> tuple[list[dict[str, Any]], list[Failure], list[Entry]]:
    """A row for each config, one for results that belong to none, the failures and all that is finished."""
    from taskorder.execute.claims import claimed

    requests = store.requests()
    failures = {failure.digest: failure for failure in store.failures()}
    # claims are looked at before the results: what finishes in between counts as done, not as running and missing
    wanted = {digest for request in requests for digest in request.digests}
    running = claimed(store.path, wanted) if store.path is not None else set()
    entries = {entry.digest: entry for entry in store.entries()}
    rows = [
        {
            "config": request.name,
            "done": len(entries.keys() & set(request.digests)),
            "of": len(request.digests),
            "failed": len((failures.keys() - running) & set(request.digests)),
            "running": len((running - entries.keys()) & set(request.digests)),
            **_cost(entries[digest] for digest in request.digests if digest in entries),
            "settings": request.config,
        }
        for request in requests
    ]
    if others := entries.keys() - wanted:
        nothing = {"of": len(others), "failed": 0, "running": 0, "settings": {}}
        rows.append({"config": "(others)", "done": len(others), **nothing, **_cost(entries[key] for key in others)})
    return rows, list(failures.values()), list(entries.values())


def _cost(entries: Iterable[Entry]) -> dict[str, Any]:
    spent = [(entry.seconds, entry.network_steps) for entry in entries]
    seconds, steps = sum(one[0] for one in spent), sum(one[1] for one in spent)
    return {"seconds": round(seconds, 3), "network_steps": steps}


def _line(failure: Failure) -> str:
    who = ", ".join(f"{key} {failure.params[key]}" for key in ("set", "seed") if key in failure.params)
    error = " ".join(failure.error.split())
    shown = error if len(error) <= SHOWN_LETTERS else f"{error[:SHOWN_LETTERS]}..."
    return f"{who or failure.kind}: {shown} ({failure.failed})"


def _table(rows: list[dict[str, Any]]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in HEADERS:
        table.add_column(header, justify="left" if header == "config" else "right", no_wrap=True)
    for row in rows:
        rate = row["network_steps"] / row["seconds"] if row["seconds"] else 0
        numbers = row["done"], row["of"], row["failed"], row["running"]
        shown = *map(str, numbers), f"{row['seconds']:.1f}", f"{row['network_steps']:,}", f"{rate:,.0f}"
        table.add_row(*map(Text, (row["config"], *shown)))
    return table
