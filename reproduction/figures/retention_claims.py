"""Claims about where the retention comes from, each decided by its 95 % interval over task sets.

The thresholds were set after a look at four task sets of the first cells, before the others and before the uneven runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reproduction.claims import Claim, Verdict, inside
from reproduction.image_claims import Number, mean_number
from reproduction.retention_fit import TERMS, Fit, Point, fit, number, retention, set_weights
from reproduction.retention_measured import FASHION_IMAGES, OTHERS, PARTS, Measured
from reproduction.retention_pairs import Cell
from reproduction.retention_uneven import EACH, LAST, MEASURES, ONE
from taskorder.checks import Floats
from taskorder.theory.steps import retention_for_steps

LITTLE = 0.1
"""An exponent of the odds within this of 0 is little; two exponents within this of each other are alike."""
CLOSE = 0.05
"""A predicted retention within this of the measured one is close."""
WORDS = {
    "first_steps": "the steps of the first task",
    "width": "the width of the network",
    "batch_size": "the batch size",
    "images": "the number of images",
}


def claims(found: Measured) -> tuple[Claim, ...]:
    """All of them; those without enough runs are not tested."""
    return tuple(claim for group in (_grid, _other_data, _orders, _positions, _uneven) for claim in group(found))


def notes(found: Measured) -> tuple[str, ...]:
    """What the numbers stand on."""
    sets = f"{found.count} task sets with two seeds for each cell"
    largest = found.config.fraction * FASHION_IMAGES
    images = f"{largest / found.config.uneven:.0f} to {largest:,.0f} images"
    uneven = f"{len(found.uneven)} task sets of uneven tasks ({images})"
    forms = ""
    if found.cells:
        odds, power = (_base_fit(found, logarithm=logarithm).residual for logarithm in (False, True))
        forms = (
            f"Base cell: a straight line in log steps leaves {odds:.3f} of retention (root mean square) for the log "
            f"odds and {power:.3f} for the logarithm; whole grid: {found.fit.residual:.3f}. Cells left out one at a "
            f"time (base, rate, first steps, width) are predicted to {_left_out(found):.3f}."
        )
    return (
        f"{sets}; {uneven}; runs in all orders of other figures are predicted, not fitted, from one seed each.",
        *([forms] if forms else []),
    )


def _claim(words: str, value: Number, text: str, verdict: Verdict) -> Claim:
    return Claim(words, "ours", text, *value, verdict)


def _untested(words: str) -> Claim:
    return Claim(words, "ours", "too few task sets", None, None, None, "not tested")


def _base_fit(found: Measured, *, logarithm: bool = False) -> Fit:
    points = [point for point in found.points if point.cell == found.points[0].cell]
    return fit(points, found.stacked(points), logarithm=logarithm)


def _grid(found: Measured) -> Iterator[Claim]:
    steps = "Retention falls with the steps of the task that is learned"
    rate = "Retention falls with the learning rate"
    alike = "A factor in the learning rate counts like the same factor in the steps"
    line = "The odds of keeping are a power of the steps, without a bend"
    others = {term: f"Retention depends little on {words}" for term, words in WORDS.items()}
    if not found.cells:
        yield from map(_untested, (steps, rate, alike, line, *others.values()))
        return
    count, d = found.count, {stop: found.values[Point(found.points[0].cell, stop)] for stop in (30, 1000, 3000)}
    ends = ", ".join(f"{number(each, count).show()} after {stop:,}" for stop, each in d.items())
    b, c = found.fit.number("steps", count), found.fit.number("learning_rate", count)
    yield _claim(steps, b, f"exponent {_minus(b).show()}; base: {ends}", inside(b, below=0))
    yield _claim(rate, c, f"exponent {_minus(c).show()}", inside(c, below=0))
    ratio = number(found.fit.coefficients[:, 2] - found.fit.coefficients[:, 1], count)
    yield _claim(
        alike, ratio, f"difference of exponents {ratio.show(sign=True)}", inside(ratio, above=-LITTLE, below=LITTLE)
    )
    bend = number(_bend(found), count)
    yield _claim(
        line, bend, f"exponent from 300 to 3,000 steps minus that from 30 to 300: {bend.show(sign=True)}",
        inside(bend, above=-LITTLE, below=LITTLE),
    )  # fmt: skip
    for term, words in others.items():
        value = found.fit.number(term, count)
        text = f"exponent of the odds {value.show(sign=True)}"
        yield _claim(words, value, text, inside(value, above=-LITTLE, below=LITTLE))


def _minus(value: Number) -> Number:
    return Number(-value.value, -value.high, -value.low)


def _left_out(found: Measured) -> float:
    """Root mean square deviation of the retention of a cell from the fit to the others, over cells that these span."""
    values, misses = {point: found.values[point][:1] for point in found.points}, []
    for cell in dict.fromkeys(point.cell for point in found.points):
        rest = [point for point in found.points if point.cell != cell]
        own = [point for point in found.points if point.cell == cell]
        varied = [len({getattr(point.cell, term) for point in rest}) > 1 for term in TERMS[1:]]
        if not all(vary or log == 0 for vary, log in zip(varied, own[0].logs()[1:], strict=True)):
            continue
        others = fit(rest, np.stack([values[point] for point in rest], axis=1))
        misses += [float(values[point][0] - others.predicted(point.logs())[0]) for point in own]
    return float(np.sqrt(np.mean(np.square(misses))))


def _bend(found: Measured) -> Floats:
    """(draws,) fall of the log odds over the second half of the base's steps minus that over the first, an exponent."""
    cell = found.points[0].cell
    odds = {stop: _log_odds(found.values[Point(cell, stop)]) for stop in (30, 300, 3000)}
    return np.asarray((odds[300] - odds[3000] - (odds[30] - odds[300])) / np.log(10))


