"""What several commands say about Ray: the options, and a cluster around what they run."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from threading import Event, Thread
from typing import TYPE_CHECKING

from taskorder.cli.output import BAD_INPUT, say

if TYPE_CHECKING:
    from taskorder.runs.cluster import Share
    from taskorder.runs.head import Head

END_SECONDS = 10.0
"""How long a run may take to end when the head of the cluster is gone; Ray needs 5 s to let go."""


def add_ray(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that can run on Ray."""
    add = parser.add_argument
    add(
        "--ray", dest="address", nargs="?", const="local", type=_address, metavar="ADDRESS",
        help="run on Ray: on this machine, or auto, HOST:PORT or ray://HOST:PORT",
    )  # fmt: skip
    add("--cpus-per-worker", dest="cpus", type=float, metavar="N", help="CPUs for each worker of Ray (1)")
    add(
        "--gpus-per-worker",
        dest="gpus",
        type=float,
        metavar="N",
        help="GPUs for each worker of Ray, or a share like 0.5 (0)",
    )


def _address(text: str) -> str:
    if text in ("local", "auto") or ":" in text:
        return text
    raise argparse.ArgumentTypeError(
        f"`--ray` must be alone or have local, auto, HOST:PORT or ray://HOST:PORT, got {text!r}. "
        "Put the file before it, or a word like --ray=auto."
    )


def worker_share(args: argparse.Namespace) -> Share | None:
    """What each worker of Ray is to have; None where Ray is not asked for."""
    given = {name: number for name in ("cpus", "gpus") if (number := getattr(args, name)) is not None}
    if args.address is None:
        for name in given:
            raise ValueError(f"`--{name}-per-worker` must come with --ray, got it alone.")
        return None
    from taskorder.runs.cluster import Share

    return Share(**given)


@contextmanager
def on_ray(address: str, share: Share) -> Iterator[None]:
    """Ray at the address, which speaks on stderr; a word where nothing there is large enough for a worker yet.

    Where the head of the cluster is gone, a ValueError, and the end of this process if that takes too long.
    """
    from taskorder.runs.cluster import LOCAL, connected
    from taskorder.runs.head import Head

    through = Event()
    _no_word_of_closed_channels()
    try:
        with ExitStack() as ray:
            ray.enter_context(redirect_stdout(sys.stderr))
            ray.enter_context(connected(address, share, tell=say))
            Thread(target=_end_with, args=(Head(), through), daemon=True).start()
            with _bad_input_if_lost(through):
                if address != LOCAL and not share.workers():
                    have = f"{share.cpus:g} CPUs and {share.gpus:g} GPUs"
                    say(f"no machine of the cluster has {have} free; waiting for one")
                yield
    finally:
        through.set()


def _no_word_of_closed_channels() -> None:
    """Keep a traceback of gRPC's own thread off the screen: it may still watch a channel that was just closed."""
    usual = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not (isinstance(failure.exc_value, ValueError) and "Channel closed" in str(failure.exc_value)):
            usual(failure)

    threading.excepthook = hook


@contextmanager
def _bad_input_if_lost(through: Event) -> Iterator[None]:
    """A ValueError where the head is lost; else nobody need watch it any more, for Ray is about to be ended."""
    from taskorder.runs.head import HeadLost

    lost: BaseException | None = None
    try:
        yield
    except Exception as problem:
        lost = problem if isinstance(problem, HeadLost) else problem.__cause__  # a learner's error names the fit
        if isinstance(lost, HeadLost):
            raise ValueError(str(lost)) from None
        raise
    finally:
        if not isinstance(lost, HeadLost):
            through.set()


def _end_with(head: Head, through: Event) -> None:
    """See to it that this process ends when the head is gone, also from a call of Ray's that never comes back."""
    from taskorder.runs.head import MOMENT_SECONDS, HeadLost

    try:
        while not through.wait(MOMENT_SECONDS):
            head.answers()
    except HeadLost as problem:
        if not through.wait(END_SECONDS):
            say(f"error: {problem}")  # what is finished is in the store: every result is a commit of its own
            os._exit(BAD_INPUT)
