"""Checkpoints never change, share what is the same, go to disk where they are many, and travel."""

import gc
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from taskorder.learners import FineTuning, HuggingFaceLearner, KeptExamples, Replay, learn_orders
from taskorder.learners.huggingface_weights import SpillFolder, WeightShelf

pytestmark = pytest.mark.filterwarnings("default")
RECIPE = FineTuning(epochs=1, learning_rate=1e-2)


def numbers(scores):
    return {prefix: [score[:3] for score in row] for of_seed in scores for prefix, row in of_seed.items()}


def test_fit_leaves_the_given_model_as_it_is(bert, tokenizer, reviews):
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE)
    first = learner.fit(learner.make(0), reviews[0])
    before = {name: tensor.clone() for name, tensor in first.weights.read().items()}
    twin = learner.copy(first)
    second, again = learner.fit(first, reviews[1]), learner.fit(twin, reviews[1])
    assert all(torch.equal(before[name], tensor) for name, tensor in first.weights.read().items())
    assert (first.seen, second.seen) == (("film",), ("film", "book"))
    assert learner.loss(second, reviews[0]) == learner.loss(again, reviews[0]) != learner.loss(first, reviews[0])
    ours, theirs = first.weights.read(), second.weights.read()
    assert not {tensor.data_ptr() for tensor in ours.values()} & {tensor.data_ptr() for tensor in theirs.values()}
    module = learner._work.module
    assert not {weight.data_ptr() for weight in module.parameters()} & {tensor.data_ptr() for tensor in theirs.values()}


def test_seeds_differ_in_what_is_drawn_at_random_only(folder, tokenizer, reviews, adapter):
    from transformers import AutoModelForSequenceClassification

    def four():
        load = AutoModelForSequenceClassification.from_pretrained
        return load(folder / "bert", num_labels=4, ignore_mismatched_sizes=True)

    learner = HuggingFaceLearner(four, tokenizer, RECIPE)
    weights = [learner.make(seed).weights.read() for seed in (0, 1, 0)]
    differ = {name for name in weights[0] if not torch.equal(weights[0][name], weights[1][name])}
    assert differ == {"classifier.weight"}  # the bias is 0
    assert weights[2] is weights[0]
    # a model of one seed after one of another: everything is as made from its own
    models = [learner.fit(learner.make(seed), reviews[0]) for seed in (0, 1)]
    other = HuggingFaceLearner(four, tokenizer, RECIPE)
    assert learner.loss(models[0], reviews[1]) == other.loss(other.fit(other.make(0), reviews[0]), reviews[1])


@pytest.mark.parametrize("kind", ["full", "lora", "merged"])
def test_spilled_checkpoints_give_the_same_numbers_and_are_cleaned_up(bert, tokenizer, reviews, adapter, kind):
    options = {"full": {}, "lora": {"lora": adapter}, "merged": {"lora": adapter, "merge": True}}[kind]
    orders = [(0, 1), (0, 2), (1, 0)]
    kept = HuggingFaceLearner(bert, tokenizer, RECIPE, **options)
    spilled = HuggingFaceLearner(bert, tokenizer, RECIPE, in_memory=0, **options)
    wanted = numbers(learn_orders(kept, reviews, orders))
    assert kept._shelf._folder is None
    model = spilled.fit(spilled.make(0), reviews[0])
    folder = spilled._shelf._folder.path
    assert not model.weights.in_memory
    assert len(list(folder.iterdir())) == 2
    assert numbers(learn_orders(spilled, reviews, orders)) == wanted
    del model
    gc.collect()
    assert len(list(folder.iterdir())) == 2  # the fresh model, and what the module has
    del spilled
    gc.collect()
    assert not folder.exists()


def test_the_newest_weights_stay_in_memory():
    shelf = WeightShelf(most_bytes=100)
    held = [shelf.hold({"w": torch.full((10,), float(k))}) for k in range(4)]  # of 40 bytes
    assert [weights.in_memory for weights in held] == [False, False, True, True]
    assert [float(weights.read()["w"][0]) for weights in held] == [0.0, 1.0, 2.0, 3.0]
    del held[3]
    assert shelf.hold({"w": torch.zeros(10)}).in_memory
    assert held[2].in_memory  # what nobody needs takes no room


