"""Text that others parse: names as literals of YAML and Python, and comments that no name can break out of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

UNQUOTED = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
"""What YAML reads as text without quotes, but for its words for truth values and nothing."""
WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"}
MOST_IN_COMMENT = 12


def quoted(text: str) -> str:
    r"""A literal in double quotes that YAML and Python read alike, whatever the text holds.

    >>> print(quoted('a "b"'), quoted("two\nlines"), quoted("käse"))
    "a \"b\"" "two\x0alines" "käse"
    """
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def yaml_value(value: Any) -> str:
    """A value on one line of YAML; text is quoted where it would be read as something else.

    >>> yaml_value(["cats", "no", "a: b", 1e-5, None, {"x": True}])
    '[cats, "no", "a: b", 1.0e-05, null, {x: true}]'
    """
    if isinstance(value, str):
        plain = UNQUOTED.fullmatch(value) and value.lower() not in WORDS
        return value if plain else quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_value(key)}: {yaml_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(yaml_value, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text  # 1e-05 is text in YAML 1.1


def yaml_lines(values: Mapping[str, Any]) -> str:
    """A mapping with one key a line; a list of mappings as YAML's blocks."""
    lines = []
    for key, value in values.items():
        if isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
            lines.append(f"{key}:")
            for entry in value:
                pairs = [f"{yaml_value(name)}: {yaml_value(inner)}" for name, inner in entry.items()]
                lines += [f"{'    ' if k else '  - '}{pair}" for k, pair in enumerate(pairs)]
        else:
            lines.append(f"{key}: {yaml_value(value)}")
    return "\n".join(lines) + "\n"


def named(names: Iterable[str]) -> str:
    """Names along an order for a comment, without its middle where there are many; no name ends the line.

    >>> named(["cats", "a name"]), named("ABCDEFGHIJKLM")
    ('cats -> "a name"', 'A -> B -> C -> D -> E -> F -> ... -> H -> I -> J -> K -> L -> M')
    """
    shown = [yaml_value(name) for name in names]
    if len(shown) > MOST_IN_COMMENT:
        shown = [*shown[: MOST_IN_COMMENT // 2], "...", *shown[-MOST_IN_COMMENT // 2 :]]
    return " -> ".join(shown)
