"""The explorer's pages and its small interface, as an ASGI application.

GET  /                      the page; who opens it without the token of this start sees no data
GET  /static/NAME           scripts and styles, from memory: no path of a request is ever opened
GET  /api/start             the file named on the command line, the rules and the limits
GET  /api/example/KIND      chain, ring, tree, leaves, demo
POST /api/table?name=NAME   bytes of a table -> matrix, names, repair
POST /api/solve             inputs and rule -> lines of JSON: key, progress ..., plan or problem
POST /api/rules             inputs -> the order of each rule that needs no long search
POST /api/stop/KEY          ends a search with the best it has
POST /api/plan              inputs and order -> the plan as JSON
POST /api/report            inputs and order -> the report as HTML
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib import resources
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from taskorder.explorer import plans
from taskorder.explorer.searches import Busy, RunningSearch, Searches
from taskorder.explorer.security import Guard
from taskorder.ordering.clock import Watch
from taskorder.ordering.solve import RULES
from taskorder.plots.style import ROLES
from taskorder.records import Plan
from taskorder.report.document import rule_colors
from taskorder.theory.law import PLAIN_RETENTION

THREADS = 4
"""Requests that are computed at a time, searches apart; more of them wait."""
READING_SECONDS = 30.0
"""A request must have arrived whole by then."""
LOOKING_UP_SECONDS = 0.5
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

Value = TypeVar("Value")
Endpoint = Callable[[Request], Awaitable[Response]]


class SearchResponse(StreamingResponse):
    """The lines of a search, which ends with the connection, even with one that was gone before the first line."""

    def __init__(self, searches: Searches, search: RunningSearch, find: Callable[[Watch], Plan]) -> None:
        super().__init__(_lines(searches.events(search, find)), media_type="application/x-ndjson")
        self._searches, self._search = searches, search

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._search.stopped.set()
            if self._search.thread is None:
                self._searches.end(self._search)


def create_app(
    token: str, searches: Searches, start: plans.Payload | None = None, retention: float = PLAIN_RETENTION
) -> Starlette:
    """The application; `start` is the matrix to open with (see `plans.matrix_payload`), `retention` its slider."""
    files = _static_files()
    page = files.pop("index.html")

    async def index(request: Request) -> Response:
        return Response(page, media_type="text/html")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            raise HTTPException(404, "There is no such file.")
        return Response(files[name], media_type=TYPES[name.rpartition(".")[2]])

    async def begin(request: Request) -> Response:
        named = [{"name": rule, "color": ROLES[rule].color} for rule in RULES]
        limits = {"tasks": plans.MAX_EXPLORED, "bytes": plans.MAX_REQUEST_BYTES, "seconds": plans.MAX_SECONDS}
        return JSONResponse(
            {"table": start, "rules": named, "limits": limits, "retention": retention, "plain": PLAIN_RETENTION}
        )

    async def example(request: Request) -> Response:
        kind, query = request.path_params["kind"], request.query_params
        try:
            num_tasks, a = int(query.get("tasks", "5")), float(query.get("a", "0.7"))
        except ValueError:
            raise ValueError("`tasks` must be an integer and `a` a number.") from None
        return JSONResponse(await _beside(request, plans.example_payload, kind, num_tasks, a))

    async def table(request: Request) -> Response:
        name = (request.query_params.get("name") or "the table").replace("\\", "/").rpartition("/")[2][:80]
        return JSONResponse(await _read(request, plans.table_payload, await _body(request), name))

    async def solve(request: Request) -> Response:
        body = await _object(request)
        return SearchResponse(searches, searches.begin(), partial(plans.plan_by_rule, body))

    async def rules(request: Request) -> Response:
        orders = await _beside(request, plans.ranked_orders, await _object(request), lambda *_: searches.closing)
        return JSONResponse(orders)

    async def stop(request: Request) -> Response:
        return JSONResponse({"stopped": searches.stop(request.path_params["key"])})

    async def plan(request: Request) -> Response:
        made = await _beside(request, plans.plan_of_order, await _object(request))
        return Response(made.to_json(), media_type="application/json")

    async def report(request: Request) -> Response:
        body = await _object(request)
        search = searches.begin()
        try:
            text = await _beside(request, plans.report_of, body, lambda *_: search.stopped.is_set())
        finally:
            searches.end(search)
        return Response(text, media_type="text/html")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.threads, app.state.reader = CapacityLimiter(THREADS), CapacityLimiter(1)
        yield
        await to_thread.run_sync(searches.join)

    # `_answering` turns a ValueError into a one-line answer with status 400; the other routes raise none.
    app = Starlette(
        routes=[
            Route("/", index),
            Route("/static/{name}", static),
            Route("/api/start", begin),
            Route("/api/example/{kind}", _answering(example)),
            Route("/api/table", _answering(table), methods=["POST"]),
            Route("/api/solve", _answering(solve), methods=["POST"]),
            Route("/api/rules", _answering(rules), methods=["POST"]),
            Route("/api/stop/{key}", stop, methods=["POST"]),
            Route("/api/plan", _answering(plan), methods=["POST"]),
            Route("/api/report", _answering(report), methods=["POST"]),
        ],
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={HTTPException: _refused},
        lifespan=lifespan,
    )
    app.state.searches = searches
    return app


def _static_files() -> dict[str, bytes]:
    """The explorer's own files, and the charts that it shares with the report."""
    folders = (resources.files(package).joinpath("static") for package in ("taskorder.report", "taskorder.explorer"))
    files = {file.name: file.read_bytes() for folder in folders for file in folder.iterdir()}
    files = {name: data for name, data in files.items() if name.rpartition(".")[2] in TYPES}
    return {**files, "colors.css": rule_colors().encode()}


