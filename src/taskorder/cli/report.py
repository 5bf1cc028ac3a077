"""`taskorder report`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskorder.cli.auditing import add_audit, audited
from taskorder.cli.options import (
    TABLE_OPTIONS,
    add_constraints,
    add_law,
    add_output_similarity,
    add_repair,
    add_table_kind,
    option_names,
    read_problem,
    seconds,
)
from taskorder.cli.output import CANNOT_WRITE, INTERRUPTED, as_line, output_file, say
from taskorder.files import whole_file

if TYPE_CHECKING:
    from taskorder.audit.audit import Audit
    from taskorder.audit.methods import MethodAudit
    from taskorder.cli.progress import Watcher
    from taskorder.report.page import Page
    from taskorder.report.report_input import ReportInput

EPILOG = """\
INPUT is one of these, told apart by what is in it; - reads standard input:
  a matrix     as for `taskorder solve`: the page shows the plan, its rivals and
               random orders, what each task forgets, which pairs cost you, a
               map of the tasks
  a plan       what `taskorder solve --json` printed; with --similarity FILE (the
               matrix it was made from) the page shows all of the above
  a folder     what `taskorder plan` wrote
  a run store  what `taskorder run` writes: the accuracy of every order that was
               trained, and where the rules stand among them
  an audit     a table of results as for `taskorder audit`, or what
               `taskorder audit --json` printed: how much of the accuracy is order

The page is one HTML file that loads nothing from the network and prints. Without
scripts it shows still drawings (where matplotlib was installed), else tables in
place of charts. The options from --used to --where are
those of `taskorder audit` for a table of results, the ones after them those of
`taskorder solve` for a matrix.

example:
  taskorder report similarity.csv -o report.html
  taskorder report --demo
  taskorder report results/quick.sqlite --task-set 1 -o set1.html
  taskorder report results.csv --used "0>1>2" -o audit.html
