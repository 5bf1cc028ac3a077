"""Whoever opens the printed address may use the page; whoever only knows the port may not."""

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import expect

from .conftest import new_page


@pytest.fixture
def stranger(browser):
    """A page in a browser that has never seen the address."""
    page = new_page(browser)
    yield page
    page.context.close()


def test_without_the_token_there_is_a_message_and_nothing_else(stranger, address):
    stranger.goto(address.partition("#")[0])
    expect(stranger.locator("#problem")).to_contain_text("Open the address that it printed.")
    assert stranger.locator("[data-example]:visible").count() == 0


def test_the_address_given_in_an_old_tab(stranger, address):
    stranger.goto(address.partition("#")[0])
    expect(stranger.locator("#problem")).to_be_visible()
    stranger.goto(address)  # only the fragment differs, so a browser loads nothing by itself
    expect(stranger.locator("[data-example=chain]")).to_be_visible()
    assert stranger.url == address.partition("#")[0]


def test_links_have_no_token_and_open_in_other_tabs_of_the_browser(load, address):
    page = load("chain", 4)
    page.wait_for_url("**/#s=*")
    shared, token = page.url, address.partition("#token=")[2]
    assert token not in shared
    other = page.context.new_page()
    other.goto(shared)
    expect(other.locator(".band").first).to_be_visible()
    other.close()
