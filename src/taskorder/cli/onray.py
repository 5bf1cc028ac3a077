"""What several commands say about Ray: the options, and a cluster around what they run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

from taskorder.cli.output import say

if TYPE_CHECKING:
    from taskorder.execute.cluster import Share


def add_ray(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that can run on Ray."""
    add = parser.add_argument
    add("--ray", nargs="?", const="local", type=_address, metavar="ADDRESS", help="run on Ray: here, auto or ray://...")
    add("--cpus-per-worker", type=float, metavar="N", help="CPUs for each worker of Ray (1)")
    add("--gpus-per-worker", type=float, metavar="N", help="GPUs for each worker of Ray, or a share like 0.5 (0)")


def _address(text: str) -> str:
    if text in ("local", "auto") or ":" in text:
        return text
    raise argparse.ArgumentTypeError(
        f"`--ray` must be alone or have local, auto, HOST:PORT or ray://HOST:PORT, got {text!r}. "
        "Put the file before it, or a word like --ray=auto."
    )


def share_of(args: argparse.Namespace) -> Share | None:
    """What each worker of Ray is to have; None where Ray is not asked for."""
    given = {"cpus": args.cpus_per_worker, "gpus": args.gpus_per_worker}
    wanted = {name: number for name, number in given.items() if number is not None}
    if args.ray is None:
        for name in wanted:
            raise ValueError(f"`--{name}-per-worker` must come with --ray, got it alone.")
        return None
    from taskorder.execute.cluster import Share

    return Share(**wanted)


@contextmanager
def on_ray(address: str, share: Share) -> Iterator[None]:
    """Ray at the address, which speaks on stderr; a word where nothing there is large enough for a worker yet."""
    from taskorder.execute.cluster import LOCAL, connected

    with redirect_stdout(sys.stderr), connected(address, share, tell=say):
        if address != LOCAL and not share.workers():
            say(f"no machine of the cluster has {share.cpus:g} CPUs and {share.gpus:g} GPUs free; waiting for one")
        yield
