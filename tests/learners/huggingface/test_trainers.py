"""Trainers of a person train as they would by themselves."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from taskorder.learners import FineTuning, HuggingFaceLearner, Replay

pytestmark = pytest.mark.filterwarnings("default")
BATCH = 20
"""All examples of a task: the order of examples makes no difference then."""


def arguments(folder, **options):
    from transformers import TrainingArguments

    settings = {"num_train_epochs": 3, "per_device_train_batch_size": BATCH, "learning_rate": 5e-3} | options
    return TrainingArguments(str(folder), use_cpu=True, report_to="none", save_strategy="no", **settings)


@pytest.fixture
def trainer(tokenizer, tmp_path):
    """A function that makes a factory of trainers, which keeps the trainers."""
    from transformers import DataCollatorWithPadding, Trainer

    def factory_with(trainer=Trainer, **options):
        def factory(model, data):
            made = trainer(
                model, arguments(tmp_path, **options),
                train_dataset=data.map(lambda row: tokenizer(row["text"])),
                data_collator=DataCollatorWithPadding(tokenizer),
            )  # fmt: skip
            factory.made.append(made)
            return made

        factory.made = []
        return factory

    return factory_with


def test_a_trainer_does_what_our_recipe_does(bert, tokenizer, reviews, trainer):
    recipe = FineTuning(epochs=3, batch_size=BATCH, learning_rate=5e-3)
    losses = []
    for learner in (
        HuggingFaceLearner(bert, tokenizer, recipe),
        HuggingFaceLearner(bert, tokenizer, trainer=trainer()),
    ):
        model = learner.make(0)
        for task in reviews[:2]:
            model = learner.fit(model, task)
        losses.append([score.loss for score in learner.score_many([model], reviews)[0]])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("merge", [False, True])
def test_a_trainer_trains_an_adapter(bert, tokenizer, reviews, adapter, trainer, merge):
    recipe = FineTuning(epochs=3, batch_size=BATCH, learning_rate=5e-3)
    losses = []
    for options in ({"recipe": recipe}, {"trainer": trainer()}):
        learner = HuggingFaceLearner(bert, tokenizer, lora=adapter, merge=merge, **options)
        model = learner.fit(learner.fit(learner.make(0), reviews[0]), reviews[1])
        losses.append(learner.loss(model, reviews[1]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_the_seed_is_that_of_the_fit(bert, tokenizer, reviews, trainer):
    losses = []
    for seed in (0, 0, 1):
        learner = HuggingFaceLearner(bert, tokenizer, trainer=trainer(per_device_train_batch_size=4))
        torch.rand(2)
        before = torch.get_rng_state()
        losses.append(learner.loss(learner.fit(learner.make(seed), reviews[0]), reviews[0]))
        assert torch.equal(torch.get_rng_state(), before)
    assert losses[0] == losses[1] != losses[2]


def test_replay_is_in_the_data(bert, tokenizer, reviews, trainer):
    factory = trainer()
    learner = HuggingFaceLearner(bert, tokenizer, trainer=factory, strategy=Replay(4, share=0.25))
    learner.fit(learner.fit(learner.make(0), reviews[0]), reviews[1])
    rows = [made.train_dataset for made in factory.made]
    assert [len(data) for data in rows] == [20, 27]
    assert sum("film" in text.split() for text in rows[1]["text"]) == 7
    assert set(rows[1]["label"]) == {0, 1}


def test_sft_trainer_trains_a_language_model(gpt2, tokenizer, corpora, tmp_path):
    trl = pytest.importorskip("trl")

    def factory(model, data):
        settings = {"num_train_epochs": 3, "per_device_train_batch_size": 4, "learning_rate": 1e-2, "max_length": 16}
        config = trl.SFTConfig(
            str(tmp_path), use_cpu=True, bf16=False, report_to="none", save_strategy="no",
            gradient_checkpointing=False, **settings,
        )  # fmt: skip
        return trl.SFTTrainer(model=model, args=config, train_dataset=data, processing_class=tokenizer)

    learner = HuggingFaceLearner(gpt2, tokenizer, trainer=factory)
    fresh = learner.make(0)
    tuned = learner.fit(fresh, corpora[0])
    assert learner.loss(tuned, corpora[0]) < 0.9 * learner.loss(fresh, corpora[0])
    again = learner.fit(fresh, corpora[0])
    assert learner.loss(again, corpora[0]) == learner.loss(tuned, corpora[0])


def test_mixed_precision_of_a_trainer_ends_with_it(bert, tokenizer, reviews, trainer):
    learners = [HuggingFaceLearner(bert, tokenizer, trainer=trainer(bf16=bf16)) for bf16 in (True, False)]
    tuned = learners[0].fit(learners[0].make(0), reviews[0])
    assert learners[0].loss(tuned, reviews[0]) == learners[1].loss(tuned, reviews[0])
    exact = learners[1].fit(learners[1].make(0), reviews[0])
    assert learners[1].loss(exact, reviews[0]) != learners[1].loss(tuned, reviews[0])


def test_what_is_no_trainer_is_refused(bert, tokenizer, reviews, adapter, trainer):
    import peft

    def fit(factory):
        learner = HuggingFaceLearner(bert, tokenizer, trainer=factory)
        learner.fit(learner.make(0), reviews[0])

    with pytest.raises(ValueError, match=r"^`trainer` must return a Trainer, got NoneType\."):
        fit(lambda model, data: None)
    with pytest.raises(ValueError, match=r"^`trainer` must train the model that it is given, got PeftModel.*lora="):
        fit(lambda model, data: trainer()(peft.get_peft_model(model, adapter), data))
    with pytest.raises(ValueError, match=r"^`recipe` must be left out with a trainer"):
        HuggingFaceLearner(bert, tokenizer, FineTuning(), trainer=trainer())
    with pytest.raises(ValueError, match=r"^`heads` must be 'shared' with a trainer"):
        HuggingFaceLearner(bert, tokenizer, trainer=trainer(), heads="task")
    with pytest.raises(ValueError, match=r"^`trainer` must be a function, .* got Trainer\."):
        HuggingFaceLearner(bert, tokenizer, trainer=trainer()(bert(), data_of(reviews[0])))


def data_of(task):
    from datasets import Dataset

    return Dataset.from_dict({"text": list(task.inputs), "label": task.targets.tolist()})


def test_weights_that_are_not_finite_are_refused(bert, tokenizer, reviews, trainer):
    learner = HuggingFaceLearner(bert, tokenizer, trainer=trainer(learning_rate=float("inf")))
    with pytest.raises(ValueError, match=r"^`learner` must have finite losses, got weights that are not .* Lower the"):
        learner.fit(learner.make(0), reviews[0])


def limited(most):
    """A Trainer that runs out of memory with more than so many examples a pass."""
    from transformers import Trainer

    class Limited(Trainer):
        def compute_loss(self, model, inputs, **options):
            if len(inputs["labels"]) > most:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().compute_loss(model, inputs, **options)

    return Limited


def test_a_trainer_that_runs_out_of_memory_takes_smaller_passes(bert, tokenizer, reviews, trainer):
    losses = []
    for most in (20, 6):
        factory = trainer(limited(most), num_train_epochs=2)
        learner = HuggingFaceLearner(bert, tokenizer, trainer=factory)
        losses.append(learner.loss(learner.fit(learner.make(0), reviews[0]), reviews[0]))
    assert [made.args.per_device_train_batch_size for made in factory.made] == [20, 10, 5]
    assert [made.args.gradient_accumulation_steps for made in factory.made] == [1, 2, 4]
    learner.fit(learner.make(0), reviews[1])
    assert [made.args.per_device_train_batch_size for made in factory.made[3:]] == [5]  # it does not try again
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    factory = trainer(limited(3), num_train_epochs=1, per_device_train_batch_size=5)
    learner = HuggingFaceLearner(bert, tokenizer, trainer=factory)
    learner.fit(learner.make(0), reviews[0])
    smaller = factory.made[-1]  # 3 would make batches of 6 of 5, and fewer steps where a task is larger
    assert (smaller.args.per_device_train_batch_size, smaller.args.gradient_accumulation_steps) == (1, 5)
    assert smaller.state.global_step == 4
    learner = HuggingFaceLearner(bert, tokenizer, trainer=trainer(limited(0)))
    with pytest.raises(ValueError, match=r"^`learner` must fit into memory, got out of memory with one example"):
        learner.fit(learner.make(0), reviews[0])


def test_a_trainer_that_begins_again_forgets_what_its_passes_have_counted(bert, tokenizer, reviews, trainer):
    """Statistics of batches, say."""
    from transformers import Trainer

    class Later(Trainer):
        def compute_loss(self, model, inputs, **options):
            if self.state.global_step == 1 and len(inputs["labels"]) > 5:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().compute_loss(model, inputs, **options)

    def count(module, _):
        module.passes += float(module.training)

    def counting():
        model = bert()
        model.register_buffer("passes", torch.zeros(1))
        model.register_forward_pre_hook(count)
        return model

    factory = trainer(Later, num_train_epochs=2)
    learner = HuggingFaceLearner(counting, tokenizer, trainer=factory)
    tuned = learner.fit(learner.make(0), reviews[0])
    assert [made.args.per_device_train_batch_size for made in factory.made] == [20, 10, 5]
    assert tuned.weights.read()["passes"].tolist() == [8.0]
