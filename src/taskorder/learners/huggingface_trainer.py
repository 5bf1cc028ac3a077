"""Fine-tune with a Trainer of a person: a function of the model and the data set of one task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.learners.huggingface_passes import Passes
from taskorder.learners.strategy import KeptExamples, Old
from taskorder.task import rows_of
from taskorder.task.joined import joined

try:
    import torch
except ImportError:  # HuggingFaceLearner says so
    torch = None

TrainerFactory = Callable[[Any, Any], Any]
"""From the model and a `datasets.Dataset` to a Trainer of transformers, or of trl."""
TEXT, IMAGE, LABEL = "text", "image", "label"
"""Columns of the data set, where a task has no names for them."""


def train_with(factory: TrainerFactory, module: Any, data: Any, start: Callable[[], None], passes: Passes) -> None:
    """Train the module in place. Where memory runs out, begin again with half the examples a pass, and accumulate.

    start: puts the weights and the random numbers back to where they were.
    passes: how many examples the trainings before had room for.
    """
    from transformers.trainer_callback import PrinterCallback, ProgressCallback

    while True:
        start()
        trainer = _made(factory, module, data)
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
        size, parts = trainer.args.per_device_train_batch_size, trainer.args.gradient_accumulation_steps
        if passes.most < size:
            # equal passes: a batch has as many examples as before, and a task as many steps
            size, whole = max(part for part in range(1, passes.most + 1) if size % part == 0), size * parts
            _in_parts(trainer, size, whole // size)
        start()  # a Trainer draws from seeds of its own while it is made
        try:
            trainer.train()
            break
        except torch.OutOfMemoryError as problem:
            passes.halve(size, problem)
        torch.cuda.empty_cache()
    trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
    trainer.accelerator.free_memory()
    for name, weight in module.named_parameters():
        if weight.requires_grad and not torch.isfinite(weight).all():
            raise BadArgument(
                f"`learner` must have finite losses, got weights that are not ({name}). "
                f"Lower the learning_rate ({trainer.args.learning_rate:g}) of the Trainer, or train without fp16."
            )


def data_set(new: KeptExamples, old: Old | None) -> Any:
    """The examples of a task, and with replay old ones among them, as a `datasets.Dataset`."""
    from datasets import Dataset

    rows = rows_of(new.inputs)
    values, targets = rows[np.arange(len(rows))], new.targets
    if old is not None:
        places = old.places(old.replay.extra(len(targets)))
        values = joined([values, rows_of(old.inputs)[places]])
        targets = np.concatenate([targets, old.targets[places]])
    if hasattr(values, "columns"):
        columns = {str(name): list(values[name]) for name in values.columns}
    elif isinstance(values, list) and isinstance(values[0], dict):
        columns = {name: [row.get(name) for row in values] for name in values[0]}
    else:
        columns = {IMAGE if isinstance(values, np.ndarray) and values.dtype.kind in "biuf" else TEXT: list(values)}
    return Dataset.from_dict(columns | ({LABEL: targets.tolist()} if len(new.own) else {}))


def _made(factory: TrainerFactory, module: Any, data: Any) -> Any:
    trainer = factory(module, data)
    if not hasattr(trainer, "train") or not hasattr(trainer, "args"):
        raise BadArgument(
            f"`trainer` must return a Trainer, got {type(trainer).__name__}. "
            "Write lambda model, data: Trainer(model, args, train_dataset=data)."
        )
    if trainer.model is not module:
        raise BadArgument(
            f"`trainer` must train the model that it is given, got {type(trainer.model).__name__}. "
            "Give lora=LoraConfig(...) to HuggingFaceLearner in place of peft_config."
        )
    return trainer


def _in_parts(trainer: Any, size: int, parts: int) -> None:
    """The same batches in smaller passes."""
    trainer.args.per_device_train_batch_size = size
    trainer.args.gradient_accumulation_steps = parts
    trainer._train_batch_size = size
