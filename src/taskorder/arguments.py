"""The error for an argument that breaks a rule. It knows the names of arguments in its message."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from taskorder.visible import visible

MOST_COMPARED, MOST_KNOWN = 100, 2000
"""Characters of a name, and names, that are compared: more take seconds."""


class BadArgument(ValueError):
    """An argument that breaks a rule: "`name` must RULE, got VALUE. FIX.", cut into parts where it names others.

    Who calls arguments by other names, as the command line does, puts those in. What a file holds has the names that
    it has in the file: a plain ValueError.

    >>> contradiction = BadArgument("`first` must not contradict ", "before", ", got A before itself.")
    >>> str(contradiction)
    '`first` must not contradict `before`, got A before itself.'
    >>> contradiction.spelled({"first": "--first", "before": "--before"})
    '`--first` must not contradict `--before`, got A before itself.'
    """

    def __init__(self, text: str, *parts: str) -> None:
        super().__init__(text, *parts)

    def __str__(self) -> str:
        return self.spelled({})

    def spelled(self, names: Mapping[str, str]) -> str:
        """The message with these names in place of the library's, on one line."""
        said = (f"`{names.get(part, part)}`" if k % 2 else part for k, part in enumerate(self.parts()))
        return visible("".join(said))

    def parts(self) -> tuple[str, ...]:
        """Text and names of arguments in turn; the first name is the first that stands between backticks."""
        return (*self.args[0].split("`", 2), *self.args[1:])


def unknown(name: str, given: object, known: Iterable[str]) -> BadArgument:
    """The refusal of a name that is none of those that are known; it lists them, and the one that was meant.

    >>> str(unknown("rule", "optimla", ["optimal", "random"]))
    "`rule` must be one of optimal, random, got 'optimla'. Did you mean 'optimal'?"
    """
    names = list(known)
    return BadArgument(f"`{name}` must be one of {', '.join(names)}, got {given!r}.{did_you_mean(given, names)}")


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """A question, after a blank, where one of the known names is much like the given one; else nothing.

    >>> did_you_mean("Bees ", ["ants", "bees"]), did_you_mean("zebras", ["ants", "bees"])
    (" Did you mean 'bees'?", '')
    """
    # a long name is compared in quadratic time, and nobody mistypes one
    few = reversed([*itertools.islice(known, MOST_KNOWN)])
    folded = {name.casefold(): name for name in few if len(name) <= MOST_COMPARED}
    close = get_close_matches(str(given)[:MOST_COMPARED].strip().casefold(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""
