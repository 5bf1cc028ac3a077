"""The error for an argument that breaks a rule. It knows the names of arguments in its message."""

from __future__ import annotations

from collections.abc import Mapping


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
        """The message with these names in place of the library's."""
        return "".join(f"`{names.get(part, part)}`" if k % 2 else part for k, part in enumerate(self.parts()))

    def parts(self) -> tuple[str, ...]:
        """Text and names of arguments in turn; the first name is the first that stands between backticks."""
        return (*self.args[0].split("`", 2), *self.args[1:])
