"""What a plan says that its own numbers refute: a file may have been edited, by hand or by a program."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from taskorder import checks
from taskorder.checks import Floats
from taskorder.records import Confidence, Plan, Prediction, SequenceOrMix

TOLERANCE, SMALLEST_DIFFERENCE = 1e-6, 1e-9
"""Numbers agree to rounding within this share of them, or this much."""
CLAIMED = re.compile(r"(?<!not )\bprove[ns]\b", re.IGNORECASE)
"""In a note: that something is proven. Our own notes say only what is not."""
PROVING = ("optimal", "worst")
"""Rules that prove something."""


def without_contradictions(plan: Plan) -> tuple[Plan, tuple[str, ...]]:
    """The plan with what its own numbers refute left out, or taken from the numbers of its tasks, and what that was."""
    plan, numbers = _summed(plan)
    plan, proof = _proof(plan) if not numbers else (replace(plan, bound=None, proven=False), [])
    plan, claimed = _claimed(plan)
    plan, pilot = _pilot(plan)
    return plan, (*numbers, *proof, *claimed, *pilot)


def same(said: Any, given: Any) -> bool:
    """Whether numbers, or tables of them, agree to rounding."""
    if said is None or given is None:
        return said is given
    a, b = np.array(said, dtype=np.float64), np.array(given, dtype=np.float64)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=TOLERANCE, atol=SMALLEST_DIFFERENCE))


def _claimed(plan: Plan) -> tuple[Plan, list[str]]:
    """The plan without notes that claim the proof that it does not hold."""
    if plan.proven:
        return plan, []
    false = [note for note in plan.notes if CLAIMED.search(note)]
    kept = tuple(note for note in plan.notes if note not in false)
    return replace(plan, notes=kept), [f"The plan notes that {note}; it holds no proof." for note in false]


def _summed(plan: Plan) -> tuple[Plan, list[str]]:
    """The plan with the sums of its last row, where it says others."""
    weights = checks.task_weights(plan.options.get("weights"), len(plan.names))
    last = plan.knowledge_path[-1] if plan.objective == "score" else plan.error_path[-1]
    final: dict[str, Any] = {}
    if plan.objective == "score":
        errors = (1 - np.array(last)) ** 2
        final = {"knowledge": last, "task_errors": tuple(errors.tolist())}
    else:
        errors = np.array(last)
        final = {"task_errors": last}
    final["error"] = float(errors @ weights)
    known = final.get("knowledge", plan.knowledge)
    if len(known) and not same((1 - np.array(known)) ** 2, errors):
        known, final["knowledge"], final["score"] = (), (), None
    if plan.score is not None and len(known):
        final["score"] = float(np.array(known) @ weights / weights.sum())
    wrong = [key for key, value in final.items() if not same(getattr(plan, key), value)]
    if not wrong:
        return plan, []
    said = f"other {', '.join(wrong).replace('_', ' ')} than its steps end with"
    if plan.objective in wrong:
        told, ends = getattr(plan, plan.objective), final[plan.objective]
        said = f"a final {plan.objective} of {told:.4g}, where its steps end with {ends:.4g}"
    problem = (
        f"The plan contradicts itself: it says {said}. What its steps end with is shown; proof and bound are left out."
    )
    return replace(plan, **final), [problem]


def _proof(plan: Plan) -> tuple[Plan, list[str]]:
    """The plan without a proof or a bound that cannot be one."""
    beyond = 1 if (plan.objective == "score") == (plan.rule != "worst") else -1  # where the bound lies
    reason = ""
    if not plan.proven and plan.bound is None:
        return plan, []
    if plan.rule not in PROVING:
        reason = f"the rule {plan.rule} proves nothing"
    elif plan.proven and not same(plan.bound, plan.value):
        reason = f"a proof leaves no gap, and its bound is {_known(plan.bound)} for a value of {plan.value:.4g}"
    elif plan.bound is not None and beyond * (plan.value - plan.bound) > TOLERANCE * max(1.0, abs(plan.value)):
        reason = f"its value of {plan.value:.4g} is past its bound of {plan.bound:.4g}"
    if not reason:
        return plan, []
    what = "it says that it is proven" if plan.proven else "it has a bound"
    problem = f"The plan contradicts itself: {what}, but {reason}. Proof and bound are left out."
    return replace(plan, bound=None, proven=False), [problem]


def _known(bound: float | None) -> str:
    return "unknown" if bound is None else f"{bound:.4g}"


def _pilot(plan: Plan) -> tuple[Plan, list[str]]:
    """The plan without what a pilot cannot have said."""
    weights = checks.task_weights(plan.options.get("weights"), len(plan.names))
    problems = []
    if plan.prediction is not None and (reason := _impossible(plan.prediction, weights)):
        problems.append(f"The plan contradicts itself: {reason}. What it expects of the real run is left out.")
        plan = replace(plan, prediction=None, alternatives=())
    if plan.confidence is not None and (reason := _overconfident(plan.confidence)):
        problems.append(f"The plan contradicts itself: {reason}. Its confidence is left out.")
        plan = replace(plan, confidence=None)
    if plan.mix is not None and (reason := _miscounted(plan.mix)):
        problems.append(f"The plan contradicts itself: {reason}. Sequence or mix is left out.")
        plan = replace(plan, mix=None)
    if plan.regret is not None and not plan.options.get("learned"):
        problems.append(
            "The plan contradicts itself: it has a regret, but no tasks were learned before. It is left out."
        )
        plan = replace(plan, regret=None)
    return plan, problems


def _impossible(prediction: Prediction, weights: Floats) -> str:
    """Why a prediction cannot be one; nothing where it can."""
    mean = float(np.array(prediction.tasks) @ weights / weights.sum())
    if not same(prediction.mean, mean):
        return f"it predicts a mean {prediction.unit} of {prediction.mean:.4g}, where its tasks have {mean:.4g}"
    ends = [(prediction.low, prediction.mean, prediction.high)]
    if prediction.tasks_low is not None and prediction.tasks_high is not None:
        ends += zip(prediction.tasks_low, prediction.tasks, prediction.tasks_high, strict=True)
    inside = (low is None or high is None or low - TOLERANCE <= at <= high + TOLERANCE for low, at, high in ends)
    if not all(inside):
        return f"it predicts a number for {prediction.unit} outside of its own interval"
    return ""


def _miscounted(mix: SequenceOrMix) -> str:
    """Why what a sequence costs and a strategy buys back do not follow from what was reached; nothing where they do."""
    if not same(mix.cost, mix.mixed - mix.sequence):
        return f"a sequence costs {mix.cost:.4g}, where {mix.mixed:.4g} and {mix.sequence:.4g} were reached"
    if not same(mix.back, None if mix.plain is None else mix.sequence - mix.plain):
        return "its strategy buys back another share than was reached with it and without"
    return ""


def _overconfident(sure: Confidence) -> str:
    """Why what is said of an order does not follow; nothing where it does."""
    from taskorder.planning.confidence import LIKELY, MATTERS, SMALLEST_GAIN  # half a second that other plans need not

    shares = (sure.beats_random, sure.same_first, sure.same_last, sure.same_neighbors)
    if not all(-TOLERANCE <= share <= 1 + TOLERANCE for share in shares):
        return "it has a probability or a share outside of [0, 1]"
    if not sure.gain_low - TOLERANCE <= sure.gain <= sure.gain_high + TOLERANCE:
        return "its expected gain is outside of its own interval"
    follows = sure.beats_random >= LIKELY - TOLERANCE and sure.gain >= SMALLEST_GAIN - TOLERANCE
    if sure.verdict == MATTERS and not follows and sure.unit != "error":  # older versions had other limits for that
        likely, gain = f"{100 * sure.beats_random:.0f} %", f"{100 * sure.gain:.1f} points"
        return f"it says that {MATTERS}, with a gain of {gain} and {likely} likely to beat a random order"
    return ""
