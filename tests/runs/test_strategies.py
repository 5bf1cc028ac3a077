"""Strategies in settings, specs, stores and results; what was stored before there were any stays valid."""

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

from reproduction import atlas
from taskorder.runs.archive import read_archive
from taskorder.runs.settings import Config, config_of, read_config
from taskorder.runs.specs import RunSpec, RunSpecs, num_trainings, strategy_in
from taskorder.runs.store import Store
from taskorder.strategies import EWC, Distill, L2Init, Replay

ROOT = Path(__file__).parents[2]
OLD = Path(__file__).with_name("store_of_version_2.db")
SMALL = {"num_sets": 1, "num_tasks": 3, "orders": 2, "epochs": 1, "fraction": 0.2, "similarities": ["test"]}


def test_plain_training_leaves_specs_as_they_were():
    (spec,) = RunSpecs(Config(num_sets=1, strategy="plain"))
    assert spec.digest == "d690c5aa224b7688568b9f888af553ed6d8413b7671d6f098de9216d705d49ba"
    assert strategy_in(spec.params) is None


@pytest.mark.parametrize("name", ["cifar100-p5", "fashion-mnist-reset", "fig1c"])
def test_committed_tables_belong_to_their_configs(name):
    archive = read_archive(ROOT / "reproduction" / "results" / "tables" / f"{name}.json")
    wanted = {spec.digest for spec in RunSpecs(read_config(ROOT / "reproduction" / "configs" / f"{name}.toml"))}
    assert {spec.digest for spec in archive.specs} == wanted


def test_nothing_of_an_old_store_is_run_again(tmp_path):
    path = tmp_path / "store"
    shutil.copy(OLD, path)
    with Store(path, create=False) as store:
        (request,) = store.requests()
        specs = RunSpecs(config_of({key: value for key, value in request.config.items() if value is not None}))
        assert len(specs) == 4
        assert store.missing(specs) == []


def test_a_default_that_is_written_changes_nothing():
    short, long = (
        RunSpecs(config_of({"strategy": "replay", **more}))
        for more in ({}, {"kept": 20, "share": 0.5, "memory": "balanced"})
    )
    assert short[0].params["kept"] == 20
    assert short == long
    assert RunSpecs(config_of({"strategy": "replay", "kept": 5}))[0].digest != short[0].digest
    found = [
        strategy_in(RunSpecs(config_of(settings))[0].params)
        for settings in (
            {"strategy": "replay", "kept": 5, "memory": "reservoir"},
            {"strategy": "ewc", "strength": 10, "fading": 0.5},
            {"strategy": "lwf", "temperature": 3.0},
            {"strategy": "l2init"},
            {"strategy": "joint", "orders": 1},
        )
    ]
    assert found == [Replay(5, memory="reservoir"), EWC(10.0, 0.5), Distill(temperature=3.0), L2Init(), None]
    whole, real = (RunSpecs(Config(strategy="ewc", strength=strength)) for strength in (100, 100.0))
    assert whole[0].digest == real[0].digest
    assert repr(EWC(100)) == repr(EWC(np.float32(100.0))) == "EWC(strength=100.0, fading=1.0)"
    assert repr(Replay(np.int64(5))) == "Replay(kept=5, share=0.5, memory='balanced')"
    assert repr(Distill(2, 3)) == "Distill(strength=2.0, temperature=3.0)"
    assert repr(L2Init(1)) == "L2Init(strength=1.0)"
    assert "strength" not in RunSpecs(config_of({"strategy": "replay"}))[0].params


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "ewk"}, "`strategy` must be one of plain, replay, ewc, lwf, l2init, joint, got 'ewk'."),
        ({"kept": 5}, "`kept` must be a setting of the strategy plain, got one that it has not. Leave it out"),
        ({"strategy": "lwf", "kept": 5}, "`kept` must be a setting of the strategy lwf, got one that it has not"),
        ({"strategy": "replay", "kept": 0}, "`kept` must be a whole number of examples of each class, at least 1"),
        ({"strategy": "replay", "kept": 2.5}, "`kept` must be a whole number, got 2.5"),
        ({"strategy": "replay", "share": 1}, "`share` must be a share of a batch, above 0 and below 1, got 1"),
        ({"strategy": "replay", "memory": "ring"}, "`memory` must be one of balanced, reservoir, got 'ring'"),
        ({"strategy": "ewc", "strength": -1.0}, "`strength` must be a positive number, got -1.0"),
        ({"strategy": "ewc", "fading": 2.0}, "`fading` must be from 0 to 1, got 2.0"),
        ({"strategy": "joint"}, "`orders` must be 1 with the strategy joint, which has no order, got all"),
        ({"strategy": "joint", "orders": 1, "kept": 5}, "`kept` must be a setting of the strategy joint, which"),
        ({"strategy": "joint", "orders": 1, "reset_adam": True}, "`reset_adam` must be false with the strategy joint"),
    ],
)  # fmt: skip
def test_what_a_strategy_cannot_do_is_refused(settings, message):
    with pytest.raises(ValueError) as problem:  # noqa: PT011 (matched below, with its brackets)
        config_of(settings)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.slow("training")
def test_runs_with_strategies_are_whole():
    pytest.importorskip("jax")
    pytest.importorskip("sklearn")
    from taskorder.runs.results import misfit
    from taskorder.runs.training import run_batch

    results = {}
    for settings in ({}, {"strategy": "replay", "kept": 1000}, {"strategy": "joint", "orders": 1}):
        specs = RunSpecs(config_of({**SMALL, "head": "class", **settings}))[:1]
        results[settings.get("strategy")] = result = json.loads(json.dumps(run_batch(specs)[0]))
        assert misfit(result) == ""
        assert len(result["beginnings"]) - 1 <= num_trainings(specs[0])
    assert len(results["joint"]["beginnings"]) == 4
    assert results["joint"]["network_steps"] < results[None]["network_steps"]
    # what single tasks tell is the same: they have nothing to replay
    assert results["replay"]["similarities"] == results[None]["similarities"]
    ends = {name: np.array(result["loss"])[-1].mean() for name, result in results.items()}
    assert ends["joint"] < ends[None]
    assert ends["replay"] < ends[None]


def test_the_atlas_is_made_of_runs():
    cells = {cell.name: cell for cell in atlas.cells()}
    assert len(cells) == 3 * (12 + 4 + 3) + 3 * 4
    for name, cell in cells.items():
        written = atlas.toml(cell.config)
        assert RunSpecs(config_of(tomllib.loads(written))) == RunSpecs(cell.config), name
        assert cell.config.batch_size == (16 if cell.data.startswith("features") else 4)
    plain, replay = cells["fashion-class-plain"], cells["fashion-class-replay100"]
    assert atlas.network_steps(plain) == atlas.network_steps(replay)
    assert len(RunSpecs(plain.config)) == 60
    (first, *_) = RunSpecs(replay.config)
    assert isinstance(first, RunSpec)
    assert strategy_in(first.params) == Replay(100)
