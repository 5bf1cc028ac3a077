"""Rules at scale: errors by rule, how far rules reach, the figure and its verdicts."""

import copy
import itertools
import json
import re

import numpy as np
import pytest

from reproduction.claims import FigureData
from reproduction.families import family_matrix
from reproduction.figures import rules_at_scale
from reproduction.figures.rules_at_scale import log_ratio, optimum_stays_below, reach, same_ranking, still_helps
from taskorder.ordering.rules import typicality
from taskorder.theory.closed_form import final_error

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
    shown = next(series for series in figure.panels[0].series if series.role == "greedy")
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


FACTOR = ("factor", 0.3)


def made_up(ratios, spread=0.001):
    """Cells of one family with a rule at these ratios to random, three matrices a size."""
    return {
        (FACTOR, P): [{"max-path": r * wiggle, "random": 1.0, "optimal": 0.1} for wiggle in (1 - spread, 1, 1 + spread)]
        for P, r in ratios.items()
    }


@pytest.mark.parametrize(
    ("ratios", "text"),
    [
        ((0.5, 0.6, 0.7, 0.8), "better than random at every P from 5 to 200"),
        ((0.5, 0.6, 2, 3), "better than random at every P up to 10, worse at every P from 50"),
        ((0.5, 1, 1, 3), "better than random at every P up to 5, worse at every P from 200"),
        ((0.5, 1, 1, 1), "better than random at every P up to 5, not told apart at P = 200"),
        ((0.5, 1, 0.5, 0.5), "better than random at every P up to 5, again better at P = 200"),
        ((1, 0.5, 2, 2), "better than random only at P = 10, worse at every P from 50"),
        ((2, 3, 4, 5), "never better than random, worse at every P from 5"),
        ((1, 1, 1, 1), "never better than random, not told apart at P = 200"),
        # noise: the last crossing of the mean would be beyond 50
        ((0.5, 2, 0.99999, 2), "better than random at every P up to 5, worse at every P from 200"),
    ],
)
def test_reach_is_told_by_the_sizes_that_were_run(ratios, text):
    sizes = (5, 10, 50, 200)
    cells = made_up(dict(zip(sizes, ratios, strict=True)))
    assert reach(sizes, cells, FACTOR, "max-path") == text
    assert text in still_helps(sizes, cells, "max-path", "factor").found


def test_a_rule_that_cannot_be_told_apart_is_undecided():
    def verdict(ratio):
        return still_helps((10,), made_up({10: ratio}, spread=0.1), "max-path", "factor").verdict

    assert [verdict(ratio) for ratio in (0.5, 1.01, 2.0)] == ["reproduced", "undecided", "not reproduced"]


def test_log_ratio_of_a_single_matrix_is_exact():
    assert log_ratio([{"a": 2.0, "b": 1.0}], "a", "b") == pytest.approx((np.log(2),) * 3)


def test_checks_can_turn(results):
    def verdicts(rows):
        return [check.verdict for check in rules_at_scale.figure(TINY, rows).claims]

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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"families": (("rings", 0.1),)}, "`families` must name only chain, factor, scattered, clusters, got 'rings'."),
        ({"families": (("chain", 1.0),)}, "`families` must have levels from 0 to below 1"),
        ({"num_tasks": (5, 3)}, "`num_tasks` must rise from entry to entry, got 5, 3."),
        ({"num_seeds": 1}, "`num_seeds` must be a whole number of at least 2, got 1."),
        ({"time_limit": float("nan")}, "`time_limit` must be a number above 0, got nan."),
        ({"crowding": 0.0}, "`crowding` must be a number above 0 and below 1, got 0.0."),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rules_at_scale.Config(**settings)
