"""`taskorder data`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from taskorder.cli.output import BAD_INPUT, INTERRUPTED, as_line, page, say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from taskorder.datasets.verification import Verification

EPILOG = """\
actions:
  list         the data sets that are known by name, and which are here
  get NAME     download one: digits (nothing to download), fashion-mnist,
               cifar10 or cifar100
  check [DIR]  read every data set in a folder (or one folder of images, NPZ or
               CSV) and say whether it is whole

Data lie in $TASKORDER_DATA, else in the cache folder of this system. A machine
without a network reads them from a folder that was copied there:
  fashion-mnist/*-ubyte.gz, cifar-10-batches-bin/*, cifar-100-binary/*
A download that was interrupted goes on where it stopped.

example:
  taskorder data list
  taskorder data get fashion-mnist
  taskorder data check ~/data
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "data",
        help="list, download and check data sets",
        description="List, download and check data sets.",
        epilog=EPILOG,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="what is known and what is here")
    get = actions.add_parser("get", help="download a data set")
    get.add_argument("name", metavar="NAME", help="digits, fashion-mnist, cifar10 or cifar100")
    check = actions.add_parser("check", help="read every data set in a folder")
    check.add_argument("folder", nargs="?", metavar="DIR", help="a data folder, or one data set (the data folder)")
    for sub in (listing, get):
        sub.add_argument("--folder", metavar="DIR", help="where data lie ($TASKORDER_DATA, else a cache folder)")
    for sub, work in ((listing, _list), (get, _get), (check, _check)):
        sub.set_defaults(run=run, work=work)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.datasets.sources import data_folder

    code, text = args.work(args, data_folder() if args.folder is None else Path(args.folder))
    return int(code), str(text)


def _list(args: argparse.Namespace, folder: Path) -> tuple[int, str]:
    from taskorder.cli.render import plain_table
    from taskorder.datasets.sources import SOURCES

    rows = []
    for source in SOURCES.values():
        missing = source.missing(folder)
        here = "yes" if not missing else "in part" if len(missing) < len(source.files) else "no"
        rows.append((source.name, here, f"{source.megabytes} MB", source.about))
    lines = [f"where  {folder}", "       TASKORDER_DATA or --folder names another folder"]
    return 0, page(
        lambda width: (plain_table(("name", "here", "download", "what"), rows, ("name", "here", "what")), lines)
    )


def _get(args: argparse.Namespace, folder: Path) -> tuple[int, str]:
    from taskorder.datasets.fetch import fetch
    from taskorder.datasets.sources import source_named

    source = source_named(args.name)
    try:
        with _Bar(draw=sys.stderr.isatty(), label=source.name) as bar:
            data = fetch(source, folder, report=bar)
    except KeyboardInterrupt:
        say(f"interrupted; what has arrived is kept in {folder}, and the same command goes on from there")
        return INTERRUPTED, ""
    place = folder / source.folder if source.folder else "scikit-learn"
    counts = f"{len(data.train_labels)} + {len(data.test_labels)} images of {data.num_classes} classes"
    return 0, as_line(f"{source.name}: {counts} in {place}")


def _check(args: argparse.Namespace, folder: Path) -> tuple[int, str]:
    from taskorder.cli.render import plain_table
    from taskorder.datasets.verification import verify_folder

    findings = verify_folder(folder)
    problems = [finding.problem for finding in findings if finding.problem]
    for problem in problems:
        say(f"error: {problem}")
    headers = ("name", "train", "test", "classes", "of each class", "contents")
    rows = [_row(finding) for finding in findings]
    text = page(lambda width: (plain_table(headers, rows, ("name", "contents")), []))
    return BAD_INPUT if problems else 0, text


def _row(finding: Verification) -> tuple[str, ...]:
    numbers = (finding.num_train, finding.num_test, finding.num_classes)
    return (finding.name, *(str(number) if number else "-" for number in numbers), finding.balance, finding.contents)


class _Bar:
    """A progress bar on stderr for `fetch(..., report=bar)`; Ctrl-C passes through it."""

    def __init__(self, *, draw: bool, label: str) -> None:
        self._draw = draw
        self._label = label
        self._bar: Progress | None = None
        self._row: TaskID | None = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int | None) -> None:
        """Show that `done` of `total` bytes have arrived."""
        if not self._draw:
            return
        if self._bar is None:
            from rich import progress
            from rich.console import Console

            columns = (
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.DownloadColumn(),
                progress.TransferSpeedColumn(),
                progress.TimeRemainingColumn(),
            )
            self._bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self._row = self._bar.add_task(self._label, total=total)
            self._bar.start()
        assert self._row is not None
        self._bar.update(self._row, completed=done, total=total)
