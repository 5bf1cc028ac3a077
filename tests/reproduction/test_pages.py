"""The pages say what the stored figures say, and the committed ones are those that the code writes."""

from dataclasses import replace
from pathlib import Path

import pytest

from reproduction import FIGURES
from reproduction.claims import Claim
from reproduction.main_claims import PAPER, QUESTIONS, Row
from reproduction.pages import figure_page, summary_page, verdict_of
from reproduction.running import stored

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "reproduction" / "pages"


@pytest.fixture(scope="module")
def figures():
    return stored(ROOT / "reproduction" / "results")


def test_all_figures_are_stored_at_full_size(figures):
    assert [figure.name for figure in figures] == list(FIGURES)


def test_committed_pages_are_up_to_date(figures):
    assert (ROOT / "REPRODUCTION.md").read_text() == summary_page(figures)
    assert {path.stem for path in PAGES.glob("*.md")} == set(FIGURES)
    for figure in figures:
        assert (PAGES / f"{figure.name}.md").read_text() == figure_page(figure, "../results")


@pytest.mark.parametrize(("rows", "ours"), [(PAPER, False), (QUESTIONS, True)])
def test_every_row_of_the_summary_has_its_claims(figures, rows, ours):
    by_name = {figure.name: figure for figure in figures}
    for row in rows:
        claims = row.claims(by_name[row.figure], ours=ours)
        assert claims, row
        for start in row.starts:
            assert any(claim.claim.startswith(start) for claim in claims), (row, start)
        assert len(row.answer(claims)) < 300, row


def test_a_figure_without_results_is_not_tested(figures):
    text = summary_page([figure for figure in figures if figure.name != "fig1c"])
    assert "| fig1c | no full-size result | not tested |" in text
    assert "| fig1c | three CIFAR-10 tasks in two orders | not tested | not tested |" in text


def test_verdicts_of_a_row_turn_with_its_claims(figures):
    (fig2b,) = (figure for figure in figures if figure.name == "fig2b")
    row = next(row for row in PAPER if row.figure == "fig2b")
    assert f"| {row.words} | [Fig. 2b](reproduction/pages/fig2b.md) |" in summary_page([fig2b])
    first = replace(fig2b.claims[0], verdict="not reproduced")
    mixed = summary_page([replace(fig2b, claims=(first, *fig2b.claims[1:]))])
    (line,) = (line for line in mixed.splitlines() if line.startswith(f"| {row.words} |"))
    assert line.endswith("| 3 reproduced, 1 not reproduced |")


def test_answers_are_told_apart_by_what_differs():
    def claim(text: str) -> Claim:
        return Claim(text, "ours", "+1.2 [0, 2] points; more", None, None, None, "reproduced")

    row = Row("words", "fig5", ("",))
    assert row.answer([claim("a; CIFAR-10")]) == "+1.2 [0, 2] points"
    assert row.answer([claim("a; x"), claim("a; y")]) == "x: +1.2 [0, 2] points; y: +1.2 [0, 2] points"
    assert row.answer([claim("max-path; x"), claim("periphery-to-core; x")]).startswith("max-path: +1.2")
    assert replace(row, number="none", quantity="gain").answer([claim("a")]) == "gain +1.2 [0, 2] points; more"


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("ours", "reproduced", "holds"),
        ("ours", "not reproduced", "does not hold"),
        ("ours", "undecided", "undecided"),
        ("paper, Fig. 1", "reproduced", "reproduced"),
    ],
)
def test_our_own_questions_hold_or_do_not(source, verdict, words):
    assert verdict_of(Claim("c", source, "f", None, None, None, verdict)) == words
