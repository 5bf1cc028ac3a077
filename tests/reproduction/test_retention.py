"""Where the retention comes from: made-up runs that follow the law give back its numbers, and turn the verdicts."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction.figures.retention import figure
from reproduction.image_claims import mean_number
from reproduction.retention_fit import Point, fit, number, retention, set_weights
from reproduction.retention_measured import (
    CELLS,
    PARTS,
    Config,
    _size_sums,
    _steps,
    measured,
    specs,
    uneven_config,
)
from reproduction.retention_pairs import KIND, PAIRS, _chunks, moments, run_batch
from reproduction.retention_uneven import EACH, ONE, predictions
from taskorder.runs.archive import load_archive
from taskorder.runs.settings import read_config
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store
from taskorder.theory.law import final_knowledge
from taskorder.theory.steps import STEPS_EXPONENT, retention_for_steps

ROOT = Path(__file__).parents[2] / "reproduction"
CONFIGS, TABLES = ROOT / "configs", ROOT / "results" / "tables"
SMALL = Config(num_sets=3, uneven_sets=3, order_sets=3, min_sets=3)
NOISE = 0.002


def single_table(number_of_set):
    """What learners of single tasks know."""
    S = np.random.default_rng(number_of_set).uniform(-0.4, 0.6, (5, 5))
    S = (S + S.T) / 2  # the planner's table mixes in the transposed one
    np.fill_diagonal(S, 0.95)
    return S


def kept(steps, exponent):
    """Retention, 0.2 at 1,000 steps; it may rise with the steps."""
    odds = 0.25 * (np.asarray(steps) / 1000) ** -exponent
    return odds / (1 + odds)


def pair_result(params, exponent):
    """The result of a run of pairs: the odds of keeping are 0.2 / 0.8 at 1,000 steps of rate 1e-3."""
    S, rng = single_table(params["set"]), np.random.default_rng([params["set"], params["seed"], 1])

    def noisy(values):
        return (np.array(values) + NOISE * rng.standard_normal(np.shape(values))).tolist()

    def both(stop):
        d = kept(stop * params["learning_rate"] / 1e-3, exponent)
        return [final_knowledge(S, pair, d) for pair in PAIRS]

    return {
        "first": noisy(S),
        "single": noisy([S] * len(params["steps"])),
        "pair": noisy([both(stop) for stop in params["steps"]]),
    }


def order_result(params, d):
    """The result of a run in all orders, with this retention of each task."""
    S, rng = single_table(params["set"]), np.random.default_rng([params["set"], params["seed"], 2])
    prefixes = [p for length in range(6) for p in itertools.permutations(range(5), length)]
    known = np.array([final_knowledge(S, prefix, d) for prefix in prefixes])
    known = known + NOISE * rng.standard_normal(known.shape)
    return {
        "task_set": {"names": list("ABCDE"), "seed": params["set"]},
        "beginnings": [".".join(map(str, prefix)) for prefix in prefixes],
        "accuracy": ((1 + known) / 2).tolist(),
        "loss": (1 - known).tolist(),
        "chance": np.ones_like(known).tolist(),
        "similarities": {},
    }


def made_up(config, exponent):
    """Results of all specs under the law."""
    results = []
    for spec in specs(config):
        if spec.kind == KIND:
            results.append(pair_result(spec.params, exponent))
        elif "uneven" in spec.params:
            d = kept(_steps(config, spec.params["set"]), exponent)
            results.append(order_result(spec.params, d))
        else:
            results.append(order_result(spec.params, 0.1))
    return results


@pytest.fixture(scope="module")
def falling():
    return made_up(SMALL, 0.4)


def verdicts(claims):
    return {claim.claim: claim.verdict for claim in claims}


def test_the_config_of_the_repository_is_the_run_of_the_figure():
    assert RunSpecs(read_config(CONFIGS / "fashion-mnist-uneven.toml")) == RunSpecs(uneven_config(Config()))


def test_the_fit_gives_back_exponents_and_level(falling):
    fitted = measured(SMALL, falling)
    assert fitted.count == 3
    value = fitted.fit.number("steps", 3)
    assert value.value == pytest.approx(-0.4, abs=0.02)
    assert value.low <= value.value <= value.high
    assert fitted.fit.number("learning_rate", 3).value == pytest.approx(-0.4, abs=0.02)
    assert fitted.fit.number("width", 3).value == pytest.approx(0, abs=0.02)
    assert fitted.fit.predicted([0.0] * 6)[0] == pytest.approx(0.2, abs=0.01)
    base = CELLS["base"]
    assert fitted.values[Point(base, 3000)][0] == pytest.approx(kept(3000, 0.4), abs=0.01)


def test_verdicts_turn_with_the_exponent(falling):
    good = figure(SMALL, falling)
    bad = figure(SMALL, made_up(SMALL, -0.4))
    starts = (
        "Retention falls with the steps",
        "Retention falls with the learning rate",
        "A small task takes less away",
        "A retention for each task predicts knowledge better",
        "A retention for each task ranks orders better",
    )
    for start in starts:
        said = [next(c.verdict for c in shown.claims if c.claim.startswith(start)) for shown in (good, bad)]
        assert said == ["reproduced", "not reproduced"], start
    assert len(good.panels) == 6


def test_a_retention_that_does_not_rise_is_said(falling):
    by_claim = verdicts(figure(SMALL, falling).claims)
    label = next(iter(PARTS.values()))[0]
    assert by_claim[f"Retention is higher at the fifth task than at the second; {label}"] != "reproduced"


def test_predictions_with_the_true_retention_are_nearly_exact(falling):
    scores = measured(SMALL, falling).uneven_scores
    assert scores[EACH][:, 0].min() > 0.9
    assert scores[EACH][:, 1].mean() < scores[ONE][:, 1].mean()


def test_uneven_networks_keep_what_their_steps_say(tmp_path):
    config = Config(order_sets=0)
    wanted = RunSpecs(uneven_config(config))
    with Store(tmp_path / "runs.sqlite") as store:
        assert load_archive(TABLES / "fashion-mnist-uneven.json", store) == len(wanted) == 24
        results = store.get(wanted)
    pairs = {place: results[2 * place : 2 * place + 2] for place in range(12)}
    sums = _size_sums(config, pairs)[0]
    d, by_sums = (
        ratios[0] for ratios in (retention(sums, set_weights(12)), retention(sums.sum(axis=1), set_weights(12)))
    )
    steps = np.sort(_steps(config, 0))
    by_steps = retention_for_steps(steps, by_sums)
    assert d == pytest.approx(by_steps, abs=0.05)
    assert np.abs(d - by_sums).max() > 0.1

    # Orders are told no better by it, and no worse: the last task is what counts.
    leads = []
    for place, pair in pairs.items():
        others = np.delete(sums, place, axis=0).sum(axis=(0, 1))
        scores = predictions(pair, _steps(config, place), others[0] / others[1], STEPS_EXPONENT)
        leads.append(scores[EACH] - scores[ONE])
    rank = mean_number(np.array(leads)[:, 0])
    assert -0.05 < rank.low < 0 < rank.high < 0.05


def test_what_is_missing_is_not_tested(falling):
    nothing = figure(SMALL, [None] * len(falling))
    assert set(verdicts(nothing.claims).values()) == {"not tested"}
    assert nothing.panels == ()
    holes = list(falling)
    holes[0] = None  # one seed of a set is gone, and with it the set
    assert set(verdicts(figure(SMALL, holes).claims)) == set(verdicts(nothing.claims))
    assert figure(replace(SMALL, min_sets=2), holes).notes[0].startswith("2 task sets with two seeds")
    with pytest.raises(ValueError, match=r"^`results` must be one for each spec, got 1\."):
        figure(SMALL, [None])


def test_the_other_seed_corrects_for_noise():
    rng = np.random.default_rng(0)
    sums = []
    for seed in range(200):
        S = single_table(seed)
        exact = np.array([final_knowledge(S, pair, 0.5) for pair in PAIRS])
        runs = [
            {
                "first": (S + 0.3 * rng.standard_normal(S.shape)).tolist(),
                "single": [S.tolist()],
                "pair": [exact.tolist()],
            }
            for _ in range(2)
        ]
        sums.append(moments(runs))
    d = number(retention(np.array(sums), set_weights(200))[:, 0], 200)
    assert d.low < 0.5 < d.high
    assert d.high - d.low < 0.1


def test_a_power_of_the_logarithm_is_another_form():
    points = [Point(CELLS["base"], stop) for stop in (30, 300, 3000)]
    values = np.array([[0.4 * (stop / 30) ** -0.2 for _, stop in points]] * 2)
    assert fit(points, values, logarithm=True).residual == pytest.approx(0, abs=1e-9)
    assert fit(points, values).residual > 1e-4


def test_chunks_end_at_every_stop():
    parts = _chunks([30, 100, 300], 80)
    assert [end for _, end in parts if end in (30, 100, 300)] == [30, 100, 300]
    assert all(begin == before for (_, before), (begin, _) in itertools.pairwise(parts))
    assert max(end - begin for begin, end in parts) <= 80


@pytest.mark.slow("training")
def test_pairs_are_trained_and_the_first_task_is_kept_in_part():
    cell = replace(CELLS["base"], dataset="digits", steps=(10, 60), first_steps=100, images=300)
    runs = run_batch(cell.specs(1))
    assert [np.shape(runs[0][name]) for name in ("first", "single", "pair")] == [(5, 5), (2, 5, 5), (2, 20, 5)]
    assert np.diagonal(runs[0]["first"]).min() > 0.5
    short, longer = moments(runs)[:, 0] / moments(runs)[:, 1]
    assert 1 > short > longer > 0
