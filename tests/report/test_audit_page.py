"""The page of an order audit: its numbers are the audit's, in every design, at every size."""

import itertools
import json

import numpy as np
import pytest

from taskorder.audit.audit import Audit, audit_results
from taskorder.audit.results import Results
from taskorder.report.audit_numbers import audit_numbers, readable
from taskorder.report.audit_page import audit_page
from taskorder.report.document import page_html
from taskorder.typed import Misfit, typed

from .conftest import HOSTILE, embedded
from .test_document import Reader


def results(num_tasks=3, num_seeds=4, names=None, num_orders=None, missing=()):
    rng = np.random.default_rng(0)
    orders = [">".join(map(str, way)) for way in itertools.islice(itertools.permutations(range(num_tasks)), num_orders)]
    lift = 0.05 * rng.standard_normal((len(orders), 1, 1)) + 0.01 * rng.standard_normal((1, num_seeds, 1))
    accuracy = np.clip(0.7 + lift + 0.02 * rng.standard_normal((len(orders), num_seeds, num_tasks)), 0, 1)
    for order, seed in missing:
        accuracy[order, seed] = np.nan
    tasks = tuple(map(str, range(num_tasks)))
    return Results(tuple(orders), tuple(map(str, range(num_seeds))), tasks, names or tasks, accuracy)


def page_of(audit):
    return page_html(audit_page(audit_numbers(audit), "A title", {"Input": "a file"}), "taskorder report a")


def test_numbers_in_the_page_are_those_of_the_json():
    audit = audit_results(results(), used="0>1>2", compare=[("0>1>2", "2>1>0")], difference=0.02)
    text = page_of(audit)
    assert embedded(text)["audit"] == json.loads(audit.to_json())
    for part in audit.components:
        assert f'data-value="{part.share!r}"' in text
    for score in audit.orders:
        assert f'data-value="{score.mean!r}"' in text
    for part in (*audit.disparity, audit.aopd, audit.mopd):
        assert f'data-value="{part.value!r}"' in text
    assert audit.verdict in "".join(Reader(text).said)
    said = text[text.index('id="power"') :]
    for seeds, orders in audit.needs.orders:
        assert f'<td class="n">{orders}</td><td class="n">{seeds}</td>' in said
    assert f"lost {100 * audit.regret.observed:.3g} points" in text


def test_intervals_are_those_of_the_textbook():
    """Two-way layout without interaction: +- t sqrt(MS(rest) / seeds), written out."""
    from scipy.stats import t

    table = results().accuracy.mean(axis=2)
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    wanted = t.ppf(0.975, freedom) * np.sqrt((rest**2).sum() / freedom / table.shape[1])
    np.testing.assert_allclose(audit_numbers(audit_results(results())).halves, wanted)


@pytest.mark.parametrize(
    ("table", "design", "figures"),
    [
        (results(), "crossed", 3),
        (results(missing=[(0, 0), (1, 1), (2, 2), (3, 3), (4, 0), (5, 1)]), "nested", 3),
        (results(num_seeds=1), "one seed", 2),
        (results(num_orders=1), "one order", 2),
        (results(num_orders=1, num_seeds=1), "one run", 1),
    ],
    ids=["crossed", "nested", "one seed", "one order", "one run"],
)
def test_every_design_has_a_page(table, design, figures):
    audit = audit_results(table)
    assert audit.design == design
    text = page_of(audit)
    assert Reader(text).problems == []
    assert text.count("<figure") == figures
    assert "NaN" not in text
    assert ("no intervals" in text) == (design in ("one seed", "one run"))


def test_runs_that_never_differ():
    table = results()
    audit = audit_results(
        Results(table.orders, table.seeds, table.tasks, table.task_names, np.full_like(table.accuracy, 0.5))
    )
    assert "neither order nor seed" in page_of(audit)


def test_hostile_names_are_text():
    audit = audit_results(results(len(HOSTILE), 2, HOSTILE, 30))
    text = page_of(audit)
    reader = Reader(text)
    assert reader.problems == []
    assert "<script>alert" not in text
    assert [attributes["type"] for tag, attributes in reader.elements if tag == "script" and "type" in attributes] == [
        "application/json"
    ] * 2


def test_thousands_of_orders_fit():
    audit = audit_results(results(7, 2))
    text = page_of(audit)
    assert len(audit.orders) == 5040
    assert len(text.encode()) < 1_500_000
    assert embedded(text)["left_out"][0].startswith("audit.orders after")
    assert "The 150 best and the 150 worst." in text


def test_an_audit_is_read_back_unchanged():
    for table in (results(), results(num_seeds=1), results(num_orders=1)):
        audit = audit_results(table)
        assert typed(Audit, json.loads(audit.to_json())) == audit


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mean": "x"}, "'x' at mean"),
        ({"mean": float("inf")}, "inf at mean"),
        ({"num_runs": 1.5}, "1.5 at num_runs"),
        ({"design": "none"}, "'none' at design"),
        ({"orders": [{"order": 1}]}, "no key 'mean' at orders[0]"),
        ({"extra": 1}, "an unknown key 'extra' at the top"),
        ({"needs": {}}, "no key 'difference' at needs"),
    ],
)
def test_what_does_not_fit_is_named(change, said):
    data = {**json.loads(audit_results(results()).to_json()), **change}
    with pytest.raises(Misfit, match=said.replace("[", r"\[").replace("]", r"\]")):
        typed(Audit, data)


def test_orders_with_names_of_their_own_stay():
    assert readable(["10>9>11"], ["a", "b", "c"]) == ["b → a → c"]
    assert readable(["1>0"], ["x > y", "<b>"]) == ["<b> → x > y"]
    assert readable(["forward", "backward"], ["a", "b"]) == ["forward", "backward"]
