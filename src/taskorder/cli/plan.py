"""`taskorder plan`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskorder.cli.learning import add_learner, chosen_strategy
from taskorder.cli.onray import add_ray, on_ray, worker_share
from taskorder.cli.options import add_constraints, constraints_of
from taskorder.cli.output import CANNOT_WRITE, INTERRUPTED, output_file, page, say
from taskorder.files import whole_file

if TYPE_CHECKING:
    from rich.table import Table

    from taskorder.datasets.task_files import TaskFiles
    from taskorder.planning.plan import PilotResult

TARGETS = ("classes", "regression")
MATCHINGS = ("by-name", "by-position")
TABLE_BYTES = 2**22
"""Larger files are not read twice to see whether they hold a table of similarities."""

EPILOG = """\
DATA is a table (CSV, TSV, JSON lines .jsonl, Parquet), a folder of images
(cat/1.png or train/cat/1.png), an NPZ archive (inputs, labels), or a data set of
`taskorder data list`. Of the last three only rows to train on are used.

  several DATA            one task each; a folder of tables means all of them
  --column NAME           one task for each value of a column of one table
  --tasks SPEC.toml       groups of classes: a table [tasks] with lines like
                          pets = ["cat", "dog"]
  tasks.toml              a table for each task: lines like pets = "pets.csv" below
                          [tasks], and above text = "COLUMN", label = "COLUMN";
                          without label the tasks are texts for a language model
  one DATA alone          two classes make a task, in the order of the data

In tables, columns of numbers are features, and --text names columns of text to
learn from instead. Columns are matched by name. The label is the column called
label, or the last one, or --label. Numbers with fractions are predicted
(regression), all other labels are classes; --target says otherwise.

A class of one task is the class of the same name in another, and each has an
output of its own. With --labels by-position the first class of every task
shares an output, and so on. Where no class is in two tasks, the order goes by
pairs of tasks.

learners:
  mlp, cnn                the paper's networks
  sklearn:CLASS           like sklearn:SGDClassifier(loss="log_loss",alpha=0.01)
  torch:MODULE:FACTORY    FACTORY() of MODULE.py gives a module, a logit a class;
                          images come with their channels first
  hf:MODEL_PATH           fine-tunes a model of transformers, text or images;
                          hf:MODEL_PATH(lora=8,max_length=128) an adapter of it
The default is mlp; for text sklearn:SGDClassifier(loss="log_loss") on hashed
words and pairs of words. --replay 20 keeps 20 examples of each class and mixes
them into the batches of later tasks; --strategy ewc (or lwf, l2init) is for
networks. With --heads task a task is learned and tested on the outputs of its
own classes.

--budget is a number of fits (200) or a time (30s, 5min): single tasks are fitted
first, then pairs of them. Or it is a share of one training run on all the data
("0.25 runs") or a number of examples ("5000 examples"): then tasks race for the
last places on growing samples, and --pilot and --seeds do not count; a race
needs tasks with classes in common.
Every finished fit is stored in FOLDER: after Ctrl-C or a failure the same
command continues.

--ray fits on the workers of a Ray cluster: without a value on this machine,
--ray auto on the cluster of this machine, --ray ray://HOST:10001 on another
(docs/scale.md).

FOLDER then holds plan.json, order.json for other frameworks (with the classes
of the tasks where these are groups of classes), transfer.csv (what a learner of
each task knows of every task), similarity.csv, losses.csv (a row for each seed,
sequence of tasks that was learned, and task) and report.html.

