"""Text becomes HTML only here: whatever is not `Html` already is escaped.

Task names come from files that others wrote; they reach the page through `tag` or `html` and no other way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from taskorder.visible import visible


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def safe(value: object) -> Html:
    """`value` as markup: escaped unless it is `Html`, and what would turn or hide it is visible."""
    return value if isinstance(value, Html) else Html(escape(visible(str(value)), quote=True))


def html(template: str, *parts: object) -> Html:
    """`template` (our own words) with each {} replaced by an escaped part.

    >>> html("<b>{}</b>", "a < b")
    '<b>a &lt; b</b>'
    """
    return Html(template.format(*map(safe, parts)))


def join(parts: Iterable[object], between: str = "") -> Html:
    """All parts, escaped, one after another."""
    return Html(between.join(map(safe, parts)))


def tag(name: str, /, *content: object, **attributes: object) -> Html:
    """One element. `class_` is class, other underscores are hyphens; an attribute that is None is left out.

    >>> tag("p", "1 < 2", class_="words")
    '<p class="words">1 &lt; 2</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{safe(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not content and name in EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(content)}</{name}>")


EMPTY = ("meta", "br")
"""Elements that have no end."""


def task(name: str) -> Html:
    """A task name in a sentence: its writing direction does not spill over."""
    return tag("bdi", name)


def json_block(value: Any, key: str) -> Html:
    """A script element with JSON that a browser never runs and that nothing inside can end."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return tag("script", Html(text), type="application/json", id=key)
