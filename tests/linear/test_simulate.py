import json

import numpy as np
import pytest

from taskorder import chain, final_error, random_correlation
from taskorder.linear import simulate as module
from taskorder.linear.random_tasks import Sizes, sample_tasks
from taskorder.linear.residual_descent import boundary_errors
from taskorder.linear.simulate import Job, progress_of, simulate, simulated_errors

SMALL = Sizes(num_latent=4, num_inputs=400, num_outputs=2)


def test_jobs_equal_single_simulations_in_their_order():
    rng = np.random.default_rng(0)
    jobs = [
        Job(random_correlation(3, seed=k), [rng.permutation(3) for _ in range(k + 1)], seed=10 + k) for k in range(7)
    ]
    by_job = simulated_errors(jobs, SMALL, learning_rate=0.002)
    for job, errors in zip(jobs, by_job, strict=True):
        tasks = sample_tasks(job.similarity, sizes=SMALL, seed=job.seed, small=True)
        np.testing.assert_array_equal(errors, boundary_errors(tasks, job.orders, learning_rate=0.002))


def test_workers_do_not_change_the_answer(monkeypatch):
    jobs = [Job(random_correlation(3, seed=k), [[0, 1, 2]], seed=k) for k in range(5)]
    many = simulated_errors(jobs, SMALL)
    monkeypatch.setattr(module, "MAX_SIMULATION_BYTES", 1)
    alone = simulated_errors(jobs, SMALL)
    np.testing.assert_array_equal(many, alone)


def test_mean_and_standard_error_are_those_of_the_seeds():
    C = random_correlation(3, 0, 1, seed=1)
    result = simulate(C, [2, 0, 1], sizes=SMALL, num_seeds=6, seed=3, steps=None)
    jobs = [Job(C, [[2, 0, 1]], seed=3 + k) for k in range(6)]
    table = np.array([errors[0] for errors in simulated_errors(jobs, SMALL, steps=None)])
    assert result.simulated_mean == pytest.approx(table.sum(axis=1).mean(), rel=1e-12)
    assert result.simulated_sem == pytest.approx(table.sum(axis=1).std(ddof=1) / np.sqrt(6), rel=1e-12)
    assert [task.simulated_mean for task in result.per_task] == pytest.approx(table.mean(axis=0).tolist(), rel=1e-12)
    assert result.closed_form == pytest.approx(final_error(C, [2, 0, 1]), rel=1e-12)
    assert result.stopped_form == result.closed_form


def test_early_stopping_has_its_own_closed_form():
    C = chain(4, 0.6)
    sizes = Sizes(num_latent=30, num_inputs=300_000)
    rate = 0.1 * sizes.load
    result = simulate(C, [0, 3, 1, 2], sizes=sizes, num_seeds=40, steps=5, learning_rate=rate)
    share = 1 - 0.9**5
    assert progress_of(sizes, 5, rate) == pytest.approx(share)
    assert result.stopped_form == pytest.approx(final_error(C, [0, 3, 1, 2], progress=share), rel=1e-12)
    assert abs(result.simulated_mean - result.stopped_form) < 4 * result.simulated_sem
    assert abs(result.simulated_mean - result.closed_form) > 20 * result.simulated_sem


def test_the_corrected_form_meets_the_simulation_where_the_closed_form_does_not():
    C = random_correlation(7, 0, 1, seed=2)
    result = simulate(C, range(7), num_seeds=300, steps=None)
    assert result.finite_form is not None
    assert abs(result.simulated_mean - result.finite_form) < 4 * result.simulated_sem
    assert abs(result.simulated_mean - result.closed_form) > 8 * result.simulated_sem


def test_one_seed_has_no_standard_error():
    result = simulate(chain(2, 0.5), ["A", "B"], sizes=SMALL, num_seeds=1)
    assert result.simulated_sem is None
    assert json.loads(result.to_json())["per_task"][0]["simulated_sem"] is None


def test_a_report_can_end_it_early():
    calls = []

    def report(done: int, total: int) -> bool:
        calls.append((done, total))
        return done >= 16

    result = simulate(chain(2, 0.5), [0, 1], sizes=SMALL, num_seeds=100, report=report)
    assert result.num_seeds == 16
    assert calls == [(0, 100), (8, 100), (16, 100)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": []}, "`order` must name at least one task"),
        ({"order": ["A", "Z"]}, "`order` must name a known task, got 'Z'"),
        ({"order": [0, 2]}, "`order` must list task indices from 0 to 1"),
        ({"num_seeds": 0}, "`num_seeds` must be a positive integer"),
        ({"steps": 0}, "`steps` must be a positive integer"),
        ({"learning_rate": 0.1}, r"`learning_rate` must be above 0 and below 2 N_s / N_x = 0\.02"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be above 0"),
        ({"sizes": Sizes(num_latent=9000, num_inputs=10**6)}, "at most 10,000, got 18,000.*at most 5000 latent"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        simulate(chain(2, 0.5), options.pop("order", [0, 1]), **options)


def test_a_matrix_that_is_none_is_repaired_and_said_so():
    bad = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert "repaired to the nearest correlation matrix" in simulate(bad, [0, 1, 2], sizes=SMALL).notes[0]
    with pytest.raises(ValueError, match="positive semidefinite"):
        simulate(bad, [0, 1, 2], sizes=SMALL, repair=False)


def test_numbers_of_numpy_go_into_json():
    sizes = Sizes(num_latent=np.int64(5), num_inputs=np.int64(200), num_outputs=np.int64(2))
    result = simulate(np.eye(2), [0, 1], sizes=sizes, steps=np.int64(3), num_seeds=np.int64(2), seed=np.int64(1))
    assert json.loads(result.to_json())["steps"] == 3
