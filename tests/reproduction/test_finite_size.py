"""Finite size: the mean over readouts, the noise-free square, the table, the figure and its verdicts."""

import copy
import itertools
import json

import numpy as np
import pytest

from reproduction.claims import FigureData
from reproduction.families import FAMILIES, family_matrix
from reproduction.figures import finite_size
from reproduction.figures.finite_size_claims import Cell, Table
from reproduction.fitting import rank_correlation
from reproduction.orders import readout_mean_errors
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import MAX_SIMULATION_BYTES, Job, simulated_errors, workers_for
from taskorder.theory.closed_form import final_error
from taskorder.theory.graphs import chain

TINY = finite_size.Config(
    num_tasks=(("uniform", (2, 5)), ("chain", (2, 5))), num_inputs=(2000, 500, 100), num_latent=5,
    other_latents=(3,), num_outputs=(4, 1), num_matrices=4, num_orders=2, num_draws=2,
    ranked_matrices=3, ranked_draws=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def results():
    return finite_size.run_batch(finite_size.specs(TINY))


def test_readout_mean_is_the_mean_over_readouts():
    C, orders, sizes = chain(3, 0.6), [[0, 1, 2], [2, 0, 1]], Sizes(4, 60, 2000)
    mean = readout_mean_errors([Job(C, orders, 3)], sizes)[0]
    drawn = simulated_errors([Job(C, orders, 3)], sizes, steps=None)[0].sum(axis=1)  # the same inputs, many outputs
    np.testing.assert_allclose(drawn, mean, rtol=0.1)
    assert not np.allclose(mean[0], mean[1], rtol=0.05)


def test_readout_mean_reaches_the_closed_form():
    C, order = chain(4, 0.7), [0, 3, 1, 2]
    errors = readout_mean_errors([Job(C, [order], seed) for seed in range(4)], Sizes(10, 10**6, 1))
    assert np.mean(errors) == pytest.approx(final_error(C, order), rel=0.01)


def test_readout_mean_keeps_the_limits_of_the_simulator(monkeypatch):
    monkeypatch.setenv("NPROC", "64")
    small, large = (Job(np.eye(P), [range(P)], 0) for P in (2, 200))
    assert (
        1
        <= workers_for([small, large], Sizes())
        <= MAX_SIMULATION_BYTES // (48 * 6000**2)
        < workers_for([small], Sizes())
    )
    with pytest.raises(ValueError, match="must be at most 10,000, got 18,000"):
        readout_mean_errors([small], Sizes(9000, 10**6, 1))


def test_noise_free_square_has_no_share_of_the_noise():
    noise = np.random.default_rng(0).standard_normal((2, 200_000))
    assert finite_size._noise_free_square(0.1 + noise) == pytest.approx(0.01, abs=0.01)
    assert finite_size._noise_free_square(np.full((4, 3), 0.5)) == pytest.approx(0.25)


def test_the_error_of_two_tasks_to_first_order():
    # half the ratio N_s / N_x, half the deviation from r^2 (1 - r)^2
    params = {"family": "chain", "num_tasks": 2, "num_latent": 10, "num_outputs": None, "steps": None}
    shared = {"learning_rate": 1e-6, "index": 0, "num_orders": 1, "num_draws": 400}
    rows = [finite_size._run_size(**params, **shared, num_inputs=N_x) for N_x in (2000, 1000)]
    deviations = [row["simulated"] - row["closed"] for row in rows]
    assert rows[0]["closed"] == pytest.approx(0.7**2 * 0.3**2)
    assert deviations[1] / deviations[0] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_seeded_correlation_matrices(name):
    C = family_matrix(name, 6, 0.5, seed=2)
    np.testing.assert_array_equal(C, family_matrix(name, 6, 0.5, seed=2))
    np.testing.assert_array_equal(C, C.T)
    assert (np.diagonal(C) == 1).all()
    assert np.linalg.eigvalsh(C)[0] > -1e-9
    if name != "chain":
        assert not np.array_equal(C, family_matrix(name, 6, 0.5, seed=3))


def test_families_have_the_similarity_they_say():
    off = ~np.eye(300, dtype=bool)
    assert family_matrix("factor", 300, 0.3)[off].mean() == pytest.approx(0.3, abs=0.01)
    assert family_matrix("scattered", 300, 0.3)[off].mean() == pytest.approx(0.3, abs=0.03)
    clusters = family_matrix("clusters", 300, 0.8)
    same = (np.arange(300)[:, None] - np.arange(300)) % 4 == 0
    assert clusters[same & off].mean() == pytest.approx(0.8, abs=0.02)
    assert clusters[~same].mean() == pytest.approx(0.2, abs=0.02)
    with pytest.raises(ValueError, match="`name` must be one of uniform"):
        family_matrix("nonsense", 3, 0.5)


def test_rank_correlation():
    x = np.array([0.1, 0.5, 0.2, 0.9])
    assert rank_correlation(x, x**3) == pytest.approx(1)
    assert rank_correlation(x, -x) == pytest.approx(-1)
    assert rank_correlation(np.array([1.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])) == pytest.approx(1)


def test_ranking_against_a_plain_computation(results):
    C = family_matrix("uniform", 5, 0.0, seed=0)
    closed = [final_error(C, order) for order in itertools.permutations(range(5))]
    assert results[-3]["closed_random"] == pytest.approx(np.mean(closed) / min(closed))
    assert results[-3]["loss"] >= 1
    assert results[-3]["rank"] > 0.8


def test_figure_shows_the_numbers(results):
    figure = finite_size.figure(TINY, results)
    rows = results[:4]  # uniform, 2 tasks, 2000 inputs
    expected = np.sqrt(max(0.0, sum(row["deviation"] for row in rows)) / sum(row["square"] for row in rows))
    shown = figure.panels[0].series[0].y[0]
    assert shown == (pytest.approx(expected) if expected > 0 else None)
    assert {panel.title for panel in figure.panels} >= {"Scatter of single draws", "All numbers of tasks together"}
    assert FigureData.from_json(figure.to_json()).to_json() == figure.to_json()


def test_equal_specs_give_equal_results(results):
    specs = finite_size.specs(TINY)
    assert len({spec.digest for spec in specs}) == len(specs)
    assert finite_size.run_batch(specs[-4:]) == results[-4:]
    json.dumps(results, allow_nan=False)


def ideal(results):
    """Results as they would be if every correction were about P N_s / N_x and the scatter N_y^-1/2."""
    rows = copy.deepcopy(list(results))
    cells = [cell for cell in finite_size.cells(TINY) for _ in range(TINY.num_matrices)]
    for index, (cell, row) in enumerate(zip(cells, rows, strict=False)):
        size = (1 + 0.01 * (index % TINY.num_matrices)) * cell.crowding
        row.update(square=1.0, deviation=size**2, stopped_deviation=0.1 * size**2, corrected_deviation=0.01 * size**2)
        row.update(scatter=1 / (cell.num_outputs or 1))
    return rows


def test_checks_can_turn(results):
    def verdicts(rows):
        return {check.claim.split(";")[0]: check.verdict for check in finite_size.figure(TINY, rows).claims}

    good = ideal(results)
    assert {verdict for claim, verdict in verdicts(good).items() if "paper's sizes" not in claim} <= {
        "reproduced",
        "not tested",
    }
    bad = ideal(results)
    cells = [cell for cell in finite_size.cells(TINY) for _ in range(TINY.num_matrices)]
    for cell, row in zip(cells, bad, strict=False):
        row.update(deviation=cell.num_latent * cell.crowding, stopped_deviation=100.0, scatter=1.0)
        row.update(corrected_deviation=row["deviation"])
    for row in bad[len(cells) :]:
        row.update(rank=0.5, loss=2.0)
    assert set(verdicts(bad).values()) <= {"not reproduced", "not tested"}


def test_a_hidden_square_leaves_a_gap():
    cell = Cell("chain", 2, 5, 100)
    table = Table({cell: [{"deviation": -1.0, "square": 1.0}, {"deviation": -2.0, "square": 1.0}]})
    assert table.value(cell, "error") == (None, None, None)
