"""The owner's browser while another process holds and opens all the connections that it can."""

import time

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from taskorder.explorer.connections import MOST_STRANGERS

from .conftest import new_page
from .strangers import crowd, flood

pytestmark = pytest.mark.slow("browser")

PAGE_MS = 20_000
"""On an idle machine the page is there within a second; others may keep this one busy."""
KINDS = ("silent", "letter by letter", "a body that never comes", "answers that nobody reads")


def port_of(address):
    return int(address.partition("#")[0].rstrip("/").rpartition(":")[2])


def opened(browser, address):
    """Seconds until a new window shows the explorer and a new tab of it its example."""
    page, begun = new_page(browser), time.monotonic()
    page.goto(address, timeout=PAGE_MS)
    expect(page.locator("[data-example=chain]")).to_be_visible(timeout=PAGE_MS)
    seconds = time.monotonic() - begun
    page.click("[data-example=chain]")
    expect(page.locator(".band").first).to_be_visible(timeout=PAGE_MS)
    problems = page.problems
    page.context.close()
    assert problems == []
    return seconds


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_opens_whatever_strangers_hold(browser, address, kind):
    with crowd(port_of(address), kind, 6 * MOST_STRANGERS, letters=100):
        seconds = opened(browser, address)
    print(f"{kind}: {seconds:.2f} s")
    assert seconds < PAGE_MS / 1000


def test_the_page_opens_while_thousands_of_connections_pour_in(browser, address):
    with flood(port_of(address), 6000):
        seconds = opened(browser, address)
    print(f"thousands of connections: {seconds:.2f} s")
    assert seconds < PAGE_MS / 1000


def test_a_page_that_is_open_goes_on_when_strangers_come(load, address):
    page = load("chain", 5)
    with crowd(port_of(address), "silent", 6 * MOST_STRANGERS):
        page.click("#optimal")
        expect(page.locator("#detail")).to_contain_text("found by search", timeout=PAGE_MS)
        page.wait_for_timeout(6000)  # past the time for which uvicorn keeps a connection
        page.locator("li[data-task='0'] .face").click()
        page.click("#compare-tools button")
        page.reload(timeout=PAGE_MS)
        expect(page.locator(".band").first).to_be_visible(timeout=PAGE_MS)
