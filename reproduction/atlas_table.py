"""The cells of the atlas that are trained, a row each: the table of the page "When does order matter?".

    python -m reproduction.atlas_table              # the table
    python -m reproduction.atlas_table docs         # the picture docs/when.png: spread against retention

What the columns mean is in `reproduction/figures/atlas.py`; gains are points above the mean of all orders.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reproduction.atlas_results import CellResult, over_sets
from reproduction.figures.atlas import Config, results_by_data, specs
from reproduction.figures.atlas_claims import DATA, HEADS, WAYS
from reproduction.law_results import LAST_ROW, LAW, RUN, SHRUNKEN
from reproduction.running import STORE, TABLES, load_tables, read
from taskorder.runs.settings import JOINT
from taskorder.runs.store import Store

COLUMNS = (
    "head, strategy",
    "accuracy, mean of all orders",
    "best order of another run",
    "the law's order",
    "from a pilot",
    "last row sum",
    "kept",
    "r²: law / another run",
    "all tasks mixed",
)


RESULTS = Path("reproduction/results")


def table(results: Sequence[CellResult]) -> Iterator[str]:
    """The lines of the table of a data set, in Markdown; cells that are not trained are left out."""
    joint = {result.cell.head: result for result in results if result.cell.way == JOINT}
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|" + "---|" * len(COLUMNS)
    for result in results:
        if result.cell.way != JOINT and result.drawn and result.part.crossed:
            yield f"| {' | '.join(row(result, joint.get(result.cell.head)))} |"


def row(result: CellResult, joint: CellResult | None) -> Iterator[str]:
    """What the columns say of a cell. The pilot is the largest one that was tried."""
    report = result.report
    yield f"{HEADS[result.cell.head]}, {WAYS[result.cell.way]}"
    yield f"{result.accuracy.mean():.1f}"
    for points in (report.gain(RUN), report.gain(LAW), [*result.pilots.values()][-1].gain(SHRUNKEN)):
        yield over_sets(points).show(1, sign=True)
    yield f"{report.gain(LAST_ROW).mean():+.1f}"
    yield result.retention.percent()
    yield f"{report.explained(LAW).mean():.2f} / {report.explained(RUN).mean():.2f}"
    same = joint is not None and joint.numbers == result.numbers
    yield over_sets(joint.accuracy - result.accuracy).show(1, sign=True) if joint and same else "-"


def main(folder: Path = RESULTS) -> None:
    """Print the tables of all data sets of which something is trained."""
    config = Config()
    with Store(folder / STORE) as store:
        wanted = specs(config)
        if store.missing(wanted):
            load_tables(folder / TABLES, store)
        by_data = results_by_data(config, store.get(wanted))
    for data, results in by_data.items():
        lines = [*table(results)]
        if len(lines) > 2:
            print(f"{DATA[data]}\n", *lines, "", sep="\n")


def draw(folder: Path) -> None:
    """Draw the panels of the stored figure that show spread against retention."""
    from taskorder.plots.draw import save

    figure = read(RESULTS / "atlas.json")
    shown = tuple(panel for panel in figure.panels if panel.x_label == "retention")
    save(replace(figure, panels=shown, columns=len(shown), name="when").drawing, folder)


if __name__ == "__main__":
    if sys.argv[1:]:
        draw(Path(sys.argv[1]))
    else:
        main()
