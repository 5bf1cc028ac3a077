"""Orders for other frameworks: settings, lines to paste, and re-ordered Avalanche benchmarks."""

from taskorder.adapters.conventions import FRAMEWORKS, settings, usage
from taskorder.adapters.finetuning import TOOLS

__all__ = ["FRAMEWORKS", "TOOLS", "settings", "usage"]
