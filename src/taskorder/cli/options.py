"""Options that several commands share: tables of similarities or losses, constraints, and the names of options."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taskorder.checks import Floats
    from taskorder.given_table import GivenTable

CARD = "card"
"""What `order --to` writes instead of the settings of a framework: a section of a model card."""

FILES = """\
FILE is a P x P table of at most 2000 tasks: a transfer table (row: the task
that was learned, column: the task that is tested; 1 is perfect, 0 is chance),
or a similarity (symmetric, 1 on the diagonal). CSV, TSV or semicolons (with or
without a header row and a name column), JSON, NPY, NPZ or a sheet of a workbook
(table.xlsx or table.xlsx:Sheet2; needs the extra excel); - reads standard
input. Decimal commas are read between semicolons or tabs, and 45 % as 0.45.
Missing cells of a similarity, or a whole triangle, are filled from the other
side of its diagonal. Tasks are called by their names in FILE, else A, B, C, ...
(T01, T02, ... past 26 tasks).
"""

TABLE_KINDS = """
With --losses, --ratios or --accuracy, FILE is a P x P table of how a network
that has learned the task of the row does on the task of the column:
  --losses    losses; --chance is the loss with shuffled labels
  --ratios    loss ratios: losses over chance losses, where 0 is perfect
  --accuracy  accuracies from 0 to 1; --chance is the accuracy of guessing
They become knowledge, 1 - ratio, where an accuracy stands for the loss
1 - accuracy; each direction takes a quarter from the other one. With
--retention 1 they become the similarity of the paper,
1 - (sqrt(ratio from A to B) + sqrt(ratio from B to A)) / 2.
Rows and columns list the tasks in the same order.
"""

RETENTION = """
The retention is the share of its knowledge that the learner keeps when it
learns the next task: about 0.1 for a plain network, more with replay or a head
a task; 0 means that only the last task counts, 1 is the theory of the paper,
which keeps everything. `taskorder plan` measures it. One number, one a task
(0.1,0.1,0.3), or by name (A=0.1,B=0.3,C=0.1).
"""


TABLE_OPTIONS = ("losses", "ratios", "accuracy")


def option_names(parser: argparse.ArgumentParser, args: argparse.Namespace) -> dict[str, str]:
    """What the command in `args` calls each of its arguments, by `dest`: `--task-set`, or `DATA` without dashes.

    The `dest` of an argument is the library's name of the parameter, so that a `BadArgument` can be shown with the
    names that the command line has. Those in `args.left_out` have no say here: a file has these settings.
    """
    left_out = getattr(args, "left_out", ())
    names: dict[str, str] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            chosen = getattr(args, action.dest)
            names |= option_names(action.choices[chosen], args)
        elif action.dest not in left_out:
            names[action.dest] = action.option_strings[-1] if action.option_strings else str(action.metavar)
    return names


def option_strings(parser: argparse.ArgumentParser, args: argparse.Namespace) -> list[str]:
    """The options of the command in `args`, as they are typed."""
    known: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            chosen = getattr(args, action.dest)
            known += [] if chosen is None else option_strings(action.choices[chosen], args)
        known += action.option_strings
    return known


def add_table(parser: argparse.ArgumentParser) -> None:
    """The arguments that name the tables."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="the table; see below")
    parser.add_argument(
        "--demo", action="store_true", help="use the table that ships with taskorder: 12 CIFAR-100 tasks"
    )
    add_output_similarity(parser)


def add_output_similarity(parser: argparse.ArgumentParser) -> None:
    """The option that names a second table."""
    parser.add_argument(
        "--output-similarity", dest="output", metavar="FILE",
        help="similarity of the tasks' outputs (default: one shared readout)",
    )  # fmt: skip


def add_table_kind(parser: argparse.ArgumentParser) -> None:
    """The options that say that FILE holds losses, loss ratios or accuracies instead of similarities."""
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--losses", action="store_true", help="FILE holds losses; needs --chance")
    kinds.add_argument("--ratios", action="store_true", help="FILE holds loss ratios, where 0 is perfect")
    kinds.add_argument("--accuracy", action="store_true", help="FILE holds accuracies; needs --chance")
    parser.add_argument(
        "--chance",
        metavar="C",
        help="what shuffled labels give: a P x P file, one number for all tasks, or one for each column (0.5,0.5,0.3)",
    )


