"""Figures 4a to 4f: all orders of graphs against enumeration and goldens, learning curves against plain descent."""

import copy
from dataclasses import replace
from itertools import pairwise, permutations
from math import factorial

import numpy as np
import pytest

from reproduction import load
from reproduction.claims import FigureData
from reproduction.figures import fig4_curves, fig4_orders
from taskorder import final_error, solve
from taskorder.linear.random_tasks import Sizes, sample_tasks
from taskorder.linear.residual_descent import boundary_errors
from taskorder.theory import graphs

from ..linear.weight_descent import descend

fig4a, fig4b, fig4c, fig4d, fig4e, fig4f = (load(f"fig4{panel}") for panel in "abcdef")
COARSE = fig4_orders.Config(num_points=9, drawn_every=2, low=0.1, max_curves=40)
AT = 6
"""Where COARSE has a = 0.7."""
FIGURES = {
    "chain-5": (fig4a, 0),
    "ring-5": (fig4b, 0),
    "tree-7": (fig4d, 0),
    "leaves-8": (fig4e, 0),
    "leaves-4": (fig4e, 1),
}
SHORT = fig4_curves.Config(num_seeds=4, num_random=6, num_latent=5, num_inputs=500, num_outputs=3)


@pytest.fixture(scope="module")
def coarse():
    return {module: module.run_batch(module.specs(COARSE)) for module in (fig4a, fig4b, fig4d, fig4e)}


def check(figure: FigureData, part: str):
    return next(check for check in figure.claims if part in check.claim)


@pytest.mark.parametrize("name", FIGURES)
def test_all_orders_agree_with_the_goldens(coarse, goldens, name):
    module, panel = FIGURES[name]
    result, golden = coarse[module][panel], goldens[name]
    assert COARSE.values[AT] == pytest.approx(golden["a"])
    assert result["best"][AT] == pytest.approx(golden["best"], rel=1e-8)
    assert result["worst"][AT] == pytest.approx(golden["worst"], rel=1e-8)
    assert result["mean"][AT] == pytest.approx(golden["mean"], rel=1e-8)
    assert result["best_order"][AT] == golden["optimal_orders"][0]
    assert result["worst_order"][AT] == golden["worst_orders"][0]
    # classes are the orbits of the graph's symmetries: equally large, as many as the golden has optimal orders each
    assert result["class_sizes"] == [len(golden["optimal_orders"])]
    assert result["num_distinct"] * len(golden["optimal_orders"]) == factorial(golden["num_tasks"])


def test_shares_and_rules_agree_with_enumeration(coarse):
    C = graphs.chain(5, COARSE.values[AT])
    errors = {order: final_error(C, order) for order in permutations(range(5))}
    lengths = {order: sum(1 - C[i, j] for i, j in pairwise(order)) for order in errors}
    result = coarse[fig4a][0]
    for name in ("ABCDE", "ACEDB", "AECDB"):
        own = errors[tuple(ord(letter) - 65 for letter in name)]
        named = result["named"][name]
        assert named["errors"][AT] == pytest.approx(own)
        assert named["better"][AT] == pytest.approx(sum(e < own - 1e-9 for e in errors.values()) / 120)
        assert named["worse"][AT] == pytest.approx(sum(e > own + 1e-9 for e in errors.values()) / 120)
    longest = [errors[order] for order in errors if lengths[order] > max(lengths.values()) - 1e-9]
    assert result["max-path"][AT] == pytest.approx(np.mean(longest))
    t = C.sum(axis=0)
    rising = [errors[o] for o in errors if all(t[i] <= t[j] + 1e-9 for i, j in pairwise(o))]
    assert len(rising) == 4  # A and E in either order, then B and D, then C
    assert result["periphery-to-core"][AT] == pytest.approx(np.mean(rising))
    best = min(errors, key=errors.__getitem__)
    assert result["longer"][AT] == pytest.approx(sum(d > lengths[best] + 1e-9 for d in lengths.values()) / 120)


def test_the_best_order_that_learns_leaves_first(coarse):
    C = graphs.tree(7, COARSE.values[AT])
    least = min(final_error(C, (*a, *b)) for a in permutations(range(3, 7)) for b in permutations(range(3)))
    result = coarse[fig4d][0]
    assert result["leaves_first"][AT] == pytest.approx(least)
    assert set(result["leaves_first_order"][AT][:4]) == set("DEFG")


