"""Avalanche's old API (`nc_benchmark` and classic benchmarks like `SplitMNIST`): `fixed_class_order`.

Classes that the order leaves out are left out of the benchmark.
"""

from __future__ import annotations

from typing import Any

from taskorder.adapters._classes import same_size
from taskorder.portable import PortableOrder


def settings(order: PortableOrder) -> dict[str, Any]:
    """Keyword arguments of `nc_benchmark`; classic benchmarks take the first two where all tasks have one size."""
    values: dict[str, Any] = {"n_experiences": len(order.group_sizes), "fixed_class_order": list(order.class_order)}
    if same_size(order) is None:
        values["per_exp_classes"] = dict(enumerate(order.group_sizes))
    return values


def usage(order: PortableOrder) -> str:
    """Lines to paste."""
    lines = "".join(f"    {key}={value},\n" for key, value in settings(order).items())
    return f"""\
from avalanche.benchmarks import nc_benchmark
benchmark = nc_benchmark(
    train, test, task_labels=False,
{lines})
"""
