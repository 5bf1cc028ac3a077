"""What Python prints for records: a few lines, whatever their size."""

from dataclasses import replace

import pytest

from taskorder import chain, compare
from taskorder.records import Caution


def test_a_plan_says_its_order_and_what_to_expect(solved):
    order, expect, more = repr(solved).splitlines()
    assert order == "Plan of 4 tasks: " + " -> ".join(solved.named_order)
    assert expect.startswith(f"score {solved.score:.4g}, proven; rule optimal; the learner keeps 13 %")
    assert more == "1 note: see summary()"
    assert str(solved) == repr(solved)


def test_a_plan_from_a_pilot_says_how_sure_it_is(pilot):
    plan = replace(pilot.plan, warnings=(Caution("few", "The pilot is small."),), notes=())
    _, expect, sure, more = repr(plan).splitlines()
    assert expect.startswith("expect ")
    assert "mean knowledge at the end [" in expect
    assert (
        sure == f"{plan.confidence.verdict}: {100 * plan.confidence.beats_random:.0f} % likely to beat a random order"
    )
    assert more == "1 warning: see summary()"


def test_an_unproven_plan_says_so(long):
    assert "not proven; rule row-sums" in repr(long)


@pytest.mark.parametrize("name", ["solved", "long", "hostile", "compared"])
def test_it_is_never_a_page(name, request):
    text = repr(request.getfixturevalue(name))
    assert len(text.splitlines()) <= 4
    assert len(text) < 600


def test_a_long_order_shows_its_ends(long):
    names = long.named_order
    assert f"{names[0]} -> {names[1]}" in repr(long)
    assert repr(long).splitlines()[0].endswith(f"-> ... -> {names[-3]} -> {names[-2]} -> {names[-1]}")


def test_a_comparison_says_its_verdict_and_its_best_rules(compared):
    title, verdict, numbers = repr(compared).splitlines()
    assert title == "Comparison of 9 rules on 4 tasks"
    assert verdict == compared.verdict
    assert numbers.startswith(f"score: optimal {compared.best:.4g}, ")
    assert f"random orders {compared.random_mean:.4g} +- " in numbers


def test_a_plan_goes_through_the_names_of_its_order(solved):
    assert [name for name in solved] == list(solved.named_order)  # noqa: C416
    assert len(solved) == 4
    assert "bees" in solved
    assert "zebras" not in solved


def test_a_comparison_goes_through_its_rules(compared):
    assert list(compared) == [score.rule for score in compared.scores]
    assert len(compared) == len(compared.scores)
    assert compared["max-path"].rule == "max-path"
    with pytest.raises(KeyError, match="best"):
        compared["best"]


def test_a_comparison_says_what_constraints_cost():
    constraints = {"last": "A", "first": "B", "before": [("C", "D"), ("C", "E")]}
    comparison = compare(chain(6, 0.7), retentions=(), **constraints)
    assert len(comparison.prices) == 4
    *_, last = repr(comparison).splitlines()
    said = [price.said("score") for price in comparison.prices]
    assert last == "; ".join([*said[:3], "1 more constraint"])
    assert all(text in comparison._repr_html_() for text in said[:3])
    flat = comparison.to_dict(flat=True)
    assert flat["price/last A"] == comparison.prices[[p.constraint for p in comparison.prices].index("last A")].value
    assert len([key for key in flat if key.startswith("price/")]) == 4
