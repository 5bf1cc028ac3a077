"""Train the cells of `reproduction.figures.finetuning`: what is finished stays in the store, and the rest goes on.

    python -m reproduction.finetuning_runs text_frozen image_frozen    # into the store of reproduction/results
    python -m reproduction finetuning                                 # the figure from all that is there

Models and texts come as `python -m reproduction.finetuning_data --help` says. Frozen models need JAX; the others
PyTorch, transformers and peft (`make .venv-hf/.installed`). Gemma and EfficientNet want a GPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.finetuning_cells import ALONE, CELLS, KIND, LANGUAGE, SCORES, Tuned
from reproduction.finetuning_data import feature_data
from reproduction.language_runs import PILOT_SHARE, PILOTS
from reproduction.running import STORE, TABLES, load_tables
from taskorder.checks import Floats, Ints
from taskorder.datasets.dataset import Dataset
from taskorder.machine import describe
from taskorder.runs.local import complete
from taskorder.runs.settings import EXAMPLES_SUFFIX
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.stratified import stratified_share

if TYPE_CHECKING:
    from reproduction.finetuning_torch import Recipe, Scores


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Results of specs, one after another."""
    return [part_result(spec.params) if spec.kind == KIND else _head_result(spec) for spec in specs]


def _head_result(spec: RunSpec) -> dict[str, Any]:
    from taskorder.runs.training import Training

    (result,) = Training(_features(spec.params["dataset"]))([spec])
    return result


@lru_cache(maxsize=1)
def _features(name: str) -> Dataset:
    return feature_data(name)


def part_result(params: Mapping[str, Any]) -> dict[str, Any]:
    """One part of the run of a task set with a seed."""
    from reproduction import finetuning_torch as tuning
    from reproduction.finetuning_models import subject_of

    settings = {key: value for key, value in params.items() if key not in ("set", "seed", "part")}
    cell = Tuned(**{**settings, "samples": tuple(params["samples"])})
    recipe = tuning.Recipe(cell.steps, cell.batch_size, cell.learning_rate, cell.bfloat16)
    subject, seed = subject_of(cell, params["set"]), 1000 * params["set"] + params["seed"]
    if params["part"] != ALONE:
        learned = tuning.learn_orders(subject, recipe, seed, int(params["part"]))
        return {"beginnings": [".".join(map(str, prefix)) for prefix in learned], **_rows(list(learned.values()))}
    pilots = {}
    for name, (pilot, rows, held) in pilots_of(cell, recipe, params["set"]).items():
        start, alone = tuning.learn_samples(subject, pilot, seed, rows, held)
        pilots[name] = {"start": _row(start), **_rows(alone)}
    return {
        "names": list(subject.names),
        "start": _row(tuning.tested(subject, subject.make(seed), subject.test, recipe)),
        "mixed": _row(tuning.learn_mixed(subject, recipe, seed)),
        "pilots": pilots,
    }


def pilots_of(cell: Tuned, recipe: Recipe, number: int) -> dict[str, tuple[Recipe, list[Ints], list[Ints] | None]]:
    """By name, how models of a pilot learn, the rows of each task to learn from, and those to test on, if others.

    Labels come in blocks of equal size, as `finetuning_models` lays them out.
    """
    if cell.model == LANGUAGE:
        chosen = np.random.default_rng(number).permutation(cell.examples)[: round(PILOT_SHARE * cell.examples)]
        fifth = len(chosen) // 5
        learned, held = ([part] * cell.num_tasks for part in (np.sort(chosen[fifth:]), np.sort(chosen[:fifth])))
        steps = {name: max(1, round(PILOT_SHARE * times * cell.steps)) for name, times in PILOTS.items()}
        return {name: (replace(recipe, steps=count), learned, held) for name, count in steps.items()}
    labels = np.repeat(np.arange(cell.num_classes), cell.examples // cell.num_classes)

    def sample(most: int, task: int) -> Ints:
        return stratified_share(labels, most / cell.examples, seed=100 * number + task)

    return {
        f"{most}{EXAMPLES_SUFFIX}": (recipe, [sample(most, task) for task in range(cell.num_tasks)], None)
        for most in cell.samples
    }


def _row(scores: Scores) -> dict[str, list[float]]:
    return {kind: _short(values) for kind, values in zip(SCORES, scores, strict=True)}


def _rows(scores: Sequence[Scores]) -> dict[str, list[list[float]]]:
    return {kind: [_short(row) for row in rows] for kind, rows in zip(SCORES, zip(*scores, strict=True), strict=True)}


def _short(values: Floats) -> list[float]:
    """Six digits."""
    return [float(f"{value:.6g}") for value in values]


def device_of() -> str:
    """What trains: a GPU of PyTorch, or this processor."""
    try:
        import torch

        if torch.cuda.is_available():
            return f"cuda: {torch.cuda.get_device_name()}"
    except ModuleNotFoundError:
        pass
    return f"cpu: {describe()['cpu']}"


def main() -> None:
    """Train what is missing of some cells."""
    from reproduction.figures.finetuning import Config

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="+", metavar="CELL", choices=tuple(CELLS), help=f"one of {', '.join(CELLS)}")
    parser.add_argument("--results", default="reproduction/results", metavar="DIR", type=Path, help="a folder")
    args = parser.parse_args()
    config = Config()
    with Store(args.results / STORE) as store:
        load_tables(args.results / TABLES, store)
        for name in args.cells:
            specs = CELLS[name][1].specs(getattr(config, name), config.num_seeds)
            print(f"{name}: {len(store.missing(specs))} of {len(specs)} parts to train", flush=True)
            complete(specs, run_batch, store, batch_size=1, device=device_of())


if __name__ == "__main__":
    main()
