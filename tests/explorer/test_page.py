"""What the page shows: comparisons, what-ifs, charts; on phones, on paper and to a keyboard; in a real browser."""

import itertools
import re

import numpy as np
import pytest

from taskorder import chain, final_error, random_correlation, solve

pytest.importorskip("playwright")

from playwright.sync_api import expect

from .page import THREE, expect_order, face, shown, upload


def test_phone_width(load):
    page = load("demo", viewport={"width": 375, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    for element in ("#value", "#tasks", "#optimal", "#paths svg"):
        box = page.locator(element).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
    best, tasks = (page.locator(element).bounding_box() for element in ("#optimal", "#tasks"))
    assert best["y"] + best["height"] <= tasks["y"]
    page.locator("#download").tap()
    menu = page.locator("#downloads").bounding_box()
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= 375
    page.keyboard.press("Escape")
    face(page, 0).tap()
    page.locator("[data-field=last]").tap()
    expect(page.locator("#constraints")).to_contain_text("bear-bus last")


def test_compare_two_orders(load):
    page = load("chain", 5)
    page.click("#compare-tools button")
    page.click("#optimal")
    best, given = solve(chain(5, 0.7), retention=1).error, final_error(chain(5, 0.7), range(5))
    expect(page.locator("#compare")).to_contain_text(f"This order's error is {shown(given - best)} lower")
    expect(page.locator("#compare thead")).to_contain_text(f"held (made by hand): {shown(given)}")
    assert page.locator("#compare tbody tr").count() == 5
    assert page.locator(".line.held").count() == 2
    page.click("#compare-tools >> text=Swap")
    expect_order(page, range(5))
    expect(page.locator("#compare thead")).to_contain_text("held (found by search)")
    page.click("#compare-tools >> text=Drop")
    expect(page.locator("#compare table")).to_have_count(0)


def test_what_if_two_tasks_were_more_alike(load):
    page = load(text=THREE)
    expect(page.locator("#flips")).to_contain_text("The best order flips at")
    assert page.locator("#phases i").count() > 1
    slider = page.locator("#similarity")
    slider.fill("0.2")
    moved = np.array([[1, 0.2, 0.3], [0.2, 1, 0.1], [0.3, 0.1, 1]])
    expect(page.locator("#value")).to_have_text(shown(final_error(moved, [0, 1, 2])))
    expect(page.locator("#similarity-value")).to_have_text("0.2")
    page.locator("#flips .phase-order[aria-current]").click()
    expect(page.locator("#flips .phase-order[aria-current]")).to_be_focused()
    expect(page.locator("#detail")).to_contain_text("found by search")
    page.click("#reset")
    expect(page.locator("#similarity-value")).to_have_text("0.6")
    page.click("#undo")
    expect(page.locator("#similarity-value")).to_have_text("0.2")
    page.select_option("#pair-b", "2")
    expect(page.locator("#similarity-value")).to_have_text("0.3")


@pytest.mark.slow("browser")
def test_flips_of_more_tasks_come_from_the_server(open_page):
    page = open_page()
    upload(page, random_correlation(9, seed=5))
    page.click("#flips button")
    expect(page.locator("#flips")).to_contain_text(re.compile("best order flips|One order is best"), timeout=240_000)
    assert page.locator("#phases i").count() >= 1


def test_three_tasks_show_the_phase_diagram(load):
    page = load(text=THREE)
    expect(page.locator("#three-legend li")).to_have_count(6)
    expect(page.locator("#three-text")).to_contain_text("similarity of a and b (now 0.6)")
    best = solve([[1, 0.6, 0.3], [0.6, 1, 0.1], [0.3, 0.1, 1]], retention=1)
    label = page.locator("#three-map").get_attribute("aria-label")
    assert f"Best here: {' → '.join('abc'[task] for task in best.order)}." in label
    point = page.locator(".point").bounding_box()
    plot = page.locator("#three-map").bounding_box()
    assert (point["x"] + point["width"] / 2 - plot["x"]) / plot["width"] == pytest.approx(0.8, abs=0.02)
    assert (point["y"] + point["height"] / 2 - plot["y"]) / plot["height"] == pytest.approx(0.45, abs=0.02)


@pytest.mark.parametrize("width", [375, 1440])
def test_heat_maps_name_their_rows_and_number_their_columns(load, width):
    page = load("chain", 12, viewport={"width": width, "height": 900})
    page.click("#similarities summary")
    for canvas, columns in (("heat", 13), ("map", 12)):
        labeled = page.locator(f".labeled:has(#{canvas})")
        expect(labeled.locator(".rows span")).to_have_text([f"{k + 1} {name}" for k, name in enumerate("ABCDEFGHIJKL")])
        parts = labeled.evaluate(  # at one moment: the page may still grow
            "(all) => [...all.querySelectorAll('canvas, span')].map((part) => "
            "[part.parentNode.className, part.textContent, part.getBoundingClientRect().toJSON()])"
        )
        (box,) = [rect for side, _, rect in parts if side == "labeled"]
        rows = [rect["y"] + rect["height"] / 2 for side, _, rect in parts if side == "rows"]
        np.testing.assert_allclose(rows, box["y"] + (np.arange(12) + 0.5) / 12 * box["height"], atol=1.5)
        below = [(int(text), rect) for side, text, rect in parts if side == "columns"]
        assert len(below) >= 6
        for (_, left), (_, right) in itertools.pairwise(below):
            assert left["right"] < right["left"]
        for number, rect in below:
            middle = box["x"] + (number + columns - 12.5) / columns * box["width"]
            assert (rect["left"] + rect["right"]) / 2 == pytest.approx(middle, abs=1.5)


def test_one_large_error_does_not_squeeze_the_scale(open_page):
    top = "async (values) => (await import('/static/heatmaps.js')).usualTop(values)"
    page = open_page()
    values = np.linspace(0, 1, 100).tolist()
    assert page.evaluate(top, values) == 1
    assert page.evaluate(top, [*values, 1.8]) == 1.8
    assert page.evaluate(top, [*values, 50]) == pytest.approx(1, abs=0.02)


def test_no_example_stands_alone_on_a_phone(open_page):
    page = open_page(viewport={"width": 375, "height": 740})
    boxes = [button.bounding_box() for button in page.locator(".examples button").all()]
    rows = [[box for box in boxes if box["y"] == y] for y in sorted({box["y"] for box in boxes})]
    ends = {round(row[-1]["x"] + row[-1]["width"]) for row in rows}
    assert len(rows) > 1
    assert len(ends) == 1


def test_the_skip_link_leaves_the_address_alone(load):
    page = load("chain", 4)
    page.wait_for_url("**#s=*")
    address = page.url
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert page.url == address
    assert page.locator("#problem").is_hidden()


def test_the_charts_are_read_with_the_keyboard(load):
    page = load("chain", 3)
    page.locator("#paths").focus()
    page.keyboard.press("End")
    expected = shown(final_error(chain(3, 0.7), range(3)))
    expect(page.locator("#said")).to_contain_text(f"after step 3 (C): all {expected}, learned so far {expected}")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#readout")).to_contain_text("after step 2 (B)")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#readout")).to_contain_text("before the first step: all 3, learned so far 0")


def test_paper_has_the_order_and_no_buttons(load):
    page = load("chain", 4, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#tasks").is_visible()
    assert page.locator(".tools, #optimal").filter(visible=True).count() == 0
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(247, 247, 245)"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_reduced_motion_has_no_transitions(load):
    moving = "getComputedStyle(document.querySelector('.meter i')).transitionDuration"
    page = load("chain", 3, reduced_motion="reduce")
    assert page.evaluate(moving) == "0s"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) != "0s"
