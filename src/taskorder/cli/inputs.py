"""What several commands read: the similarity table with its names, and the output similarity.

`plan` and `compare` also read tables of transfer losses, ratios and accuracies, and turn them into a similarity.
"""

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

TRANSFER = """
With --losses, --transfer or --accuracy, FILE is a P x P table of how a network
that has learned the task of the row does on the task of the column:
  --losses    losses; --chance is the loss with shuffled labels
  --accuracy  accuracies from 0 to 1; --chance is the accuracy of guessing
  --transfer  ratios, losses over losses with shuffled labels
similarity = 1 - (sqrt(ratio from A to B) + sqrt(ratio from B to A)) / 2, where
an accuracy stands for the loss 1 - accuracy. Rows and columns have one order.
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


def add_transfer(parser: argparse.ArgumentParser) -> None:
    """The options that say that FILE holds what networks transfer between tasks."""
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--losses", action="store_true", help="FILE holds transfer losses; needs --chance")
    kinds.add_argument("--transfer", action="store_true", help="FILE holds transfer ratios")
    kinds.add_argument("--accuracy", action="store_true", help="FILE holds transfer accuracies; needs --chance")
    parser.add_argument(
        "--chance",
        metavar="C",
        help="what shuffled labels give: a P x P file, one number for all tasks, or one for each column (0.5,0.5,0.3)",
    )


def similarity_of(args: argparse.Namespace, table: Floats, names: tuple[str, ...]) -> tuple[Floats, tuple[str, ...]]:
    """The similarity that FILE holds, or what its transfer table shows, and notes on the way there."""
    from taskorder.similarity.transfer import accuracy_ratios, bounded, transfer_ratios, transfer_similarity

    kind = next((name for name in ("losses", "transfer", "accuracy") if getattr(args, name)), None)
    if args.chance is not None and kind not in ("losses", "accuracy"):
        raise ValueError("`--chance` must come with --losses or --accuracy, got neither.")
    if kind is None:
        return table, ()
    if args.demo:
        raise ValueError(f"`--{kind}` must come with a FILE, got --demo, which is a table of similarities.")
    if kind != "transfer" and args.chance is None:
        guess = "0.693 (log 2)" if kind == "losses" else "0.5"
        raise ValueError(
            f"`--{kind}` must come with --chance, got none. Give a file, or a number: {guess} for two equal classes."
        )
    if kind == "transfer":
        ratios = table
    else:
        ratios = (transfer_ratios if kind == "losses" else accuracy_ratios)(table, _chance(args, names))
    similarity, raised = bounded(transfer_similarity(ratios))
    notes = [f"similarity from the {'transfer ratios' if kind == 'transfer' else f'transfer {kind}'} in the file"]
    if raised:
        notes.append(f"{raised} pair{'s' if raised > 1 else ''} of tasks with similarity below -1: taken as -1")
    return similarity, tuple(notes)


def _chance(args: argparse.Namespace, names: tuple[str, ...]) -> Floats:
    """The P x P table that --chance stands for."""
    import numpy as np

    from taskorder.similarity.tables import read_similarity

    try:
        numbers = [float(cell) for cell in args.chance.split(",")]
    except ValueError:
        if args.chance == "-" and args.file == "-":
            raise ValueError("`--chance` must be a file when FILE is -, got - twice.") from None
        table, found = read_similarity(args.chance)
        if len(table) != len(names):
            raise ValueError(f"`--chance` must have {len(names)} rows like FILE, got {len(table)}.") from None
        return table if found is None else _aligned(table, found, names, args.chance)
    if len(numbers) not in (1, len(names)):
        raise ValueError(f"`--chance` must be one number or {len(names)}, one a task, got {len(numbers)}.")
    return np.array(np.broadcast_to(numbers, (len(names), len(names))))


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
    """A second table in the task order of the first."""
    odd = sorted(set(names) ^ set(output_names))
    if odd:
        raise ValueError(f"`{label}` must name the same tasks as the similarity file, got a difference: {odd[0]!r}.")
    places = [output_names.index(name) for name in names]
    return output[places][:, places]
