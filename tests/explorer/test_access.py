"""Accessibility by axe-core: nothing serious or critical in any state of the page, at a desk or on a phone."""

import hashlib
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

pytestmark = pytest.mark.slow("browser")

AXE = Path(__file__).parent / "axe" / "axe.min.js"
CHECKSUM = "20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 375, "height": 740}


def violations(page, where="html"):
    """What axe finds there, serious or critical, each with the first element that shows it."""
    outcome = page.evaluate(f"{AXE.read_text()}; axe.run('{where}')")
    return [
        f"{rule['id']}: {rule['help']}: {rule['nodes'][0]['html'][:150]}: {rule['nodes'][0].get('failureSummary')}"
        for rule in outcome["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


def assert_accessible(page, where="html"):
    """By day at a desk, and by night on a phone."""
    for scheme, size in (("dark", PHONE), ("light", WIDE)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        assert violations(page, where) == [], scheme


def test_the_vendored_script_is_the_published_one():
    assert hashlib.sha256(AXE.read_bytes()).hexdigest() == CHECKSUM


def test_axe_sees_problems(open_page):
    page = open_page()
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any(line.startswith("button-name") for line in violations(page))


def test_the_start_and_its_errors(open_page):
    page = open_page(viewport=WIDE)
    page.click("[data-paste]")
    expect(page.locator("#problem")).to_be_visible()
    assert_accessible(page)


def test_the_work_page(load):
    page = load("chain", 3, viewport=WIDE)
    page.locator("li[data-task='0'] .face").click()
    page.click("[data-field=last]")
    page.click("#compare-tools button")
    page.click("#optimal")
    expect(page.locator("#detail")).to_contain_text("found by search")
    page.click("summary")
    expect(page.locator("#flips li").first).to_be_visible()
    assert_accessible(page)


def test_the_dialogs_and_the_menu(load):
    page = load("demo", viewport=WIDE)
    page.click("#download")
    assert_accessible(page, ".masthead")
    page.keyboard.press("Escape")
    page.click("#open")
    assert_accessible(page, "#loader-dialog")
    page.keyboard.press("Escape")
    page.click("#rename")
    assert_accessible(page, "#names-dialog")


def test_everything_is_reached_with_the_keyboard(load):
    page = load("chain", 4)
    seen = []
    page.locator("body").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if seen[-1] in seen[:-1] and seen[-1] == "skip":
            break
    for control in ("open", "rename", "link", "download", "face", "optimal", "rule", "pair-a", "similarity", "paths"):
        assert control in seen, (control, seen)
