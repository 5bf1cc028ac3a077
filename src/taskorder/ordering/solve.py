"""One door: `solve(similarity, rule) -> Plan`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder._version import __version__
from taskorder.checks import Ints
from taskorder.ordering import rules
from taskorder.ordering.clock import Clock, Watch
from taskorder.ordering.first_order import first_order
from taskorder.ordering.optimum import LISTED
from taskorder.ordering.path import path_rule
from taskorder.ordering.question import Question, TaskName, pose
from taskorder.ordering.sampling import UNEVEN, is_uniform, random_order
from taskorder.ordering.visits import extra_visits, minimize_visits, needed_visits
from taskorder.records import Plan
from taskorder.theory.closed_form import error_path


@dataclass(frozen=True)
class Answer:
    """What a rule found: task indices in visiting order, and what is known about them."""

    order: Ints
    notes: tuple[str, ...] = ()
    bound: float | None = None
    proven: bool = False


Rule = Callable[[Question, int | None, Clock], Answer]
WITHOUT_WEIGHTS = ("periphery-to-core", "core-to-periphery", "first-order")
"""Rules that rank by similarity alone: `weights` must be left out with them."""


def solve(
    similarity: ArrayLike,
    rule: str = "optimal",
    *,
    output: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    before: Iterable[tuple[TaskName, TaskName]] = (),
    first: TaskName | None = None,
    last: TaskName | None = None,
    learned: Iterable[TaskName] = (),
    visits: int | None = None,
    time_limit: float | None = 10.0,
    seed: int = 0,
    repair: bool = True,
    watch: Watch | None = None,
) -> Plan:
    """The order in which to learn the tasks, by `rule`, with the error to expect.

    similarity: P x P correlation matrix between tasks (repaired and reported if it is none; `repair=False` refuses).
    rule: one of `RULES`. `optimal` minimizes the closed-form final error, `worst` maximizes it.
    output: P x P output similarity Co; None for one shared readout (all ones).
    weights: importance of each task's error.
    before: pairs (a, b), a learned before b. first, last: fixed ends. Tasks are given by name or index.
    learned: tasks already learned, in that order; the plan orders the rest.
    visits: a budget of visits, at least one for each open task; the plan says where repeats pay.
    time_limit: seconds (compiling kernels is not counted); None for as long as a proof takes, or past 62 open visits,
    where no proof is tried, for as long as the search has plans. The same seed gives the same plan unless the time
    limit cut the search short, which a note then says.
    watch: called about ten times a second with (error, bound, seconds); a true answer stops the search.

    >>> from taskorder import chain
    >>> plan = solve(chain(5, 0.7))
    >>> " ".join(plan.named_order), round(plan.error, 4), plan.proven
    ('A E C D B', 0.0502, True)
    """
    if rule not in RULES:
        raise ValueError(f"`rule` must be one of {', '.join(RULES)}, got {rule!r}.")
    question = pose(
        similarity, output=output, weights=weights, names=names, before=before, first=first, last=last,
        learned=learned, seed=seed, repair=repair,
    )  # fmt: skip
    _refuse(rule, question, visits)
    limit = checks.seconds_limit(time_limit)
    clock = Clock(limit, watch, unit=-question.unit if rule == "worst" else question.unit)
    with clock.without_compilation() if _compiled(rule, question, visits) else nullcontext():
        answer = RULES[rule](question, visits, clock)
    notes = [*question.notes, *answer.notes]
    if (clock.cut or clock.left <= 0) and not answer.proven:
        reason = "by request" if clock.stopped else "at the time limit"
        notes.append(f"stopped {reason} before the search was finished; a longer run may find a better order")
    options = {
        "rule": rule, "output": None if question.output is None else question.output.tolist(), **question.options,
        "visits": None if visits is None else int(visits), "time_limit": limit if np.isfinite(limit) else None,
        "seed": question.seed, "repair": bool(repair),
    }  # fmt: skip
    return plan_for(question, rule, answer, clock.seconds, options, tuple(notes))


def plan_for(
    question: Question, rule: str, answer: Answer, seconds: float, options: dict[str, Any], notes: tuple[str, ...]
) -> Plan:
    """The plan that an answer stands for, whoever gave it."""
    whole = error_path(question.similarity, [*question.learned, *answer.order], question.output)
    path = whole[len(question.learned) :]
    error = question.unit * float(path[-1] @ question.weights)
    bound = None if answer.bound is None or not np.isfinite(answer.bound) else question.unit * answer.bound
    if answer.proven:
        bound = error  # the same sum in another order of additions; a proof leaves no gap
    elif bound is not None:
        bound = max(bound, error) if rule == "worst" else max(0.0, min(bound, error))
    return Plan(
        order=tuple(int(task) for task in answer.order),
        names=question.names,
        error=error,
        task_errors=tuple(path[-1].tolist()),
        error_path=tuple(tuple(row.tolist()) for row in path),
        rule=rule,
        lower_bound=bound,
        proven=answer.proven,
        seconds=seconds,
        options=options,
        notes=notes,
        repair=question.repair,
        similarity_digest=checks.digest(question.given),
        version=__version__,
    )


def _refuse(rule: str, question: Question, visits: int | None) -> None:
    """Say no, with the reason, to an option that a rule cannot obey."""
    only_similarity = rule in ("periphery-to-core", "core-to-periphery")
    if question.weighted and rule in WITHOUT_WEIGHTS:
        raise ValueError(
            f"`weights` must be left out with rule '{rule}', which ranks by similarity alone. "
            "Use rule 'optimal', or `compare` for this rule's weighted error."
        )
    if question.output is not None and only_similarity:
        raise ValueError(
            f"`output` must be left out with rule '{rule}', which ranks by input similarity alone. "
            "Use rule 'optimal', or `compare` for this rule's error under an output similarity."
        )
    if question.output is not None and rule == "first-order" and _uniform(question.output) is None:
        raise ValueError(
            "`output` must be the same for all pairs with rule 'first-order', whose theory knows only one rho_out. "
            "Use rule 'optimal'."
        )
    if visits is not None:
        extra = extra_visits(visits, question)
        if extra and rule not in ("optimal", "random", "worst"):
            raise ValueError(
                f"`visits` must be left out with rule '{rule}', which visits each task once. Use rule 'optimal'."
            )


def _compiled(rule: str, question: Question, visits: int | None) -> bool:
    """Whether the rule will need compiled kernels; numba is not even imported where it will not."""
    if rule in ("optimal", "worst"):
        return question.num_open + extra_visits(visits, question) > LISTED
    return rule in ("max-path", "min-path", "first-order")


def _uniform(output: np.ndarray) -> float | None:
    """The one off-diagonal value of Co, if there is one."""
    off = output[~np.eye(len(output), dtype=bool)]
    if off.size == 0:
        return 1.0
    return float(off[0]) if float(np.ptp(off)) <= checks.SYMMETRY_TOLERANCE else None


def _extreme(sign: int) -> Rule:
    """Minimize (1) or maximize (-1) the closed-form error."""

    def rule(question: Question, visits: int | None, clock: Clock) -> Answer:
        proof, tasks, notes = minimize_visits(question, visits, sign, clock)
        return Answer(tasks, notes, sign * proof.bound, proof.complete)

    return rule


def _periphery_to_core(question: Question, visits: int | None, clock: Clock) -> Answer:
    problem = question.problem()
    return Answer(problem.tasks[rules.periphery_to_core(question.given, problem.tasks, problem.precedes)])


def _core_to_periphery(question: Question, visits: int | None, clock: Clock) -> Answer:
    problem = question.problem()
    return Answer(problem.tasks[rules.core_to_periphery(question.given, problem.tasks, problem.precedes)])


def _path(longest: bool) -> Rule:
    def rule(question: Question, visits: int | None, clock: Clock) -> Answer:
        problem = question.problem()
        after = int(question.learned[-1]) if len(question.learned) else None
        order, note = path_rule(
            question.given, problem.tasks, problem.precedes, problem.error,
            after=after, longest=longest, seed=question.seed, clock=clock,
        )  # fmt: skip
        if question.weighted or question.output is not None:
            note += "; weights and output similarity only choose between the two directions of a path"
        return Answer(problem.tasks[order], (note,))

    return rule


def _first_order(question: Question, visits: int | None, clock: Clock) -> Answer:
    problem = question.problem()
    rho_out = 1.0 if question.output is None else _uniform(question.output)
    order, _, exact = first_order(
        question.given, problem.tasks, problem.precedes, rho_out=1.0 if rho_out is None else rho_out,
        learned=question.learned, seed=question.seed, clock=clock,
    )  # fmt: skip
    return Answer(problem.tasks[order], () if exact else ("the first-order objective was minimized by local search",))


def _greedy(question: Question, visits: int | None, clock: Clock) -> Answer:
    problem = question.problem()
    return Answer(problem.tasks[rules.greedy(problem)])


def _random(question: Question, visits: int | None, clock: Clock) -> Answer:
    rng = np.random.default_rng(question.seed)
    extra = extra_visits(visits, question)
    needed = list(needed_visits(question)) if extra else []
    problem = question.problem([*needed, *rng.integers(len(question.names), size=extra - len(needed)).tolist()])
    notes = () if is_uniform(problem.precedes) else (UNEVEN,)
    return Answer(problem.tasks[random_order(problem.precedes, rng)], notes)


RULES: dict[str, Rule] = {
    "optimal": _extreme(1),
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
