"""Where a result was made: kept beside every number that took time."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any


def describe(*packages: str) -> dict[str, Any]:
    """Processor, cores, Python, and the versions of taskorder and of `packages` that are installed."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    versions: dict[str, str] = {}
    for name in ("taskorder", *packages):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), **versions}
