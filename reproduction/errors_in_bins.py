"""What figures 3e, 3g and 6a to 6d share: errors in bins of the average correlation m, and claims about them.

A ratio of errors is the mean of one over the mean of the other on the same matrices. Its interval uses that they are
the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from reproduction.claims import Claim, FigureData, verdict
from reproduction.random_matrices import Config, ManySizes, ensembles
from taskorder.checks import Floats
from taskorder.plots.records import Panel, Series

Style = Literal["line", "points", "bars"]
M_AXIS = "average correlation m"
SAME = 0.05
"""Two mean errors that differ by less than this share of that of random orders count as the same."""
NAMES = {
    "paper": "entries in [-1, 1]",
    "large": "entries in [-1, 1] and large m (ours, drawn together with the former)",
    "larger": "entries in [-1, 1] and larger m (ours, drawn together with the former)",
    "positive": "entries in [0, 1] (ours)",
}


@dataclass(frozen=True)
class Errors:
    """An ensemble of matrices: the average correlation of each, and its error by kind of order."""

    m: Floats
    of: Mapping[str, Floats]
    bin_width: float
    min_count: int

    @property
    def enough(self) -> bool:
        """Whether there are enough matrices for an interval."""
        return len(self.m) >= self.min_count

    def select(self, chosen: np.ndarray) -> Errors:
        """Only some of the matrices."""
        return replace(self, m=self.m[chosen], of={kind: values[chosen] for kind, values in self.of.items()})

    def where(self, low: float, high: float = math.inf) -> Errors:
        """The matrices with low <= m < high."""
        return self.select((self.m >= low) & (self.m < high))

    def joined(self, other: Errors) -> Errors:
        """The matrices of both."""
        of = {kind: np.concatenate([values, other.of[kind]]) for kind, values in self.of.items()}
        return replace(self, m=np.concatenate([self.m, other.m]), of=of)

    def bins(self) -> dict[int, Errors]:
        """Bin k holds k <= m / bin_width < k + 1; only bins with enough matrices, in ascending order."""
        places = np.floor(self.m / self.bin_width).astype(int)
        parts = {int(k): self.select(places == k) for k in np.unique(places)}
        return {k: part for k, part in parts.items() if part.enough}

    def center(self, k: int) -> float:
        """The m in the middle of bin k."""
        return round((k + 0.5) * self.bin_width, 9)

    def edge(self, k: int) -> float:
        """The m at which bin k begins."""
        return round(k * self.bin_width, 9)

    def normalized(self) -> Errors:
        """Every matrix relative to the mean of its own random orders, so that all count alike in a mean."""
        return replace(self, of={kind: values / self.of["random"] for kind, values in self.of.items()})


Sets = Mapping[str, Errors]
"""By set of matrices: those of `ensembles`, and "topped": all with entries in [-1, 1] together. Within a bin these have
one distribution, since the additional ones begin at edges of bins."""


def by_size(config: ManySizes, results: Sequence[dict[str, Any]], method: str) -> dict[int, Sets]:
    """The errors by number of tasks and set of matrices; `way` is "simulated" or "closed"."""
    sizes: dict[int, Sets] = {}
    left = iter(results)
    for P in config.num_tasks:
        sets = {}
        for name, (_, count) in ensembles(config, P).items():
            rows = list(itertools.islice(left, count))
            of = {kind: np.array([row[method][kind] for row in rows]) for kind in results[0][method]}
            m = np.array([row["m"] for row in rows])
            sets[name] = Errors(m, of, config.bin_width, config.min_count)
        sizes[P] = {**sets, "topped": sets["paper"].joined(sets["large"]).joined(sets["larger"])}
    return sizes


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and its 95 % interval (Student's t)."""

    value: float
    sem: float
    low: float
    high: float
    count: int

    @property
    def bar(self) -> tuple[float, float, float]:
        """The value and the ends of its standard error."""
        return self.value, self.value - self.sem, self.value + self.sem

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def ratio(errors: Errors, top: str, bottom: str) -> Estimate:
    """Mean error of one kind of order over that of another, on the same matrices."""
    a, b = errors.of[top], errors.of[bottom]
    value = float(a.mean() / b.mean())
    return _estimate(value, (a - value * b) / b.mean())


