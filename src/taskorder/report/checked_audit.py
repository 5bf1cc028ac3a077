"""An audit beside its own numbers: what follows from others is computed again, and what does not agree is said."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from taskorder.audit.audit import Audit
from taskorder.audit.method_words import method_verdict
from taskorder.audit.methods import MethodAudit
from taskorder.audit.settled import ranked
from taskorder.audit.verdict import verdict_of
from taskorder.report.contradictions import same
from taskorder.typed import Misfit

AnyAudit = TypeVar("AnyAudit", Audit, MethodAudit)


def checked_audit(audit: Audit | MethodAudit) -> tuple[Audit | MethodAudit, tuple[str, ...]]:
    """The audit with what its numbers give, and where that is not what it says; a Misfit where parts are missing."""
    if isinstance(audit, Audit):
        return _checked(audit, "")
    problems: list[str] = []
    methods = []
    for score in audit.methods:
        one, said = _checked(score.audit, f" of {score.method}")
        methods.append(replace(score, audit=one))
        problems += said
    return _with_verdict(replace(audit, methods=tuple(methods)), method_verdict(audit), "", problems)


def _checked(audit: Audit, whose: str) -> tuple[Audit, tuple[str, ...]]:
    problems = []
    runs = sum(score.num_runs for score in audit.orders)
    mean = sum(score.mean * score.num_runs for score in audit.orders) / max(runs, 1)
    if (len(audit.orders), runs) != (audit.num_orders, audit.num_runs) or not same(audit.mean, mean):
        problems.append(
            f"The audit{whose} says {audit.num_runs} runs of {audit.num_orders} orders, mean {audit.mean:.4g}, "
            f"its orders have {runs} runs of {len(audit.orders)} with {mean:.4g}."
        )
        audit = replace(audit, mean=mean, num_orders=len(audit.orders), num_runs=runs)
    rank = ranked([score.mean for score in audit.orders]).tolist()
    if rank != sorted(rank):
        problems.append(f"The audit{whose} does not list its best orders first.")
        audit = replace(audit, orders=tuple(audit.orders[place] for place in rank))
    total = sum(part.variance for part in audit.components)
    shares = [part.variance / total if total > 0 else 0.0 for part in audit.components]
    if not same([part.share for part in audit.components], shares):
        problems.append(f"The audit{whose} says other shares of the variance than its variances have.")
        parts = (replace(part, share=share) for part, share in zip(audit.components, shares, strict=True))
        audit = replace(audit, components=tuple(parts))
    if audit.test is not None:
        p = _p_of(audit.test.f, audit.test.order_df, audit.test.error_df)
        if not same(audit.test.p, p):
            problems.append(f"The audit{whose} says p = {audit.test.p:.3g}, its test gives {p:.3g}.")
            audit = replace(audit, test=replace(audit.test, p=p))
    return _with_verdict(audit, _verdict(audit), whose, problems)


def _verdict(audit: Audit) -> str:
    sources = {part.source for part in audit.components}
    if audit.design in ("crossed", "nested") and audit.std and (audit.test is None or "order" not in sources):
        raise Misfit("no test of the orders")
    return verdict_of(audit)


def _p_of(f: float | None, order_df: int, error_df: int) -> float:
    """The p value of an F test; None stands for an infinite F."""
    from scipy.special import fdtrc

    return 0.0 if f is None else float(fdtrc(order_df, error_df, f))


def _with_verdict(audit: AnyAudit, verdict: str, whose: str, problems: list[str]) -> tuple[AnyAudit, tuple[str, ...]]:
    """The audit with the verdict that its numbers give."""
    if audit.verdict != verdict:
        problems = [*problems, f"The verdict{whose} was another one; shown is what the numbers of the audit give."]
        audit = replace(audit, verdict=verdict)
    return audit, tuple(problems)
