"""The pretrained models of `reproduction.finetuning_cells` with their tasks, for PyTorch.

Texts are positive or negative snippets of one domain; images are classes of CIFAR-100; a language model continues
corpora, as the one of `reproduction.language_runs` does.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch

from reproduction.finetuning_cells import FULL, IMAGES, LANGUAGE, RATINGS, TEXTS, Tuned
from reproduction.finetuning_data import DOMAINS, GEMMA, MINILM, efficientnet, enlarged, found, text_rows
from reproduction.finetuning_torch import (
    Scores,
    Subject,
    Tensors,
    bits_a_byte,
    class_scores,
    heads_of,
    rating_scores,
    with_heads,
    with_ratings,
)
from reproduction.language_runs import FILE, chosen_corpora
from taskorder.datasets import load
from taskorder.datasets.class_tasks import draw_task_set, lookup_table, task_indices
from taskorder.datasets.sources import data_folder
from taskorder.stratified import stratified_share

RANK = 8


@lru_cache(maxsize=2)
def subject_of(cell: Tuned, number: int) -> Subject:
    """The model of a cell and the tasks of a set."""
    return {TEXTS: _texts, IMAGES: _images, LANGUAGE: _language}[cell.model](cell, number)


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def adapted(module: Any, method: str, task_type: str) -> Any:
    """The model as it is, or with an adapter and all else but a head frozen."""
    if method == FULL:
        return module
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(task_type=task_type, r=RANK, lora_alpha=2 * RANK, target_modules="all-linear")
    return get_peft_model(module, config)


def domains_of(number: int, num_tasks: int) -> list[str]:
    """The domains of a task set: with one task fewer than there are, every set leaves out another one.

    >>> [len(domains_of(number, 3)) for number in range(2)], domains_of(0, 3) == domains_of(1, 3)
    ([3, 3], False)
    """
    first = number % len(DOMAINS)
    chosen = (2 * list(DOMAINS))[first : first + num_tasks]
    return [domain for domain in DOMAINS if domain in chosen]


def _texts(cell: Tuned, number: int) -> Subject:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(found(MINILM))
    domains = domains_of(number, cell.num_tasks)
    parts: list[list[Tensors]] = [[], []]
    for task, domain in enumerate(domains):
        texts, ratings = text_rows(domain, number, cell.examples, cell.tests)
        tokens = tokenizer(texts, padding="max_length", truncation=True, max_length=cell.length, return_tensors="pt")
        for part, rows in zip(parts, (slice(cell.examples), slice(cell.examples, None)), strict=True):
            inputs = {name: tokens[name][rows] for name in ("input_ids", "attention_mask")}
            own = np.array(ratings[rows])
            if cell.target == RATINGS:
                part.append(with_ratings(inputs, own / 4, task, cell.head))
            else:
                labels = (own > 0).astype(np.int64)
                part.append(with_heads(inputs, labels, task, cell.num_tasks, cell.num_classes, cell.head))

    def make(seed: int) -> torch.nn.Module:
        torch.manual_seed(seed)
        width = 1 if cell.target == RATINGS else cell.num_classes
        outputs = int(np.prod(heads_of(cell.num_tasks, width, cell.head)))
        module = AutoModelForSequenceClassification.from_pretrained(found(MINILM), num_labels=outputs)
        return adapted(module, cell.method, "SEQ_CLS").to(_device())

    score = rating_scores if cell.target == RATINGS else class_scores
    return Subject(make, partial(_scored_texts, score), domains, *parts)


def _scored_texts(score: Any, module: torch.nn.Module, examples: Tensors) -> Scores:
    longest = int(examples["attention_mask"].sum(dim=1).max())
    inputs = {name: examples[name][:, :longest] for name in ("input_ids", "attention_mask")}
    found_scores: Scores = score(module(**inputs).logits, examples)
    return found_scores


def _images(cell: Tuned, number: int) -> Subject:
    data = load("cifar100")
    tasks = draw_task_set(data.class_names, cell.num_tasks, cell.num_classes, seed=number, dataset=data.name)
    parts: list[list[Tensors]] = [[], []]
    for place, task in enumerate(tasks.tasks):
        for part, split, most in zip(parts, ("train", "test"), (cell.examples, cell.tests), strict=True):
            labels = getattr(data, f"{split}_labels")
            rows = task_indices(labels, task)
            if most < len(rows):
                rows = rows[stratified_share(labels[rows], most / len(rows), seed=number)]
            targets = lookup_table(task, data.num_classes)[labels[rows]]
            rows, targets = rows[np.argsort(targets, kind="stable")], np.sort(targets)
            images = {"images": torch.from_numpy(getattr(data, f"{split}_inputs")[rows])}
            part.append(with_heads(images, targets, place, cell.num_tasks, cell.num_classes, cell.head))

    def make(seed: int) -> torch.nn.Module:
        torch.manual_seed(seed)
        module = efficientnet()
        outputs = int(np.prod(heads_of(cell.num_tasks, cell.num_classes, cell.head)))
        module._fc = torch.nn.Linear(module._fc.in_features, outputs)
        return module.to(_device(), memory_format=torch.channels_last)

    return Subject(make, _scored_images, tasks.names, *parts)


def _scored_images(module: torch.nn.Module, examples: Tensors) -> Scores:
    return class_scores(module(enlarged(examples["images"])), examples)


def token_windows(tokens: Sequence[int], count: int, length: int) -> list[Sequence[int]]:
    """The first windows of so many tokens each.

    >>> token_windows([1, 2, 3, 4, 5], 2, 2)
    [[1, 2], [3, 4]]
    """
    if len(tokens) < count * length:
        raise ValueError(f"`examples` and `tests` must be at most {len(tokens) // length} for a corpus, got {count}.")
    return [tokens[begin : begin + length] for begin in range(0, count * length, length)]


@lru_cache(maxsize=1)
def _gemma() -> tuple[Any, Any]:
    """The tokenizer and the pretrained model, which take long to unpack."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = found(GEMMA)
    given: dict[str, Any] = {"gguf_file": next(folder.glob("*.gguf")).name}
    tokenizer = AutoTokenizer.from_pretrained(folder, **given)
    return tokenizer, AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **given)


def _language(cell: Tuned, number: int) -> Subject:
    tokenizer, pretrained = _gemma()
    corpora = chosen_corpora(number)[: cell.num_tasks]
    with np.load(data_folder() / FILE) as file:
        rows = [file["names"].tolist().index(name) for name in corpora]
        texts = {part: [bytes(file[part][row]).decode("utf-8", "ignore") for row in rows] for part in ("train", "test")}

    def windows(text: str, count: int) -> Mapping[str, torch.Tensor]:
        tokens = tokenizer(text[: 8 * count * cell.length], add_special_tokens=False)["input_ids"]
        cut = token_windows(tokens, count, cell.length)
        size = [len(tokenizer.decode(window[1:]).encode()) for window in cut]
        return {"input_ids": torch.tensor(cut), "bytes": torch.tensor(size, dtype=torch.float32)}

    def make(seed: int) -> torch.nn.Module:
        torch.manual_seed(seed)
        return adapted(copy.deepcopy(pretrained), cell.method, "CAUSAL_LM").to(_device())

    train = [windows(text, cell.examples) for text in texts["train"]]
    test = [windows(text, cell.tests) for text in texts["test"]]
    return Subject(make, _scored_language, corpora, train, test)


def _scored_language(module: torch.nn.Module, examples: Tensors) -> Scores:
    return bits_a_byte(module(input_ids=examples["input_ids"]).logits, examples)
