"""Do strategies rank in Avalanche as they do in the engine? Class-incremental CIFAR-10, a check from outside.

    TASKORDER_DATA=DIR .venv-adapters/bin/python benchmarks/avalanche_strategies.py cifar10
    TASKORDER_DATA=DIR .venv-adapters/bin/python benchmarks/avalanche_strategies.py slow

`make test-adapters` makes that environment; DIR holds CIFAR-10 in its binary layout. Five tasks of two classes, one
softmax over all ten, tested on all test images. Engine and Avalanche learn the same images of the same task sets in the
same random orders, with the same perceptron, first weights of the same distribution, Adam, batches of 4, two epochs,
two seeds. Each draws weights and shuffles of its own. `--store` keeps accuracies, and an interrupted run goes on.

Question, fixed before anything was looked at: do plain training, replay of 20 examples a class, EWC and LwF have the
same order in Avalanche as in the engine in (a) the accuracy at the end, its mean over orders, and (b) its standard
deviation over orders? Only directions count. Statistic: for every pair of strategies the difference in (a) and in (b),
of the mean of both seeds, (b) within each task set and then averaged, with a 95 % interval over resampled orders. A
pair is `same` or `opposite` where both intervals are beside zero, on the same side or not, and `open` where one holds
zero. The answer is yes if no pair is opposite; what is open is not answered.

Added after `cifar10` was looked at: most plain networks ended at exactly 10 %, one answer for all images, in both. So
`slow` asks the same at a tenth of the learning rate, on one task set and ten orders, and rows say how many networks end
so. An interval that ends at 0.00 with two digits counts as holding zero.

How settings are mapped (`plugin_settings`), and what is different all the same:

replay  20 of each class in both, as many old as new examples in a batch. The engine takes one old example from each of
        equal parts of its memory, so classes come evenly; Avalanche shuffles its memory and goes through it.
        Avalanche's own default, not taken here, fills the whole memory with the first task and shrinks its share later.
EWC     online in both. The engine has strength / 2 before the penalty, Avalanche ewc_lambda alone. The engine squares
        the gradient of each example, Avalanche that of the mean of a batch, which is about batch size times smaller
        where gradients of examples are independent. So ewc_lambda is strength / 2 * batch size; exact it is not.
LwF     the same term: the engine multiplies it by the squared temperature, so alpha is strength * temperature^2.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import header, save, show
from cpu_torchvision import import_torchvision

from taskorder.checks import Floats
from taskorder.prefixes import Prefix
from taskorder.runs.settings import Config
from taskorder.runs.specs import RunSpecs, orders_to_train, strategy_in
from taskorder.stats import bootstrap_interval
from taskorder.strategies import EWC, PLAIN, Distill, Replay, Strategy

TOOLS, STRATEGIES = ("engine", "Avalanche"), (PLAIN, "replay", "ewc", "lwf")
SECTIONS = {"cifar10": (2, 12, 1e-3), "slow": (1, 10, 1e-4)}
"""Task sets, random orders of each set, and learning rate."""
SEEDS, NUM_CLASSES, SHARE = 2, 10, 0.05
"""The share of 5,000 images a class."""
Statistic = Callable[[Floats], Floats]
Estimate = tuple[float, tuple[float, float]]
"""A value with its interval."""


def plugin_settings(strategy: Strategy | None, batch_size: int) -> tuple[str, dict[str, Any]]:
    """The name of Avalanche's plugin and its arguments; the memory of replay is given by its size.

    >>> plugin_settings(Distill(strength=0.5, temperature=2.0), 4)
    ('LwFPlugin', {'alpha': 2.0, 'temperature': 2.0})
    """
    if strategy is None:
        return "", {}
    if isinstance(strategy, Replay) and strategy.memory == "balanced":
        sizes = {"batch_size": batch_size, "batch_size_mem": strategy.extra(batch_size)}
        return "ReplayPlugin", {"mem_size": strategy.kept * NUM_CLASSES, **sizes}
    if isinstance(strategy, EWC):
        weight = strategy.strength / 2 * batch_size
        return "EWCPlugin", {"ewc_lambda": weight, "mode": "online", "decay_factor": strategy.fading}
    if isinstance(strategy, Distill):
        return "LwFPlugin", {"alpha": strategy.strength * strategy.temperature**2, "temperature": strategy.temperature}
    raise ValueError(f"`strategy` must be balanced replay, EWC, LwF or none, got {strategy}.")


def config_of(name: str, sets: int, orders: int, learning_rate: float) -> Config:
    """The settings of a run of the engine, as `taskorder run` reads them."""
    return Config(dataset="cifar10", num_sets=sets, orders=str(orders), similarities=(), num_seeds=SEEDS, epochs=2,
                  fraction=SHARE, head="class", strategy=name, learning_rate=learning_rate)  # fmt: skip


def engine_accuracies(params: Mapping[str, Any], spec: Any) -> list[float]:
    """The accuracy at the end of every order, in percent."""
    from taskorder.runs.results import tables_of
    from taskorder.runs.training import run_batch

    rows, tables = tables_of(run_batch([spec])[0])
    return [100 * float(tables["accuracy"][rows[order]].mean()) for order in orders_to_train(params, params["set"])]


class Avalanche:
    """The images of a task set, and training on them in Avalanche."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        import torch
        from torch.utils.data import TensorDataset

        from taskorder.engine.estimates import task_pool
        from taskorder.runs.training import dataset_of, task_set

        import_torchvision()
        from avalanche.benchmarks.utils import as_classification_dataset

        torch.set_num_threads(1)
        data = dataset_of(params["dataset"])
        tasks = task_set(data, params, params["set"])
        self._params, self._datasets = params, []
        for split, share in (("train", params["fraction"]), ("test", 1.0)):
            pool = task_pool(data, [tasks], split, share=share, head=params["head"])
            labels = torch.tensor(np.asarray(pool.labels), dtype=torch.int64).flatten()
            rows = np.asarray(pool.rows).ravel()  # tasks of one size, so that no row is filled up
            inputs = torch.tensor(getattr(data, f"{split}_inputs")[rows], dtype=torch.float32) / 255
            pairs: Any = TensorDataset(inputs, labels)
            pairs.targets = labels.tolist()
            self._datasets.append(as_classification_dataset(pairs))
            self._test = inputs.flatten(1), labels

    def accuracy(self, order: Prefix) -> float:
        """At the end of an order, in percent: of all test images, of which every task has as many."""
        import torch
        from avalanche.benchmarks import nc_benchmark
        from avalanche.training import plugins
        from avalanche.training.determinism.rng_manager import RNGManager
        from avalanche.training.storage_policy import ClassBalancedBuffer
        from avalanche.training.supervised import Naive

        params = self._params
        RNGManager.set_random_seeds(params["seed"])
        model = perceptron(self._test[0].shape[1])
        name, settings = plugin_settings(strategy_in(params), params["batch_size"])
        if name == "ReplayPlugin":
            of_classes = {"adaptive_size": False, "total_num_classes": NUM_CLASSES}
            settings["storage_policy"] = ClassBalancedBuffer(settings["mem_size"], **of_classes)
        agent = Naive(
            model=model, optimizer=torch.optim.Adam(model.parameters(), lr=params["learning_rate"]),
            train_mb_size=params["batch_size"], train_epochs=params["epochs"],
            plugins=[getattr(plugins, name)(**settings)] if name else [],
            evaluator=plugins.EvaluationPlugin(loggers=[]),
        )  # fmt: skip
        classes = [label for task in order for label in (2 * task, 2 * task + 1)]
        made = nc_benchmark(*self._datasets, len(order), task_labels=False, shuffle=False, fixed_class_order=classes)
        for experience in made.train_stream:
            agent.train(experience, num_workers=0)
        inputs, labels = self._test
        with torch.no_grad():
            return 100 * float((model(inputs).argmax(dim=1) == labels).float().mean())


