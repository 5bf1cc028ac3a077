"""Names that would run if they were markup, code or properties: the page shows them as text and goes on working."""

import csv
import io
import json

import pytest

from taskorder import Plan, chain, solve
from taskorder.visible import visible
from tests.hostile import FAMILY, LYING, MARKUP, NAMES, PERSIAN, WATCH, ran, watch

pytest.importorskip("playwright")

from playwright.sync_api import expect

from .conftest import new_page
from .page import drag, expect_order, face, order

pytestmark = pytest.mark.slow("browser")

PACK = """async (saved) => {
  const stream = new Blob([saved]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return "#s=" + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}"""
SIZE = 8
GROUPS = [NAMES[start : start + SIZE] for start in range(0, len(NAMES), SIZE)]
GROUPS[-1] = NAMES[-SIZE:]


@pytest.fixture
def watched(browser, address):
    """A page of the explorer that tells whether anything ran."""
    page = watch(new_page(browser, permissions=["clipboard-read", "clipboard-write"]))
    page.goto(address)
    page.wait_for_selector("#loading", state="hidden")
    yield page
    assert ran(page) == []
    page.context.close()


def table_of(names):
    """CSV of a chain of tasks with these names."""
    text = io.StringIO()
    rows = [["task", *names], *([name, *row] for name, row in zip(names, chain(len(names), 0.7).tolist(), strict=True))]
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def upload(page, names, file="table.csv"):
    page.set_input_files("input[type=file]", {"name": file, "mimeType": "text/csv", "buffer": table_of(names)})
    expect(page.locator("#tasks > li")).to_have_count(len(names))


def shown_names(page):
    """What stands in the list, by task."""
    return page.locator("#tasks > li").evaluate_all(
        "(rows) => rows.map((row) => [Number(row.dataset.task), row.querySelector('.name').textContent,"
        " row.querySelector('.name').childElementCount])"
    )


def expect_text(page, names):
    """Every name stands in the list as text alone, and in no place as an element."""
    assert sorted(shown_names(page)) == [[task, name, 0] for task, name in enumerate(names)]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def expect_rest(page):
    """The best orders are found, which stand above the list: it moves no more."""
    expect(page.locator("#retention-flips")).not_to_be_empty(timeout=30_000)
    expect(page.locator("#sentence")).to_contain_text("best order possible")
    page.wait_for_timeout(200)


def download(page, kind):
    with page.expect_download() as saved:
        page.click("#download")
        page.click(f"[data-download={kind}]")
    return saved.value.path().read_text(encoding="utf-8")


@pytest.mark.parametrize("names", GROUPS, ids=[f"from {ascii(names[0])[:30]}" for names in GROUPS])
def test_a_table_of_hostile_names_is_shown_dragged_solved_and_exported(watched, names, browser, tmp_path):
    page, size = watched, len(names)
    upload(page, names)
    expect_text(page, names)
    expect_rest(page)
    drag(page, 0, 2)
    page.mouse.up()
    expect_order(page, [1, 2, 0, *range(3, size)])
    face(page, 1).click()
    page.click("[data-field=before]")
    face(page, 0).click()
    expect(page.locator("#constraints")).to_contain_text("before")
    assert f"{names[1]} before {names[0]}" in page.locator("#constraints").text_content()
    page.click("#compare-tools button")
    page.click("#optimal")
    best = solve(chain(size, 0.7), before=[(1, 0)], retention=1)
    expect(page.locator("#detail")).to_contain_text("found by search")
    expect_order(page, best.order)
    for name in names:
        assert name in page.locator("#compare").text_content()
    page.click("#similarities summary")
    page.locator("#paths").focus()
    page.keyboard.press("End")
    assert names[best.order[-1]] in page.locator("#said").text_content()
    expect_text(page, names)

    plan = Plan.from_json(download(page, "plan"))
    assert (plan.names, plan.order, plan.proven) == (tuple(names), best.order, True)
    picture = download(page, "svg")
    report = tmp_path / "report.html"
    report.write_text(download(page, "report"), encoding="utf-8")
    with page.expect_download() as saved:
        page.click("#download")
        page.click("[data-download=png]")
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")
    (tmp_path / "order.svg").write_text(picture, encoding="utf-8")
    for file in (report, tmp_path / "order.svg"):
        other = watch(new_page(browser))
        other.goto(file.as_uri())
        assert ran(other) == []
        assert other.locator("script[src], foreignObject").count() == 0
        assert names[best.order[0]][:50] in other.locator("body, svg").first.text_content()
        other.context.close()


