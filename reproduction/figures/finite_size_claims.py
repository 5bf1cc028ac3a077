"""What the finite-size experiment decides.

Thresholds were fixed before the first run. Changed after looking at it: the claim on P far below N_x / N_s became two
(enough, and needed); the scatter check no longer asks for equal means, which hold exactly; the check on N_s leaves out
ratios below 0.01, where noise hid the error at N_s = 3, and draws more; deviations with and without progress are
compared as such, no longer each relative to its own closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.claims import Claim, inside, together
from reproduction.fitting import slope
from taskorder.checks import Floats
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import progress_of
from taskorder.stats import bootstrap_interval, share_interval

if TYPE_CHECKING:
    from reproduction.figures.finite_size import Config


@dataclass(frozen=True)
class Cell:
    """One combination of sizes; all its matrices share it."""

    family: str
    num_tasks: int
    num_latent: int
    num_inputs: int
    num_outputs: int | None = None
    """N_y of drawn readouts; None for the mean over all of them."""
    steps: int | None = None
    """None for convergence."""
    learning_rate: float = 1e-6
    """Unused at convergence."""

    @property
    def crowding(self) -> float:
        """P N_s / N_x."""
        return self.num_tasks * self.num_latent / self.num_inputs


PARTS = {
    "error": ("deviation", "square"),
    "stopped_error": ("stopped_deviation", "square"),
    "corrected_error": ("corrected_deviation", "square"),
    "bias": ("simulated", "closed"),
    "scatter": ("scatter", "square"),
}
"""Each quantity comes from the sums of two numbers over matrices."""


class Table:
    """Rows of results for each cell."""

    def __init__(self, rows: Mapping[Cell, Sequence[Mapping[str, Any]]]) -> None:
        self._rows = rows
        self.value = cache(self._value)
        """(number, low, high) of a quantity of `PARTS` in one cell; None below zero, where noise hides a square."""

    def parts(self, cells: Sequence[Cell], what: str) -> Floats:
        """(matrices, cells, 2) the two numbers behind a quantity."""
        return np.array([[[row[key] for key in PARTS[what]] for row in self._rows[cell]] for cell in cells]).swapaxes(
            0, 1
        )

    def _value(self, cell: Cell, what: str) -> tuple[float | None, float | None, float | None]:
        parts = self.parts([cell], what)
        value = quantity(parts[None], what)[0, 0]
        ends = bootstrap_interval(parts, lambda x: quantity(x, what)[:, 0])
        known = [
            None if np.isnan(number) or (what != "bias" and number <= 0) else float(number) for number in (value, *ends)
        ]
        return known[0], known[1], known[2]


def quantity(parts: Floats, what: str) -> Floats:
    """(resamples, cells) from (resamples, matrices, cells, 2); a negative squared mean becomes 0."""
    above, below = np.moveaxis(parts.sum(axis=1), -1, 0)
    if what == "bias":
        return np.asarray(above / below - 1)
    return np.asarray(np.sqrt(np.maximum(above, 0.0) / below))


SMALL = 0.031
"""Exponents are fitted where N_s / N_x is at most this."""
NEAR_ONE = {"above": 0.8, "below": 1.2}
"""An exponent, or a ratio, counts as 1 when its whole interval lies here."""

Estimate = tuple[float, float, float]
"""A number with its 95 % interval."""


def small_inputs(config: Config) -> list[int]:
    """The N_x at which exponents are fitted."""
    return [N_x for N_x in config.num_inputs if config.num_latent / N_x <= SMALL]


def scaled(config: Config, num_latent: int) -> list[Cell]:
    """5 tasks of the first family with another N_s, at the ratios N_s / N_x of the figure."""
    family = config.num_tasks[0][0]
    return [Cell(family, 5, num_latent, round(num_latent * N_x / config.num_latent)) for N_x in config.num_inputs]


def descents(config: Config) -> list[Cell]:
    """5 tasks of the first family under the paper's descent."""
    family, N_s, eta = config.num_tasks[0][0], config.num_latent, config.learning_rate
    return [Cell(family, 5, N_s, N_x, steps=config.steps, learning_rate=eta) for N_x in config.num_inputs]


