"""Names that would run if they were markup, in every kind of report and in notebooks; in a real browser."""

import json

import numpy as np
import pytest

from taskorder import Task, chain, compare, run_pilot, solve
from taskorder.audit.audit import audit_results
from taskorder.audit.methods import audit_methods
from taskorder.cli import main
from taskorder.learners import CallableLearner
from taskorder.report.comparison_page import comparison_page
from taskorder.report.document import page_html
from taskorder.report.plan_numbers import plan_numbers
from taskorder.report.plan_page import plan_page
from taskorder.tables.writing import write_similarity
from taskorder.visible import visible
from tests.hostile import LYING, MARKUP, NAMES, ran, watch

from . import test_audit_methods_page, test_audit_page

pytest.importorskip("playwright")

pytestmark = pytest.mark.slow("browser")

ALL = (*NAMES, *LYING)
MIXED = (*MARKUP[:6], "__proto__", "$x^2$ {{7*7}}", *LYING)


def of_table(tmp_path, run_store):
    write_similarity(tmp_path / "t.csv", chain(len(NAMES), 0.7), NAMES)
    assert main(["report", str(tmp_path / "t.csv"), "-o", str(tmp_path / "p.html"), "--time-limit", "1"]) == 0
    return (tmp_path / "p.html").read_text(encoding="utf-8"), NAMES


def of_plan(tmp_path, run_store):
    plan = solve(chain(len(ALL), 0.7), names=ALL, time_limit=1, first=MARKUP[1], before=[(LYING[0], LYING[1])])
    (tmp_path / "plan.json").write_text(plan.to_json())
    assert main(["report", str(tmp_path / "plan.json"), "-o", str(tmp_path / "p.html"), "--title", MARKUP[0]]) == 0
    return (tmp_path / "p.html").read_text(encoding="utf-8"), ALL


def of_pilot(tmp_path, run_store):
    learner = CallableLearner(lambda learned, test, seed: 0.3 if test in learned else 0.9 + 0.01 * seed, chance=1.0)
    names = (*MIXED[:6], LYING[0], LYING[1])
    made = run_pilot([Task(name) for name in names], learner, seeds=2, draws=20)
    return made.plan.report(tmp_path / "p.html", made.table).read_text(encoding="utf-8"), names


def of_runs(tmp_path, run_store):
    names = (MARKUP[0], LYING[0], "__proto__", LYING[1])
    assert main(["report", str(run_store(names, 2)), "-o", str(tmp_path / "p.html")]) == 0
    return (tmp_path / "p.html").read_text(encoding="utf-8"), names


def of_audit(tmp_path, run_store):
    names = (MARKUP[1], LYING[0], "constructor", LYING[1])
    return test_audit_page.page_of(audit_results(test_audit_page.results(4, 3, names), used="0>1>2>3")), names


def of_methods(tmp_path, run_store):
    names = (*MARKUP[:4], "__proto__", *LYING[:3])
    several = {name: test_audit_methods_page.results(0.01 * k, seed=k) for k, name in enumerate(names)}
    return test_audit_methods_page.page_of(audit_methods(several)), names


def of_comparison(tmp_path, run_store):
    comparison = compare(chain(8, 0.7), names=MIXED[-10:-2], last=LYING[0], retentions=())
    return page_html(comparison_page(comparison, MARKUP[1]), f"comparison.report({LYING[0]})"), ()


KINDS = (of_table, of_plan, of_pilot, of_runs, of_audit, of_methods, of_comparison)