def _answering(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with bad input answered by its one line."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Busy as problem:
            return _error(str(problem), 429)
        except ValueError as problem:
            return _error(str(problem), 400)
        except (TypeError, OverflowError) as problem:
            return _error(f"`request` must have the right types, got: {problem}.", 400)
        except TimeoutError:
            return JSONResponse({"error": f"The request must arrive within {READING_SECONDS:g} s."}, 408)

    return answer


def _error(text: str, status: int) -> Response:
    """One line; half a character, which JSON may hold and UTF-8 may not, is shown by its number."""
    return JSONResponse({"error": text.encode(errors="backslashreplace").decode()}, status)


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return JSONResponse({"error": problem.detail}, problem.status_code)


async def _body(request: Request) -> bytes:
    """The body, cut just past the limit: whoever reads it refuses it then."""
    data, late = bytearray(), asyncio.get_running_loop().time() + READING_SECONDS
    more = True
    while more and len(data) <= plans.MAX_REQUEST_BYTES:
        message = await _message(request, late)
        if message["type"] == "http.disconnect":
            raise ValueError("The request must arrive whole.")
        data += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(data[: plans.MAX_REQUEST_BYTES + 1])


async def _message(request: Request, late: float) -> Message:
    """The next part of a request; looks up now and then, so that Ctrl-C does not wait for a slow sender."""
    while not request.app.state.searches.closing:
        if asyncio.get_running_loop().time() > late:
            raise TimeoutError
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOKING_UP_SECONDS):
                return await request.receive()
    raise ValueError("The explorer has ended.")


async def _beside(request: Request, work: Callable[..., Value], *args: Any) -> Value:
    """Compute in a thread, so that the server goes on answering."""
    return await to_thread.run_sync(work, *args, limiter=request.app.state.threads)


async def _read(request: Request, read: Callable[..., Value], *args: Any) -> Value:
    """Read what was sent in a thread, one request at a time: parsers of JSON let nothing else run, and cannot be
    stopped. When the server ends, those that wait are not begun."""
    searches = request.app.state.searches

    def work() -> Value:
        if searches.closing:
            raise ValueError("The explorer has ended.")
        return read(*args)

    return await to_thread.run_sync(work, limiter=request.app.state.reader)


async def _object(request: Request) -> plans.Payload:
    return await _read(request, plans.parse, await _body(request))


async def _lines(events: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    async for event in events:
        yield json.dumps(event, allow_nan=False) + "\n"
