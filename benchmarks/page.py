"""Write docs/benchmarks.md from the results that the benchmarks keep: python benchmarks/page.py

Every table carries the command that measured it and the machine it ran on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
TITLES = {
    ("ordering", "listing"): "All orders: prefixes shared, against the matrix formula for every permutation",
    ("ordering", "proof"): "Proven optimum, against the paper's way (every permutation, the formula with an inverse)",
    ("ordering", "moves"): "Pricing one insertion, against one full evaluation by the recursion (both compiled)",
    ("ordering", "sizes"): "Largest number of tasks proven within 1 s, for three seeds; `trial`: by an earlier one",
    ("ordering", "sizes60"): "Seconds to prove, at the sizes that an earlier trial reached in 60 s, by seed",
    ("ordering", "large"): "Too many tasks for a proof: error relative to the best known value, by time limit",
    ("ordering", "growth"): "Growth with the number of tasks: first order, solve for at most 10 s, memory (growth.png)",
    ("ordering", "compilation"): "Compilation, once for a machine",
    ("linear", "boundary"): "Simulation, 106 orders of 7 tasks at the paper's sizes: errors after the last task",
    ("linear", "trajectories"): "The same at every step",
    ("linear", "fig3e"): "The runs of figure 3e",
}
INTRO = """# Benchmarks

Written by `python benchmarks/page.py` from `benchmarks/results/*.json`. Ours and the baseline ran side by side in one
run; the machines are shared, so ratios vary by a few tens of percent from run to run. Families of matrices are defined
in `benchmarks/instances.py`. The paper's way: every permutation, the matrix formula with an inverse.
"""


def main() -> None:
    """Collect every section into one page."""
    parts = [INTRO]
    for file in ("ordering", "linear", "engine"):
        kept = json.loads((RESULTS / f"{file}.json").read_text())
        order = [section for name, section in TITLES if name == file]
        for section in sorted(kept, key=lambda name: order.index(name) if name in order else len(order)):
            parts.append(_section(file, section, kept[section]))
    PAGE.write_text("\n".join(parts))


def _section(file: str, section: str, kept: dict[str, Any]) -> str:
    rows = kept["rows"]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    machine = ", ".join(f"{key} {value}" for key, value in kept["machine"].items())
    title = TITLES.get((file, section), f"The engine, network-steps a second at batch 4: {section}")
    lines = [f"## {title}", "", f"`python benchmarks/{file}.py {section.split()[0]}` ({machine})", ""]
    lines += ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(_cell(row.get(column, "")) for column in columns) + " |" for row in rows]
    return "\n".join([*lines, ""])


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


if __name__ == "__main__":
    main()
