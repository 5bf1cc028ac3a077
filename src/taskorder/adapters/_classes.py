"""What several frameworks ask of a class order."""

from __future__ import annotations

from taskorder.portable import PortableOrder


def every_class(order: PortableOrder, framework: str, reason: str) -> None:
    """Refuse an order that leaves classes of the data set out."""
    missing = order.classes_left_out
    if missing:
        shown = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        raise ValueError(
            f"`class_groups` must have every class of the data set for {framework} ({reason}), "
            f"got none with {shown}. Drop these examples, number the classes that are left from 0, and export again."
        )


def same_size(order: PortableOrder) -> int | None:
    """The number of classes of every task; None where they differ."""
    sizes = set(order.group_sizes)
    return sizes.pop() if len(sizes) == 1 else None
