"""Who may talk to the explorer: pages that it served itself, to the user of this machine who started it.

A page from elsewhere can make the browser send requests here, even under a name of its own that it points at 127.0.0.1
(DNS rebinding). So the Host must be loopback's and the Origin must be ours. Other users of the machine can reach
127.0.0.1 too. So every call of the interface must carry the token of this start, which only the address has that
`taskorder explore` prints; the page and its scripts, which anybody can get, are the same for all. What can be held
without the token is bounded in connections.py.
"""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taskorder.explorer.connections import trust

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
TOKEN_HEADER = "x-taskorder-token"
INTERFACE = "/api/"
"""Paths below this need the token."""

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types taskorder"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses strangers and adds `SECURITY_HEADERS` to every answer."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        reason = reason_to_refuse(Headers(scope=scope), scope["path"], self._token)
        app = self._app if reason is None else JSONResponse({"error": reason}, 403)
        headers = SECURITY_HEADERS
        if reason is None and scope["path"].startswith(INTERFACE):
            trust(scope)
        else:
            headers = {**headers, "connection": "close"}  # a stranger gets one answer on a connection

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        await app(scope, receive, send_guarded)


def reason_to_refuse(headers: Headers, path: str, token: str) -> str | None:
    """Why this request is refused; None for one that may pass.

    >>> reason_to_refuse(Headers({"host": "evil.example:8321"}), "/", "")
    '`Host` must be loopback (127.0.0.1, localhost or [::1]), got evil.example:8321.'
    """
    hosts = headers.getlist("host")
    if len(hosts) != 1 or _hostname(hosts[0]) not in LOOPBACK:
        return f"`Host` must be loopback (127.0.0.1, localhost or [::1]), got {', '.join(hosts) or 'none'}."
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{hosts[0].lower()}":
        return f"`Origin` must be this server, got {origin}."
    if path.startswith(INTERFACE) and not secrets.compare_digest(
        headers.get(TOKEN_HEADER, "").encode(), token.encode()
    ):
        return f"`{TOKEN_HEADER}` must be the token of the running explorer. Open the address that it printed."
    return None


def _hostname(host: str) -> str | None:
    """The name in a Host header without its port; None where it is no plain host and port."""
    if any(mark in host for mark in "/?#@\\ ,"):
        return None
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname
