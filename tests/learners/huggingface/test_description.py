"""Equal learners say the same of themselves, before and after they have learned, so that a store knows their fits."""

import copy
import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from taskorder import plan
from taskorder.learners import FineTuning, HuggingFaceLearner

pytestmark = pytest.mark.filterwarnings("default")
RECIPE = FineTuning(epochs=1, batch_size=8, learning_rate=5e-3)


@pytest.fixture
def unused(tokenizer):
    """A tokenizer that nobody has used."""
    fresh = copy.deepcopy(tokenizer)
    fresh.backend_tokenizer.no_padding()
    fresh.backend_tokenizer.no_truncation()
    return fresh


def test_a_tokenizer_that_was_used_is_described_as_before(bert, unused, reviews):
    learner = HuggingFaceLearner(bert, unused, RECIPE, max_length=12)
    before, state = learner.describe(), json.loads(unused.backend_tokenizer.to_str())
    learner.loss(learner.fit(learner.make(0), reviews[0]), reviews[1])
    assert json.loads(unused.backend_tokenizer.to_str()) != state  # it says how the last batch was filled up
    assert learner.describe() == before
    assert HuggingFaceLearner(bert, unused, RECIPE, max_length=12).describe() == before


@pytest.mark.parametrize("kind", ["full", "adapter", "merged"])
def test_training_does_not_change_what_a_learner_says(bert, tokenizer, reviews, adapter, kind):
    options = {} if kind == "full" else {"lora": adapter, "merge": kind == "merged"}
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE, **options)
    before = learner.describe()
    model = learner.fit(learner.fit(learner.make(1), reviews[0]), reviews[1])
    learner.score_many([model], reviews)
    assert learner.describe() == before


def test_what_changes_results_changes_the_description(bert, unused):
    said = [HuggingFaceLearner(bert, unused, RECIPE).describe()]
    for change in ("chat_template", "eos_token"):
        other = copy.deepcopy(unused)
        setattr(other, change, "good")
        said.append(HuggingFaceLearner(bert, other, RECIPE).describe())
    assert len(set(said)) == 3


def test_settings_of_the_model_count_although_its_weights_are_the_same(folder, unused):
    from transformers import AutoModelForSequenceClassification

    def load(**settings):
        return lambda: AutoModelForSequenceClassification.from_pretrained(folder / "bert", **settings)

    said = [HuggingFaceLearner(load(hidden_dropout_prob=p), unused, RECIPE).describe() for p in (0.0, 0.3, 0.0)]
    assert said[0] == said[2] != said[1]


def test_the_values_that_a_function_was_made_with_count(bert, unused):
    def trainer(rate, last=0.0, **options):
        done = []

        def train(model, data, decay=last):
            done.append(rate)
            return options, decay

        return train

    made = [trainer(0.1), trainer(0.2), trainer(0.1, last=0.1), trainer(0.1, steps=3), trainer(0.1)]
    said = [HuggingFaceLearner(bert, unused, trainer=train).describe() for train in made]
    assert len(set(said)) == 4
    assert said[0] == said[4]
    made[0](None, None)  # what it writes down is no setting
    assert HuggingFaceLearner(bert, unused, trainer=made[0]).describe() == said[0]


def test_who_only_describes_a_model_leaves_its_device_alone(bert, unused):
    """The process that plans for a cluster, where each worker has a GPU."""
    learner = HuggingFaceLearner(bert, unused, RECIPE, device="meta")
    here = HuggingFaceLearner(bert, unused, RECIPE, device="cpu")
    assert learner.describe() == here.describe().replace("device=cpu", "device=meta")
    assert learner._work.module.device.type == "cpu"
    assert learner._work.put(0, learner.make(0).weights).device.type == "meta"


def test_a_second_call_learns_nothing_again(tmp_path, bert, unused, reviews):
    learner, fits = HuggingFaceLearner(bert, unused, RECIPE), []
    options = {"pilot": 1.0, "seeds": 1, "draws": 0, "store": tmp_path / "fits.sqlite"}
    first = plan(reviews, learner, **options)
    second = plan(reviews, learner, **options, report=lambda done, total: fits.append(done))
    assert fits == []
    assert second.named_order == first.named_order
