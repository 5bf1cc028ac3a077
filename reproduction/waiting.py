"""What wants a GPU: experiments by name, each in parts with their runs and the seconds that a run should take.

Seconds are for one H200, from what was measured on one: network-steps a second in `reproduction/results/tables`,
tokens a second of a first language model. Fine-tuning was timed nowhere: its seconds are guesses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reproduction import finetuning_runs, language_runs, many_runs
from reproduction.atlas import MANY, AtlasCell, cells, network_steps
from reproduction.corpora import TRAIN_BYTES
from reproduction.figures import finetuning, languages, many_tasks
from reproduction.finetuning_cells import CELLS, IMAGES, LANGUAGE, TEXTS, Tuned
from reproduction.finetuning_data import IMAGE_COMPONENTS, feature_data
from taskorder.arguments import unknown
from taskorder.datasets.class_tasks import size_shares
from taskorder.prefixes import PrefixTree
from taskorder.runs import training
from taskorder.runs.settings import Config, read_config
from taskorder.runs.specs import RunSpec, RunSpecs
from taskorder.runs.sweep import RunBatch
from taskorder.strategies import PLAIN

NEW, MANY_TASKS, LANGUAGES, ATLAS = "fashion-mnist-new", "many-tasks", "languages", "atlas-"
CONFIG = Path(__file__).parent / "configs" / f"{NEW}.toml"
TUNED = tuple(name for name, (_, cell) in reversed([*CELLS.items()]) if isinstance(cell, Tuned))
OF_ATLAS = tuple(f"{ATLAS}{data}" for data in ("fashion", "cifar100", "features", *MANY))
NAMES = (NEW, MANY_TASKS, *OF_ATLAS, LANGUAGES, *TUNED)
"""Of all experiments; a cell of the atlas may be named alone, as `python -m reproduction.atlas`
names it, behind `atlas-`."""

STEPS_A_SECOND = {"mlp": 870_000, "cnn": 66_000}
"""Network-steps, tests among them: fashion-mnist-seeds-gpu.json, and many-tasks.runs.json.gz at 20 tasks."""
WITH_STRATEGY = 2
"""How many times as long a step takes with a strategy. Replay has twice the batch; for others it is a guess."""
CHOSEN = 30
"""Orders of many tasks that rules choose, beside the random ones."""
FLOPS_A_SECOND = 97e12
"""Of 120 byte-level models in training at once: 1,600 network-steps a second of 61 GFLOP."""
TUNING_SECONDS = {TEXTS: 0.02, IMAGES: 0.03, LANGUAGE: 0.05}
"""A step of PyTorch with its share of the tests."""


class Part(NamedTuple):
    """Runs that are alike: a cell, or the task sets of one size."""

    name: str
    specs: Sequence[RunSpec]
    run_batch: RunBatch
    seconds: float
    """What a run should take."""
    device: Callable[[], str]
    batch_size: Callable[[], int] = partial(int, 1)
    """How many runs are trained together: few enough that little is lost when the machine goes."""
    inputs: Callable[[], str] = str
    """The digest of the data, where it is kept with results."""


def parts_of(name: str) -> list[Part]:
    """The parts of an experiment, in the order in which they are trained."""
    if name == NEW:
        config = read_config(CONFIG)
        return [_of_engine(name, AtlasCell("fashion", config.head, PLAIN, config), most=10)]
    if name == MANY_TASKS:
        specs = many_tasks.specs(many_tasks.Config())
        by_size = itertools.groupby(specs, lambda spec: (spec.params["num_tasks"], spec.params["uneven"]))
        return [_of_many_tasks(P, list(some)) for (P, _), some in by_size]
    if name == LANGUAGES:
        specs = languages.specs(languages.Config())
        seconds = language_flops(specs[0].params) / FLOPS_A_SECOND
        return [Part(name, specs, language_runs.run_batch, seconds, _engine_device)]
    if name in TUNED:
        return [_of_torch(name)]
    found = [cell for cell in cells() if name in (f"{ATLAS}{cell.data}", f"{ATLAS}{cell.name}")]
    if not found:
        raise unknown("name", name, NAMES)
    return [_of_engine(f"{ATLAS}{cell.name}", cell) for cell in found]


def _engine_device() -> str:
    """The name of the device of JAX, which from now on keeps what it compiles for the next process."""
    from taskorder.engine.compiled import keep_compiled

    keep_compiled()
    return training.device_name()


def _of_engine(name: str, cell: AtlasCell, most: int = 1000) -> Part:
    """All task sets of a config."""
    specs, config = RunSpecs(cell.config), cell.config
    steps = network_steps(cell) / len(specs) * (1 if config.strategy == PLAIN else WITH_STRATEGY)
    seconds = steps / STEPS_A_SECOND[config.net]
    if config.dataset == IMAGE_COMPONENTS:
        return Part(name, specs, finetuning_runs.run_batch, seconds, _engine_device, lambda: _at_once(config, most))
    return Part(
        name,
        specs,
        training.run_batch,
        seconds,
        _engine_device,
        lambda: _at_once(config, most),
        partial(training.inputs_digest, config.dataset),
    )


def _at_once(config: Config, most: int) -> int:
    """How many runs of a config are trained together."""
    data = feature_data(config.dataset) if config.dataset == IMAGE_COMPONENTS else None
    return min(most, training.specs_at_once(config, data))


def _of_many_tasks(num_tasks: int, specs: Sequence[RunSpec]) -> Part:
    """Two sets of fifty tasks at a time, or five of fewer."""
    params = specs[0].params
    images = params["images"] * float(size_shares(num_tasks, params["uneven"], 0).sum())
    steps = (params["num_orders"] + CHOSEN) * params["epochs"] * images / params["batch_size"]
    name = f"{MANY_TASKS}, {num_tasks}{', uneven' if params['uneven'] > 1 else ''}"
    at_once = partial(int, 2 if num_tasks > 20 else 5)
    return Part(name, specs, many_runs.run_batch, steps / STEPS_A_SECOND["cnn"], _engine_device, at_once)


def _of_torch(name: str) -> Part:
    """The parts of the runs of a cell, one after another."""
    cell, config = CELLS[name][1], finetuning.Config()
    assert isinstance(cell, Tuned)
    trainings = len(PrefixTree(list(itertools.permutations(range(cell.num_tasks))))) - 1
    steps = (trainings + 2 * cell.num_tasks) * cell.steps / (cell.num_tasks + 1)
    specs = cell.specs(getattr(config, name), config.num_seeds)
    seconds = steps * TUNING_SECONDS[cell.model]
    return Part(name, specs, finetuning_runs.run_batch, seconds, finetuning_runs.device_of)


def language_flops(params: Mapping[str, Any]) -> float:
    """Floating-point operations of all models of a set of corpora with a seed, in training.

    Three products for each weight and token, forward and twice backward, of two operations each; attention likewise;
    and the forward pass of every block a second time, for what it computes is not kept.
    """
    width, depth, context = (params[key] for key in ("width", "depth", "context"))
    block = 12 * depth * width**2 + 2 * depth * width * context
    token = 8 * block + 6 * 256 * width
    windows = TRAIN_BYTES // context
    trainings = len(PrefixTree(list(itertools.permutations(range(language_runs.NUM_TASKS))))) - 1
    return float(token * context * windows * params["epochs"] * (trainings + language_runs.NUM_TASKS))