"""

MATRIX_ONLY = (
    "rule", "retention", "objective", "kind", "weights", "before", "first", "last", "learned", "groups", "visits",
    "seed", "repair", "output", *TABLE_OPTIONS, "chance",
)  # fmt: skip
"""Options that a plan or a store has decided already."""
AUDIT_ONLY = ("used", "compare", "difference", "where", "columns", "budget")
STORE = "a run store"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="write a page with figures about a matrix, a plan or results",
        description="Write one HTML page with figures about a matrix, a plan, a pilot, runs or an order audit.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option("input", nargs="?", metavar="INPUT", help="what to show; see below")
    option("--demo", action="store_true", help="use the table that ships with taskorder: 12 CIFAR-100 tasks")
    option(
        "-o", "--output", dest="page_file", metavar="FILE", default="report.html",
        help="what to write (report.html); - for stdout",
    )  # fmt: skip
    option("--title", help="the heading of the page")
    option("--similarity", dest="similarity_file", metavar="FILE", help="the matrix that a plan was made from")
    option("--task-set", type=int, metavar="N", help="which task set of a run store (the first)")
    add_audit(parser)
    add_table_kind(parser)
    option("--rule", default="optimal", help="how to choose the order (optimal); see: taskorder solve --help")
    add_law(parser)
    add_constraints(parser)
    option("--visits", type=int, metavar="K", help="visit K times in all, each task at least once")
    add_output_similarity(parser)
    option("--time-limit", type=seconds, default=10.0, metavar="SECONDS",
           help="for the plan, and again for its rivals (10; or none)")  # fmt: skip
    option("--seed", type=int, default=0, metavar="N", help="random seed (0); the same seed gives the same answer")
    add_repair(parser)
    defaults = {key: parser.get_default(key) for key in (*AUDIT_ONLY, *MATRIX_ONLY)}
    parser.set_defaults(run=run, defaults=defaults, names=option_names(parser, argparse.Namespace()))


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    if args.demo == (args.input is not None):
        raise ValueError("Give an INPUT to read or --demo, and not both. See: taskorder report --help")
    inputs = args.input, args.similarity_file, args.output
    target = None if args.page_file == "-" else output_file(args.page_file, ".html", ".htm", inputs=inputs)
    from taskorder.cli.progress import Watcher
    from taskorder.report.document import page_html

    with Watcher(None, draw=sys.stderr.isatty(), label="computing") as watcher:
        page = _page(args, watcher)
    for problem in page.numbers.get("disagreements", ()):
        say(f"warning: {problem}")
    if watcher.interrupted:
        say("interrupted; the page shows the best found so far")
    text = page_html(page, _command(args))
    code = INTERRUPTED if watcher.interrupted else 0
    if target is None:
        return code, text
    # lone surrogates in a name have no UTF-8; the browser shows a mark for them
    data = text.encode("utf-8", errors="xmlcharrefreplace")
    try:
        with whole_file(target) as part:
            part.write_bytes(data)
    except OSError as problem:
        say(f"error: cannot write {target}: {problem.strerror or problem}")
        return CANNOT_WRITE, ""
    return code, as_line(f"wrote {target}: {len(data) / 1e6:.2g} MB")


def _page(args: argparse.Namespace, watcher: Watcher) -> Page:
    """The page of whatever the input is: the first kind that knows it."""
    from taskorder.report.report_input import open_input

    if args.demo:
        return _of_matrix(None, args, watcher)
    source = open_input(args.input)
    return next(page for kind in PAGES if (page := kind(source, args, watcher)) is not None)


def _of_store(source: ReportInput, args: argparse.Namespace, watcher: Watcher) -> Page | None:
    if not source.is_store:
        return None
    _refuse(args, STORE, "similarity_file", *AUDIT_ONLY, *MATRIX_ONLY)
    if source.path is None:
        raise ValueError("`INPUT` must be a file for a run store, got standard input.")
    from taskorder.report.run_numbers import run_numbers
    from taskorder.report.run_page import run_page
    from taskorder.runs.store import Store

    with Store(source.path, create=False) as store:
        numbers = run_numbers(store, args.task_set, time_limit=args.time_limit, watch=watcher)
    title = args.title or f"{len(numbers.names)} tasks of {numbers.settings['dataset']}, set {numbers.number}"
    return run_page(numbers, title, source.name)


def _of_plan(source: ReportInput, args: argparse.Namespace, watcher: Watcher) -> Page | None:
    plan = source.plan()
    if plan is None:
        if source.is_order:
            raise ValueError(f"`{source.name}` must be a plan, got an order.json, which has no errors. Give its plan.")
        return None
    _refuse(args, "a plan", "task_set", *AUDIT_ONLY, *MATRIX_ONLY)
    from taskorder.report.plan_numbers import plan_numbers
    from taskorder.report.plan_page import plan_page
    from taskorder.tables.reading import read_similarity

    table, names = (None, None) if args.similarity_file is None else read_similarity(args.similarity_file)
    numbers = plan_numbers(plan, table, names=names, time_limit=args.time_limit, watch=watcher)
    said = source.name if table is None else f"{source.name}, with the matrix {args.similarity_file}"
    return plan_page(numbers, args.title or _title(source.name, len(plan.names)), said)


def _of_pilot(source: ReportInput, args: argparse.Namespace, watcher: Watcher) -> Page | None:
    if source.path is None or not source.path.is_dir():
        return None
    _refuse(args, "a folder of taskorder plan", "similarity_file", "task_set", *AUDIT_ONLY, *MATRIX_ONLY)
    from taskorder.report.pilot import read_pilot
    from taskorder.report.plan_numbers import plan_numbers
    from taskorder.report.plan_page import plan_page

    plan, table, names = read_pilot(source.path)
    numbers = plan_numbers(plan, table, names=names, time_limit=args.time_limit, watch=watcher)
    title = args.title or f"The order of {len(plan.names)} tasks, from a pilot"
    return plan_page(numbers, title, f"the pilot in {source.name}")


def _of_audit(source: ReportInput, args: argparse.Namespace, watcher: Watcher) -> Page | None:
    found = source.audit()
    if found is None and not source.is_results:
        return None
    made: dict[str, str] = {"Input": source.name}
    problems: tuple[str, ...] = ()
    if found is not None:
        _refuse(args, "an audit", "similarity_file", "task_set", *AUDIT_ONLY, *MATRIX_ONLY)
        audit, problems = found
    else:
        planning = () if args.budget is not None else ("similarity_file", "retention")
        decided = (key for key in MATRIX_ONLY if key not in ("seed", "retention"))
        _refuse(args, "a table of results", "task_set", *planning, *decided)
        audit = _audited(source, args)
        made |= {"Seed of intervals": str(args.seed)}
    from taskorder.audit.methods import MethodAudit
    from taskorder.report.audit_methods_page import audit_methods_page
    from taskorder.report.audit_numbers import audit_numbers
    from taskorder.report.audit_page import audit_page

    title = args.title or f"Order audit of {Path(source.name).name}"
    if isinstance(audit, MethodAudit):
        page = audit_methods_page(audit, title, made)
    else:
        page = audit_page(audit_numbers(audit), title, made)
    if not problems:
        return page
    return replace(page, warnings=problems, numbers={**page.numbers, "disagreements": list(problems)})


def _audited(source: ReportInput, args: argparse.Namespace) -> Audit | MethodAudit:
    """The audit of a table of results."""
    from taskorder.audit.results_file import read_methods

    if source.path is None:
        raise ValueError(
            "`INPUT` must be a file for a table of results, got standard input. "
            "Or pipe what `taskorder audit - --json` prints."
        )
    path = source.path
    return audited(args, lambda where, columns: read_methods(path, where, columns=columns), args.similarity_file)


def _of_matrix(source: ReportInput | None, args: argparse.Namespace, watcher: Watcher) -> Page:
    """All that is nothing else; whoever reads tables says what is wrong with it."""
    _refuse(args, "a matrix", "similarity_file", "task_set", *AUDIT_ONLY)
    from taskorder.ordering.solve import solve
    from taskorder.report.plan_numbers import plan_numbers
    from taskorder.report.plan_page import plan_page

    file = None if source is None else source.stream()
    table, options, notes = read_problem(argparse.Namespace(**{**vars(args), "file": file}))
    plan = solve(table, args.rule, visits=args.visits, watch=watcher, **options)
    plan = replace(plan, notes=(*notes, *plan.notes))
    numbers = plan_numbers(plan, table, time_limit=args.time_limit, watch=watcher)
    name = "the demo matrix: transfer between 12 CIFAR-100 tasks" if source is None else source.name
    title = "12 CIFAR-100 tasks" if source is None else _title(source.name, len(plan.names))
    return plan_page(numbers, args.title or title, name)


PAGES: tuple[Callable[[ReportInput, argparse.Namespace, Watcher], Page | None], ...] = (
    _of_store, _of_pilot, _of_plan, _of_audit, _of_matrix,
)  # fmt: skip
"""One function a kind of input, which gives None for what is not its own; the last one takes all that is left."""


def _refuse(args: argparse.Namespace, kind: str, *options: str) -> None:
    """Say which option has no meaning for this kind of input."""
    for key in options:
        if getattr(args, key) != args.defaults.get(key):
            given = getattr(args, key)
            said = repr(given[0]) if isinstance(given, list) else repr(given)
            fix = " Choose a task set with --task-set." if (kind, key) == (STORE, "where") else ""
            raise ValueError(f"`{args.names[key]}` must be left out for {kind}, got {said}.{fix}")
    args.left_out = options


def _title(name: str, num_tasks: int) -> str:
    from taskorder.checks import counted

    return f"{counted(num_tasks, 'task')} from {Path(name).name}"


def _command(args: argparse.Namespace) -> str:
    """The command that makes this page again."""
    words = ["taskorder", "report", *(["--demo"] if args.demo else [args.input])]
    for key in ("title", "similarity_file", "task_set", *AUDIT_ONLY, *MATRIX_ONLY, "time_limit"):
        value, default = getattr(args, key), {"time_limit": 10.0, **args.defaults}.get(key)
        option = args.names[key]
        if value == default:
            continue
        if isinstance(value, bool):
            words.append(option if value else "--no-repair")
        elif isinstance(value, list):
            words += [word for one in value for word in (option, *([one] if isinstance(one, str) else one))]
        else:
            said = "none" if value is None else str(value)
            words += [f"{option}={said}"] if said.startswith("-") else [option, said]
    return shlex.join([*words, "-o", args.page_file])
