"""From what the page sends to plans: checked matrices, orders found by a rule, and orders made by hand."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

from taskorder import checks
from taskorder.arguments import unknown
from taskorder.checks import Floats
from taskorder.given_table import SIMILARITY, kind_of
from taskorder.ordering.clock import Watch
from taskorder.ordering.plans import BY_HAND, make_plan
from taskorder.ordering.solve import RULES, RULES_WITHOUT_WEIGHTS, solve
from taskorder.ordering.solver_input import SolverInput, checked_table, solver_input
from taskorder.parsing import json_values
from taskorder.records import Plan
from taskorder.tables.reading import demo_similarity, read_similarity
from taskorder.theory.graphs import chain, leaves, ring, tree
from taskorder.theory.law import PLAIN_RETENTION, checked_retention

MAX_EXPLORED = 500
"""More tasks make no list that a person drags."""
MAX_REQUEST_BYTES = 16 * 2**20
"""Longest request: 500 x 500 numbers with 17 digits take 5 MB."""
MAX_SECONDS = 600.0
"""Longest search."""
REPORT_SECONDS = 10.0
"""For the rivals in a report."""
RANKED = tuple(rule for rule in RULES if rule not in ("optimal", "random", "worst"))
"""Rules whose orders take no long search."""
RANKING_SECONDS = 1.0
"""For each of them."""
GRAPHS = {"chain": chain, "ring": ring, "tree": tree, "leaves": leaves}

Payload = dict[str, Any]


def table_payload(data: bytes, name: str) -> Payload:
    """What the page needs of an uploaded table."""
    similarity, names = read_similarity(io.BytesIO(data), name=name, max_bytes=MAX_REQUEST_BYTES)
    return matrix_payload(similarity, names, name)


def example_payload(kind: str, num_tasks: int, a: float) -> Payload:
    """One of the examples: a graph, or the matrix that ships with the package."""
    if kind == "demo":
        similarity, names = demo_similarity()
        return matrix_payload(similarity, names, "CIFAR-100 (measured)")
    if kind not in GRAPHS:
        raise unknown("example", kind, ["demo", *GRAPHS])
    _few_enough(num_tasks, "example")
    return matrix_payload(GRAPHS[kind](num_tasks, a), None, f"{kind} of {num_tasks}, a = {a:g}")


def matrix_payload(similarity: Floats, names: tuple[str, ...] | None, source: str) -> Payload:
    """The table as given, the correlation matrix that errors are computed on (null where equal), and its names."""
    _few_enough(len(similarity), source)
    solver_input(similarity)  # refuses what no rule can read
    payload: Payload = {
        "source": source,
        "names": checks.task_names(names, len(similarity)),
        "kind": kind_of(similarity),
        "given": similarity.tolist(),
        "repaired": None,
        "note": None,
    }
    if payload["kind"] != SIMILARITY:
        return payload
    table = checked_table(similarity)
    if table.repair is None:
        return {**payload, "given": table.similarity.tolist()}
    return {**payload, "repaired": table.similarity.tolist(), "note": table.notes[0]}


def plan_by_rule(body: Payload, watch: Watch | None = None) -> Plan:
    """The plan that a rule makes of the inputs in a request."""
    rule, inputs = body.get("rule"), inputs_of(body)
    if rule not in RULES:
        raise unknown("rule", rule, RULES)
    limit = checks.seconds_limit(body.get("seconds", 10.0), "seconds")
    if limit > MAX_SECONDS:
        raise ValueError(f"`seconds` must be at most {MAX_SECONDS:g}, got {limit:g}. Use: taskorder solve --time-limit")
    options: Payload = {**inputs, "time_limit": limit, "seed": body.get("seed", 0), "watch": watch}
    if inputs.get("weights") is None or rule not in RULES_WITHOUT_WEIGHTS:
        return solve(rule=rule, **options)
    # found without the weights, and scored with them
    order = solve(rule=rule, **{**options, "weights": None}).order
    return _plan(solver_input(**inputs), list(order), rule)


def ranked_orders(body: Payload, watch: Watch | None = None) -> dict[str, tuple[int, ...]]:
    """The orders of the rules that the page ranks while its slider moves."""
    inputs_of(body)
    orders = {}
    for rule in RANKED:
        with suppress(ValueError):  # a rule that cannot read this table has no rank
            orders[rule] = plan_by_rule({**body, "rule": rule, "seconds": RANKING_SECONDS}, watch).order
    return orders


def plan_of_order(body: Payload) -> Plan:
    """The plan that an order stands for; that of a rule only where the rule makes it here, else one by hand."""
    inputs = solver_input(**inputs_of(body))
    constraints = inputs.constraints
    order = checks.visit_order(body.get("order", ()), len(constraints.names)).tolist()
    if sorted(order) != constraints.open_tasks.tolist():
        raise ValueError(f"`order` must list each of the {constraints.num_open} open tasks exactly once.")
    rule = body.get("rule", BY_HAND)
    if rule != BY_HAND and rule not in RULES:
        raise ValueError(f"`rule` must be {BY_HAND} or one of {', '.join(RULES)}, got {rule!r}.")
    plan = _plan(inputs, order, rule)
    return plan if rule == BY_HAND or _makes(rule, plan, body) else _plan(inputs, order, BY_HAND)


def _plan(inputs: SolverInput, order: list[int], rule: str) -> Plan:
    notes = () if inputs.constraints.allows(order) else ("this order breaks a constraint",)
    return make_plan(inputs, order, rule, notes=notes)


def _makes(rule: str, plan: Plan, body: Payload) -> bool:
    """Whether a rule makes this plan's order of the inputs in a request; for a search, one as good in a short time."""
    if rule == "random":
        return True
    try:
        made = plan_by_rule({**body, "rule": rule, "seconds": RANKING_SECONDS})
    except ValueError:  # it cannot read this table
        return False
    if rule in RANKED:
        return made.order == plan.order
    lead = (plan.value - made.value) * (1 if plan.objective == "score" else -1) * (-1 if rule == "worst" else 1)
    return lead >= -1e-9 * max(1.0, abs(made.value))


