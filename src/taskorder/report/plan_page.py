"""A plan's page: the answer, what is known about it, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence

from taskorder.checks import counted
from taskorder.records import Plan, RuleScore
from taskorder.report import plan_sections as sections
from taskorder.report.markup import Html, html, task
from taskorder.report.page import Fact, Page
from taskorder.report.parts import sentence_order
from taskorder.report.pilot_sections import gain_text, pilot_facts, pilot_sections
from taskorder.report.plan_numbers import PlanNumbers
from taskorder.report.text import number, percent


def plan_page(numbers: PlanNumbers, title: str, source: str) -> Page:
    """The page of a plan; `source` says what was read. Without the matrix it shows what the plan itself holds."""
    plan, around = numbers.plan, numbers.around
    names = numbers.names
    shown = [sections.order(numbers, names), *pilot_sections(plan, names)]
    if around is None:
        shown += [sections.path_alone(numbers, names), sections.forgetting(numbers, names)]
    elif len(names) > 1 and plan.order:
        shown += [
            sections.standing(numbers, around),
            sections.path(numbers, around, names),
            sections.forgetting(numbers, names),
            sections.similarity(numbers, around, names),
            sections.task_map(numbers, around, names),
            sections.pairs(numbers, around, names),
        ]
    return Page(
        title=title,
        answer=_answer(numbers, names),
        facts=[*pilot_facts(plan), *_facts(numbers)],
        sections=shown,
        confidence=_confidence(numbers),
        warnings=_warnings(numbers),
        notes=_notes(numbers, names),
        made=_made(numbers, source),
        numbers=numbers.to_dict(),
    )


def _answer(numbers: PlanNumbers, names: Sequence[str]) -> Html:
    plan = numbers.plan
    if not plan.order:
        return html("Nothing is left to learn: every task has been learned already.")
    if len(names) == 1:
        return html("There is only one task, {}: nothing to put in order.", task(names[0]))
    what = f"a {'score' if plan.objective == 'score' else 'final error'} of {number(plan.value)}"
    if numbers.around is not None:
        mean = numbers.around.comparison.random_mean
        against = _score_against_random if plan.objective == "score" else _against_random
        what += f", {against(plan.value, mean)}"
    if plan.rule == "auto":
        return html("Learn {}.{}", sentence_order(plan.order, names), _piloted(plan))
    rival = _better_rival(numbers)
    but = f" The rule {rival.rule} does better here: {number(rival.value)}." if rival is not None else ""
    model = "law of retention" if plan.objective == "score" else "closed form"
    keeps = f" The learner {plan.keeps}." if plan.objective == "score" else ""
    words = "Learn {}: the {} predicts {}; {}.{}{}{}"
    return html(words, sentence_order(plan.order, names), model, what, _proof(numbers), but, keeps, _piloted(plan))


def _piloted(plan: Plan) -> str:
    """What the pilot says about the choice."""
    words = ""
    if plan.prediction is not None:
        words = f" The law of retention predicts a mean {plan.prediction.unit} of {percent(plan.prediction.mean)}."
    if plan.confidence is not None:
        likely = f"{percent(plan.confidence.beats_random)} likely to beat a random order"
        words += f" {plan.confidence.verdict.capitalize()}: it is {likely}."
    return words


def _better_rival(numbers: PlanNumbers) -> RuleScore | None:
    """The best rule, where it is better than the plan: its rule does not optimize, or its search was cut short."""
    if numbers.around is None or numbers.plan.rule in ("worst", "auto", "rehearsal"):
        return None
    best, value = numbers.around.comparison.scores[0], numbers.plan.value
    lead = best.value - value if numbers.plan.objective == "score" else value - best.value
    return best if lead > 1e-6 * abs(value) + 1e-12 else None


def _against_random(error: float, mean: float) -> str:
    """How an error compares with the mean of random orders.

    >>> _against_random(0.5, 1.0), _against_random(8.0, 2.0), _against_random(1.0, 1.0)
    ('50 % less than a random order on average', '4 times that of a random order', 'the same as a random order')
    """
    if mean <= 0 or abs(error - mean) < 0.005 * mean:
        return "the same as a random order"
    if error > 2 * mean:
        return f"{number(error / mean)} times that of a random order"
    return f"{percent(abs(error - mean) / mean)} {'less' if error < mean else 'more'} than a random order on average"


def _score_against_random(score: float, mean: float) -> str:
    """How a score compares with the mean of random orders.

    >>> _score_against_random(0.75, 0.5), _score_against_random(0.5, 0.5)
    ('0.25 more than a random order on average', 'the same as a random order')
    """
    if abs(score - mean) < 5e-4:
        return "the same as a random order"
    return f"{number(abs(score - mean))} {'more' if score > mean else 'less'} than a random order on average"


def _proof(numbers: PlanNumbers) -> str:
    plan = numbers.plan
    extreme = "worse" if plan.rule == "worst" else "better"
    if plan.proven:
        return f"it is proven that no allowed order is {extreme}"
    if plan.bound is not None:
        return f"no allowed order is {extreme} by more than {percent(plan.gap or 0.0)}"
    if plan.rule in ("auto", "rehearsal"):
        return f"it was chosen by what the pilot measured, not for this {plan.objective}"
    if plan.rule in ("optimal", "worst"):
        return (
            "it is the best order found, without a proof" if plan.rule == "optimal" else "it is the worst order found"
        )
    return f"it follows the rule {plan.rule}, which does not optimize the {plan.objective}"


def _facts(numbers: PlanNumbers) -> list[Fact]:
    plan, around = numbers.plan, numbers.around
    weighted = "weighted " if plan.options.get("weights") else ""
    tasks = counted(len(plan.names), "task")
    if plan.objective == "score":
        detail = f"{weighted}mean knowledge of {tasks} at the end: 0 is chance, 1 is perfect"
        facts = [Fact("Predicted score", number(plan.value), detail)]
    else:
        detail = f"{weighted}sum over {tasks}; {number(float(numbers.totals[0]))} at the start"
        facts = [Fact("Final error", number(plan.value), detail)]
    if around is not None:
        mean = around.comparison.random_mean
        if plan.objective == "score":
            lead = f"{plan.value - mean:+.4f}".replace("-", "\N{MINUS SIGN}")
        else:
            lead = f"{plan.value / mean:.2g} \N{MULTIPLICATION SIGN}" if mean > 0 else "the same"
        facts.append(Fact("Against random", lead, f"the mean {number(mean)} of {around.which}"))
        facts.append(Fact("Better orders", percent(around.share_better(plan.value)), f"of {around.which}"))
    if plan.proven:
        facts.append(
            Fact(
                "Proof",
                "proven",
                f"about the model: no allowed order is {'worse' if plan.rule == 'worst' else 'better'}",
            )
        )
    elif plan.gap is not None:
        facts.append(Fact("Gap", percent(plan.gap), f"to the bound {number(plan.bound or 0.0)}"))
    elif plan.rule not in ("auto", "rehearsal"):
        facts.append(Fact("Proof", "none", "no bound known"))
    return facts


def _confidence(numbers: PlanNumbers) -> list[str]:
    plan, around = numbers.plan, numbers.around
    lines = [f"The search: {_proof(numbers)}."]
    if around is not None and around.comparison.random_exact:
        lines.append(f"The random orders: {around.which}, so nothing is sampled.")
    elif around is not None:
        random = around.comparison
        spread = f"{number(random.random_mean)} ± {number(random.random_sem)} (standard error)"
        lines.append(f"The random orders: {around.which}; their mean is {spread}.")
    if plan.confidence is not None:
        lines.append(f"The pilot: {plan.confidence.verdict}; {gain_text(plan.confidence)}.")
    scored = plan.objective == "score"
    if plan.proven:
        lines.append("A proof is a proof about the model.")
    lines.append(f"The table is taken as exact: an error in it is not part of the predicted {plan.objective}.")
    if plan.regret is not None:
        better = f"{number(plan.regret)} more score" if scored else f"{number(plan.regret)} less error"
        lines.append(f"Had no task been learned yet, the best order would end with {better}.")
    lines.append(
        f"The model is the law of retention, on this table: {plan.table}. The learner {plan.keeps}."
        if scored
        else "The errors are those of the closed form for linear learners trained to convergence. They rank orders; "
        "they are not the error of your network."
    )
    return lines if plan.order else lines[-2:]


def _warnings(numbers: PlanNumbers) -> list[str]:
    lines = [caution.text for caution in numbers.plan.warnings]
    if numbers.plan.rule == "optimal" and (best := _better_rival(numbers)) is not None:
        lines.append(f"The search was cut short: take --rule {best.rule}, or give it a longer --time-limit.")
    return lines


def _notes(numbers: PlanNumbers, names: Sequence[str]) -> list[str]:
    plan, around = numbers.plan, numbers.around
    lines = [*plan.notes]
    if around is not None:
        lines += [note for note in around.comparison.notes if note not in lines]
    else:
        lines.append(
            "A plan holds only the digest of its matrix. Give the matrix with --similarity FILE to see the map, the "
            "rivals and what each pair costs."
        )
    if names != plan.names:
        lines.append("The names together are too long for a page and are cut.")
    return lines


def _made(numbers: PlanNumbers, source: str) -> dict[str, str]:
    plan = numbers.plan
    made = {"Input": source, "Rule": plan.rule, "Search time": f"{plan.seconds:.3g} s"}
    options = {key: value for key, value in plan.options.items() if key != "rule" and value not in (None, [], ())}
    made["Options"] = ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in options.items())
    return {**made, "Matrix (SHA-256)": plan.similarity_digest, "Version": f"taskorder {plan.version}"}


def _plain(value: object) -> str:
    """An option in a few words; matrices and long lists are only said to be there."""
    if not isinstance(value, list):
        return str(value)
    parts = [":".join(map(str, part)) if isinstance(part, list) else str(part) for part in value[:20]]
    return "given" if len(value) > 20 or sum(map(len, parts)) > 300 else ", ".join(parts)
