"""What is trained is what a plain loop with transformers trains."""

import zlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from taskorder.learners import FineTuning, HuggingFaceLearner, Replay, score

pytestmark = pytest.mark.filterwarnings("default")  # of packages that are not ours
RECIPE = FineTuning(epochs=2, batch_size=8, learning_rate=5e-3, weight_decay=0.1, warmup=1, max_grad_norm=0.5)


def seed_of(seed, visit, name):
    """Where the random numbers of a visit to a task start."""
    return zlib.crc32(f"{seed} {visit} {name}".encode())


def plain_step(model, tokenizer, texts, targets):
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    return model(**batch, labels=torch.tensor(targets)).loss


def plain_loop(model, task, seed, loss_of, recipe=RECIPE):
    """Fine-tuning as anybody writes it."""
    from transformers import get_linear_schedule_with_warmup

    weights = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [w for w in weights if w.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [w for w in weights if w.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate)
    count = len(task.inputs)
    steps = recipe.epochs * -(-count // recipe.batch_size)
    schedule = get_linear_schedule_with_warmup(optimizer, int(recipe.warmup), steps)
    generator = torch.Generator().manual_seed(seed)
    model.train()
    for _ in range(recipe.epochs):
        for rows in torch.randperm(count, generator=generator).split(recipe.batch_size):
            optimizer.zero_grad()
            loss_of(model, [task.inputs[row] for row in rows], task.targets[rows.numpy()]).backward()
            torch.nn.utils.clip_grad_norm_(weights, recipe.max_grad_norm)
            optimizer.step()
            schedule.step()


def same_weights(ours, theirs):
    """Whether all weights of two modules agree."""
    first, second = ours.state_dict(), theirs.state_dict()
    assert first.keys() == second.keys()
    return all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)


def module_of(learner, model):
    return learner._work.put(model.seed, model.weights)


def test_full_fine_tuning_is_a_plain_loop(bert, tokenizer, reviews):
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE)
    model, theirs = learner.make(3), bert()
    for task in reviews[:2]:
        model = learner.fit(model, task)
        plain_loop(theirs, task, seed_of(3, 0, task.name), lambda m, x, y: plain_step(m, tokenizer, x, y))
        assert same_weights(module_of(learner, model), theirs)
    assert not same_weights(module_of(learner, model), bert())


def test_one_lora_that_goes_on_is_a_plain_loop(bert, tokenizer, reviews, adapter):
    import peft

    learner = HuggingFaceLearner(bert, tokenizer, RECIPE, lora=adapter)
    model = learner.make(3)
    torch.manual_seed(3)
    theirs = peft.get_peft_model(bert(), adapter)
    for task in reviews[:2]:
        model = learner.fit(model, task)
        plain_loop(theirs, task, seed_of(3, 0, task.name), lambda m, x, y: plain_step(m, tokenizer, x, y))
        assert same_weights(module_of(learner, model), theirs)
    whole = sum(weight.numel() * 4 for weight in theirs.parameters())
    assert model.weights.num_bytes < whole / 8  # a checkpoint is the adapter and the last layer


def test_a_lora_that_is_merged_is_a_plain_loop(bert, tokenizer, reviews, adapter):
    import peft

    learner = HuggingFaceLearner(bert, tokenizer, RECIPE, lora=adapter, merge=True)
    model, theirs = learner.make(3), bert()
    for task in reviews[:2]:
        model = learner.fit(model, task)
        torch.manual_seed(seed_of(3, 0, task.name))
        wrapped = peft.get_peft_model(theirs, adapter)
        plain_loop(wrapped, task, seed_of(3, 0, task.name), lambda m, x, y: plain_step(m, tokenizer, x, y))
        theirs = wrapped.merge_and_unload()
        assert same_weights(module_of(learner, model), theirs)
    before, after = bert().state_dict(), theirs.state_dict()
    assert {name for name in before if not torch.equal(before[name], after[name])} == set(learner._work.names)


