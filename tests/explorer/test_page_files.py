"""What goes into the page and out of it: tables, names, links, downloads, and what a tab keeps; in a real browser."""

import json
import re

import pytest

from taskorder import Plan, chain, final_error, solve

pytest.importorskip("playwright")

from playwright.sync_api import expect

from .page import big, drag, enter, expect_order, face, order, shown, upload

pytestmark = pytest.mark.slow("browser")


def test_markup_in_names_stays_text(load, tmp_path):
    evil = "<script>document.title='owned'</script>"
    other = "<img src=x onerror=alert(1)>"
    page = load(text=f'"task","{evil}","{other}"\n"{evil}",1,0.5\n"{other}",0.5,1\n')
    assert page.locator("li[data-task='0'] .name").inner_text() == evil
    face(page, 0).click()
    page.click("[data-field=before]")
    face(page, 1).click()
    page.click("#compare-tools button")
    expect(page.locator("#constraints")).to_contain_text(f"{evil} before {other}")
    expect(page.locator("#compare")).to_contain_text(other)
    assert page.locator("main img, main script").count() == 0
    assert "owned" not in page.title()
    with page.expect_download() as saved:
        page.click("#download")
        page.click("[data-download=svg]")
    picture = saved.value.path().read_text()
    assert "&lt;script&gt;" in picture
    assert "<script" not in picture


def test_rename_one_and_all(load):
    page = load("chain", 3)
    face(page, 1).click()
    enter(page, "name", "A")
    expect(page.locator("#problem")).to_contain_text('Names must be unique, got "A" more than once.')
    enter(page, "name", "dogs & cats")
    expect(page.locator("li[data-task='1'] .name")).to_have_text("dogs & cats")
    page.click("#rename")
    page.fill("#names", "x\ny")
    page.click("#names-dialog button.primary")
    expect(page.locator("#names-problem")).to_have_text("There must be 3 names, one for each task, got 2.")
    page.fill("#names", "x\ny\nz\n")
    page.click("#names-dialog button.primary")
    expect(page.locator("li[data-task='2'] .name")).to_have_text("z")
    expect(page.locator("#names-dialog")).to_be_hidden()


def test_a_link_restores_everything(load, open_page):
    page = load("ring", 6)
    face(page, 2).click()
    page.click("[data-field=first]")
    enter(page, "weight", "2.5")
    page.click("#compare-tools button")
    page.click("#optimal")
    expect(page.locator("#detail")).to_contain_text("found by search")
    page.click("#link")
    expect(page.locator("#link")).to_contain_text(re.compile("Link"))
    fragment = page.evaluate("location.hash")
    other = open_page(fragment)
    expect(other.locator("#value")).to_have_text(page.locator("#value").inner_text())
    assert order(other) == order(page)
    assert other.locator("#constraints").inner_text() == page.locator("#constraints").inner_text()
    expect(other.locator("#compare")).to_contain_text("held (made by hand)")
    # who has not searched here has only the word of the link
    expect(other.locator("#detail")).to_contain_text("order from a link")
    other.click("#optimal")
    expect(other.locator("#detail")).to_contain_text("found by search")
    other.reload()
    expect(other.locator("#constraints")).to_contain_text("C first")


def test_damaged_and_hostile_links_are_told(open_page):
    page = open_page("#s=nonsense")
    expect(page.locator("#problem")).to_contain_text("The link must be whole, got a damaged one.")
    expect(page.locator("#start")).to_be_visible()
    pack = """async (saved) => {
      const stream = new Blob([JSON.stringify(saved)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
      const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
      return "#s=" + btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    }"""
    for nothing in (None, 5, [], "x", {"names": 5, "similarity": 7}):
        page.evaluate("(hash) => { location.hash = hash }", page.evaluate(pack, nothing))
        expect(page.locator("#problem")).to_contain_text("`the link` must")
    page.evaluate("(hash) => { location.hash = hash }", page.evaluate(f"({pack})(' '.repeat(2e7))"))
    expect(page.locator("#problem")).to_contain_text("The link must be whole")
    bad = {"names": ["a", "b"], "similarity": [[1, 7], [7, 1]]}
    page.evaluate("(hash) => { location.hash = hash }", page.evaluate(pack, bad))
    expect(page.locator("#problem")).to_contain_text("`similarity` must have entries in [-1, 1], got 7")
    odd = {"names": ["a", "b"], "similarity": [[1, 0.5], [0.5, 1]], "order": [1, 1], "first": 9, "held": 3,
           "weights": ["x", 1], "before": [[0, 0], 5], "pair": [0, 0], "rule": {"a": 1}, "learned": "no"}  # fmt: skip
    page.evaluate("(hash) => { location.hash = hash }", page.evaluate(pack, odd))
    expect(page.locator("#value")).to_have_text("0.0625")
    expect_order(page, [0, 1])


