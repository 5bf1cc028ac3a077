"""Which connections stay open: those of the owner, who has the token, and for a short time those of strangers.

Every process of this machine can connect to the explorer, and hold connections without the token: silent ones, headers
that come letter by letter, answers that nobody reads. Such connections get one answer and have a time limit, and where
there are too many, the oldest are closed. So they cannot keep the owner out.

A new connection outlives the next `MOST_STRANGERS` others. The event loop accepts `ACCEPTED_AT_ONCE` of them before it
reads and answers again, so a request that comes with its connection, as from a browser, is answered in any case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

STRANGER_SECONDS = 10.0
"""How long a connection may last that has not shown the token."""
ACCEPTED_AT_ONCE = 8
MOST_STRANGERS = 6 * ACCEPTED_AT_ONCE
"""Accepting, reading and answering take four rounds of the event loop. A browser has six connections at most."""

TRUST = "trust"
"""In the state of a request: the function that counts its connection as the owner's."""


class Connections:
    """The connections of strangers, oldest first, each with what ends it in time."""

    def __init__(self) -> None:
        self.strangers: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def greet(self, transport: asyncio.Transport) -> None:
        """Count a new connection as a stranger's."""
        self.strangers[transport] = asyncio.get_running_loop().call_later(STRANGER_SECONDS, transport.abort)
        if len(self.strangers) > MOST_STRANGERS:
            oldest = next(iter(self.strangers))
            self.forget(oldest)
            oldest.abort()

    def forget(self, transport: asyncio.Transport) -> None:
        """Count a connection as a stranger's no more: it has shown the token, or ended."""
        late = self.strangers.pop(transport, None)
        if late is not None:
            late.cancel()

    def protocol(self) -> type[asyncio.Protocol]:
        """Return uvicorn's protocol, with every connection counted here."""
        connections = self

        class CountedProtocol(H11Protocol):
            def __init__(self, *, app_state: dict[str, Any], **more: Any) -> None:
                super().__init__(app_state={**app_state, TRUST: self._trust}, **more)

            def _trust(self) -> None:
                connections.forget(self.transport)

            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                connections.greet(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.forget(self.transport)
                super().connection_lost(exc)

        return CountedProtocol


def trust(scope: Scope) -> None:
    """Count the connection of this request as the owner's."""
    trusted: Callable[[], None] = scope["state"][TRUST]
    trusted()