@pytest.mark.parametrize("module", [fig4a, fig4b, fig4d, fig4e])
def test_graph_figures_draw_the_curves(coarse, module):
    figure = module.figure(COARSE, coarse[module])
    assert FigureData.from_json(figure.to_json()).to_json() == figure.to_json()
    for panel, result in zip(figure.panels, coarse[module], strict=True):
        by_role = {series.role: series for series in panel.series}
        gray = [series for series in panel.series if series.role == "background"]
        assert len(gray) == min(40, result["num_distinct"])
        assert ("periphery-to-core" in by_role) == (module in (fig4a, fig4d))  # elsewhere all tasks are equally typical
        for curve in gray:
            assert all(low <= y * (1 + 1e-8) for low, y in zip(by_role["best"].y, curve.y, strict=True))
            assert all(y <= high * (1 + 1e-8) for high, y in zip(by_role["worst"].y, curve.y, strict=True))


def test_small_errors_keep_their_digits():
    C = np.array([graphs.leaves(8, 0.02)])
    orders = np.array([range(8), [0, 4, 2, 6, 1, 5, 3, 7]])
    assert fig4_orders.errors_of(C, orders)[0] == pytest.approx(
        [final_error(C[0], order) for order in orders], rel=1e-12
    )


def test_graph_claims_can_turn(coarse):
    chain, tree, leaves = (coarse[module] for module in (fig4a, fig4d, fig4e))
    steady = copy.deepcopy(chain[0])
    for order in ("AECDB", "ACEDB"):
        steady["named"][order]["better"] = [0.05] * 9
    steady["named"]["ABCDE"]["worse"] = [0.0] * 9
    steady.update(worst=[7.0] * 9, best=[1.0] * 9, longer=[0.0] * 9, best_order=["AECDB"] * 9)
    figure, told = fig4a.figure(COARSE, [steady]), fig4a.figure(COARSE, chain)
    for part in (
        "AECDB is among",
        "ACEDB is among",
        "ABCDE is among",
        "consistent with max-path",
        "One order",
    ):
        assert check(figure, part).verdict == "reproduced"
        assert check(told, part).verdict == "not reproduced"
    steady.update(best_order=["CABED"] * 9, mean=[1e-9] * 9)
    figure = fig4a.figure(COARSE, [steady])
    for part in ("starts with", "periphery-to-core is better"):
        assert check(figure, part).verdict == "not reproduced"
        assert check(told, part).verdict == "reproduced"
    first = {**tree[0], "best_order": tree[0]["leaves_first_order"]}
    assert check(fig4d.figure(COARSE, [first]), "all leaves are learned").verdict == "reproduced"
    assert check(fig4d.figure(COARSE, tree), "all leaves are learned").verdict == "not reproduced"
    hopping = [{**leaves[0], "best_order": ["ACEGBDFH"] * 9}, leaves[1]]
    assert check(fig4e.figure(COARSE, hopping), "hops").verdict == "reproduced"
    assert check(fig4e.figure(COARSE, leaves), "hops").verdict == "not reproduced"
    assert check(fig4b.figure(COARSE, coarse[fig4b]), "more than twice").verdict == "reproduced"
    even = {**coarse[fig4b][0], "worst": coarse[fig4b][0]["best"]}
    assert check(fig4b.figure(COARSE, [even]), "more than twice").verdict == "not reproduced"


def test_the_gain_must_be_seven_somewhere(coarse):
    for ratio, verdict in ((5.9, "not reproduced"), (6.0, "reproduced"), (8.1, "not reproduced")):
        altered = {**coarse[fig4a][0], "worst": [ratio] * 9, "best": [1.0] * 9}
        claim = check(fig4a.figure(COARSE, [altered]), "about 7 times")
        assert (claim.verdict, claim.value) == (verdict, ratio)


def test_the_gain_tells_where_it_is_seven():
    config = fig4_orders.Config(num_points=97, drawn_every=8)
    figure = fig4a.figure(config, fig4a.run_batch(fig4a.specs(config)))
    assert "it is 7 at a = 0.56" in check(figure, "about 7 times").found


def test_curves_are_those_of_plain_descent():
    config = replace(SHORT, num_random=2, points_per_task=5)
    (result,) = fig4c.run_batch(fig4c.specs(config)[:1])
    tasks = sample_tasks(graphs.chain(5, 0.7), sizes=Sizes(5, 500, 3), seed=0, small=True)
    plain = descend(tasks, [0, 4, 2, 3, 1]).sum(axis=1)[::20]
    assert result["AECDB"] == pytest.approx(plain.tolist(), rel=1e-6)
    assert len(result["random"]) == 26


def test_the_mean_of_random_orders_is_over_all_where_there_are_few():
    config = replace(SHORT, num_random=120, points_per_task=1)
    (result,) = fig4c.run_batch(fig4c.specs(config)[:1])
    tasks = sample_tasks(graphs.chain(5, 0.7), sizes=Sizes(5, 500, 3), seed=0, small=True)
    ends = boundary_errors(tasks, list(permutations(range(5)))).sum(axis=1)
    assert result["random"][-1] == pytest.approx(ends.mean(), rel=1e-6)


@pytest.mark.parametrize(("module", "graph"), [(fig4c, fig4_curves.CHAIN), (fig4f, fig4_curves.TREE)])
def test_learning_figures(module, graph):
    results = module.run_batch(module.specs(SHORT))
    figure = module.figure(SHORT, results)
    assert FigureData.from_json(figure.to_json()).to_json() == figure.to_json()
    (panel,) = figure.panels
    assert len(panel.steps) == graph.num_tasks == panel.series[0].x[-1]
    assert {series.role for series in panel.series} == {*graph.roles, "random"}
    assert check(figure, "After all tasks").verdict == "reproduced"
    better, worse = graph.better, graph.worse
    swapped = [{**result, better: result[worse], worse: result[better]} for result in results]
    assert check(module.figure(SHORT, swapped), "After all tasks").verdict == "not reproduced"
    assert check(module.figure(SHORT, swapped), "is not behind").verdict == "not reproduced"
    mixed = [*results, *swapped]
    assert check(module.figure(SHORT, mixed), "After all tasks").verdict == "undecided"


def synthetic(turn: float, jump: float = 0.3) -> list[dict[str, list[float]]]:
    """Tree curves that cross the random mean `turn` tasks after the start, in opposite directions."""
    t = np.arange(7 * SHORT.points_per_task + 1) / SHORT.points_per_task
    bend = jump * np.tanh(t - turn)
    return [
        {
            "DEFGBCA": (1 + k - bend).tolist(),
            "ABCDEFG": (1 + k + bend).tolist(),
            "random": np.full(len(t), 1.0 + k).tolist(),
        }
        for k in (0.0, 0.1, 0.2)
    ]


def test_the_reversal_is_found_where_it_is():
    figure = fig4f.figure(SHORT, synthetic(3.4))
    turn = check(figure, "fourth task")
    assert turn.value == pytest.approx(3.4, abs=0.01)
    assert turn.low == pytest.approx(3.4, abs=0.01)
    assert turn.verdict == "reproduced"
    assert check(figure, "At first").verdict == "reproduced"
    assert check(fig4f.figure(SHORT, synthetic(6.0)), "fourth task").verdict == "not reproduced"
    never = fig4f.figure(SHORT, synthetic(-1.0))
    assert check(never, "fourth task").value == 0.0
    assert check(never, "fourth task").verdict == "not reproduced"
    assert check(never, "At first").verdict == "not reproduced"


def test_agreement_with_the_closed_form_can_hold_and_fail():
    closed = {name: final_error(graphs.tree(7, 0.7), [ord(x) - 65 for x in name]) for name in ("DEFGBCA", "ABCDEFG")}
    exact = [{**row, **{name: [*row[name][:-1], closed[name]] for name in closed}} for row in synthetic(3.0)]
    assert check(fig4f.figure(SHORT, exact), "closed form").verdict == "reproduced"
    assert check(fig4f.figure(SHORT, synthetic(3.0)), "closed form").verdict == "not reproduced"


def test_the_highlighted_learning_orders_follow_the_rules():
    C = graphs.tree(7, fig4_curves.Config().a)
    for rule, order in zip(fig4_curves.TREE.roles, (fig4_curves.TREE.better, fig4_curves.TREE.worse), strict=True):
        assert "".join(solve(C, rule, retention=1).named_order) == order
