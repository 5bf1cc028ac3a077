"""Records as HTML in notebooks: small tables that take the colors of the page they are on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as escaped
from typing import TYPE_CHECKING

from taskorder.checks import counted
from taskorder.records.brief import at_the_end, brief_comparison, brief_name, brief_plan, some_prices
from taskorder.visible import visible

if TYPE_CHECKING:
    from taskorder.records.comparison import Comparison
    from taskorder.records.plan import Plan

FIRST_STEPS, LAST_STEPS = 12, 6
"""Steps at the ends of a long order that are shown."""
MOST_IN_A_CELL = 6
RULE = "1px solid rgba(128,128,128,.4)"
CELL = f"text-align:left;padding:.2em .8em .2em 0;border:0;border-bottom:{RULE};white-space:nowrap"
BAR = "display:inline-block;height:.6em;background:#009e73;opacity:.75;vertical-align:baseline"


def plan_html(plan: Plan) -> str:
    """The order as a table, what to expect of each task at the end, and what to know about it."""
    prediction = plan.prediction
    unit, values, said = at_the_end(plan)
    if prediction is None:
        expect = f"{plan.objective} <b>{plan.value:.4g}</b>, {'proven' if plan.proven else 'not proven'} in the model"
    else:
        expect = _text(prediction.lines()[0].removeprefix("expect").strip())
    steps = list(enumerate(plan.order, start=1))
    left_out = len(steps) - FIRST_STEPS - LAST_STEPS
    rows = [(str(step), _name(plan.names[task]), said[task], _bar(values[task])) for step, task in steps]
    if left_out > 1:
        rows[FIRST_STEPS:-LAST_STEPS] = [("…", f"{left_out} more tasks", "", "")]
    lines = [expect]
    if plan.confidence is not None:
        sure = plan.confidence
        lines.append(f"{_text(sure.verdict)}: {100 * sure.beats_random:.0f} % likely to beat a random order")
    if plan.mix is not None:
        lines.append(f"Sequence or mix: {_text(plan.mix.summary())}")
    lines.append(f"rule {_text(plan.rule)}; the learner {_text(plan.keeps)}")
    lines += [f"<b>Warning:</b> {_text(caution.text)}" for caution in plan.warnings]
    headers = ("step", "task", f"{unit} at the end", "")
    return _shown(brief_plan(plan)[0].partition(":")[0], lines, _table(headers, rows), plan.notes)


def comparison_html(comparison: Comparison) -> str:
    """The rules as a table, best first, beside random orders."""
    names = comparison.names
    rows = [
        (_text(score.rule), f"{score.value:.4g}", f"{100 * score.quantile:.0f} %", _order(score.order, names))
        for score in comparison.scores
    ]
    rows.append((f"random ({comparison.random_count} orders)",
                 f"{comparison.random_mean:.4g} ± {comparison.random_std:.2g}", "50 %", ""))  # fmt: skip
    table = _table(("rule", comparison.objective, "better orders", "order"), rows)
    prices = [price.said(comparison.objective) for price in comparison.prices]
    lines = [_text(line) for line in (comparison.verdict, *some_prices(prices))]
    return _shown(brief_comparison(comparison)[0], lines, table, comparison.notes)


def _shown(title: str, lines: Sequence[str], table: str, notes: Sequence[str]) -> str:
    """`title` and `notes` are text, `lines` and `table` markup."""
    listed = "".join(f"<li>{_text(note)}</li>" for note in notes)
    more = f"<details><summary>{counted(len(notes), 'note')}</summary><ul>{listed}</ul></details>" if notes else ""
    said = "".join(f"<div>{line}</div>" for line in lines)
    return f'<div style="color:inherit;line-height:1.4"><b>{_text(title)}</b>{said}{table}{more}</div>'


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are markup. The style is in each of them, since notebooks have styles of their own for tables."""
    head = "".join(f'<th scope="col" style="{CELL}">{_text(text)}</th>' for text in headers)
    cells = ("".join(f'<td style="{CELL}">{cell}</td>' for cell in row) for row in rows)
    body = "".join(f'<tr style="background:none">{row}</tr>' for row in cells)
    style = "border-collapse:collapse;margin:.6em 0;color:inherit;background:none;border:0"
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _text(text: str) -> str:
    """A text as markup; what would turn or hide it is visible."""
    return escaped(visible(text))


def _name(name: str) -> str:
    """A task name: its writing direction does not spill over, and hovering shows all of a long one."""
    return f'<bdi title="{_text(name)}">{_text(brief_name(name))}</bdi>'


def _order(order: Sequence[int], names: Sequence[str]) -> str:
    shown = [_name(names[task]) for task in order]
    if len(shown) > MOST_IN_A_CELL:
        shown = [shown[0], "…", *shown[-3:]]  # the last tasks decide most of what is left
    return f'<span style="white-space:normal">{" → ".join(shown)}</span>'


def _bar(value: float) -> str:
    return f'<span style="{BAR};width:{6 * min(max(value, 0.0), 1.0):.3g}em"></span>'
