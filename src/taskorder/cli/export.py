"""`taskorder export`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from taskorder.cli.output import CANNOT_WRITE, as_line, output_file, say
from taskorder.files import gzip_text, whole_file

if TYPE_CHECKING:
    from taskorder.runs.index import RunIndex
    from taskorder.runs.store import Entry, Store

TABLES = (".csv", ".csv.gz", ".parquet")
MATRICES = (".csv", ".tsv", ".json", ".npz")
"""What --output may end in, with results and with a similarity."""
TABLE = ("order", "step", "task", "task_name", "position")

Columns = dict[str, list[Any]]

EPILOG = """\
One row for each task set, seed, order, step and task: how well the task is
done on test data after that many steps (0 is before training). Rows come in
the same order however the runs went.
  order     the tasks as they are learned, by number, like 2>0>1
  position  the step that learns the task, from 1
  chance    the loss to expect with shuffled labels
  accuracy_seen  (head = "class") where only classes learned so far compete
The other columns are the settings of the run.

FILE ends in .csv, .csv.gz or .parquet. With --task-set it holds the
similarity of the tasks of one set instead (mean over seeds); it ends in .csv,
.tsv, .json or .npz and is ready for `taskorder solve`. --by says how it was
measured, one of the `similarities` of the run: test (how the networks of
single tasks do on the others' test data), train, a share of the training data
like 1%, or curvature (over its largest entry: good for paths, not for errors).
--raw writes what was measured, row A to column B, not symmetric: losses over
chance, for `taskorder solve --ratios`, or -g.H.g for curvature.

With --whole FILE (.csv.gz) holds everything in the store, without repeating what
orders share, and FILE's .json describes it.

example:
  taskorder export results/quick.sqlite -o quick.csv
  taskorder export results/quick.sqlite -o set0.csv --task-set 0 --by test
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "export", help="write results as CSV or Parquet", description="Write results as a table.", epilog=EPILOG
    )
    parser.add_argument("store", metavar="STORE", help="the file that `taskorder run` writes")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="what to write")
    parser.add_argument(
        "--task-set", type=int, metavar="N", help="write the similarities of the tasks of this task set"
    )
    parser.add_argument("--by", metavar="NAME", help="how the similarity was measured (test)")
    parser.add_argument("--whole", action="store_true", help="write everything, without repeating what orders share")
    parser.add_argument("--raw", action="store_true", help="the asymmetric table that was measured")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.checks import counted
    from taskorder.runs.index import run_index
    from taskorder.runs.results import run_result
    from taskorder.runs.specs import KIND
    from taskorder.runs.store import Store

    if args.whole:
        return _whole(args)
    if args.task_set is None and (args.by is not None or args.raw):
        raise ValueError("`--by` and `--raw` must come with --task-set N.")
    path = output_file(args.output, *(TABLES if args.task_set is None else MATRICES), inputs=[args.store])
    writer = (
        _writer(path)
        if args.task_set is None
        else partial(_write_similarity, by="test" if args.by is None else args.by, raw=args.raw)
    )
    with Store(args.store, create=False) as store, run_index(store, KIND) as runs:
        if not runs:
            raise ValueError(f"`STORE` must hold finished runs of `taskorder run`, got none in {args.store}.")
        entries = runs if args.task_set is None else _of_set(runs, args.task_set)
        count = len(entries)
        try:
            with whole_file(path) as part:
                results = (run_result(store, entry) for entry in entries)
                writer(part, _parts(store, runs) if args.task_set is None else results)
        except OSError as problem:
            say(f"error: cannot write {path}: {problem.strerror or problem}")
            return CANNOT_WRITE, ""
    return 0, as_line(f"wrote {path}: {counted(count, 'run')}")


def _whole(args: argparse.Namespace) -> tuple[int, str]:
    from taskorder.checks import counted
    from taskorder.runs.archive import description_path, write_archive
    from taskorder.runs.store import Store

    path = Path(args.output)
    if args.task_set is not None or args.by is not None or args.raw or not path.name.endswith(".csv.gz"):
        raise ValueError("`--whole` must come alone, with an --output that ends in .csv.gz.")
    for written in (path, description_path(path)):
        output_file(written, inputs=[args.store])
    with Store(args.store, create=False) as store:
        try:
            count = write_archive(path, store)
        except OSError as problem:
            say(f"error: cannot write {path}: {problem.strerror or problem}")
            return CANNOT_WRITE, ""
    return 0, as_line(f"wrote {path} and {description_path(path).name}: {counted(count, 'run')}")