def first_power(config: Config, table: Table, family: str, tasks: Sequence[int]) -> Claim:
    """Holds when the exponent of N_s / N_x counts as 1 for every number of tasks."""
    inputs = small_inputs(config)
    loads = np.log([config.num_latent / N_x for N_x in inputs])
    exponents = []
    for P in tasks:
        parts = table.parts([Cell(family, P, config.num_latent, N_x) for N_x in inputs], "error")
        exponents.append(_estimate(parts, lambda x: _exponent(loads, quantity(x, "error"))))
    worst = max(exponents, key=lambda exponent: abs(exponent[0] - 1))
    return Claim(
        claim=f"Corrections to the closed form are O(N_s / N_x); {family}",
        source="paper, appendix A.3",
        found="exponent of N_s / N_x up to 0.03: "
        + ", ".join(f"{_text(exponent)} for {P} tasks" for P, exponent in zip(tasks, exponents, strict=True)),
        value=worst[0],
        low=worst[1],
        high=worst[2],
        verdict=together(inside(exponent, **NEAR_ONE) for exponent in exponents),
    )


def correction_helps(config: Config, table: Table, family: str, tasks: Sequence[int]) -> Claim:
    """Holds when, at the paper's ratio, the correction takes away more than half of the error for every P."""
    shares = []
    for P in tasks:
        cell = Cell(family, P, config.num_latent, config.paper)
        both = np.concatenate([table.parts([cell], what) for what in ("corrected_error", "error")], axis=1)
        shares.append(_estimate(both, _error_ratio))
    worst = max(shares, key=lambda share: share[2])
    return Claim(
        claim=f"The first correction in N_s / N_x leaves less than half of the error at {_load(config)}; {family}",
        source="ours",
        found="error left: "
        + ", ".join(f"{_text(share)} for {P} tasks" for P, share in zip(tasks, shares, strict=True)),
        value=worst[0],
        low=worst[1],
        high=worst[2],
        verdict=together(inside(share, below=0.5) for share in shares),
    )


def _error_ratio(parts: Floats) -> Floats:
    """(resamples,) the first cell's systematic error over the second's; at most 10, where noise hides the second."""
    corrected, plain = np.moveaxis(quantity(parts, "error"), -1, 0)
    return np.asarray(np.minimum(corrected / np.maximum(plain, 1e-12), 10.0))


def _load(config: Config) -> str:
    return f"N_s / N_x = {config.num_latent / config.paper:g}"


def small_is_enough(config: Config, table: Table) -> Claim:
    """Holds when the error, interval included, is below 10 % wherever P N_s / N_x is at most 0.02."""
    return _crowded(
        "The theory holds to 10 % where P N_s / N_x is at most 0.02",
        "ours",
        {cell: table.value(cell, "error") for cell in _every(config) if cell.crowding <= 0.02},
        worst=max,
        below=0.1,
    )


def large_is_too_much(config: Config, table: Table) -> Claim:
    """Holds when the error, interval included, is above 10 % wherever P N_s / N_x is at least 1."""
    return _crowded(
        "The theory holds only for P far below N_x / N_s: it is off by more than 10 % where P N_s / N_x is 1 or more",
        "paper, appendix A.4",
        {cell: table.value(cell, "error") for cell in _every(config) if cell.crowding >= 1},
        worst=min,
        above=0.1,
    )


def _every(config: Config) -> list[Cell]:
    sizes = ((family, P) for family, tasks in config.num_tasks for P in tasks)
    return [Cell(family, P, config.num_latent, N_x) for family, P in sizes for N_x in config.num_inputs]


