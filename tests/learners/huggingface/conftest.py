"""Tiny models with tokenizers, made here and loaded from a folder: nothing comes from a hub."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest

from taskorder import Task, align

OPINIONS = ["good", "fine", "great", "bad", "poor", "awful"]
FILLERS = ["the", "was", "a", "very", "not", "and", "it"]
WORDS = [*OPINIONS, "film", "book", "phone", "meal", *FILLERS]
LENGTH = 16


def review(rng, verdict, thing):
    """A short text of one opinion."""
    opinions = OPINIONS[:3] if verdict == "yes" else OPINIONS[3:]
    start = ["the", thing, "was", *(["very"] * rng.integers(3)), rng.choice(opinions)]
    return " ".join([*start, *rng.choice(FILLERS, rng.integers(1, 4))])


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """bert, gpt2 (a classifier or a language model), llama, vit: a few thousand weights each."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
        ViTConfig,
        ViTForImageClassification,
        ViTImageProcessor,
    )  # fmt: skip

    torch.set_num_threads(1)  # so small models are faster on one core
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[PAD]", "[UNK]", "[EOS]"]
    words.train_from_iterator([" ".join(WORDS)], trainers.WordLevelTrainer(special_tokens=special))
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "eos_token": "[EOS]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=LENGTH, **names)
    n = len(tokenizer)
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    known = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 2}
    torch.manual_seed(0)
    made = {
        "bert": BertForSequenceClassification(
            BertConfig(vocab_size=n, max_position_embeddings=LENGTH, num_labels=2, pad_token_id=0, **small, **still)
        ),
        "gpt2": GPT2LMHeadModel(
            GPT2Config(vocab_size=n, n_positions=LENGTH, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0, embd_pdrop=0,
                       attn_pdrop=0, **known)
        ),
        "llama": LlamaForCausalLM(LlamaConfig(vocab_size=n, max_position_embeddings=LENGTH, **small, **known)),
        "vit": ViTForImageClassification(
            ViTConfig(image_size=8, patch_size=4, num_channels=3, num_labels=2, **small, **still)
        ),
    }  # fmt: skip
    path = tmp_path_factory.mktemp("models")
    for name, model in made.items():
        model.save_pretrained(path / name)
        tokenizer.save_pretrained(path / name)
    ViTImageProcessor(size={"height": 8, "width": 8}).save_pretrained(path / "vit")
    return path


@pytest.fixture(scope="session")
def tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder / "bert")


@pytest.fixture(scope="session")
def reviews():
    """Is it good? Films, books, and phones, where the words mean the opposite."""
    tasks = []
    for number, thing in enumerate(("film", "book", "phone")):
        rng = np.random.default_rng(number)
        labels = ["yes", "no"] * 10
        said = {"yes": "no", "no": "yes"} if thing == "phone" else {"yes": "yes", "no": "no"}
        tasks.append(Task(thing, [review(rng, said[label], thing) for label in labels], labels))
    return align(tasks)


@pytest.fixture(scope="session")
def corpora():
    """Texts to continue: of films, of books, and in another order of words."""
    tasks = []
    for number, name in enumerate(("film", "book", "backward")):
        rng = np.random.default_rng(number)
        thing = name if number < 2 else "meal"
        texts = [review(rng, rng.choice(["yes", "no"]), thing) for _ in range(16)]
        tasks.append(Task(name, texts if number < 2 else [" ".join(text.split()[::-1]) for text in texts]))
    return align(tasks)


@pytest.fixture(scope="session")
def images():
    """Which half is bright? In gray, and in red."""
    tasks = []
    for number, name in enumerate(("gray", "red")):
        rng = np.random.default_rng(number)
        labels = np.array(["left", "right"] * 8)
        pixels = rng.integers(0, 80, (16, 8, 8, 3))
        for image, label in zip(pixels, labels, strict=True):
            half = slice(0, 4) if label == "left" else slice(4, 8)
            image[:, half, : 3 if name == "gray" else 1] += 150
        tasks.append(Task(name, pixels.astype(np.uint8), labels))
    return align(tasks)


@pytest.fixture
def bert(folder):
    """A function that loads the classifier."""
    from transformers import AutoModelForSequenceClassification

    return lambda: AutoModelForSequenceClassification.from_pretrained(folder / "bert")


@pytest.fixture
def gpt2(folder):
    """A function that loads the language model."""
    from transformers import AutoModelForCausalLM

    return lambda: AutoModelForCausalLM.from_pretrained(folder / "gpt2")


@pytest.fixture
def adapter():
    """Settings of a LoRA for the classifier, without dropout."""
    peft = pytest.importorskip("peft")
    return peft.LoraConfig(task_type="SEQ_CLS", r=2, lora_alpha=4, target_modules=["query", "value"])
