"""FACIL: `class_order[k]` is the original class at position k, a list in its src/datasets/dataset_config.py.

It cuts the list into tasks by itself: as evenly as it can, the larger ones first, with a size of its own for the first
task on request. Classes that the list leaves out are left out of the data (of MNIST and CIFAR-100 FACIL 2022 cannot:
their test labels are a list, which it tries to index like an array).
"""

from __future__ import annotations

from typing import Any

from taskorder.portable import PortableOrder


def settings(order: PortableOrder) -> dict[str, Any]:
    """The flags of src/main_incremental.py, with the list for the data set's configuration beside them."""
    sizes = order.group_sizes
    first, rest = sizes[:1], sizes[1:]
    flags = {"num-tasks": len(sizes)}
    if sizes != _even(sum(sizes), len(sizes)):
        if rest != _even(sum(rest), len(rest)):
            raise ValueError(
                "`class_groups` must have sizes that FACIL cuts (after the first task they differ by at most one, the "
                f"larger ones first), got {list(sizes)} in the order of learning."
            )
        flags["nc-first-task"] = first[0]
    return {**flags, "class_order": list(order.class_order)}


def usage(order: PortableOrder) -> str:
    """Lines to paste."""
    values = settings(order)
    flags = " ".join(f"--{name} {value}" for name, value in values.items() if name != "class_order")
    return f"""\
# src/datasets/dataset_config.py, in the entry of the data set (without it FACIL shuffles the classes)
'class_order': {values["class_order"]},
# on the command line
python3 -u src/main_incremental.py {flags} ...
"""


def _even(num_classes: int, num_tasks: int) -> tuple[int, ...]:
    """Sizes of tasks that share the classes; the first ones get what is left over."""
    each, over = divmod(num_classes, num_tasks)
    return (each + 1,) * over + (each,) * (num_tasks - over)
