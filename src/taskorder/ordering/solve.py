"""`solve`: from a table to a plan, by a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.arguments import BadArgument, unknown
from taskorder.checks import Bools, Floats, Ints
from taskorder.constraints import TaskName
from taskorder.given_table import TRANSFER, kind_of
from taskorder.machine import one_blas_thread
from taskorder.ordering import rules
from taskorder.ordering.clock import Clock, Watch
from taskorder.ordering.first_order import first_order_rule
from taskorder.ordering.law_notes import law_notes
from taskorder.ordering.law_visits import best_visits
from taskorder.ordering.optimum import MAX_UNCOMPILED
from taskorder.ordering.path import path_rule
from taskorder.ordering.plans import make_plan
from taskorder.ordering.problem import Problem
from taskorder.ordering.sampling import UNEVEN, is_uniform, random_order
from taskorder.ordering.solver_input import SolverInput, solver_input
from taskorder.ordering.visits import minimize_visits
from taskorder.records import Plan


@dataclass(frozen=True)
class RuleResult:
    """The order that a rule chose, as task indices, and what is known about it."""

    order: Ints
    notes: tuple[str, ...] = ()
    bound: float | None = None
    proven: bool = False


Rule = Callable[[SolverInput, Clock], RuleResult]
RULES_WITHOUT_WEIGHTS = ("periphery-to-core", "core-to-periphery", "first-order")
"""Rules that rank by similarity alone: `weights` must be left out with them."""
SORTED_GROUPS = "each group stands where the mean of its tasks ranks, and is sorted inside"
CUT_SHORT = "before the search was finished"
"""In the note of a plan whose search the time limit or a person has ended."""
RULES_WITH_REPEATS = ("optimal", "random", "worst")
"""Rules that can visit a task more than once."""


def solve(
    table: ArrayLike,
    rule: str = "optimal",
    *,
    retention: ArrayLike | Mapping[str, float] | None = None,
    objective: str | None = None,
    kind: str | None = None,
    start: ArrayLike | None = None,
    output: ArrayLike | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
    before: Iterable[tuple[TaskName, TaskName]] = (),
    first: TaskName | None = None,
    last: TaskName | None = None,
    learned: Iterable[TaskName] = (),
    visits: int | None = None,
    groups: Iterable[Iterable[TaskName]] = (),
    time_limit: float | None = 10.0,
    seed: int = 0,
    repair: bool = True,
    watch: Watch | None = None,
) -> Plan:
    """The order in which to learn the tasks, by `rule`, with what to expect of it.

    Parameters
    ----------
    table
        P x P transfer table: what a learner that has learned the task of the row alone knows of the task of the column
        (1 is perfect, 0 is chance). Or a similarity: symmetric, with ones on the diagonal; below retention 1 it stands
        for the knowledge 1 - (1 - rho)^2.
    rule
        One of optimal, row-sums, periphery-to-core, core-to-periphery, max-path, min-path, first-order, greedy, random
        and worst. `optimal` is best by the objective after the last task, `worst` is worst.
    retention
        Share of its knowledge, in [0, 1], that the learner keeps when it learns the next task: one number, one for each
        task, or a mapping by name. None is that of plain networks, 0.13; 1 is the theory of the paper.
    objective
        score, the mean knowledge after the last task, or error, the sum of (1 - knowledge)^2. None is the score, and at
        retention 1 the error.
    kind
        similarity or transfer: what the table holds. None tells by its symmetry and diagonal.
    start
        Knowledge of each task before the first step; 0 by default.
    output
        P x P output similarity; None for one shared readout (all ones). At retention 1 only.
    weights
        Importance of each task: one number for each task, or some by name, the others 1.
    names
        Names of the tasks; A, B, C, ... by default. In the options below, tasks are given by name or by index.
    before
        Pairs (a, b): a is learned before b.
    first, last
        The tasks at the two ends of the order.
    learned
        Tasks already learned, in that order; the plan orders the others.
    visits
        Visits in all, at least one for each open task; the plan says which tasks to visit again.
    groups
        Lists of tasks that stay together: those of one list follow each other, in any order.
    time_limit
        Seconds for the search, without the time to compile kernels. None searches until the order is proven to be the
        best, or until the search ends by itself where no proof is tried.
    seed
        Seed of the search. The same seed gives the same plan unless the time limit cut the search short, which a note
        in the plan then says.
    repair
        False refuses a similarity that is no correlation matrix.
    watch
        Called about ten times a second with (value, bound, seconds); the bound is infinite as long as none is known. A
        true answer stops the search.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If an argument is not valid, or no order keeps all constraints.

    Examples
    --------
    >>> from taskorder import chain
    >>> plan = solve(chain(5, 0.7))
    >>> " ".join(plan.named_order), round(plan.score, 4), plan.proven
    ('B D E A C', 0.8727, True)
    >>> paper = solve(chain(5, 0.7), retention=1)
    >>> " ".join(paper.named_order), round(paper.error, 4), paper.proven
    ('A E C D B', 0.0502, True)
    >>> solve(chain(5, 0.7), "periphery-to-core", first="C").order
    (2, 0, 4, 1, 3)
    >>> " ".join(solve(chain(5, 0.7), groups=[["B", "C"]]).named_order)
    'D A E B C'
    """
    if rule not in RULES:
        raise unknown("rule", rule, RULES)
    inputs = solver_input(
        table, retention=retention, objective=objective, kind=kind, start=start, output=output, weights=weights,
        names=names, before=before, first=first, last=last, learned=learned, visits=visits, groups=groups,
        seed=seed, repair=repair,
    )  # fmt: skip
    return solve_input(inputs, rule, time_limit=time_limit, watch=watch, options={"repair": bool(repair)})


@one_blas_thread()
def solve_input(
    inputs: SolverInput,
    rule: str,
    *,
    time_limit: float | None = 10.0,
    watch: Watch | None = None,
    options: Mapping[str, object] | None = None,
) -> Plan:
    """`solve` for checked input; `options` are further ones of the plan."""
    _check_rule(rule, inputs)
    limit = checks.seconds_limit(time_limit)
    clock = Clock(limit, watch, unit=inputs.unit * _cost_sign(rule, inputs))
    with clock.without_compilation() if _needs_kernels(rule, inputs) else nullcontext():
        result = RULES[rule](inputs, clock)
    notes = [*result.notes]
    if (clock.cut or clock.left <= 0) and not result.proven:
        reason = "by request" if clock.stopped else "at the time limit"
        notes.append(f"stopped {reason} {CUT_SHORT}; a longer run may find a better order")
    notes += law_notes(inputs, rule, result.order)
    output = inputs.table.output
    return make_plan(
        inputs,
        result.order.tolist(),
        rule,
        bound=result.bound,
        proven=result.proven,
        seconds=clock.seconds,
        options={
            "output": None if output is None else output.tolist(),
            "time_limit": limit if np.isfinite(limit) else None,
            "seed": inputs.seed,
            "repair": True,
            **(options or {}),
        },
        notes=notes,
    )


def _cost_sign(rule: str, inputs: SolverInput) -> float:
    """What turns the costs that a search minimizes into values."""
    return (-1.0 if rule == "worst" else 1.0) * (-1.0 if inputs.objective == "score" else 1.0)


def _check_rule(rule: str, inputs: SolverInput) -> None:
    """Refuse, with the reason, an option that a rule cannot obey."""
    output = inputs.table.output
    if inputs.constraints.weights is not None and rule in RULES_WITHOUT_WEIGHTS:
        raise BadArgument(
            f"`weights` must be left out with rule '{rule}', which ranks by similarity alone. "
            "Use rule 'optimal', or `compare()` for this rule's weighted error."
        )
    if output is not None and rule in ("periphery-to-core", "core-to-periphery"):
        raise BadArgument(
            f"`output` must be left out with rule '{rule}', which ranks by input similarity alone. "
            "Use rule 'optimal', or `compare()` for this rule's error under an output similarity."
        )
    if output is not None and rule == "first-order" and _uniform_entry(output) is None:
        raise BadArgument(
            "`output` must be the same for all pairs with rule 'first-order', whose theory knows only one rho_out. "
            "Use rule 'optimal'."
        )
    if inputs.constraints.num_repeats and rule not in RULES_WITH_REPEATS:
        raise BadArgument(
            f"`visits` must be left out with rule '{rule}', which visits each task once. Use rule 'optimal'."
        )


def _needs_kernels(rule: str, inputs: SolverInput) -> bool:
    """Whether the rule will need compiled kernels; numba is not even imported where it will not."""
    if rule in ("optimal", "worst"):
        return inputs.law is None and inputs.constraints.num_open + inputs.constraints.num_repeats > MAX_UNCOMPILED
    return rule in ("max-path", "min-path", "first-order")


def _uniform_entry(output: Floats) -> float | None:
    """The one off-diagonal value of Co, if there is one."""
    off = output[~np.eye(len(output), dtype=bool)]
    if off.size == 0:
        return 1.0
    return float(off[0]) if float(np.ptp(off)) <= checks.SYMMETRY_TOLERANCE else None


def _extreme(sign: int) -> Rule:
    """The best (1) or worst (-1) order by the objective."""

    def rule(inputs: SolverInput, clock: Clock) -> RuleResult:
        if inputs.law is not None:
            proof, order, notes = best_visits(inputs, sign, clock)
            value = sign * (-1 if inputs.objective == "score" else 1)
            return RuleResult(order, notes, value * proof.bound, proof.complete)
        proof, order, notes = minimize_visits(inputs, sign, clock)
        return RuleResult(order, notes, sign * proof.bound, proof.complete)

    return rule


def _periphery_to_core(inputs: SolverInput, clock: Clock) -> RuleResult:
    return _sorted(inputs, rules.periphery_to_core(inputs.table.given, *_open(inputs)))


def _core_to_periphery(inputs: SolverInput, clock: Clock) -> RuleResult:
    return _sorted(inputs, rules.core_to_periphery(inputs.table.given, *_open(inputs)))


def _row_sums(inputs: SolverInput, clock: Clock) -> RuleResult:
    table = inputs.table.given if inputs.law is None else inputs.law.knowledge
    return _sorted(inputs, rules.row_sums(table, inputs.constraints.importance, *_open(inputs)))


def _open(inputs: SolverInput) -> tuple[Ints, Bools, Ints | None]:
    """What a rule that sorts has to know: the open tasks, which come before which, and which stay together."""
    constraints = inputs.constraints
    return constraints.open_tasks, constraints.precedence(), constraints.together


def _sorted(inputs: SolverInput, positions: Ints) -> RuleResult:
    grouped = inputs.constraints.together is not None
    return RuleResult(inputs.constraints.open_tasks[positions], (SORTED_GROUPS,) if grouped else ())


def _path(longest: bool) -> Rule:
    def rule(inputs: SolverInput, clock: Clock) -> RuleResult:
        problem = inputs.any_problem()
        given = inputs.table.given
        symmetric = given if kind_of(given) != TRANSFER else (given + given.T) / 2
        cost = problem.error if isinstance(problem, Problem) else lambda order: problem.sign * problem.value(order)
        order, note = path_rule(
            symmetric, problem.tasks, problem.precedes, cost, together=problem.together,
            after=next(reversed(inputs.constraints.learned), None), longest=longest, seed=inputs.seed, clock=clock,
        )  # fmt: skip
        if inputs.constraints.weights is not None or inputs.table.output is not None:
            note += "; weights and output similarity only choose between the two directions of a path"
        return RuleResult(problem.tasks[order], (note,))

    return rule


def _first_order(inputs: SolverInput, clock: Clock) -> RuleResult:
    if (inputs.options or {}).get("kind") == TRANSFER:
        raise BadArgument(
            "`rule` must not be 'first-order' with a transfer table: its theory needs a symmetric similarity. "
            "Use rule 'optimal'."
        )
    problem = inputs.any_problem()
    rho_out = 1.0 if inputs.table.output is None else _uniform_entry(inputs.table.output)
    order, _, exact = first_order_rule(
        inputs.table.given, problem.tasks, problem.precedes, together=problem.together,
        rho_out=1.0 if rho_out is None else rho_out,
        learned=np.array(inputs.constraints.learned, dtype=np.int64), seed=inputs.seed, clock=clock,
    )  # fmt: skip
    notes = () if exact else ("the first-order objective was minimized by local search",)
    return RuleResult(problem.tasks[order], notes)


def _greedy(inputs: SolverInput, clock: Clock) -> RuleResult:
    problem = inputs.any_problem()
    order = rules.greedy(problem, clock) if isinstance(problem, Problem) else rules.greedy_by_law(problem, clock)
    return RuleResult(problem.tasks[order])


def _random(inputs: SolverInput, clock: Clock) -> RuleResult:
    rng = np.random.default_rng(inputs.seed)
    constraints = inputs.constraints
    required = constraints.required_repeats
    drawn = rng.integers(len(constraints.names), size=constraints.num_repeats - len(required)).tolist()
    problem = inputs.any_problem([*required, *drawn])
    notes = () if is_uniform(problem.precedes, problem.together) else (UNEVEN,)
    return RuleResult(problem.tasks[random_order(problem.precedes, rng, problem.together)], notes)


RULES: dict[str, Rule] = {
    "optimal": _extreme(1),
    "row-sums": _row_sums,
    "periphery-to-core": _periphery_to_core,
    "core-to-periphery": _core_to_periphery,
    "max-path": _path(True),
    "min-path": _path(False),
    "first-order": _first_order,
    "greedy": _greedy,
    "random": _random,
    "worst": _extreme(-1),
}
"""Every rule by name."""
