"""A plan as a section of Markdown, for the README.md of a model: what was planned, on what, and how sure it was."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING

from taskorder.records.brief import at_the_end

if TYPE_CHECKING:
    from taskorder.records.plan import Plan

ASKED = ("learned", "first", "last", "before", "groups", "visits", "weights")
"""Options that say what an order had to obey."""
ESCAPED = re.compile(r"[\\`*_\[\]<>|~#@$&{}]|:(?=//)|(?<=www)\.")
"""Letters with a meaning in Markdown, in its dialects on hubs, or in templates of model cards; those of bare links."""

NO_TEXT = {"Cc": " ", "Zl": " ", "Zp": " ", "Cs": "\ufffd"}
"""What stands for line ends of any kind, and for halves of letters, which no file takes, by Unicode category."""


def plan_card(plan: Plan) -> str:
    """The section, from its heading on."""
    unit, _, expected = at_the_end(plan)
    before = [("before", task) for task in range(len(plan.names)) if task not in plan.order]  # learned already
    rows = [
        f"| {step} | {markdown_text(plan.names[task])} | {markdown_text(expected[task])} |"
        for step, task in [*before, *enumerate(plan.order, start=1)]
    ]
    return "\n".join(
        [
            "## Task order",
            "",
            "The planned order of the tasks. All numbers were predicted before training.",
            "",
            f"| step | task | predicted {markdown_text(unit)} at the end |",
            "|---:|---|---|",
            *rows,
            "",
            *(f"- **{title}:** {markdown_text(text)}" for title, text in _facts(plan)),
            "",
        ]
    )


def _facts(plan: Plan) -> list[tuple[str, str]]:
    """What is said below the table: titles, which are ours, and texts, which may hold any name."""
    if plan.prediction is None:
        kind, _, text = plan.summary().splitlines()[1].partition(" ")
        facts = [("Prediction", f"{kind} {text.strip()}"), ("Retention", f"the learner {plan.keeps}")]
    else:
        facts = [
            ("Prediction", plan.prediction.lines()[0].removeprefix("expect").strip()),
            ("Retention", plan.prediction.retention or f"the learner {plan.keeps}"),
        ]
    if plan.confidence is not None:
        facts.append(("Confidence", plan.confidence.summary().removeprefix("Confidence: ")))
    else:
        tried = "it was not measured" if plan.prediction else "the table was taken as exact, and no learner was tried"
        facts.append(("Confidence", f"unknown: {tried}"))
    facts += [("Sequence or mix", plan.mix.summary())] if plan.mix is not None else []
    facts.append(("Measured", "; ".join([plan.table, *plan.notes])))
    asked = [f"{key} {json.dumps(plan.options[key], ensure_ascii=False)}" for key in ASKED if plan.options.get(key)]
    facts += [("Constraints", "; ".join(asked))] if asked else []
    facts += [("Warning", caution.text) for caution in plan.warnings]
    digest = f"; SHA-256 of the table {plan.similarity_digest}" if plan.similarity_digest else ""
    return [*facts, ("Made by", f"taskorder {plan.version}, rule {plan.rule}{digest}".replace("  ", " "))]


def markdown_text(text: str) -> str:
    r"""Text on one line that Markdown shows as it is, in a cell of a table, too.

    >>> print(markdown_text("a|b\nc <b> [x](y)"))
    a\|b c \<b\> \[x\](y)
    """
    line = "".join(NO_TEXT.get(unicodedata.category(letter), letter) for letter in text)
    return ESCAPED.sub(lambda mark: "\\" + mark[0], line).strip()
