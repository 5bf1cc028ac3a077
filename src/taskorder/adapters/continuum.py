"""Continuum 1.2: `class_order[k]` is the original class at position k, which gets the label k."""

from __future__ import annotations

from typing import Any

from taskorder.adapters._classes import every_class, same_size
from taskorder.portable import PortableOrder


def settings(order: PortableOrder) -> dict[str, Any]:
    """Keyword arguments of `ClassIncremental`: one increment, or a list of them where tasks differ in size."""
    every_class(order, "Continuum", "it looks up the place of every label")
    return {"class_order": list(order.class_order), "increment": same_size(order) or list(order.group_sizes)}


def usage(order: PortableOrder) -> str:
    """Lines to paste."""
    values = settings(order)
    return f"""\
from continuum import ClassIncremental
scenario = ClassIncremental(
    dataset,
    class_order={values["class_order"]},
    increment={values["increment"]},
)
"""