def perceptron(num_inputs: int) -> Any:
    """The engine's, with first weights of the same distribution: LeCun-normal, cut at two deviations, and no biases."""
    import torch
    from torch import nn

    sizes, layers = (num_inputs, 128, 64, NUM_CLASSES), [nn.Flatten()]
    for before, after in itertools.pairwise(sizes):
        layer = nn.Linear(before, after)
        deviation = before**-0.5 / 0.87962566  # that of a standard normal cut at two
        nn.init.trunc_normal_(layer.weight, std=deviation, a=-2 * deviation, b=2 * deviation)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def measured(sets: int, orders: int, learning_rate: float, store: Path | None) -> Floats:
    """(orders, sets, seeds, tools, strategies) accuracies at the end, in percent."""
    known: dict[str, list[float]] = json.loads(store.read_text()) if store and store.exists() else {}
    accuracies = np.empty((orders, sets, SEEDS, len(TOOLS), len(STRATEGIES)))
    of_strategies = [RunSpecs(config_of(name, sets, orders, learning_rate)) for name in STRATEGIES]
    for specs in zip(*of_strategies, strict=True):  # all strategies of one set and seed
        for (place, spec), (tool, label) in itertools.product(enumerate(specs), enumerate(TOOLS)):
            key, params = f"{label} {spec.digest}", spec.params
            if key not in known:
                if label == "engine":
                    known[key] = engine_accuracies(params, spec)
                else:
                    here = Avalanche(params)
                    known[key] = [here.accuracy(order) for order in orders_to_train(params, params["set"])]
                if store:
                    store.write_text(json.dumps(known))
            accuracies[:, params["set"], params["seed"], tool, place] = known[key]
            print(
                f"set {params['set']}, seed {params['seed']}: {label}, {STRATEGIES[place]}", file=sys.stderr, flush=True
            )
    return accuracies


