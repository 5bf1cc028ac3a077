"""From a page to one HTML file that loads nothing: style, script and numbers are inside, and its policy says so."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from taskorder.plots.style import ROLES
from taskorder.report.markup import Html, html, join, json_block, tag
from taskorder.report.page import Fact, Figure, Page, Section
from taskorder.report.parts import table_html
from taskorder.report.stills import stills
from taskorder.visible import visible_lines

MODULES = ("svg", "axes", "heat", "lines", "rows", "scatter", "spread", "taskmap", "page")
"""The modules of the page's script, in the order of their imports; the explorer loads all but the last."""
DARK_PAPER = (0x15, 0x18, 0x1C)


def page_html(page: Page, command: str) -> str:
    """The whole file; `command` makes it again."""
    style = _file("page.css") + _file("charts.css") + rule_colors()
    code = f'"use strict";\n(() => {{\n{script(*MODULES)}}})();\n'
    charts = _charts(page)
    drawings = stills(charts)
    scripts_off = "the charts are still drawings" if drawings else "the page shows tables in place of charts"
    # The page runs only its own style and script, by their hashes: a hostile task name cannot add another.
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(code)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", page.title),
            tag("style", Html(style)),
        ]
    )
    answer = tag("p", page.answer, class_="answer", id="answer")
    top = tag(
        "header", tag("p", "taskorder report", class_="kicker"), tag("h1", page.title), answer, _facts(page.facts)
    )
    body = [
        top,
        tag("noscript", tag("p", f"Scripts are off: {scripts_off}.", class_="words")),
        _list("warnings", "Warnings", page.warnings) if page.warnings else "",
        *(_section(section, drawings) for section in page.sections),
        _list("confidence", "What is certain and what is not", page.confidence),
        _list("notes", "Notes", page.notes) if page.notes else "",
        _made(page, command),
    ]
    return "<!doctype html>\n" + tag(
        "html",
        tag("head", head),
        tag(
            "body",
            tag("main", *body),
            tag("div", id="tip", role="status", aria_live="polite", hidden="hidden"),
            json_block(page.numbers, "numbers"),
            json_block({key: {**f.chart, "label": f.title} for key, f in charts.items()}, "charts"),
            tag("script", Html(code)),
        ),
        lang="en",
    )


def rule_colors() -> str:
    """A class for each rule with the color that all figures of the project give it; lighter on dark paper."""
    light = "".join(f".s-{role}{{--c:{look.color}}}" for role, look in ROLES.items())
    dark = "".join(f".s-{role}{{--c:{on_dark(look.color)}}}" for role, look in ROLES.items())
    return f"{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n"


def on_dark(color: str) -> str:
    """`color`, mixed with white until it stands out from dark paper (contrast of at least 4.5).

    >>> on_dark("#56B4E9"), on_dark("#000000")
    ('#56b4e9', '#808080')
    """
    mixed = tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))
    while contrast(mixed, DARK_PAPER) < 4.5:
        mixed = tuple(min(255, part + 8) for part in mixed)
    return "#" + "".join(f"{part:02x}" for part in mixed)


def contrast(color: Sequence[int], other: Sequence[int]) -> float:
    """Contrast of two colors as the Web Content Accessibility Guidelines define it."""
    low, high = sorted(map(_luminance, (color, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Sequence[int]) -> float:
    parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def _charts(page: Page) -> dict[str, Figure]:
    """Every figure of the page by a key of its own; scripts show the texts of its chart as they are."""
    return {
        f"{part.key}-{k}": replace(figure, chart=_visible(figure.chart))
        for part in page.sections
        for k, figure in enumerate(part.figures)
    }


def _visible(value: Any) -> Any:
    """A value of JSON whose texts are visible; lists of numbers are long and stay."""
    if isinstance(value, str):
        return visible_lines(value)
    if isinstance(value, Mapping):
        return {key: _visible(part) for key, part in value.items()}
    if isinstance(value, list | tuple) and value and not isinstance(value[0], int | float):
        return [_visible(part) for part in value]
    return value


def _section(section: Section, drawings: Mapping[str, Html]) -> Html:
    keys = [f"{section.key}-{k}" for k in range(len(section.figures))]
    figures = [_figure(key, figure, drawings.get(key)) for key, figure in zip(keys, section.figures, strict=True)]
    parts = [tag("h2", section.title), tag("p", section.words, class_="words"), section.content]
    return tag("section", *parts, *figures, id=section.key)


def _figure(key: str, figure: Figure, drawing: Html | None) -> Html:
    """The table of a chart, and the drawing for readers without scripts; the script draws the chart above them.

    Where there is no drawing the table is unfolded until the script folds it.
    """
    still = Html("") if drawing is None else tag("noscript", drawing)
    numbers = table_html(figure.table, f"Data table: {figure.title}")
    behind = tag("details", tag("summary", "Data table"), numbers, open="" if drawing is None else None)
    return tag("figure", still, behind, tabindex=0, role="group", aria_label=figure.title, data_chart=key)


def _facts(facts: Sequence[Fact]) -> Html:
    cards = [tag("div", tag("dt", f.label), tag("dd", f.value), tag("dd", f.detail, class_="detail")) for f in facts]
    return tag("dl", *cards, class_="facts")


def _list(key: str, title: str, lines: Sequence[str]) -> Html:
    return tag("section", tag("h2", title), tag("ul", *(tag("li", line) for line in lines)), id=key)


def _made(page: Page, command: str) -> Html:
    rows = [html("<dt>{}</dt><dd>{}</dd>", key, value) for key, value in page.made.items()]
    again = tag("pre", tag("code", command), tabindex=0, role="region", aria_label="Command")
    save = tag("button", "Save the numbers as JSON", type="button", id="save", hidden="hidden")
    intro = tag("p", "To make this page again:", class_="words")
    return tag("section", tag("h2", "How it was made"), tag("dl", *rows, class_="made"), intro, again, save, id="made")


def script(*names: str) -> str:
    """Modules of static/ as one script: what they import from each other is in one scope then."""
    return "".join(re.sub(r"^import [^;]*;\n|^export ", "", _file(f"{name}.js"), flags=re.MULTILINE) for name in names)


def _file(name: str) -> str:
    return resources.files("taskorder.report").joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
