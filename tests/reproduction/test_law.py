"""The law of retention on results with known answers: every number and every claim can turn."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction import image_runs, load
from reproduction.claims import FigureData
from reproduction.figures import law as figure_module
from reproduction.figures import law_claims as claims
from reproduction.law_results import (
    CLOSED,
    LAST_ROW,
    LAW,
    ROW_SORT,
    RULES,
    RUN,
    SHRUNKEN,
    TYPICAL,
    part_of,
    pilot_sizes,
    report_of,
    scored,
    table_of,
)
from reproduction.law_retention import retention_by_step, retention_over_steps
from reproduction.running import reproduce
from taskorder.runs.archive import write_archive
from taskorder.runs.settings import Config, read_config
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store
from taskorder.theory.law import PLAIN_RETENTION, final_knowledge, knowledge_path

CONFIGS = Path(__file__).parents[2] / "reproduction" / "configs"
P = 4
law = load("law")


def table(number, symmetric=True):
    rng = np.random.default_rng(number)
    S = rng.uniform(-0.2, 0.7, (P, P))
    S = (S + S.T) / 2 if symmetric else S
    np.fill_diagonal(S, rng.uniform(0.85, 0.98, P))
    return S


def result_of(number, S, retention=PLAIN_RETENTION, *, sign=1.0, noise=0.0, seed=0, shown=None, names=("test", "1%")):
    """A run that follows the law with table `S`; measured tables are those of `shown`."""
    rng = np.random.default_rng([number, seed, 5])
    rows = {(): np.zeros(P)}
    for order in itertools.permutations(range(P)):
        path = knowledge_path(S, order, retention)
        for length in range(1, P + 1):
            rows.setdefault(order[:length], path[length] + noise * rng.standard_normal(P))
    known = 0.5 + sign * (np.array(list(rows.values())) - 0.5)
    alone = np.asarray(S if shown is None else shown) + noise * rng.standard_normal((P, P))

    def tables(m):
        return {"accuracy": (0.5 + m / 2).tolist(), "loss": (1 - m).tolist(), "chance": np.ones_like(m).tolist()}

    return {
        "task_set": {"names": [f"t{i}" for i in range(P)], "seed": number, "dataset": "made up", "tasks": []},
        "beginnings": [".".join(map(str, prefix)) for prefix in rows],
        **tables(known),
        "similarities": {name: tables(alone) for name in names},
    }


def part(make, count=12, seeds=1, name="cifar100-p5", label="Made up"):
    config = Config(
        dataset="cifar100", num_sets=count, num_tasks=P, num_seeds=seeds, orders="all", similarities=("test", "1%")
    )
    return part_of(name, label, config, [make(number, seed) for number in range(count) for seed in range(seeds)], 4)


# scores


def test_a_world_that_follows_the_law_is_predicted_to_the_point():
    report = report_of(part(lambda number, seed: result_of(number, table(number))))
    assert report.explained(LAW) == pytest.approx(np.ones(12))
    assert report.rank(LAW) == pytest.approx(np.ones(12))
    assert report.gain(LAW) == pytest.approx(report.best)
    moments = report.moments(LAW)
    assert moments[:, 0] / moments[:, 1] == pytest.approx(np.ones(12))
    assert moments[:, 2] == pytest.approx(np.zeros(12), abs=1e-9)
    assert report.explained(CLOSED).mean() < 0.9
    for rule in RULES:
        assert (report.gain(rule) <= report.best + 1e-9).all()


def test_scores_are_those_of_the_theory():
    sets = part(lambda number, seed: result_of(number, table(number, symmetric=False)), count=4)
    S = table_of(sets.sets[0][0], "test", sets)
    m = table(0, symmetric=False)
    np.testing.assert_allclose(S, 0.75 * m + 0.25 * m.T, atol=1e-12)
    (scored_set,) = scored(sets)[0]
    for order, value in zip(scored_set.truth.orders[:5], scored_set.scores[LAW], strict=False):
        assert value == pytest.approx(final_knowledge(S, order, PLAIN_RETENTION).mean())
    assert scored_set.scores[LAST_ROW] == pytest.approx(S.mean(axis=1)[scored_set.truth.orders[:, -1]])


def test_a_choice_among_equals_is_their_mean():
    (scored_set,) = scored(part(lambda number, seed: result_of(number, table(number)), count=4))[0]
    last = scored_set.truth.orders[scored_set.scores[LAST_ROW].argmax(), -1]
    ending = scored_set.truth.accuracy[scored_set.truth.orders[:, -1] == last]
    assert len(ending) == math.factorial(P - 1)
    assert scored_set.gain(LAST_ROW) == pytest.approx(ending.mean() - scored_set.truth.mean)
    rows = table_of_sort(scored_set)
    assert scored_set.gain(ROW_SORT) == pytest.approx(scored_set.truth.at(rows) - scored_set.truth.mean)


def table_of_sort(scored_set):
    return tuple(np.argsort(table(scored_set.truth.number).sum(axis=1)).tolist())


def test_tables_and_truth_come_from_different_seeds():
    """Seed 0 shows the true tables, seed 1 their opposite: only the truth of seed 1 is predicted well."""

    def make(number, seed):
        S = table(number)
        return result_of(number, S, shown=S if seed == 0 else 0.5 - S)

    crossed = part(make, count=4, seeds=2)
    assert crossed.crossed
    for each in scored(crossed):
        assert [scored_set.truth.seed for scored_set in each] == [1, 0]
        assert each[0].rank(LAW) == pytest.approx(1)
        assert each[1].rank(LAW) < 0
        assert each[0].explained(RUN) == pytest.approx(1)
    assert not report_of(part(make, count=4)).has(RUN)


def test_a_set_without_all_seeds_is_left_out():
    config = Config(dataset="cifar100", num_sets=2, num_tasks=P, num_seeds=2, similarities=("test", "1%"))
    rows = [result_of(0, table(0)), None, result_of(1, table(1)), result_of(1, table(1))]
    assert [runs[0].truth.number for runs in part_of("cifar100-p5", "x", config, rows, 4).sets] == [1]


@pytest.mark.parametrize(
    ("settings", "estimate", "sizes"),
    [
        ({"dataset": "fashion-mnist"}, "1%", {120}),
        ({"dataset": "cifar10"}, "0.1%", {10}),
        ({"dataset": "cifar100"}, "1%", {10}),
        ({"dataset": "cifar100", "classes_per_task": 5}, "1%", {25}),
        ({"dataset": "cifar100"}, "300 examples", {300}),
        ({"dataset": "digits"}, "10 examples", {10}),
        ({"dataset": "cifar100", "uneven": 100.0, "num_tasks": 3}, "300 examples", {10, 100, 300}),
    ],
)
def test_sizes_of_samples(settings, estimate, sizes):
    assert set(pilot_sizes(Config(**settings), estimate, 0).tolist()) == sizes


# retention


@pytest.mark.parametrize("retention", [0.0, 0.13, 0.6])
def test_retention_is_found_at_every_step(retention):
    sets = part(lambda number, seed: result_of(number, table(number, symmetric=False), retention))
    by_step = retention_by_step(sets)
    assert list(by_step) == [2, 3, 4]
    for number in (*by_step.values(), retention_over_steps([sets])):
        assert number == pytest.approx((retention,) * 3, abs=1e-9)


def test_a_second_seed_takes_the_noise_out():
    noisy = part(lambda number, seed: result_of(number, table(number), 0.6, noise=0.25, seed=seed), 40, seeds=2)
    raw, corrected = (retention_by_step(noisy, corrected=on)[2] for on in (False, True))
    assert raw.high < 0.55
    assert abs(corrected.value - 0.6) < 0.05
    assert corrected.low < 0.6 < corrected.high


# claims


def verdicts(checked):
    return {claim.claim.partition(";")[0]: claim.verdict for claim in checked}


def test_claims_turn_with_the_world():
    true = report_of(part(lambda number, seed: result_of(number, table(number))))
    opposite = report_of(part(lambda number, seed: result_of(number, table(number), sign=-1.0)))
    good, bad = (verdicts(claims.part_claims(report)) for report in (true, opposite))
    assert good["The law predicts accuracies"] == "reproduced"
    assert bad["The law predicts accuracies"] == "not reproduced"
    for rule in (TYPICAL, "the closed form", "max-path"):
        text = f"The law's order is above that of {rule}"
        assert good[text] == "reproduced"
        assert bad[text] != "reproduced"
    pooled = [verdicts(claims.pooled_claims([report, report], "Over all")) for report in (true, opposite)]
    for text in ("the law's order is above that of the closed form", "the law's order is above that of max-path"):
        assert pooled[0][f"Over all, {text}"] == "reproduced"
        assert pooled[1][f"Over all, {text}"] != "reproduced"


def test_the_last_row_is_nearly_all_only_without_retention():
    alike, less = (report_of(part(lambda number, seed, d=d: result_of(number, table(number), d))) for d in (0.0, 0.9))
    text = "The last row sum explains nearly as much as the law"
    assert verdicts(claims.part_claims(alike))[text] == "reproduced"
    assert retention_over_steps([less.part]).value == pytest.approx(0.9)
    assert claims.retention_claim(alike.part).verdict == "reproduced"
    assert claims.retention_claim(less.part).verdict == "not reproduced"


def test_a_pilot_that_shows_the_opposite_is_below():
    def make(number, seed, shown):
        S = table(number)
        result = result_of(number, S)
        result["similarities"]["1%"] = result_of(number, S, shown=shown(S))["similarities"]["test"]
        return result

    good, bad = (
        report_of(part(lambda number, seed, shown=shown: make(number, seed, shown)), "1%")
        for shown in (lambda S: S, lambda S: S - 1.5 * S.mean(axis=1)[:, None])
    )
    assert good.has(SHRUNKEN)
    assert claims.pilot_claims([good], "1%")[0].verdict == "reproduced"
    assert claims.pilot_claims([bad], "1%")[0].verdict == "not reproduced"
    assert len(claims.pooled_pilots([good, bad], "Over all", "1%")) == 2


# the figure


def test_the_configs_of_the_repository_are_the_runs_of_the_figure():
    for name in image_runs.parts(law.full):
        wanted = list(RunSpecs(figure_module.part_config(law.full, name)))
        paths = [CONFIGS / f"{name}.toml", CONFIGS / f"{name.removesuffix('-p5')}-seeds.toml"]
        configs = [RunSpecs(read_config(path)) for path in paths if path.exists()]
        assert any(list(specs) == wanted for specs in configs), name


def test_without_runs_nothing_is_tested_and_nothing_drawn():
    figure = law.figure(law.full, [None] * len(law.specs(law.full)))
    assert Counter(claim.verdict for claim in figure.claims).keys() == {"not tested"}
    assert figure.panels == ()
    assert "Not complete yet" in figure.notes[-1]
    assert FigureData.from_json(figure.to_json()).claims == figure.claims


def test_development_sets_are_told_apart_and_new_parts_taken_up():
    sets = part(lambda number, seed: result_of(number, table(number)), count=60, seeds=2, name="fashion-mnist")
    later = replace(part(lambda number, seed: result_of(number, table(number))), label="New", name="cifar100-new")
    config = replace(law.full, **dict.fromkeys((name.replace("-", "_") for name in image_runs.parts(law.full)), 0))
    alone = figure_module.figure_of({"fashion-mnist": sets}, config)
    both = figure_module.figure_of({"fashion-mnist": sets, "cifar100-new": later}, config)
    assert not any("new sets" in claim.claim for claim in alone.claims)
    assert any(claim.claim.startswith("Over the new sets") for claim in both.claims)
    (pooled,) = [claim for claim in alone.claims if claim.claim.startswith("Over all held-out sets, the law earns")]
    assert pooled.found.endswith("10 sets")
    assert len(alone.panels) == 6


@pytest.mark.slow("training")
def test_a_run_of_digits_becomes_part_of_the_figure(tmp_path, monkeypatch):
    """Trained, exported and taken up: with random orders and those of rules and law, from samples of ten images."""
    from taskorder.runs.training import run_batch

    settings = {
        "dataset": "digits", "net": "mlp", "num_tasks": 4, "orders": "8+rules+law", "epochs": 2, "uneven": 3.0,
        "similarities": ("test", "10 examples"),
    }  # fmt: skip
    monkeypatch.setitem(image_runs.PARTS, "cifar100-new", settings)
    fields = [name.replace("-", "_") for name in image_runs.parts(law.full)]
    changed = {**dict.fromkeys(fields, "0"), "cifar100_new": "4"}
    before, _ = reproduce("law", tmp_path, settings=changed)
    assert "CIFAR-100 100-149" in before.notes[-1]
    specs = RunSpecs(Config(**settings, num_sets=4, num_seeds=2))
    with Store(tmp_path / "digits.sqlite") as store:
        store.put(specs, run_batch(specs), 1.0)
        (tmp_path / "tables").mkdir()
        write_archive(tmp_path / "tables" / "digits.csv.gz", store)
    after, _ = reproduce("law", tmp_path, settings=changed)
    assert after.made["missing"] == 0
    assert not any("Not complete yet" in note for note in after.notes)
    tested = [claim for claim in after.claims if claim.verdict != "not tested"]
    assert any(claim.claim.startswith("From a pilot of 10 examples a task the law") for claim in tested)
    assert any("4 sets" in claim.found for claim in tested)
    assert after.panels
