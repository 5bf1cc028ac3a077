"""The page in a real browser: opened from disk, by mouse, by keyboard, at phone width, in the dark, on paper."""

import io
import itertools
import json
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from taskorder.audit.audit import audit_results

from .conftest import HOSTILE
from .test_audit_page import page_of, results

VIEW_BOXES = "(charts) => charts.map((chart) => chart.getAttribute('viewBox'))"
AXE = Path(__file__).parents[1] / "explorer" / "axe" / "axe.min.js"


@pytest.fixture(scope="module")
def opened(browser, make_page, tmp_path_factory):
    """A function (**context) -> page of the browser with the report of eight hostile names; problems are kept in it."""
    file = tmp_path_factory.mktemp("report") / "page.html"
    file.write_text(make_page(len(HOSTILE), HOSTILE)[0], encoding="utf-8")
    contexts = []

    def show(**options):
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda problem: page.problems.append(str(problem)))
        page.on("dialog", lambda dialog: (page.problems.append("a dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: request.url.startswith(("file:", "data:", "blob:")) or page.problems.append(request.url),
        )
        page.goto(file.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()


def test_opens_from_disk_without_network_or_complaint(opened):
    page = opened()
    assert page.problems == []
    assert page.locator("h1").inner_text() == "A title"
    assert page.locator("figure svg:visible").count() == 8
    assert page.locator("table:visible").count() == 0
    assert "NaN" not in page.locator("main").inner_html()


def test_hovering_tells_and_hides(opened):
    page = opened()
    tip = page.locator("#tip")
    assert tip.is_hidden()
    dot = page.locator("#path circle[data-tip]").nth(2)
    dot.hover()
    assert tip.inner_text() == dot.get_attribute("data-tip")
    page.locator("h1").hover()
    assert tip.is_hidden()
    page.locator("#similarity [data-grid]").hover(position={"x": 5, "y": 5})
    assert tip.inner_text().endswith("\n1")
    assert page.problems == []


def test_zoom_by_button_keyboard_and_wheel(opened):
    page = opened()
    figure = page.locator("#map figure")
    drawing = figure.locator("svg")
    whole = drawing.get_attribute("viewBox")
    figure.hover()
    figure.get_by_role("button", name="Zoom in").click()
    assert drawing.get_attribute("viewBox") != whole
    figure.get_by_role("button", name="Show all").click()
    assert [float(v) for v in drawing.get_attribute("viewBox").split()] == [float(v) for v in whole.split()]
    figure.focus()
    page.keyboard.press("+")
    assert drawing.get_attribute("data-zoomed") is not None
    page.keyboard.press("0")
    assert drawing.get_attribute("data-zoomed") is None
    drawing.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    assert drawing.get_attribute("data-zoomed") is not None
    assert page.problems == []


def test_arrows_walk_through_marks_and_cells(opened):
    page = opened()
    tip = page.locator("#tip")
    page.locator("#forgetting figure").focus()
    page.keyboard.press("ArrowRight")
    first = tip.inner_text()
    page.keyboard.press("ArrowRight")
    assert tip.inner_text() != first
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.locator("#similarity figure").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().split("\n")[0].startswith("2. ")
    assert page.problems == []


def test_the_numbers_can_be_saved(opened, tmp_path):
    page = opened()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save the numbers as JSON").click()
    waiting.value.save_as(tmp_path / "numbers.json")
    assert json.loads((tmp_path / "numbers.json").read_text())["plan"]["names"][5] == HOSTILE[5]
    assert page.problems == []


@pytest.mark.parametrize("width", [390, 1000])
def test_without_scripts_every_chart_is_a_still_drawing(opened, width):
    page = opened(java_script_enabled=False, viewport={"width": width, "height": 700})
    assert page.locator("noscript > p").inner_text() == "Scripts are off: the charts are still drawings."
    assert page.locator("#order li:visible").count() == len(HOSTILE)
    drawings = page.locator("figure svg.still:visible")
    assert drawings.count() == 8
    for drawing in drawings.all():
        box = drawing.bounding_box()
        assert 300 < box["width"] <= min(560, width - 32)
        assert box["height"] > 70  # three rows
    page.locator("#path summary").click()
    assert page.locator("#path table").is_visible()
    assert page.problems == []


def test_a_table_shows_where_it_goes_on(opened):
    image = pytest.importorskip("PIL.Image")
    page = opened(viewport={"width": 390, "height": 800})
    page.locator("#similarity summary").click()
    table = page.locator("#similarity .scroll")
    table.scroll_into_view_if_needed()

    def darkest(left):
        """Of a strip between two lines of the table, `left` of its width."""
        box, row = table.bounding_box(), table.locator("tbody tr").first.bounding_box()
        clip = {"x": box["x"] + left, "y": row["y"] + 3, "width": 5, "height": 3}
        return image.open(io.BytesIO(page.screenshot(clip=clip))).convert("L").getextrema()[0]

    right = table.bounding_box()["width"] - 7
    assert table.evaluate("(all) => all.scrollWidth > all.clientWidth")
    assert (darkest(2), darkest(right)) == (255, pytest.approx(205, abs=25))
    table.evaluate("(all) => all.scrollTo(all.scrollWidth, 0)")
    assert (darkest(2), darkest(right)) == (pytest.approx(205, abs=25), 255)


def test_no_fact_stands_alone(opened):
    page = opened()
    for width, count in itertools.product((390, 820), (2, 3, 4, 5)):
        page.set_viewport_size({"width": width, "height": 700})
        ends = page.evaluate(
            """(count) => {
              const all = document.querySelector(".facts");
              all.replaceChildren(...Array(count).fill(all.firstChild).map((card) => card.cloneNode(true)));
              return [...all.children].map((card) => card.getBoundingClientRect()).map(({y, right}) => [y, right]);
            }""",
            count,
        )
        assert len(ends) == count
        assert len({round(end) for end in dict(ends).values()}) == 1


def test_without_scripts_and_drawings_all_numbers_are_there(browser, make_page, tmp_path, monkeypatch):
    monkeypatch.setattr("taskorder.report.stills.find_spec", lambda name: None)
    file = tmp_path / "page.html"
    file.write_text(make_page(4)[0], encoding="utf-8")
    page = browser.new_page(java_script_enabled=False)
    page.goto(file.as_uri())
    assert page.locator("figure table:visible").count() == 8
    assert "tables in place of charts" in page.locator("noscript > p").inner_text()
    page.close()


@pytest.mark.parametrize("width", [320, 390, 1000])
def test_nothing_is_wider_than_the_screen(opened, width):
    page = opened(viewport={"width": width, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure svg:visible").count() == 8
    drawn = [float(box.split()[2]) for box in page.locator("figure svg").evaluate_all(VIEW_BOXES)]
    assert set(drawn) == {min(720, width - 32 if width < 640 else width - 48)}
    page.set_viewport_size({"width": 500, "height": 700})
    expect(page.locator("figure svg").first).to_have_attribute("width", "468")


def test_dark_and_paper(opened):
    color = "getComputedStyle(document.body).backgroundColor"
    assert opened().evaluate(color) == "rgb(255, 255, 255)"
    dark = opened(color_scheme="dark")
    assert dark.evaluate(color) == "rgb(21, 24, 28)"
    dark.emulate_media(media="print", color_scheme="dark")
    assert dark.evaluate(color) == "rgb(255, 255, 255)"
    assert dark.pdf(format="A4").startswith(b"%PDF")


def test_an_audit_by_mouse_and_on_a_phone(opened, tmp_path):
    page = opened(viewport={"width": 375, "height": 700})
    file = tmp_path / "audit.html"
    file.write_text(page_of(audit_results(results(4, 3, HOSTILE[:4]), used="0>1>2>3")), encoding="utf-8")
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.locator("figure svg:visible").count() == 3
    bar = page.locator("#variance [data-tip]").first
    bar.hover()
    assert page.locator("#tip").inner_text() == bar.get_attribute("data-tip")
    assert page.problems == []


@pytest.mark.parametrize("kind", ["plan", "audit"])
@pytest.mark.slow("browser")
def test_axe_finds_nothing_serious(opened, tmp_path, kind):
    page = opened()
    if kind == "audit":
        file = tmp_path / "audit.html"
        file.write_text(page_of(audit_results(results(4, 3), compare=[("0>1>2>3", "3>2>1>0")])), encoding="utf-8")
        page.goto(file.as_uri())
    for summary in page.locator("summary").all():
        summary.click()
    for scheme, width in (("light", 1000), ("dark", 375)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        violations = page.evaluate(AXE.read_text() + "; axe.run()")["violations"]
        assert [
            (violation["id"], violation["nodes"][0]["html"][:150])
            for violation in violations
            if violation["impact"] in ("serious", "critical")
        ] == []
