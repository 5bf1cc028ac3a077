"""What several commands read: the similarity table with its names, and the output similarity."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskorder.checks import Floats

FILES = """\
FILE is a P x P table of similarities, 1 on the diagonal, of at most 2000 tasks:
CSV, TSV or semicolons (with or without a header row and a name column), JSON,
NPY or NPZ; - reads standard input. Decimal commas are read between semicolons
or tabs. Tasks are called by their names in FILE, else A, B, C, ...
(T01, T02, ... past 26 tasks). The first run on 9 or more tasks compiles
kernels for this machine, once.
"""


def add_table(parser: argparse.ArgumentParser) -> None:
    """The arguments that name the tables."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="the similarity table; see below")
    parser.add_argument(
        "--demo", action="store_true", help="use the table that ships with taskorder: 12 CIFAR-100 tasks"
    )
    parser.add_argument(
        "--output", metavar="FILE", help="similarity of the tasks' outputs (default: one shared readout)"
    )


def read_tables(args: argparse.Namespace) -> tuple[Floats, tuple[str, ...], Floats | None]:
    """The similarity, the names of its tasks, and the output similarity in the same order."""
    from taskorder.checks import task_names
    from taskorder.similarity.tables import demo_similarity, read_similarity

    if args.demo == (args.file is not None):
        raise ValueError(f"Give a FILE to read or --demo, and not both. See: taskorder {args.command} --help")
    if args.file == "-" and args.output == "-":
        raise ValueError("`--output` must be a file when FILE is -, got - twice.")
    similarity, found = demo_similarity() if args.demo else read_similarity(args.file)
    names = task_names(found, len(similarity))
    if args.output is None:
        return similarity, names, None
    output, output_names = read_similarity(args.output)
    return similarity, names, output if output_names is None else _aligned(output, output_names, names, args.output)


def _aligned(output: Floats, output_names: tuple[str, ...], names: tuple[str, ...], label: str) -> Floats:
    """The output similarity in the task order of the similarity file."""
    odd = sorted(set(names) ^ set(output_names))
    if odd:
        raise ValueError(f"`{label}` must name the same tasks as the similarity file, got a difference: {odd[0]!r}.")
    places = [output_names.index(name) for name in names]
    return output[places][:, places]
