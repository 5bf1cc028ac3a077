"""A pretrained encoder of texts under a small head of PyTorch: with its tokenizer it is a frozen part."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from taskorder import plan
from taskorder.learners import TorchLearner
from taskorder.learners.protocol import described

pytestmark = pytest.mark.filterwarnings("default")


def test_texts_go_through_an_encoder_once_and_leave_it_as_it_was(bert, tokenizer, reviews):
    encoder = bert().bert
    passed = []

    def embed(texts):
        passed.extend(texts)
        tokens = tokenizer(texts, padding=True, return_tensors="pt")
        return encoder(**tokens).last_hidden_state[:, 0]

    before = {name: weight.clone() for name, weight in encoder.state_dict().items()}
    encoder.train()
    learner = TorchLearner(lambda: torch.nn.Linear(16, 2), epochs=2, frozen=embed)
    name = described(learner)
    found = plan(reviews, learner, pilot=1.0, seeds=2, draws=10)
    assert sorted(found.named_order) == ["book", "film", "phone"]
    assert len(passed) == len(set(passed)) == len({text for task in reviews for text in task.inputs})
    assert all(torch.equal(before[name], weight) for name, weight in encoder.state_dict().items())
    assert encoder.training
    assert described(learner) == name  # though the tokenizer has filled up a batch since
    with torch.no_grad():
        encoder.embeddings.word_embeddings.weight += 0.1
    assert described(learner) != name
