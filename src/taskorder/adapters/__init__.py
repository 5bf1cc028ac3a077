"""Class orders for other frameworks: settings, lines to paste, and re-ordered Avalanche benchmarks."""

from taskorder.adapters.conventions import FRAMEWORKS, settings, usage

__all__ = ["FRAMEWORKS", "settings", "usage"]
