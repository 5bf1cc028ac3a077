"""The law of retention in one picture: what it predicts, what the closed form predicts, and what each rule earns.

python examples/law_figure.py reproduction/results/law.json docs/law.png

The numbers are those of `python -m reproduction law`: held-out task sets only, and in the bars the three data sets that
were trained with two seeds, so that tables and truth come from different ones.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.claims import FigureData
from taskorder.plots.records import Panel
from taskorder.plots.style import ROLES, style_settings

SHOWN = {"Fashion-MNIST 50-99": "Fashion-MNIST", "CIFAR-10 0-29": "CIFAR-10", "CIFAR-100, 5 tasks": "CIFAR-100"}
COLORS = {"Fashion-MNIST": "#D55E00", "CIFAR-10": "#0072B2", "CIFAR-100": "#999999"}
RULES = {
    "law": ("law of retention", "#000000"),
    "row-sums": ("sort by row sums", "#777777"),
    "last row sum": ("last row sum only", "#BBBBBB"),
    "periphery-to-core": ("periphery-to-core", ROLES["periphery-to-core"].color),
    "max-path": ("max-path", ROLES["max-path"].color),
    "closed form": ("closed form (retention 1)", ROLES["optimal"].color),
}


def predictions(axes: Axes, panel: Panel, title: str) -> None:
    """Predicted against true accuracy, a dot for an order."""
    for series in panel.series:
        if series.role == "reference":
            axes.plot(series.x, series.y, color="#333333", linewidth=1, zorder=3)
        else:
            look = {"color": COLORS[series.label], "alpha": 0.55, "linewidth": 0, "rasterized": True}
            axes.scatter(series.x, series.y, s=5, label=series.label, **look)
    axes.set(xlabel="predicted accuracy, %", ylabel="true accuracy at the end, %", aspect="equal")
    axes.set_title(title, loc="left", fontweight="bold")
    axes.text(98, 98, "as predicted", rotation=45, ha="right", va="bottom", rotation_mode="anchor", fontsize=7.5)


def bars(axes: Axes, panel: Panel) -> None:
    """What the order that each rule chooses earns, with its interval."""
    places = [panel.steps.index(name) for name in SHOWN]
    width = 0.8 / len(RULES)
    ceiling: dict[int, float] = {}
    by_label = {series.label: series for series in panel.series}
    for label in ("another run", *RULES):
        series = by_label[label]
        ends = series.low or (), series.high or ()
        rows = [row for row in zip(series.x, series.y, *ends, strict=True) if int(row[0]) in places]
        if label == "another run":
            ceiling = {places.index(int(x)): y or 0.0 for x, y, _, _ in rows}
        else:
            shift = width * (list(RULES).index(series.label) - (len(RULES) - 1) / 2)
            x = [places.index(int(row[0])) + shift for row in rows]
            words, color = RULES[series.label]
            axes.bar(x, [row[1] or 0.0 for row in rows], 0.9 * width, color=color, label=words)
            axes.vlines(x, [row[2] or 0.0 for row in rows], [row[3] or 0.0 for row in rows], "#444444", linewidth=0.8)
    for place, height in ceiling.items():
        label = "best order of another full run" if not place else None
        axes.hlines(height, place - 0.42, place + 0.42, "#333333", linestyles=":", linewidth=1.2, label=label)
    axes.set_xticks(range(len(SHOWN)), list(SHOWN.values()))
    axes.set_ylabel("points of accuracy above the mean order")
    axes.tick_params(axis="x", length=0)
    axes.set_title("What the chosen order earns", loc="left", fontweight="bold")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, handlelength=1.2)


def main(numbers: str, picture: str) -> None:
    """Draw three of the panels of the figure."""
    law, closed, gains = FigureData.from_json(Path(numbers).read_text(encoding="utf-8")).panels[:3]
    with style_settings():
        figure = Figure(figsize=(12.6, 3.6), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.35))
        predictions(left, law, "The law: retention 0.13")
        predictions(middle, closed, "The closed form: retention 1")
        left.legend(loc="lower right", fontsize=7.5, markerscale=2.5, handletextpad=0.1)
        bars(right, gains)
        figure.savefig(picture, dpi=160, metadata={"Software": None})


if __name__ == "__main__":
    main(*sys.argv[1:3])
