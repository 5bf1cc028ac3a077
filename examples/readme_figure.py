"""The first picture of the README: one set of tasks learned in every order, sorted, with the rules marked.

python examples/readme_figure.py reproduction/results/tables/fashion-mnist.json docs/orders.png

The task set is the one whose best order leads the mean order by the median over all sets of the store: neither a lucky
nor an unlucky example. Rules choose by zero-shot transfer to test data.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.image_results import Truth, rule_orders, truth_of
from taskorder.plots.style import ROLES, style_settings
from taskorder.runs.archive import load_archive
from taskorder.runs.store import Store

RULES = ("periphery-to-core", "max-path", "optimal", "min-path", "core-to-periphery")
NAMES = {"max-path": "max-path", "optimal": "closed-form optimum"}
PLAIN, DARK, PALE = "#D4D8DD", "#333333", "#777777"


def median_set(truths: list[Truth]) -> Truth:
    """The task set whose best order has the median lead over its mean order."""
    ranked = sorted(truths, key=lambda truth: (truth.best - truth.mean, truth.number))
    return ranked[(len(ranked) - 1) // 2]


def read(path: str) -> list[Truth]:
    """All task sets of a store, or of a table of results (.json), with every order, first seed."""
    table = Path(path) if path.endswith(".json") else None
    with Store() if table else Store(path, create=False) as store:
        if table:
            load_archive(table, store)
        entries = [one for one in store.entries() if one.params.get("orders") == "all" and one.params["seed"] == 0]
        results = [store.result(one.digest) for one in entries]
    truths = [truth_of(result, 0, 0) for result in results if result is not None and "test" in result["similarities"]]
    if not truths:
        raise SystemExit(
            f"`store` must hold task sets with all orders and similarity from test data, got none in {path}."
        )
    return truths


def draw(truth: Truth, dataset: str) -> Figure:
    """Accuracy of every order as a bar from the mean order, the bars of the rules in color."""
    with style_settings():
        figure = Figure(figsize=(9.2, 4.3), layout="constrained")
        axes = figure.add_subplot()
        ranked = np.argsort(truth.accuracy, kind="stable")
        place = {tuple(truth.orders[row].tolist()): rank for rank, row in enumerate(ranked)}
        heights = truth.accuracy[ranked] - truth.mean
        colors = np.full(len(ranked), PLAIN, dtype=object)
        chosen = {rule: rule_orders(truth, "test")[rule][0] for rule in RULES}
        for rule in reversed(RULES):  # where rules agree, the first one colors the bar
            colors[place[chosen[rule]]] = ROLES[rule].color
        axes.bar(np.arange(len(ranked)), heights, bottom=truth.mean, width=0.82, color=colors.tolist(), linewidth=0)
        last = len(ranked) - 1
        axes.plot([-1, last + 1], [truth.mean, truth.mean], color=DARK, linewidth=1)
        axes.text(last, truth.mean - 0.6, f"mean order {truth.mean:.1f} %", color=DARK, va="top", ha="right")
        _labels(axes, truth, {rule: (place[order], truth.at(order)) for rule, order in chosen.items()})
        _worst_block(axes, truth, ranked)
        axes.annotate(
            f"best order {truth.best:.1f} %", (last, truth.best), xytext=(0, 4), textcoords="offset points",
            ha="right", va="bottom", color=DARK,
        )  # fmt: skip
        axes.set(
            xlim=(-1.5, last + 1.5),
            xlabel=f"all {len(ranked)} orders of the same five tasks, from the worst to the best",
            ylabel="accuracy on all tasks after the last, %",
            xticks=[],
        )
        axes.margins(y=0.12)
        axes.spines["bottom"].set_visible(False)
        tasks = "  ·  ".join(map(_task, truth.names))
        title = (
            f"The same five tasks, the same network: {truth.accuracy.min():.0f} to {truth.best:.0f} % by their order"
        )
        axes.set_title(title, loc="left", fontsize=12.5, fontweight="bold", pad=22)
        axes.text(0, 1.03, f"{dataset}: {tasks}", transform=axes.transAxes, color=PALE, fontsize=8.5, va="bottom")
        return figure


def _labels(axes: Axes, truth: Truth, marks: dict[str, tuple[int, float]]) -> None:
    """Names of the rules beyond the ends of their bars, at heights where no line crosses a name."""
    for above in (True, False):
        side = sorted((rank, rule) for rule, (rank, value) in marks.items() if (value >= truth.mean) == above)
        for level, (rank, rule) in enumerate(side if above else side[::-1]):
            value, color = marks[rule][1], ROLES[rule].color
            axes.annotate(
                f"{NAMES.get(rule, rule)} {value:.1f} %",
                (rank, value),
                xytext=(-7 if above else 7, (16 + 15 * level) * (1 if above else -1)),
                textcoords="offset points",
                ha="right" if above else "left",
                va="center",
                color=color,
                fontweight="bold",
                arrowprops={
                    "arrowstyle": "-", "color": color, "linewidth": 1.2, "shrinkA": 1, "shrinkB": 0,
                    "relpos": (1, 0.5) if above else (0, 0.5),
                    "connectionstyle": "angle,angleA=0,angleB=90",
                },
            )  # fmt: skip


def _worst_block(axes: Axes, truth: Truth, ranked: np.ndarray) -> None:
    """Say so where the worst orders are those that end with one task."""
    size = len(ranked) // len(truth.names)
    last = set(truth.orders[ranked[:size], -1].tolist())
    if len(last) == 1:
        top = truth.mean + 0.055 * (truth.best - truth.mean)
        axes.plot([-0.4, -0.4, size - 0.6, size - 0.6], [truth.mean, top, top, truth.mean], color=PALE, linewidth=1)
        words = f"the {size} orders that end with\n{_task(truth.names[last.pop()])}"
        axes.text((size - 1) / 2, top + 0.4, words, color=PALE, ha="center", va="bottom", fontsize=8.5)


def _task(name: str) -> str:
    return name.replace("T-shirt/top", "T\u2011shirt").replace("-", " / ")


def main(store: str, picture: str) -> None:
    """Choose the task set and draw it."""
    truth = median_set(read(store))
    dataset = {"fashion-mnist": "Fashion-MNIST", "cifar10": "CIFAR-10"}.get(Path(store).stem, Path(store).stem)
    figure = draw(truth, dataset)
    figure.savefig(picture, dpi=160, metadata={"Software": None})


if __name__ == "__main__":
    main(*sys.argv[1:3])
