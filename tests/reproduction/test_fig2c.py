"""Figure 2c: the map of best orders against plain enumeration."""

from itertools import permutations

import numpy as np
import pytest

from reproduction.claims import FigureData
from reproduction.figures import fig2c
from taskorder import final_error

CONFIG = fig2c.Config(rho_ca=(0.0, 0.4), resolution=20)


@pytest.fixture(scope="module")
def results():
    return fig2c.run_batch(fig2c.specs(CONFIG))


def similarity(x: float, y: float, rho: float) -> np.ndarray:
    return np.array([[1, x, rho], [x, 1, y], [rho, y, 1]])


def check(figure: FigureData, start: str):
    return next(check for check in figure.claims if check.claim.startswith(start))


def test_cells_hold_the_best_orders_by_enumeration(results):
    figure = fig2c.figure(CONFIG, results)
    white = 0
    for rho, panel in zip(CONFIG.rho_ca, figure.panels, strict=True):
        heat = panel.heatmap
        for y, row in zip(heat.y[::3], heat.values[::3], strict=True):
            for x, cell in zip(heat.x[::2], row[::2], strict=True):
                C = similarity(x, y, rho)
                if cell is None:
                    white += 1
                    assert np.linalg.det(C) <= 1e-9
                    continue
                assert np.linalg.eigvalsh(C)[0] > 0
                errors = {"".join("ABC"[k] for k in order): final_error(C, order) for order in permutations(range(3))}
                assert heat.categories[cell] == min(
                    name for name in errors if errors[name] < min(errors.values()) + 1e-9
                )
    assert white > 10


def test_neighbors_without_similarity_commute(results):
    assert "BAC = BCA" in check(fig2c.figure(CONFIG, results), "The best order is unique").found
    C = similarity(0.3, -0.5, 0.0)
    assert final_error(C, [1, 0, 2]) == pytest.approx(final_error(C, [1, 2, 0]), abs=1e-15)


def test_the_checks_hold_and_can_fail(results):
    figure = fig2c.figure(CONFIG, results)
    assert check(figure, "Swapping").verdict == "reproduced"
    assert check(figure, "The best order depends").verdict == "reproduced"
    broken = [{"best": [row[:] for row in result["best"]]} for result in results]
    broken[1]["best"][10][5] = 63 - broken[1]["best"][10][5]
    assert check(fig2c.figure(CONFIG, broken), "Swapping").value == 2.0
    assert check(fig2c.figure(CONFIG, broken), "Swapping").verdict == "not reproduced"
    plain = [{"best": np.where(np.array(result["best"]) > 0, 1, 0).tolist()} for result in results]
    assert check(fig2c.figure(CONFIG, plain), "The best order depends").verdict == "not reproduced"
    tied = [{"best": np.where(np.array(result["best"]) > 0, 3, 0).tolist()} for result in results]
    assert check(fig2c.figure(CONFIG, tied), "The best order is unique").verdict == "not reproduced"


def test_rules_are_scored_by_the_area_they_get_right(results):
    figure = fig2c.figure(CONFIG, results)
    # where no similarity is negative and A, C do not meet, both rules are exact: the most typical task B comes last
    assert "100.0% where no similarity is negative" in check(figure, "Periphery-to-core").found.split(";")[0]
    everything = [{"best": np.where(np.array(result["best"]) > 0, 63, 0).tolist()} for result in results]
    assert check(fig2c.figure(CONFIG, everything), "Periphery-to-core").value == 1.0


def test_json_round_trip(results):
    figure = fig2c.figure(CONFIG, results)
    assert FigureData.from_json(figure.to_json()).to_json() == figure.to_json()
