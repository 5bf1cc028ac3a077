"""The claims that figures 4a, 4b, 4d and 4e make about every order of tasks on a graph, each over all values of a.

"Among the best" and "among the worst" mean the outer tenth of all orders. Where the paper says that something holds
whatever a is, it must hold at every a; where it says nothing about a, on more than half of the range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from reproduction.claims import Claim, exact_claim
from reproduction.fitting import crossings
from taskorder.checks import Floats

ClaimAbout = Callable[[Floats, dict[str, Any]], Claim]
"""Takes the values of a and the result of a graph."""
TENTH = 0.1
"""An order is among the best where at most this share of orders is better."""
SHOWN = 8
"""Stretches of the range that a claim states, the longest ones."""


def among_best(order: str, source: str) -> ClaimAbout:
    """`order` is in the best tenth at every a."""
    return _among("best", "better", order, source)


def among_worst(order: str, source: str) -> ClaimAbout:
    """`order` is in the worst tenth at every a."""
    return _among("worst", "worse", order, source)


def _among(end: str, beyond: str, order: str, source: str) -> ClaimAbout:
    def claim(a: Floats, result: dict[str, Any]) -> Claim:
        share = np.array(result["named"][order][beyond])
        return exact_claim(
            f"{order} is among the {end} orders ({end} tenth) at every a",
            source,
            f"at most {share.max():.1%} of orders are {beyond} (at a = {a[share.argmax()]:.3f}); in the {end} tenth "
            f"on {(share <= TENTH).mean():.1%} of the range: {_ranges(a, share <= TENTH)}; the {end} of all: "
            f"{_ranges(a, share == 0)}",
            float(share.max()),
            bool(share.max() <= TENTH),
        )

    return claim


def one_optimum(a: Floats, result: dict[str, Any]) -> Claim:
    """The same order is optimal at every a, up to symmetry."""
    phases = _phases(a, result["best_order"])
    return exact_claim(
        "One order, with its mirror images, is optimal at every a",
        "ours",
        "; ".join(phases[:SHOWN]) + (f"; and {len(phases) - SHOWN} shorter stretches" if len(phases) > SHOWN else ""),
        float(len(phases)),
        len(phases) == 1,
    )


def gain(times: float | None, source: str) -> ClaimAbout:
    """The worst order's error over the best order's: about `times` (within 15 %) at some a, where given.

    The paper gives one number for a family of curves, and does not say at which a.
    """

    def claim(a: Floats, result: dict[str, Any]) -> Claim:
        ratio = np.array(result["worst"]) / np.array(result["best"])
        top = int(ratio.argmax())
        text = f"ratio up to {ratio[top]:.2f} (at a = {a[top]:.3f}), median {np.median(ratio):.2f}"
        if times is None:
            return exact_claim(
                "The worst order has more than twice the error of the best at some a", source, text, float(ratio[top]),
                bool(ratio[top] > 2),
            )  # fmt: skip
        near = np.abs(ratio / times - 1) < 0.15
        places = ", ".join(f"{place:.3f}" for place in crossings(a, ratio, times))
        heights = max(result["worst"]) / max(result["best"])
        return exact_claim(
            f"The worst order has about {times:g} times the error of the best (within 15 %) at some a",
            source,
            f"{text}; within 15 % of {times:g} on {near.mean():.1%} of the range ({_ranges(a, near)}); "
            f"it is {times:g} at a = {places or 'none'}; the peaks of the two curves stand "
            f"{heights:.2f} to 1 (docs/errata.md, item 8)",
            float(ratio[np.abs(ratio - times).argmin()]),
            bool(near.any()),
        )

    return claim


def starts_at(tasks: str, source: str) -> ClaimAbout:
    """The optimal order starts with one of `tasks`."""

    def claim(a: Floats, result: dict[str, Any]) -> Claim:
        starts = np.array([order[0] in tasks for order in result["best_order"]])
        return exact_claim(
            f"The optimal order starts with {' or '.join(tasks)} (on most of the range of a)",
            source,
            f"on {starts.mean():.1%} of the range: {_ranges(a, starts)}",
            float(starts.mean()),
            bool(starts.mean() > 0.5),
        )

    return claim


def long_path(source: str) -> ClaimAbout:
    """The optimal order is one of the longest paths through the dissimilarities."""

    def claim(a: Floats, result: dict[str, Any]) -> Claim:
        longer = np.array(result["longer"])
        return exact_claim(
            "The optimal order is consistent with max-path: among the longest paths (longest tenth, most a)",
            source,
            f"between {longer.min():.1%} and {longer.max():.1%} of orders have a longer path; "
            f"in the longest tenth on {(longer <= TENTH).mean():.1%} of the range: {_ranges(a, longer <= TENTH)}",
            float((longer <= TENTH).mean()),
            bool((longer <= TENTH).mean() > 0.5),
        )

    return claim


def rule_helps(rule: str) -> ClaimAbout:
    """The orders that a rule allows have a smaller mean error than all orders."""

    def claim(a: Floats, result: dict[str, Any]) -> Claim:
        against = np.array(result[rule]) / np.array(result["mean"])
        return exact_claim(
            f"{rule} is better than a random order at every a",
            "ours",
            f"error over the mean of all orders: {against.min():.3f} to {against.max():.3f}; "
            f"below 1 on {(against < 1).mean():.1%} of the range: {_ranges(a, against < 1)}",
            float(against.max()),
            bool(against.max() < 1),
        )

    return claim


def leaves_first(source: str) -> ClaimAbout:
    """Every optimal order learns all leaves before all inner nodes."""

    def claim(a: Floats, result: dict[str, Any]) -> Claim:
        follows = np.array(result["best_order"]) == np.array(result["leaves_first_order"])
        excess = np.array(result["leaves_first"]) / np.array(result["best"]) - 1
        return exact_claim(
            "The error is smallest when all leaves are learned before all inner nodes (on most of the range of a)",
            source,
            f"the optimal order does so on {follows.mean():.1%} of the range ({_ranges(a, follows)}); the best order "
            f"that does has up to {excess.max():.1%} more error (at a = {a[excess.argmax()]:.3f})",
            float(follows.mean()),
            bool(follows.mean() > 0.5),
        )

    return claim


def hops(source: str) -> ClaimAbout:
    """The optimal order never learns two siblings (A and B, C and D, ...) one after the other."""

    def claim(a: Floats, result: dict[str, Any]) -> Claim:
        pairs = np.array([_sibling_steps(order) for order in result["best_order"]])
        naive = _sibling_steps("".join(sorted(result["best_order"][0])))
        return exact_claim(
            "The optimal order hops: it never learns two siblings one after the other (on most of the range of a)",
            source,
            f"{pairs.min()} to {pairs.max()} of its steps join siblings (left to right: {naive}); "
            f"none on {(pairs == 0).mean():.1%} of the range: {_ranges(a, pairs == 0)}",
            float((pairs == 0).mean()),
            bool((pairs == 0).mean() > 0.5),
        )

    return claim


def _sibling_steps(order: str) -> int:
    return sum((ord(x) - 65) // 2 == (ord(y) - 65) // 2 for x, y in pairwise(order))


def _phases(a: Floats, orders: Sequence[str]) -> list[str]:
    """Every stretch of one order, the longest first."""
    stretches = [list(group) for _, group in groupby(range(len(orders)), key=orders.__getitem__)]
    stretches.sort(key=len, reverse=True)
    return [f"{orders[at[0]]} for a in [{a[at[0]]:.3f}, {a[at[-1]]:.3f}]" for at in stretches]


def _ranges(a: Floats, holds: np.ndarray) -> str:
    """The stretches of a where `holds`."""
    stretches = [list(group) for yes, group in groupby(range(len(a)), key=holds.tolist().__getitem__) if yes]
    return ", ".join(f"[{a[at[0]]:.3f}, {a[at[-1]]:.3f}]" for at in stretches) or "nowhere"
