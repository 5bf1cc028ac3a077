"""Which runs to do next for a fair comparison: orders and seeds that a budget pays for, so that both can be told apart.

Every order gets every seed, and every method all of them; runs that are there already count. How many seeds an order
gets is chosen for power: with O orders, S seeds and a ratio t of the variance of orders to that of the rest, the F-test
that all orders are alike sees the difference with the chance P(F > c / (1 + S t)), where F has O - 1 and (O - 1)(S - 1)
degrees of freedom and c is its quantile at 95 %.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.audit.components import crossed_split, design_of, nested_split
from taskorder.audit.power import power_of_orders
from taskorder.audit.results import Results
from taskorder.audit.results_file import read_methods
from taskorder.checks import positive_count, seed_number, task_names
from taskorder.given_table import agreed_names, given_table
from taskorder.portable import PortableOrder
from taskorder.visible import visible

MOST_BUDGET = 10_000
POSSIBLE_SEEDS = range(2, 9)
USUAL_RATIO = 1.0
"""Of the variance of orders to that of the rest, where no results tell it."""
BEST, WORST, RANDOM, REPEATED = "best by the law", "worst by the law", "random", "run before"
MOST_SHUFFLED = 7
"""Tasks of which all orders are listed to draw from."""


@dataclass(frozen=True)
class NextOrder:
    """An order to run."""

    order: tuple[str, ...]
    why: str
    """best by the law, worst by the law, random, or run before: with other seeds or methods."""


@dataclass(frozen=True)
class NextRun:
    """One run to do."""

    order: str
    seed: str
    method: str
    """Empty where there is one method."""


@dataclass(frozen=True)
class NextRuns:
    """Runs to do next, by `next_runs`.

    Examples
    --------
    >>> from taskorder import next_runs
    >>> runs = next_runs(8, names=["cats", "dogs", "cars"])
    >>> runs.num_orders, runs.num_seeds, runs.orders[0].order
    (4, 2, ('dogs', 'cars', 'cats'))
    """

    names: tuple[str, ...]
    orders: tuple[NextOrder, ...]
    """In which something is to run; extremes first."""
    runs: tuple[NextRun, ...]
    num_orders: int
    """Orders that will have every seed when all is done."""
    num_seeds: int
    ratio: float
    """Variance of orders over that of the rest."""
    measured: bool
    """Whether the ratio is from the results, or assumed."""
    power: float
    """The chance that the test of all orders then sees a difference of this size at 5 %."""
    notes: tuple[str, ...] = ()

    @property
    def named_orders(self) -> tuple[tuple[str, ...], ...]:
        """The orders as task names."""
        return tuple(planned.order for planned in self.orders)

    def portable(self) -> tuple[PortableOrder, ...]:
        """Each order for its order.json."""
        return tuple(
            PortableOrder(self.names, tuple(self.names.index(task) for task in planned.order), rule=planned.why)
            for planned in self.orders
        )

    def summary(self) -> str:
        """The orders, why each, and what the runs will be good for."""
        return "\n".join(map(visible, self.lines()))

    def lines(self) -> list[str]:
        """The summary line by line."""
        shown = [f"{planned.why}: {' > '.join(planned.order)}" for planned in self.orders]
        seeds = ", ".join(dict.fromkeys(run.seed for run in self.runs))
        methods = [method for method in dict.fromkeys(run.method for run in self.runs) if method]
        with_methods = f", methods {', '.join(methods)}" if methods else ""
        where = "as in the results" if self.measured else "assumed"
        end = (
            f"then {self.num_orders} orders have the same {self.num_seeds} seeds: a test that all orders are alike "
            f"sees a variance of orders {self.ratio:.2g} times the rest ({where}) in {100 * self.power:.0f} % of cases"
        )
        notes = [f"note: {note}" for note in self.notes]
        return [f"{len(self.runs)} runs to do next (seeds {seeds}{with_methods}):", *shown, end, *notes]

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text of all fields."""
        return json.dumps(asdict(self), indent=indent, allow_nan=False)


