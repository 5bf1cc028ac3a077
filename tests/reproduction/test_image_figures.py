"""The image figures: from settings to runs, from results with known answers to verdicts; one small run of digits."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction import IMAGES, load
from reproduction import image_runs as runs
from reproduction.claims import FigureData
from reproduction.figures.noise_ceiling import paired
from taskorder.ordering.rules import typicality
from taskorder.plots.draw import save
from taskorder.runs import settings
from taskorder.runs.settings import read_config
from taskorder.runs.specs import RunSpecs, orders_to_train

CONFIGS = Path(__file__).parents[2] / "reproduction" / "configs"
fig1c, fig5, fig7, fig9, fig10, truth, noise_ceiling, training_choices, *_ = map(load, IMAGES)
COUNT = 12


@pytest.fixture
def make_results(make_result, make_similarity):
    """A function (config, slope) -> results in which late typical tasks help, or harm, and nothing else matters."""

    def make(config, slope=0.05, noise=0.002):
        made = []
        for spec in load_specs(config):
            P, number, names = (spec.params[key] for key in ("num_tasks", "set", "similarities"))
            C, rng = make_similarity(P, number), np.random.default_rng([number, spec.params["seed"], 7])

            def accuracy(order, C=C, rng=rng):
                position = float(typicality(C)[list(order)] @ np.arange(len(C))) / len(C)
                return 0.6 + slope * position + noise * rng.standard_normal()

            orders = None if spec.params["orders"] == "all" else sampled(spec)
            made.append(make_result(number, dict.fromkeys(names, C), accuracy, orders))
        return made

    return make


def load_specs(config):
    return fig1c.specs(config) if isinstance(config, type(fig1c.full)) else runs.specs(config)


def sampled(spec):
    """The random orders of a spec and every order that a rule may want: here all."""
    first = orders_to_train(spec.params, spec.params["set"])
    return list(dict.fromkeys([*first, *itertools.permutations(range(spec.params["num_tasks"]))]))


def small(module, **changes):
    """A config with `COUNT` sets of each part; seven tasks would have too many orders to make up."""
    counts = {name.replace("-", "_"): COUNT for name in runs.parts(module.full)}
    return type(module.full)(
        **{**counts, "cifar100_p7": 0, **changes} if "cifar100_p7" in counts else {**counts, **changes}
    )


def verdicts(figure):
    return Counter(check.verdict for check in figure.claims)


# settings and runs


def test_the_configs_of_the_repository_are_the_runs_of_the_figures():
    whole = {
        name: (module, count)
        for module in (fig5, fig7, training_choices)
        for name, count in runs.parts(module.full).items()
        if name != "fashion-mnist" or module is fig5
    }
    for name, (module, count) in whole.items():
        wanted = RunSpecs(runs.run_config(module.full, name, count))
        assert RunSpecs(read_config(CONFIGS / f"{name}.toml")) == wanted, name
    assert RunSpecs(read_config(CONFIGS / "fig1c.toml")) == fig1c.specs(fig1c.full)
    seeds = [
        spec
        for name in ("fashion-mnist", "cifar10", "cifar100")
        for spec in RunSpecs(read_config(CONFIGS / f"{name}-seeds.toml"))
    ]
    assert seeds == noise_ceiling.specs(noise_ceiling.full)


def test_figures_share_their_runs():
    digests = {spec.digest for figure in (fig5, fig7) for spec in figure.specs(figure.full)}
    for module in (fig9, fig10, truth):
        assert {spec.digest for spec in module.specs(module.full)} <= digests


def test_parts_that_go_on_where_another_ends_are_one():
    config = type(fig9.full)(fashion_mnist=0)
    numbers = [(spec.params["set"], spec.params["orders"]) for spec in fig9.specs(config)]
    assert numbers == [(number, "all" if number < 30 else "30+rules") for number in range(100)]
    parts = runs.sets_by_part(config, [None] * 100)
    assert [(part.label, part.planned) for part in parts.values()] == [("Fashion-MNIST", 0), ("CIFAR-10", 100)]


def test_runs_of_several_settings_in_one_batch_come_back_in_their_places(monkeypatch):
    batches = []

    def run_batch(specs):
        batches.append([spec.params["batch_size"] for spec in specs])
        return [{"set": spec.params["set"], "batch_size": spec.params["batch_size"]} for spec in specs]

    monkeypatch.setattr("taskorder.runs.training.run_batch", run_batch)
    four, eight = (RunSpecs(settings.Config(num_sets=2, batch_size=size)) for size in (4, 8))
    results = runs.run_batch([four[0], *eight, four[1]])
    assert [(result["batch_size"], result["set"]) for result in results] == [(4, 0), (8, 0), (8, 1), (4, 1)]
    assert batches == [[4, 4], [8, 8]]


def test_a_figure_wants_a_result_for_each_spec():
    with pytest.raises(ValueError, match=r"^`results` must be one for each spec, got 1\."):
        fig5.figure(small(fig5), [None])


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match=r"^`min_sets` must be a whole number of at least 2, got 1"):
        type(fig5.full)(min_sets=1)
    with pytest.raises(ValueError, match=r"^`cifar10` must be a whole number of at least 0, got -1"):
        type(fig9.full)(cifar10=-1)
    with pytest.raises(
        ValueError, match=r"^`orders` must be all, a positive number, or one like 30\+rules, got 'some'"
    ):
        type(fig7.full)(orders="some")
    with pytest.raises(ValueError, match=r"^`num_seeds` must be a whole number from 2 to 2, got 3"):
        type(noise_ceiling.full)(num_seeds=3)


# figures


@pytest.mark.parametrize("name", IMAGES)
def test_without_runs_nothing_is_tested_and_nothing_drawn(name, tmp_path):
    module = load(name)
    config = module.full
    figure = module.figure(config, [None] * len(module.specs(config)))
    assert verdicts(figure).keys() == {"not tested"}
    assert figure.panels == ()
    assert FigureData.from_json(figure.to_json()).claims == figure.claims
    assert save(figure.drawing, tmp_path)[0].stat().st_size > 0


@pytest.mark.parametrize(("module", "panels"), [(fig5, 8), (fig10, 8), (fig7, 6), (fig9, 10)])
def test_verdicts_turn_with_the_data(module, panels, make_results):
    config = small(module, bin_width=1.0)
    good, bad = (module.figure(config, make_results(config, slope)) for slope in (0.05, -0.05))
    assert len(good.panels) == panels
    rule = [
        (claim.verdict, other.verdict)
        for claim, other in zip(good.claims, bad.claims, strict=True)
        if claim.claim.startswith("periphery-to-core") and " is above " in claim.claim and "max-path" not in claim.claim
    ]
    assert len(rule) >= 6
    assert set(rule) == {("reproduced", "not reproduced")}
    assert all(series.x for panel in good.panels for series in panel.series)


def test_a_tenth_of_a_percent_that_tells_as_much_is_not_insignificant(make_results):
    config = small(fig9)
    claims = {check.claim: check for check in fig9.figure(config, make_results(config)).claims}
    claim = "The gain of periphery-to-core with {} % of the data is {}; CIFAR-10"
    assert claims[claim.format(0.1, "not significant")].verdict == "not reproduced"
    assert claims[claim.format(1, "comparable to that with all")].verdict == "reproduced"
    assert claims[claim.format(1, "comparable to that with all")].value == pytest.approx(1)


def test_missing_sets_are_said_and_the_rest_is_scored(make_results, tmp_path):
    config = small(fig5)
    results = make_results(config)
    results[:3] = [None] * 3
    figure = fig5.figure(replace(config, min_sets=10), results)
    assert save(figure.drawing, tmp_path)[0].stat().st_size > 0
    assert "Fashion-MNIST: 9 sets so far (12 planned); CIFAR-10: 24 sets" in figure.notes[0]
    by_set = {check.claim.rpartition("; ")[2]: check.verdict for check in figure.claims[:12]}
    assert by_set["Fashion-MNIST"] == "not tested"
    assert by_set["CIFAR-10"] != "not tested"


def test_truth_places_every_rule_among_all_orders(make_results, tmp_path):
    config = small(truth)
    figure = truth.figure(config, make_results(config, noise=0.0))
    claims = {check.claim: check for check in figure.claims}
    best = claims["periphery-to-core is above the mean order; CIFAR-10"]
    assert "100 % [100, 100] of the best order's lead; percentile 100 [100, 100]" in best.found
    assert claims["core-to-periphery is below the mean order; CIFAR-10"].verdict == "reproduced"
    ranked = claims["The score of periphery-to-core ranks all orders of a set by their accuracy; CIFAR-10"]
    assert ranked.value == pytest.approx(1)
    assert [panel.title for panel in figure.panels][:3] == ["Gain", "Place", "Wins"]
    ends = figure.panels[5].series[1].y
    assert list(ends) == sorted(ends)
    gains = {
        series.label: dict(zip(figure.panels[0].steps, series.y, strict=False)) for series in figure.panels[0].series
    }
    assert gains["CIFAR-10"]["periphery-to-core"] == pytest.approx(gains["CIFAR-10"]["best order"])
    assert save(figure.drawing, tmp_path)[0].stat().st_size > 0


@pytest.mark.slow("training")
def test_the_noise_ceiling_tells_luck_from_order(make_results):
    config = small(noise_ceiling)

    def share(slope, noise):
        figure = noise_ceiling.figure(config, make_results(config, slope, noise))
        assert len(figure.panels) == 2
        return next(check for check in figure.claims if check.claim.startswith("At least half"))

    sure, luck = share(0.05, 0.0), share(0.0, 0.02)
    assert (sure.verdict, sure.value) == ("reproduced", pytest.approx(1))
    assert luck.verdict == "not reproduced"
    assert luck.low < 0.1 < luck.high + 0.2


def test_seeds_are_paired_by_set(make_results):
    config = small(noise_ceiling)
    results = make_results(config)
    results[1] = None
    sets = paired(runs.sets_by_part(config, results)["fashion-mnist"])
    assert [(trained.number, trained.seed) for trained in sets.truths] == [
        (n, s) for n in range(1, COUNT) for s in (0, 1)
    ]


def test_training_choices_are_compared_on_the_same_sets(make_results, tmp_path):
    config = small(training_choices)
    results = make_results(config, noise=0.0)
    results[COUNT] = None  # of batch 32
    figure = training_choices.figure(config, results)
    claims = {check.claim: check for check in figure.claims}
    kept = claims["The gain of periphery-to-core is comparable to that with the published training; batch 32"]
    assert (kept.verdict, kept.value) == ("reproduced", pytest.approx(1))
    assert "11 sets so far (12 planned); rank correlation of all orders +1.00" in kept.found
    assert figure.panels[0].steps == ("as published", "batch 32", "Adam reset", "1 epoch", "20 epochs")
    assert save(figure.drawing, tmp_path)[0].stat().st_size > 0


def test_figure_1c_turns_with_the_better_order(make_result, make_similarity, tmp_path):
    config = type(fig1c.full)(num_seeds=6)

    def figure(better):
        rng = np.random.default_rng(0)
        return fig1c.figure(
            config,
            [
                make_result(
                    0, make_similarity(3, 0), lambda order: 0.6 + 0.1 * (order == better) + 0.01 * rng.uniform()
                )
                for _ in range(6)
            ],
        )

    assert figure((2, 1, 0)).claims[0].verdict == "reproduced"
    assert figure((0, 1, 2)).claims[0].verdict == "not reproduced"
    assert figure((0, 1, 2)).panels[0].steps == ("ABC", "ACB", "BAC", "BCA", "CAB", "CBA")
    assert save(figure((2, 1, 0)).drawing, tmp_path)[0].stat().st_size > 0


def test_smaller_runs_are_said_to_be_smaller():
    assert runs.smaller_notes(fig5.full) == ()
    expected = ("Not as published: 2 % of the training images and the network mlp throughout.",)
    assert runs.smaller_notes(fig5.quick) == expected
    assert fig1c.figure(fig1c.quick, [None] * 6).notes[1].startswith("Not as published: 10 % of the training images")


def test_truth_wants_all_orders(make_results):
    config = small(truth, orders="6+rules")
    results = [result | {"beginnings": result["beginnings"][:40]} for result in make_results(small(truth))]
    figure = truth.figure(config, results)
    assert {(check.verdict, check.found) for check in figure.claims} == {("not tested", "all orders are needed")}


# from runs to a figure


@pytest.mark.slow("training")
def test_a_small_run_of_digits_becomes_a_figure(monkeypatch):
    digits = {"dataset": "digits", "num_tasks": 3, "epochs": 1, "similarities": ("test",)}
    monkeypatch.setattr(runs, "PARTS", {**runs.PARTS, "fashion-mnist": digits})
    config = type(truth.full)(fashion_mnist=2, cifar10=0, cifar100_p5=0, cifar100_25labels=0, min_sets=2, fraction=0.1)
    specs = truth.specs(config)
    assert len(specs) == 2
    figure = truth.figure(config, json.loads(json.dumps(truth.run_batch(specs))))
    assert len(figure.panels) == 6
    assert verdicts(figure).total() > 15
    steps = figure.panels[0].steps
    assert {"periphery-to-core", "pairwise, trained", "best order"} <= set(steps)
    best = figure.panels[0].series[1].y[steps.index("best order")]
    assert best >= max(figure.panels[0].series[1].y)
