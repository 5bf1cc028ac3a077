"""Renate (archived): `class_groupings` of its `ClassIncrementalScenario`; classes may be left out."""

from __future__ import annotations

from typing import Any

from taskorder.portable import PortableOrder


def settings(order: PortableOrder) -> dict[str, Any]:
    """The keyword argument: the class groups in the order of learning."""
    return {"class_groupings": [list(group) for group in order.groups_in_order]}


def usage(order: PortableOrder) -> str:
    """Lines to paste."""
    return f"class_groupings = {settings(order)['class_groupings']}\n"
