"""PyCIL: without shuffling it takes `class_order` from the data set's class in its utils/data.py, as a list.

Its configuration knows one size for the first task and one for the others; only the last task may be smaller.
"""

from __future__ import annotations

from typing import Any

from taskorder.adapters._classes import every_class
from taskorder.portable import PortableOrder


def settings(order: PortableOrder) -> dict[str, Any]:
    """The keys of the configuration, with the list for the data set's class beside them."""
    every_class(order, "PyCIL", "it looks up the place of every label")
    sizes = order.group_sizes
    increment = sizes[1] if len(sizes) > 1 else sizes[0]
    if set(sizes[1:-1]) - {increment} or (len(sizes) > 1 and sizes[-1] > increment):
        raise ValueError(
            f"`class_groups` must have one size after the first task for PyCIL (the last may be smaller), "
            f"got {list(sizes)} in the order of learning."
        )
    values = {"shuffle": False, "init_cls": sizes[0], "increment": increment, "class_order": list(order.class_order)}
    return values if not order.training_seeds else {**values, "seed": list(order.training_seeds)}


def usage(order: PortableOrder) -> str:
    """Lines to paste."""
    values = settings(order)
    seeds = f',\n"seed": {values["seed"]}' if "seed" in values else ""
    return f"""\
# exps/METHOD.json
"shuffle": false,
"init_cls": {values["init_cls"]},
"increment": {values["increment"]}{seeds}
# utils/data.py, in the class of the data set (iCIFAR100, ...); PyCIL does not read it from the JSON
class_order = {values["class_order"]}
"""
