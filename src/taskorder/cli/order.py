"""`taskorder order`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskorder.arguments import BadArgument
from taskorder.cli.output import CANNOT_WRITE, output_file, say
from taskorder.files import whole_file

if TYPE_CHECKING:
    from taskorder.portable import PortableOrder

EPILOG = """\
FILE is a plan (from `taskorder solve --json`) or an order.json made before; -
reads standard input. Without --to the order is written as order.json: task
names, class groups, order, rule, predicted error, digest of the similarities,
seeds and versions, for a paper's supplement or a colleague.

CLASSES is a JSON file, {"cats": [0, 1], "dogs": [2, 3]} or [[0, 1], [2, 3]],
or the same text: the ids that the classes of each task have in the data set.

frameworks (--to):
  avalanche      class_order of class_incremental_benchmark (Avalanche 0.6)
  avalanche-nc   fixed_class_order of nc_benchmark, SplitMNIST, ...
  continuum      class_order of ClassIncremental
  mammoth        args.class_order, which there is the inverse permutation
  pycil          init_cls and increment, and class_order for utils/data.py
  facil          num-tasks, nc-first-task, and class_order for dataset_config.py
  libcontinual   task_num, init_cls_num, inc_cls_num and class_order
  renate         class_groupings
  clarena        train_tasks, counted from 1
With --json, note that JSON keys are text: avalanche-nc wants the keys of
per_exp_classes as numbers.
A re-ordered Avalanche benchmark object:
  from taskorder.adapters.avalanche import reorder_benchmark

example:
  taskorder solve table.csv --json > plan.json
  taskorder order plan.json --classes '[[0, 1], [2, 3], [4, 5]]' -o order.json
  taskorder order order.json --to mammoth
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "order",
        help="write an order for other frameworks",
        description="Write an order as order.json, or as the settings of a framework.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="a plan or an order; see below")
    add("--to", dest="framework", metavar="FRAMEWORK", help="print the settings of a framework; see below")
    add("--classes", dest="class_groups", metavar="CLASSES", help="the class ids of each task; see below")
    add("--class-names", metavar="FILE", help="a text file with one class name a line, from class 0")
    add("--num-classes", type=int, metavar="N", help="classes of the data set, if more than the tasks have")
    add("--training-seeds", metavar="N,N", help="seeds of the training runs, kept apart from the order's own")
    add("--json", action="store_true", help="with --to: print the settings as JSON")
    add("-o", "--output", metavar="OUT", help="write to this file instead")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.adapters import settings, usage

    if args.output is not None:
        output_file(args.output, inputs=(args.file, args.class_groups, args.class_names))
    order = _read(args)
    if args.framework is None:
        text = order.to_json() + "\n"
    elif args.json:
        text = json.dumps(settings(order, args.framework), indent=2, default=lambda array: array.tolist()) + "\n"
    else:
        text = usage(order, args.framework)
    if args.output is None:
        return 0, text
    try:
        with whole_file(args.output) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as problem:
        say(f"error: cannot write {args.output}: {problem.strerror or problem}")
        return CANNOT_WRITE, ""
    return 0, f"wrote {args.output}: {' -> '.join(order.named_order)}\n"


def _read(args: argparse.Namespace) -> PortableOrder:
    """The order of FILE, with what the options add to a plan."""
    from taskorder.portable import PortableOrder
    from taskorder.records import Plan

    text = _text(args.file)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"`{args.file}` must be a plan or an order in JSON, got a parse error: {problem}.") from None
    if isinstance(document, dict) and "schema" in document:
        given = ("class_groups", "class_names", "num_classes", "training_seeds")
        for option in given:
            if getattr(args, option) is not None:
                raise BadArgument(
                    f"`{option}` must come with a plan, got an order.json, which has its own. Leave it out."
                )
        args.left_out = given
        return PortableOrder.from_json(text)
    if not isinstance(document, dict) or "error_path" not in document:
        raise ValueError(f"`{args.file}` must be a plan (taskorder solve --json) or an order.json, got other JSON.")
    for option in ("class_names", "num_classes"):
        if args.class_groups is None and getattr(args, option) is not None:
            raise BadArgument(f"`{option}` must come with --classes, got none.")
    return PortableOrder.from_plan(
        Plan.from_json(text),
        class_groups=() if args.class_groups is None else _classes(args.class_groups),
        class_names=() if args.class_names is None else _text(args.class_names).rstrip().splitlines(),
        num_classes=args.num_classes,
        training_seeds=() if args.training_seeds is None else _seeds(args.training_seeds),
    )


def _classes(value: str) -> Any:
    """The value of --classes: a JSON text, or the path of one."""
    text = value if value.lstrip()[:1] in ("[", "{") else _text(value)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"`--classes` must be JSON like [[0, 1], [2, 3]], got a parse error: {problem}.") from None
    groups = list(document.values()) if isinstance(document, dict) else document
    if not isinstance(groups, list) or not groups or not all(isinstance(group, list) for group in groups):
        raise ValueError(f"`--classes` must list the classes of each task, like [[0, 1], [2, 3]], got {text[:60]!r}.")
    return document


def _seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"`--training-seeds` must be whole numbers with commas, got {text!r}.") from None


def _text(path: str) -> str:
    """The contents of a text file, or of standard input."""
    import sys

    try:
        if path == "-":
            if sys.stdin is None:
                raise ValueError("`standard input` must be open to read from it, got a closed one. Name a file.")
            return sys.stdin.read()
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise ValueError(f"`{path}` must be a readable file, got: {problem.strerror or problem}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"`{path}` must be UTF-8 text, got other bytes.") from None
