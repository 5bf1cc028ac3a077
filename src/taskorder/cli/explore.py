"""`taskorder explore`."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taskorder.cli.options import FILES
from taskorder.cli.output import say, write

PORT = 8321
EPILOG = (
    FILES
    + """
The page lets you drag tasks into any order and watch what is known in the end,
find the best order under constraints, and ask what would change if the learner
kept more of what it knew, or if two tasks were more alike. It is served to this
machine alone (127.0.0.1), and of its users to whoever has the address that is
printed; Ctrl-C ends it. It takes tables of at most 500 tasks.

example:
  taskorder explore similarity.csv --open
"""
)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "explore",
        help="drag tasks in the browser and watch what is known in the end",
        description="Open the explorer in a browser: drag tasks into any order and watch what is known in the end.",
        epilog=EPILOG,
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="the similarity table to open with; see below")
    parser.add_argument(
        "--demo", action="store_true", help="open with the table that ships with taskorder: 12 CIFAR-100 tasks"
    )
    parser.add_argument(
        "--retention",
        type=float,
        metavar="D",
        help="where the retention slider begins: the share of its knowledge that the learner keeps when it learns the "
        "next task, from 0 to 1 (0.13: plain networks)",
    )
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"listen on this port ({PORT}); 0 takes any free one"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """Serve until Ctrl-C; the exit code and what to print then."""
    missing = [package for package in ("starlette", "uvicorn") if find_spec(package) is None]
    if missing:
        raise ValueError(f'The explorer needs {" and ".join(missing)}. Install it with: pip install "taskorder[web]".')
    from taskorder.explorer import plans, server

    if args.demo and args.file is not None:
        raise ValueError("Give a FILE to open or --demo, and not both.")
    retention = plans.slider_retention({"retention": args.retention})
    start = plans.example_payload("demo", 12, 1.0) if args.demo else None
    if args.file is not None:
        from taskorder.tables.reading import read_similarity

        start = plans.matrix_payload(*read_similarity(args.file), _source(args.file))
    listening = server.listen(args.port)
    token = server.new_token()
    with listening:
        address = server.address_of(listening, token)
        code = write(f"{address}\n")
        say("serving the explorer to whoever has this address, on this machine; Ctrl-C ends it")
        with _opened(address) if args.open else nullcontext():
            server.serve(listening, token, start, retention)
    say("the explorer has ended")
    return code, ""


@contextmanager
def _opened(address: str) -> Iterator[None]:
    """The address in a browser.

    Every user of a machine can list what programs are started with, so the browser is given a file that leads there, in
    a folder of this user alone.
    """
    import tempfile
    import webbrowser

    with tempfile.TemporaryDirectory(prefix="taskorder-") as folder:
        door = Path(folder) / "explorer.html"
        door.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">', encoding="ascii")
        # a browser in the terminal would wait for an answer that is only given within
        threading.Thread(target=webbrowser.open, args=[door.as_uri()], daemon=True).start()
        yield


def _source(file: str) -> str:
    """What the page calls the file: its name, without the folders it lies in."""
    return "standard input" if file == "-" else Path(file).name
