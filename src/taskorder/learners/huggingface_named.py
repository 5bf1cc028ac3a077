"""The learner that `hf:MODEL_PATH` names: a pretrained model in a folder, with what settings it is fine-tuned."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taskorder.arguments import BadArgument, unknown
from taskorder.checks import whole
from taskorder.learners.call_settings import named_call
from taskorder.learners.huggingface_inputs import most_tokens
from taskorder.learners.huggingface_recipe import FineTuning
from taskorder.learners.protocol import Learner
from taskorder.strategies import SHARED, Strategy
from taskorder.task import Task

LORA_RATE = 1e-3
"""The learning rate of an adapter, where nothing is said; all weights take that of FineTuning."""
MOST_TOKENS = 512
"""Longer texts are cut, where nothing is said and the model takes more."""
LIKE = "hf:MODEL_PATH(lora=8,learning_rate=1e-3)"
"""What a name should look like, for messages."""
OWN_SETTINGS = ("lora", "merge", "max_length")
OPTIONS = ("epochs", "batch_size", "heads", "strategy")
"""What all learners have, and the command line has options for."""
RECIPE_SETTINGS = tuple(each.name for each in fields(FineTuning) if each.name not in OPTIONS)


def named_huggingface(
    text: str,
    tasks: Sequence[Task],
    epochs: int,
    batch_size: int | None,
    heads: str = SHARED,
    strategy: Strategy | None = None,
) -> Learner:
    """The learner for `MODEL_PATH` or `MODEL_PATH(lora=8,merge=True,learning_rate=1e-3,max_length=128)`.

    lora is the rank of an adapter; without it all weights are trained. Tasks without labels are for a language model.
    """
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise ValueError('transformers is not installed. Install it with: pip install "taskorder[hf]".')
    images = tasks[0].rows.shown != "texts"
    if tasks[0].regression or (images and tasks[0].inputs.ndim < 3):
        what = "numbers to predict" if tasks[0].regression else "rows of numbers"
        raise BadArgument(f"`learner` must be one for {what}, like sklearn:MLPClassifier, got hf:{text}.")
    path, settings = _read(text)
    from taskorder.learners.huggingface import HuggingFaceLearner

    rank, merge = settings.pop("lora", None), settings.pop("merge", False)
    max_length = settings.pop("max_length", None)
    if rank is not None:
        settings.setdefault("learning_rate", LORA_RATE)
    recipe = FineTuning(epochs=epochs, batch_size=batch_size or FineTuning.batch_size, **settings)
    if not isinstance(merge, bool):
        raise BadArgument(f"`learner` must have True or False as merge, got {merge!r}.")
    if images and max_length is not None:
        raise BadArgument(f"`learner` must have no max_length for images, got {max_length!r}. It cuts texts.")
    factory, processor, limit = _loaded(path, tasks[0], images)
    if max_length is None and not images:
        max_length = limit
    lora = None if rank is None else _lora(rank, tasks[0], images)
    return HuggingFaceLearner(
        factory, processor, recipe, lora=lora, merge=merge, max_length=max_length, heads=heads, strategy=strategy
    )


def _read(text: str) -> tuple[str, dict[str, Any]]:
    """The path, and plain values by name."""
    found = re.fullmatch(r"(.*?)(\(.*\))?", text, re.DOTALL)
    assert found is not None
    path, inside = found[1], found[2] or "()"
    if not Path(path).exists() and Path(text).exists():
        path, inside = text, "()"  # a folder with parentheses in its name
    call, settings = named_call(f"f{inside}", text, LIKE)
    if not call:
        raise BadArgument(f"`learner` must be like {LIKE}, got {text!r}: more than one pair of brackets.")
    for name in settings:
        if name in OPTIONS:
            raise BadArgument(f"`learner` must have no {name} in brackets, got it in {text!r}. Say it with ", name, ".")
        if name not in (*OWN_SETTINGS, *RECIPE_SETTINGS):
            raise unknown("learner", name, (*OWN_SETTINGS, *RECIPE_SETTINGS))
    return path, settings


def _loaded(path: str, task: Task, images: bool) -> tuple[Callable[[], Any], Any, int]:
    """A function that loads the model, what reads its inputs, and the most tokens that it takes."""
    import transformers

    kind = "ForCausalLM" if task.labels is None else "ForImageClassification" if images else "ForSequenceClassification"
    model = getattr(transformers, f"AutoModel{kind}")
    reader = transformers.AutoImageProcessor if images else transformers.AutoTokenizer
    folder = os.path.expanduser(path)
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        processor = reader.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as problem:
        there = os.path.isdir(folder)
        said = " ".join(str(problem).split()).partition(". ")[0].rstrip(".")
        reason = textwrap.shorten(said, 120, placeholder="") if there else "no such folder, and no hub is asked"
        raise BadArgument(
            f"`learner` must name a folder with a model of transformers and its "
            f"{'image processor' if images else 'tokenizer'}, got {path!r}: {reason}."
        ) from None
    options: dict[str, Any] = {"dtype": "float32"}  # whatever the file has: a recipe says how precisely it computes
    if task.labels is not None:
        # a last layer for other classes is replaced by one that is drawn anew
        options |= {"num_labels": len(task.classes), "ignore_mismatched_sizes": True}
    if not images:
        if processor.pad_token is None:
            processor.pad_token = processor.eos_token
        if getattr(config, "pad_token_id", None) is None:
            options["pad_token_id"] = processor.pad_token_id

    def load() -> Any:
        return model.from_pretrained(folder, local_files_only=True, **options)

    return load, processor, min(MOST_TOKENS, most_tokens(processor, config))


def _lora(rank: Any, task: Task, images: bool) -> Any:
    """Settings of an adapter of this rank."""
    if (whole(rank) or 0) < 1:
        raise BadArgument(f"`learner` must have a rank of at least 1 as lora, got {rank!r}. Leave it out for none.")
    if find_spec("peft") is None:
        raise ValueError('peft is not installed. Install it with: pip install "taskorder[hf]".')
    from peft import LoraConfig

    if images:
        return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", modules_to_save=["classifier"])
    kind = "CAUSAL_LM" if task.labels is None else "SEQ_CLS"
    return LoraConfig(task_type=kind, r=rank, lora_alpha=2 * rank)
