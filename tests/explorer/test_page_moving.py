"""Tasks moved by mouse, finger and keyboard, in a real browser."""

import pytest

from taskorder import chain, final_error

pytest.importorskip("playwright")

from playwright.sync_api import expect

from .page import big, drag, expect_order, face, shown, upload

pytestmark = pytest.mark.slow("browser")


def test_load_shows_the_error_of_the_given_order(load):
    page = load("chain", 5)
    expect(page.locator("#value")).to_have_text(shown(final_error(chain(5, 0.7), range(5))))
    expect(page.locator("#sentence")).to_contain_text("times the best order possible (0.05018)")
    assert page.locator("#source").inner_text() == "5 tasks · chain of 5, a = 0.7"


def test_drag_with_the_mouse_shows_the_error_on_the_way(load):
    page = load("chain", 5)
    drag(page, 0, 3)
    on_the_way = [1, 2, 3, 0, 4]
    expect(page.locator("#value")).to_have_text(shown(final_error(chain(5, 0.7), on_the_way)))
    assert page.locator("#undo").is_disabled()  # nothing is decided before the drop
    page.mouse.up()
    expect(page.locator("#undo")).to_be_enabled()
    expect_order(page, on_the_way)
    expect(page.locator("#detail")).to_contain_text("made by hand")


def test_drag_closes_an_open_row_first(load):
    page = load("chain", 5)
    face(page, 0).click()
    expect(page.locator(".inspector")).to_be_visible()
    start = face(page, 3).bounding_box()
    page.mouse.move(start["x"] + 90, start["y"] + 10)
    page.mouse.down()
    page.mouse.move(start["x"] + 90, start["y"] + 18, steps=3)
    expect(page.locator(".inspector")).to_have_count(0)
    target = face(page, 1).bounding_box()
    page.mouse.move(start["x"] + 90, target["y"] + target["height"] / 2, steps=5)
    page.mouse.up()
    expect_order(page, [0, 3, 1, 2, 4])


def test_escape_gives_a_drag_up(load):
    page = load("chain", 5)
    drag(page, 0, 3)
    expect_order(page, [1, 2, 3, 0, 4])
    page.keyboard.press("Escape")
    page.mouse.up()
    expect_order(page, range(5))
    assert page.locator("#undo").is_disabled()


def test_drag_by_touch(load):
    page = load("chain", 5, has_touch=True)
    grip = page.locator("li[data-task='4'] .grip").bounding_box()
    target = face(page, 0).bounding_box()
    x, y = grip["x"] + 8, grip["y"] + 12
    touch = page.context.new_cdp_session(page)

    def finger(kind, points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    finger("touchStart", [{"x": x, "y": y}])
    for step in range(1, 9):
        finger("touchMove", [{"x": x, "y": y + (target["y"] + 12 - y) * step / 8}])
    finger("touchEnd", [])
    expect(page.locator("#undo")).to_be_enabled()
    expect_order(page, [4, 0, 1, 2, 3])


def test_keyboard_moves_are_announced(load):
    page = load("chain", 5)
    face(page, 0).focus()
    page.keyboard.press("Space")
    expect(page.locator("#said")).to_contain_text("A picked up, position 1 of 5")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expected = shown(final_error(chain(5, 0.7), [1, 2, 0, 3, 4]))
    expect(page.locator("#said")).to_contain_text(f"A, position 3 of 5, predicted error {expected}.")
    expect(face(page, 0)).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator("#said")).to_contain_text("A dropped.")
    page.keyboard.press("ArrowUp")
    expect(face(page, 2)).to_be_focused()
    page.keyboard.press("Alt+End")
    expect_order(page, [1, 0, 3, 4, 2])


def test_escape_puts_a_task_back(load):
    page = load("chain", 5)
    face(page, 2).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Home")
    expect_order(page, [2, 0, 1, 3, 4])
    page.keyboard.press("Escape")
    expect_order(page, range(5))
    expect(page.locator("#said")).to_contain_text("C put back.")


def test_undo_and_redo_by_button_and_key(load):
    page = load("chain", 5)
    face(page, 4).focus()
    page.keyboard.press("Alt+Home")
    expect_order(page, [4, 0, 1, 2, 3])
    page.keyboard.press("Control+z")
    expect_order(page, range(5))
    page.click("#redo")
    expect_order(page, [4, 0, 1, 2, 3])
    page.click("#undo")
    expect_order(page, range(5))
    page.keyboard.press("Control+Shift+Z")
    expect_order(page, [4, 0, 1, 2, 3])


def test_dragging_fifty_tasks_fits_a_frame(open_page):
    page = open_page()
    upload(page, big(50))
    page.wait_for_selector(".band")
    times = page.evaluate(
        """async () => {
          const list = document.getElementById("tasks");
          const box = list.children[0].getBoundingClientRect();
          const send = (kind, y) => list.children[0].firstChild.dispatchEvent(new PointerEvent(kind,
            { bubbles: true, pointerId: 1, pointerType: "mouse", button: 0, clientX: box.left + 90, clientY: y }));
          list.setPointerCapture = () => {};
          send("pointerdown", box.top + 5);
          const times = [];
          for (let step = 1; step <= 40; step++) {
            const before = document.getElementById("value").textContent;
            const began = performance.now();
            list.dispatchEvent(new PointerEvent("pointermove", { pointerId: 1, clientX: box.left + 90,
              clientY: box.top + 5 + 8 * step }));
            while (document.getElementById("value").textContent === before && performance.now() - began < 100) {
              await new Promise((resolve) => setTimeout(resolve, 0));
            }
            if (document.getElementById("value").textContent !== before) times.push(performance.now() - began);
          }
          list.dispatchEvent(new PointerEvent("pointerup", { pointerId: 1 }));
          return times.sort((a, b) => a - b);
        }"""
    )
    assert len(times) >= 8
    # from the pointer to the new number on the page; a quarter of them must fit even on a busy shared machine
    assert times[len(times) // 4] < 16.7, times


def test_without_its_server_the_page_says_so_and_still_drags(load):
    page = load("chain", 5, offline=False)
    page.context.set_offline(True)
    page.click("[data-rule=greedy]")
    expect(page.locator("#problem")).to_contain_text(
        "The server does not answer. Start it again with: taskorder explore"
    )
    face(page, 0).focus()
    page.keyboard.press("Alt+End")
    expect_order(page, [1, 2, 3, 4, 0])