def report_of(body: Payload, watch: Watch) -> str:
    """The report on an order as HTML; `plan` in the request is what a search found, with its proof."""
    from taskorder.report.document import page_html
    from taskorder.report.plan_numbers import plan_numbers
    from taskorder.report.plan_page import plan_page
    from taskorder.report.report_input import plan_of

    data = body.get("plan")
    plan = plan_of_order(body) if data is None else plan_of(data, "plan")
    similarity = checks.square_matrix(inputs_of(body)["table"])
    numbers = plan_numbers(plan, similarity, time_limit=REPORT_SECONDS, watch=watch)
    source = str(body.get("source", "the explorer"))[:200]
    page = plan_page(numbers, f"{len(plan.names)} tasks from {source}", f"{source}, in the explorer")
    return page_html(page, "taskorder report plan.json --similarity FILE -o report.html")


def inputs_of(body: Payload) -> Payload:
    """The arguments of `solve` in a request; everything else in it is left behind."""
    similarity = body.get("similarity")
    if not isinstance(similarity, list):
        raise ValueError(f"`similarity` must be a list of rows, got {type(similarity).__name__}.")
    _few_enough(len(similarity), "similarity")
    keys = ("names", "before", "first", "last", "learned", "weights", "groups")
    given = {key: body[key] for key in keys if body.get(key) is not None}
    return {"table": similarity, "retention": slider_retention(body), **given}


def slider_retention(body: Payload) -> float:
    """The retention in a request; that of plain networks where it is left out."""
    retention = body.get("retention")
    if retention is None:
        return PLAIN_RETENTION
    if isinstance(retention, bool) or not isinstance(retention, int | float):
        raise ValueError(f"`retention` must be a number in [0, 1], got {retention!r}.")
    return float(checked_retention(retention, 1)[0])


def parse(data: bytes) -> Payload:
    """The JSON object in a request."""
    if len(data) > MAX_REQUEST_BYTES:
        raise ValueError(f"`request` must be at most {MAX_REQUEST_BYTES / 2**20:g} MB.")
    try:
        body = json_values(data)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise ValueError("`request` must be a JSON object.")
    return body


def _few_enough(num_tasks: int, label: str) -> None:
    if num_tasks > MAX_EXPLORED:
        raise ValueError(
            f"`{label}` must have at most {MAX_EXPLORED} tasks to explore, got {num_tasks}. Use: taskorder solve FILE"
        )