def _log_odds(d: Floats) -> Floats:
    kept = np.clip(d, 0.005, 0.995)
    return np.asarray(np.log(kept / (1 - kept)))


def _other_data(found: Measured) -> Iterator[Claim]:
    for label, cell in OTHERS.items():
        exponent = f"The exponent of the steps is that of Fashion-MNIST; perceptron, {label}"
        level = f"The fit to Fashion-MNIST predicts retention within {CLOSE:g}; perceptron, {label}"
        if not found.cells:
            yield from map(_untested, (exponent, level))
            continue
        points = [point for point in found.values if point.cell == cell]
        own = fit(points, found.stacked(points))
        gap = number(own.coefficients[:, 1] - found.fit.coefficients[:, 1], found.count)
        text = f"{_minus(own.number('steps', found.count)).show()}; difference {_minus(gap).show(sign=True)}"
        yield _claim(exponent, gap, text, inside(gap, above=-LITTLE, below=LITTLE))
        # Only steps and rate count: the other terms describe Fashion-MNIST cells.
        off = np.stack([found.values[point] - found.fit.predicted(plain_logs(cell, point.steps)) for point in points])
        mean = number(off.mean(axis=0), found.count)
        each = ", ".join(
            f"{found.values[p][0]:.2f} for {found.fit.predicted(plain_logs(cell, p.steps))[0]:.2f}" for p in points
        )
        yield _claim(
            level,
            mean,
            f"measured minus predicted {mean.show(sign=True)}; {each}",
            inside(mean, above=-CLOSE, below=CLOSE),
        )


def plain_logs(cell: Cell, steps: float) -> list[float]:
    """Where only steps and rate differ from the base."""
    return [float(np.log(steps / 1000)), float(np.log(cell.learning_rate / 1e-3)), *[0.0] * (len(TERMS) - 2)]