def _crowded(
    claim: str,
    source: str,
    errors: Mapping[Cell, tuple[float | None, float | None, float | None]],
    worst: Callable[..., Cell],
    **bounds: float,
) -> Claim:
    """A claim on every cell of a range of P N_s / N_x, shown by the cell that is worst for it."""
    if not errors:
        return Claim(claim, source, "no such sizes were run", None, None, None, "not tested")
    cell = worst(errors, key=lambda cell: errors[cell][0] or 0.0)
    value, low, high = errors[cell]
    parts = [inside([end or 0.0 for end in ends], **bounds) for ends in errors.values()]
    return Claim(
        claim=claim,
        source=source,
        found=f"systematic error {value or 0.0:.1%} [{low or 0.0:.1%}, {high or 0.0:.1%}] in the worst of "
        f"{len(errors)} cells: {cell.num_tasks} tasks, {cell.family}, "
        f"N_s / N_x = {cell.num_latent / cell.num_inputs:.2g}",
        value=value,
        low=low,
        high=high,
        verdict=together(parts),
    )


def collapses(config: Config, table: Table, family: str, tasks: Sequence[int]) -> Claim:
    """Holds when the exponent of P, at equal N_s / N_x, counts as 1: then only P N_s / N_x matters."""
    inputs = small_inputs(config)
    sizes = np.log(tasks)
    parts = table.parts([Cell(family, P, config.num_latent, N_x) for N_x in inputs for P in tasks], "error")

    def statistic(x: Floats) -> Floats:
        errors = quantity(x, "error").reshape(len(x), len(inputs), len(tasks))
        return np.asarray(np.mean([_exponent(sizes, errors[:, row]) for row in range(len(inputs))], axis=0))

    exponent = _estimate(parts, statistic)
    return Claim(
        claim=f"The error of the theory grows with P as with N_s / N_x, so that only P N_s / N_x matters; {family}",
        source="ours",
        found=f"exponent of P from {tasks[0]} to {tasks[-1]} tasks at equal N_s / N_x: {_text(exponent)}",
        value=exponent[0],
        low=exponent[1],
        high=exponent[2],
        verdict=inside(exponent, **NEAR_ONE),
    )


def only_ratio(config: Config, table: Table) -> Claim:
    """Holds when the error at another N_s, over that at the first, counts as 1; mean over ratios from 0.01 to 0.1."""
    chosen = [i for i, N_x in enumerate(config.num_inputs) if 0.009 <= config.num_latent / N_x <= 0.11]
    base = [scaled(config, config.num_latent)[i] for i in chosen]
    ratios = {}
    for N_s in config.other_latents:
        parts = np.concatenate(
            [table.parts([scaled(config, N_s)[i] for i in chosen], "error"), table.parts(base, "error")], axis=1
        )

        def statistic(x: Floats) -> Floats:
            errors = np.log(np.maximum(quantity(x, "error"), 1e-12))
            return np.asarray(np.exp((errors[:, : len(chosen)] - errors[:, len(chosen) :]).mean(axis=1)))

        ratios[N_s] = _estimate(parts, statistic)
    worst = max(ratios.values(), key=lambda ratio: abs(np.log(ratio[0])))
    return Claim(
        claim="N_s matters only through N_s / N_x",
        source="ours",
        found=f"systematic error over that of N_s = {config.num_latent} at equal N_s / N_x: "
        + ", ".join(f"{_text(ratio)} for N_s = {N_s}" for N_s, ratio in ratios.items()),
        value=worst[0],
        low=worst[1],
        high=worst[2],
        verdict=together(inside(ratio, **NEAR_ONE) for ratio in ratios.values()),
    )


def scatter_by_outputs(config: Config, table: Table) -> Claim:
    """Holds when the scatter of single draws falls as N_y^-1/2: the exponent's interval within 0.1 of that."""
    outputs = sorted(config.num_outputs)
    family = config.num_tasks[0][0]
    chosen = [Cell(family, 5, config.num_latent, config.paper, num_outputs=N_y) for N_y in outputs]
    sizes = np.log(outputs)
    exponent = _estimate(table.parts(chosen, "scatter"), lambda x: _exponent(sizes, quantity(x, "scatter")))
    scatter = [table.value(cell, "scatter")[0] or 0.0 for cell in chosen]
    return Claim(
        claim="The scatter of single draws comes from the readout and falls as N_y^-1/2",
        source="ours",
        found=f"exponent of N_y {_text(exponent)}; standard deviation "
        + ", ".join(f"{share:.0%} for N_y = {N_y}" for N_y, share in zip(outputs, scatter, strict=True))
        + " of the closed form (5 tasks, the paper's ratio)",
        value=exponent[0],
        low=exponent[1],
        high=exponent[2],
        verdict=inside(exponent, above=-0.6, below=-0.4),
    )


