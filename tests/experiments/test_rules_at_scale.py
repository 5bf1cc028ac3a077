"""Rules at scale: errors by rule, the turning point, the figure and its verdicts."""

import copy
import itertools
import json

import numpy as np
import pytest

from taskorder.experiments import rules_at_scale
from taskorder.experiments._families import family_matrix
from taskorder.experiments._scale_checks import log_ratio, optimum_stays_below, same_ranking, turning_point
from taskorder.figuredata import FigureData
from taskorder.ordering.rules import typicality
from taskorder.theory.error import final_error

TINY = rules_at_scale.Config(
    families=(("scattered", 0.3), ("chain", 0.8)), num_tasks=(3, 6), num_seeds=2, more_seeds=2, time_limit=1.0,
    simulated=(("scattered", 0.3),), simulated_tasks=(6,), simulated_seeds=2, num_orders=3, num_draws=2, num_latent=3,
    crowding=0.001,
)  # fmt: skip


@pytest.fixture(scope="module")
def results():
    return rules_at_scale.run_batch(rules_at_scale.specs(TINY))


def test_errors_against_a_plain_computation(results):
    C = family_matrix("scattered", 6, 0.3, seed=1)
    row = results[3]  # three tasks twice, six tasks with seed 0, then this one
    errors = {order: final_error(C, order) for order in itertools.permutations(range(6))}
    assert row["optimal"] == pytest.approx(min(errors.values()))
    assert row["proven"] is True
    assert row["random"] == pytest.approx(np.mean(list(errors.values())))
    assert row["periphery-to-core"] == pytest.approx(errors[tuple(np.argsort(typicality(C)).tolist())])
    length = {order: sum(1 - C[a, b] for a, b in itertools.pairwise(order)) for order in errors}
    longest = max(length, key=lambda order: length[order])
    assert row["max-path"] == pytest.approx((errors[longest] + errors[longest[::-1]]) / 2)


def test_simulation_is_near_the_closed_form(results):
    for row in results[-2:]:
        assert set(row) == {*rules_at_scale.SIMULATED_RULES, "random"}
        for closed, simulated in row.values():
            assert simulated == pytest.approx(closed, rel=0.1, abs=0.005)


def test_figure_shows_the_numbers(results):
    figure = rules_at_scale.figure(TINY, results)
    shown = next(one for one in figure.panels[0].series if one.role == "greedy")
    expected = np.exp(np.mean([np.log(row["greedy"] / row["random"]) for row in results[2:4]]))
    assert shown.y[1] == pytest.approx(expected)
    assert shown.low[1] <= shown.y[1] <= shown.high[1]
    assert "100% at P = 6" in figure.notes[0]
    assert FigureData.from_json(figure.to_json()).to_json() == figure.to_json()


def test_equal_specs_give_equal_results(results):
    specs = rules_at_scale.specs(TINY)
    assert len(specs) == len(results) == 2 * 2 + 2 + 2
    assert len({spec.digest for spec in specs}) == len(specs)
    assert rules_at_scale.run_batch(specs[-1:]) == results[-1:]
    json.dumps(results, allow_nan=False)


def made_up(ratios):
    """Cells of one family with a rule at these ratios to random, two matrices a size."""
    return {
        (("factor", 0.3), P): [{"max-path": r * wiggle, "random": 1.0, "optimal": 0.5} for wiggle in (0.999, 1.001)]
        for P, r in ratios.items()
    }


def test_turning_point():
    sizes = (10, 100)
    value, low, high = turning_point(sizes, made_up({10: 0.1, 100: 10.0}), ("factor", 0.3), "max-path")
    assert value == pytest.approx(np.sqrt(1000), rel=0.01)
    assert low < value < high
    assert turning_point(sizes, made_up({10: 0.1, 100: 0.2}), ("factor", 0.3), "max-path")[0] == pytest.approx(100)
    assert turning_point(sizes, made_up({10: 5.0, 100: 9.0}), ("factor", 0.3), "max-path")[0] == pytest.approx(10)


def test_log_ratio_of_a_single_matrix_is_exact():
    assert log_ratio([{"a": 2.0, "b": 1.0}], "a", "b") == pytest.approx((np.log(2),) * 3)


def test_checks_can_turn(results):
    def verdicts(rows):
        return [check.verdict for check in rules_at_scale.figure(TINY, rows).checks]

    better, worse = copy.deepcopy(list(results)), copy.deepcopy(list(results))
    for share, rows in ((0.5, better), (2.0, worse)):
        for row in rows[:-2]:
            row["periphery-to-core"] = row["max-path"] = row["optimal"] = share * row["random"]
    assert verdicts(better)[:5] == ["reproduced"] * 5
    assert verdicts(worse)[:5] == ["not reproduced"] * 5
    assert optimum_stays_below(made_up({10: 3.0})).verdict == "reproduced"


def test_ranking_needs_agreement():
    names = ("periphery-to-core", "max-path", "greedy", "optimal", "random")
    alike = [{name: [1.0 + k, 1.1 + k] for k, name in enumerate(names)} for _ in range(5)]
    opposite = [{name: [1.0 + k, 9.0 - k] for k, name in enumerate(names)} for _ in range(5)]
    assert same_ranking(alike).verdict == "reproduced"
    assert same_ranking(opposite).verdict == "not reproduced"
    assert same_ranking(opposite).value == 0
