"""`taskorder completion`: what a shell offers after TAB, from the commands and options that there are."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from taskorder.cli.shells import SHELLS, Level, Option

EPILOG = """\
Write it once to where your shell looks, and again after an update:
  bash  taskorder completion bash > ~/.local/share/bash-completion/completions/taskorder
  zsh   taskorder completion zsh > ~/.zfunc/_taskorder   (a folder in $fpath, before compinit)
  fish  taskorder completion fish > ~/.config/fish/completions/taskorder.fish
Or try it in this shell:
  source <(taskorder completion bash)

Commands, options, rules, data sets and frameworks are completed, and files.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands in your shell",
        description="Print a script that completes commands and options in bash, zsh or fish.",
        epilog=EPILOG,
    )
    parser.add_argument("shell", metavar="SHELL", choices=[*SHELLS], help=", ".join(SHELLS))
    parser.set_defaults(run=partial(run, commands))


def run(commands: Any, args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    return 0, SHELLS[args.shell](levels(commands, known_values()))


def known_values() -> dict[str, tuple[str, ...]]:
    """What may follow an option or stand for an argument, by its `dest` (after a command, of this one alone).

    For all others the shell offers files.
    """
    from taskorder.adapters import FRAMEWORKS, TOOLS
    from taskorder.cli.options import CARD
    from taskorder.datasets.sources import SOURCES
    from taskorder.given_table import CONTENTS
    from taskorder.ordering.solve import RULES
    from taskorder.ordering.solver_input import OBJECTIVES
    from taskorder.planning.choice import AUTO
    from taskorder.strategies import HEADS, PLAIN, STRATEGIES

    return {
        "rule": (*RULES,),
        "plan rule": (AUTO, *RULES),
        "objective": OBJECTIVES,
        "kind": CONTENTS,
        "framework": (*FRAMEWORKS, *TOOLS, CARD),
        "name": (*SOURCES,),
        "name_or_path": (*SOURCES,),
        "heads": HEADS,
        "strategy": (PLAIN, *STRATEGIES),
        "learner": ("mlp", "cnn", "sklearn:", "torch:"),
        "address": ("auto", "local", "ray://"),
    }


def levels(commands: Any, values: Mapping[str, tuple[str, ...]]) -> list[Level]:
    """The program itself, each command and each action of a command."""
    flags = (Option(("-h", "--help"), "show the help and exit"), Option(("--version",), "print the version and exit"))
    return [Level("taskorder", _helps(commands), flags), *_below("taskorder", commands, values)]


def _below(name: str, commands: Any, values: Mapping[str, tuple[str, ...]]) -> Iterator[Level]:
    for word, parser in commands.choices.items():
        inner: Any = None
        options: list[Option] = []
        arguments: tuple[str, ...] = ()
        for action in parser._actions:
            known = values.get(f"{word} {action.dest}", values.get(action.dest, ()))
            offered = tuple(map(str, action.choices or known))
            if isinstance(action, argparse._SubParsersAction):
                inner = action
            elif action.option_strings:
                options.append(Option(tuple(action.option_strings), _help(action.help), action.nargs != 0, offered))
            else:
                arguments += offered
        yield Level(f"{name} {word}", {} if inner is None else _helps(inner), tuple(options), arguments)
        if inner is not None:
            yield from _below(f"{name} {word}", inner, values)


def _helps(commands: Any) -> dict[str, str]:
    helps = {action.dest: _help(action.help) for action in commands._choices_actions}
    return {word: helps.get(word, "") for word in commands.choices}


def _help(text: str | None) -> str:
    return (text or "").replace("%%", "%")