example:
  taskorder plan digits --pilot 20% --labels by-position
  taskorder plan tickets/ --text subject --text body --label queue -o plan.json
  taskorder plan customers.csv --column country --learner sklearn:SGDClassifier
  taskorder plan north.csv south.csv east.csv --budget 30s --folder regions
  taskorder plan customers.csv --column country --last Spain --weights Spain=2
  taskorder plan tasks.toml --learner "hf:models/minilm(lora=8)" --epochs 3
  taskorder plan digits --pilot 20% --heads task --replay 5
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "plan",
        help="find an order for your own tasks from a small sample",
        description="Find an order for your own tasks: fit a learner to a small sample of their data.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("name_or_path", nargs="+", metavar="DATA", help="the data of the tasks; see below")
    # what is learned, and by whom
    cuts = parser.add_mutually_exclusive_group()
    cuts.add_argument("--tasks", metavar="SPEC.toml", help="how to cut the data into tasks")
    cuts.add_argument("--column", metavar="NAME", help="the column that says which task a row belongs to")
    add("--text", action="append", default=[], metavar="NAME", help="a column of text to learn from; may be repeated")
    add("--label", metavar="NAME", help="the column of the labels (label, else the last one)")
    add("--target", choices=TARGETS, help="what the labels are (by their values)")
    add(
        "--labels",
        dest="matching",
        choices=MATCHINGS,
        default=MATCHINGS[0],
        help="which classes of different tasks are the same (by-name)",
    )
    add_learner(parser)
    # how much of it is tried, and what the order must obey
    add(
        "--pilot",
        type=share,
        default=0.01,
        metavar="SIZE",
        help="examples a task: a share (1%%, and at least 15 of each class) or a number (200)",
    )
    add("--seeds", type=int, default=3, metavar="N", help="seeds of models and shuffles (3)")
    add("--rule", default="auto", help="auto, or a rule of taskorder solve (auto)")
    add("--retention", type=float, metavar="D", help="share of its knowledge that the learner keeps (from pairs)")
    add("--budget", default="200", metavar="B", help='fits (200), time (30s) or training cost ("0.25 runs")')
    add("--no-mix", dest="mix", action="store_false", help="do not compare the order with all tasks mixed")
    add_constraints(parser)
    add(
        "--seed",
        dest="sample_seed",
        type=int,
        default=0,
        metavar="N",
        help="random seed of the sample and the intervals (0)",
    )
    # what is written
    add("--folder", default="plan", metavar="FOLDER", help="where to write (plan)")
    add("-o", "--output", dest="plan_file", metavar="FILE", help="write the plan to this file as well (.json)")
    add("--json", action="store_true", help="print the plan as JSON instead of a table")
    add_ray(parser)
    parser.set_defaults(run=run)


def share(text: str) -> float | int:
    """The value of --pilot.

    >>> share("1%"), share("0.05"), share("200")
    (0.01, 0.05, 200)
    """
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        return float(text) if "." in text else int(text)
    except ValueError:
        rule = "must be a share like 5% or 0.05, or a number of examples a task like 200"
        raise argparse.ArgumentTypeError(f"{rule}, got {text!r}.") from None


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.cli.progress import Watcher
    from taskorder.datasets.task_files import TaskSpec, read_task_spec
    from taskorder.datasets.task_list import read_data
    from taskorder.learners.named import default_name, keep_compiled_for, named_learner
    from taskorder.planning.plan import run_pilot
    from taskorder.runs.store_file import StoreError

    workers = worker_share(args)
    folder = _folder(args.folder)
    target = None if args.plan_file is None else output_file(args.plan_file, ".json", inputs=args.name_or_path)
    spec = read_task_spec(args.tasks) if args.tasks else TaskSpec(column=args.column)
    spec = replace(
        spec, text=tuple(args.text), label=args.label, target=args.target, by_position=args.matching == "by-position"
    )
    _refuse_table(args.name_or_path)
    files = read_data(args.name_or_path, spec)
    tasks = files.tasks
    name = args.learner or default_name(tasks[0])
    learner = named_learner(
        name, tasks, epochs=args.epochs, batch_size=args.batch_size, heads=args.heads, strategy=chosen_strategy(args)
    )
    keep_compiled_for(name)
    store = folder / "fits.sqlite"
    with (
        Watcher(draw=sys.stderr.isatty(), label="fits") as watcher,
        nullcontext() if workers is None else on_ray(args.address, workers),
    ):
        if workers is not None:
            from taskorder.learners.ray import RayLearner, carry_module

            if name.startswith("torch:"):
                carry_module(name.split(":")[1])
            learner = RayLearner(learner, workers)

        try:
            result = run_pilot(
                tasks, learner, args.pilot, args.rule, args.seeds, budget=args.budget, retention=args.retention,
                mix=args.mix, sample_seed=args.sample_seed,
                store=store, report=watcher.count_or_stop, **constraints_of(args, tuple(task.name for task in tasks)),
            )  # fmt: skip
        except StoreError as problem:
            say(f"error: {problem}")
            return CANNOT_WRITE, ""
        except KeyboardInterrupt:
            say(f"interrupted; what is finished is kept in {store}, and the same command goes on from there")
            return INTERRUPTED, ""
    result = result._replace(plan=_noted(result, files.notes))
    try:
        written = _write(result, files, folder)
        if target is not None:
            _write_text(target, result.plan.to_json() + "\n")
    except OSError as problem:
        say(f"error: cannot write to {problem.filename or folder}: {problem.strerror}")
        return CANNOT_WRITE, result.plan.to_json() + "\n" if args.json else ""
    if args.json:
        return 0, result.plan.to_json() + "\n"
    lines = [*result.plan.summary().splitlines()[1:], f"wrote   {', '.join(written)} in {folder}"]
    if target is not None:
        lines.append(f"wrote   {target}")
    return 0, page(lambda width: (pilot_table(result, width), lines))