def add_constraints(parser: argparse.ArgumentParser) -> None:
    """The options that say which orders are allowed and what counts."""
    add = parser.add_argument
    add(
        "--weights",
        metavar="W",
        help="importance: A=2,B=0.5 (others 1), or one number a task, or a file of A,2 or A=2 lines",
    )
    add("--before", action="append", default=[], metavar="A:B", help="task A before task B; repeat for more")
    add("--first", metavar="A", help="the task to start with")
    add("--last", metavar="A", help="the task to end with")
    add(
        "--group",
        dest="groups",
        action="append",
        default=[],
        metavar="A,B",
        help="tasks that stay together, in any order; repeat for more groups",
    )
    add("--learned", metavar="A,B", help="tasks already learned, in that order; quote names with commas: '\"a,b\",c'")


def add_law(parser: argparse.ArgumentParser) -> None:
    """The options that say which law the learner follows."""
    add = parser.add_argument
    add("--retention", metavar="D", help="share of its knowledge that the learner keeps at the next task (0.13)")
    add("--objective", metavar="O", help="score: mean knowledge; error: sum of (1 - knowledge)^2 (score; 1: error)")
    add("--kind", metavar="K", help="what FILE holds: similarity or transfer (told by its symmetry)")


def add_repair(parser: argparse.ArgumentParser) -> None:
    """The option that refuses a table that is no correlation matrix."""
    parser.add_argument(
        "--repair",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="move a table that is no correlation matrix to the nearest one and say so (default), or refuse it",
    )


def seconds(text: str) -> float | None:
    """The value of --time-limit; argparse names this function in its message."""
    return None if text.lower() == "none" else float(text)


def read_problem(args: argparse.Namespace) -> tuple[Floats, dict[str, Any], tuple[str, ...]]:
    """The table, the other arguments of `solve` and `compare`, and notes on where the table comes from."""
    given, names, output = read_tables(args)
    retention = retention_of(args.retention)
    table, notes = table_of(args, given, names, similarity=retention == 1)
    made = any(getattr(args, name) for name in TABLE_OPTIONS)
    options: dict[str, Any] = {
        "retention": retention,
        "objective": args.objective,
        "kind": args.kind or (("similarity" if retention == 1 else "transfer") if made else None),
        "names": names,
        "output": output,
        **constraints_of(args, names),
        "time_limit": args.time_limit,
        "seed": args.seed,
        "repair": args.repair,
    }
    return table, options, notes


def retention_of(text: str | None) -> float | list[float] | dict[str, float] | None:
    """The value of --retention: one number, one a task, or NAME=NUMBER for each.

    >>> retention_of("0.1"), retention_of("A=0.1,B=0.3"), retention_of("0.1, 0.3")
    (0.1, {'A': 0.1, 'B': 0.3}, [0.1, 0.3])
    """
    if text is None:
        return None
    from taskorder.tables.separated import split_names

    parts = split_names(text, "retention")
    try:
        if all("=" in part for part in parts) and parts:
            pairs = [part.rpartition("=") for part in parts]
            return {name.strip(): float(number) for name, _, number in pairs}
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if not numbers:
        raise ValueError(f"`--retention` must be a number in [0, 1], one a task, or A=0.1,B=0.3, got {text!r}.")
    return numbers[0] if len(numbers) == 1 else numbers


def table_of(
    args: argparse.Namespace, given: GivenTable, names: tuple[str, ...], *, similarity: bool
) -> tuple[Floats, tuple[str, ...]]:
    """The table in FILE, where cells may be missing, or one computed from its losses, loss ratios or accuracies, and
    notes on that."""
    from taskorder.given_table import TRANSFER, checked_kind, completed
    from taskorder.tables.knowledge import transfer_table
    from taskorder.tables.loss_ratios import (
        clip_similarity,
        loss_ratios,
        loss_ratios_from_accuracy,
        similarity_from_loss_ratios,
    )

    kind = next((name for name in TABLE_OPTIONS if getattr(args, name)), None)
    if args.chance is not None and kind not in ("losses", "accuracy"):
        raise ValueError("`--chance` must come with --losses or --accuracy, got neither.")
    if kind is None:
        complete = completed(given, args.file or "table", checked_kind(args.kind))
        return complete.values, complete.notes
    if args.demo:
        raise ValueError(f"`--{kind}` must come with a FILE, got --demo, which is a table of similarities.")
    if kind != "ratios" and args.chance is None:
        guess = "0.693 (log 2)" if kind == "losses" else "0.5"
        raise ValueError(
            f"`--{kind}` must come with --chance, got none. Give a file, or a number: {guess} for two equal classes."
        )
    table = completed(given, args.file, TRANSFER).values
    if kind == "ratios":
        ratios = table
    else:
        ratios = (loss_ratios if kind == "losses" else loss_ratios_from_accuracy)(table, _chance(args, names))
    source = "loss ratios" if kind == "ratios" else kind
    paper, raised = clip_similarity(similarity_from_loss_ratios(ratios))  # refuses ratios that are none
    if not similarity:
        return transfer_table(1 - ratios), (*given.notes, f"knowledge from the {source} in the file")
    notes = [*given.notes, f"similarity from the {source} in the file"]
    if raised:
        notes.append(f"{raised} pair{'s' if raised > 1 else ''} of tasks with similarity below -1: taken as -1")
    return paper, tuple(notes)


