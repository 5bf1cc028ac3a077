"""`taskorder order`."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from taskorder.arguments import BadArgument, unknown
from taskorder.cli.options import CARD
from taskorder.cli.output import CANNOT_WRITE, as_line, output_file, say
from taskorder.files import whole_file

if TYPE_CHECKING:
    from taskorder.portable import PortableOrder
    from taskorder.records import Plan
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

tools that fine-tune one model on several data sets (--to):
  llamafactory   YAML of LLaMA-Factory; data sets are names in dataset_info.json
  axolotl        YAML; data sets are paths, or entries with a path and a type
  swift          flags of ms-swift; data sets are ids or paths
  trl            Python: a train() a task, or one run with a check of its order
  transformers   the same for the plain Trainer
Each comes with what it relies on and what undoes it. DATASETS is a JSON file
or text, {"cats": "cats.jsonl", "dogs": "dogs.jsonl"}, where tasks and data sets
differ in name. A task that is visited twice may have a list. See
docs/finetune_tools.md.

  card           Markdown for the README.md of a model: the order, what was
                 predicted, how sure that was and how it was measured

A re-ordered Avalanche benchmark object:
  from taskorder.adapters.avalanche import reorder_benchmark

example:
  taskorder solve table.csv --json > plan.json
  taskorder order plan.json --classes '[[0, 1], [2, 3], [4, 5]]' -o order.json
  taskorder order order.json --to mammoth
  taskorder order plan.json --to llamafactory >> train.yaml
"""


MAX_TEXT_BYTES = 2**28


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "order",
        help="write an order for other frameworks",
        description="Write an order as order.json, as the settings of a framework or tool, or as a model card.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="a plan or an order; see below")
    add("--to", dest="framework", metavar="FRAMEWORK", help="print settings, or a model card; see below")
    add("--datasets", metavar="DATASETS", help="what a fine-tuning tool calls the data set of each task; see below")
    add("--classes", dest="class_groups", metavar="CLASSES", help="the class ids of each task; see below")
    add("--class-names", metavar="FILE", help="a text file with one class name a line, from class 0")
    add("--num-classes", type=int, metavar="N", help="classes of the data set, if more than the tasks have")
    add("--training-seeds", metavar="N,N", help="seeds of the training runs, kept apart from the order's own")
    add("--json", action="store_true", help="with --to: print the settings as JSON")
    add("-o", "--output", metavar="OUT", help="write to this file instead")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.adapters import FRAMEWORKS, TOOLS, settings, usage

    if args.output is not None:
        output_file(args.output, inputs=(args.file, args.class_groups, args.class_names, args.datasets))
    order, plan = _read(args)
    datasets = None if args.datasets is None else _datasets(args)
    if args.framework is None:
        text = order.to_json() + "\n"
    elif args.framework == CARD:
        text = _card(args, plan)
    elif args.framework not in (*FRAMEWORKS, *TOOLS):
        raise unknown("framework", args.framework, (*FRAMEWORKS, *TOOLS, CARD))
    elif args.json:
        values = settings(order, args.framework, datasets)
        text = json.dumps(values, indent=2, default=lambda array: array.tolist()) + "\n"
    else:
        text = usage(order, args.framework, datasets)
    if args.output is None:
        return 0, text
    try:
        with whole_file(args.output) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as problem:
        say(f"error: cannot write {args.output}: {problem.strerror or problem}")
        return CANNOT_WRITE, ""
    return 0, as_line(f"wrote {args.output}: {' -> '.join(order.named_order)}")


def _card(args: argparse.Namespace, plan: Plan | None) -> str:
    """The section of a model card."""
    if plan is None:
        raise ValueError(
            f"`{args.file}` must be a plan (taskorder solve --json) for a card, got an order.json without predictions."
        )
    if args.json:
        raise BadArgument("`json` must come with settings, got a card. `taskorder solve --json` prints the plan.")
    return plan.to_markdown()


