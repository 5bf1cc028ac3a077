"""One pretrained model of PyTorch learns a few tasks one after another, in every order that begins with one of them.

The model takes a dict of tensors, a row for each example; a `Subject` says how good its answers are. Orders share
prefixes: a model that has learned one is copied, not trained again. Examples of a task come in the same sequence in
every order. The optimizer (AdamW, constant rate, no decay) begins anew with each task, as one call of a trainer does.
There is no dropout, and the statistics of batch normalization stay those of pretraining.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from taskorder.checks import Floats, Ints
from taskorder.prefixes import Prefix

Tensors = Mapping[str, torch.Tensor]
TEST_AT_ONCE = 64


class Scores(NamedTuple):
    """Of each example; of a task, their means."""

    accuracy: Any
    loss: Any
    chance: Any
    """The loss to expect if labels were shuffled."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and its tasks."""

    make: Callable[[int], torch.nn.Module]
    """The untouched model, with a new head drawn from the seed; parameters that take no gradient stay."""
    scores: Callable[[torch.nn.Module, Tensors], Scores]
    names: Sequence[str]
    train: Sequence[Tensors]
    test: Sequence[Tensors]


@dataclass(frozen=True)
class Recipe:
    """How a task is learned."""

    steps: int
    batch_size: int
    learning_rate: float
    bfloat16: bool = False


def learn(
    subject: Subject, module: torch.nn.Module, examples: Tensors, recipe: Recipe, seed: Sequence[int], times: int = 1
) -> None:
    """Train for `times` times the steps of a recipe, in epochs of which each is a new shuffle."""
    device = next(module.parameters()).device
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=0.0, fused=True)
    module.eval()
    count = len(next(iter(examples.values())))
    for rows in batches(count, times * recipe.steps, min(recipe.batch_size, count), seed):
        batch = {name: tensor[rows].to(device) for name, tensor in examples.items()}
        with torch.autocast(device.type, torch.bfloat16, enabled=recipe.bfloat16):
            loss = subject.scores(module, batch).loss.mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    if not torch.isfinite(loss):
        raise ValueError(f"`learning_rate` must keep the loss finite, got {recipe.learning_rate}. Take a smaller one.")