def means(accuracies: Floats) -> Floats:
    """(..., tools, strategies) mean over orders, sets and seeds; (..., orders, sets, seeds, tools, strategies)."""
    return np.asarray(accuracies.mean(axis=(-5, -4, -3)))


def spreads(accuracies: Floats) -> Floats:
    """(..., tools, strategies) standard deviation over the orders of a set of the mean over seeds, averaged over sets.

    >>> spreads(np.array([1.0, 2.0, 3.0]).reshape(3, 1, 1, 1, 1))
    array([[1.]])
    """
    return np.asarray(accuracies.mean(axis=-3).std(axis=-4, ddof=1).mean(axis=-3))


def noise(accuracies: Floats) -> Floats:
    """(tools, strategies) what two seeds alone would make of it, were all orders alike: half their difference."""
    return np.asarray(((accuracies[:, :, 0] - accuracies[:, :, 1]) / 2).std(axis=0, ddof=1).mean(axis=0))


def at_chance(accuracies: Floats) -> Floats:
    """(tools, strategies) the share of networks that are right as often as one answer for all images is."""
    return np.asarray(np.isclose(accuracies, 100 / NUM_CLASSES, atol=0.001).mean(axis=(0, 1, 2)))


def verdict(one: Sequence[float], other: Sequence[float]) -> str:
    """Whether two intervals are on the same side of zero.

    >>> verdict((1, 2), (3, 4)), verdict((1, 2), (-4, -3)), verdict((1, 2), (-1, 3))
    ('same', 'opposite', 'open')
    """
    if min(one) <= 0 <= max(one) or min(other) <= 0 <= max(other):
        return "open"
    return "same" if (min(one) > 0) == (min(other) > 0) else "opposite"


def estimate(statistic: Statistic, accuracies: Floats, tool: int, one: int, other: int | None = None) -> Estimate:
    """The statistic of a strategy, or how that of one differs from that of another, with its interval over orders."""

    def of(table: Floats) -> Floats:
        found = statistic(table)[..., tool, :]
        return np.asarray(found[..., one] - (0 if other is None else found[..., other]))

    low, high = bootstrap_interval(accuracies, of)
    return float(of(accuracies)), (round(low, 2), round(high, 2))  # as shown: an end at 0.00 is not beside zero


def strategy_rows(accuracies: Floats) -> list[dict[str, Any]]:
    """A row for each tool and strategy."""
    return [
        {"tool": label, "strategy": name,
         "mean accuracy": said(*estimate(means, accuracies, tool, place)),
         "sd over orders": said(*estimate(spreads, accuracies, tool, place)),
         "sd of seeds alone": f"{noise(accuracies)[tool, place]:.2f}",
         "networks at chance": f"{at_chance(accuracies)[tool, place]:.0%}"}
        for (tool, label), (place, name) in itertools.product(enumerate(TOOLS), enumerate(STRATEGIES))
    ]  # fmt: skip


def pair_rows(accuracies: Floats) -> list[dict[str, Any]]:
    """A row for each pair of strategies and statistic: how the second differs from the first in both tools."""
    rows = []
    for key, statistic in (("mean accuracy", means), ("sd over orders", spreads)):
        for first, second in itertools.combinations(range(len(STRATEGIES)), 2):
            found = [estimate(statistic, accuracies, tool, second, first) for tool in range(len(TOOLS))]
            row = {"of": key, "pair": f"{STRATEGIES[second]} - {STRATEGIES[first]}"}
            shown = {label: said(*each) for label, each in zip(TOOLS, found, strict=True)}
            rows.append({**row, **shown, "direction": verdict(*(interval for _, interval in found))})
    return rows


def said(value: float, interval: Sequence[float]) -> str:
    """A number with its interval."""
    return f"{value:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"


def main() -> None:
    """Train in both, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=list(SECTIONS))
    parser.add_argument("--store", type=Path, help="a JSON file that keeps accuracies")
    args = parser.parse_args()
    packages = ("jax", "torch", "avalanche-lib")
    print(json.dumps(header(*packages)))
    sets, orders, learning_rate = SECTIONS[args.section]
    accuracies = measured(sets, orders, learning_rate, args.store)
    about = f"{sets} task sets, {orders} orders each, {SEEDS} seeds, learning rate {learning_rate}"
    rows, pairs = strategy_rows(accuracies), pair_rows(accuracies)
    show(f"class-incremental CIFAR-10, {about}: accuracy in percent", rows)
    show("differences of strategies, in points", pairs)
    save("avalanche_strategies", {args.section: rows, f"{args.section} pairs": pairs}, *packages)


if __name__ == "__main__":
    main()
