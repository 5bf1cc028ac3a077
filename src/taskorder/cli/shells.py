"""Completion scripts for bash, zsh and fish: plain lists of words, so that TAB never starts Python.

Every script walks the words that are there already, to know which command they name, and then offers its commands, its
options, or the values that are known; anything else is left to the shell, which offers files.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """An option as it is typed, and what may follow it."""

    words: tuple[str, ...]
    help: str
    takes_value: bool = False
    values: tuple[str, ...] = ()
    """Those that are known; files and whatever else where there are none."""


@dataclass(frozen=True)
class Level:
    """The program, a command of it, or an action of a command."""

    name: str
    """The words that lead here, like "taskorder data get"."""
    commands: Mapping[str, str]
    """What may come next, with its help."""
    options: tuple[Option, ...]
    arguments: tuple[str, ...] = ()
    """Known values of its arguments."""


def bash(levels: Sequence[Level]) -> str:
    """The script for bash 3.2 and later."""
    offers, values, free = [], [], []
    for level in levels:
        words = [*level.commands, *level.arguments]
        flags = [word for option in level.options for word in option.words]
        offers.append(f'        {_quoted(level.name)}) words="{" ".join(words)}" flags="{" ".join(flags)}" ;;')
        for option in level.options:
            if option.takes_value:
                cases = "|".join(_quoted(f"{level.name} {word}") for word in option.words)
                free += [] if option.values else [cases]
                values += [f'        {cases}) words="{" ".join(option.values)}" flags= ;;'] if option.values else []
    return f"""\
# bash completion for taskorder
_taskorder() {{
    local at=taskorder current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words= flags= i
    # bash takes --option=value for three words
    [[ $current == "=" ]] && current=
    [[ $before == "=" ]] && before="${{COMP_WORDS[COMP_CWORD-2]}}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${{COMP_WORDS[i]}}" in
            {_cases(levels)}) at="$at ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$at" in
{_lines(offers)}
    esac
    case "$at $before" in
{_lines(values)}
        {"|".join([*free, "--"])}) words= flags= ;;
    esac
    COMPREPLY=()
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$current"))
    elif [[ -n $words ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    fi
}}
complete -o bashdefault -o default -F _taskorder taskorder
"""


def zsh(levels: Sequence[Level]) -> str:
    """The script for zsh, with the help of each word."""
    offers, values, free = [], [], []
    for level in levels:
        words = [_item(word, text) for word, text in level.commands.items()]
        words += [_item(word, "") for word in level.arguments]
        flags = [_item(word, option.help) for option in level.options for word in option.words]
        offers.append(f"        {_quoted(level.name)}) found=({' '.join(words)}) flags=({' '.join(flags)}) ;;")
        for option in level.options:
            if option.takes_value:
                cases = "|".join(_quoted(f"{level.name} {word}") for word in option.words)
                free += [] if option.values else [cases]
                items = " ".join(_item(word, "") for word in option.values)
                values += [f"        {cases}) found=({items}) flags=() ;;"] if option.values else []
    return f"""\
#compdef taskorder
# zsh completion for taskorder
_taskorder() {{
    local at=taskorder word
    local -a found flags
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$at $word" in
            {_cases(levels)}) at="$at $word" ;;
        esac
    done
    case "$at" in
{_lines(offers)}
    esac
    case "$at $words[CURRENT-1]" in
{_lines(values)}
        {"|".join([*free, "--"])}) found=() flags=() ;;
    esac
    if [[ $PREFIX == -* ]]; then
        _describe -o option flags
    elif (( $#found )); then
        _describe word found || _files
    else
        _files
    fi
}}
if [[ $funcstack[1] == _taskorder ]]; then _taskorder "$@"; else compdef _taskorder taskorder; fi
"""


def fish(levels: Sequence[Level]) -> str:
    """The script for fish, with the help of each word."""
    lines = []
    for level in levels:
        start = f"complete -c taskorder -n '__taskorder_at {level.name}'"
        lines += [f"{start} -f -a {_fish(word)} -d {_fish(text)}" for word, text in level.commands.items()]
        lines += [f"{start} -a {_fish(' '.join(level.arguments))}"] if level.arguments else []
        for option in level.options:
            words = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option.words)
            value = f" -x -a {_fish(' '.join(option.values))}" if option.values else " -r" if option.takes_value else ""
            lines.append(f"{start} {words}{value} -d {_fish(option.help)}")
    return f"""\
# fish completion for taskorder
function __taskorder_at
    set -l at taskorder
    for word in (commandline -opc)[2..]
        switch "$at $word"
            case {" ".join(_fish(level.name) for level in levels[1:])}
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
{_lines(lines)}
"""


SHELLS: dict[str, Callable[[Sequence[Level]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""The script for each shell."""


def _cases(levels: Sequence[Level]) -> str:
    """The words that lead to a command, as patterns."""
    return "|".join(_quoted(level.name) for level in levels[1:])


def _quoted(text: str) -> str:
    return f'"{text}"'


def _item(word: str, text: str) -> str:
    """A word and its help for `_describe` of zsh, which parts them by a colon."""
    escaped = word.replace(":", r"\:")
    return shlex.quote(f"{escaped}:{text}" if text else escaped)


def _fish(text: str) -> str:
    """A text in quotes of fish."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines)