def batches(count: int, steps: int, size: int, seed: Sequence[int]) -> list[Ints]:
    """The rows of each step: shuffles of all, one after another, cut into batches; what is left of one is dropped.

    >>> [sorted(rows.tolist()) for rows in batches(3, 2, 3, (0,))]
    [[0, 1, 2], [0, 1, 2]]
    """
    rng = np.random.default_rng(seed)
    shuffles = (rng.permutation(count)[: count // size * size].reshape(-1, size) for _ in itertools.count())
    return list(itertools.islice(itertools.chain.from_iterable(shuffles), steps))


def tested(subject: Subject, module: torch.nn.Module, tasks: Sequence[Tensors], recipe: Recipe) -> Scores:
    """(P,) of each: how a model does on the examples of every task."""
    device = next(module.parameters()).device
    module.eval()
    found = []
    for examples in tasks:
        count = len(next(iter(examples.values())))
        parts: list[NDArray[np.floating[Any]]] = []
        for begin in range(0, count, TEST_AT_ONCE):
            batch = {name: tensor[begin : begin + TEST_AT_ONCE].to(device) for name, tensor in examples.items()}
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=recipe.bfloat16):
                scores = subject.scores(module, batch)
            parts.append(np.stack([part.float().cpu().numpy() for part in scores]))
        found.append(np.concatenate(parts, axis=1).mean(axis=1))
    return Scores(*np.array(found, dtype=np.float64).T)


def copied(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """What of a model training changes."""
    return {name: weight.detach().clone() for name, weight in module.named_parameters() if weight.requires_grad}


def restore(module: torch.nn.Module, state: Tensors) -> None:
    """Put back what was copied."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            if name in state:
                weight.copy_(state[name])


def learn_orders(subject: Subject, recipe: Recipe, seed: int, first: int) -> dict[Prefix, Scores]:
    """How the model does on all tasks after every prefix of the orders that begin with the task `first`."""
    module = subject.make(seed)
    found: dict[Prefix, Scores] = {}

    def grow(prefix: Prefix, state: Tensors) -> None:
        restore(module, state)
        learn(subject, module, subject.train[prefix[-1]], recipe, (seed, prefix[-1]))
        found[prefix] = tested(subject, module, subject.test, recipe)
        rest = [task for task in range(len(subject.names)) if task not in prefix]
        own = copied(module) if rest else {}
        for task in rest:
            grow((*prefix, task), own)

    grow((first,), copied(module))
    return found


def learn_mixed(subject: Subject, recipe: Recipe, seed: int) -> Scores:
    """How the model does after as many steps as a whole order takes, on batches out of all tasks."""
    module = subject.make(seed)
    together = {name: torch.cat([task[name] for task in subject.train]) for name in subject.train[0]}
    learn(subject, module, together, recipe, (seed, len(subject.names)), times=len(subject.names))
    return tested(subject, module, subject.test, recipe)


def learn_samples(
    subject: Subject, recipe: Recipe, seed: int, rows: Sequence[Ints], held: Sequence[Ints] | None = None
) -> tuple[Scores, list[Scores]]:
    """A pilot: (P,) of the untouched model, and of the model of each task alone, from some rows of each task.

    held: the rows to test on; None for those that are learned from.
    """
    tests = [_rows(task, of_task) for task, of_task in zip(subject.train, held or rows, strict=True)]
    module = subject.make(seed)
    state, start = copied(module), tested(subject, module, tests, recipe)
    found = []
    for task, of_task in enumerate(rows):
        restore(module, state)
        learn(subject, module, _rows(subject.train[task], of_task), recipe, (seed, task))
        found.append(tested(subject, module, tests, recipe))
    return start, found


def _rows(examples: Tensors, rows: Ints) -> dict[str, torch.Tensor]:
    return {name: tensor[rows] for name, tensor in examples.items()}


def class_scores(logits: torch.Tensor, examples: Tensors) -> Scores:
    """Of (n, outputs) logits: each example has a `head`, a `target` in it, and its task the labels `own` there."""
    width = int(examples["width"][0])
    inside = logits.float().view(len(logits), -1, width)[torch.arange(len(logits)), examples["head"]]
    logs = inside.log_softmax(dim=1)
    right = (inside.argmax(dim=1) == examples["target"]).float()
    loss = -logs.gather(1, examples["target"][:, None])[:, 0]
    return Scores(right, loss, -logs.gather(1, examples["own"]).mean(dim=1))


def rating_scores(outputs: torch.Tensor, examples: Tensors) -> Scores:
    """Of (n, heads) numbers: each example has a `rating`, its task their `mean` and `variance`.

    Accuracy is of signs.
    """
    found = outputs.float()[torch.arange(len(outputs)), examples["head"]]
    rating = examples["rating"]
    chance = (found - examples["mean"]) ** 2 + examples["variance"]
    return Scores((found * rating > 0).float(), (found - rating) ** 2, chance)


def bits_a_byte(logits: torch.Tensor, examples: Tensors) -> Scores:
    """Of (n, tokens, vocabulary) logits: the loss of the next token, as bits for each byte of text."""
    tokens = examples["input_ids"][:, 1:]
    each = logits[:, :-1].float().flatten(0, 1)  # a row for each token: of another form all logits would be copied
    lost = torch.nn.functional.cross_entropy(each, tokens.flatten(), reduction="none").view_as(tokens)
    bits = lost.sum(dim=1) / (np.log(2) * examples["bytes"])
    right = (logits[:, :-1].argmax(dim=2) == tokens).float().mean(dim=1)
    return Scores(right, bits, torch.zeros_like(bits))


def heads_of(num_tasks: int, num_classes: int, head: str) -> tuple[int, int]:
    """How many heads there are and how wide each is.

    >>> heads_of(4, 2, "shared"), heads_of(4, 2, "task"), heads_of(4, 2, "class")
    ((1, 2), (4, 2), (1, 8))
    """
    return {"shared": (1, num_classes), "task": (num_tasks, num_classes), "class": (1, num_tasks * num_classes)}[head]


def with_heads(
    examples: Tensors, labels: Ints, task: int, num_tasks: int, num_classes: int, head: str
) -> dict[str, torch.Tensor]:
    """The examples of a task with what `class_scores` needs."""
    begin = task * num_classes if head == "class" else 0
    count = len(labels)
    own = torch.arange(begin, begin + num_classes).expand(count, -1)
    return {
        **examples,
        "target": torch.as_tensor(labels, dtype=torch.int64) + begin,
        "head": torch.full((count,), task if head == "task" else 0),
        "width": torch.full((count,), heads_of(num_tasks, num_classes, head)[1]),
        "own": own.contiguous(),
    }


def with_ratings(examples: Tensors, ratings: Floats, task: int, head: str) -> dict[str, torch.Tensor]:
    """The examples of a task with what `rating_scores` needs."""
    rating = torch.as_tensor(ratings, dtype=torch.float32)
    return {
        **examples,
        "rating": rating,
        "head": torch.full((len(rating),), task if head == "task" else 0),
        "mean": rating.mean().expand(len(rating)).clone(),
        "variance": rating.var(correction=0).expand(len(rating)).clone(),
    }
