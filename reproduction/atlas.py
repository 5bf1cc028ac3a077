"""Learners that remember: the runs that measure how much order matters with each head and strategy.

    python -m reproduction.atlas             the cells, with their training and the size of their stores
    python -m reproduction.atlas FOLDER      writes FOLDER/atlas-CELL.toml, for data sets that have a name

A cell is a data set with a head and a strategy, and has a store of its own: what is finished stays, so cells and parts
of cells may be run in any session. In all cells of a data set the task sets, the examples of every task, the number of
steps and the new examples of a step (4; of features 16) are equal; with replay as many kept examples join each step
after the first task. Strategies have their default settings, which nothing was tuned for. Features are what
EfficientNet-Lite0 with frozen weights makes of CIFAR-100 (`reproduction/finetuning_data.py`; their first 128 principal
components), 100 training and 50 test images a class; a perceptron learns from them, a cell in minutes on two cores:

    python -m reproduction.borrowed_gpu atlas-features --seconds 3600 --output FOLDER
    python -m reproduction.borrowed_gpu --from FOLDER --take

To train another cell, keep its results, and draw the figure from all that are kept:

    taskorder run FOLDER/atlas-CELL.toml --store results/atlas-CELL.sqlite
    taskorder export results/atlas-CELL.sqlite --whole -o reproduction/results/tables/atlas-CELL.csv.gz
    python -m reproduction atlas
    python -m reproduction --report

`num_sets` in the file may be made smaller, the same in all cells that are to be compared, and larger again later: the
runs of a task set stay the same. A store is exported only if one device has filled it, and an export takes the place of
an older one. About 20 kB are kept for each task set and seed. On one H200 plain cells of Fashion-MNIST took 0.87
million network-steps a second, with their tests, and those of CIFAR-100 0.06 to 0.08 million (plain training with one
head, `reproduction/results/tables/fashion-mnist-seeds-gpu.json`, `cifar100-seeds.json` and `cifar100-new.json`): 35 s
for a whole plain cell of Fashion-MNIST and 2 to 3 minutes for one of CIFAR-100. Strategies are expected to take up to
twice as long there; on two cores of a CPU they took about as long as plain training, 23 to 30 s for each task set and
seed of Fashion-MNIST.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.finetuning_data import IMAGE_COMPONENTS
from taskorder.prefixes import PrefixTree
from taskorder.runs.settings import JOINT, Config, sample_of
from taskorder.runs.specs import RunSpecs, orders_to_train
from taskorder.strategies import HEADS

SHARED_SETTINGS: Mapping[str, Any] = {
    "first_set": 300, "num_seeds": 2, "similarities": ("test", "1%", "10%"), "batch_size": 4,
}  # fmt: skip
"""Task sets from 300 on: none that earlier figures, or the law, were made with."""
DATASETS: Mapping[str, Mapping[str, Any]] = {
    "fashion": {"dataset": "fashion-mnist", "net": "mlp", "num_sets": 30, "fraction": 0.1},
    "cifar100": {"dataset": "cifar100", "net": "cnn", "num_sets": 12},
    "features": {
        "dataset": IMAGE_COMPONENTS, "net": "mlp", "num_sets": 12, "batch_size": 16,
        "similarities": ("test", "10 examples", "50 examples"),
    },
}  # fmt: skip
"""A tenth of Fashion-MNIST, so that tasks are about as large as those of CIFAR-100: 1,200 and 1,000 images."""
STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "replay20": {"strategy": "replay", "kept": 20},
    "ewc": {"strategy": "ewc"},
    "lwf": {"strategy": "lwf"},
}
MORE_REPLAY: Mapping[str, Mapping[str, Any]] = {
    "replay5": {"strategy": "replay", "kept": 5},
    "replay100": {"strategy": "replay", "kept": 100},
}
MANY_CELLS = (("shared", "plain"), ("shared", "replay20"), ("task", "plain"), ("class", "replay20"))
MANY: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "cifar100-20tasks": ("cifar100", {"num_tasks": 20, "num_sets": 4, "orders": "60", "num_seeds": 1}),
    "features-10tasks": ("features", {"num_tasks": 10, "num_sets": 12, "orders": "60"}),
    "features-20tasks": ("features", {"num_tasks": 20, "num_sets": 4, "orders": "60"}),
}
"""More tasks than all orders can be trained of; they need twice as many classes."""
TASK_IMAGES = {"fashion": 12_000, "cifar100": 1_000, "features": 200}
"""Training images of a task before a share is taken."""
BYTES_A_NUMBER = 10
"""In a store, with its comma; six digits are kept."""


class AtlasCell(NamedTuple):
    """A data set with a head and a strategy."""

    data: str
    head: str
    way: str
    """The strategy with its settings, in a word."""
    config: Config

    @property
    def name(self) -> str:
        """Of its store and its settings."""
        return f"{self.data}-{self.head}-{self.way}"


def cells() -> Iterator[AtlasCell]:
    """All cells, the joint one last of each head."""
    for name, data in DATASETS.items():
        for head in HEADS:
            ways = {**STRATEGIES, **({} if head == "task" else MORE_REPLAY), JOINT: {"strategy": JOINT, "orders": "1"}}
            for way, settings in ways.items():
                yield AtlasCell(name, head, way, Config(**{**SHARED_SETTINGS, **data, "head": head, **settings}))
    for name, (source, more) in MANY.items():
        for head, way in MANY_CELLS:
            settings = {**SHARED_SETTINGS, **DATASETS[source], **more, "head": head, **STRATEGIES[way]}
            yield AtlasCell(name, head, way, Config(**settings))


def toml(config: Config) -> str:
    """The settings of a cell as a TOML file; those at their default are left out.

    >>> print(toml(Config(num_sets=3, head="task", similarities=("test", "1%"))))
    num_sets = 3
    similarities = ["test", "1%"]
    head = "task"
    """
    default = asdict(Config())
    lines = []
    for key, value in asdict(config).items():
        if value != default[key]:
            shown = [*value] if isinstance(value, tuple) else value
            lines.append(f"{key} = {str(shown).lower() if isinstance(shown, bool) else shown!r}".replace("'", '"'))
    return "\n".join(lines)


def network_steps(cell: AtlasCell) -> int:
    """The steps of all networks of a cell; those of replay have twice the batch."""
    config, images = cell.config, TASK_IMAGES[MANY[cell.data][0] if cell.data in MANY else cell.data]

    def steps(share: float) -> int:
        return config.epochs * (int(images * share) // config.batch_size)

    prefixes = len(PrefixTree(orders_to_train(asdict(config), config.first_set)))
    samples = [sample_of(measured) for measured in config.similarities]
    single = sum(steps(config.fraction if sample is None else sample.share) for sample in samples)
    return len(RunSpecs(config)) * (prefixes * steps(config.fraction) + config.num_tasks * single)


def store_bytes(config: Config) -> int:
    """About the size of a cell's store."""
    P = config.num_tasks
    rows = 1 + len(PrefixTree(orders_to_train(asdict(config), config.first_set)))
    tables = 4 if config.head == "class" else 3
    numbers = rows * P * tables + 3 * P * P * len(config.similarities)
    names = sum(2 * len(prefix) for prefix in PrefixTree(orders_to_train(asdict(config), config.first_set)).rows)
    return len(RunSpecs(config)) * (BYTES_A_NUMBER * numbers + names)


def main(words: list[str]) -> None:
    """Print the cells, or write their settings."""
    for folder in map(Path, words):
        folder.mkdir(parents=True, exist_ok=True)
        for cell in cells():
            (folder / f"atlas-{cell.name}.toml").write_text(toml(cell.config) + "\n")
        print(f"wrote {sum(1 for _ in cells())} files to {folder}")
        return
    total_steps = total_bytes = 0
    print("cell                                  network-steps, millions  store, MB")
    for cell in cells():
        steps, size = network_steps(cell), store_bytes(cell.config)
        total_steps, total_bytes = total_steps + steps, total_bytes + size
        print(f"{cell.name:<36} {steps / 1e6:>25.1f} {size / 1e6:>10.2f}")
    print(f"{'all':<36} {total_steps / 1e6:>25.1f} {total_bytes / 1e6:>10.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
