"""How a series looks: a color that color-blind eyes tell apart, a dash and a mark that survive gray printing.

The colors are those of Okabe and Ito, and others far from them and from each other, mostly darker, where they run out.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from taskorder.plots.records import Panel, Series

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)))
"""Solid, dashed, dash and dot, dotted."""
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
GRID = "#DDDDDD"


@dataclass(frozen=True)
class Look:
    """Color, dash, mark and width of a series."""

    color: str
    dash: Any = "-"
    mark: str = ""
    width: float = 1.6


_SOLID, _DASHED, _MIXED, _DOTTED = DASHES
ROLES = {
    "periphery-to-core": Look("#D55E00", _SOLID, "o"),
    "core-to-periphery": Look("#0072B2", _DASHED, "s"),
    "max-path": Look("#E69F00", _SOLID, "^"),
    "min-path": Look("#CC79A7", _DASHED, "v"),
    "optimal": Look("#009E73", _MIXED, "D"),
    "best": Look("#56B4E9", _SOLID, "P"),
    "worst": Look("#882255", _DASHED, "X"),
    "row-sums": Look("#772200", _SOLID, "v"),
    "greedy": Look("#9944EE", _DOTTED, "<"),
    "first-order": Look("#332288", _MIXED, ">"),
    "random": Look("#000000", _SOLID, "", 2.2),
    "background": Look("#CCCCCC", _SOLID, ".", 0.5),
    "reference": Look("#777777", _DASHED, "", 1.0),
}
CYCLE = (
    Look("#0072B2", _SOLID, "o"),
    Look("#D55E00", _DASHED, "s"),
    Look("#009E73", _MIXED, "^"),
    Look("#CC79A7", _DOTTED, "D"),
    Look("#E69F00", _SOLID, "v"),
    Look("#332288", _DASHED, "P"),
    Look("#56B4E9", _MIXED, "X"),
    Look("#882255", _DOTTED, "<"),
    Look("#7766FF", _SOLID, ">"),
    Look("#771100", _DASHED, "p"),
    Look("#0000EE", _MIXED, "*"),
    Look("#003322", _DOTTED, "h"),
)
"""For series without a role."""
MANY = len(CYCLE)
"""Series without a role that still get a look each; more of them are colored along a scale."""
CATEGORIES = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#332288",
    "#882255",
    "#9944EE",
)
"""For the cells of a map of categories."""


def looks(panels: Iterable[Panel]) -> list[list[Look]]:
    """A look for each series of each panel; a label without a role keeps its look from panel to panel.

    Lines of one role but different labels in a panel differ by their dash.
    """
    known: dict[str, Look] = {}
    return [_panel_looks(panel.series, known) for panel in panels]


def _panel_looks(all_series: tuple[Series, ...], known: dict[str, Look]) -> list[Look]:
    free = [series for series in all_series if not series.role]
    along = iter(_scale(len(free))) if len(free) > MANY else None
    taken = {ROLES[series.role].color for series in all_series if series.role in ROLES}
    taken |= {known[series.label].color for series in free if series.label in known}
    # looks that mean nothing else in the figure, then in the panel; when the cycle is spent it starts again
    elsewhere = {look.color for look in known.values()}
    free_here = sorted((look for look in CYCLE if look.color not in taken), key=lambda look: look.color in elsewhere)
    fresh = itertools.chain(free_here, itertools.cycle(CYCLE))
    lines: dict[str, list[str]] = {}
    chosen = []
    for series in all_series:
        if series.role:
            chosen.append(_dashed(_role(series.role), series, lines.setdefault(series.role, [])))
        elif along is not None:
            chosen.append(Look(next(along)))
        else:
            look = known[series.label] if series.label in known else next(fresh)
            if series.label:
                known[series.label] = look
            chosen.append(look)
    return chosen


def _role(role: str) -> Look:
    if role not in ROLES:
        raise ValueError(f"`role` must be empty or one of {', '.join(ROLES)}, got {role!r}.")
    return ROLES[role]


def _dashed(look: Look, series: Series, labels: list[str]) -> Look:
    """`look` with the next dash for each further label; `labels` are those of this role so far."""
    if series.style == "points" or not series.label or series.role == "background":
        return look
    if series.label not in labels:
        labels.append(series.label)
    return replace(look, dash=DASHES[(DASHES.index(look.dash) + labels.index(series.label)) % len(DASHES)])


def _scale(count: int) -> list[str]:
    """`count` colors along the sequential map, without its palest end."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps[SEQUENTIAL](0.93 * index / (count - 1))) for index in range(count)]


def category_colors(count: int) -> list[str]:
    """One color for each category."""
    return list(CATEGORIES[:count]) if count <= len(CATEGORIES) else _scale(count)


def style_settings() -> AbstractContextManager[None]:
    """Matplotlib's defaults with our changes, for the length of a `with` block; the reader's own settings come back."""
    # a list of fonts that cannot be kept is made again the next time: nothing that a person should read about
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    try:
        import matplotlib.style
    except ImportError:
        raise ValueError('Drawing needs matplotlib. Install it with: pip install "taskorder[plot]".') from None
    return matplotlib.style.context(
        [
            "default",
            {
                "font.family": "sans-serif",
                "font.sans-serif": ["DejaVu Sans"],
                "font.size": 9,
                "axes.labelsize": 9,
                "axes.titlesize": 9.5,
                "figure.titlesize": 11,
                "xtick.labelsize": 8,
                "ytick.labelsize": 8,
                "legend.fontsize": 8,
                "legend.frameon": False,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.linewidth": 0.8,
                "axes.formatter.useoffset": False,
                "axes.formatter.limits": (-4, 5),
                # text stays text, and the same numbers give the same bytes
                "svg.fonttype": "none",
                "svg.hashsalt": "taskorder",
                "pdf.fonttype": 42,  # some venues refuse the outlines of type 3
            },
        ]
    )