def test_all_of_them_at_once_stay_in_a_link_and_over_a_reload(watched, browser, address):
    page = watched
    upload(page, NAMES, file="<img src=x onerror=window.owned=1>.csv")
    expect_text(page, NAMES)
    face(page, 3).focus()
    page.keyboard.press("Alt+Home")
    expect(page.locator("#tasks > li").first).to_have_attribute("data-task", "3")
    assert "<img src=x onerror=window.owned=1>.csv" in page.locator("#source").text_content()
    assert page.title().endswith("<img src=x onerror=window.owned=1>.csv")
    page.click("#link")
    page.wait_for_url("**#s=*")
    page.reload()
    page.wait_for_selector("#tasks > li")
    expect_text(page, NAMES)
    other = watch(new_page(browser))
    other.goto(address)
    other.wait_for_selector("#loading", state="hidden")
    other.evaluate("(hash) => { location.hash = hash }", page.evaluate("location.hash"))
    expect(other.locator("#tasks > li")).to_have_count(len(NAMES))
    expect_text(other, NAMES)
    assert order(other)[0] == 3
    assert ran(other) == []
    other.context.close()


def follow(page, saved):
    page.evaluate("(hash) => { location.hash = hash }", page.evaluate(PACK, json.dumps(saved)))


@pytest.mark.parametrize("word", ["__proto__", "constructor", "optimal", "<img src=x onerror=window.owned=1>", "a b"])
def test_a_link_whose_words_are_hostile(watched, word):
    """The rule, the held rule and the source of a link are text of whoever made it."""
    page, names = watched, ["__proto__", "constructor", MARKUP[0]]
    saved = {
        "names": names, "similarity": chain(3, 0.7).tolist(), "order": [2, 0, 1], "rule": word, "source": word,
        "held": {"order": [0, 1, 2], "rule": word}, "constructor": {"prototype": {"owned": 1}},
    }  # fmt: skip
    text = json.dumps(saved)[:-1] + ', "__proto__": {"owned": 1, "names": ["x"]}}'
    page.evaluate("(hash) => { location.hash = hash }", page.evaluate(PACK, text))
    expect_order(page, [2, 0, 1])
    expect_text(page, names)
    plan = Plan.from_json(download(page, "plan"))
    assert plan.order == (2, 0, 1)
    assert plan.rule == "by-hand"  # what a link says of a rule is not believed
    download(page, "svg")
    download(page, "report")
    page.click("#compare-tools >> text=Swap")
    expect_order(page, [0, 1, 2])
    page.click("[data-rule=periphery-to-core]")
    expect(page.locator("#detail")).to_contain_text("order periphery-to-core")


@pytest.mark.parametrize("name", LYING, ids=[ascii(name) for name in LYING])
def test_names_that_lie_are_refused_in_tables_links_and_fields(watched, name):
    page = watched
    problem = page.locator("#problem")
    body = json.dumps({"names": [name, "b"], "similarity": [[1, 0.5], [0.5, 1]]})
    page.set_input_files("input[type=file]", {"name": "t.json", "mimeType": "text/json", "buffer": body.encode()})
    expect(problem).to_contain_text("must have task names of one printable line, got ")
    assert "\n" not in problem.locator("p").text_content()
    assert name not in problem.text_content()
    expect(page.locator("#start")).to_be_visible()
    page.click("#problem button")
    follow(page, json.loads(body))
    expect(problem).to_contain_text("must have task names of one printable line, got ")
    page.click("#problem button")
    page.click("[data-example=ring]")
    page.click("#rename")
    page.evaluate("(name) => { names.value = [name, 'b', 'c', 'd', 'e'].join('\\n') }", f"x{name}x")
    page.click("#names-dialog button.primary")
    expect(page.locator("#names-problem")).to_contain_text("must be")


