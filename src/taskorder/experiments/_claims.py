"""Checks whose number is exact: closed forms and complete lists have no interval."""

from __future__ import annotations

from taskorder.figuredata import Check


def exact_check(claim: str, source: str, found: str, value: float | None, holds: bool) -> Check:
    """A check without an interval: reproduced when `holds`, and not otherwise."""
    return Check(claim, source, found, value, None, None, "reproduced" if holds else "not reproduced")
