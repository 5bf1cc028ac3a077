"""What figures 3e, 3g, 6a and 6b share: the errors of a rule and of its opposite against the average correlation.

Relative error is, as in the authors' code, the mean error of a rule in a bin over the mean error of random orders in
that bin. Our standard errors use that both come from the same matrices; the paper's leave that out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from reproduction._rules_in_bins import M_AXIS, Errors, Sets, by_size, counts, mean_of, ratio, same_verdicts, series
from reproduction._rules_on_random import Config
from taskorder.plots.figuredata import Check, FigureData, Panel, Series


def pair_figure(
    name: str,
    title: str,
    pair: tuple[str, str],
    config: Config,
    results: Sequence[dict[str, Any]],
    *,
    claims: Callable[[Errors], list[Check]],
    own: Callable[[Sets], list[Check]],
    relative: bool,
) -> FigureData:
    """A rule, its opposite, the optimum and random orders against m: by gradient descent, and by the closed form.

    `claims` are the paper's, put to its matrices; they are put again to the closed form and, where the figure is
    relative, to errors relative to each matrix's own random orders.
    """
    (P,) = config.num_tasks
    simulated, closed = (by_size(config, results, way)[P] for way in ("simulated", "closed"))
    first = claims(simulated["paper"])
    checks = [*first, *own(simulated)]
    checks.append(same_verdicts("The closed form decides the paper's claims alike", first, claims(closed["paper"])))
    if relative:
        alone = claims(simulated["paper"].normalized())
        checks.append(same_verdicts("Relative to each matrix's own random orders they are decided alike", first, alone))
    return FigureData(
        name=name,
        title=title,
        panels=tuple(
            _panel(f"{heading}, {entries}", pair, sets[name], relative)
            for heading, sets in (("Gradient descent", simulated), ("Closed form", closed))
            for name, entries in (("topped", "entries in [-1, 1]"), ("positive", "entries in [0, 1]"))
        ),
        checks=tuple(checks),
        config=asdict(config),
        columns=2,
        notes=counts(simulated),
    )


def _panel(title: str, pair: tuple[str, str], errors: Errors, relative: bool) -> Panel:
    kinds = (*pair, "optimal") if relative else (*pair, "random", "optimal")
    number = _relative if relative else _absolute
    lines = [series(errors, partial(number, kind=kind), kind, kind) for kind in kinds]
    if relative:
        ends = [m for line in lines for m in line.x] or [0.0]
        lines.append(Series("random", (min(ends), max(ends)), (1.0, 1.0), role="random"))
    label = "relative error (random = 1)" if relative else "final error"
    return Panel(title, M_AXIS, label, tuple(lines), y_scale="linear" if relative else "log")


def _relative(errors: Errors, kind: str) -> tuple[float, float, float]:
    return ratio(errors, kind, "random").bar


def _absolute(errors: Errors, kind: str) -> tuple[float, float, float]:
    return mean_of(errors.of[kind]).bar
