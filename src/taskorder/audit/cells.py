"""Cells of a table of results as people and trackers write them: orders, accuracies, blanks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from taskorder.parsing import literal_values
from taskorder.tables.separated import has_decimal_comma

BLANK = frozenset(("", "-", "nan", "none", "null", "na", "n/a"))
"""What stands in a cell without a value, in lower case: W&B writes "", pandas "" or NaN, people the rest."""
LONGEST_LIST = 100_000
"""Characters of a list in brackets; longer ones are taken as they are."""
LONGEST_COUNT = 18
"""Digits of a number that counts something."""
MARKS = ("|", ";", ",")
"""Between the tasks of an order without arrows."""
_ARROW = re.compile(r"-?>|→")


class Accuracy(NamedTuple):
    """A number, and whether a percent sign came with it."""

    number: float
    signed: bool


def is_blank(cell: str) -> bool:
    """Whether a cell holds no value.

    >>> is_blank(" NaN "), is_blank("0")
    (True, False)
    """
    return cell.strip().lower() in BLANK


def steps_of(order: str) -> tuple[str, ...]:
    """The tasks of an order: between arrows, in a list in brackets, or between commas, bars or semicolons.

    >>> steps_of("2>0>1"), steps_of("cats -> dogs"), steps_of("['cats', 'dogs']"), steps_of("[1, 0]"), steps_of("mine")
    (('2', '0', '1'), ('cats', 'dogs'), ('cats', 'dogs'), ('1', '0'), ('mine',))
    """
    text = order.strip()
    if text[:1] in ("[", "(") and text[-1:] in ("]", ")"):
        listed = _listed(text)
        if listed is not None:
            return listed
    if _ARROW.search(text):
        return tuple(part.strip() for part in _ARROW.split(text))
    mark = next((mark for mark in MARKS if mark in text), None)
    return (text,) if mark is None else tuple(part.strip() for part in text.split(mark))


def _listed(text: str) -> tuple[str, ...] | None:
    """The elements of a list as JSON or Python write it; None for anything else."""
    if len(text) > LONGEST_LIST:
        return None
    try:
        values = literal_values(text)
    except ValueError:
        return None
    if not isinstance(values, (list, tuple)) or not values:
        return None
    if all(isinstance(value, (list, tuple)) for value in values):  # tasks as groups of classes
        return tuple("-".join(map(str, group)) for group in values)
    return tuple(str(value).strip() for value in values)


def accuracy_of(cell: str) -> Accuracy | None:
    """The number in a cell, with or without a percent sign; None for what is no accuracy.

    >>> accuracy_of("85.3 %"), accuracy_of("0,853"), accuracy_of("120"), accuracy_of("nan")
    (Accuracy(number=85.3, signed=True), Accuracy(number=0.853, signed=False), None, None)
    """
    text = cell.strip()
    signed = text.endswith("%")
    text = text.rstrip("%").rstrip()
    if has_decimal_comma(text):
        text = text.replace(",", ".")
    try:
        number = float(text)
    except ValueError:
        return None
    if "_" in text or math.isnan(number) or not 0 <= number <= 100:
        return None
    return Accuracy(number, signed)


def is_count(text: str) -> bool:
    """Whether a text is a whole number of a size that counts something."""
    return text.isdecimal() and len(text) <= LONGEST_COUNT


def sorted_texts(values: Iterable[str]) -> tuple[str, ...]:
    """Orders, seeds, tasks or methods: by number where all are numbers.

    >>> sorted_texts(["10>2", "9>10"]), sorted_texts(["b", "10", "9", "a"])
    (('9>10', '10>2'), ('9', '10', 'a', 'b'))
    """
    values = list(values)
    if all(is_count(part) for value in values for part in value.split(">")):
        return tuple(sorted(values, key=lambda value: (tuple(map(int, value.split(">"))), value)))

    def key(value: str) -> list[tuple[bool, int, str]]:
        return [(not is_count(part), int(part) if is_count(part) else 0, part) for part in value.split(">")]

    return tuple(sorted(values, key=key))
