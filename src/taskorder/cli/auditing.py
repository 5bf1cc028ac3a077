"""What several commands ask of an audit."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from taskorder.cli.inputs import called

if TYPE_CHECKING:
    from taskorder.audit.audit import Audit
    from taskorder.audit.results import Results


def add_audit(parser: argparse.ArgumentParser) -> None:
    """The options that say what is asked of results, and of which."""
    add = parser.add_argument
    add("--used", metavar="ORDER", help="say what this order lost against the best")
    add("--compare", nargs=2, action="append", default=[], metavar=("A", "B"), help="test order A against order B")
    add("--difference", type=float, default=1.0, metavar="POINTS", help="the difference a comparison should see (1)")
    add("--where", action="append", default=[], metavar="COLUMN=VALUE", help="keep these rows; repeat for more")


def audited(args: argparse.Namespace, read: Callable[[dict[str, str]], Results]) -> Audit:
    """The audit that `add_audit` asks for; `read` takes the columns and values to keep."""
    from taskorder.audit.audit import audit_results
    from taskorder.checks import seed_number

    if not 0 < args.difference < 100:
        raise ValueError(f"`--difference` must be above 0 and below 100 points, got {args.difference:g}.")
    with called(where="--where", used="--used", compare="--compare", seed="--seed"):
        return audit_results(
            read(dict(map(_pair, args.where))),
            used=args.used,
            compare=[(a, b) for a, b in args.compare],
            difference=args.difference / 100,
            seed=seed_number(args.seed),
        )


def _pair(text: str) -> tuple[str, str]:
    column, mark, value = text.partition("=")
    if not mark:
        raise ValueError(f"`--where` must be COLUMN=VALUE, got {text!r}.")
    return column.strip().lower(), value.strip()
