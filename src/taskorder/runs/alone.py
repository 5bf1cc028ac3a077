"""A Ray cluster for this process alone.

By default Ray listens on all interfaces of the machine, keeps its token where others may read it, and its files in
folders that everybody may write. Whoever reaches its ports with the token runs any code.
"""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

LOOPBACK_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Set to 0, Ray is for one machine on every system, as it is by default on Windows and macOS."""


@contextmanager
def alone() -> Iterator[str]:
    """Have a cluster that starts in the block listen on loopback only, and want a new token; yield a folder for it.

    The folder lies where only this user can go, and is removed at the end. RAY_AUTH_MODE is respected if it is set.
    """
    given = {LOOPBACK_VARIABLE: "0"}
    if "RAY_AUTH_MODE" not in os.environ:
        given |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    before = {name: os.environ.get(name) for name in given}
    # Ray's sockets lie in this folder, and the path of a socket must be short
    short = "/tmp" if sys.platform == "darwin" else None
    folder = tempfile.TemporaryDirectory(prefix="ray-", dir=short, ignore_cleanup_errors=True)
    os.environ.update(given)
    try:
        with folder as path:
            _read_again()
            yield f"{path}/ray"  # Ray lets everybody write to the folder that it is given
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        _read_again()


def _read_again() -> None:
    """Have Ray read its variables again, which it did when it was imported."""
    constants: Any = import_module("ray._private.ray_constants")
    raylet: Any = import_module("ray._raylet")
    constants.ENABLE_RAY_CLUSTER = constants.env_bool(LOOPBACK_VARIABLE, not constants.IS_WINDOWS_OR_OSX)
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()
