"""The file: it loads nothing, escapes everything, stays small, and has what readers of all kinds need."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from taskorder.ordering.solve import RULES
from taskorder.plots.style import ROLES
from taskorder.report.document import DARK_PAPER, contrast, on_dark

from .conftest import HOSTILE, embedded

LOADING = {"src", "srcset", "href", "xlink:href", "data", "poster", "action", "formaction", "background", "ping"}
EMPTY = {"meta", "br"}


class Reader(HTMLParser):
    """Elements, their text, and whether every one of them is ended."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.problems, self.said = [], [], [], []
        self.feed(text)
        self.close()
        self.problems += self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.said.append(data)


@pytest.fixture(scope="module")
def hostile(make_page):
    return make_page(len(HOSTILE), HOSTILE)


def test_nothing_is_loaded(hostile):
    text, _ = hostile
    reader = Reader(text)
    given = [value for _, attributes in reader.elements for key, value in attributes.items() if key in LOADING]
    assert [value for value in given if not value.startswith(("#", "data:image/png"))] == []
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")  # the name of SVG, which is not an address
    assert "https:" not in text
    kinds = {tag for tag, _ in reader.elements}
    assert not kinds & {"link", "iframe", "object", "embed", "base", "form", "img", "audio", "video"}


def test_the_check_for_loading_can_fail():
    assert [value for _, attributes in Reader('<a href="https://x.y">z</a>').elements for value in attributes.values()]
    assert Reader("<p><b></p>").problems


def test_the_policy_allows_its_own_script_and_style_only(hostile):
    text, _ = hostile
    policy = next(a["content"] for tag, a in Reader(text).elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy
    for tag, start in (("style", "<style>"), ("script", "<script>")):
        inside = text[text.index(start) + len(start) : text.index(f"</{tag}>", text.index(start))]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not any("style" in a or any(key.startswith("on") for key in a) for _, a in Reader(text).elements)


def test_names_are_text_and_nothing_else(hostile):
    text, _ = hostile
    reader = Reader(text)
    assert reader.problems == []
    scripts = [attributes for tag, attributes in reader.elements if tag == "script"]
    assert [a.get("type") for a in scripts] == ["application/json", "application/json", None]
    said = "".join(reader.said)
    for name in HOSTILE:
        assert name.strip() in said
    assert embedded(text)["plan"]["names"] == [name.strip() for name in HOSTILE]
    assert [name for name in HOSTILE if name.strip() in embedded(text, "charts")["map-0"]["names"]] == list(HOSTILE)


@pytest.mark.parametrize("options", [{}, {"retention": 1}, {"objective": "error"}])
def test_numbers_in_the_page_are_those_of_the_json(make_page, options):
    text, numbers = make_page(6, **options)
    assert embedded(text) == json.loads(json.dumps(numbers.to_dict()))
    shown = {float(value) for value in re.findall(r'data-value="([^"]+)"', text)}
    ends = numbers.plan.knowledge if numbers.plan.objective == "score" else numbers.plan.task_errors
    for value in (numbers.plan.value, *ends, *numbers.values.tolist()):
        assert min(abs(value - other) for other in shown) < 1e-12
    for score in numbers.around.comparison.scores:
        assert score.value in shown
    cells = np.array(embedded(text, "charts")["similarity-0"]["values"])
    wanted = numbers.table.values[np.ix_(numbers.plan.order, numbers.plan.order)]
    np.testing.assert_allclose(cells, wanted, rtol=1e-3)


@pytest.mark.parametrize("num_tasks", [1, 2, 3, 45, 90])
def test_sizes_small_to_middling(make_page, num_tasks):
    text, numbers = make_page(num_tasks, time_limit=0.5)
    reader = Reader(text)
    assert reader.problems == []
    assert len(text.encode()) < 2_000_000
    assert "NaN" not in text
    assert len(re.findall(r"<li><span[^>]*><b>", text)) >= len(numbers.plan.order)


def test_every_figure_has_a_name_a_chart_and_a_table(make_page):
    text, _ = make_page(7)
    figures = text.split("<figure")[1:]
    assert len(figures) == 8
    for figure in figures:
        figure = figure[: figure.index("</figure>")]
        assert 'aria-label="' in figure
        assert "<details>" in figure
        assert '<noscript><svg viewBox="0 0' in figure
        assert "<table>" in figure
    shown = embedded(text, "charts")
    assert re.findall('data-chart="([^"]+)"', text) == list(shown)
    assert all(chart["label"] for chart in shown.values())
    levels = [int(tag[1]) for tag, _ in Reader(text).elements if re.fullmatch("h[1-6]", tag)]
    assert levels == [1] + [2] * (len(levels) - 1)


@pytest.mark.parametrize("retention", [None, 1])
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "optimal"])
def test_every_rule_has_a_page(make_page, rule, retention):
    text, numbers = make_page(6, rule=rule, retention=retention)
    assert numbers.plan.rule == rule
    assert "this plan" in text
    assert embedded(text, "charts")["path-0"]["lines"][0]["look"] == rule


