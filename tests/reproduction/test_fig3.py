"""Figures 3a, 3d and 3f: the printed formulas, written out again, and their claims."""

import copy

import numpy as np
import pytest

from reproduction.claims import FigureData
from reproduction.figures import fig3a, fig3d, fig3f
from taskorder import final_error

SMALL = {
    "fig3a": (fig3a, fig3a.Config(num_tasks=4, m=0.4)),
    "fig3d": (fig3d, fig3d.Config(num_tasks=4, num_checked=49, drawn_every=7)),
    "fig3f": (fig3f, fig3f.Config(num_tasks=(3, 5), num_points=11, large=(20,))),
}


def made(name: str):
    module, config = SMALL[name]
    results = module.run_batch(module.specs(config))
    return config, results, module.figure(config, results)


def typicality(i: int, j: int, P: int, m: float) -> float:
    """G+ as the paper prints it, positions from 1."""
    q = 1 - m
    return -(q ** (P + i - 1)) - q ** (P + j - 1) + (3 - m) / (2 - m) * q ** (i + j - 1)


def alpha_minus(P: int, m: float) -> float:
    q = 1 - m
    return -1 + q**P * (m * P / q + (3 - m) / (2 - m))


@pytest.mark.parametrize("name", SMALL)
def test_json_round_trip(name):
    figure = made(name)[2]
    assert FigureData.from_json(figure.to_json()).to_json() == figure.to_json()


def test_fig3a_shows_the_printed_matrices():
    config, _, figure = made("fig3a")
    P, m = config.num_tasks, config.m
    maps = {panel.title: panel.heatmap.values for panel in figure.panels}
    for i in range(P):
        for j in range(P):
            if j <= i:
                assert maps["G"][i][j] is None
                continue
            plus = typicality(i + 1, j + 1, P, m)
            minus = alpha_minus(P, m) * (1 - m) ** (P - (j - i))
            assert maps["G+"][i][j] == pytest.approx(plus)
            assert maps["G-"][i][j] == pytest.approx(minus)
            assert maps["G"][i][j] == pytest.approx(plus + minus)


def test_fig3a_finds_the_missing_factor_two():
    config, results, figure = made("fig3a")
    assert figure.claims[2].verdict == "not reproduced"
    assert figure.claims[2].value == pytest.approx(2, abs=1e-6)
    halved = copy.deepcopy(results)
    halved[0]["derivative"] = (np.array(halved[0]["derivative"]) / 2).tolist()
    assert fig3a.figure(config, halved).claims[2].verdict == "reproduced"
    C = np.full((4, 4), 0.4) + 0.6 * np.eye(4)
    raised = C.copy()
    raised[0, 1] = raised[1, 0] = 0.4 + 1e-6
    slope = (final_error(raised, range(4)) - final_error(C, range(4))) / 1e-6
    assert results[0]["derivative"][0][1] == pytest.approx(slope, rel=1e-4)


def test_fig3a_signs_are_checked():
    full = fig3a.figure(fig3a.Config(), fig3a.run_batch(fig3a.specs(fig3a.Config())))
    assert [check.verdict for check in full.claims[:2]] == ["reproduced", "reproduced"]
    config, results, _ = made("fig3a")
    flipped = copy.deepcopy(results)
    flipped[0]["G"] = (-np.array(flipped[0]["G"])).tolist()
    before, after = (fig3a.figure(config, given).claims[0].verdict for given in (results, flipped))
    assert (before, after) == ("reproduced", "not reproduced")


def test_fig3d_lines_and_claims():
    config, results, figure = made("fig3d")
    series = figure.panels[0].series
    assert len(series) == 6
    first, last = series[0], series[-1]
    assert (first.label, last.label) == ("positions 1 and 2", "positions 3 and 4")
    assert first.y == pytest.approx([typicality(1, 2, 4, m) for m in first.x])
    assert last.y == pytest.approx([typicality(3, 4, 4, m) for m in last.x])
    assert [check.verdict for check in figure.claims] == ["reproduced", "reproduced", "not reproduced"]
    altered = [{**results[0], "decreasing": 48, "top_is_first": 48, "decreasing_below_zero": 49}]
    verdicts = [check.verdict for check in fig3d.figure(config, altered).claims]
    assert verdicts == ["not reproduced", "not reproduced", "reproduced"]


def test_fig3d_sees_a_rise():
    falling = np.triu(-np.add.outer(np.arange(4.0), np.arange(4.0)), 1)
    rising = falling.copy()
    rising[0, 3] = 1.0
    assert fig3d._decreasing(np.array([falling, rising])).tolist() == [True, False]


def test_fig3f_lines_and_roots():
    config, results, figure = made("fig3f")
    for P, result, line in zip(config.num_tasks, results, figure.panels[0].series, strict=False):
        assert line.y[:-1] == pytest.approx([alpha_minus(P, m) for m in line.x[:-1]])  # the last m is 1
        (root,) = result["changes"]
        assert alpha_minus(P, root) == pytest.approx(0, abs=1e-9)
        assert alpha_minus(P, root - 0.01) > 0 > alpha_minus(P, root + 0.01)
    assert results[0]["changes"][0] == pytest.approx(1 - np.sqrt(0.5))
    assert [check.verdict for check in figure.claims] == ["not reproduced", "not reproduced", "reproduced"]


def test_fig3f_checks_can_turn():
    config, results, _ = made("fig3f")
    never = [{**result, "changes": []} for result in results]
    assert fig3f.figure(config, never).claims[0].verdict == "reproduced"
    growing = [{**result, "changes": [0.1 * k + 0.1]} for k, result in enumerate(results)]
    assert fig3f.figure(config, growing).claims[-1].verdict == "not reproduced"