def test_downloads(load):
    page = load("chain", 5)
    face(page, 4).focus()
    page.keyboard.press("Alt+Home")
    expect_order(page, [4, 0, 1, 2, 3])

    def download(kind):
        with page.expect_download() as saved:
            page.click("#download")
            page.click(f"[data-download={kind}]")
        return saved.value.suggested_filename, saved.value.path().read_bytes()

    name, plan = download("plan")
    made = Plan.from_json(plan.decode())
    assert name == "plan.json"
    assert made.named_order == ("E", "A", "B", "C", "D")
    assert made.error == pytest.approx(final_error(chain(5, 0.7), [4, 0, 1, 2, 3]), rel=1e-12)
    name, picture = download("svg")
    assert name == "order.svg"
    assert picture.startswith(b"<svg")
    assert "E → A → B → C → D" in picture.decode()
    assert b"class=" not in picture
    name, image = download("png")
    assert name == "order.png"
    assert image.startswith(b"\x89PNG")
    assert len(image) > 10_000
    name, report = download("report")
    assert name == "report.html"
    assert b"E</" in report
    assert made.similarity_digest in report.decode()
    page.click("#optimal")
    expect(page.locator("#detail")).to_contain_text("found by search")
    assert b"no allowed order is better" in download("report")[1]
    proven = Plan.from_json(download("plan")[1].decode())
    assert (proven.rule, proven.proven) == ("optimal", True)


def test_bad_uploads_say_what_the_command_line_says(load):
    page = load("chain", 4)
    before = page.locator("#value").inner_text()
    for name, body, said in (
        ("ragged.csv", b"1,0.5\n0.5\n", "line 2"),
        ("words.csv", b"hello\n", "`words.csv` must"),
        ("empty.csv", b"", "`empty.csv` must hold a similarity matrix, got an empty file."),
        ("odd.npy", b"\x80\x04", "pickle"),
    ):
        page.click("#open")
        page.set_input_files("input[type=file]", {"name": name, "mimeType": "text/csv", "buffer": body})
        expect(page.locator("#problem")).to_contain_text(said)
        assert page.locator("#value").inner_text() == before  # nothing is lost
        page.click("#problem button")
        expect(page.locator("#problem")).to_be_hidden()


def test_upload_of_a_matrix_that_needs_repair(open_page):
    page = open_page()
    body = json.dumps({"names": ["x", "y", "z"], "similarity": [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]})
    page.set_input_files("input[type=file]", {"name": "t.json", "mimeType": "text/json", "buffer": body.encode()})
    expect(page.locator("#source")).to_contain_text("repaired to the nearest correlation matrix")
    plan = solve(json.loads(body)["similarity"], "periphery-to-core", retention=1)
    page.click("[data-rule=periphery-to-core]")
    expect(page.locator("#detail")).to_contain_text("order periphery-to-core")
    assert order(page) == list(plan.order)
    assert float(page.locator("#value").inner_text()) == pytest.approx(plan.error, rel=1e-3)


def test_two_tabs_do_not_meet(load):
    first, second = load("chain", 5), load("ring", 4)
    face(first, 0).focus()
    first.keyboard.press("Alt+End")
    expect_order(first, [1, 2, 3, 4, 0])
    expect_order(second, range(4))
    second.click("#optimal")
    first.click("#optimal")
    expect(first.locator("#value")).to_have_text(shown(solve(chain(5, 0.7), retention=1).error))
    expect(second.locator("#sentence")).to_contain_text("proven")


def test_two_hundred_tasks(open_page):
    page = open_page()
    upload(page, big(200))
    drag(page, 0, 9)
    page.mouse.up()
    expect(page.locator("#undo")).to_be_enabled()
    assert order(page)[:10] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]
    face(page, 0).focus()
    page.keyboard.press("Alt+End")
    expect(page.locator("#tasks > li").last).to_have_attribute("data-task", "0")
    page.click("#link")
    expect(page.locator("#problem")).to_contain_text("A link must be at most 60 kB long")
    page.click("[data-rule=greedy]")
    expect(page.locator("#detail")).to_contain_text("order greedy")
    last = page.locator("#tasks > li").last.get_attribute("data-task")
    kept = "sessionStorage.getItem('taskorder-state')"
    for _ in range(100):  # too long for the address, the state is kept in the tab
        before = page.evaluate(kept)
        page.wait_for_timeout(1200)
        if before is not None and page.evaluate(kept) == before:
            break
    page.reload()
    expect(page.locator("#source")).to_contain_text("200 tasks · big.csv")
    expect(page.locator("#tasks > li").last).to_have_attribute("data-task", last)
    page.evaluate("sessionStorage.setItem('taskorder-state', 'of another start#s=AAAA')")
    page.reload()
    expect(page.locator("#start")).to_be_visible()
    assert page.locator("#problem").is_hidden()
