"""An audit in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskorder.audit.power import MAX_RUNS

if TYPE_CHECKING:
    from taskorder.audit.audit import Audit
    from taskorder.audit.comparisons import PairTest
    from taskorder.audit.disparity import Disparity
    from taskorder.audit.order_model import OrderModel

SMALLEST_P = 1e-6
"""Smaller ones say more about the normal distribution than about the data."""
LABELS = {"order": "order", "seed": "seed", "rest": "order x seed and noise"}


def verdict_of(audit: Audit) -> str:
    """One plain sentence or two."""
    spread = points(audit.orders[0].mean - audit.orders[-1].mean)
    if audit.design == "one run":
        return "One run says nothing about order or seed. Run other orders, each with two seeds or more."
    if audit.design == "one order":
        return (
            f"One order: nothing can be said about the order. Seeds alone spread the final average accuracy with a "
            f"standard deviation of {points(audit.std)} points. Run other orders with the same seeds."
        )
    if audit.design == "one seed":
        return _one_seed(audit, spread)
    if audit.std == 0:
        return "All runs have the same final average accuracy: neither order nor seed makes a difference here."
    assert audit.test is not None
    order = next(part for part in audit.components if part.source == "order")
    between = f"{share_text(order.share_low)} to {share_text(order.share_high)}"
    if audit.test.p < 0.05:
        return (
            f"Order matters: it accounts for {share_text(order.share)} of the variance of the final average accuracy "
            f"(95 % interval {between}), and the best and the worst of {audit.num_orders} orders are {spread} points "
            "apart. Report the order, or average over several."
        )
    if order.share_high < 0.5:
        return (
            f"The effect of the order is within the noise ({p_value(audit.test.p)}): it accounts for at most "
            f"{share_text(order.share_high)} of the variance of the final average accuracy."
        )
    return (
        f"These runs do not show whether order matters ({p_value(audit.test.p)}): it accounts for {between} of "
        "the variance of the final average accuracy. Run more seeds and orders."
    )


def _one_seed(audit: Audit, spread: str) -> str:
    """What a model of many orders tells where no order was run twice."""
    model = audit.model
    apart = f"The {audit.num_orders} orders are up to {spread} points apart"
    if model is None:
        return f"One run for each order: order and noise cannot be separated. {apart}. Run them with a second seed."
    if not model.tells:
        return (
            "One run for each order, and nothing can be told: no model of positions and neighbors predicts orders that "
            f"it has not seen better than chance ({p_value(model.p)}), so order and noise cannot be separated. "
            f"{apart}, which noise may give as well. Run them with a second seed."
        )
    shown = (
        f"Order matters, as far as one run for each order can tell: a model of {model.seen} predicts orders that it "
        f"has not seen ({p_value(model.p)}). {apart}. "
    )
    expected, observed = share_text(model.best_expected), share_text(model.luckiest_observed)
    if model.best == model.luckiest:
        return (
            f"{shown}The best order observed, {model.best}, is also best by the model ({observed}, {expected} "
            "expected). Run it with a second seed."
        )
    return (
        f"{shown}Best by the model is {model.best} ({expected} expected); the luckiest run was {model.luckiest} "
        f"({observed}, {share_text(model.luckiest_expected)} expected). Run both with a second seed."
    )


def lines_of(audit: Audit) -> list[str]:
    """All findings but the verdict, each on a line."""
    parts = [
        f"{LABELS[part.source]}: {share_text(part.share)} of the variance ({share_text(part.share_low)} to "
        f"{share_text(part.share_high)}), standard deviation {points(part.variance**0.5)} points"
        for part in audit.components
    ]
    return [*head_lines(audit), *parts, *detail_lines(audit)]


def head_lines(audit: Audit) -> list[str]:
    """How many runs, and how good they are."""
    counts = (audit.num_runs, "run"), (audit.num_orders, "order"), (audit.num_seeds, "seed"), (audit.num_tasks, "task")
    shown = ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in counts)
    return [f"{shown} ({audit.design})", f"final average accuracy {share_text(audit.mean)}; {_ends(audit)}"]


def detail_lines(audit: Audit) -> list[str]:
    """What stands below the table of components."""
    lines = []
    if audit.test is not None:
        f = "infinite" if audit.test.f is None else f"{audit.test.f:.3g}"
        close = sum(bool(score.as_good_as_best) for score in audit.orders)
        lines.append(
            f"test that all orders are equal: F({audit.test.order_df}, {audit.test.error_df}) = {f}, "
            f"{p_value(audit.test.p)}; {close} of {audit.num_orders} orders cannot be distinguished from the best "
            "(Tukey, 5 %)"
        )
    if audit.aopd is not None and audit.mopd is not None:
        worst = max(audit.disparity, key=lambda part: part.value)
        lines.append(
            f"disparity over orders: AOPD {_disparity(audit.aopd)}, MOPD {_disparity(audit.mopd)}, "
            f"for task {worst.name}"
        )
    if audit.model is not None:
        lines.append(_model(audit.model))
    lines += [_pair(pair) for pair in audit.pairs]
    if audit.regret is not None:
        lines.append(_regret(audit))
    if audit.needs is not None:
        lines += _needs(audit)
    planned = [] if audit.next_runs is None else audit.next_runs.lines()
    return [*lines, *(f"note: {note}" for note in audit.notes), *planned]


def share_text(share: float) -> str:
    """A share as percent.

    >>> share_text(0.7132), share_text(0.0), share_text(4e-9)
    ('71.3 %', '0 %', 'under 0.01 %')
    """
    if 0 < share < 1e-4:
        return "under 0.01 %"
    return f"{100 * share:.3g} %"


def order_share(audit: Audit) -> str:
    """The order's share of the variance with its interval; nothing where order and noise cannot be separated."""
    part = next((part for part in audit.components if part.source == "order"), None)
    if part is None:
        return ""
    return f"{share_text(part.share)} ({share_text(part.share_low)} to {share_text(part.share_high)})"