def mean_of(values: Floats) -> Estimate:
    """Mean over matrices."""
    return _estimate(float(values.mean()), values)


def _estimate(value: float, scattered: Floats) -> Estimate:
    """A value whose error is that of the mean of `scattered`."""
    from scipy.special import stdtrit

    count = len(scattered)
    sem = float(scattered.std(ddof=1)) / math.sqrt(count)
    half = sem * float(stdtrit(count - 1, 0.975))
    return Estimate(value, sem, value - half, value + half, count)


def series(
    errors: Errors,
    number: Callable[[Errors], tuple[float, float, float]],
    label: str,
    role: str = "",
    style: Style = "bars",
) -> Series:
    """`number` (value, low, high) in every bin."""
    rows = [(errors.center(k), *number(part)) for k, part in errors.bins().items()]
    m, value, low, high = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Series(label, m, value, low, high, role, style)


def below(claim: str, source: str, errors: Errors, better: str, worse: str, *, every_bin: bool = False) -> Claim:
    """`better` has less mean error than `worse`: the interval of their ratio lies below 1.

    With `every_bin` the ratio must also be below 1 in every bin that has enough matrices; an interval above 1 in a bin
    shows the opposite.
    """
    if not errors.enough:
        return untested(claim, source, errors)
    overall = ratio(errors, better, worse)
    bins = {errors.edge(k): ratio(part, better, worse) for k, part in errors.bins().items()} if every_bin else {}
    failed = [edge for edge, in_bin in bins.items() if in_bin.value >= 1]
    text = f"error of {better} over {_words(worse)}: {overall}, {overall.count} matrices"
    if every_bin:
        text += f"; below 1 in {len(bins) - len(failed)} of {len(bins)} bins"
        text += f", not from m = {', '.join(f'{edge:g}' for edge in failed)}" if failed else ""
    holds = overall.high < 1 and not failed and (bool(bins) or not every_bin)
    fails = overall.low >= 1 or any(in_bin.low >= 1 for in_bin in bins.values())
    return Claim(claim, source, text, overall.value, overall.low, overall.high, verdict(holds, fails))


def onset(errors: Errors, better: str, worse: str) -> Claim:
    """The m from which on `better` has less error: there the interval lies below 1, and no ratio above is 1 or more.

    There is none when the interval of the last bin lies above 1.
    """
    claim = f"There is an m from which on {better} has less error than {_words(worse)}"
    bins = [(errors.edge(k), ratio(part, better, worse)) for k, part in errors.bins().items()]
    if not bins:
        return untested(claim, "ours", errors)
    last_bad = max((place for place, (_, estimate) in enumerate(bins) if estimate.value >= 1), default=-1)
    good = bins[last_bad + 1 :]
    start = next((edge for edge, estimate in good if estimate.high < 1), None)
    if start is None:
        return Claim(claim, "ours", "no such bin", None, None, None, verdict(False, bins[-1][1].low >= 1))
    above = [estimate for edge, estimate in good if edge >= start]
    decided = sum(estimate.high < 1 for estimate in above)
    text = f"from m = {start:g} on the ratio is below 1 in all {len(above)} bins, with its interval in {decided}"
    return Claim(claim, "ours", text, start, None, None, "reproduced")