def _folder(name: str) -> Path:
    """Where to write, if that can be a folder."""
    folder = Path(name)
    there = next(place for place in (folder, *folder.parents, Path()) if place.exists())
    if not there.is_dir():
        raise ValueError(f"`--folder` must be a folder, got {name!r}, and {there} is a file. Choose another.")
    return folder


def _refuse_table(data: Sequence[str]) -> None:
    """Refuse a file of similarities: it holds no examples to learn from."""
    from taskorder.tables.reading import read_similarity

    if len(data) > 1 or not Path(data[0]).is_file():
        return
    try:
        table, _ = read_similarity(data[0], max_bytes=TABLE_BYTES)
    except ValueError:
        return
    if (table.diagonal() == 1).all():
        raise ValueError(
            f"`DATA` must hold examples and labels, got {data[0]}, a table of similarities. "
            f"Find an order for it with: taskorder solve {data[0]}"
        )


def pilot_table(result: PilotResult, width: int | None) -> Table:
    """One row a step: the task, how much it teaches of the others, and what to expect of it at the end."""
    import numpy as np

    from taskorder.cli.render import folded_table

    plan, measured = result.plan, result.measured
    prediction = plan.prediction
    assert prediction is not None
    P = len(plan.names)
    known = measured.knowledge().mean(axis=0)[[measured.sequences.index((task,)) for task in range(P)]]
    others = (known.sum(axis=1) - np.diagonal(known)) / max(P - 1, 1)
    low, high = prediction.tasks_low or prediction.tasks, prediction.tasks_high or prediction.tasks
    rows = [
        (str(step), plan.names[task], str(len(result.sample[task].targets)), f"{100 * known[task, task]:z.0f} %",
         f"{100 * others[task]:z.0f} %",
         f"{100 * prediction.tasks[task]:.0f} % [{100 * low[task]:.0f}, {100 * high[task]:.0f}]")
        for step, task in enumerate(plan.order, start=1)
    ]  # fmt: skip
    headers = ["step", "task", "examples", "known alone", "of the others", f"{prediction.unit} at the end"]
    return folded_table(headers, rows, "task", width)


def _noted(result: PilotResult, notes: tuple[str, ...]) -> Any:
    return replace(result.plan, notes=(*notes, *result.plan.notes))


def _write(result: PilotResult, read: TaskFiles, folder: Path) -> list[str]:
    """Write everything to the folder; the names of the files."""
    from taskorder.portable import PortableOrder
    from taskorder.tables.writing import write_similarity

    plan, table = result.plan, result.transfer
    folder.mkdir(parents=True, exist_ok=True)
    names = plan.names
    measured = result.measured
    files = {
        "plan.json": plan.to_json() + "\n",
        "order.json": PortableOrder.from_plan(
            plan, class_groups=read.class_groups, class_names=read.class_names
        ).to_json() + "\n",
        "losses.csv": _text(
            [["seed", "learned", "test", "loss", "chance", "accuracy"]]
            + [
                [seed, ">".join(names[task] for task in sequence), names[b], measured.losses[s, row, b],
                 measured.chance[s, row, b], "" if measured.accuracy is None else measured.accuracy[s, row, b]]
                for s, seed in enumerate(table.seeds)
                for row, sequence in enumerate(measured.sequences)
                for b in range(len(names))
            ]
        ),
    }  # fmt: skip
    (folder / "rehearsal.csv").unlink(missing_ok=True)  # that of an older version
    for name, text in files.items():
        _write_text(folder / name, text)
    write_similarity(folder / "similarity.csv", table.similarity(), names)
    write_similarity(folder / "transfer.csv", result.table, names)
    _write_text(folder / "report.html", _report(result, folder))
    plan_file, order_file, *others = files
    return [plan_file, order_file, "transfer.csv", "similarity.csv", *others, "report.html"]


def _write_text(path: Path, text: str) -> None:
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def _text(rows: Iterable[Sequence[Any]]) -> str:
    """CSV text."""
    import io

    from taskorder.tables.separated import write_rows

    paper = io.StringIO()
    write_rows(paper, rows)
    return paper.getvalue()


def _report(result: PilotResult, folder: Path) -> str:
    """The page about the plan and what it rests on."""
    from taskorder.report.document import page_html
    from taskorder.report.plan_numbers import plan_numbers
    from taskorder.report.plan_page import plan_page

    plan = result.plan
    numbers = plan_numbers(plan, result.table, time_limit=5.0)
    title = f"The order of {len(plan.names)} tasks, from a pilot"
    return page_html(plan_page(numbers, title, "a pilot"), f"taskorder report {folder}")
