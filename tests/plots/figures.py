"""Small figures to draw."""

from taskorder.plots.records import Drawing, Heatmap, Panel, Series


def make(*panels: Panel, name: str = "figure", columns: int = 0) -> Drawing:
    return Drawing(name, "A figure", panels, columns)


def panel(*series: Series, **more) -> Panel:
    return Panel("title", "time (steps)", "error", series, **more)


def line(label: str = "", role: str = "", slope: float = 1.0, **more) -> Series:
    return Series(label, (0.0, 1.0, 2.0), (0.5, 0.5 + slope, 0.5 + 2 * slope), role=role, **more)


def heat(**more) -> Panel:
    values = ((0.0, 1.0, 2.0), (1.0, None, -3.0))
    return Panel("map", "x", "y", heatmap=Heatmap(values, (1.0, 2.0, 3.0), (1.0, 2.0), **more))


def texts(legend) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def everything() -> Drawing:
    """A figure with every feature."""
    band = {"low": (0.1, None, 0.2), "high": (0.9, None, 3.0)}
    return make(
        panel(line("a", "best", **band), line("b", style="bars", **band), steps=("first", "second")),
        panel(line("c", style="points", **band), line("d", "background"), x_scale="linear", y_scale="log"),
        heat(),
        heat(diverging=True, upward=False),
        Panel("kinds", "x", "y", heatmap=Heatmap(((0, 1), (None, 2)), (1, 10), (0, 1), categories=("p", "q", "r"))),
    )