def order_matters(errors: Errors, source: str, better: str, worse: str, where: str = "") -> Claim:
    """In more than half of the bins the interval of the mean difference of two orders excludes 0.

    An interval around 0 shows no dependence only where it is narrow: within `SAME` of the error of random orders.
    """
    claim = f"The error robustly depends on the order: {better} against {worse}{where}"
    bins = {errors.edge(k): mean_of(part.of[better] - part.of[worse]) for k, part in errors.bins().items()}
    if not bins:
        return untested(claim, source, errors)
    less = [edge for edge, difference in bins.items() if difference.high < 0]
    more = [edge for edge, difference in bins.items() if difference.low > 0]
    share = (len(less) + len(more)) / len(bins)
    reach = {errors.edge(k): SAME * float(part.of["random"].mean()) for k, part in errors.bins().items()}
    none = sum(-reach[edge] < difference.low <= 0 <= difference.high < reach[edge] for edge, difference in bins.items())
    text = f"of {len(bins)} bins {better} has less error in {_listed(less)}, more in {_listed(more)}"
    return Claim(claim, source, text, share, None, None, verdict(share > 0.5, none >= len(bins) / 2))


def same_verdicts(claim: str, here: Sequence[Claim], there: Sequence[Claim]) -> Claim:
    """The same claims, put to other numbers, get the same verdicts; open where only one of the two decides."""
    differ = [a.claim for a, b in zip(here, there, strict=True) if a.verdict != b.verdict]
    same = len(here) - len(differ)
    text = (
        f"{same} of {len(here)} verdicts are the same; there: {'; '.join(claim_there.found for claim_there in there)}"
    )
    decided = {"reproduced", "not reproduced"}
    opposite = any({a.verdict, b.verdict} == decided for a, b in zip(here, there, strict=True))
    return Claim(claim, "ours", text, same / len(here), None, None, verdict(not differ, opposite))


def untested(claim: str, source: str, errors: Errors) -> Claim:
    """The check that too few matrices leave."""
    return Claim(claim, source, f"only {len(errors.m)} such matrices", None, None, None, "not tested")


def counts(sets: Sets) -> tuple[str, ...]:
    """Notes: how many matrices each set has, bin by bin, and with m > 0.2."""
    notes = []
    for name, words in NAMES.items():
        m, width = sets[name].m, sets[name].bin_width
        places, numbers = np.unique(np.floor(m / width).astype(int), return_counts=True)
        edges = ", ".join(f"{sets[name].edge(int(k)):g}: {n}" for k, n in zip(places, numbers, strict=True))
        notes.append(f"{words}: {int((m > 0.2).sum())} of {len(m)} matrices have m > 0.2; by start of bin: {edges}")
    return tuple(notes)


def _words(kind: str) -> str:
    return "random orders" if kind == "random" else kind


def _listed(edges: Sequence[float]) -> str:
    """How many bins, and where they begin."""
    return f"{len(edges)} (m from {', '.join(f'{edge:g}' for edge in edges)})" if edges else "none"


def pair_figure(
    name: str,
    title: str,
    pair: tuple[str, str],
    config: Config,
    results: Sequence[dict[str, Any]],
    *,
    claims: Callable[[Errors], list[Claim]],
    own: Callable[[Sets], list[Claim]],
    relative: bool,
) -> FigureData:
    """A rule, its opposite, the optimum and random orders against m: by gradient descent, and by the closed form.

    `claims` are the paper's, put to its matrices; they are put again to the closed form and, where the figure is
    relative, to errors relative to each matrix's own random orders.
    """
    (P,) = config.num_tasks
    simulated, closed = (by_size(config, results, method)[P] for method in ("simulated", "closed"))
    first = claims(simulated["paper"])
    decided = [*first, *own(simulated)]
    decided.append(same_verdicts("The closed form decides the paper's claims alike", first, claims(closed["paper"])))
    if relative:
        alone = claims(simulated["paper"].normalized())
        decided.append(
            same_verdicts("Relative to each matrix's own random orders they are decided alike", first, alone)
        )
    return FigureData(
        name=name,
        title=title,
        panels=tuple(
            _panel(f"{heading}, {entries}", pair, sets[name], relative)
            for heading, sets in (("Gradient descent", simulated), ("Closed form", closed))
            for name, entries in (("topped", "entries in [-1, 1]"), ("positive", "entries in [0, 1]"))
        ),
        claims=tuple(decided),
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
