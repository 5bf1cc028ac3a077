"""Figure 2c: which of the six orders of three tasks is best, over the similarities of A to B and of B to C.

One map for each similarity of C to A, by the closed form with a shared readout; white where C is not positive definite.
The paper does not give the range of its axes: here it is all of [-1, 1]. Orders tie where their errors differ by less
than TIE; the map then shows the lexicographically first.

A phase is a connected region of one best order with at least a hundredth of the area. Swapping A and C mirrors every
map at x = y, so the phases of the half x > y are those that the mirror does not explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import Claim, FigureData, exact_claim
from taskorder.checks import Floats, Ints
from taskorder.plots.records import Heatmap, Panel
from taskorder.runs.specs import RunSpec

TIE = 1e-12
SMALLEST_PHASE = 0.01
ORDERS = tuple(permutations(range(3)))
NAMES = tuple("".join("ABC"[task] for task in order) for order in ORDERS)
MIRROR = tuple(NAMES.index(name.translate(str.maketrans("AC", "CA"))) for name in NAMES)


@dataclass(frozen=True)
class Config:
    """Settings; the similarities of C to A are the paper's."""

    rho_ca: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8)
    resolution: int = 100
    """Cells along each axis; an even number keeps their centers off the zeros, where orders tie."""

    def __post_init__(self) -> None:
        limits.between(self, -1, 1, "rho_ca")
        limits.whole(self, 2, "resolution", most=1000)


QUICK = Config(resolution=40)


def specs(config: Config) -> list[RunSpec]:
    """One run for each map."""
    return [RunSpec("theory.three-tasks.1", {"rho_ca": rho, "resolution": config.resolution}) for rho in config.rho_ca]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """For each map a row for each rho_BC: bit k of a cell says that order k is best there, 0 that C is not definite."""
    return [{"best": _best(**spec.params).tolist()} for spec in specs]


def _best(rho_ca: float, resolution: int) -> Ints:
    C = _similarities(rho_ca, resolution)
    errors = three_task_errors(C)
    bits = (errors <= errors.min(axis=0) + TIE) * 2 ** np.arange(6)[:, None, None]
    return np.where(np.linalg.eigvalsh(C)[..., 0] > TIE, bits.sum(axis=0), 0)


def _similarities(rho_ca: float, resolution: int) -> Floats:
    """(resolution, resolution, 3, 3): rho_BC along the first axis and rho_AB along the second."""
    C = np.broadcast_to(np.eye(3), (resolution, resolution, 3, 3)).copy()
    C[..., 0, 1] = C[..., 1, 0] = _axis(resolution)
    C[..., 1, 2] = C[..., 2, 1] = _axis(resolution)[:, None]
    C[..., 0, 2] = C[..., 2, 0] = rho_ca
    return C


def _axis(resolution: int) -> Floats:
    """Cell centers from -1 to 1, mirrored exactly."""
    return np.arange(1 - resolution, resolution, 2) / (resolution - 1)


def three_task_errors(C: Floats) -> Floats:
    """(6, ...) final errors of the six orders for many (..., 3, 3) similarities, by the recursion on residuals."""
    errors = []
    for order in ORDERS:
        r = np.ones(C.shape[:-1])
        for j in order:
            r = r - r[..., j, None] * C[..., j, :]
        errors.append((r * r).sum(axis=-1))
    return np.array(errors)


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """One map of categories for each similarity of C to A."""
    axis = tuple(_axis(config.resolution).tolist())
    maps = [np.array(result["best"]) for result in results]
    panels = tuple(
        Panel(
            title=f"similarity of C to A: {rho:g}",
            x_label="similarity of A to B",
            y_label="similarity of B to C",
            heatmap=Heatmap(
                values=tuple(tuple(None if k < 0 else k for k in row) for row in _first(best).tolist()),
                x=axis,
                y=axis,
                categories=NAMES,
            ),
        )
        for rho, best in zip(config.rho_ca, maps, strict=True)
    )
    return FigureData(
        name="fig2c",
        title="The best order of three tasks",
        panels=panels,
        claims=(_rich(config, maps), _mirrored(maps), _ties(config, maps), *_rules(config, maps)),
        config=asdict(config),
        notes=("Where orders tie, the map shows the lexicographically first.",),
    )


def _first(best: Ints) -> Ints:
    """The lexicographically first best order of each cell; -1 where C is not definite."""
    return np.where(best == 0, -1, (best[..., None] >> np.arange(6) & 1).argmax(axis=-1))


