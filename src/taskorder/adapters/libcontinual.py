"""LibContinual: `class_order[k]` in the YAML is the original class at position k, which gets the label k.

For folders of images an original class is a place among the sorted names of folders. Without the key LibContinual
shuffles the classes. Its configuration knows one size for the first task and one for all others. Classes that the list
leaves out are left out of the data (its `tiny-imagenet` needs all).
"""

from __future__ import annotations

from typing import Any

from taskorder.portable import PortableOrder


def settings(order: PortableOrder) -> dict[str, Any]:
    """The keys of the configuration."""
    first, *rest = order.group_sizes
    if len(set(rest)) > 1:
        raise ValueError(
            "`class_groups` must have one size after the first task for LibContinual, "
            f"got {list(order.group_sizes)} in the order of learning."
        )
    return {
        "task_num": len(order.group_sizes),
        "init_cls_num": first,
        "inc_cls_num": rest[0] if rest else first,
        "class_order": list(order.class_order),
    }


def usage(order: PortableOrder) -> str:
    """Lines to paste."""
    return "# config/METHOD.yaml\n" + "".join(f"{key}: {value}\n" for key, value in settings(order).items())