def _datasets(args: argparse.Namespace) -> Any:
    """The value of --datasets."""
    from taskorder.adapters import TOOLS

    if args.framework not in TOOLS:
        raise BadArgument(
            f"`datasets` must come with `--to` and one of {', '.join(TOOLS)}, got {args.framework or 'none'}."
        )
    return _json_value("--datasets", args.datasets, '{"cats": "cats.jsonl"}')


def _read(args: argparse.Namespace) -> tuple[PortableOrder, Plan | None]:
    """The order of FILE, with what the options add to a plan, and the plan where it is one."""
    from taskorder.parsing import json_values
    from taskorder.portable import PortableOrder, order_of_values

    text = _text(args.file)
    try:
        document = json_values(text)
    except ValueError as problem:
        raise ValueError(f"`{args.file}` must be a plan or an order in JSON, got a parse error: {problem}.") from None
    if isinstance(document, dict) and "schema" in document:
        given = ("class_groups", "class_names", "num_classes", "training_seeds")
        for option in given:
            if getattr(args, option) is not None:
                raise BadArgument(
                    f"`{option}` must come with a plan, got an order.json, which has its own. Leave it out."
                )
        args.left_out = given
        return order_of_values(document), None
    if not isinstance(document, dict) or "error_path" not in document:
        raise ValueError(f"`{args.file}` must be a plan (taskorder solve --json) or an order.json, got other JSON.")
    for option in ("class_names", "num_classes"):
        if args.class_groups is None and getattr(args, option) is not None:
            raise BadArgument(f"`{option}` must come with --classes, got none.")
    plan = _plan(document, args.file)
    order = PortableOrder.from_plan(
        plan,
        class_groups=() if args.class_groups is None else _classes(args.class_groups),
        class_names=() if args.class_names is None else _class_names(args.class_names),
        num_classes=args.num_classes,
        training_seeds=() if args.training_seeds is None else _seeds(args.training_seeds),
    )
    return order, plan


def _plan(document: dict[str, Any], file: str) -> Plan:
    """The plan of FILE; what in it cannot be true together is left out, and said."""
    from taskorder.records import plan_of_values
    from taskorder.report.contradictions import without_contradictions
    from taskorder.typed import Misfit

    try:
        plan = plan_of_values(document)
    except Misfit as problem:
        raise ValueError(f"`{file}` must be a plan as `taskorder solve --json` writes it, got {problem}.") from None
    plan, contradictions = without_contradictions(plan)
    for said in contradictions:
        say(f"warning: {said}")
    return plan


def _classes(value: str) -> Any:
    """The value of --classes."""
    document = _json_value("--classes", value, "[[0, 1], [2, 3]]")
    groups = list(document.values()) if isinstance(document, dict) else document
    if not isinstance(groups, list) or not groups or not all(isinstance(group, list) for group in groups):
        raise ValueError(
            f"`--classes` must list the classes of each task, like [[0, 1], [2, 3]], got {json.dumps(document)[:60]!r}."
        )
    return document


def _json_value(option: str, value: str, example: str) -> Any:
    """The value of an option that is a JSON text, or the path of one."""
    from taskorder.parsing import json_values

    text = value if value.lstrip()[:1] in ("[", "{") else _text(value)
    try:
        return json_values(text)
    except ValueError as problem:
        raise ValueError(f"`{option}` must be JSON like {example}, got a parse error: {problem}.") from None


def _class_names(path: str) -> list[str]:
    """One a line."""
    from taskorder.portable import MAX_CLASSES

    text = _text(path).rstrip()
    if text.count("\n") >= MAX_CLASSES:
        raise BadArgument(f"`class_names` must list at most {MAX_CLASSES} classes, got more. Give the names only.")
    return text.splitlines()


def _seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"`--training-seeds` must be whole numbers with commas, got {text!r}.") from None


def _text(path: str) -> str:
    """The contents of a text file, or of standard input."""
    from taskorder.files import utf8_text
    from taskorder.tables.input_files import read_bytes

    data, label = read_bytes(path, max_bytes=MAX_TEXT_BYTES, content="text")
    return utf8_text(data, label)
