"""Records as one flat mapping from names to plain values, which is what experiment trackers take.

Numbers that were measured or predicted are floats; what describes them is text, a whole number or a truth value. A name
has the characters that trackers allow: letters, digits, spaces, `_`, `-`, `.`, and `/` between its parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taskorder.records.comparison import Comparison
    from taskorder.records.plan import Plan

Flat = dict[str, float | int | bool | str]
MOST_TEXT = 500
"""Characters of a value; older trackers take no more."""
MOST_KEY = 100
"""Characters of a name of others in a key."""


def flat_plan(plan: Plan) -> Flat:
    """A plan without its paths; numbers of a task have its name in their key."""
    keys = safe_keys(plan.names)
    parts: dict[str, Any] = {
        "order": " > ".join(plan.named_order),
        "num_tasks": len(plan.names),
        **{name: getattr(plan, name) for name in ("rule", "objective", "table", "proven", "version")},
        **{name: getattr(plan, name) for name in ("score", "error", "bound", "gap", "regret", "retention", "seconds")},
        "similarity_digest": plan.similarity_digest,
        "knowledge": _by_name(keys, plan.knowledge),
        "task_errors": {} if plan.knowledge else _by_name(keys, plan.task_errors),
        "task_retention": _by_name(keys, plan.task_retention),
        "warnings": " ".join(caution.text for caution in plan.warnings),
        "notes": "; ".join(plan.notes),
        # what was asked for describes the plan, whatever its type
        "options": {
            key: value if isinstance(value, bool | int | str) else json.dumps(value)
            for key, value in plan.options.items()
            if value not in (None, [])
        },
        "alternatives": {other.rule: {"error": other.error, "expected": other.expected} for other in plan.alternatives},
    }
    if plan.prediction is not None:
        told = asdict(plan.prediction)
        by_task = {name: _by_name(keys, told.pop(name) or ()) for name in ("tasks", "tasks_low", "tasks_high")}
        parts["prediction"] = {**told, **by_task}
    if plan.confidence is not None:
        parts["confidence"] = {key: value for key, value in asdict(plan.confidence).items() if key != "as_good"}
    if plan.mix is not None:
        parts["mix"] = {**asdict(plan.mix), "verdict": plan.mix.verdict}
    return flattened(parts)


def flat_comparison(comparison: Comparison) -> Flat:
    """A comparison without its orders but the best; numbers of a rule have its name in their key."""
    names = "best", "worst", "random_mean", "random_sem", "random_std", "random_count", "random_exact"
    best = comparison.scores[0] if comparison.scores else None
    return flattened(
        {
            **{name: getattr(comparison, name) for name in ("verdict", "objective", "retention")},
            **{name: getattr(comparison, name) for name in names},
            "num_tasks": len(comparison.names),
            "best_rule": None if best is None else best.rule,
            "best_order": None if best is None else " > ".join(comparison.names[task] for task in best.order),
            "value": {score.rule: score.value for score in comparison.scores},
            "quantile": {score.rule: score.quantile for score in comparison.scores},
            "share_at_retention": {f"{other.retention:g}": dict(other.shares) for other in comparison.at_retention},
            "price": _by_name(
                safe_keys(price.constraint for price in comparison.prices),
                [price.value for price in comparison.prices],
            ),
            "notes": "; ".join(comparison.notes),
        }
    )


def flattened(parts: Mapping[str, Any], before: str = "") -> Flat:
    """Nested mappings as one, with / between the names; None and empty texts are left out, and long texts cut.

    >>> flattened({"score": 0.5, "bound": None, "options": {"rule": "greedy"}})
    {'score': 0.5, 'options/rule': 'greedy'}
    """
    flat: Flat = {}
    for name, value in parts.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{before}{name}/")
        elif value is not None and value != "":
            flat[before + name] = value if not isinstance(value, str) or len(value) <= MOST_TEXT else _cut(value)
    return flat


def _cut(text: str) -> str:
    return text[: MOST_TEXT - 1] + "…"


def safe_keys(names: Iterable[str]) -> tuple[str, ...]:
    """Each name with the characters that trackers allow, still one key for each.

    >>> safe_keys(["cats", "a/b", "a:b", ".."])
    ('cats', 'a_b', 'a_b_2', '_')
    """
    keys: dict[str, None] = {}
    for name in names:
        key = re.sub(r"[^A-Za-z0-9_\-. ]", "_", name).strip()[:MOST_KEY].strip(". ") or "_"
        tail = next(tail for tail in ("", *(f"_{k}" for k in range(2, len(keys) + 3))) if key + tail not in keys)
        keys[key + tail] = None
    return tuple(keys)


def _by_name(keys: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return dict(zip(keys, values, strict=True)) if values else {}
