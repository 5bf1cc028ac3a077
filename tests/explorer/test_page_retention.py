"""The retention slider: what moves with it, with and without the server, in a real browser."""

import itertools
import json

import numpy as np
import pytest

from taskorder import chain, final_error, random_correlation, solve
from taskorder.theory.law import PLAIN_RETENTION, final_knowledge, final_score, knowledge_from_similarity

pytest.importorskip("playwright")

from playwright.sync_api import expect

from .page import THREE, expect_order, order, shown, upload

S = knowledge_from_similarity(chain(5, 0.7))
ORDERS = list(itertools.permutations(range(5)))


def best(retention, table=S):
    return max(final_score(table, order, retention) for order in itertools.permutations(range(len(table))))


def slide(page, retention):
    page.locator("#retention").fill(str(retention))
    expect(page.locator("#retention-value")).to_have_text(f"{retention:g}")


def best_here(page):
    """The tasks that the page names as the best order, for tasks named A, B, ..."""
    names = page.locator("#retention-best").inner_text().split(" → ")
    return ["ABCDEFGHIJKL".index(name) for name in names]


def test_the_slider_moves_everything_without_the_server(load):
    page = load("chain", 5)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/api/" in request.url else None)
    expect(page.locator("#rules .value").first).to_contain_text("beats")
    asked.clear()
    for retention in (0.13, 0.3, 0.6):
        slide(page, retention)
        expect(page.locator("#value")).to_have_text(shown(final_score(S, range(5), retention)))
        expect(page.locator("#sentence")).to_contain_text(f"the best order possible ({shown(best(retention))})")
        assert final_score(S, best_here(page), retention) == pytest.approx(best(retention), rel=1e-12)
        known = page.locator("#tasks .value").all_inner_texts()
        np.testing.assert_allclose([*map(float, known)], final_knowledge(S, range(5), retention), atol=1e-4)
        expect(page.locator("#heat-low")).to_have_text("knowledge 0")
    assert not any("/api/solve" in address for address in asked)
    slide(page, 1)
    expect(page.locator("#value")).to_have_text(shown(final_error(chain(5, 0.7), range(5))))
    expect(page.locator("#headline")).to_have_text("predicted error after the last task")


def test_the_best_order_follows_the_slider_and_one_made_by_hand_stays(load):
    page = load("chain", 5)
    slide(page, 0.1)
    expect_order(page, range(5))
    page.click("#use-best")
    expect(page.locator("#sentence")).to_contain_text("No allowed order is better: proven.")
    expect(page.locator("#use-best")).to_be_hidden()
    low = order(page)
    slide(page, 0.3)
    expect(page.locator("#value")).to_have_text(shown(best(0.3)))
    assert order(page) != low
    assert final_score(S, order(page), 0.3) == pytest.approx(best(0.3), rel=1e-12)
    slide(page, 1)
    expect_order(page, solve(chain(5, 0.7), retention=1).order)
    page.click("#undo")  # a whole slide is one step
    expect(page.locator("#retention-value")).to_have_text("0.3")
    expect(page.locator("#value")).to_have_text(shown(best(0.3)))


def test_the_ranks_of_the_rules_move_with_the_slider(load):
    page = load("chain", 5)
    rank = page.locator("[data-rule=periphery-to-core] .value")
    rule = solve(chain(5, 0.7), "periphery-to-core", retention=1).order
    expect(rank).to_contain_text("beats")
    for retention in (0.13, 0.5):
        slide(page, retention)
        scores = np.array([final_score(S, order, retention) for order in ORDERS])
        own = final_score(S, rule, retention)
        tied = np.isclose(scores, own, rtol=1e-9, atol=0)
        share = 100 * (np.sum((scores < own) & ~tied) + tied.sum() / 2) / len(scores)
        expect(rank).to_have_text(f"{shown(own)} · beats {share:.{0 if 10 <= share <= 99 else 1}f} %")


def test_where_the_best_order_changes_is_marked(load):
    page = load("chain", 5)
    expect(page.locator("#retention-flips")).to_contain_text("The best order flips at retention")
    phases = page.locator("#retention-flips .phase-order")
    expect(page.locator("#retention-phases i")).to_have_count(phases.count())
    expect(phases.last).to_have_attribute("aria-current", "true")  # at 1, where the paper's error counts
    slide(page, 0.1)
    expect(phases.first).to_have_attribute("aria-current", "true")
    phases.first.click()
    expect(page.locator("#value")).to_have_text(shown(best(0.1)))


