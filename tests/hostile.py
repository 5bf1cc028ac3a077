"""Names that run, hide, or mean something to a program where they are no longer text; and what a page must not do."""

from __future__ import annotations

from typing import Any

MARKUP = (
    "<script>window.owned=1;alert(1)</script>",
    "</script><script>window.owned=1</script>",
    "</textarea></title></style></noscript><img src=x onerror=window.owned=1>",
    '"><svg/onload=window.owned=1>',
    "' onmouseover='window.owned=1' autofocus onfocus='window.owned=1' x='",
    "<svg><animate onbegin=window.owned=1 attributeName=x dur=1s></svg>",
    "<a href=javascript:window.owned=1 id=owned>click</a>",
    "<iframe srcdoc='<script>parent.owned=1</script>'></iframe>",
    "<style>*{display:none!important}</style>",
    "<base href=//example.invalid><meta http-equiv=refresh content=0>",
    "javascript:window.owned=1",
    "url(javascript:window.owned=1)",
    "]]><!-- --> <![CDATA[ --!>",
)
TEMPLATES = (
    "{{constructor.constructor('window.owned=1')()}}",
    "${window.owned=1}",
    "<%= 7*7 %> #{7*7} {% raw %} {0} %s %(x)s",
    "&lt;img src=x onerror=window.owned=1&gt; &amp;#60; &#x3c;b",
    "\\u003cscript\\u003e \\x3c \\",
    "`'\"",
)
PROPERTIES = (
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "length",
    "null",
    "undefined",
    "NaN",
)
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
SCRIPTS = ("שלום עולם", "مرحبا", f"{FAMILY} \U0001f408\u200d\u2b1b", PERSIAN, "Z\u0337\u0351a\u0337lgo", "猫と犬")
ALIKE = ("cats", "Cats", "CATS", "\u00e9t\u00e9", "e\u0301te\u0301", "\ufb01n", "fin", "\uff11", "1", "-0.5", "=1+2")
LONG = ("x" * 10_000, "very long " * 60)
NAMES = tuple(name.strip() for name in (*MARKUP, *TEMPLATES, *PROPERTIES, *SCRIPTS, *ALIKE, *LONG))
"""Those that a file may hold."""

LYING = (
    "\u202etxt.exe\u2066",
    "a\nb",
    "\x1b[31mred\r\tx",
    "zero\u200bwidth",
    "\u2067left\u200f",
    "nul\x00\x7f\x85x",
    "\u3164",
    "line\u2028line",
    "\uffff",
)
"""Those that no file may hold, and that only Python can give."""

WATCH = """
window.complaints = [];
addEventListener("securitypolicyviolation", (event) => complaints.push(`policy: ${event.violatedDirective}`));
addEventListener("error", ({ message }) => message.includes("ResizeObserver") || complaints.push(`error: ${message}`));
addEventListener("unhandledrejection", (event) => complaints.push(`rejection: ${event.reason}`));
window.known = () => [...Object.getOwnPropertyNames(window), ...Object.getOwnPropertyNames(Object.prototype)];
window.before = new Set(["before", ...known()]);
"""
"""Runs before everything else on a page."""

STATE = """() => [
  ...complaints,
  ...known().filter((name) => !before.has(name) && !/^\\d+$|playwright/.test(name)).map((name) => `global: ${name}`),
  ...document.querySelectorAll("iframe, base, img:not([src^='/static/']), a[href^=javascript], #owned"),
].map(String)"""


def is_refusal(line: Any) -> bool:
    """Whether a line of the console says nothing but that the server has refused a request, as it should."""
    return line.type != "error" or "responded with a status of 400" in line.text


def watch(page: Any) -> Any:
    """Keep in `problems` whatever shows that a name ran: dialogs, errors, new windows, requests to elsewhere."""
    page.problems = []
    page.add_init_script(WATCH)
    page.on("dialog", lambda dialog: (page.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda problem: page.problems.append(f"error: {problem}"))
    page.on("popup", lambda popup: page.problems.append(f"window: {popup.url}"))
    page.on("console", lambda line: is_refusal(line) or page.problems.append(f"console: {line.text}"))
    page.on("request", lambda request: "example.invalid" not in request.url or page.problems.append(request.url))
    return page


def ran(page: Any) -> list[str]:
    """What shows that a name ran."""
    return [*page.problems, *page.evaluate(STATE)]
