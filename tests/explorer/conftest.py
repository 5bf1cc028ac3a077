"""A real explorer in a thread or in a process of its own, and pages of it in a real browser."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

START_SECONDS = 60
TOKEN = "of-these-tests"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server on a real socket, in this process, so that a test can look into it."""
    pytest.importorskip("uvicorn")
    from taskorder.explorer.server import Server, listen

    server = Server(TOKEN)
    with listen(0) as listening:
        server.port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield server
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def client(server: Any) -> Any:
    """Somebody who sends requests to `server`."""
    from .client import Client

    return Client(server.port, TOKEN)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address, with its token, of an explorer that was started as a user starts it, with the paper's theory."""
    pytest.importorskip("uvicorn")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "taskorder", "explore", "--port", "0", "--retention", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.stdout.close()
    process.terminate()
    process.wait(timeout=START_SECONDS)


def new_page(browser: Any, **options: Any) -> Any:
    """A page in a window of its own; what it complains about is kept in its `problems`."""
    page = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options}).new_page()
    page.set_default_timeout(30_000)
    page.problems = []
    page.on("pageerror", lambda problem: page.problems.append(str(problem)))
    page.on("console", lambda line: page.problems.append(line.text) if "Content Security" in line.text else None)
    return page


@pytest.fixture(scope="module")
def shared_page(browser: Any) -> Any:
    """The page of all tests that need nothing special: opening a window takes as long as many a test."""
    return new_page(browser)


@pytest.fixture
def open_page(browser: Any, shared_page: Any, address: str) -> Iterator[Callable[..., Any]]:
    """A function that opens the explorer, from the second time on in a new window; no page may have complained."""
    pages: list[Any] = []

    def open_(fragment: str = "", **options: Any) -> Any:
        page = new_page(browser, **options) if options or shared_page in pages else shared_page
        pages.append(page)
        for place in (address, address.partition("#")[0] + fragment)[: 2 if fragment else 1]:
            page.goto("about:blank")
            page.goto(place)
            page.wait_for_selector("#loading", state="hidden")
        return page

    yield open_
    problems = [problem for page in pages for problem in page.problems]
    for page in pages:
        if page is shared_page:
            page.problems.clear()
            page.evaluate("sessionStorage.clear()")
        else:
            page.context.close()
    assert problems == []


@pytest.fixture
def load(open_page: Callable[..., Any]) -> Callable[..., Any]:
    """A function that opens the explorer with an example or with pasted text."""

    def load_(example: str = "chain", tasks: int = 5, text: str | None = None, **options: Any) -> Any:
        page = open_page(**options)
        if text is not None:
            page.fill("textarea[placeholder]", text)
            page.click("[data-paste]")
        else:
            page.fill("[data-tasks]", str(tasks))
            page.click(f"[data-example={example}]")
        page.wait_for_selector("#work")
        page.wait_for_selector(".band")
        return page

    return load_
