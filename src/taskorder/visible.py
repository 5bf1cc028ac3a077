"""Text that others wrote, as it may stand on a terminal, in a log or in a message."""

from __future__ import annotations

import re
import unicodedata

JOINER = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
"""What makes one sign of two in emoji and in Persian or Indic scripts; between Latin letters it would only hide."""

_DECEIVING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of Unicode: controls, marks of direction and width, halves of characters, ends of lines."""
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and accents that show nothing."""
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    r"""The text on one line: an escape, as JSON has them, in place of all that a terminal obeys or a reader cannot see.

    >>> print(visible("cats\x1b[2J\n"), visible("\u202etac"), visible("naïve 猫"))
    cats\u001b[2J\n \u202etac naïve 猫
    """
    if text.isprintable() and (text.isascii() or _BLANK_LETTERS.isdisjoint(text)):
        return text
    joiners = {found.start() for found in JOINER.finditer(text)}
    return "".join(_escape(mark) if at not in joiners and _deceives(mark) else mark for at, mark in enumerate(text))


def visible_lines(text: str) -> str:
    """As `visible` for each line, and the lines stay lines."""
    return "\n".join(map(visible, text.split("\n")))


def _deceives(mark: str) -> bool:
    return unicodedata.category(mark) in _DECEIVING or mark in _BLANK_LETTERS or _is_no_character(mark)


def _is_no_character(mark: str) -> bool:
    """Whether Unicode promises that this will never be one; files in XML may not hold it."""
    return ord(mark) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(mark) <= 0xFDEF


def _escape(mark: str) -> str:
    units = mark.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return _SHORT.get(mark) or "".join(f"\\u{pair.hex()}" for pair in pairs)
