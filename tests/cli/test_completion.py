"""TAB in real shells, and scripts that name every command and every option."""

import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from taskorder.cli import build_parser, main
from taskorder.cli.shells import SHELLS, Level, Option
from taskorder.ordering.solve import RULES

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
READY = {
    "bash": "source {script}",
    "zsh": "bindkey -e; autoload -U compinit; compinit -u -D; source {script}",
    "fish": "source {script}",
}


def script_of(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def press(capsys, tmp_path):
    """A function (shell, keys) -> the command line that stands there after the keys, in a real terminal."""
    shells, terminals = [], []

    def press(shell, keys):
        if shutil.which(shell) is None:
            pytest.skip(f"no {shell} on this machine")
        script = tmp_path / "script"
        script.write_text(script_of(shell, capsys))
        (tmp_path / "table.csv").write_text("1\n")
        terminal, inside = pty.openpty()
        # setsid makes the terminal that of the shell; a fork of this process would copy the threads of JAX
        shells.append(
            subprocess.Popen(
                ["setsid", "--ctty", *START[shell]], stdin=inside, stdout=inside, stderr=inside, cwd=tmp_path,
                env=os.environ | {"TERM": "xterm", "PS1": "$ ", "HOME": str(tmp_path)},
            )
        )  # fmt: skip
        os.close(inside)
        terminals.append(terminal)
        read_until(terminal, "READY", f"{READY[shell].format(script=script)}; echo RE''ADY\r")
        # the completed line is printed by putting echo before it; fish and zsh wait for a key to be handled
        text = read_until(terminal, "END", f"{keys}\x01echo DONE \x05 EN''D\r")
        return re.findall(r"[\r\n]DONE (.*?) END", text)[-1]

    yield press
    for terminal in terminals:
        os.close(terminal)  # the shell is hung up
    for shell in shells:
        shell.wait()


def read_until(terminal, mark, typed):
    """Type, and read what comes until the mark stands at the start or the end of a line."""
    os.write(terminal, typed.encode())
    seen, deadline = "", time.monotonic() + 30
    while not re.search(rf"{mark}(\x1b\S*)*[\r\n]", seen):
        left = deadline - time.monotonic()
        assert left > 0, f"no {mark} in {seen!r}"
        if select.select([terminal], [], [], left)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")
    return seen


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("taskorder sol\t", "taskorder solve"),
        ("taskorder solve --rul\tmax\t--ret\t", "taskorder solve --rule max-path --retention"),
        ("taskorder data ge\tcifar100\t", "taskorder data get cifar100"),
        ("taskorder solve tab\t", "taskorder solve table.csv"),
    ],
)
def test_tab_in_a_real_shell(press, shell, keys, line):
    assert press(shell, keys).split() == line.split()


def replies(script, words, current):
    """What bash offers for these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    code = f"COMP_WORDS=({quoted}) COMP_CWORD={current}; _taskorder; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{code}"], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["taskorder", "s"], ["solve", "simulate", "status"]),
        (["taskorder", "solve", "--rule", ""], [*RULES]),
        (["taskorder", "plan", "--rule", "a"], ["auto"]),
        (["taskorder", "solve", "--rule", "=", "op"], ["optimal"]),
        (["taskorder", "solve", "--rule", "="], [*RULES]),
        (["taskorder", "order", "plan.json", "--to", "cont"], ["continuum"]),
        (["taskorder", "plan", "dig"], ["digits"]),
        (["taskorder", "solve", "--retention", ""], []),
        (["taskorder", "solve", "--retention", "0.1", "--obj"], ["--objective"]),
        (["taskorder", "data", "l"], ["list"]),
        (["taskorder", "data", "get", "--fol"], ["--folder"]),
        (["taskorder", "nonsense", "--ver"], ["--version"]),
        (["taskorder", "completion", "f"], ["fish"]),
    ],
)
def test_bash_offers_what_fits(words, offered, capsys):
    assert replies(script_of("bash", capsys), words, len(words) - 1) == offered


def commands_of(parser, name="taskorder"):
    """Every command with its options."""
    options = {name: [word for action in parser._actions for word in action.option_strings]}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                options |= commands_of(inner, f"{name} {word}")
    return options


@pytest.mark.parametrize("shell", SHELLS)
def test_no_command_and_no_option_is_forgotten(shell, capsys):
    script = script_of(shell, capsys)
    every = commands_of(build_parser())
    assert len(every) > 15
    for name, options in every.items():
        (line, *more) = [line for line in script.splitlines() if re.search(rf"(\"|_at ){name}[\")']", line)]
        text = "\n".join([line, *more])
        for word in options:
            shown = {"fish": rf"-(l|s) {word.lstrip('-')}\b"}.get(shell, re.escape(word))
            assert re.search(shown, text), f"{word} of {name}"


def test_awkward_words_and_helps_are_quoted():
    help_ = 'it\'s "x" \\ $HOME `ls`: 100 %'
    levels = [
        Level("taskorder", {"go": help_}, (Option(("--x",), help_, True, ("a:b",)),)),
        Level("taskorder go", {}, ()),
    ]
    for shell, write in SHELLS.items():
        if shutil.which(shell):
            done = subprocess.run([shell, "-n"], input=write(levels), capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, ""), shell


def test_another_shell_is_refused(capsys):
    assert main(["completion", "bsh"]) == 2
    assert "Did you mean 'bash'?" in capsys.readouterr().err
