"""A plan as a section of a model card; tests/finetune reads it with the Hub's package."""

import dataclasses

import pytest

from taskorder import Plan, solve
from taskorder.records import Caution, Confidence, Prediction
from taskorder.records.card import markdown_text

TABLE = [[1, 0.2, 0.6], [0.2, 1, 0.1], [0.6, 0.1, 1]]
NAMES = ["cats", "cars", "dogs"]


def test_a_plan_of_a_table_says_that_nothing_was_tried():
    plan = solve(TABLE, names=NAMES, retention=0.1, first="cars", weights=[1, 2, 1])
    lines = plan.to_markdown().splitlines()
    steps = [line for line in lines if line.startswith("| ")]
    assert [line.split(" | ")[1] for line in steps[1:]] == list(plan.named_order)
    assert steps[0] == "| step | task | predicted knowledge at the end |"
    assert f"| {100 * plan.knowledge[1]:.0f} % |" in steps[1]
    text = "\n".join(lines)
    assert f"- **Prediction:** score {plan.score:.4f} (" in text
    assert "- **Retention:** the learner keeps 10 % of what it knew" in text
    assert "- **Confidence:** unknown: the table was taken as exact, and no learner was tried" in text
    assert "- **Constraints:** first" in text
    assert f"taskorder {plan.version}, rule optimal; SHA-256 of the table {plan.similarity_digest}" in text


def test_a_plan_of_a_pilot_says_its_confidence_intervals_and_warnings():
    plan = dataclasses.replace(
        solve(TABLE, names=NAMES, retention=0.1),
        prediction=Prediction(
            "accuracy", 0.71, 0.66, 0.75, (0.5, 0.6, 1.0), (0.4, 0.5, 0.9), (0.6, 0.7, 1.0), 0.65, 0.02,
            "the learner keeps 8 % [5, 11] of it",
        ),
        confidence=Confidence("order matters", 0.91, 0.061, -0.003, 0.119, "accuracy", 1.0, 1.0, 1.0, (), 2, 6, 200),
        warnings=(Caution("noise", "cats|dogs look alike"),),
        notes=("pilot: 30 of 200 examples",),
    )  # fmt: skip
    text = plan.to_markdown()
    assert "| step | task | predicted accuracy at the end |" in text
    assert "| cats | 50 % \\[40, 60\\] |" in text
    assert "- **Prediction:** 71 % mean accuracy at the end \\[66, 75\\]; random orders 65 % +- 2.0" in text
    assert "- **Retention:** the learner keeps 8 % \\[5, 11\\] of it" in text
    assert "- **Confidence:** 91 % likely to beat a random order; expected gain 6.1 points of accuracy" in text
    assert "; pilot: 30 of 200 examples" in text
    assert "- **Warning:** cats\\|dogs look alike" in text
    unsure = dataclasses.replace(plan, confidence=None).to_markdown()  # of a pilot without resamples, or of one order
    assert "- **Confidence:** unknown: it was not measured" in unsure


def test_visits_and_tasks_learned_before_have_rows():
    plan = solve(TABLE, names=NAMES, learned=["dogs"], retention=0.1)
    steps = [line.split(" | ")[:2] for line in plan.to_markdown().splitlines() if line.startswith("| ")][1:]
    assert steps[0] == ["| before", "dogs"]
    assert [step for step, _ in steps[1:]] == ["| 1", "| 2"]
    assert '- **Constraints:** learned \\["dogs"\\]' in plan.to_markdown()
    assert "predicted error at the end" in solve(TABLE, names=NAMES, retention=1).to_markdown()


@pytest.mark.parametrize(
    "old", ["a|b", "<b>", "[a](b)", "*a*", "_a_", "`a`", "~a~", "$a$", "&lt;", "{{a}}", "@a", "#1"]
)
def test_marks_are_escaped(old):
    text = markdown_text(old)
    assert text.replace("\\", "") == old
    assert text.count("\\") == sum(letter in "|<>[]*_`~$&{}@#" for letter in old)


def test_what_a_line_cannot_hold_becomes_a_blank():
    assert markdown_text("a\nb\r\x0bc\u2028d\x85e\ud800f") == "a b  c d e\ufffdf"
    assert markdown_text("see https://a.b or www.a.b: c") == "see https\\://a.b or www\\.a.b: c"


def test_the_old_json_of_a_plan_gives_the_same_card():
    plan = solve(TABLE, names=NAMES, retention=0.1)
    assert Plan.from_json(plan.to_json()).to_markdown() == plan.to_markdown()
