"""`python -m reproduction`: repeat the experiments behind the paper's figures, and our own."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taskorder.cli import Parser, run_parsed
from taskorder.cli.inputs import called
from taskorder.cli.output import INTERRUPTED, say

if TYPE_CHECKING:
    from taskorder.plots.figuredata import FigureData

EPILOG = """\
NAME is a figure of the paper (fig2b fig2c fig3a fig3d fig3e fig3f fig3g fig4a
fig4b fig4c fig4d fig4e fig4f fig6a fig6b fig6c fig6d), one of our own
(early-stopping finite-size rules-at-scale), or: all, which is all of these.

Image figures (fig1c fig5 fig7 fig9 fig10), and our own questions about images
(truth noise-ceiling training-choices), or: images. Full size they need the
results of `taskorder run reproduction/configs/...` on a GPU. A clone of the repository has
them all in reproduction/results/tables; elsewhere --partial draws what is there. --quick
trains small networks on real data (taskorder data get fashion-mnist cifar10) in
a few minutes.

Each writes NAME.json (the numbers), NAME.png and NAME.svg into the results
folder and prints what it claims and what was found. Numbers that are there
for the same settings are drawn again, not computed again. An interrupted run
goes on where it stopped. Quick versions are kept apart, as NAME-quick.

example:
  python -m reproduction fig2b --quick
  python -m reproduction all
  python -m reproduction fig3e --set num_matrices=200
  python -m reproduction --report REPRODUCTION.md
"""


def build_parser() -> argparse.ArgumentParser:
    """The argument parser."""
    parser = Parser(
        prog="python -m reproduction",
        description="Repeat the experiments behind the paper's figures, and our own.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="what to reproduce; see below")
    add("--quick", action="store_true", help="a smaller version: a minute, for images some minutes")
    add("--partial", action="store_true", help="image figures from the runs that are there; train nothing")
    add("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="change a setting; repeat")
    add(
        "--results",
        default="reproduction/results",
        metavar="DIR",
        help="where numbers and pictures are kept (reproduction/results)",
    )
    add("--again", action="store_true", help="compute even what is there")
    add("--report", metavar="FILE", help="write what was reproduced, from the full-size results that are there")
    add("--json", action="store_true", help="print the claims as one JSON document instead of a table")
    parser.set_defaults(run=run, command="reproduce")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, as `taskorder` does."""
    return run_parsed(build_parser, argv)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from reproduction import IMAGES, NAMES
    from reproduction.reproduce import can_draw, config_of

    groups = {"all": [name for name in NAMES if name not in IMAGES], "images": IMAGES}
    names = list(dict.fromkeys(name for word in args.names for name in groups.get(word, [word])))
    if not names and args.report is None:
        raise ValueError("Name a figure to reproduce, or all, or give --report FILE. See --help.")
    if Path(args.results).exists() and not Path(args.results).is_dir():
        raise ValueError(f"`--results` must be a folder, got the file {args.results}.")
    settings = dict(_setting(text) for text in args.settings)
    try:
        with called(settings="--set", partial="--partial", again="--again"):
            for name in names:
                config_of(name, args.quick, settings)  # all settings are checked before anything runs
            figures, files, interrupted = _figures(args, names, settings)
    except OSError as problem:
        raise ValueError(f"`--results` must be a folder that can be written, got {problem}.") from None
    if interrupted:
        say(f"interrupted; finished parts are kept in {args.results}: the same command (without --again) goes on")
    elif args.report is not None:
        files.append(_report(args))
    if figures and not can_draw():
        say('no pictures: drawing needs matplotlib; pip install "taskorder[plot]"')
    return INTERRUPTED if interrupted else 0, _text(args, figures, files)


def _figures(
    args: argparse.Namespace, names: list[str], settings: dict[str, str]
) -> tuple[list[FigureData], list[Path], bool]:
    """The figures, their files, and whether Ctrl-C came before the last one."""
    from reproduction.reproduce import reproduce
    from taskorder.cli.progress import Watcher
    from taskorder.runs.local import Interrupted

    figures: list[FigureData] = []
    files: list[Path] = []
    for name in names:
        with Watcher(draw=sys.stderr.isatty(), label=name) as watcher:
            try:
                figure, written = reproduce(
                    name,
                    args.results,
                    quick=args.quick,
                    settings=settings,
                    again=args.again,
                    partial=args.partial,
                    report=watcher.count,
                )
            except Interrupted:
                return figures, files, True
        figures.append(figure)
        files += written
        if watcher.interrupted:
            return figures, files, name != names[-1]
    return figures, files, False


def _report(args: argparse.Namespace) -> Path:
    """Write the report; its path."""
    from reproduction.reproduce import report_text, stored, write

    kept = stored(args.results)
    if not kept:
        raise ValueError(f"`--results` must hold full-size results, got none in {args.results}.")
    path = Path(args.report)
    try:
        write(path, report_text(kept, args.results))
    except OSError as problem:
        raise ValueError(f"`--report` must be a file that can be written, got {problem}.") from None
    return path


def _setting(text: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not mark:
        raise ValueError(f"`--set` must be KEY=VALUE, got {text!r}.")
    return key.strip(), value.strip()


def _text(args: argparse.Namespace, figures: list[FigureData], files: list[Path]) -> str:
    from dataclasses import asdict

    from reproduction.reproduce import checks_table
    from taskorder.cli.render import verdict_lines

    rows = checks_table(figures)
    if args.json:
        found = [check for figure in figures for check in figure.checks]
        checks = [
            {"figure": row[0], **asdict(check), "verdict": row[3]} for row, check in zip(rows, found, strict=True)
        ]
        return json.dumps({"checks": checks, "files": [str(file) for file in files]}, indent=2) + "\n"
    width = max(40, min(shutil.get_terminal_size((120, 24)).columns, 120))
    lines = [*verdict_lines(rows, width), *(f"wrote {file}" for file in files)]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