def next_runs(
    budget: int,
    results: Results | Mapping[str, Results] | Any = None,
    *,
    table: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    retention: Any = None,
    seed: int = 0,
) -> NextRuns:
    """The runs to do next so that order and seed can be told apart, for every method alike.

    Parameters
    ----------
    budget : int
        How many runs to do, of all methods together; at least two orders with two seeds.
    results : Results, mapping from method to Results, or what `read_methods` reads, optional
        What was run before. Its runs count; its variances say how many seeds an order needs.
    table : (P, P) array or DataFrame, optional
        A transfer table or a similarity: the orders that the law of retention predicts to be best and worst come first.
    names : list of str, optional
        The tasks of the table, or the tasks where there is neither a table nor results.
    retention : float, optional
        Share of its knowledge that the learner keeps, as in `solve`.
    seed : int
        Of the random orders.

    Returns
    -------
    NextRuns

    Raises
    ------
    ValueError
        Where the budget is too small, or table and results do not have the same tasks.

    Notes
    -----
    Random orders say how much the order matters in general; the extremes, how far it may go. Leave the extremes out
    when you estimate the variance of orders. Four orders or more come before more seeds.

    Examples
    --------
    >>> from taskorder import next_runs
    >>> runs = next_runs(12, table=[[1, 0.2, 0.6], [0.2, 1, 0.1], [0.6, 0.1, 1]], names=["cats", "cars", "dogs"])
    >>> print(runs.orders[0].why, runs.orders[0].order)
    best by the law ('dogs', 'cars', 'cats')
    """
    budget = positive_count(budget, "budget")
    if budget > MOST_BUDGET:
        raise BadArgument(f"`budget` must be at most {MOST_BUDGET} runs, got {budget}.")
    methods = _methods(results)
    if table is not None:
        opened = given_table(table)
        table, names = opened.values, agreed_names(names, opened)
    tasks = _tasks(methods, table, names)
    if len(tasks) < 2:
        raise BadArgument(f"`{'names' if table is None else 'table'}` must have two tasks or more, got {len(tasks)}.")
    notes: list[str] = []
    usable = {name: done if done.common_seeds else _without_runs(done) for name, done in methods.items()}
    if any(not done.common_seeds for done in methods.values()):
        notes.append("runs without a seed cannot be completed by others, so all runs are new")
    ran = {
        (method, done.orders[row], done.seeds[column])
        for method, done in usable.items()
        for row, column in np.argwhere(np.isfinite(done.whole))
    }
    ratio = _ratio(methods)
    assumed = USUAL_RATIO if ratio is None else ratio
    extremes = _extremes(tasks, table, retention)
    options = [
        _block(num_seeds, _candidates(extremes, usable, tasks, ran, seed), list(usable), ran, budget)
        for num_seeds in POSSIBLE_SEEDS
    ]
    # two or three orders say little of orders in general, however many seeds they have
    fewest = min(4, max(len(orders) for orders, _ in options))
    powers = [
        power_of_orders(len(orders), num, assumed) if len(orders) >= fewest else 0.0
        for num, (orders, _) in zip(POSSIBLE_SEEDS, options, strict=True)
    ]
    choice = int(np.argmax(np.round(powers, 3)))
    num_seeds = POSSIBLE_SEEDS[choice]
    orders, runs = options[choice]
    if len(orders) > 1 and not runs:
        raise BadArgument(
            f"`budget` must pay for a further order or seed, got {budget}, and {len(orders)} orders have {num_seeds} "
            "seeds already. Take a larger one, unless these are all orders."
        )
    if len(orders) < 2:
        least = 4 * max(1, len(usable))
        raise BadArgument(f"`budget` must pay for two orders with two seeds, {least} runs, got {budget}.")
    needed = {run.order for run in runs}
    return NextRuns(
        names=tasks,
        orders=tuple(planned for planned in orders if ">".join(planned.order) in needed),
        runs=tuple(runs),
        num_orders=len(orders),
        num_seeds=num_seeds,
        ratio=assumed,
        measured=ratio is not None,
        power=float(powers[choice]),
        notes=tuple(notes),
    )


def _methods(results: Any) -> Mapping[str, Results]:
    if results is None:
        return {}
    if isinstance(results, Results):
        return {"": results}
    return results if isinstance(results, Mapping) else read_methods(results)


def _without_runs(results: Results) -> Results:
    return Results((), (), results.tasks, results.task_names, results.accuracy[:0, :0])


