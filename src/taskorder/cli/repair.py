"""`taskorder repair`."""

from __future__ import annotations

import argparse
from typing import Any

from taskorder.cli.output import as_line

AGAIN = "The command that made the store does again what is missing."

EPILOG = """\
Every row of a store has a checksum. `run`, `status`, `export`, `report` and
`audit` refuse a store in which a row has changed since it was written, or which
has lost some. This command drops the damaged rows and keeps the others; the
command that made the store then does again what is missing. Where the structure
of the file is damaged, a new file takes its place and the old one is kept beside
it, as STORE.damaged. End the runs that write to the store first.

example:
  taskorder repair results/quick.sqlite
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "repair", help="drop what is damaged in a store", description="Drop what is damaged in a store.", epilog=EPILOG
    )
    parser.add_argument("store", metavar="STORE", help="the file that `taskorder run` or `taskorder plan` writes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.checks import counted
    from taskorder.runs.repair import repair

    repaired = repair(args.store)
    runs = counted(repaired.kept, "run")
    if repaired.damaged is not None:
        return 0, as_line(f"kept {runs} in a new file; the old one is {repaired.damaged}") + as_line(AGAIN)
    if not repaired.dropped:
        return 0, f"nothing is damaged: {runs}\n"
    return 0, "".join(map(as_line, (f"kept {runs}", *(f"dropped {name}" for name in repaired.dropped), AGAIN)))
