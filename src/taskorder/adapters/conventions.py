"""Class orders in the conventions of other frameworks: what each wants, and lines that show where it goes.

=============  ===========================================  ==================  =====================================
framework      class order                                  classes left out    sizes of tasks
=============  ===========================================  ==================  =====================================
avalanche      original class at each position              refused             any
avalanche-nc   original class at each position              allowed             any
continuum      original class at each position              refused             any
mammoth        new label of each original class (inverse)   refused             any
pycil          original class at each position              refused             equal but for the first, smaller last
facil          original class at each position              allowed             as it cuts them: larger ones first
libcontinual   original class at each position              allowed             equal after the first
clarena        (lists task ids, which start at 1)           does not apply      any
renate         groups of classes                            allowed             any
=============  ===========================================  ==================  =====================================

None of the frameworks is imported. What a framework cannot express is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from taskorder.adapters.data_steps import DataSets
from taskorder.adapters.finetuning import TOOLS, tool_settings, tool_usage
from taskorder.arguments import BadArgument, unknown
from taskorder.portable import PortableOrder


class Framework(NamedTuple):
    """How one framework takes an order."""

    settings: Callable[[PortableOrder], dict[str, Any]]
    """The values as the framework wants them."""
    usage: str | Callable[[dict[str, Any]], str]
    """Lines to paste: a text with the names of settings in braces, or a function of the settings."""
    all_classes: str = ""
    """Why it needs every class of the data set; empty where classes may be left out."""


def settings(order: PortableOrder, framework: str, datasets: DataSets | None = None) -> dict[str, Any]:
    """The settings that make `framework` learn in this order.

    Parameters
    ----------
    order : PortableOrder
        The order; for class orders with the classes of each task.
    framework : str
        One of `FRAMEWORKS`, or one of `TOOLS`, which fine-tune a model on several data sets.
    datasets : mapping, optional
        For `TOOLS`: what the tool calls the data set of each task, by task name; for axolotl also an entry of
        `datasets:`, like `{"path": "cats.jsonl", "type": "alpaca"}`. A task that is visited several times may have a
        list, with one for each visit. By default data sets are called like tasks.

    Returns
    -------
    dict
        Names and values as the framework wants them.

    Raises
    ------
    ValueError
        If the framework is unknown or cannot express the order.

    Examples
    --------
    >>> order = PortableOrder(names=("cats", "cars", "dogs"), order=(2, 1, 0))
    >>> settings(order, "swift")["dataset"]
    ['dogs', 'cars', 'cats']
    """
    if framework in TOOLS:
        return tool_settings(order, framework, datasets)
    if framework not in FRAMEWORKS:
        raise unknown("framework", framework, (*FRAMEWORKS, *TOOLS))
    if datasets is not None:
        raise BadArgument(f"`datasets` must come with one of {', '.join(TOOLS)}, got {framework!r}.")
    reason = FRAMEWORKS[framework].all_classes
    if reason and (missing := order.classes_left_out):
        shown = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        raise BadArgument(
            f"`class_groups` must have every class of the data set for {reason}, "
            f"got none with {shown}. Drop these examples, number the classes that are left from 0, and export again."
        )
    return FRAMEWORKS[framework].settings(order)


def usage(order: PortableOrder, framework: str, datasets: DataSets | None = None) -> str:
    """Lines that show where the settings of `framework` go.

    Parameters
    ----------
    order : PortableOrder
        The order; for class orders with the classes of each task.
    framework : str
        One of `FRAMEWORKS` or `TOOLS`.
    datasets : mapping, optional
        As in `settings`.

    Returns
    -------
    str
        Code or configuration to paste.
    """
    if framework in TOOLS:
        return tool_usage(order, framework, datasets)
    values = settings(order, framework, datasets)
    lines = FRAMEWORKS[framework].usage
    return lines.format_map(values) if isinstance(lines, str) else lines(values)


def _one_size(order: PortableOrder) -> int | None:
    """The number of classes of every task; None where they differ."""
    sizes = set(order.group_sizes)
    return sizes.pop() if len(sizes) == 1 else None


def _avalanche(order: PortableOrder) -> dict[str, Any]:
    """Of `class_incremental_benchmark`; `num_experiences` would drop the remainder of a division."""
    return {"class_order": list(order.class_order), "num_classes_per_exp": list(order.group_sizes)}


def _avalanche_nc(order: PortableOrder) -> dict[str, Any]:
    """Of `nc_benchmark`; classic benchmarks take the first two where all tasks have one size."""
    values: dict[str, Any] = {"n_experiences": len(order.group_sizes), "fixed_class_order": list(order.class_order)}
    if _one_size(order) is None:
        values["per_exp_classes"] = dict(enumerate(order.group_sizes))
    return values


def _avalanche_nc_usage(values: dict[str, Any]) -> str:
    lines = "".join(f"    {key}={value},\n" for key, value in values.items())
    return f"""\
from avalanche.benchmarks import nc_benchmark
benchmark = nc_benchmark(
    train, test, task_labels=False,
{lines})
"""


def _continuum(order: PortableOrder) -> dict[str, Any]:
    """Of `ClassIncremental`: one increment, or a list of them where tasks differ in size."""
    return {"class_order": list(order.class_order), "increment": _one_size(order) or list(order.group_sizes)}


def _mammoth(order: PortableOrder) -> dict[str, Any]:
    """Values of `args` and of the data set's class.

    Mammoth replaces labels by indexing (`class_order[targets]`), so its class order is an array, the inverse
    permutation, set after the arguments are parsed; its flags for custom orders do not do this.
    """
    labels = np.empty(order.num_classes, dtype=np.int64)
    labels[list(order.class_order)] = np.arange(order.num_classes)
    return {
        "permute_classes": 1,
        "class_order": labels,
        "N_TASKS": len(order.group_sizes),
        "N_CLASSES_PER_TASK": _one_size(order) or list(order.group_sizes),
    }


def _mammoth_usage(values: dict[str, Any]) -> str:
    return f"""\