def test_the_slider_is_moved_with_the_keyboard_and_by_its_stops(load):
    page = load("chain", 4)
    slider = page.locator("#retention")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("#retention-meaning")).to_contain_text("Only the last task counts")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#retention-value")).to_have_text("0.01")
    assert slider.get_attribute("aria-valuetext").startswith("0.01: Keeps 1 % of what it knew")
    page.click(f"[data-retention='{PLAIN_RETENTION}']")
    expect(page.locator("#retention-meaning")).to_contain_text("like a plain network")
    expect(page.locator(f"[data-retention='{PLAIN_RETENTION}']")).to_have_attribute("aria-pressed", "true")
    page.click("[data-retention='0.5']")
    expect(page.locator("#retention-meaning")).to_contain_text("replay")
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator("#retention-meaning")).to_contain_text("the paper's theory")


def test_knowledge_above_one_is_told(load):
    page = load("chain", 5)
    slide(page, 0.95)
    expect(page.locator("#overshoot")).to_be_visible()
    slide(page, 0.1)
    expect(page.locator("#overshoot")).to_be_hidden()


def test_the_phase_diagram_moves_with_the_slider(load):
    page = load(text=THREE)
    table = knowledge_from_similarity([[1, 0.6, 0.3], [0.6, 1, 0.1], [0.3, 0.1, 1]])
    for retention in (0.1, 0.5, 0.8):
        slide(page, retention)
        expect(page.locator("#three-text")).to_contain_text(f"retention {retention:g}")
        best_here = max(itertools.permutations(range(3)), key=lambda order: final_score(table, order, retention))
        expect(page.locator("#three-map")).to_have_attribute(
            "aria-label", f"Phase diagram: which order is best over two of the three similarities. "
            f"Best here: {' → '.join('abc'[task] for task in best_here)}."
        )  # fmt: skip


def test_the_server_proves_what_the_page_found_for_many_tasks(open_page):
    page = open_page()
    C = np.round(random_correlation(12, seed=3), 6)
    upload(page, C)
    slide(page, 0.2)
    expect(page.locator("#retention-best-label")).to_have_text("Best order found here:")
    expect(page.locator("#retention-proof")).to_have_text("Proven: a proof about the model.")
    plan = solve(C, retention=0.2)
    assert plan.proven
    expect(page.locator("#sentence")).to_contain_text(f"the best order possible ({shown(plan.score)})")
    page.click("#use-best")
    expect(page.locator("#value")).to_have_text(shown(plan.score))


def test_a_link_carries_the_retention(load, open_page):
    page = load("chain", 5)
    slide(page, 0.27)
    page.click("#link")
    expect(page.locator("#link")).to_contain_text("Link")
    other = open_page(page.evaluate("location.hash"))
    expect(other.locator("#retention-value")).to_have_text("0.27")
    expect(other.locator("#value")).to_have_text(shown(final_score(S, range(5), 0.27)))


@pytest.mark.parametrize("retention", [-0.1, 1.5, "x", [0.5], True])
def test_a_link_with_a_bad_retention_is_told(open_page, retention):
    page = open_page()
    saved = {"names": ["a", "b"], "similarity": [[1, 0.5], [0.5, 1]], "retention": retention}
    fragment = page.evaluate(
        """async (saved) => {
          const stream = new Blob([JSON.stringify(saved)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
          const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
          return "#s=" + btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
        }""",
        saved,
    )
    page.evaluate("(hash) => { location.hash = hash }", fragment)
    expect(page.locator("#problem")).to_contain_text(
        f"`retention` must be in [0, 1], got {json.dumps(retention)}. Copy the link again."
    )


def test_a_transfer_table_is_read_as_it_is_and_stays_below_one(load):
    page = load(text="task,a,b,c\na,0.95,0.9,0.1\nb,0.2,0.8,0.3\nc,-1.1,0.5,1\n")
    table = [[0.95, 0.9, 0.1], [0.2, 0.8, 0.3], [-1.1, 0.5, 1]]
    expect(page.locator("#retention-value")).to_have_text("0.99")  # this explorer begins at 1
    expect(page.locator("[data-retention='1']")).to_be_disabled()
    slide(page, 0.3)
    expect(page.locator("#value")).to_have_text(shown(final_score(table, range(3), 0.3)))
    expect(page.locator("#sentence")).to_contain_text(f"the best order possible ({shown(best(0.3, table))})")
    expect(page.locator("#whatif")).to_be_hidden()
    expect(page.locator("#three")).to_be_hidden()
