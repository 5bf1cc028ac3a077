"""Write docs/benchmarks.md and its picture from the results that the benchmarks keep: python benchmarks/page.py

Every table carries the command that measured it and the machine it ran on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PICTURE = RESULTS / "growth.png"
TITLES = {
    (
        "law",
        "proofs",
    ): "The law of retention: seconds until proven to 1e-9 of the spread over orders, slowest of 3 seeds",
    ("law", "first_answer"): "The law of retention: the first plan of 200 tasks in a fresh process, nothing compiled",
    ("law", "gaps"): "The law of retention: where no proof is in reach, the gap after 10 s over the spread of orders",
    (
        "law",
        "known",
    ): "The law of retention: best and worst of ten long searches by an earlier version (some scores above are better)",
    ("ordering", "listing"): "All orders: prefixes shared, against the matrix formula for every permutation",
    ("ordering", "proof"): "Proven optimum, against the paper's way",
    ("ordering", "moves"): "Pricing one insertion, against one full evaluation by the recursion (both compiled)",
    ("ordering", "sizes"): "Largest number of tasks P whose optimum is proven within 1 s, for each of three seeds",
    ("ordering", "sizes60"): "Seconds until the optimum is proven, by seed, with a time limit of 60 s",
    (
        "ordering",
        "large",
    ): "Large problems: errors of rules and of `solve`, relative to the best known",
    ("ordering", "growth"): "Growth with the number of tasks: first order, solve for at most 10 s, memory",
    (
        "ordering",
        "compilation",
    ): "Compilation: seconds and memory with an empty and a full cache of kernels",
    ("paths", "exact"): "Longest path by dynamic programming, against python-tsp's",
    ("paths", "large"): "Longest and shortest paths by local search: the optimum lies between length and bound",
    ("linear", "boundary"): "Simulation, 106 orders of 7 tasks at the paper's sizes: errors after the last task",
    ("linear", "trajectories"): "The same at every step",
    ("linear", "fig3e"): "The runs of figure 3e",
    ("avalanche_strategies", "cifar10"): "Avalanche beside the engine: class-incremental CIFAR-10, percent at the end",
    ("avalanche_strategies", "cifar10 pairs"): "The same: differences of strategies, in points",
    ("avalanche_strategies", "slow"): "Avalanche beside the engine at a tenth of the learning rate",
    ("avalanche_strategies", "slow pairs"): "A tenth of the learning rate: differences of strategies, in points",
    ("ray_scaling", "overhead"): "Ray: overhead of a run",
    ("ray_scaling", "scaling"): "Ray: a second worker on one host",
    ("ray_scaling", "memory"): "Ray: memory of the driver",
    ("ray_scaling", "model"): "Ray: a cost model from these measurements",
    ("ray_scaling", "reading"): "Stores of many runs: time and memory of the commands that read them",
}
ENGINE = {
    "steps": "network-steps a second at batch 4,",
    "strategies": "steps a second with strategies and heads over plain training, least and most of all rounds,",
    "tree": "all orders with shared prefixes,",
    "kernels": "relative error of the gradients of the CNN against the highest precision,",
    "memory": "memory against the number of task sets,",
    "compile": "seconds to compile,",
    "forms": "milliseconds of a convolution of the CNN in each form,",
    "fused": "network-steps a second of the CNN with and without hand-written kernels,",
}
"""What a table of the engine shows; where it was measured comes after it."""
INTRO = """# Benchmarks

`python benchmarks/page.py` writes this page from `benchmarks/results/*.json`; `make bench` measures again and then
writes it. Every table states its command, its machine and the versions. The tables of the H200 and those of Avalanche
come from runs of their own.

taskorder and the baseline ran side by side in one run, without compilation. The machines are shared: ratios vary by
some tens of percent from run to run. The first run of the paper's theory compiles numerical kernels (about 35 s) and
caches them; the law of retention compiles nothing.

- **tables**: a family of transfer tables, defined in `benchmarks/law.py`; d is the retention.
- **matrix**: a family of similarity matrices, defined in `benchmarks/instances.py`; P is the number of tasks.
- **ours**: taskorder.
- **paper's way**: every permutation, each by the matrix formula with an inverse.
- **plain loop**: one compiled training step for each batch, as in the authors' code.
- **direction**: of the difference of two strategies, `same` or `opposite` in both tools where both 95 % intervals over
  orders leave out zero, `open` where one holds it.
"""
CPU, H200 = "steps on cpu", "steps on NVIDIA H200"
Results = Mapping[str, Mapping[str, Any]]


def main() -> None:
    """Collect every section into one page."""
    results: dict[str, Results] = {
        file: json.loads((RESULTS / f"{file}.json").read_text())
        for file in ("law", "ordering", "paths", "linear", "engine", "ray_scaling", "avalanche_strategies")
    }
    draw_growth(results["ordering"]["growth"]["rows"], results["engine"])
    PAGE.write_text(page(results))


def page(results: Mapping[str, Results]) -> str:
    """The page as Markdown: every section with its table."""
    parts = [INTRO, "![Growth with tasks and with networks](../benchmarks/results/growth.png)\n"]
    for file, sections in results.items():
        order = [section for name, section in TITLES if name == file]
        for section in sorted(sections, key=lambda name: order.index(name) if name in order else len(order)):
            parts.append(_section(file, section, sections[section]))
    return "\n".join(parts)


def draw_growth(rows: list[dict[str, Any]], engine: Results) -> None:
    """Seconds and memory against the number of tasks, and speed against the number of networks, on log axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
    sizes = [row["P"] for row in rows]
    proven = [row for row in rows if row["proven"]]
    left.loglog(sizes, [row["first order s"] for row in rows], "o-", color="#0072B2", label="first descended order")
    left.loglog([row["P"] for row in proven], [row["solve s"] for row in proven], "s-", color="#D55E00", label="proof")
    left.set(xlabel="number of tasks P", ylabel="seconds", title="time")
    middle.loglog(sizes, [row["peak MB"] for row in rows], "o-", color="#009E73")
    middle.set(xlabel="number of tasks P", ylabel="MB", title="peak memory of the process", ylim=(100, 1000))
    for section, place in ((H200, "H200"), (CPU, "two cores")):
        for net, color in (("mlp", "#0072B2"), ("cnn", "#D55E00")):
            some = [row for row in engine[section]["rows"] if row["net"] == net]
            style = "o-" if section == H200 else "s--"
            right.loglog([row["networks"] for row in some], [row["ours"] for row in some], style, color=color,
                         label=f"{net.upper()}, {place}")  # fmt: skip
    right.set(xlabel="networks trained at once", ylabel="network-steps a second", title="the engine")
    for axes in (left, right):
        axes.legend(frameon=False, fontsize="small")
    figure.savefig(PICTURE, dpi=120)


def _section(file: str, section: str, result: Mapping[str, Any]) -> str:
    rows = result["rows"]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    machine = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    what, _, place = section.partition(" ")
    title = TITLES.get((file, section)) or f"The engine: {ENGINE.get(what, what)} {place}".rstrip()
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
