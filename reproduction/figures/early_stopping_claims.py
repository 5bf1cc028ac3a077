"""What the early-stopping experiment decides. `random` holds (matrices, progresses) errors by name of the order.

Thresholds were fixed before the first run, and so was the prediction for short training. After looking at it we added
the check of the ranking, asked whether stopping pays for a random order as well as for the best, and averaged the
simulation over readouts at two sizes. Named matrices stand beside two claims since it turned out that they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from reproduction.claims import Claim, inside, verdict
from reproduction.fitting import captured, last_above
from taskorder.checks import Floats
from taskorder.stats import bootstrap_interval, share_interval

Statistic = Callable[[Floats], Floats]
Named = Mapping[str, Mapping[str, Sequence[float]]]
"""The same numbers of single matrices by their names; they are told beside the claims, and decide none."""
RANDOM = "random matrices, entries in [0, 1]"


def stays_best(progress: Floats, random: Mapping[str, Floats]) -> Claim:
    """Holds when the mean loss, interval included, is below 5 % at every progress."""
    log = np.log(random["converged"] / random["best"])
    worst_at = int(log.mean(axis=0).argmax())
    loss = np.exp([log[:, worst_at].mean(), *bootstrap_interval(log[:, worst_at], _mean)]) - 1
    five, ten = (_threshold(partial(_last_above, progress, np.log(level)), log) for level in (1.05, 1.1))
    return Claim(
        claim="The order that is best at convergence stays within 5 % of the best order when training stops early",
        source="ours",
        found=f"it loses more than 5 % below progress {five} and more than 10 % below {ten}; at most "
        f"{loss[0]:.0%} [{loss[1]:.0%}, {loss[2]:.0%}], at progress {progress[worst_at]:.2f}",
        value=float(loss[0]),
        low=float(loss[1]),
        high=float(loss[2]),
        verdict=inside(loss, below=0.05),
    )


def _threshold(statistic: Statistic, table: Floats) -> str:
    """A progress with its interval, as text."""
    low, high = bootstrap_interval(table, statistic)
    return f"{statistic(table[None])[0]:.2f} [{low:.2f}, {high:.2f}]"


def _last_above(progress: Floats, level: float, tables: Floats) -> Floats:
    """(resamples,) largest progress at which the mean over matrices is at `level` or above."""
    return last_above(progress, tables.mean(axis=1), level)


def keeps_ranking(progress: Floats, random: Mapping[str, Floats]) -> Claim:
    """Holds when the mean rank correlation, interval included, is positive at every progress."""
    least = int(random["rank"].mean(axis=0).argmin())
    value, (low, high) = float(random["rank"][:, least].mean()), bootstrap_interval(random["rank"][:, least], _mean)
    turn = _threshold(partial(_last_above, progress, 0.0), -random["rank"])
    return Claim(
        claim="Orders that are good at convergence are good when training stops early",
        source="ours",
        found="the rank correlation between the errors of all orders then and at convergence is negative up to "
        f"progress {turn} and least, {value:.2f} [{low:.2f}, {high:.2f}], at progress {progress[least]:.2f}",
        value=value,
        low=low,
        high=high,
        verdict=inside((low, high), above=0),
    )


def core_first(progress: Floats, random: Mapping[str, Floats]) -> Claim:
    """Holds when core-to-periphery wins in more than half of the matrices after the fewest steps, interval included."""
    log = np.log(random["periphery-to-core"] / random["core-to-periphery"])
    wins = int((log[:, 0] > 0).sum())
    best = int((random["core-to-periphery"][:, 0] <= random["best"][:, 0] * (1 + 1e-9)).sum())
    low, high = share_interval(wins, len(log))
    turn = _threshold(partial(_last_above, progress, 0.0), log)
    return Claim(
        claim="For positive similarities and short training the paper's rule is reversed: core-to-periphery wins",
        source="ours",
        found=f"at progress {progress[0]:.2f} core-to-periphery beats periphery-to-core in {wins} of {len(log)} "
        f"matrices and is the best of all orders in {best}; periphery-to-core leads from progress {turn}",
        value=wins / len(log),
        low=low,
        high=high,
        verdict=inside((low, high), above=0.5),
    )


def matters_most(progress: Floats, random: Mapping[str, Floats], named: Named) -> Claim:
    """Holds when the progress at which best / mean is least is the last one, interval included."""
    log = np.log(random["best"] / random["mean"])

    def peak(x: Floats) -> Floats:
        return np.asarray(progress[x.mean(axis=1).argmin(axis=1)])

    value, (low, high) = float(peak(log[None])[0]), bootstrap_interval(log, peak)
    ratio = np.exp(log.mean(axis=0))
    others = {name: np.divide(errors["best"], errors["mean"]) for name, errors in named.items()}
    return Claim(
        claim=f"The order matters most when every task is trained to convergence; {RANDOM}",
        source="ours",
        found=f"best / mean order is least, {ratio.min():.2f}, at progress {value:.2f} [{low:.2f}, {high:.2f}]; "
        f"it is {ratio[0]:.3f} at progress {progress[0]:.2f} and {ratio[-1]:.2f} at convergence"
        + "".join(
            f"; {name}: least, {ratios.min():.3f}, at {progress[ratios.argmin()]:.2f}, {ratios[-1]:.3f} at convergence"
            for name, ratios in others.items()
        ),
        value=value,
        low=low,
        high=high,
        verdict=verdict(low >= progress[-1], high < progress[-1]),
    )


def stopping_pays(progress: Floats, random: Mapping[str, Floats], named: Named) -> Claim:
    """Holds when the mean order gains at least 1 % in more than half of the matrices, interval included."""
    tables = [random["mean"], random["best"]]
    pays, best_pays = (int((table.min(axis=1) < 0.99 * table[:, -1]).sum()) for table in tables)
    count = len(random["mean"])
    low, high = share_interval(pays, count)
    gains = [_gain(progress, table.mean(axis=0)) for table in tables]
    others = {name: _gain(progress, np.array(errors["mean"])) for name, errors in named.items()}
    return Claim(
        claim=f"Stopping before convergence lowers the final error of a random order; {RANDOM}",
        source="ours",
        found=f"it does in {pays} of {count} matrices (the best order's in {best_pays}); on average a random order's "
        f"error is least at {gains[0]}, and the best order's at {gains[1]}"
        + "".join(f"; {name}: a random order's at {words}" for name, words in others.items()),
        value=pays / count,
        low=low,
        high=high,
        verdict=inside((low, high), above=0.5),
    )


def _gain(progress: Floats, errors: Floats) -> str:
    """Where the error is least, and how little that is."""
    return f"progress {progress[errors.argmin()]:.2f}, {errors.min() / errors[-1]:.2f} of that at convergence"


def agrees(t: int, N_x: int, pairs: Floats) -> Claim:
    """The rule of figure 2b; intervals are over matrices, the first axis."""
    claim = f"The closed form with progress captures gradient descent stopped after {t} steps; {N_x} inputs"
    return captured(claim, "ours", pairs, f"{len(pairs)} matrices of {pairs.shape[1]} orders")


def _mean(values: Floats) -> Floats:
    return np.asarray(values.mean(axis=1))
