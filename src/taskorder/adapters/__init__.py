"""Class orders in the conventions of other frameworks, one short file each.

Every module has `settings(order)`, the values as the framework wants them, and `usage(order)`, lines to paste. What a
framework cannot express is refused with the reason. None of them imports the framework, except to re-order a benchmark.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from taskorder.portable import PortableOrder

FRAMEWORKS = {
    "avalanche": "avalanche",
    "avalanche-old": "avalanche_old",
    "continuum": "continuum",
    "mammoth": "mammoth",
    "pycil": "pycil",
    "facil": "facil",
    "libcontinual": "libcontinual",
    "clarena": "clarena",
    "renate": "renate",
}
"""Names on the command line and the modules here."""


def settings(order: PortableOrder, framework: str) -> dict[str, Any]:
    """The settings that make `framework` learn in this order."""
    return dict(_module(framework).settings(order))


def usage(order: PortableOrder, framework: str) -> str:
    """Lines that show where the settings go."""
    return str(_module(framework).usage(order))


def _module(framework: str) -> Any:
    if framework not in FRAMEWORKS:
        raise ValueError(f"`framework` must be one of {', '.join(FRAMEWORKS)}, got {framework!r}.")
    return import_module(f"{__name__}.{FRAMEWORKS[framework]}")