def _writer(path: Path) -> Callable[[Path, Iterator[Columns]], None]:
    ending = path.suffix.lower()
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise ValueError('Parquet needs pyarrow. Install it with: pip install "taskorder[parquet]". Or use .csv.gz.')
    return {".parquet": _write_parquet, ".gz": _write_csv_gz, ".csv": _write_csv}[ending]


def _of_set(runs: RunIndex, number: int) -> list[Entry]:
    """The runs of one task set, which must be of one kind."""
    from taskorder.runs.results import config_key

    low, high = runs.set_range()
    chosen = runs.of_set(number) if low <= number <= high else []
    if not chosen:
        raise ValueError(f"`--task-set` must name a finished task set, got {number}. Sets: {low} to {high}.")
    if len(set(map(config_key, chosen))) > 1:
        raise ValueError("`--task-set` needs a store with one config, got several. Use a store of its own for each.")
    return chosen


def _write_similarity(path: Path, results: Iterator[Columns], *, by: str, raw: bool) -> None:
    """The mean over seeds of a similarity, or of what it was computed from."""
    import numpy as np

    from taskorder.tables.loss_ratios import measured_matrix, measured_similarity
    from taskorder.tables.writing import write_similarity

    matrices, names = [], ()
    for result in results:
        names = result["task_set"]["names"]  # type: ignore[call-overload]
        tables: Any = result.get("similarities", {})  # older runs have none
        if by not in tables:
            raise ValueError(f"`--by` must be measured by the run, got {by}. Measured: {', '.join(tables) or 'none'}.")
        matrices.append(measured_matrix(tables[by]) if raw else measured_similarity(tables[by]))
    write_similarity(path, np.mean(matrices, axis=0), names)


def _parts(store: Store, runs: RunIndex) -> Iterator[Columns]:
    """The columns of one run after the other; only one is in memory."""
    from taskorder.runs.results import run_result

    settings, scores = runs.setting_names(), runs.score_names()
    for entry in runs:
        table = _table(run_result(store, entry), scores)
        rows = len(table["order"])
        fixed = {"kind": entry.kind, **{key: entry.params.get(key) for key in settings}}
        yield {**{key: [value] * rows for key, value in fixed.items()}, **table}


def _table(result: dict[str, Any], scores: Sequence[str]) -> Columns:
    """A row for each order, step and task of a result, from its rows for distinct prefixes; None for other scores."""
    from taskorder.runs.results import prefix_rows

    names = result["task_set"]["names"]
    rows = prefix_rows(result)
    table: Columns = {key: [] for key in (*TABLE, *scores)}
    tasks = range(len(names))
    for order in sorted(prefix for prefix in rows if len(prefix) == len(names)):
        positions = {task: position for position, task in enumerate(order, 1)}
        for step in range(len(order) + 1):
            row = rows[order[:step]]
            table["order"] += [">".join(map(str, order))] * len(names)
            table["step"] += [step] * len(names)
            table["task"] += tasks
            table["task_name"] += names
            table["position"] += [positions[task] for task in tasks]
            for key in scores:
                table[key] += result[key][row] if key in result else [None] * len(names)
    return table


def _write_csv(path: Path, parts: Iterator[Columns]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        _write_rows(file, parts)


def _write_csv_gz(path: Path, parts: Iterator[Columns]) -> None:
    with gzip_text(path) as file:
        _write_rows(file, parts)


def _write_rows(file: IO[str], parts: Iterator[Columns]) -> None:
    from taskorder.tables.separated import write_rows

    for number, columns in enumerate(parts):
        if number == 0:
            write_rows(file, [columns])
        write_rows(file, zip(*columns.values(), strict=True))


def _write_parquet(path: Path, parts: Iterator[Columns]) -> None:
    import pyarrow
    from pyarrow import parquet

    writer = None
    try:
        for columns in parts:
            table = pyarrow.table(columns, schema=None if writer is None else writer.schema)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
