"""`python -m reproduction`: compute the figures of the paper and our own questions again, and decide their claims."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from taskorder.cli import Parser, run_parsed
from taskorder.cli.output import INTERRUPTED, say

if TYPE_CHECKING:
    from reproduction.claims import Claim, FigureData

RESULTS = "reproduction/results"
EPILOG = """\
NAME is one of `--list`. Two names stand for several: `all` for every figure
that trains no image network, `images` for the others.

Each figure writes NAME.json (its numbers), NAME.png and NAME.svg to the results
folder, and prints its claims with their verdicts. Numbers that are stored for
the same settings are drawn again, not computed again. An interrupted run
continues where it stopped. Quick versions are stored as NAME-quick.

At full size, image figures need the results of `taskorder run
reproduction/configs/...` on a GPU. The repository has them all in
reproduction/results/tables; without some of them, --partial draws the rest.
With --quick they train small networks on real data in a few minutes. Download
it first: taskorder data get fashion-mnist, and taskorder data get cifar10.

examples:
  python -m reproduction fig2b --quick
  python -m reproduction all
  python -m reproduction fig3e --set num_matrices=200
  python -m reproduction --report
"""


def build_parser() -> argparse.ArgumentParser:
    """The argument parser."""
    parser = Parser(
        prog="python -m reproduction",
        description="Compute the figures of the paper and our own questions again, and decide their claims.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="what to reproduce: names of --list, all, or images")
    add("--list", action="store_true", help="print the names and what they show")
    add("--quick", action="store_true", help="a smaller version: about a minute, for images a few minutes")
    add("--partial", action="store_true", help="draw image figures from the results that exist; train nothing")
    add("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="change a setting; repeatable")
    add("--results", default=RESULTS, metavar="DIR", help=f"folder of numbers and pictures (default: {RESULTS})")
    add("--again", action="store_true", help="compute even what is stored")
    add(
        "--report",
        nargs="?",
        const="REPRODUCTION.md",
        metavar="FILE",
        help="write the summary from the stored full-size results (default: REPRODUCTION.md), and a page for each "
        "figure to reproduction/pages beside it",
    )
    add("--json", action="store_true", help="print the claims as one JSON document instead of text")
    parser.set_defaults(run=run, command="reproduction")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, as `taskorder` does."""
    return run_parsed(build_parser, argv)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from reproduction import FIGURES, IMAGES, NAMES
    from reproduction.running import can_draw, config_of

    if args.list:
        return 0, "".join(f"{name:16}  {about}\n" for name, (_, about) in FIGURES.items())
    groups = {"all": [name for name in NAMES if name not in IMAGES], "images": IMAGES}
    names = list(dict.fromkeys(name for word in args.names for name in groups.get(word, [word])))
    if not names and args.report is None:
        raise ValueError("Name a figure to reproduce, or all, or images, or give --report. See --list and --help.")
    if Path(args.results).exists() and not Path(args.results).is_dir():
        raise ValueError(f"`--results` must be a folder, got the file {args.results}.")
    settings = dict(_setting(text) for text in args.settings)
    try:
        for name in names:
            config_of(name, args.quick, settings)  # all settings are checked before anything runs
        figures, files, interrupted = _figures(args, names, settings)
    except OSError as problem:
        raise ValueError(f"`--results` must be a folder that can be written, got {problem}.") from None
    if interrupted:
        say(f"interrupted; finished parts are stored in {args.results}: the same command (without --again) continues")
    elif args.report is not None:
        files += _report(args)
    if figures and not can_draw():
        say('no pictures: drawing needs matplotlib; pip install "taskorder[plot]"')
    return INTERRUPTED if interrupted else 0, _text(args, figures, files)


def _figures(
    args: argparse.Namespace, names: list[str], settings: dict[str, str]
) -> tuple[list[FigureData], list[Path], bool]:
    """The figures, their files, and whether Ctrl-C came before the last one."""
    from reproduction.running import reproduce
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


def _report(args: argparse.Namespace) -> list[Path]:
    """Write the summary and the pages of the figures; their paths."""
    from reproduction.pages import write_pages
    from reproduction.running import stored

    figures = stored(args.results)
    if not figures:
        raise ValueError(f"`--results` must hold full-size results, got none in {args.results}.")
    try:
        return write_pages(figures, Path(args.report), Path(args.results))
    except OSError as problem:
        raise ValueError(f"`--report` must be a file that can be written, got {problem}.") from None


def _setting(text: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not mark:
        raise ValueError(f"`--set` must be KEY=VALUE, got {text!r}.")
    return key.strip(), value.strip()


def _text(args: argparse.Namespace, figures: list[FigureData], files: list[Path]) -> str:
    from reproduction.pages import verdict_of

    claims = [(figure.name, claim, verdict_of(claim)) for figure in figures for claim in figure.claims]
    if args.json:
        rows = [{"figure": name, **asdict(claim), "verdict": verdict} for name, claim, verdict in claims]
        return json.dumps({"claims": rows, "files": [str(file) for file in files]}, indent=2) + "\n"
    width = max(40, min(shutil.get_terminal_size((120, 24)).columns, 120))
    lines = [line for name, claim, verdict in claims for line in claim_lines(name, claim, verdict, width)]
    return "".join(f"{line}\n" for line in (*lines, *(f"wrote {file}" for file in files)))


def claim_lines(name: str, claim: Claim, verdict: str, width: int) -> list[str]:
    """Two paragraphs: the figure, the verdict and the claim; then what was found."""
    indent = " " * (len(name) + 2)
    return [
        *textwrap.wrap(f"{verdict}: {claim.claim}", width, initial_indent=f"{name}  ", subsequent_indent=indent),
        *textwrap.wrap(f"found: {claim.found}", width, initial_indent=indent, subsequent_indent=indent),
    ]


if __name__ == "__main__":
    sys.exit(main())