def descent_stops(config: Config, table: Table) -> Claim:
    """Holds when, wherever the paper's descent stops short of 99 %, the closed form with progress is the nearer one."""
    claim = (
        f"Where {config.steps} steps of rate {config.learning_rate:g} stop short of convergence, the closed form with "
        "progress is nearer to the simulation than the one without"
    )
    short = {
        cell: progress
        for cell in descents(config)
        if (progress := progress_of(Sizes(cell.num_latent, cell.num_inputs, 1), cell.steps, cell.learning_rate)) < 0.99
    }
    if not short:
        return Claim(claim, "ours", "no such size was run", None, None, None, "not tested")
    ratios = {}
    for cell in short:
        parts = np.concatenate([table.parts([cell], what) for what in ("stopped_error", "error")], axis=1)
        ratios[cell] = _estimate(parts, lambda x: _ratio_of_two(quantity(x, "error")))
    worst = max(ratios.values(), key=lambda ratio: ratio[2])
    return Claim(
        claim=claim,
        source="ours",
        found="deviation with progress over that without: "
        + ", ".join(f"{_text(ratios[cell])} at progress {progress:.2f}" for cell, progress in short.items()),
        value=worst[0],
        low=worst[1],
        high=worst[2],
        verdict=together(inside(ratio, below=1) for ratio in ratios.values()),
    )


def _ratio_of_two(errors: Floats) -> Floats:
    return np.asarray(errors[:, 0] / np.maximum(errors[:, 1], 1e-12))


def ranking(ranked: Sequence[Mapping[str, Any]]) -> tuple[Claim, Claim]:
    """Rank correlation above 0.95, and a loss below 5 % for the order that the closed form calls best."""
    rank = _estimate(np.array([row["rank"] for row in ranked]), lambda x: np.asarray(x.mean(axis=1)))
    log = np.log([[row[key] for key in ("loss", "random", "closed_random")] for row in ranked])
    loss, other, closed = (tuple(np.exp(_estimate(column, lambda x: np.asarray(x.mean(axis=1))))) for column in log.T)
    same = int((log[:, 0] == 0).sum())
    ends = share_interval(same, len(ranked))
    return (
        Claim(
            claim="At the paper's sizes the closed form ranks all 120 orders of 5 tasks as the simulation does",
            source="ours",
            found=f"mean rank correlation {rank[0]:.4f} [{rank[1]:.4f}, {rank[2]:.4f}] over {len(ranked)} matrices",
            value=rank[0],
            low=rank[1],
            high=rank[2],
            verdict=inside(rank, above=0.95),
        ),
        Claim(
            claim="At the paper's sizes the best order by the closed form is within 5 % of the best simulated order",
            source="ours",
            found=f"its simulated error is {_text(loss)} times the least; it is the best in {same} of {len(ranked)} "
            f"matrices [{ends[0]:.0%}, {ends[1]:.0%}]; a random order has {other[0]:.1f} times the least error, "
            f"{closed[0]:.1f} in the closed form",
            value=float(loss[0]),
            low=float(loss[1]),
            high=float(loss[2]),
            verdict=inside(loss, below=1.05),
        ),
    )


def _exponent(x: Floats, errors: Floats) -> Floats:
    """(resamples,) slope of log error (resamples, k) against x (k,); an error hidden by noise counts as tiny."""
    y = np.log(np.maximum(errors, 1e-12))
    return slope(np.stack([np.broadcast_to(x, y.shape), y], axis=-1))


def _estimate(values: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
    return (float(statistic(values[None])[0]), *bootstrap_interval(values, statistic))


def _text(estimate: Sequence[float]) -> str:
    return f"{estimate[0]:.2f} [{estimate[1]:.2f}, {estimate[2]:.2f}]"