def _chance(args: argparse.Namespace, names: tuple[str, ...]) -> Floats:
    """The P x P table that --chance stands for."""
    import numpy as np

    from taskorder.given_table import GivenTable, aligned
    from taskorder.tables.reading import read_similarity

    try:
        numbers = [float(cell) for cell in args.chance.split(",")]
    except ValueError:
        if args.chance == "-" and args.file == "-":
            raise ValueError("`--chance` must be a file when FILE is -, got - twice.") from None
        table, chance_names = read_similarity(args.chance, kind="transfer")
        if len(table) != len(names):
            raise ValueError(f"`--chance` must have {len(names)} rows like FILE, got {len(table)}.") from None
        return aligned(GivenTable(table, chance_names), names, args.chance)
    if len(numbers) not in (1, len(names)):
        raise ValueError(f"`--chance` must be one number or {len(names)}, one a task, got {len(numbers)}.")
    return np.array(np.broadcast_to(numbers, (len(names), len(names))))


def read_tables(args: argparse.Namespace) -> tuple[GivenTable, tuple[str, ...], Floats | None]:
    """The table, where cells may be missing, the names of its tasks, and the output similarity in the same order."""
    from taskorder.checks import task_names
    from taskorder.given_table import SIMILARITY, GivenTable, aligned
    from taskorder.tables.reading import demo_similarity, read_similarity, read_table

    if args.demo == (args.file is not None):
        raise ValueError(f"Give a FILE to read or --demo, and not both. See: taskorder {args.command} --help")
    if args.file == "-" and args.output == "-":
        raise ValueError("`--output-similarity` must be a file when FILE is -, got - twice.")
    given = GivenTable(*demo_similarity()) if args.demo else read_table(args.file)[0]
    names = task_names(given.names, len(given.values))
    if args.output is None:
        return given, names, None
    return given, names, aligned(GivenTable(*read_similarity(args.output, kind=SIMILARITY)), names, args.output)


def constraints_of(args: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """What `add_constraints` read, in the form that `solve` and `plan` take."""
    from taskorder.tables.reading import read_weights
    from taskorder.tables.separated import split_names

    return {
        "weights": None if args.weights is None else read_weights(args.weights, names),
        "before": [_pair(text, names) for text in args.before],
        "first": args.first,
        "last": args.last,
        "learned": split_names(args.learned or "", "learned"),
        "groups": [split_names(text, "groups") for text in args.groups],
    }


def _pair(text: str, names: tuple[str, ...]) -> tuple[str, str]:
    """A:B as two task names; names may hold colons themselves as long as only one split gives two known tasks."""
    splits = [(text[:i], text[i + 1 :]) for i, mark in enumerate(text) if mark == ":"]
    known = [(a.strip(), b.strip()) for a, b in splits if a.strip() in names and b.strip() in names]
    if len(known) == 1:
        return known[0]
    if len(known) > 1:
        raise ValueError(
            f"`--before` must be A:B, got {text!r}, which can be split in {len(known)} ways. Rename a task."
        )
    if not splits:
        raise ValueError(f"`--before` must be A:B (A before B), got {text!r}.")
    from taskorder.checks import some_names, task_index

    if len(splits) == 1:
        for task in splits[0]:
            task_index(task, names, "before")  # says which of both is unknown
    raise ValueError(f"`--before` must be A:B with two known tasks, got {text!r}. Tasks: {some_names(names)}.")