def _orders(found: Measured) -> Iterator[Claim]:
    for label, steps in PARTS.values():
        words = f"The fit predicts the retention of the second task within {CLOSE:g}; {label}"
        if not found.cells or label not in found.parts:
            yield _untested(words)
            continue
        sums = found.parts[label]
        own = retention(sums[:, 0], set_weights(len(sums), seed=1))
        predicted = found.fit.predicted(plain_logs(Cell(), steps))
        gap = number(own - predicted, len(sums))
        numbers = number(own, len(sums)).show(), number(predicted, found.count).show()
        text = "measured {}, predicted {}".format(*numbers) + f" at {steps:,} steps"
        yield _claim(words, gap, f"{text}; {len(sums)} sets", inside(gap, above=-CLOSE, below=CLOSE))


def _positions(found: Measured) -> Iterator[Claim]:
    for label, _ in PARTS.values():
        words = f"Retention is higher at the fifth task than at the second; {label}"
        if label not in found.parts:
            yield _untested(words)
            continue
        sums = found.parts[label]
        d = retention(sums, set_weights(len(sums)))
        rise = number(d[:, -1] - d[:, 0], len(sums))
        text = f"{rise.show(sign=True)}: from {d[0, 0]:.2f} to {d[0, -1]:.2f}; {len(sums)} sets"
        yield _claim(words, rise, text, inside(rise, above=0))


def _uneven(found: Measured) -> Iterator[Claim]:
    smaller = "A small task takes less away than a large one"
    slope = "Over tasks of different sizes the exponent is that of the grid"
    sizes = "Steps tell the retention of each task better than one for all"
    better = {
        "A retention for each task ranks orders better than one for all": (ONE, 0),
        "A retention for each task predicts knowledge better than one for all": (ONE, 1),
        "A retention for each task chooses better orders than one for all": (ONE, 2),
        "With a retention for each task the law ranks orders better than the last task's row sum": (LAST, 0),
    }
    if found.sizes is None or not found.cells:
        yield from map(_untested, (smaller, slope, sizes, *better))
        return
    count, steps = len(found.uneven), found.steps_by_size()
    d = retention(found.sizes[0], set_weights(count))
    gap = number(d[:, 0] - d[:, -1], count)
    each = ", ".join(f"{value:.2f} after {n:.0f} steps" for value, n in zip(d[0], steps, strict=True))
    yield _claim(smaller, gap, f"{gap.show(sign=True)}; second task: {each}; {count} sets", inside(gap, above=0))
    x = np.log(steps) - np.log(steps).mean()
    own = _log_odds(d) @ x / (x @ x)
    off = number(own - found.fit.coefficients[:, 1], count)
    text = f"{_minus(number(own, count)).show()}; difference {_minus(off).show(sign=True)}"
    yield _claim(slope, off, text, inside(off, above=-LITTLE, below=LITTLE))
    # One retention from all pairs, as a plan measures it, and from it one for each size by its steps.
    one = np.clip(retention(found.sizes[0].sum(axis=1), set_weights(count)), 0.0, 1.0)
    by_steps = np.array([retention_for_steps(steps, value) for value in one])
    misses = [np.sqrt(((d - guess) ** 2).mean(axis=1)) for guess in (by_steps, one[:, None])]
    less = number(misses[0] - misses[1], count)
    text = f"{less.show(3, sign=True)}: root mean square deviation {misses[0][0]:.3f} against {misses[1][0]:.3f}"
    yield _claim(sizes, less, f"{text}; one for all {number(one, count).show()}; {count} sets", inside(less, below=0))
    scores = found.uneven_scores
    for words, (against, measure) in better.items():
        each_task, other = scores[EACH][:, measure], scores[against][:, measure]
        lead = mean_number(each_task - other)
        digits = 2 if MEASURES[measure] == "points" else 3
        text = f"{lead.show(digits, sign=True)}: {each_task.mean():.{digits}f} against {other.mean():.{digits}f}"
        wanted = {"below": 0.0} if MEASURES[measure] == "error" else {"above": 0.0}
        yield _claim(words, lead, f"{text}; {count} sets", inside(lead, **wanted))