def _tasks(methods: Mapping[str, Results], table: ArrayLike | None, names: Sequence[str] | None) -> tuple[str, ...]:
    """What orders call the tasks, in the order of the table."""
    known = {order for done in methods.values() for order in done.orders}
    steps = sorted(next(iter(known)).split(">")) if known else []
    if known and len(steps) < 2:
        raise BadArgument("`results` must have orders that list their tasks like 2>0>1, got names of orders.")
    if table is None and not known and names is None:
        raise BadArgument("`names` must list the tasks where there are no results and no table, got none.")
    if table is None:
        return tuple(sorted(steps, key=_by_number)) if known else task_names(names, len(names or ()))
    num_tasks = len(np.asarray(table))
    given = task_names(names, num_tasks)
    if not known:
        return given
    if len(steps) != num_tasks:
        raise BadArgument(f"`table` must have the {len(steps)} tasks of the results, got {num_tasks}.")
    done = next(iter(methods.values()))
    called = dict(zip(done.task_names, done.tasks, strict=True))
    by_name = [called.get(name, name) for name in given]
    if sorted(by_name) == steps:
        return tuple(by_name)
    if names is None or sorted(steps, key=_by_number) == [str(k) for k in range(num_tasks)]:
        return tuple(sorted(steps, key=_by_number))
    odd = next(name for name in by_name if name not in steps)
    raise BadArgument(f"`names` must be the tasks of the results, got {odd!r}. Tasks: {', '.join(steps)}.")


def _by_number(name: str) -> tuple[bool, int, str]:
    return not name.isdecimal(), int(name) if name.isdecimal() else 0, name


def _ratio(methods: Mapping[str, Results]) -> float | None:
    """Variance of orders over that of the rest, the middle one of all methods that tell it."""
    ratios = []
    for done in methods.values():
        design, rows, columns = design_of(done.whole, common_seeds=done.common_seeds)
        table = done.whole[np.ix_(rows, columns)]
        if design in ("crossed", "nested"):
            split = (crossed_split if design == "crossed" else nested_split)(table)
            if split.error_variance > 0:
                ratios.append(split.variance("order") / split.error_variance)
    return float(np.clip(np.median(ratios), 0.1, 10.0)) if ratios else None


def _extremes(tasks: tuple[str, ...], table: ArrayLike | None, retention: Any) -> list[NextOrder]:
    """The best and the worst order by the law; where there is a table, each takes a search."""
    if table is None:
        return []
    from taskorder.ordering.solve import solve

    best, worst = (solve(table, rule, names=tasks, retention=retention).named_order for rule in ("optimal", "worst"))
    return [NextOrder(best, BEST), *([NextOrder(worst, WORST)] if worst != best else [])]


def _candidates(
    extremes: Sequence[NextOrder],
    methods: Mapping[str, Results],
    tasks: tuple[str, ...],
    ran: set[tuple[str, str, str]],
    seed: int,
) -> Iterator[NextOrder]:
    """Orders to run: the extremes, those run before from the most runs to the fewest, then random ones."""
    rng = np.random.default_rng(seed_number(seed))
    yield from extremes
    seen = {extreme.order for extreme in extremes}
    before = [*dict.fromkeys(order for done in methods.values() for order in done.orders)]
    counts = {order: sum(run[1] == order for run in ran) for order in before}
    mixed = [before[k] for k in rng.permutation(len(before))]
    for order in sorted(mixed, key=lambda order: -counts[order]):
        steps = tuple(order.split(">"))
        if steps not in seen:
            seen.add(steps)
            yield NextOrder(steps, REPEATED)
    for drawn in _shuffles(tasks, rng):
        if drawn not in seen:
            seen.add(drawn)
            yield NextOrder(drawn, RANDOM)


def _shuffles(tasks: tuple[str, ...], rng: np.random.Generator) -> Iterator[tuple[str, ...]]:
    """Random orders; each once where they are few."""
    if len(tasks) <= MOST_SHUFFLED:
        ways = [*permutations(tasks)]
        yield from (ways[k] for k in rng.permutation(factorial(len(tasks))))
        return
    while True:
        yield tuple(tasks[k] for k in rng.permutation(len(tasks)))


def _block(
    num_seeds: int, candidates: Iterator[NextOrder], methods: list[str], ran: set[tuple[str, str, str]], budget: int
) -> tuple[list[NextOrder], list[NextRun]]:
    """The orders, and what is left to run, of the largest block that the budget pays for."""
    known = sorted({run[2] for run in ran}, key=lambda name: (-sum(run[2] == name for run in ran), _by_number(name)))
    fresh = (str(k) for k in range(len(known) + num_seeds) if str(k) not in known)
    seeds = [*known[:num_seeds], *(next(fresh) for _ in range(num_seeds - len(known[:num_seeds])))]
    orders: list[NextOrder] = []
    runs: list[NextRun] = []
    for planned in candidates:
        order = ">".join(planned.order)
        lacking = [
            NextRun(order, seed, method)
            for seed in seeds
            for method in (methods or [""])
            if (method, order, seed) not in ran
        ]
        if len(runs) + len(lacking) > budget:
            break
        orders.append(planned)
        runs += lacking
    return orders, runs
