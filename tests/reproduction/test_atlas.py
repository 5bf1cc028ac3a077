"""The atlas on runs with known answers: spread, retention and gains are found again, and every claim can turn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction import atlas_table, claims
from reproduction.atlas import cells, main, network_steps, toml
from reproduction.atlas_results import ALL_PAIRS, LAST_PAIR, RUN_ENDING, CellResult, mean_root, over_sets, slope
from reproduction.figures import atlas as figure_module
from reproduction.figures.atlas import Config, figure, planned, specs
from reproduction.figures.atlas_claims import objective_claim
from reproduction.law_results import ERROR, LAST_ROW, LAW, RUN, SHRUNKEN, part_of
from taskorder.runs.settings import JOINT, read_config
from taskorder.runs.specs import RunSpecs, orders_to_train
from taskorder.theory.law import knowledge_path

ROOT = Path(__file__).parents[2]
SETS = 3
NONE = dict.fromkeys(("fashion", "cifar100", "features", "cifar100_20tasks", "features_10tasks", "features_20tasks"), 0)
SMALL = Config(**{**NONE, "fashion": SETS})
BY_NAME = {cell.name: cell for cell in cells()}
KEPT = {"plain": 0.1, "replay5": 0.45, "replay20": 0.6, "replay100": 0.8, "ewc": 0.2, "lwf": 0.3}


def table(number, P=5, contrast=0.6, mixed=0.2):
    """What single tasks teach: row sums differ, so the last task matters; with contrast 0 all tasks are alike.

    mixed: how much the entries of a row differ.
    """
    rng = np.random.default_rng(number)
    S = 0.35 + contrast * (rng.uniform(-0.5, 0.5, (P, 1)) + mixed * rng.uniform(-0.5, 0.5, (P, P)))
    S = np.clip(S, -0.05, 0.9)
    np.fill_diagonal(S, 0.9)
    return S


def run_of(params, S, retention, *, noise=0.0, level=0.0, squares=False):
    """A result that follows the law with table `S`; noise of its own at every end of an order.

    squares: accuracy at the end is not the mean knowledge but what the paper's error ranks.
    """
    P, number = len(S), params["set"]
    rng = np.random.default_rng([number, params["seed"], 7])
    rows = {(): np.zeros(P)}
    for order in orders_to_train({"num_tasks": P, **params}, number):
        path = knowledge_path(S, order, retention)
        for length in range(1, P + 1):
            rows.setdefault(order[:length], path[length])
        if squares:
            rows[order] = path[P] + 1 - ((1 - path[P]) ** 2).mean() - path[P].mean()
        rows[order] = rows[order] + noise * rng.standard_normal() + level
    known = np.array(list(rows.values()))
    guess = 0.1 if params.get("head") == "class" else 0.5

    def tables(m):
        return {
            "accuracy": (guess + (1 - guess) * m).tolist(),
            "loss": (1 - m).tolist(),
            "chance": np.ones_like(m).tolist(),
        }

    return {
        "task_set": {"names": [f"t{i}" for i in range(P)], "seed": number, "dataset": "made up", "tasks": []},
        "beginnings": [".".join(map(str, prefix)) for prefix in rows],
        **tables(known),
        "similarities": {name: tables(S) for name in params["similarities"]},
    }


def result_of(name, count=SETS, contrast=0.6, mixed=0.2, **how):
    """A cell with so many task sets."""
    cell = BY_NAME[name]
    config = replace(cell.config, num_sets=count)
    rows = [
        run_of(
            spec.params, table(spec.params["set"], config.num_tasks, contrast, mixed), KEPT.get(cell.way, 1.0), **how
        )
        for spec in RunSpecs(config)
    ]
    return CellResult(cell, part_of(name, name, config, rows, 3))


def made(**there):
    """The figure of made-up runs: settings of `run_of`, or a number of sets, by head_way; other cells are missing."""
    rows = []
    for cell in planned(SMALL):
        how = dict(there.get(f"{cell.head}_{cell.way}", {"count": 0}))
        count, contrast, d = (
            how.pop("count", SETS),
            how.pop("contrast", 0.6),
            how.pop("retention", KEPT.get(cell.way, 1.0)),
        )
        for spec in RunSpecs(cell.config):
            number = spec.params["set"]
            found = number - cell.config.first_set < count
            rows.append(run_of(spec.params, table(number, contrast=contrast), d, **how) if found else None)
    return figure(SMALL, rows)


def verdict(found, start):
    """Of the one claim that begins so."""
    (claim,) = (claim for claim in found.claims if claim.claim.startswith(start))
    return claim.verdict


def test_intervals_are_students_for_means_and_the_jackknifes_for_ratios():
    from scipy.stats import t

    values = np.random.default_rng(0).normal(3, 1, 5)
    low, high = t.interval(0.95, 4, values.mean(), values.std(ddof=1) / np.sqrt(5))
    assert over_sets(values) == pytest.approx((values.mean(), low, high))
    sums = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    assert over_sets(sums, slope) == pytest.approx((0.5, 0.5, 0.5))


def test_three_task_sets_cover_as_often_as_they_say():
    draws = np.random.default_rng(1).normal(0, 1, (2000, 3))
    covered = [number.low < 0 < number.high for number in map(over_sets, draws)]
    assert 0.93 < np.mean(covered) < 0.97


def test_the_spread_is_split_into_order_and_seed():
    quiet, noisy = result_of("fashion-shared-plain"), result_of("fashion-shared-plain", noise=0.05)
    assert np.allclose(quiet.shared, quiet.variances)
    assert mean_root(noisy.shared) == pytest.approx(mean_root(quiet.shared), rel=0.1)
    added = noisy.variances.mean() - quiet.variances.mean()
    assert np.sqrt(added) == pytest.approx(100 * 0.5 * 0.05, rel=0.15)
    alone = result_of("fashion-shared-plain", contrast=0.0, noise=0.05)
    assert mean_root(alone.shared) < 0.2 * mean_root(alone.variances)


@pytest.mark.parametrize("name", ["fashion-shared-replay20", "fashion-class-ewc", "fashion-task-lwf"])
def test_the_retention_is_found_again(name):
    result = result_of(name)
    assert result.retention.value == pytest.approx(KEPT[result.cell.way], abs=1e-6)


def test_predictions_that_know_all_explain_and_earn_all():
    report = result_of("fashion-shared-replay20").report
    assert np.allclose(report.gain(RUN), report.best)
    assert report.gain(LAW).mean() > 0.5 * report.best.mean()
    for rule in (LAW, ERROR, LAST_ROW, LAST_PAIR, ALL_PAIRS, RUN_ENDING):
        assert report.has(rule)
        assert (report.gain(rule) <= report.best + 1e-9).all()
    noisy = result_of("fashion-shared-replay20", noise=0.05).report
    assert noisy.gain(RUN).mean() < noisy.best.mean()
    assert noisy.explained(RUN).mean() < report.explained(RUN).mean()


def test_pilots_have_scores_of_their_own():
    result = result_of("fashion-shared-plain")
    assert set(result.pilots) == {"1%", "10%"}
    assert all(pilot.has(SHRUNKEN) for pilot in result.pilots.values())


def test_a_cell_with_one_seed_and_sampled_orders():
    result = result_of("cifar100-20tasks-shared-plain", count=2)
    assert not result.part.crossed
    assert result.report.has(LAW)
    assert not result.report.has(RUN)
    assert not result.report.has(LAST_PAIR)
    assert 0 <= result.retention.value <= 1


def test_two_seeds_of_the_same_sampled_orders_are_split_as_well():
    result = result_of("features-10tasks-shared-plain")
    assert result.part.crossed
    assert np.allclose(result.shared, result.variances)
    assert np.allclose(result.report.gain(RUN), result.report.best)
    assert not result.report.has(RUN_ENDING)
    config = Config(**{**NONE, "features_10tasks": SETS})
    runs = [
        run_of(spec.params, table(spec.params["set"], 10), KEPT["plain"]) if spec.params.get("head") is None else None
        for spec in specs(config)
    ]
    text = "Order matters by more than a point; frozen features, 10 tasks, one head, plain"
    assert verdict(figure(config, runs), text) == "reproduced"


def test_order_matters_in_a_cell_or_not():
    text = "Order matters by more than a point; Fashion-MNIST, one head, plain"
    assert verdict(made(shared_plain={}), text) == "reproduced"
    assert verdict(made(shared_plain={"contrast": 0.0, "noise": 0.01}), text) == "not reproduced"


def test_a_strategy_lowers_the_spread_or_not():
    text = "With replay of 20 order matters less than with plain; Fashion-MNIST, one head"
    assert verdict(made(shared_plain={}, shared_replay20={}), text) == "reproduced"
    swapped = made(shared_plain={"retention": 0.8}, shared_replay20={"retention": 0.1})
    assert verdict(swapped, text) == "not reproduced"


@pytest.mark.parametrize(("level", "decided"), [(1.0, "reproduced"), (-1.0, "not reproduced")])
def test_means_are_above_the_best_order_or_not(level, decided):
    found = made(shared_plain={}, shared_replay20={"level": level}, shared_joint={"level": level})
    mixing = "Mixing all tasks is above the best order of another run; Fashion-MNIST, one head, plain"
    assert verdict(found, mixing) == decided
    replay = "Replay of 20 in any order is above plain training in its best order; Fashion-MNIST, one head"
    assert verdict(found, replay) == decided


@pytest.mark.parametrize(("squares", "decided"), [(False, "reproduced"), (True, "not reproduced")])
def test_the_better_objective_is_found(squares, decided):
    names = ("fashion-shared-replay20", "fashion-class-replay100")
    results = [result_of(name, count=16, mixed=1.0, squares=squares) for name in names]
    assert objective_claim("fashion", results).verdict == decided
    assert objective_claim("fashion", [result_of("fashion-shared-plain")]).verdict == "not tested"
    assert objective_claim("fashion", [result_of("fashion-task-replay20")]).verdict == "not tested"


def test_order_matters_less_where_more_is_kept_or_not():
    text = "Order matters less where more is kept"
    cells_there = {f"shared_{way}": {} for way in KEPT}
    assert verdict(made(**cells_there), text) == "reproduced"
    grown = {f"shared_{way}": {"contrast": 1.5 * d**2} for way, d in KEPT.items()}
    assert verdict(made(**grown), text) == "not reproduced"
    assert verdict(made(**dict([*cells_there.items()][1:])), text) == "not tested"


def test_missing_cells_are_not_tested():
    found = made(shared_plain={}, class_ewc={"count": 2})
    tested = {claim.claim: claim.verdict for claim in found.claims}
    assert tested["Order matters by more than a point; Fashion-MNIST, one head, replay of 20"] == "not tested"
    assert tested["Order matters by more than a point; Fashion-MNIST, all classes, EWC"] == "not tested"
    assert tested["With replay of 20 order matters less than with plain; Fashion-MNIST, one head"] == "not tested"
    assert tested["Order matters by more than a point; Fashion-MNIST, one head, plain"] == "reproduced"
    assert any("one head, replay of 20" in note for note in found.notes if "not trained yet" in note)


def test_without_results_there_is_a_figure_that_says_so():
    config = Config(**dict.fromkeys(NONE, 2))
    found = figure(config, [None] * len(specs(config)))
    assert {claim.verdict for claim in found.claims} == {"not tested"}
    assert len(found.claims) == 6
    assert claims.FigureData.from_json(found.to_json()).panels == ()


def test_the_figure_is_stored_and_drawn_again():
    found = made(shared_plain={}, class_replay20={}, class_joint={})
    assert len(found.panels) == 4
    assert claims.FigureData.from_json(found.to_json()).drawing.panels[0].title == found.panels[0].title
    single = made(shared_plain={"count": 1})
    assert single.panels == ()
    assert "one head, plain: 1" in " ".join(single.notes)


@pytest.mark.parametrize("settings", [{"fashion": -1}, {"min_sets": 1}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Config(**settings)


def test_settings_of_the_cells_are_read_back(tmp_path, capsys):
    main([str(tmp_path)])
    assert "wrote 69 files" in capsys.readouterr().out
    for cell in cells():
        assert read_config(tmp_path / f"atlas-{cell.name}.toml") == cell.config
    main([])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 71
    assert all(network_steps(cell) > 0 for cell in cells())
    assert toml(next(cells()).config).startswith("dataset")


def test_the_figure_wants_the_runs_that_the_settings_train():
    wanted = {spec.digest for spec in specs(figure_module.FIGURES[0].full)}
    assert {spec.digest for cell in cells() for spec in RunSpecs(cell.config)} == wanted
    assert sum(cell.way == JOINT for cell in cells()) == 9


def test_a_row_of_the_table_says_what_was_made():
    plain, mixed = result_of("fashion-shared-plain"), result_of("fashion-shared-joint", level=0.1)
    heading, _, line = atlas_table.table([plain, mixed])
    cells_of = [cell.strip() for cell in line.strip("|").split("|")]
    assert len(cells_of) == len(heading.strip("|").split("|"))
    assert cells_of[0] == "one head, plain"
    assert cells_of[1] == f"{plain.accuracy.mean():.1f}"
    assert cells_of[6].startswith("10 % [10, 10]")
    assert cells_of[7].endswith("/ 1.00")
    alone = [*atlas_table.table([plain])][-1]
    assert alone.endswith("| - |")


@pytest.mark.slow("pages")
def test_the_tables_of_the_page_are_those_of_the_kept_runs(capsys):
    atlas_table.main(ROOT / "reproduction" / "results")
    page = (ROOT / "docs" / "when.md").read_text(encoding="utf-8")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) > 20
    assert [line for line in lines if line not in page] == []
