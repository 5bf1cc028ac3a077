"""Draw the numbers of a figure, and save the picture as PNG and SVG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskorder.files import whole_file
from taskorder.plots.panel import CHARACTERS, Entries, draw_panel, wrap
from taskorder.plots.records import Drawing
from taskorder.plots.style import looks, style_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = {".png": 200, ".svg": 150}
"""Pixels to an inch; in an SVG only for what is stored as pixels."""
WIDTHS = (4.6, 3.7, 3.1, 2.6, 2.2)
"""Inches of a panel by the number of columns; a picture stays narrow enough to be read at 800 pixels."""


def draw(figure: Drawing) -> Figure:
    """The picture of `figure`, tied to no window and to no global state."""
    with style_settings():
        from taskorder.plots.picture import Picture

        count = len(figure.panels)
        columns = figure.columns or _columns(count)
        rows = max(1, -(-count // columns))
        width = figure.width or WIDTHS[min(columns, len(WIDTHS)) - 1]
        height = max(2.3, (0.95 if any(panel.heatmap for panel in figure.panels) else 0.8) * min(width, WIDTHS[0]))
        picture = Picture(figsize=(columns * width, rows * height + 0.3), layout="constrained")
        all_axes: list[Axes] = []
        entries: list[Entries] = []
        for index, (panel, chosen) in enumerate(zip(figure.panels, looks(figure.panels), strict=True)):
            axes = picture.add_subplot(rows, columns, index + 1)
            entries.append(draw_panel(axes, panel, chosen, (width, height)))
            all_axes.append(axes)
            if count > 1:
                _letter(axes, chr(ord("a") + index))
        _legends(picture, all_axes, entries, columns, width, below=bool(figure.width))
        # the title is larger than other text
        if figure.title:
            picture.suptitle(wrap(figure.title, 0.8 * picture.get_figwidth()))
        return picture


def save(figure: Drawing, folder: Path, suffix: str = "") -> tuple[Path, Path]:
    """Write NAME.png and NAME.svg (`suffix` after the name) into `folder`, and return their paths.

    The same numbers give the same bytes. A file is replaced only once the new one is whole.
    """
    picture = draw(figure)
    folder.mkdir(parents=True, exist_ok=True)
    png = _write(picture, folder / f"{figure.name}{suffix}.png", {"Software": None})
    svg = _write(picture, folder / f"{figure.name}{suffix}.svg", {"Date": None, "Creator": None})
    return png, svg


def _write(picture: Figure, path: Path, metadata: dict[str, None]) -> Path:
    content = io.BytesIO()
    picture.savefig(content, format=path.suffix[1:], dpi=DPI[path.suffix], metadata=metadata)
    with whole_file(path) as part:
        part.write_bytes(content.getvalue())
    return path


def _columns(count: int) -> int:
    """All panels in one row up to four; more of them in even rows."""
    rows = max(1, -(-count // 4))
    return max(1, -(-count // rows))


def _letter(axes: Axes, letter: str) -> None:
    axes.annotate(
        letter,
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(-0.35 * 72, 5),
        textcoords="offset points",
        fontsize=11,
        fontweight="bold",
    )


def _legends(
    picture: Figure,
    all_axes: Sequence[Axes],
    entries: Sequence[Entries],
    columns: int,
    panel_width: float,
    below: bool,
) -> None:
    """Legends outside the axes, where they hide nothing: right of a single panel, `below` it or below several.

    One legend serves all panels when the fullest of theirs covers the others; otherwise it serves those to the right of
    its panel that it covers. The picture grows by what legends need.
    """
    full = max(entries, key=len, default={})
    width, height = picture.get_size_inches()
    if not full:
        return
    if len(entries) == 1 and not below:
        picture.set_size_inches(width + max(len(label) for label, _ in full) / CHARACTERS + 0.5, height)
        picture.legend(*_content(full), loc="outside right center")
    elif all(own.keys() <= full.keys() for own in entries):
        picture.set_size_inches(width, height + _tall(full, width))
        picture.legend(*_content(full), loc="outside lower center", ncols=_across(full, width))
    else:
        room, rows = panel_width - 0.4, -(-len(entries) // columns)
        picture.set_size_inches(width, height + rows * max(_tall(own, room) for own in entries))
        for index, (axes, own) in enumerate(zip(all_axes, entries, strict=True)):
            left = entries[index - index % columns : index]
            if own and not any(own.keys() <= other.keys() for other in left):
                _legend_below(picture, axes, own, _across(own, room))


def _legend_below(picture: Figure, axes: Axes, entries: Entries, columns: int) -> None:
    """A legend just below the labels of the x axis."""
    from matplotlib.transforms import ScaledTranslation

    labels = axes.xaxis.get_tightbbox(None)
    depth = 0.0 if labels is None else (axes.bbox.y0 - labels.y0) / picture.dpi
    anchor = axes.transAxes + ScaledTranslation(0, -depth, picture.dpi_scale_trans)
    axes.legend(
        *_content(entries),
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=anchor,
        ncols=columns,
        borderaxespad=0.3,
    )


def _content(entries: Entries) -> tuple[list[Any], list[str]]:
    return list(entries.values()), [label for label, _ in entries]


def _across(entries: Entries, inches: float) -> int:
    """Columns of a legend that fit into `inches`."""
    longest = max((len(label) for label, _ in entries), default=0)
    return max(1, min(len(entries), int(inches / (longest / CHARACTERS + 0.5))))


def _tall(entries: Entries, inches: float) -> float:
    """Inches from top to bottom of a legend that is `inches` wide."""
    return 0.17 * -(-len(entries) // _across(entries, inches)) + 0.1
