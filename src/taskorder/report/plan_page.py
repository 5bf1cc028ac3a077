"""A plan's page: the answer, what is known about it, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence

from taskorder.checks import counted
from taskorder.planning.confidence import FINE, NOISY
from taskorder.records import Plan, RuleScore
from taskorder.report import plan_sections as sections
from taskorder.report.markup import Html, html, task
from taskorder.report.page import Fact, Page
from taskorder.report.parts import sentence_order
from taskorder.report.pilot_sections import gain_text, pilot_facts, pilot_sections
from taskorder.report.plan_numbers import PlanNumbers
from taskorder.report.retention_section import other_retentions
from taskorder.report.text import number, percent
from taskorder.report.worth_section import worth

A_PROOF = "A proof is a proof about the model, not about your network."


def plan_page(numbers: PlanNumbers, title: str, source: str) -> Page:
    """The page of a plan; `source` says what was read. Without the table it shows what the plan itself holds."""
    plan, around, table = numbers.plan, numbers.around, numbers.table
    names = numbers.names
    shown = [sections.order(numbers, names), *pilot_sections(plan, names)]
    some = len(names) > 1 and bool(plan.order)
    if around is not None and some:
        shown += [
            sections.standing(numbers, around),
            sections.path(numbers, around, names),
            sections.forgetting(numbers, names),
            *other_retentions(numbers, around, names),
        ]
    elif plan.prediction is None and around is None:
        shown += [sections.path_alone(numbers, names), sections.forgetting(numbers, names)]
    if table is not None and some:
        shown += [sections.table(numbers, table, names), sections.task_map(numbers, table, names)]
        shown += [] if around is None else [worth(numbers, table, around, names)]
    return Page(
        title=title,
        answer=_answer(numbers, names),
        facts=_facts(numbers),
        sections=shown,
        confidence=_confidence(numbers),
        warnings=_warnings(numbers),
        notes=_notes(numbers, names),
        made=_made(numbers, source),
        numbers=numbers.to_dict(),
    )


def _answer(numbers: PlanNumbers, names: Sequence[str]) -> Html:
    plan, measure = numbers.plan, numbers.measure
    if not plan.order:
        return html("Nothing is left to learn: every task has been learned already.")
    if len(names) == 1:
        return html("There is only one task, {}: nothing to put in order.", task(names[0]))
    if plan.prediction is not None or plan.confidence is not None:
        return _piloted(plan, names)
    what = f"{measure.said(plan.value)} {measure.noun}"
    what += " of all tasks on average" if measure.better > 0 else " in sum, in the paper's theory"
    if numbers.around is not None:
        what += f", {measure.against(plan.value, numbers.around.comparison.random_mean)}"
    rival = _better_rival(numbers)
    but = f" The rule {rival.rule} does better here: {measure.said(rival.value)}." if rival is not None else ""
    keeps = f" The learner {plan.keeps}." if measure.better > 0 else ""
    words = "Learn {}: this is predicted to end with {}. {}.{}{}"
    return html(words, sentence_order(plan.order, names), what, _proof(plan), but, keeps)


def _piloted(plan: Plan, names: Sequence[str]) -> Html:
    """The verdict of the pilot, and the order that follows from it: nothing else speaks here."""
    sure, prediction, order = plan.confidence, plan.prediction, sentence_order(plan.order, names)
    expect = ""
    if prediction is not None:
        interval = _interval(prediction.low, prediction.high)
        expect = f" Expect a mean {prediction.unit} of {percent(prediction.mean)}{interval} at the end."
    if sure is None:
        return html("Learn {}.{}", order, expect)
    if sure.verdict == FINE:
        return html(
            "Any order is fine: the pilot finds no difference that matters. This one will do: {}.{}", order, expect
        )
    if sure.verdict == NOISY:
        words = "Too noisy to say: the pilot is too small to tell orders apart. Its best guess is {}; {}.{}"
    else:
        words = "Order matters. Learn {}: {}.{}"
    return html(words, order, gain_text(sure), expect)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" (90 % interval {percent(low)} to {percent(high)})"


def _better_rival(numbers: PlanNumbers) -> RuleScore | None:
    """The best rule, where it does better than the plan: that of a rule that optimizes something else, or cut short."""
    if numbers.around is None or numbers.plan.rule == "worst":
        return None
    best = numbers.around.comparison.scores[0]
    return best if numbers.measure.is_better(best.value, numbers.plan.value) else None


def _proof(plan: Plan) -> str:
    """What is known about the order in the model, as a sentence without its end."""
    extreme = "worse" if plan.rule == "worst" else "better"
    if plan.proven:
        return f"It is proven in the model that no allowed order is {extreme}"
    if plan.bound is not None:
        return f"In the model no allowed order is {extreme} by more than {percent(plan.gap or 0.0)}"
    if plan.rule in ("optimal", "worst"):
        return f"It is the {'best' if plan.rule == 'optimal' else 'worst'} order found, without a proof"
    if plan.rule in ("auto", "rehearsal"):
        return "It was chosen by what the pilot measured"
    if plan.rule == "by-hand":
        return "It was put together by hand"
    return f"It follows the rule {plan.rule}, which does not optimize the {plan.objective}"


def _facts(numbers: PlanNumbers) -> list[Fact]:
    plan, around, measure = numbers.plan, numbers.around, numbers.measure
    if plan.prediction is not None or plan.confidence is not None:
        return pilot_facts(plan)
    weighted, tasks = "weighted " if plan.options.get("weights") else "", counted(len(plan.names), "task")
    start = measure.said(float(numbers.values[0]))
    if measure.better > 0:
        detail = f"{weighted}mean over {tasks}; 0 % is chance, 100 % perfect"
        facts = [Fact("Predicted knowledge", percent(plan.value), detail)]
    else:
        facts = [Fact("Final error", number(plan.value), f"{weighted}sum over {tasks}; {start} at the start")]
    if around is not None:
        mean = around.comparison.random_mean
        facts.append(Fact("A random order", measure.said(mean), f"mean of {around.which}"))
        facts.append(Fact("Better orders", percent(around.share_better(plan.value)), f"of {around.which}"))
    extreme = "worse" if plan.rule == "worst" else "better"
    if plan.proven:
        facts.append(Fact("Proof", "proven", f"in the model: no allowed order is {extreme}"))
    elif plan.bound is not None:
        facts.append(Fact("Best possible", measure.said(plan.bound), "bound in the model"))
    else:
        facts.append(Fact("Proof", "none", "no bound known"))
    return facts


def _confidence(numbers: PlanNumbers) -> list[str]:
    plan, around, measure = numbers.plan, numbers.around, numbers.measure
    pilot = plan.prediction is not None or plan.confidence is not None
    lines = []
    if plan.confidence is not None:
        lines.append(f"The pilot: {plan.confidence.verdict}; {gain_text(plan.confidence)}.")
    proven = plan.proven or plan.bound is not None
    if pilot and proven:
        lines.append(f"The search: {_proof(plan)}. {A_PROOF}")
    elif not pilot:
        lines.append(f"The search: {_proof(plan)}.{f' {A_PROOF}' if proven else ''}")
    if around is not None and around.comparison.random_exact:
        lines.append(f"The random orders: {around.which}, so nothing is sampled.")
    elif around is not None:
        random = around.comparison
        spread = f"{number(random.random_mean)} ± {number(random.random_sem)} (standard error)"
        lines.append(f"The random orders: {around.which}; their mean is {spread}.")
    if plan.regret is not None:
        better = (
            f"{number(plan.regret)} more mean knowledge" if measure.better > 0 else f"{number(plan.regret)} less error"
        )
        lines.append(f"Had no task been learned yet, the best order would end with {better}.")
    if pilot:
        # what the model alone says would stand beside what was measured
        if plan.prediction is not None and plan.prediction.retention:
            lines.append(f"The retention: {plan.prediction.retention}.")
        if plan.mix is not None:
            lines.append(f"Sequence or mix: {plan.mix.summary()}")
        return lines
    lines.append("The table is taken as exact: what is wrong in it is not part of what is predicted.")
    if measure.better > 0:
        lines.append(
            f"The prediction is that of the law of retention for a learner that {plan.keeps}. On plain networks it "
            "ranks orders about as well as another training run does; try a pilot (`taskorder plan`) to see yours."
        )
    else:
        lines.append(
            "The errors are those of the paper's theory of linear learners trained to convergence. Plain "
            "networks keep little of what they knew, and this theory ranks their orders badly: leave out --retention 1 "
            "to plan for them."
            if plan.retention == 1
            else f"The errors are those of the law of retention for a learner that {plan.keeps}."
        )
    return lines if plan.order else lines[-1:]


def _warnings(numbers: PlanNumbers) -> list[str]:
    lines = [*numbers.disagreements, *(caution.text for caution in numbers.plan.warnings)]
    if numbers.plan.rule == "optimal" and not lines and (best := _better_rival(numbers)) is not None:
        lines.append(f"The search was cut short: take --rule {best.rule}, or give it a longer --time-limit.")
    return lines


def _notes(numbers: PlanNumbers, names: Sequence[str]) -> list[str]:
    plan, around = numbers.plan, numbers.around
    lines = [*plan.notes]
    if around is not None:
        lines += [note for note in around.comparison.notes if note not in lines]
    elif numbers.table is None:
        lines.append(
            "A plan holds only the digest of its table. Give the table with --similarity FILE to see the map, the "
            "rivals and what each entry is worth."
        )
    if names != plan.names:
        lines.append("The names together are too long for a page and are cut.")
    return lines


def _made(numbers: PlanNumbers, source: str) -> dict[str, str]:
    plan = numbers.plan
    made = {"Input": source, "Table": plan.table}
    if plan.prediction is None:
        made["Learner"] = plan.keeps
    made |= {"Rule": plan.rule, "Time": f"{plan.seconds:.3g} s"}
    options = {key: value for key, value in plan.options.items() if key != "rule" and value not in (None, [], ())}
    made["Options"] = ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in options.items())
    return {**made, "Matrix (SHA-256)": plan.similarity_digest, "Version": f"taskorder {plan.version}"}


def _plain(value: object) -> str:
    """An option in a few words; matrices and long lists are only said to be there."""
    if not isinstance(value, list):
        return str(value)
    parts = [":".join(map(str, part)) if isinstance(part, list) else str(part) for part in value[:20]]
    return "given" if len(value) > 20 or sum(map(len, parts)) > 300 else ", ".join(parts)
