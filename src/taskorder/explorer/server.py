"""Serve the explorer on loopback until Ctrl-C."""

from __future__ import annotations

import contextlib
import secrets
import socket
from types import FrameType

import uvicorn

from taskorder.arguments import BadArgument
from taskorder.explorer.app import create_app
from taskorder.explorer.connections import ACCEPTED_AT_ONCE, Connections
from taskorder.explorer.plans import Payload
from taskorder.explorer.searches import Searches
from taskorder.theory.law import PLAIN_RETENTION

ADDRESS = "127.0.0.1"
CLOSING_SECONDS = 20
"""Open connections get this long to finish after Ctrl-C: a search on a busy machine takes seconds to notice."""
QUEUE = 1024
"""How many connections the system keeps for us until they are accepted; it has others try again after a second."""


class Server(uvicorn.Server):
    """One explorer; Ctrl-C ends its searches first, so that nothing holds the connections open."""

    def __init__(self, token: str, start: Payload | None = None, retention: float = PLAIN_RETENTION) -> None:
        self.searches, self.connections = Searches(), Connections()
        app = create_app(token, self.searches, start, retention)
        super().__init__(
            uvicorn.Config(
                app,
                http=self.connections.protocol(),
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=ACCEPTED_AT_ONCE,
                timeout_graceful_shutdown=CLOSING_SECONDS,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, with a longer queue than what is accepted at once."""
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(QUEUE)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop searching, then do as uvicorn does."""
        self.searches.stop_all()
        super().handle_exit(sig, frame)


def new_token() -> str:
    """What nobody can guess."""
    return secrets.token_urlsafe(24)


def address_of(listening: socket.socket, token: str) -> str:
    """What to open in a browser; static/token.js takes the token from it."""
    return f"http://{ADDRESS}:{listening.getsockname()[1]}/#token={token}"


def listen(port: int) -> socket.socket:
    """A listening socket on loopback; port 0 takes any that is free."""
    if not 0 <= port <= 65535:
        raise BadArgument(f"`port` must be from 0 to 65535, got {port}.")
    try:
        return socket.create_server((ADDRESS, port))
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise BadArgument(
            f"`port` must be free to listen on, got {port}: {reason}. Choose another, or 0 for any free one."
        ) from None


def serve(
    listening: socket.socket, token: str, start: Payload | None = None, retention: float = PLAIN_RETENTION
) -> None:
    """Answer until Ctrl-C; nothing runs on afterwards."""
    with listening, contextlib.suppress(KeyboardInterrupt):
        Server(token, start, retention).run(sockets=[listening])
