"""The one module of a HuggingFaceLearner: on its device, with the weights of the checkpoint that is worked on.

full          training changes all weights that are not frozen
one LoRA      training changes the adapter that the fresh model got, and what is trained beside it (the last layer)
merged LoRA   every task gets a new adapter, which is merged into the weights after it
"""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.learners.huggingface_description import settings_text
from taskorder.learners.huggingface_passes import room_for
from taskorder.learners.huggingface_weights import ShelvedWeights, Tensors

try:
    import torch
except ImportError:  # HuggingFaceLearner says so
    torch = None

PEFT_PREFIX = "base_model.model."
"""Before the names of all weights of a model that PEFT has wrapped."""
BEFORE_TRAINING = ".original_module."
"""In the names of weights that PEFT has put a trained copy in the place of."""


class WorkingModule:
    """The module, what of it training changes, and whose weights it has."""

    def __init__(self, factory: Callable[[], Any], lora: Any, merge: bool, device: str | None) -> None:
        self.factory, self.lora, self.merge = factory, lora, merge
        self.device_name = device
        self.module: Any = None
        self.seed: int | None = None
        self.names: tuple[str, ...] = ()
        """The weights that training changes."""
        self.settings = ""
        """Those of the model as it was made: a Trainer may write to them."""
        self._has: ShelvedWeights | None = None
        self._trains_head = True

    @property
    def device(self) -> Any:
        """The one that was asked for, or the first GPU where there is one."""
        return torch.device(self.device_name or ("cuda" if torch.cuda.is_available() else "cpu"))

    def build(self, seed: int) -> None:
        """Make the module anew, with what is drawn at random from the seed; it comes to its device to be used."""
        self.module = self._has = None  # two at a time may be too much
        with quiet(), seeded(seed, self.device):
            module = self.factory()
            if not isinstance(module, torch.nn.Module):
                raise BadArgument(
                    f"`model_factory` must return a model of transformers, got {type(module).__name__}. Write "
                    "lambda: AutoModelForSequenceClassification.from_pretrained(path, num_labels=2)."
                )
            self.names, self.settings = tuple(_trained(module)), settings_text(module)
            if self.lora is not None:
                module = self._wrapped(module)
                self.names = tuple(_trained(module))
                weights = dict(module.named_parameters())
                self._trains_head = any(name in weights and ".lora_" not in name for name in self.names)
                if self.merge:
                    self.names = tuple(dict.fromkeys(map(_name_without_adapter, self.names)))
                    module = module.unload()
        self.module, self.seed = module, seed

    def put(self, seed: int, weights: ShelvedWeights) -> Any:
        """The module on its device with these weights; everything else is as made from the seed."""
        self.read(seed, weights)
        with room_for("the model"):
            self.module.to(self.device)
        return self.module

    def read(self, seed: int, weights: ShelvedWeights) -> Any:
        """The module with these weights, wherever it is."""
        if self.module is None or self.seed != seed:
            self.build(seed)
        if self._has is not weights:
            self._has = None
            with torch.no_grad():
                there, tensors = _named(self.module), weights.read()
                for name in self.names:
                    there[name].copy_(tensors[name])
            self._has = weights
        return self.module

    def take(self) -> Tensors:
        """A copy of the weights that training changes."""
        there = _named(self.module)
        return {name: there[name].detach().to("cpu", copy=True).contiguous() for name in self.names}

    def has(self, weights: ShelvedWeights) -> None:
        """Say whose weights the module has now."""
        self._has = weights

    @contextmanager
    def in_training(self) -> Iterator[Any]:
        """What is to be trained: the module, or the module with a new adapter, which is merged at the end."""
        self._has = None
        if self.lora is None or not self.merge:
            self.module.train()
            yield self.module
            return
        wrapped = self._wrapped(self.module)
        try:
            wrapped.to(self.device).train()
            yield wrapped
        except BaseException:
            self.module = wrapped.unload()
            raise
        self.module = wrapped.merge_and_unload()

    def read_from(self, given: Any) -> Tensors:
        """The weights that training changes, out of a model of a person."""
        if self.module is None:
            self.build(0)
        wanted, there = _named(self.module), _named(given)
        for name in self.names:
            if name not in there or there[name].shape != wanted[name].shape:
                got = f"one without {name}" if name not in there else f"{name} of shape {tuple(there[name].shape)}"
                raise BadArgument(f"`model` must be like the models of `model_factory`, got {got}.")
        for name, weight in self.module.named_parameters():
            if name in self.names or name not in there or BEFORE_TRAINING in name:
                continue
            if not torch.equal(there[name].detach().to(weight), weight):
                raise BadArgument(
                    f"`model` must have the weights of `model_factory` where nothing is trained, got another {name}. "
                    "Let model_factory load the weights of this model."
                )
        return {name: there[name].detach().to("cpu", copy=True).contiguous() for name in self.names}

    def check_head(self) -> None:
        """Refuse a LoRA that leaves the last layer as it was drawn at random."""
        if not self._trains_head:
            raise BadArgument(
                "`lora` must train the last layer of a classifier as well, got only adapters. Write "
                'LoraConfig(..., task_type="SEQ_CLS") for text, modules_to_save=["classifier"] for images.'
            )

    def _wrapped(self, module: Any) -> Any:
        from peft import get_peft_model

        try:
            with quiet():
                return get_peft_model(module, copy.deepcopy(self.lora))  # which writes to its settings
        except ValueError as problem:
            reason = " ".join(str(problem).split()).partition(". ")[0].rstrip(".")
            raise BadArgument(
                f"`lora` must name modules of {type(module).__name__} that PEFT can adapt, got: {reason}. "
                "Name others as target_modules=[...], or train all weights."
            ) from problem


def _named(module: Any) -> dict[str, Any]:
    """Weights and buffers by name; weights that are tied have the first name."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _trained(module: Any) -> list[str]:
    """Weights that are not frozen, and the buffers that are kept with a model (statistics of batches)."""
    weights = [name for name, weight in module.named_parameters() if weight.requires_grad]
    kept = module.state_dict().keys()
    return weights + [name for name, _ in module.named_buffers() if name in kept]


def _name_without_adapter(name: str) -> str:
    """The weight of the plain module that changes when a trained weight of an adapted one is merged.

    >>> _name_without_adapter("base_model.model.bert.query.lora_A.default.weight")
    'bert.query.weight'
    >>> _name_without_adapter("base_model.model.classifier.modules_to_save.default.bias")
    'classifier.bias'
    """
    name = name.removeprefix(PEFT_PREFIX).replace(".modules_to_save.default", "").replace(".base_layer", "")
    return f"{name.partition('.lora_')[0]}.weight" if ".lora_" in name else name


@contextmanager
def seeded(seed: int, device: Any) -> Iterator[None]:
    """Random numbers of torch, NumPy and Python start from the seed inside, and go on outside as before."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002 (Trainer uses it)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        start_random(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002


def start_random(seed: int) -> None:
    """Begin all random numbers anew."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002


@contextmanager
def quiet() -> Iterator[None]:
    """No bars, reports and warnings of transformers and PEFT, which would come with every model that is made."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
