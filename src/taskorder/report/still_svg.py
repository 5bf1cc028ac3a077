"""Matplotlib's SVG as a part of a page: attributes in place of styles, which the page's policy forbids."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from taskorder.report.markup import Html, join, tag

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")
FONT = re.compile(r"(?:(bold|\d00) )?([\d.]+px) ")
"""Weight and size in the short form of a font, which matplotlib wrote before 3.9."""
LEFT_OUT_OF_SVG = ("metadata", "style")


def inline_svg(text: str, label: str) -> Html:
    """The drawing as an element of a page; `label` is what a screen reader says."""
    root = ElementTree.fromstring(text)
    used = set(re.findall(r"#(\w+)", text))
    content = join(_element(child, used) for child in root)
    box = root.get("viewBox")
    return tag("svg", content, viewBox=box, class_="still", role="img", aria_label=label, stroke_linejoin="round")


def _element(element: ElementTree.Element, used: set[str]) -> Html:
    """One element with all that is in it; groups that group nothing are left out, as are ids that are not `used`."""
    name = element.tag.removeprefix(SVG)
    content = [] if name in LEFT_OUT_OF_SVG else [_element(child, used) for child in element]
    attributes = {key: _short(value) for key, value in _attributes(element).items() if key != "id" or value in used}
    if name in LEFT_OUT_OF_SVG or (name == "defs" and not any(content)) or (name == "g" and not attributes):
        return join(content)
    return tag(name, element.text or "" if name == "text" else "", *content, **attributes)


def _attributes(element: ElementTree.Element) -> dict[str, str]:
    """The attributes of an element, and the properties in its style as attributes."""
    given = {key.replace(LINK, ""): value for key, value in element.attrib.items()}
    for part in filter(str.strip, given.pop("style", "").split(";")):
        name, value = (side.strip() for side in part.split(":", 1))
        font = FONT.match(value) if name == "font" else None
        given |= {"font-size": font[2], "font-weight": font[1] or "normal"} if font else {name: value}
    if given.get("transform", "").startswith("rotate(-0 "):
        del given["transform"]
    given.pop("font-family", None)  # the page's
    return given


def _short(value: str) -> str:
    """Numbers with four digits, and no needless space between them; pixels of an image as they are."""
    if value.startswith("data:"):
        return "".join(value.split())
    value = LONG_NUMBER.sub(lambda match: f"{float(match[0]):.4g}", " ".join(value.split()))
    return re.sub(r" ?([MLHVCQz]) ?", r"\1", value) if value.startswith("M ") else value