def test_constraints_revisits_and_a_plan_without_its_matrix(make_page):
    text, _ = make_page(6, learned=["B"], weights=[1, 2, 1, 1, 1, 1])
    assert "Learned before: <bdi>B</bdi>" in text
    assert "weighted mean" in text
    text, _ = make_page(6, learned=["B"], visits=7, weights=[1, 2, 1, 1, 1, 1], retention=1)
    assert "weighted sum" in text
    assert "visited more than once" in text
    alone, _ = make_page(6, matrix=False)
    assert "--similarity FILE" in alone
    assert alone.count("<figure") == 2


def test_no_task_is_left(make_page):
    text, _ = make_page(3, learned=["A", "B", "C"])
    assert "Nothing is left to learn" in text


def test_colors_stand_out_from_dark_paper():
    assert on_dark("#E69F00") == "#e69f00"
    for look in ROLES.values():
        color = on_dark(look.color)
        assert contrast([int(color[i : i + 2], 16) for i in (1, 3, 5)], DARK_PAPER) >= 4.5
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)


@pytest.mark.parametrize("retention", [None, 1])
def test_a_better_rival_is_named_in_the_answer(make_page, retention):
    text, numbers = make_page(6, rule="min-path", retention=retention)
    best = numbers.around.comparison.scores[0]
    assert f"The rule {best.rule} does better here: {numbers.measure.said(best.value)}." in text
    assert "does better here" not in make_page(6, retention=retention)[0]
    assert "does better here" not in make_page(6, rule="worst", retention=retention)[0]


def test_a_proof_is_said_to_be_about_the_model(make_page):
    for options in ({}, {"retention": 1}):
        text, numbers = make_page(5, **options)
        assert numbers.plan.proven
        assert "It is proven in the model that no allowed order is better." in text
        assert "A proof is a proof about the model, not about your network." in text
    text, _ = make_page(5, rule="greedy")
    assert "A proof is" not in text


def test_words_follow_the_objective(make_page):
    law, numbers = make_page(6)
    said = "".join(Reader(law).said)
    assert f"{numbers.plan.value:.0%}".replace("%", " %") in said
    assert "keeps 13 % of what it knew when the next task is learned" in said
    assert "knowledge 1 - (1 - rho)^2 from a similarity rho" in said
    assert "closed form" not in said
    assert "final error" not in said
    paper = "".join(Reader(make_page(6, retention=1)[0]).said)
    assert "in the paper's theory" in paper
    assert "mean knowledge" not in paper


def test_steps_that_may_come_in_any_order_are_dashed(make_page):
    text, numbers = make_page(12)
    free = numbers.around.free
    assert free > 2
    assert text.count('<span class="free">') == free
    assert f"The first {free} may come in any order" in text
    assert make_page(12, retention=1)[1].around.free == 0


def test_notes_do_not_stand_under_warnings(make_page):
    text, numbers = make_page(6, matrix=False)
    assert text.index('id="notes"') > text.index('id="confidence"')
    notes = text[text.index('id="notes"') :]
    assert "--similarity FILE" in notes[: notes.index("</section>")]
    assert not numbers.plan.warnings
    assert 'id="warnings"' not in text