KILLED = """
import os, signal
from taskorder.learners.huggingface_weights import SpillFolder
folder = SpillFolder()
print(folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_folders_of_killed_processes_are_removed_and_no_others(tmp_path, monkeypatch):
    """Workers of Ray are killed in the end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", KILLED], env=environment, capture_output=True, text=True)
    left = Path(done.stdout.strip())
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == [left]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folders = [SpillFolder(), SpillFolder()]
    assert {folder.path for folder in folders} == set(tmp_path.iterdir())
    assert left not in tmp_path.iterdir()
    folders.clear()
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_learners_and_checkpoints_travel_without_their_module(bert, tokenizer, reviews):
    cloudpickle = pytest.importorskip("ray").cloudpickle
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE, in_memory=0)
    model = learner.fit(learner.make(0), reviews[0])
    other, there = pickle.loads(cloudpickle.dumps((learner, model)))
    assert other._work.module is None
    assert other.loss(there, reviews[1]) == learner.loss(model, reviews[1])
    wanted = learner.loss(learner.fit(model, reviews[1]), reviews[0])
    assert other.loss(other.fit(there, reviews[1]), reviews[0]) == wanted
    assert other.describe() == learner.describe()


def test_a_model_of_a_person_is_adopted(bert, tokenizer, reviews, gpt2):
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE)
    tuned = learner.fit(learner.make(0), reviews[0])
    module = bert()
    module.load_state_dict(tuned.weights.read())
    given = learner.adopt(module, reviews[0].classes)
    assert learner.loss(given, reviews[1]) == learner.loss(tuned, reviews[1])
    learner.fit(given, reviews[1])
    assert all(torch.equal(weight, tuned.weights.read()[name]) for name, weight in module.named_parameters())
    with pytest.raises(ValueError, match=r"^`model` must be like the models of `model_factory`, got one without bert"):
        learner.adopt(gpt2(), ())
    with pytest.raises(ValueError, match=r"^`model` must be a model of transformers or of this learner, got int\."):
        learner.adopt(3, ())


def test_a_model_that_another_strategy_has_trained_is_refused(bert, tokenizer, reviews):
    class Own:
        def replayed(self, memory):
            return memory or []

        def remember(self, memory, task, model, rng):
            return [KeptExamples.of(task, [0])]

    learners = [HuggingFaceLearner(bert, tokenizer, RECIPE, strategy=strategy) for strategy in (Replay(2), Own())]
    models = [learner.fit(learner.make(0), reviews[0]) for learner in learners]
    for learner, own, other in zip(learners, models, models[::-1], strict=True):
        assert learner.adopt(own, reviews[0].classes) is own
        with pytest.raises(ValueError, match=r"^`model` must be one that was trained with .*, or with no strategy, g"):
            learner.adopt(other, reviews[0].classes)


def test_a_model_that_differs_where_nothing_is_trained_is_refused(bert, tokenizer, reviews, adapter):
    """Its weights would be left behind."""
    import peft

    def frozen():
        model = bert()
        model.bert.requires_grad_(requires_grad=False)
        return model

    for factory, options, given in (
        (frozen, {}, bert),
        (bert, {"lora": adapter}, lambda: peft.get_peft_model(bert(), adapter)),
    ):
        learner = HuggingFaceLearner(factory, tokenizer, RECIPE, **options)
        assert learner.loss(learner.adopt(given(), reviews[0].classes), reviews[0]) > 0
        other = given()
        with torch.no_grad():
            next(weight for name, weight in other.named_parameters() if "LayerNorm" in name).add_(0.1)
        with pytest.raises(ValueError, match=r"^`model` must have the weights of `model_factory` where nothing is tr"):
            learner.adopt(other, reviews[0].classes)


def test_other_settings_are_another_learner(bert, gpt2, tokenizer, adapter):
    made = [
        HuggingFaceLearner(bert, tokenizer),
        HuggingFaceLearner(gpt2, tokenizer),
        HuggingFaceLearner(bert, tokenizer, FineTuning(epochs=1)),
        HuggingFaceLearner(bert, tokenizer, max_length=8),
        HuggingFaceLearner(bert, tokenizer, heads="task"),
        HuggingFaceLearner(bert, tokenizer, lora=adapter),
        HuggingFaceLearner(bert, tokenizer, lora=adapter, merge=True),
        HuggingFaceLearner(bert, tokenizer, trainer=lambda model, data: None),
    ]
    texts = [learner.describe() for learner in made]
    assert len(set(texts)) == len(made)
    assert texts[0] == HuggingFaceLearner(bert, tokenizer).describe()
    assert "['query', 'value']" in texts[5]  # PEFT has a set, in an order that is another one in each process
