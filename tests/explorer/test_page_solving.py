"""Constraints, rules and searches asked for on the page, in a real browser."""

import re

import pytest

from taskorder import chain, final_error, random_correlation, solve

pytest.importorskip("playwright")

from playwright.sync_api import expect

from .page import big, drag, enter, expect_order, face, order, shown, upload


def test_constraints_by_clicking_reach_the_solver(load):
    page = load("chain", 5)
    face(page, 0).click()
    page.click("[data-field=before]")
    expect(page.locator("#choosing")).to_contain_text("Click the task that must come after A")
    face(page, 4).click()
    expect(page.locator("#constraints")).to_contain_text("A before E")
    face(page, 2).click()
    page.click("[data-field=last]")
    expect(page.locator("#constraints")).to_contain_text("C last")
    expect_order(page, [0, 1, 3, 4, 2])  # what is asked for is done
    face(page, 2).focus()
    page.keyboard.press("Alt+Home")
    expect(page.locator("#broken")).to_have_text("This order breaks a constraint: C last.")
    enter(page, "weight", "3")
    expect(page.locator("#constraints")).to_contain_text("C weighs 3")
    page.click("#optimal")
    plan = solve(chain(5, 0.7), before=[("A", "E")], last="C", weights=[1, 1, 3, 1, 1], retention=1)
    expect(page.locator("#value")).to_have_text(shown(plan.error))
    expect_order(page, plan.order)
    expect(page.locator("#sentence")).to_contain_text("No allowed order is better: proven.")
    expect(page.locator("#broken")).to_be_hidden()
    page.click("[aria-label='Drop: A before E']")
    expect(page.locator("#constraints")).not_to_contain_text("A before E")


def test_constraints_without_a_mouse(load):
    page = load("chain", 5)
    face(page, 0).focus()
    page.keyboard.press("Enter")
    page.locator("[data-field=before]").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#constraints")).to_contain_text("A before C")
    page.locator("[data-field=before]").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator("#choosing")).to_be_hidden()
    page.locator("[data-field=last]").focus()
    page.keyboard.press("Space")
    expect(page.locator("#constraints")).to_contain_text("A last")
    page.locator("[aria-label='Drop: A last']").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#constraints")).not_to_contain_text("A last")
    page.locator("#optimal").focus()
    page.keyboard.press("Enter")
    plan = solve(chain(5, 0.7), before=[("A", "C")], retention=1)
    expect(page.locator("#value")).to_have_text(shown(plan.error))
    expect_order(page, plan.order)


def test_learned_tasks_stay_at_the_head(load):
    page = load("chain", 5)
    face(page, 3).click()
    page.click("[data-field=learned]")
    expect_order(page, [3, 0, 1, 2, 4])
    expect(page.locator("#value")).to_have_text(shown(final_error(chain(5, 0.7), [3, 0, 1, 2, 4])))
    drag(page, 0, 3)
    page.mouse.up()
    expect_order(page, [3, 0, 1, 2, 4])
    page.click("#optimal")
    expect(page.locator("#value")).to_have_text(shown(solve(chain(5, 0.7), learned=[3], retention=1).error))
    face(page, 3).click()
    page.click("[data-field=learned]")
    expect(page.locator("#constraints")).to_be_hidden()


def test_contradictions_are_told(load):
    page = load("chain", 4)
    for first, second in ((0, 1), (1, 2)):
        face(page, first).click()
        page.click("[data-field=before]")
        face(page, second).click()
    face(page, 2).click()
    page.click("[data-field=before]")
    face(page, 0).click()
    expect(page.locator("#problem")).to_contain_text("A must come before C already")
    page.click("[data-field=first]")
    page.click("#optimal")
    expect(page.locator("#problem")).to_contain_text("`first` must not contradict `before`")
    expect(page.locator("#flips")).to_contain_text("contradict each other")


def test_every_rule_has_a_button(load):
    page = load("demo")
    page.click("#try-all")
    expect(page.locator("#try-all")).to_be_enabled(timeout=240_000)
    assert page.locator("#rules .value").all_inner_texts().count("") == 0
    page.click("[data-rule=periphery-to-core]")
    expect(page.locator("#value")).to_have_text("0.3319")
    expect(page.locator("#sentence")).to_contain_text("2.127 times the best order possible (0.156)")
    page.click("#optimal")
    expect(page.locator("#value")).to_have_text("0.156")
    expect(page.locator("#ticker")).to_contain_text("Proven: no allowed order is better.")


@pytest.mark.slow("browser")
def test_a_search_shows_its_gap_and_can_be_stopped(open_page):
    page = open_page()
    upload(page, big(45))
    page.select_option("#seconds", "600")
    page.click("#optimal")
    expect(page.locator("#ticker")).to_contain_text(
        re.compile(r"best [\d.]+ · bound [\d.]+ · gap [\d.]+ %"), timeout=240_000
    )
    face(page, 1).focus()
    page.keyboard.press("Alt+End")  # the page stays alive meanwhile
    expect(page.locator("#undo")).to_be_enabled()
    page.click("#stop")
    expect(page.locator("#optimal")).to_be_enabled(timeout=60_000)
    expect(page.locator("#ticker")).to_contain_text("stopped by request")
    expect(page.locator("#detail")).to_contain_text("found by search")
    assert sorted(order(page)) == list(range(45))


def test_a_server_that_dies_in_the_middle_of_a_search(open_page):
    page = open_page(viewport={"width": 1000, "height": 700})
    upload(page, random_correlation(9, seed=5))
    begun = '{"key": "k"}\n{"error": 2.0, "bound": 1.0, "seconds": 0.1}\n'
    page.route("**/api/solve", lambda route: route.fulfill(body=begun))
    page.click("#optimal")
    expect(page.locator("#problem")).to_contain_text("The server ended the search without a plan.")
    expect(page.locator("#optimal")).to_be_enabled()
    expect_order(page, range(9))
    page.evaluate("""() => {
      const broken = new ReadableStream({ start: (control) => control.error(new TypeError("network error")) });
      window.fetch = async () => new Response(broken);
    }""")
    page.click("#optimal")
    expect(page.locator("#problem")).to_contain_text("The server does not answer.")
    expect(page.locator("#optimal")).to_be_enabled()


@pytest.mark.parametrize("size", [1, 2])
def test_very_few_tasks(load, size):
    page = load(text=["1", "1,0.5\n0.5,1"][size - 1])
    page.click("#optimal")
    expect(page.locator("#sentence")).to_contain_text("No allowed order is better: proven.")
    expect(page.locator("#value")).to_have_text(["0", "0.0625"][size - 1])
    assert page.locator("#whatif").is_visible() == (size == 2)