def test_a_language_model_is_trained_on_the_mean_over_tokens(gpt2, tokenizer, corpora):
    def loss_of(model, texts, targets):
        batch = tokenizer(texts, padding=True, return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return model(**batch, labels=labels).loss

    learner = HuggingFaceLearner(gpt2, tokenizer, RECIPE)
    model, theirs = learner.fit(learner.make(0), corpora[0]), gpt2()
    plain_loop(theirs, corpora[0], seed_of(0, 0, "film"), loss_of)
    assert same_weights(module_of(learner, model), theirs)


def test_heads_of_tasks_compete_among_their_own_classes(folder, tokenizer, reviews):
    from transformers import AutoModelForSequenceClassification

    from taskorder import Task, align

    names = ("yes", "no"), ("good", "bad")
    tasks = align(
        Task(task.name, list(task.inputs), [own[target] for target in task.targets])
        for task, own in zip(reviews, names, strict=False)
    )
    load = AutoModelForSequenceClassification.from_pretrained

    def four():
        return load(folder / "bert", num_labels=4, ignore_mismatched_sizes=True)

    def loss_of(model, texts, targets):
        own = np.unique(tasks[1].targets)
        logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits[:, own]
        return torch.nn.functional.cross_entropy(logits, torch.tensor(np.searchsorted(own, targets)))

    learner = HuggingFaceLearner(four, tokenizer, RECIPE, heads="task")
    model = learner.make(1)
    torch.manual_seed(1)
    theirs = four()
    model = learner.fit(model, tasks[1])
    plain_loop(theirs, tasks[1], seed_of(1, 0, tasks[1].name), loss_of)
    assert same_weights(module_of(learner, model), theirs)
    theirs.eval()
    own = np.unique(tasks[1].targets)
    with torch.no_grad():
        logits = theirs(**tokenizer(tasks[1].inputs, padding=True, return_tensors="pt")).logits[:, own]
    wanted = torch.nn.functional.cross_entropy(logits, torch.tensor(np.searchsorted(own, tasks[1].targets)))
    assert score(learner, model, tasks[1]).loss == pytest.approx(float(wanted), rel=1e-5)


def test_training_arguments_say_the_same_as_a_recipe(tmp_path, bert, tokenizer, reviews):
    from transformers import TrainingArguments

    arguments = TrainingArguments(
        str(tmp_path), num_train_epochs=2, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        learning_rate=5e-3, weight_decay=0.1, warmup_steps=1, max_grad_norm=0.5, use_cpu=True,
    )  # fmt: skip
    learners = [HuggingFaceLearner(bert, tokenizer, recipe) for recipe in (RECIPE, arguments)]
    assert learners[1].recipe.at_once == 4
    losses = [learner.loss(learner.fit(learner.make(0), reviews[0]), reviews[0]) for learner in learners]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"optim": "adafactor"}, "optim='adafactor'"),
        ({"optim": "adamw_torch_8bit"}, "optim='adamw_torch_8bit'"),
        ({"dataloader_drop_last": True}, "dataloader_drop_last=True"),
        ({"lr_scheduler_type": "cosine", "lr_scheduler_kwargs": {"num_cycles": 3}}, "lr_scheduler_kwargs={'num_"),
        ({"adam_beta1": 0.0}, "adam_beta1=0.0"),
        ({"train_sampling_strategy": "sequential"}, "train_sampling_strategy='sequential'"),
    ],
)
def test_training_arguments_that_would_be_passed_over_are_refused(tmp_path, bert, tokenizer, options, got):
    from transformers import TrainingArguments

    arguments = TrainingArguments(str(tmp_path), use_cpu=True, **options)
    with pytest.raises(ValueError, match=r"^`recipe` must be AdamW with plain settings, got ") as problem:
        HuggingFaceLearner(bert, tokenizer, arguments)
    assert got in str(problem.value)


def test_settings_of_trl_that_would_be_passed_over_are_refused(tmp_path, gpt2, tokenizer):
    trl = pytest.importorskip("trl")
    plain = {"use_cpu": True, "bf16": False}
    assert HuggingFaceLearner(gpt2, tokenizer, trl.SFTConfig(str(tmp_path), **plain)).recipe.precision == "fp32"
    for name, value in (("packing", True), ("loss_type", "dft"), ("router_aux_loss_coef", 0.1)):
        with pytest.raises(ValueError, match=rf"^`recipe` must be AdamW with plain settings, got {name}={value!r}\."):
            HuggingFaceLearner(gpt2, tokenizer, trl.SFTConfig(str(tmp_path), **{name: value}, **plain))
    shorter = trl.SFTConfig(str(tmp_path), max_length=8, **plain)
    with pytest.raises(
        ValueError, match=r"^`recipe` must have no max_length of its own, got 8\. Write .* max_length=8"
    ):
        HuggingFaceLearner(gpt2, tokenizer, shorter)
    assert HuggingFaceLearner(gpt2, tokenizer, shorter, max_length=8).max_length == 8