def _rich(config: Config, maps: Sequence[Ints]) -> Claim:
    whole = [_phases(_first(best)) for best in maps]
    half = [_phases(np.where(np.tri(len(best), k=-1).T > 0, _first(best), -1)) for best in maps]
    kinds = [len(set(phases)) for phases in whole]
    return exact_claim(
        claim="The best order depends on the similarities in a rich manner, beyond the mirror at x = y "
        "(at least three phases on one side of it, in every map)",
        source="paper, Fig. 2c",
        found="; ".join(
            f"rho_CA {rho:g}: {number} best orders in {len(all_)} phases, {len(one_side)} on one side"
            for rho, number, all_, one_side in zip(config.rho_ca, kinds, whole, half, strict=True)
        ),
        value=float(min(map(len, half))),
        holds=min(map(len, half)) >= 3,
    )


def _phases(first: Ints) -> list[int]:
    """The order of every phase."""
    from scipy.ndimage import label

    area = (first >= 0).sum()
    phases = []
    for order in range(6):
        regions, _ = label(first == order)
        sizes = np.bincount(regions.ravel())[1:]
        phases += [order] * int((sizes >= SMALLEST_PHASE * area).sum())
    return phases


def _mirrored(maps: Sequence[Ints]) -> Claim:
    """Swapping A and C exchanges rho_AB and rho_BC and renames the orders: ties included, cell by cell."""
    differing = 0
    for best in maps:
        swapped = sum((best.T >> MIRROR[k] & 1) << k for k in range(6))
        differing += int((best != swapped).sum())
    return exact_claim(
        claim="Swapping tasks A and C mirrors every map at x = y",
        source="paper, Fig. 2c",
        found=f"{differing} of {sum(best.size for best in maps)} cells differ from their mirror image",
        value=float(differing),
        holds=differing == 0,
    )


def _ties(config: Config, maps: Sequence[Ints]) -> Claim:
    """Tasks A and C do not disturb each other at rho_CA = 0: neighbors in an order, they can change places.

    Two equal similarities make ties by symmetry and do not count; other ties are boundaries that hit a cell's center.
    """
    alone, phrases = [], []
    for rho, best in zip(config.rho_ca, maps, strict=True):
        axis = np.round(_axis(config.resolution), 9)
        equal = (axis[:, None] == axis) | (axis == rho) | (axis[:, None] == rho)
        cells = best[(best > 0) & ~equal]
        counts = np.bincount(cells, minlength=64) / len(cells)
        tied = [mask for mask in np.argsort(-counts, kind="stable").tolist() if counts[mask] and mask & (mask - 1)]
        alone.append(1 - float(counts[tied].sum()))
        named = [f"{_orders(mask)} {counts[mask]:.1%}" for mask in tied[:3]]
        phrases.append(f"rho_CA {rho:g}: unique on {alone[-1]:.1%}" + "".join(f", {name}" for name in named))
    others = [share for rho, share in zip(config.rho_ca, alone, strict=True) if rho != 0]
    return exact_claim(
        claim="The best order is unique (on 95 % of the area) when rho_CA is not 0",
        source="ours",
        found="; ".join(phrases),
        value=min(others, default=None),
        holds=min(others, default=0.0) > 0.95,
    )


def _orders(mask: int) -> str:
    return " = ".join(name for k, name in enumerate(NAMES) if mask >> k & 1)


def _rules(config: Config, maps: Sequence[Ints]) -> list[Claim]:
    """How much of the area each rule gets right: the rule's order (one of them, where it ties) is a best order."""
    right: dict[str, list[tuple[float, float]]] = {"Periphery-to-core": [], "Max-path (the better direction)": []}
    for rho, best in zip(config.rho_ca, maps, strict=True):
        C = _similarities(rho, config.resolution)[best > 0]
        is_best = best[best > 0][:, None] >> np.arange(6) & 1 > 0
        t = C.sum(axis=-1)
        rising = np.array([(np.diff(t[:, order], axis=1) > -TIE).all(axis=1) for order in ORDERS]).T
        steps = np.array([C[:, o[0], o[1]] + C[:, o[1], o[2]] for o in ORDERS]).T
        positive = (C >= 0).all(axis=(1, 2))
        for shares, follows in zip(
            right.values(), (rising, steps < steps.min(axis=1, keepdims=True) + TIE), strict=True
        ):
            hit = (is_best & follows).any(axis=1)
            shares.append((float(hit.mean()), float(hit[positive].mean())))
    return [
        exact_claim(
            claim=f"{rule} gives the best order on more than half of the area of every map",
            source="ours",
            found="; ".join(
                f"rho_CA {rho:g}: {all_:.1%} ({some:.1%} where no similarity is negative)"
                for rho, (all_, some) in zip(config.rho_ca, shares, strict=True)
            ),
            value=min(all_ for all_, _ in shares),
            holds=min(all_ for all_, _ in shares) > 0.5,
        )
        for rule, shares in right.items()
    ]


FIGURES = (Figure("fig2c", Config(), QUICK, specs, run_batch, figure, batch=5),)
