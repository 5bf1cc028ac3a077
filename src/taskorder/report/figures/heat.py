"""A square table as colored cells: one small picture whose transparency is the value, to suit any background."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taskorder.checks import Floats
from taskorder.report.figures.axes import FONT, fitted, number, svg, text_width
from taskorder.report.markup import Html, join, tag

MOST_CELLS = 200
"""Cells a side; larger tables are shown in blocks of tasks that are next to each other in the order."""
LARGEST_CELL = 56.0
NAMED = 40
"""Tables up to this size have their names beside them."""
COLD, WARM = (0, 114, 178), (213, 94, 0)


@dataclass(frozen=True, eq=False)
class Grid:
    """What a heat map shows, and what its cells say when pointed at."""

    values: Floats
    """(n, n), in the order of the plan; means of blocks for large tables."""
    names: tuple[str, ...]
    """Of each row and column: a task, or the steps of a block."""
    top: float
    """The value of the strongest color."""
    warm: bool = False
    """Whether positive values have the warm color: where they are costs."""
    blocks: bool = False
    """Whether a row is a block of tasks."""

    def to_dict(self) -> dict[str, object]:
        """What the page's script reads."""
        return {"names": self.names, "values": [[float(f"{v:.4g}") for v in row] for row in self.values.tolist()]}


def grid(table: Floats, order: Sequence[int], labels: Sequence[str], *, warm: bool = False) -> Grid:
    """`table` (by task) in `order`, its rows called `labels`; the diagonal is left out of the scale."""
    ordered = table[np.ix_(order, order)]
    n = len(order)
    off = ordered[~np.eye(n, dtype=bool)]
    if n <= MOST_CELLS:
        return Grid(ordered, tuple(labels), _round_up(float(np.abs(off).max(initial=0.0))), warm)
    starts = np.arange(0, n, -(-n // MOST_CELLS))
    filled = ordered.copy()
    np.fill_diagonal(filled, 0.0)
    sizes = np.diff([*starts, n])
    counts = np.outer(sizes, sizes) - np.diag(sizes)  # the diagonal does not count
    blocks = np.add.reduceat(np.add.reduceat(filled, starts, axis=0), starts, axis=1) / np.maximum(counts, 1)
    blocks_of = tuple(f"steps {a + 1} to {a + size}" for a, size in zip(starts, sizes, strict=True))
    return Grid(blocks, blocks_of, _round_up(float(np.abs(blocks).max())), warm, blocks=True)


def heat_map(key: str, cells: Grid, width: float, label: str, unit: str) -> Html:
    """The heat map; `key` is where the page's script finds its values, `unit` what the scale says."""
    n, top = len(cells.names), 44.0
    size = min(FONT, 0.95 * min(0.68 * width, 560.0) / n)
    legible = n <= NAMED and size >= 6.5
    left = min(max(text_width(name, size) for name in cells.names) + 10, 0.32 * width) if legible else 34.0
    side = min(width - left, 560.0, LARGEST_CELL * n)
    cell = side / n
    parts = [_legend(cells, unit, left, min(width - left, 260.0))]
    picture = "data:image/png;base64," + base64.b64encode(png(cells)).decode()
    parts.append(tag("rect", x=left, y=top, width=side, height=side, class_="paper"))
    parts.append(
        tag("image", href=picture, x=left, y=top, width=side, height=side, preserveAspectRatio="none", class_="cells")
    )
    if legible:
        places = [top + (i + 0.5) * cell + 0.35 * size for i in range(n)]
        parts += [
            tag("text", fitted(name, left - 8, size), x=left - 8, y=y, font_size=size, class_="name end")
            for name, y in zip(cells.names, places, strict=True)
        ]
    else:
        parts.append(tag("text", "first", x=left - 6, y=top + 11, class_="tick end"))
        parts.append(tag("text", "last", x=left - 6, y=top + side - 2, class_="tick end"))
    parts.append(tag("rect", x=left, y=top, width=side, height=side, class_="frame", data_grid=key))
    return svg(width, top + side + 4, label, join(parts))


def png(cells: Grid) -> bytes:
    """Blue and vermilion for the two signs, as opaque as the values are large; the diagonal of single tasks is gray."""
    values, n = cells.values, len(cells.names)
    cold = (values >= 0) != cells.warm
    colors = np.where(cold[..., None], np.array(COLD), np.array(WARM))
    alpha = 255 * np.minimum(np.abs(values) / cells.top, 1.0)
    pixels = np.concatenate([colors, alpha[..., None]], axis=2).round().astype(np.uint8)
    if not cells.blocks:
        pixels[np.arange(n), np.arange(n)] = (128, 128, 128, 90)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", n, n, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _legend(cells: Grid, unit: str, left: float, length: float) -> Html:
    steps, top = np.linspace(-1, 1, 21), cells.top
    wide = length / len(steps)
    parts = [tag("text", unit, x=left, y=11, class_="title")]
    parts += [
        tag(
            "rect",
            x=left + i * wide,
            y=18,
            width=wide + 0.3,
            height=8,
            class_="cells cold" if (s >= 0) != cells.warm else "cells warm",
            fill_opacity=float(abs(s)),
        )
        for i, s in enumerate(steps)
    ]
    for value, share, anchor in ((-top, 0.0, ""), (0.0, 0.5, " middle"), (top, 1.0, " end")):
        parts.append(tag("text", number(value), x=left + share * length, y=38, class_="tick" + anchor))
    return join(parts)


def _round_up(value: float) -> float:
    """The next number with one digit that is at least as large; 1 where all is zero.

    >>> _round_up(0.37), _round_up(0.0)
    (0.4, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** np.floor(np.log10(value))
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.3g}")