def test_what_a_file_may_hold_can_be_kept_while_another_task_is_renamed(watched):
    page, names = watched, [FAMILY, "x" * 10_000, PERSIAN]
    upload(page, names)
    expect_rest(page)
    assert page.locator("#tasks").bounding_box()["y"] < 900  # in sight, whatever stands above it
    assert page.locator("#answer").bounding_box()["height"] < 250
    face(page, 2).click()
    page.fill("[data-field=name]", "cats")
    page.keyboard.press("Enter")
    expect(page.locator("li[data-task='2'] .name")).to_have_text("cats")
    page.click("#rename")
    page.fill("#names", "\n".join([names[0], names[1], "🐈"]))
    page.click("#names-dialog button.primary")
    expect(page.locator("li[data-task='2'] .name")).to_have_text("🐈")
    expect_text(page, [*names[:2], "🐈"])
    plan = Plan.from_json(download(page, "plan"))
    assert plan.names == (*names[:2], "🐈")


def test_a_plan_is_no_table_and_its_hostile_names_are_text(watched):
    page = watched
    plan = solve(chain(3, 0.7), names=MARKUP[:3]).to_json()
    page.set_input_files("input[type=file]", {"name": "plan.json", "mimeType": "text/json", "buffer": plan.encode()})
    expect(page.locator("#problem")).to_contain_text("`plan.json` must ")
    expect(page.locator("#start")).to_be_visible()


@pytest.mark.parametrize("file", [*MARKUP[:6], "\u202egpj.csv", "a\nb.csv", "__proto__"])
def test_names_of_files_are_text(watched, file):
    page = watched
    upload(page, ["a", "b", "c"], file=file)
    expect(page.locator("#source")).to_contain_text("3 tasks")
    assert page.locator("#source *").count() == 0
    page.click("#open")
    page.set_input_files("input[type=file]", {"name": file, "mimeType": "text/csv", "buffer": b"1,0.5\n0.5\n"})
    expect(page.locator("#problem")).to_contain_text("must ")
    assert page.locator("#problem p *").count() == 0
    assert "\n" not in page.locator("#problem p").text_content()


def test_the_watch_can_see(browser):
    """Each of the ways to run leaves a trace, so that the tests above can fail."""
    for markup, seen in (
        ("<script>window.owned = 1</script>", "global: owned"),
        ("<img src=x onerror=window.owned=1>", "owned"),
        ("<script>alert(1)</script>", "dialog: 1"),
        ("<script>throw new Error('boo')</script>", "boo"),
        ("<script>Object.prototype.polluted = 1</script>", "global: polluted"),
        ("<a href='javascript:1'>x</a>", "javascript:1"),
        ("<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\"><script>1</script>", "policy: script"),
    ):
        page = watch(new_page(browser))
        page.goto("about:blank")
        page.set_content(f"<!doctype html><script>{WATCH}</script>{markup}" if "policy" in seen else markup)
        page.wait_for_timeout(100)
        assert any(seen in trace for trace in ran(page)), (markup, ran(page))
        page.context.close()


def test_names_do_not_change_what_is_computed(watched):
    page = watched
    upload(page, NAMES[:SIZE])
    first = page.locator("#value").inner_text()
    page.click("#open")
    rows = "\n".join(",".join(map(repr, row)) for row in chain(SIZE, 0.7).tolist())
    page.set_input_files("input[type=file]", {"name": "t.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    expect(page.locator("#source")).to_contain_text("t.csv")
    assert page.locator("#value").inner_text() == first


def test_the_page_refuses_the_same_names_as_python(watched):
    problem = "async (names) => (await import('/static/inspector.js')).nameProblem(names, [])"
    invisible = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u3164\uffa0\ufeff\ufdd0\uffff\U0001fffe\U000e0041"
    for mark in (*map(chr, range(0x20, 0x100)), *map(chr, range(0x2000, 0x2070)), *invisible, "\ufe0f", "猫"):
        for name in (f"a{mark}b", f"é{mark}猫"):
            assert (watched.evaluate(problem, [name]) != "") == (visible(name) != name), ascii(name)
    assert 'got "a\\u202eb\\udb40\\udc41"' in watched.evaluate(problem, ["a\u202eb\U000e0041"])
    for name in NAMES:
        assert (watched.evaluate(problem, [name]) != "") == (len(name) > 200)