@pytest.fixture
def opened(browser, tmp_path):
    """A function (html) -> page that tells whether anything ran."""
    contexts = []

    def open_(text, **options):
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 800}, **options})
        contexts.append(context)
        page = watch(context.new_page())
        (tmp_path / "opened.html").write_text(text, encoding="utf-8")
        page.goto((tmp_path / "opened.html").as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()


def assert_text(page, names):
    """The names are on the page, as text alone, with all that lies visible."""
    texts = "[...document.querySelectorAll('title, td, bdi, text')].map((part) => part.textContent).join('\\n')"
    said = page.evaluate(f"document.body.innerText + {texts}")
    for name in names:
        assert visible(name)[:20] in said, ascii(name)
    assert not set(said) & set("\u202e\u2066\u200b\u2067\u200f\u3164\x1b\x85\u2028\uffff")
    assert page.locator("main iframe, main img, main script, main style, main meta, main base").count() == 0


@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_a_report_shows_hostile_names_as_text_and_works(kind, opened, tmp_path, run_store):
    text, names = kind(tmp_path, run_store)
    page = opened(text)
    for summary in page.locator("summary").all():
        summary.click()
    assert_text(page, names)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("figure svg:visible").count() == page.locator("figure").count() > 0
    mark = page.locator("figure [data-tip]").first
    mark.hover(force=True)
    assert page.locator("#tip").inner_text()
    page.locator("figure").first.hover()
    page.locator("figure").first.get_by_role("button", name="Zoom in").click()
    with page.expect_download() as waiting:
        page.locator("#save").click()
    assert json.loads(waiting.value.path().read_text(encoding="utf-8"))
    assert ran(page) == []
    still = opened(text, java_script_enabled=False)
    assert still.locator("h1").count() == 1
    assert still.problems == []


def test_the_numbers_of_a_report_keep_names_as_they_are(opened, tmp_path, run_store):
    text, names = of_plan(tmp_path, run_store)
    assert opened(text).evaluate("JSON.parse(document.getElementById('numbers').textContent).plan.names") == [*names]


NOTEBOOK = "<!doctype html><meta charset=utf-8><body><div class='jp-OutputArea'>{}</div></body>"


@pytest.mark.parametrize("kind", ["plan", "comparison", "pilot"])
def test_a_notebook_shows_hostile_names_as_text(kind, opened):
    """Notebooks have no policy: whatever were markup would run."""
    names = MIXED
    table = chain(len(names), 0.7)
    if kind == "plan":
        record = solve(table, names=names, time_limit=1, first=LYING[1], before=[(MARKUP[0], LYING[0])])
    elif kind == "comparison":
        names = MIXED[-8:]
        record = compare(chain(8, 0.7), names=names, before=[(names[0], names[1])], last=names[2], retentions=())
    else:
        names = (*MARKUP[:3], LYING[0])
        learner = CallableLearner(lambda learned, test, seed: 0.3 if test in learned else 0.9, chance=1.0)
        record = run_pilot([Task(name) for name in names], learner, seeds=1, draws=5).plan
    page = opened(NOTEBOOK.format(record._repr_html_()))
    for summary in page.locator("summary").all():
        summary.click()
    said = page.evaluate("document.body.textContent + [...document.querySelectorAll('[title]')].map((e) => e.title)")
    for name in names if kind != "comparison" else ():
        assert visible(name)[:20] in said
    assert not set(said) & set("\u202e\u2066\u200b\u2067\u200f\u3164\x1b\x85\u2028\uffff")
    assert page.locator("script, iframe, img, svg, a, style").count() == 0
    assert page.locator("table").count() == 1
    assert ran(page) == []


def test_without_escaping_a_notebook_would_run_them(opened):
    assert ran(opened(NOTEBOOK.format(MARKUP[1]))) == ["global: owned"]


def test_a_very_long_table_of_names_is_drawn(opened, tmp_path):
    names = [f"{name[:50]} {k}" for k, name in enumerate((NAMES * 4)[:120])]
    table = np.round(chain(120, 0.7), 6)
    numbers = plan_numbers(solve(table, names=names, time_limit=1), table, time_limit=1)
    page = opened(page_html(plan_page(numbers, "A title", "a file"), "taskorder report a"))
    assert page.locator("figure svg:visible").count() == page.locator("figure").count()
    assert ran(page) == []
