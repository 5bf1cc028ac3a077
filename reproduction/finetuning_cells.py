"""The cells of `reproduction.figures.finetuning`: which pretrained model learns which tasks, and how.

Sizes were chosen from seconds a step, and learning rates on task set 1000, which no result is from.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from reproduction.finetuning_data import IMAGE_FEATURES, TEXT_FEATURES, TEXT_TASKS
from taskorder.runs.settings import EXAMPLES_SUFFIX, JOINT, Config
from taskorder.runs.specs import RunSpec, RunSpecs

KIND = "torch.finetuning.1"
ALONE = "alone.2"
"""The part of a run that is of no order: the untouched model, pilots, and a model that learns all tasks mixed. In the
first version the tables of pilots had rows where their kinds of scores belong."""
TEXTS, IMAGES, LANGUAGE = "minilm", "efficientnet-lite0", "gemma-3-270m"
FULL, LORA = "full", "lora"
CLASSES, RATINGS = "classes", "ratings"
SCORES = ("accuracy", "loss", "chance")
Result = Mapping[str, Any]


class Runs(NamedTuple):
    """Results of a cell by task set and seed, those of a set side by side; None where one is missing."""

    orders: list[Result | None]
    mixed: list[Result | None]
    """All tasks at once, in as many steps as one order takes."""


@dataclass(frozen=True)
class Tuned:
    """A model whose weights are tuned, by PyTorch. A task set with a seed is one run, made of a part for each task (all
    prefixes of the orders that begin with it) and `ALONE`, each of them kept as soon as it is done."""

    model: str = TEXTS
    method: str = FULL
    """full: all weights; lora: an adapter of rank 8 that goes on from task to task, and the head where there is one."""
    head: str = "shared"
    target: str = CLASSES
    """Of texts: whether they are positive or negative, or how much."""
    num_tasks: int = 3
    num_classes: int = 2
    examples: int = 192
    """Of each task, to learn from; a language model takes windows of text."""
    tests: int = 60
    length: int = 20
    """Tokens of a text at most."""
    steps: int = 12
    """Of each task, a batch each."""
    batch_size: int = 16
    learning_rate: float = 2e-4
    samples: tuple[int, ...] = (48,)
    """Examples of each task in a pilot, which takes as many steps and is tested on what it learns from."""
    bfloat16: bool = True
    """Whether products of matrices are computed in 16 bits."""

    def specs(self, num_sets: int, num_seeds: int) -> list[RunSpec]:
        """The parts of every task set and seed, those of one run side by side."""
        settings = {**asdict(self), "samples": list(self.samples)}
        parts = [*map(str, range(self.num_tasks)), ALONE]
        runs = itertools.product(range(num_sets), range(num_seeds), parts)
        return [RunSpec(KIND, {**settings, "set": number, "seed": seed, "part": part}) for number, seed, part in runs]

    def runs(self, results: Sequence[Result | None], num_seeds: int) -> Runs:
        """A result for each task set and seed out of those of `specs`."""
        size = self.num_tasks + 1
        groups = [results[start : start + size] for start in range(0, len(results), size)]
        return Runs(
            [
                self._orders(group, place // num_seeds) if None not in group else None
                for place, group in enumerate(groups)
            ],
            [self._mixed(group[-1], place // num_seeds) for place, group in enumerate(groups)],
        )

    def _orders(self, parts: Sequence[Any], number: int) -> Result:
        *learned, alone = parts
        rows = {"": alone["start"]} | {
            prefix: {kind: part[kind][row] for kind in SCORES}
            for part in learned
            for row, prefix in enumerate(part["beginnings"])
        }
        tables = {kind: [row[kind] for row in rows.values()] for kind in SCORES}
        if self.model == LANGUAGE:  # as `reproduction.language_runs` has it
            pilots = {
                name: {"start": pilot["start"]["loss"], "loss": pilot["loss"]}
                for name, pilot in alone["pilots"].items()
            }
            about = {"corpora": alone["names"], "beginnings": list(rows), "mixed": alone["mixed"]["loss"]}
            return {**about, "loss": tables["loss"], "pilots": pilots}
        singles = {kind: [rows[str(task)][kind] for task in range(self.num_tasks)] for kind in SCORES}
        pilots = {name: {kind: pilot[kind] for kind in SCORES} for name, pilot in alone["pilots"].items()}
        about = {"task_set": {"names": alone["names"], "seed": number}, "beginnings": list(rows)}
        return {**about, **tables, "similarities": {"test": singles, **pilots}}

    def _mixed(self, alone: Result | None, number: int) -> Result | None:
        """The result of joint training as the engine has it: one order, which does not matter."""
        if alone is None:
            return None
        tables = {kind: [alone["start"][kind], alone["mixed"][kind]] for kind in SCORES}
        order = ".".join(map(str, range(self.num_tasks)))
        about = {"task_set": {"names": alone["names"], "seed": number}, "beginnings": ["", order]}
        return {**about, **tables, "similarities": {}}

    def config(self, num_sets: int, num_seeds: int) -> Config:
        """The settings that a run of the engine with such results would have."""
        return _config(self, f"{self.model}, {self.method}", num_sets, num_seeds)


@dataclass(frozen=True)
class Frozen:
    """A model with frozen weights: the engine trains the paper's perceptron on what it makes of images or texts."""

    features: str = IMAGE_FEATURES
    head: str = "shared"
    num_tasks: int = 5
    num_classes: int = 2
    samples: tuple[int, ...] = (10, 50)
    epochs: int = 5
    batch_size: int = 16

    def specs(self, num_sets: int, num_seeds: int) -> list[RunSpec]:
        """A run for each task set and seed, then the same with all tasks mixed."""
        configs = [self.config(num_sets, num_seeds)]
        if self.features == TEXT_FEATURES:  # other texts in each set, of the same classes
            configs = [
                replace(configs[0], dataset=f"{TEXT_FEATURES}-{number}", tasks=TEXT_TASKS, num_sets=1, first_set=number)
                for number in range(num_sets)
            ]
        return [spec for of in (lambda config: config, mixing) for config in configs for spec in RunSpecs(of(config))]

    def runs(self, results: Sequence[Result | None], num_seeds: int) -> Runs:
        """A result for each task set and seed out of those of `specs`."""
        half = len(results) // 2
        numbered = [
            run and {**run, "task_set": {**run["task_set"], "seed": place % half // num_seeds}}
            for place, run in enumerate(results)
        ]
        return Runs(numbered[:half], numbered[half:])

    def config(self, num_sets: int, num_seeds: int) -> Config:
        """The settings of the engine."""
        config = _config(self, self.features, num_sets, num_seeds)
        return replace(config, epochs=self.epochs, batch_size=self.batch_size)


Cell = Tuned | Frozen


def mixing(config: Config) -> Config:
    """The same, with all tasks mixed."""
    return replace(config, strategy=JOINT, orders="1", similarities=())


def _config(cell: Cell, dataset: str, num_sets: int, num_seeds: int) -> Config:
    return Config(
        dataset=dataset,
        num_sets=num_sets,
        num_seeds=num_seeds,
        num_tasks=cell.num_tasks,
        classes_per_task=cell.num_classes,
        head=cell.head,
        orders="all",
        similarities=("test", *(f"{most}{EXAMPLES_SUFFIX}" for most in cell.samples)),
    )


TEXT_HEADS = Frozen(TEXT_FEATURES, num_tasks=len(TEXT_TASKS))
CELLS: Mapping[str, tuple[str, Cell]] = {
    "text_frozen": ("frozen MiniLM", TEXT_HEADS),
    "text_frozen_heads": ("frozen MiniLM, a head a task", replace(TEXT_HEADS, head="task")),
    "image_frozen": ("frozen EfficientNet", Frozen()),
    "image_frozen_heads": ("frozen EfficientNet, a head a task", Frozen(head="task")),
    "image_frozen_5classes": ("frozen EfficientNet, 5 classes", Frozen(num_classes=5)),
    "minilm_full": ("MiniLM", Tuned()),
    "minilm_lora": ("MiniLM, LoRA", Tuned(method=LORA, learning_rate=3e-3)),
    "minilm_heads": ("MiniLM, a head a task", Tuned(head="task")),
    "minilm_ratings": ("MiniLM, ratings", Tuned(target=RATINGS)),
    "minilm_4tasks": ("MiniLM, 4 tasks", Tuned(num_tasks=4)),
    "efficientnet_full": (
        "EfficientNet",
        Tuned(IMAGES, num_tasks=5, examples=1000, tests=200, length=0, steps=60, batch_size=32, learning_rate=3e-4,
              samples=(10, 100)),
    ),
    "gemma_full": (
        "Gemma-3-270M",
        Tuned(LANGUAGE, num_tasks=4, num_classes=1, examples=800, tests=48, length=256, steps=60, learning_rate=5e-5,
              samples=()),
    ),
    "gemma_lora": (
        "Gemma-3-270M, LoRA",
        Tuned(LANGUAGE, LORA, num_tasks=4, num_classes=1, examples=800, tests=48, length=256, steps=60,
              learning_rate=5e-4, samples=()),
    ),
}  # fmt: skip
"""By the name of a setting of the figure: what a cell is called, and how it is trained."""
