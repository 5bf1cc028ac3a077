"""CLArena: `train_tasks` lists task ids, which start at 1."""

from __future__ import annotations

from typing import Any

from taskorder.portable import PortableOrder


def settings(order: PortableOrder) -> dict[str, Any]:
    """The key of the configuration; a task's id is its index plus 1."""
    return {"train_tasks": [task + 1 for task in order.sequence]}


def usage(order: PortableOrder) -> str:
    """Lines to paste."""
    return f"train_tasks: {settings(order)['train_tasks']}\n"
