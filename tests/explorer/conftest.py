"""A real explorer in a process of its own, and a real browser."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

START_SECONDS = 60


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where an explorer listens that was started as a user starts it."""
    pytest.importorskip("uvicorn")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "taskorder", "explore", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.stdout.close()
    process.terminate()
    process.wait(timeout=START_SECONDS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, where it and Playwright are installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """A function that opens the explorer in a window of its own; at the end no page may have complained."""
    contexts, problems = [], []

    def open_(fragment: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        page.on("console", lambda line: problems.append(line.text) if "Content Security" in line.text else None)
        page.goto(address + fragment)
        page.wait_for_selector("#loading", state="hidden")
        return page

    yield open_
    for context in contexts:
        context.close()
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
