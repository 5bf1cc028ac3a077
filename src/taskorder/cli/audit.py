"""`taskorder audit`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskorder.cli.auditing import add_audit, audited, planned_runs
from taskorder.cli.output import page

if TYPE_CHECKING:
    from rich.table import Table

    from taskorder.audit.audit import Audit
    from taskorder.audit.methods import MethodAudit
    from taskorder.audit.results import ResultRow, Results

EPILOG = """\
RESULTS is a table of runs: separated text or JSON (or either in gzip; - reads
standard input), an export of W&B or MLflow runs, a file of `taskorder export`,
or a store of `taskorder run`. It has
  order     the tasks as they were learned: 2>0>1, cats>dogs>cars, [2, 0, 1]
  seed      the training seed; the same seed for every order makes sharper tests
  accuracy  after the last task, from 0 to 1, from 0 to 100 or with %: with a
            column task a row for each task; or a column for each task
            (cats, acc/cats, cats_acc); or one average a run
  method    for several methods: does the order change who wins?
Other names: --column order=task_list --column accuracy=test/{task}. If there
are several task sets or settings, choose one: --where set=0.

shares of variance come from a two-way table with random effects: order, seed,
and the rest (their interaction and noise), with generalized 95 % intervals.
AOPD and MOPD are the mean and the largest over tasks of the range over orders of
the task's accuracy. Numbers of runs are for t-tests at 5 % with 80 % power.

example:
  taskorder audit results.csv --used "0>1>2" --difference 2
  taskorder audit results.csv --compare "0>1>2" "2>1>0" --json
  taskorder audit wandb.csv --column accuracy=test/{task} --where lr=0.1
  taskorder audit results/quick.sqlite --where set=0
  taskorder audit results.csv --next 24 --similarity transfer.csv
"""


LEFT_OUT = dict.fromkeys(("order", "task", "accuracy", "task_name"), "")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "audit",
        help="how much of an accuracy is the task order",
        description="How much of the final average accuracy is the task order, how much the seed?",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("results", nargs="?", metavar="RESULTS", help="a table of results; see below")
    add_audit(parser)
    add("--similarity", dest="table", metavar="FILE", help="transfer table or similarity, for --next")
    add("--retention", metavar="D", help="share of its knowledge that the learner keeps, for --next (0.13)")
    add("--seed", type=int, default=0, metavar="N", help="random seed of intervals and shuffles (0)")
    add("--json", action="store_true", help="print one JSON document instead of a table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.audit.methods import MethodAudit

    if args.results is None:
        if args.budget is None or args.table is None:
            raise ValueError("Give RESULTS to read, or --next with --similarity. See: taskorder audit --help")
        planned = planned_runs(args, None, args.table)
        return 0, planned.to_json() + "\n" if args.json else planned.summary() + "\n"
    audit = audited(args, lambda where, columns: _read(args.results, where, columns), args.table)
    if args.json:
        return 0, audit.to_json() + "\n"
    return 0, page(lambda width: _methods_drawn(audit) if isinstance(audit, MethodAudit) else _drawn(audit))


def _read(path: str, where: dict[str, str], columns: dict[str, str]) -> dict[str, Results]:
    from taskorder.audit.results import methods_from_rows
    from taskorder.audit.results_file import read_methods
    from taskorder.report.report_input import open_input

    # of what is no file, the reader of tables says what is wrong
    stored = path != "-" and Path(path).is_file() and open_input(path).is_store
    if stored:
        return methods_from_rows(_stored(path, where), path, where, columns)
    return read_methods(path, where, columns=columns)


def _stored(path: str, where: dict[str, str]) -> Iterator[ResultRow]:
    """The finished runs of a store as rows of an export, one run at a time in memory.

    Of a run that `where` leaves out one row without numbers stands for all, so that its result need not be read.
    """
    from taskorder.runs.index import run_index
    from taskorder.runs.results import prefix_rows, run_result
    from taskorder.runs.specs import RUNS
    from taskorder.runs.store import Store

    with Store(Path(path), create=False) as store, run_index(store, RUNS) as runs:
        if not runs:
            raise ValueError(f"`{path}` must hold finished runs of `taskorder run`, got none.")
        for entry in runs:
            settings = {"kind": entry.kind, **{key: str(value) for key, value in entry.params.items()}}
            place = f"in set {settings['set']}, seed {settings['seed']}"
            if any(settings.get(column, value) != value for column, value in where.items()):
                yield place, {**settings, **LEFT_OUT}
                continue
            result = run_result(store, entry, ("accuracy",))
            names = result["task_set"]["names"]
            for order, row in prefix_rows(result).items():
                if len(order) < len(names):
                    continue
                for task, accuracy in enumerate(result["accuracy"][row]):
                    cells = {"order": ">".join(map(str, order)), "task": str(task), "accuracy": repr(float(accuracy))}
                    yield place, {**settings, **cells, "task_name": names[task]}


def _drawn(audit: Audit) -> tuple[Table, list[str]]:
    """The components as a table, the other findings below it, the verdict last."""
    from taskorder.audit.verdict import LABELS, detail_lines, head_lines, points, share_text
    from taskorder.cli.render import plain_table

    rows = [
        (LABELS[part.source], share_text(part.share), f"{share_text(part.share_low)} to {share_text(part.share_high)}",
         f"{points(part.variance**0.5)} points")
        for part in audit.components
    ]  # fmt: skip
    headers = ("variance from", "share", "95 % interval", "standard deviation")
    table = plain_table(headers, rows or [("order and noise", "100 %", "", f"{points(audit.std)} points")], headers[:1])
    return table, [*head_lines(audit), *detail_lines(audit), audit.verdict]


def _methods_drawn(audit: MethodAudit) -> tuple[Table, list[str]]:
    """The methods as a table, every two of them below it, the verdict last."""
    from taskorder.audit.method_words import pair_lines
    from taskorder.audit.verdict import order_share, share_text
    from taskorder.cli.render import plain_table

    rows = [
        (score.method, share_text(score.mean), f"{score.best_in} of {audit.num_orders}", order_share(score.audit))
        for score in audit.methods
    ]
    headers = ("method", "accuracy", "best in orders", "order's share of the variance")
    return plain_table(headers, rows, headers[:1]), [*pair_lines(audit), audit.verdict]
