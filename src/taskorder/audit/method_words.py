"""An audit of several methods in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskorder.audit.power import LEVEL
from taskorder.audit.verdict import order_share, p_value, points, share_text
from taskorder.checks import counted

if TYPE_CHECKING:
    from taskorder.audit.method_pairs import MethodPair
    from taskorder.audit.methods import MethodAudit, MethodScore

MOST_TOLD = 10
"""Pairs that a text tells of."""


def method_verdict(audit: MethodAudit) -> str:
    """A plain sentence on who wins, and one on whether the order changes that."""
    return f"{_winner(audit)} {_depends(audit)}"


def _winner(audit: MethodAudit) -> str:
    """Which method is best, and ahead of whom beyond chance."""
    best = audit.methods[0].method
    mine = [pair for pair in audit.pairs if pair.first == best]
    beaten = [pair for pair in mine if (pair.p_holm if pair.p_holm is not None else 1.0) < LEVEL]
    if len(audit.pairs) == 1:
        pair = audit.pairs[0]
        between = f"{points(pair.difference)} points"
        if pair.low is None or pair.high is None:
            return f"{pair.first} and {pair.second}, {between} apart, have too few runs in common for a test."
        between += f" (95 % interval {points(pair.low)} to {points(pair.high)})"
        if beaten:
            return f"{pair.first} beats {pair.second} by {between}."
        return f"{pair.first} and {pair.second}, {between} apart, cannot be told apart."
    others = len(audit.methods) - 1
    if not beaten:
        return f"{best} has the best mean, but cannot be told apart from any of the {others} others."
    names = ", ".join(pair.second for pair in beaten[:MOST_TOLD]) if len(beaten) < others else f"all {others} others"
    return f"{best} has the best mean and beats {names} beyond chance."


def _depends(audit: MethodAudit) -> str:
    """Does the order change who wins?"""
    pairs = audit.pairs
    of_pairs = "" if len(pairs) == 1 else f" of {len(pairs)} pairs of methods"
    turned = [pair for pair in pairs if pair.clear_wins and pair.clear_losses]
    if turned:
        pair = max(turned, key=lambda pair: min(pair.clear_wins, pair.clear_losses))
        count = f" for {len(turned)}{of_pairs}" if of_pairs else ""
        return (
            f"The order changes who wins{count}: {pair.first} is clearly ahead of {pair.second} in "
            f"{counted(pair.clear_wins, 'order')} and clearly behind in {pair.clear_losses}, of {pair.num_orders}. "
            "Compare methods over many orders, the same for all."
        )
    uneven = [pair for pair in pairs if pair.interaction_p_holm is not None and pair.interaction_p_holm < LEVEL]
    if uneven:
        pair = max(uneven, key=lambda pair: pair.flips)
        return (
            "How far methods are apart depends on the order, but no order clearly turns a winner into a loser: "
            f"{pair.second} is ahead of {pair.first} in {flips_text(pair)}."
        )
    pair = max(pairs, key=lambda pair: (pair.num_orders > 1, pair.flips))
    said = f" {pair.second} is ahead of {pair.first} in {flips_text(pair)}." if pair.num_orders > 1 else ""
    if all(pair.interaction is None for pair in pairs):
        return (
            f"Whether the order changes who wins cannot be told from noise.{said} Run two seeds or more, the same for "
            "all methods, in every order."
        )
    return f"These runs do not show that the order changes who wins.{said}"


def method_lines(audit: MethodAudit) -> list[str]:
    """All findings but the verdict, each on a line."""
    return [*(_method(score, audit) for score in audit.methods), *pair_lines(audit)]


def pair_lines(audit: MethodAudit) -> list[str]:
    """What stands below the table of methods."""
    lines = [pair_line(pair) for pair in audit.pairs[:MOST_TOLD]]
    if len(audit.pairs) > MOST_TOLD:
        lines.append(f"{len(audit.pairs) - MOST_TOLD} more pairs: see --json or the report")
    if len(audit.pairs) > 1:
        lines.append(f"p-values have Holm's correction for {len(audit.pairs)} pairs")
    planned = [] if audit.next_runs is None else audit.next_runs.lines()
    return [*lines, *(f"note: {note}" for note in audit.notes), *planned]


def pair_line(pair: MethodPair) -> str:
    """One pair in words."""
    shown = f"{pair.first} minus {pair.second}: {points(pair.difference)} points"
    if pair.low is None or pair.high is None or pair.p_holm is None:
        return f"{shown}; too few runs in common for a test"
    shown += f" ({points(pair.low)} to {points(pair.high)}), {p_value(pair.p_holm)}, paired over {paired_over(pair)}"
    if pair.effect is not None and pair.num_orders > 2:
        shown += f", Hedges' g {pair.effect:.2g}"
    if pair.num_orders > 1:
        shown += f"; {pair.second} is ahead in {flips_text(pair)}"
    if pair.interaction is not None and pair.interaction_p_holm is not None:
        shown += (
            f"; clearly ahead: {pair.first} in {pair.clear_wins}, {pair.second} in {pair.clear_losses}"
            f"; same difference in every order: {p_value(pair.interaction_p_holm)}"
        )
    return shown


def paired_over(pair: MethodPair) -> str:
    """What the test of a pair is over."""
    counts = {
        "orders and seeds": f"{counted(pair.num_orders, 'order')} and {counted(pair.num_seeds, 'seed')}",
        "orders": counted(pair.num_orders, "order"),
        "seeds": f"{counted(pair.num_seeds, 'seed')} of one order",
        "nothing": "nothing",
    }
    return counts[pair.paired]


def _method(score: MethodScore, audit: MethodAudit) -> str:
    shown = f"{score.method}: {share_text(score.mean)}, best in {score.best_in} of {counted(audit.num_orders, 'order')}"
    share = order_share(score.audit)
    return f"{shown}; order is {share} of its variance" if share else shown


def flips_text(pair: MethodPair) -> str:
    """In how many orders the worse of two is ahead."""
    noise = "" if pair.noise_flips is None else f"; noise alone: {share_text(pair.noise_flips)}"
    ties = pair.num_orders - pair.wins - pair.losses
    tied = f", with {counted(ties, 'tie')}" if ties else ""
    return (
        f"{pair.losses} of {counted(pair.num_orders, 'order')}{tied} ({share_text(pair.flips)}, "
        f"{share_text(pair.flips_low)} to {share_text(pair.flips_high)}{noise})"
    )
