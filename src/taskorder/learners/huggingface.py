"""One pretrained model of transformers that is fine-tuned on several tasks, one after another.

The learner has one module, on its device. Its models are checkpoints: the weights that training changes (an adapter,
or all of them), which never change, so a copy costs nothing and what `fit` is given stays as it is. Checkpoints beyond
a number of bytes go to disk.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, positive_count, seed_number, whole
from taskorder.learners.huggingface_description import model_text, source_text
from taskorder.learners.huggingface_inputs import InputEncoder
from taskorder.learners.huggingface_module import WorkingModule, seeded, start_random
from taskorder.learners.huggingface_passes import Passes
from taskorder.learners.huggingface_recipe import SFT_LENGTH, FineTuning
from taskorder.learners.huggingface_trainer import TrainerFactory, data_set, train_with
from taskorder.learners.huggingface_training import FineTuner
from taskorder.learners.huggingface_weights import ShelvedWeights, WeightShelf
from taskorder.learners.protocol import ByClass, Score, same_classes, score
from taskorder.learners.strategy import KeptExamples, Old, OwnStrategy, Strategic, checked_heads
from taskorder.strategies import Strategy
from taskorder.task import Task

IN_MEMORY = 2 * 2**30
"""Bytes of checkpoints that stay in memory."""


@dataclass(frozen=True, eq=False)
class FineTuned:
    """A model of a HuggingFaceLearner: the weights that training has changed."""

    weights: ShelvedWeights = field(repr=False)
    seed: int
    seen: tuple[str, ...] = ()
    """Names of the tasks learned so far."""
    classes: tuple[Hashable, ...] = ()
    memory: Any = field(default=None, repr=False)
    """What the strategy remembers."""


class HuggingFaceLearner(Strategic, ByClass):
    """A pretrained model of transformers, fine-tuned on one task after another.

    Tasks with labels are for classifiers of texts or images. Tasks without labels are texts for a language model: its
    loss is the mean over tokens, and a task counts as known by the share of the way from the loss of the untouched
    model (0) to that of the model that was tuned on the task alone (1).

    Parameters
    ----------
    model_factory : callable
        Returns the pretrained model: `lambda: AutoModelForSequenceClassification.from_pretrained(path, num_labels=2)`,
        with one label for each of the sorted classes of all tasks. Or an `AutoModelForCausalLM`,
        `AutoModelForImageClassification` and so on.
    processor : tokenizer, image processor or callable
        What goes with the model. Or a function of yours from rows to tensors.
    recipe : FineTuning or TrainingArguments, optional
        How it is trained on each task.
    lora : LoraConfig, optional
        Train an adapter of PEFT; without it all weights are trained.
    merge : bool
        Merge the adapter into the weights after each task, and begin the next task with a new one. By default one
        adapter goes on from task to task.
    trainer : callable, optional
        Your own training in place of `recipe`: from the model and a `datasets.Dataset` of one task to a `Trainer` of
        transformers or an `SFTTrainer` of trl, whose `train()` is called. The data set has the columns of the task
        (`text` or `image` where it has none), and `label`.
    column : str or sequence of str, optional
        The column of the texts, where tasks have several. Two make a pair for a classifier; for a language model all
        but the last are a prompt, of which no loss is counted.
    max_length : int, optional
        Cut texts to so many tokens. Without it, texts that are too long for the model are refused.
    heads : str
        shared: all classes compete. task: each task is trained and tested on the outputs of its own classes.
    strategy : Replay or object, optional
        What to do against forgetting: `Replay(20, share=0.2)`, or an object of yours (`OwnStrategy`).
    device : str, optional
        The first GPU by default, where there is one.
    in_memory : int
        Bytes of checkpoints that stay in memory; older ones go to files in a temporary folder.

    Examples
    --------
    >>> from transformers import AutoModelForSequenceClassification, AutoTokenizer  # doctest: +SKIP
    >>> learner = HuggingFaceLearner(
    ...     lambda: AutoModelForSequenceClassification.from_pretrained("model", num_labels=2),
    ...     AutoTokenizer.from_pretrained("model"),
    ...     FineTuning(epochs=1, learning_rate=1e-4),
    ... )  # doctest: +SKIP
    """

    perfect = "own"
    """Knowledge 1 of a task without labels is the loss after learning it alone."""

    def __init__(
        self,
        model_factory: Callable[[], Any],
        processor: Any,
        recipe: Any = None,
        *,
        lora: Any = None,
        merge: bool = False,
        trainer: TrainerFactory | None = None,
        column: str | Sequence[str] | None = None,
        max_length: int | None = None,
        heads: str = "shared",
        strategy: Strategy | OwnStrategy | None = None,
        device: str | None = None,
        in_memory: int = IN_MEMORY,
    ) -> None:
        for package, name in (("torch", "PyTorch"), ("transformers", "transformers"), ("peft", "peft")):
            if find_spec(package) is None and (package != "peft" or lora is not None):
                raise ValueError(
                    f"`HuggingFaceLearner` must have {name}, got no such package. "
                    'Install it with: pip install "taskorder[hf]".'
                )
        for name, given, fix in (
            ("model_factory", model_factory, "a function that makes the model, like lambda: load(path)"),
            ("processor", processor, "the tokenizer or image processor, like AutoTokenizer.from_pretrained(path)"),
            ("trainer", trainer or train_with, "a function, like lambda model, data: Trainer(model, args, data)"),
        ):
            if hasattr(given, "parameters") or hasattr(given, "train_dataset") or not callable(given):
                raise BadArgument(f"`{name}` must be {fix}, got {type(given).__name__}.")
        if trainer is not None and recipe is not None:
            raise BadArgument("`recipe` must be left out with a trainer of your own, got both. The trainer trains.")
        if merge and lora is None:
            raise BadArgument("`merge` must come with lora=LoraConfig(...), got no adapter to merge.")
        self.recipe = FineTuning.of(recipe)
        self.trainer = trainer
        self.max_length = None if max_length is None else positive_count(max_length, "max_length")
        cut = getattr(recipe, "max_length", None)
        if cut not in (None, SFT_LENGTH, self.max_length):
            raise BadArgument(
                f"`recipe` must have no max_length of its own, got {cut}. "
                f"Write HuggingFaceLearner(..., max_length={cut})."
            )
        self.encoder = InputEncoder(processor, column, self.max_length)
        self.heads = checked_heads(heads)
        self.mixes = self.heads != "task"
        if trainer is not None and self.heads == "task":
            raise BadArgument(
                "`heads` must be 'shared' with a trainer of your own, got 'task'. Its loss has all classes."
            )
        self.in_memory = whole(in_memory)
        if self.in_memory is None or self.in_memory < 0:
            raise BadArgument(f"`in_memory` must be a number of bytes, got {in_memory!r}.")
        self._work = WorkingModule(model_factory, lora, merge, device)
        self._start_empty()
        self._set_strategy(strategy)

    def make(self, seed: int) -> FineTuned:
        """The pretrained model; what is not pretrained (a last layer, an adapter) is drawn from the seed."""
        return FineTuned(self._fresh(seed_number(seed)), seed)

    def adopt(self, given: Any, classes: tuple[Hashable, ...]) -> FineTuned:
        """A model of this learner, or one with the weights of a model of transformers."""
        if isinstance(given, FineTuned):
            self._check_memory(given.memory)
            return given if given.classes else replace(given, classes=classes)
        if not hasattr(given, "named_parameters"):
            raise BadArgument(
                f"`model` must be a model of transformers or of this learner, got {type(given).__name__}."
            )
        return FineTuned(self._shelf.hold(self._work.read_from(given)), 0, classes=classes)

    def copy(self, model: FineTuned) -> FineTuned:
        """The model itself: nothing changes it."""
        return model

    def fit(self, model: FineTuned, task: Task) -> FineTuned:
        """Another model, which has learned the task as well."""
        classes = self._classes(model, task)
        visit = model.seen.count(task.name)
        seed = zlib.crc32(f"{model.seed} {visit} {task.name}".encode())
        old = self._old(model.memory, model.seed, task.name, visit)
        module = self._work.put(model.seed, model.weights)
        if classes:
            self._work.check_head()
        elif not model.seen:
            self._tuner(0).check_causal(module, task.rows)
        with seeded(seed, self._work.device):
            self._train(model, KeptExamples.of(task), old, len(classes), seed)
        weights = self._shelf.hold(self._work.take())
        self._work.has(weights)
        memory = self._remembered(model, task, visit)
        return replace(model, weights=weights, seen=(*model.seen, task.name), classes=classes, memory=memory)

    def losses_by_class(self, model: FineTuned, inputs: Any) -> Floats:
        """Minus the log probabilities."""
        module = self._work.put(model.seed, model.weights)
        return self._tuner(len(model.classes)).losses_by_class(module, inputs)

    def loss(self, model: FineTuned, task: Task) -> float:
        """Mean loss on the data that the task is measured on: over examples, or over tokens."""
        return super().loss(model, task) if task.labels is not None else self._continued(model, task).loss

    def chance(self, model: FineTuned, task: Task) -> float | None:
        """The loss to expect with shuffled labels; without labels that of the untouched model."""
        return score(self, model, task).chance if task.labels is not None else self._continued(model, task).chance

    def accuracy(self, model: FineTuned, task: Task) -> float | None:
        """Share of the examples that it gets right; None for a language model."""
        return super().accuracy(model, task) if task.labels is not None else None

    def score_many(self, models: Sequence[FineTuned], tasks: Sequence[Task]) -> list[list[Score]]:
        """The scores of every model on every task."""
        return [
            [self._continued(model, task) if task.labels is None else score(self, model, task) for task in tasks]
            for model in models
        ]

    def describe(self) -> str:
        """The model and its first weights, the tokenizer, and how it is trained."""
        work = self._work
        module = work.read(0, self._fresh(0))  # not on its device: who plans for a cluster only describes it
        model = model_text(module, work.settings, self.encoder.processor, work.lora)
        training = self.recipe if self.trainer is None else source_text(self.trainer)
        return (
            f"{model} {training} merge={work.merge} columns={self.encoder.columns} max_length={self.max_length} "
            f"device={work.device_name}{self._said()}"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without the module, which another process makes on its own device."""
        work = self._work
        empty = WorkingModule(work.factory, work.lora, work.merge, work.device_name)
        return {key: value for key, value in vars(self).items() if not key.startswith("_")} | {
            "_work": empty, "_acting": self._acting}  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_empty()

    def _start_empty(self) -> None:
        """Nothing measured and nothing held."""
        assert self.in_memory is not None
        self._shelf = WeightShelf(self.in_memory)
        self._passes = Passes(self.recipe.at_once or self.recipe.batch_size)
        self._trainer_passes = Passes(sys.maxsize)  # as many as the Trainer says
        self._made: dict[int, ShelvedWeights] = {}
        self._untouched: dict[tuple[int, str], Floats] = {}

    def _fresh(self, seed: int) -> ShelvedWeights:
        """The weights of the fresh model of a seed."""
        if seed not in self._made:
            self._work.build(seed)
            self._made[seed] = self._shelf.hold(self._work.take())
            self._work.has(self._made[seed])
        return self._made[seed]

    def _classes(self, model: FineTuned, task: Task) -> tuple[Hashable, ...]:
        """The classes of the model that learns a task; none for a language model."""
        if task.has_data and task.labels is None:
            return ()
        return same_classes(model.classes, task)

    def _tuner(self, num_classes: int) -> FineTuner:
        return FineTuner(self.encoder, self.recipe, self._passes, self._work.device, num_classes, self.heads == "task")

    def _train(self, model: FineTuned, new: KeptExamples, old: Old | None, num_classes: int, seed: int) -> None:
        """Train the working module, which has the weights of the model."""
        with self._work.in_training() as module:
            if self.trainer is None:
                self._tuner(num_classes).train(module, new, old, seed)
                return
            changing = [*(weight for weight in module.parameters() if weight.requires_grad), *module.buffers()]
            first = [tensor.detach().to("cpu", copy=True) for tensor in changing]

            def start() -> None:
                start_random(seed)
                for tensor, value in zip(changing, first, strict=True):
                    tensor.data.copy_(value)

            train_with(self.trainer, module, data_set(new, old), start, self._trainer_passes)

    def _continued(self, model: FineTuned, task: Task) -> Score:
        """Loss per token, beside that of the untouched model, of all texts and of each.

        The values of a text are sums over its tokens divided by the mean number of tokens of all texts, so that their
        mean is the loss per token.
        """
        inputs, _ = task.measured
        key = model.seed, task.digest
        tuner = self._tuner(0)
        if key not in self._untouched:
            untouched = self._work.put(model.seed, self._fresh(model.seed))
            self._untouched[key] = tuner.token_losses(untouched, inputs)[0]
        sums, counts = tuner.token_losses(self._work.put(model.seed, model.weights), inputs)
        if not counts.sum():
            cut = self.max_length is not None and len(self.encoder.columns) > 1
            fix = f" Were all answers cut? max_length is {self.max_length}." if cut else ""
            raise BadArgument(f"`inputs` of task {task.name!r} must have texts of at least two tokens, got none.{fix}")
        examples = np.stack([sums, self._untouched[key], np.zeros_like(sums)]) / counts.mean()
        loss, chance, _ = examples.mean(axis=1).tolist()
        return Score(loss, chance, None, examples)
