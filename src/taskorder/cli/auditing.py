"""The options of an audit, which `taskorder audit` and `taskorder report` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskorder.audit.audit import Audit
    from taskorder.audit.methods import MethodAudit
    from taskorder.audit.next_runs import NextRuns
    from taskorder.audit.results import Results


def add_audit(parser: argparse.ArgumentParser) -> None:
    """The options of an audit, which `taskorder report` has as well."""
    add = parser.add_argument
    add("--used", metavar="ORDER", help="say what this order lost against the best")
    add("--compare", nargs=2, action="append", default=[], metavar=("A", "B"), help="test order A against order B")
    add("--difference", type=float, default=1.0, metavar="POINTS", help="the difference a comparison should see (1)")
    add("--where", action="append", default=[], metavar="COLUMN=VALUE", help="keep these rows; repeat for more")
    add("--column", dest="columns", action="append", default=[], metavar="WHAT=NAME",
        help="what RESULTS calls its order, seed, method, task, accuracy or state; repeat for more")  # fmt: skip
    add("--next", dest="budget", type=int, metavar="N", help="say which N runs to do next, so that order and seed can "
        "be told apart; with --similarity FILE the extremes by the law come first")  # fmt: skip


def audited(
    args: argparse.Namespace,
    read: Callable[[dict[str, str], dict[str, str]], dict[str, Results]],
    table_file: str | None,
) -> Audit | MethodAudit:
    """The audit with the options of `add_audit`; `read` takes the values to keep and the names of columns."""
    from taskorder.audit.audit import audit_results
    from taskorder.audit.methods import audit_methods
    from taskorder.checks import seed_number

    if not 0 < args.difference < 100:
        raise ValueError(f"`--difference` must be above 0 and below 100 points, got {args.difference:g}.")
    where = dict(_pair(text, "where", "COLUMN=VALUE") for text in args.where)
    columns = dict(_pair(text, "column", "WHAT=NAME") for text in args.columns)
    methods = read(where, columns)
    options = {"difference": args.difference / 100, "seed": seed_number(args.seed)}
    planned = None if args.budget is None else planned_runs(args, methods, table_file)
    if len(methods) == 1:
        (results,) = methods.values()
        single = audit_results(results, used=args.used, compare=[(a, b) for a, b in args.compare], **options)
        return replace(single, next_runs=planned)
    for option, given in (("used", args.used), ("compare", args.compare)):
        if given:
            first = next(iter(methods))
            fix = f"Choose one with --where method={first}."
            raise ValueError(f"`--{option}` must be left out for several methods, got {given!r}. {fix}")
    return replace(audit_methods(methods, **options), next_runs=planned)


def planned_runs(args: argparse.Namespace, methods: dict[str, Results] | None, table_file: str | None) -> NextRuns:
    """What to run next, by the options `--next` and `--retention` and the table of `--similarity`."""
    from taskorder.audit.next_runs import next_runs
    from taskorder.cli.options import retention_of
    from taskorder.tables.reading import read_similarity

    table, names = (None, None) if table_file is None else read_similarity(table_file)
    retention = retention_of(args.retention)
    return next_runs(args.budget, methods, table=table, names=names, retention=retention, seed=args.seed)


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise ValueError(f"`--{option}` must be {form}, got {text!r}.")
    return name.strip(), value.strip()
