"""What every benchmark shares: a header that says where it ran, one table form, and timing that excludes warm-up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from taskorder.machine import describe

RESULTS = Path(__file__).parent / "results"


def header(*packages: str) -> dict[str, Any]:
    """Machine and versions, kept with every result; those of more packages where they count."""
    return describe("numpy", "scipy", "numba", *packages)


def seconds(job: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Shortest wall time of a few runs, and the last result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        result = job()
        best = min(best, time.perf_counter() - start)
    return best, result


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print one table."""
    print(f"\n{title}")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_text(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(column), *(len(row[i]) for row in cells)) for i, column in enumerate(columns)]
    for row in [columns, *cells]:
        print(
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        )


def save(name: str, results: dict[str, Any], *packages: str) -> None:
    """Keep results as JSON with the header, merged into what earlier runs of other sections left."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for section, rows in results.items():
        kept[section] = {"machine": header(*packages), "rows": rows}
    path.write_text(json.dumps(kept, indent=1) + "\n")


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