def p_value(p: float) -> str:
    """A p-value.

    >>> p_value(0.0213), p_value(1e-30)
    ('p = 0.021', 'p < 1e-06')
    """
    return f"p < {SMALLEST_P:g}" if p < SMALLEST_P else f"p = {p:.2g}"


def points(share: float) -> str:
    """A difference of accuracies in points.

    >>> points(0.01234)
    '1.23'
    """
    return f"{100 * share:.3g}"


def _model(model: OrderModel) -> str:
    unseen = f"r2 {model.r2:.2g}" if model.r2 > 0 else "r2 below 0"
    shown = (
        f"a model of {model.seen} on orders it has not seen: {unseen}, typical error {points(model.error)} points, "
        f"{p_value(model.p)} by {model.num_shuffles} shuffles"
    )
    if not model.tells:
        return f"{shown}: no order is better by it"
    ran = "not run" if model.best_observed is None else f"{share_text(model.best_observed)} observed"
    observed, expected = share_text(model.luckiest_observed), share_text(model.luckiest_expected)
    return (
        f"{shown}; best by the model {model.best} ({share_text(model.best_expected)} expected, {ran}), luckiest "
        f"{model.luckiest} ({observed} observed, {expected} expected)"
    )


def _ends(audit: Audit) -> str:
    best, worst = audit.orders[0], audit.orders[-1]
    if best is worst:
        return f"order {best.order}"
    return f"best order {best.order} ({share_text(best.mean)}), worst {worst.order} ({share_text(worst.mean)})"


def _disparity(part: Disparity) -> str:
    noise = "" if part.noise is None else f" (noise alone {points(part.noise)})"
    return f"{points(part.value)} points{noise}"


def _pair(pair: PairTest) -> str:
    shown = f"{pair.first} minus {pair.second}: {points(pair.difference)} points"
    if pair.low is None or pair.high is None or pair.p is None:
        return f"{shown}; too few runs for a test"
    how = f"paired over {pair.num_pairs} seeds" if pair.num_pairs else "two samples, no seeds in common"
    return f"{shown} ({points(pair.low)} to {points(pair.high)}), {p_value(pair.p)}, {how}"


def _regret(audit: Audit) -> str:
    regret = audit.regret
    assert regret is not None
    shown = (
        f"regret of {regret.used}: {points(regret.observed)} points to the best order observed, {regret.best} "
        "(biased upward: the best order is chosen on the same runs)"
    )
    if regret.cross_validated is not None:
        shown += f"; {points(regret.cross_validated)} when other seeds choose the best (biased downward)"
    return f"{shown}; better than {share_text(regret.share_below)} of the other orders"


def _needs(audit: Audit) -> list[str]:
    need = audit.needs
    assert need is not None
    alternatives = ", or ".join(
        f"{_count(orders)} orders with {seeds} seed{'s' * (seeds > 1)} each" for seeds, orders in need.orders
    )
    same = "seeds, the same for both" if audit.design == "crossed" else "seeds for each"
    gap = f"a difference of {points(need.difference)} point{'s' * (need.difference != 0.01)}"
    lines = [
        f"a single random order shifts the final average accuracy by +-{points(need.order_spread)} points (95 %)",
        f"{gap} between two methods needs for each of them ({share_text(need.power)} power, 5 % level): {alternatives}",
        f"{gap} between two orders needs {_count(need.seeds)} {same}",
    ]
    most = need.possible_orders
    if most is not None and any((orders or MAX_RUNS) > most for _, orders in need.orders):
        lines.append(f"only {most} orders exist: run all of them with both methods and compare order by order")
    return lines


def _count(number: int | None) -> str:
    return "over a million" if number is None else str(number)
