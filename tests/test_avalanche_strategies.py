"""The comparison with Avalanche: how settings are mapped, its statistics and its verdict; no Avalanche needed."""

import itertools
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from taskorder.runs.specs import RunSpecs, strategy_in
from taskorder.strategies import EWC, Distill, L2Init, Replay

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import avalanche_strategies

    yield avalanche_strategies
    for name in ("avalanche_strategies", "common"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("strategy", "mapped"),
    [
        (None, ("", {})),
        (Replay(20), ("ReplayPlugin", {"mem_size": 200, "batch_size": 8, "batch_size_mem": 8})),
        (Replay(5, share=0.2), ("ReplayPlugin", {"mem_size": 50, "batch_size": 8, "batch_size_mem": 2})),
        # half of the strength, and 8 times as much: squares of means of 8 gradients are so much smaller
        (EWC(100.0), ("EWCPlugin", {"ewc_lambda": 400.0, "mode": "online", "decay_factor": 1.0})),
        (EWC(3.0, fading=0.5), ("EWCPlugin", {"ewc_lambda": 12.0, "mode": "online", "decay_factor": 0.5})),
        (Distill(strength=0.5, temperature=3.0), ("LwFPlugin", {"alpha": 4.5, "temperature": 3.0})),
    ],
)
def test_settings_are_mapped(script, strategy, mapped):
    assert script.plugin_settings(strategy, 8) == mapped


@pytest.mark.parametrize("strategy", [L2Init(), Replay(memory="reservoir")])
def test_what_is_not_mapped_is_refused(script, strategy):
    with pytest.raises(ValueError, match="`strategy` must be balanced replay, EWC, LwF or none"):
        script.plugin_settings(strategy, 4)


def test_the_runs_differ_in_their_strategy_alone(script):
    specs = [RunSpecs(script.config_of(name, 2, 12, 1e-3)) for name in script.STRATEGIES]
    assert [len(each) for each in specs] == [2 * script.SEEDS] * 4
    assert [strategy_in(each[0].params) for each in specs] == [None, Replay(20), EWC(), Distill()]
    common = [
        {key: each[-1].params[key] for key in ("head", "orders", "fraction", "epochs", "batch_size", "set", "seed")}
        for each in specs
    ]
    assert common == [common[0]] * 4
    assert (common[0]["head"], common[0]["set"], common[0]["seed"]) == ("class", 1, 1)


def accuracies(spread=(1.0, 1.0), gain=(0.0, 0.0), orders=12, seed=0):
    """Replay has `gain` over the others and `spread` times their deviation over orders, in each tool."""
    rng = np.random.default_rng(seed)
    table = 20 + rng.normal(0, 1, (orders, 2, 2, 2, 4))
    for tool in range(2):
        table[..., tool, 1] = 20 + gain[tool] + spread[tool] * (table[..., tool, 1] - 20)
    return table


def test_spreads_leave_out_what_seeds_and_sets_add(script):
    table = accuracies()
    shifted = table + 5 * np.arange(2)[:, None, None, None] + np.arange(2)[:, None, None]
    assert np.allclose(script.spreads(shifted), script.spreads(table))
    by_hand = [table[:, number, :, 1, 2].mean(axis=1).std(ddof=1) for number in range(2)]
    assert script.spreads(table)[1, 2] == pytest.approx(np.mean(by_hand))
    assert script.means(table)[0, 3] == pytest.approx(table[..., 0, 3].mean())


def test_noise_is_what_seeds_leave_where_orders_are_alike(script):
    table = accuracies(orders=400)  # pure noise of deviation 1: that of the mean of two seeds is 0.71
    assert np.allclose(script.noise(table), 0.5**0.5, atol=0.08)
    assert np.allclose(script.spreads(table), script.noise(table), atol=0.1)
    orders_alone = np.repeat(table[:, :, :1], 2, axis=2)
    assert np.allclose(script.noise(orders_alone), 0)


def test_a_network_at_chance_gives_one_answer_to_all_images(script):
    table = accuracies()
    table[:6, :, :, 0, 0], table[:3, :, :, 1, 2] = 10.0, 10.01  # a single image more is another network
    assert script.at_chance(table).tolist() == [[0.5, 0, 0, 0], [0, 0, 0, 0]]


def directions(script, table):
    return {(row["of"], row["pair"]): row["direction"] for row in script.pair_rows(table)}


@pytest.mark.parametrize(("sign", "said"), [(1, "same"), (-1, "opposite"), (0, "open")])
def test_the_verdict_on_means_can_be_any(script, sign, said):
    found = directions(script, accuracies(gain=(5.0, 5.0 * sign)))
    assert found["mean accuracy", "replay - plain"] == said


@pytest.mark.parametrize(("spread", "said"), [(8.0, "same"), (0.01, "opposite")])
def test_the_verdict_on_spreads_can_be_either(script, spread, said):
    found = directions(script, accuracies(spread=(8.0, spread)))
    assert found["sd over orders", "replay - plain"] == said


def test_the_kept_tables_say_what_their_intervals_do(script):
    kept = json.loads((BENCHMARKS / "results" / "avalanche_strategies.json").read_text())
    assert set(kept) <= {f"{section}{part}" for section in script.SECTIONS for part in ("", " pairs")}
    assert {"torch", "avalanche-lib"} <= set(kept["cifar10"]["machine"])
    pairs = [f"{second} - {first}" for first, second in itertools.combinations(script.STRATEGIES, 2)]
    for section in [section for section in kept if section.endswith("pairs")]:
        rows = kept[section]["rows"]
        assert [row["pair"] for row in rows] == 2 * pairs
        for row in rows:
            intervals = [[float(end) for end in re.findall(r"-?\d+\.\d+", row[tool])[1:]] for tool in script.TOOLS]
            assert row["direction"] == script.verdict(*intervals)
