"""Mammoth: its class order is the inverse permutation, `class_order[c]` is the new label of the original class c.

It replaces labels by indexing (`class_order[targets]`), so it must be an array, set after the arguments are parsed; its
flags for custom orders do not do this.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taskorder.adapters._classes import every_class, same_size
from taskorder.portable import PortableOrder


def settings(order: PortableOrder) -> dict[str, Any]:
    """The values of `args` and of the data set's class; `class_order` is an array of integers."""
    every_class(order, "Mammoth", "every label needs a new one")
    places = np.empty(order.num_classes, dtype=np.int64)
    places[list(order.class_order)] = np.arange(order.num_classes)
    return {
        "permute_classes": 1,
        "class_order": places,
        "N_TASKS": len(order.group_sizes),
        "N_CLASSES_PER_TASK": same_size(order) or list(order.group_sizes),
    }


def usage(order: PortableOrder) -> str:
    """Lines to paste."""
    values = settings(order)
    return f"""\
# after parsing the arguments, before the data set is made; the inverse of the class order is what Mammoth wants
args.permute_classes = 1
args.class_order = np.array({values["class_order"].tolist()})
# the data set's class must agree
DatasetClass.N_TASKS = {values["N_TASKS"]}
DatasetClass.N_CLASSES_PER_TASK = {values["N_CLASSES_PER_TASK"]}
"""