def test_the_same_seed_gives_the_same_numbers(bert, tokenizer, reviews):
    def four_layers():
        model = bert()
        model.dropout.p = 0.5
        return model

    learners = [HuggingFaceLearner(four_layers, tokenizer, RECIPE) for _ in range(2)]
    losses = []
    for learner, seed in ((learners[0], 0), (learners[1], 0), (learners[1], 1)):
        torch.rand(3)
        losses.append(learner.loss(learner.fit(learner.make(seed), reviews[0]), reviews[1]))
    assert losses[0] == losses[1] != losses[2]


def test_random_numbers_and_data_are_left_alone(bert, tokenizer, reviews):
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002 (the state that must not move)
    states = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    digest = reviews[0].digest
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE)
    learner.loss(learner.fit(learner.make(5), reviews[0]), reviews[0])
    assert torch.equal(torch.get_rng_state(), states[0])
    assert np.random.get_state()[1].tolist() == states[1]  # noqa: NPY002
    assert reviews[0].digest == digest


def test_replay_mixes_old_examples_into_the_batches(bert, tokenizer, reviews):
    seen = []
    learner = HuggingFaceLearner(bert, tokenizer, FineTuning(epochs=1, batch_size=10), strategy=Replay(3, share=0.5))
    encode = learner.encoder.classified
    learner.encoder.classified = lambda values, config: seen.append(list(values)) or encode(values, config)
    first = learner.fit(learner.make(0), reviews[0])
    assert [len(values) for values in seen] == [10, 10]
    seen.clear()
    second = learner.fit(first, reviews[2])
    assert [len(values) for values in seen] == [20, 20]  # as many steps as without replay
    kept = set(first.memory.parts[0].inputs)
    assert len(first.memory.parts[0]) == 6
    assert {text for values in seen for text in values if "film" in text.split()} <= kept
    assert [part.task for part in second.memory.parts] == ["film", "phone"]
    assert first.seen == ("film",)


def test_replay_helps_to_remember(bert, tokenizer, reviews):
    losses = {}
    for strategy in (None, Replay(10)):
        learner = HuggingFaceLearner(bert, tokenizer, FineTuning(epochs=20, learning_rate=3e-3), strategy=strategy)
        model = learner.fit(learner.fit(learner.make(0), reviews[0]), reviews[2])
        losses[strategy] = learner.loss(model, reviews[0])
    assert losses[Replay(10)] < losses[None] / 2


def test_images_are_learned(folder, images):
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    learner = HuggingFaceLearner(
        lambda: AutoModelForImageClassification.from_pretrained(folder / "vit"),
        AutoImageProcessor.from_pretrained(folder / "vit"),
        FineTuning(epochs=15, learning_rate=5e-3),
    )
    fresh = learner.make(0)
    tuned = learner.fit(fresh, images[0])
    assert learner.accuracy(tuned, images[0]) == 1.0
    assert learner.loss(tuned, images[0]) < 0.7 * learner.loss(fresh, images[0])


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_gives_about_the_same(bert, tokenizer, reviews, precision):
    losses = []
    for kind in ("fp32", precision):
        recipe = FineTuning(epochs=4, learning_rate=1e-2, precision=kind)
        learner = HuggingFaceLearner(bert, tokenizer, recipe)
        model = learner.fit(learner.make(0), reviews[0])
        losses.append(learner.loss(model, reviews[0]))
        assert all(tensor.dtype == torch.float32 for tensor in model.weights.read().values())
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], abs=0.05)


def test_steps_that_fp16_leaves_out_take_none_of_the_schedule(monkeypatch, bert, tokenizer, reviews):
    """As in Trainer: gradients that are too large for 16 bits are left out, and the scale is halved."""
    rates, step, scaler = [], torch.optim.AdamW.step, torch.amp.GradScaler

    def noted(self, *more):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *more)

    monkeypatch.setattr(torch.optim.AdamW, "step", noted)
    monkeypatch.setattr(torch.amp, "GradScaler", lambda device, enabled: scaler(device, 2.0**24, enabled=enabled))
    recipe = FineTuning(max_steps=20, learning_rate=1e-3, precision="fp16")
    learner = HuggingFaceLearner(bert, tokenizer, recipe, device="cpu")
    learner.fit(learner.make(0), reviews[0])
    assert 0 < len(rates) < 20
    assert rates == pytest.approx([1e-3 * (1 - k / 20) for k in range(len(rates))])


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def test_every_device_gives_about_the_same(bert, tokenizer, reviews, device):
    losses = []
    for name in ("cpu", device):
        learner = HuggingFaceLearner(bert, tokenizer, RECIPE, device=name)
        model = learner.fit(learner.make(0), reviews[0])
        losses.append(learner.loss(model, reviews[0]))
        assert learner._work.module.device.type == name
        assert {tensor.device.type for tensor in model.weights.read().values()} == {"cpu"}
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
