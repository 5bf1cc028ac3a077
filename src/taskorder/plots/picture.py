"""A figure of matplotlib that keeps its style when it is saved or shown, whatever the settings around it are."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

from taskorder.plots.style import style_settings

SAVED_DPI = 200


class Picture(Figure):
    """A figure tied to no window: text in its PDF and SVG files stays text, and notebooks show it as it is."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the figure, as `matplotlib.figure.Figure.savefig` does; the name's ending decides the format."""
        with style_settings():
            super().savefig(fname, **{"dpi": SAVED_DPI, **options})

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=SAVED_DPI / 2)
        return content.getvalue()