# after parsing the arguments, before the data set is made; the inverse of the class order is what Mammoth wants
args.permute_classes = 1
args.class_order = np.array({values["class_order"].tolist()})
# the data set's class must agree
DatasetClass.N_TASKS = {values["N_TASKS"]}
DatasetClass.N_CLASSES_PER_TASK = {values["N_CLASSES_PER_TASK"]}
"""


def _pycil(order: PortableOrder) -> dict[str, Any]:
    """Keys of the configuration, with the list for the data set's class in utils/data.py beside them."""
    sizes = order.group_sizes
    increment = sizes[1] if len(sizes) > 1 else sizes[0]
    if set(sizes[1:-1]) - {increment} or (len(sizes) > 1 and sizes[-1] > increment):
        raise BadArgument(
            f"`class_groups` must have one size after the first task for PyCIL (the last may be smaller), "
            f"got {list(sizes)} in the order of learning."
        )
    values = {"shuffle": False, "init_cls": sizes[0], "increment": increment, "class_order": list(order.class_order)}
    return values if not order.training_seeds else {**values, "seed": list(order.training_seeds)}


def _pycil_usage(values: dict[str, Any]) -> str:
    seeds = f',\n"seed": {values["seed"]}' if "seed" in values else ""
    return f"""\
# exps/METHOD.json
"shuffle": false,
"init_cls": {values["init_cls"]},
"increment": {values["increment"]}{seeds}
# utils/data.py, in the class of the data set (iCIFAR100, ...); PyCIL does not read it from the JSON
class_order = {values["class_order"]}
"""


def _facil(order: PortableOrder) -> dict[str, Any]:
    """Flags of src/main_incremental.py, with the list for src/datasets/dataset_config.py beside them.

    FACIL cuts the list by itself, as evenly as it can, with a size of its own for the first task on request. Of MNIST
    and CIFAR-100 FACIL 2022 cannot leave classes out: their test labels are a list, which it indexes like an array.
    """
    sizes = order.group_sizes
    flags = {"num-tasks": len(sizes)}
    if sizes != _even(sum(sizes), len(sizes)):
        if sizes[1:] != _even(sum(sizes[1:]), len(sizes) - 1):
            raise BadArgument(
                "`class_groups` must have sizes that FACIL cuts (after the first task they differ by at most one, the "
                f"larger ones first), got {list(sizes)} in the order of learning."
            )
        flags["nc-first-task"] = sizes[0]
    return {**flags, "class_order": list(order.class_order)}


def _even(num_classes: int, num_tasks: int) -> tuple[int, ...]:
    """Sizes of tasks that share the classes; the first ones get what is left over."""
    each, over = divmod(num_classes, num_tasks)
    return (each + 1,) * over + (each,) * (num_tasks - over)


def _facil_usage(values: dict[str, Any]) -> str:
    flags = " ".join(f"--{name} {value}" for name, value in values.items() if name != "class_order")
    return f"""\
# src/datasets/dataset_config.py, in the entry of the data set (without it FACIL shuffles the classes)
'class_order': {values["class_order"]},
# on the command line
python3 -u src/main_incremental.py {flags} ...
"""


def _libcontinual(order: PortableOrder) -> dict[str, Any]:
    """Keys of the configuration; without `class_order` LibContinual shuffles the classes.

    For folders of images an original class is an index into their sorted names. Its `tiny-imagenet` needs all classes.
    """
    first, *rest = order.group_sizes
    if len(set(rest)) > 1:
        raise BadArgument(
            "`class_groups` must have one size after the first task for LibContinual, "
            f"got {list(order.group_sizes)} in the order of learning."
        )
    return {
        "task_num": len(order.group_sizes),
        "init_cls_num": first,
        "inc_cls_num": rest[0] if rest else first,
        "class_order": list(order.class_order),
    }


FRAMEWORKS = {
    "avalanche": Framework(
        _avalanche,
        """\
from avalanche.benchmarks import class_incremental_benchmark
benchmark = class_incremental_benchmark(
    {{"train": train, "test": test}},
    class_order={class_order},
    num_classes_per_exp={num_classes_per_exp},
)
""",
        "Avalanche's new API (the class counts must add up to the data set's; avalanche-nc can)",
    ),
    "avalanche-nc": Framework(_avalanche_nc, _avalanche_nc_usage),
    "continuum": Framework(
        _continuum,
        """\
from continuum import ClassIncremental
scenario = ClassIncremental(
    dataset,
    class_order={class_order},
    increment={increment},
)
""",
        "Continuum (it looks up the position of every label)",
    ),
    "mammoth": Framework(_mammoth, _mammoth_usage, "Mammoth (every label needs a new one)"),
    "pycil": Framework(_pycil, _pycil_usage, "PyCIL (it looks up the position of every label)"),
    "facil": Framework(_facil, _facil_usage),
    "libcontinual": Framework(
        _libcontinual,
        "# config/METHOD.yaml\ntask_num: {task_num}\ninit_cls_num: {init_cls_num}\ninc_cls_num: {inc_cls_num}\n"
        "class_order: {class_order}\n",
    ),
    "clarena": Framework(
        lambda order: {"train_tasks": [task + 1 for task in order.sequence]}, "train_tasks: {train_tasks}\n"
    ),
    "renate": Framework(
        lambda order: {"class_groupings": [list(group) for group in order.groups_in_order]},
        "class_groupings = {class_groupings}\n",
    ),
}
"""How each framework takes an order of classes, by its name on the command line."""
