"""How a model is fine-tuned on one task: what of the `TrainingArguments` of transformers makes a difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from taskorder.arguments import BadArgument, unknown
from taskorder.checks import to_float, whole

PRECISIONS = ("fp32", "bf16", "fp16")
SCHEDULES = (
    "linear", "cosine", "cosine_with_restarts", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt",
)  # fmt: skip
"""Those of transformers that need no settings of their own and no losses on other data."""
SFT_LENGTH = 1024
"""Tokens that an SFTConfig cuts texts to, where nothing is said."""
OPTIMIZERS = ("adamw_torch", "adamw_torch_fused")
PLAIN_SETTINGS = {
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "label_smoothing_factor": 0.0,
    "neftune_noise_alpha": None,
    "lr_scheduler_kwargs": None,
    "optim_args": None,
    "dataloader_drop_last": False,
    "train_sampling_strategy": "random",
    "packing": False,
    "assistant_only_loss": False,
    "loss_type": "nll",
    "router_aux_loss_coef": None,
}
"""Settings of TrainingArguments, and the last four of SFTConfig, that a recipe has no place for, with the only value
that it follows."""


@dataclass(frozen=True)
class FineTuning:
    """Fine-tuning on one task with AdamW; every task starts with a fresh optimizer and schedule.

    Examples
    --------
    >>> FineTuning(epochs=1, learning_rate=1e-3).num_steps(20)
    3
    """

    epochs: float = 3
    """Passes over the examples of a task."""
    batch_size: int = 8
    """Examples a step."""
    learning_rate: float = 5e-5
    max_steps: int | None = None
    """Steps in place of epochs."""
    schedule: str = "linear"
    """Name of a schedule of transformers: linear, cosine, constant, constant_with_warmup, ..."""
    warmup: float = 0.0
    """Steps of warmup, or a share of all steps below 1."""
    weight_decay: float = 0.0
    """Of matrices; biases and norms have none."""
    max_grad_norm: float = 1.0
    """Gradients are cut to this norm; 0 leaves them."""
    precision: str = "fp32"
    """fp32, or mixed precision: bf16, fp16."""
    at_once: int | None = None
    """Examples in one pass, where a whole batch needs too much memory; halved by itself where memory runs out."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "max_steps", "at_once"):
            value = getattr(self, name)
            if (value is not None or name == "batch_size") and (whole(value) or 0) < 1:
                raise BadArgument(f"`{name}` must be a whole number of at least 1, got {value!r}.")
        for name, low in (("epochs", True), ("learning_rate", True), ("warmup", False), ("weight_decay", False),
                          ("max_grad_norm", False)):  # fmt: skip
            value = to_float(getattr(self, name))
            if not (0 < value < math.inf if low else 0 <= value < math.inf):
                rule = "above 0" if low else "at least 0"
                raise BadArgument(f"`{name}` must be a number {rule}, got {getattr(self, name)!r}.")
        for name, known in (("schedule", SCHEDULES), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)

    @classmethod
    def of(cls, given: Any) -> FineTuning:
        """What a person gives: nothing, a recipe, or TrainingArguments."""
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        if not hasattr(given, "per_device_train_batch_size"):
            raise BadArgument(
                f"`recipe` must be FineTuning(...) or TrainingArguments, got {type(given).__name__}. "
                "Give a Trainer of yours as trainer=lambda model, data: Trainer(...)."
            )
        _check_plain(given)
        at_once, parts = int(given.per_device_train_batch_size), int(given.gradient_accumulation_steps)
        return cls(
            epochs=given.num_train_epochs,
            batch_size=at_once * parts,
            learning_rate=given.learning_rate,
            max_steps=given.max_steps if given.max_steps > 0 else None,
            schedule=str(getattr(given.lr_scheduler_type, "value", given.lr_scheduler_type)),
            warmup=given.warmup_steps,
            weight_decay=given.weight_decay,
            max_grad_norm=given.max_grad_norm,
            precision="bf16" if given.bf16 else "fp16" if given.fp16 else "fp32",
            at_once=at_once,
        )

    def num_steps(self, num_examples: int) -> int:
        """Steps on a task of so many examples."""
        return self.max_steps or max(1, math.ceil(self.epochs * math.ceil(num_examples / self.batch_size)))

    def warmup_steps(self, num_steps: int) -> int:
        """Steps of them in which the learning rate grows."""
        return math.ceil(self.warmup * num_steps) if self.warmup < 1 else int(self.warmup)


def _check_plain(given: Any) -> None:
    """Refuse settings that would be passed over."""
    optimizer = str(getattr(given.optim, "value", given.optim))
    found = {name: getattr(given, name, value) for name, value in PLAIN_SETTINGS.items()}
    strange = {name: value for name, value in found.items() if value != PLAIN_SETTINGS[name] and value != {}}
    if optimizer not in OPTIMIZERS:
        strange = {"optim": optimizer, **strange}
    if strange:
        name, value = next(iter(strange.items()))
        raise BadArgument(
            f"`recipe` must be AdamW with plain settings, got {name}={value!r}. "
            "Train with a Trainer of yours: trainer=lambda model, data: Trainer(model, args, train_dataset=data)."
        )
