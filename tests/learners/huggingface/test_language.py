"""Language models: the loss per token, and what counts as knowledge."""

import copy
from itertools import chain

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from taskorder import Task, run_pilot
from taskorder.learners import FineTuning, HuggingFaceLearner, score
from taskorder.planning.measuring import measurements

pytestmark = pytest.mark.filterwarnings("default")
RECIPE = FineTuning(epochs=3, batch_size=4, learning_rate=1e-2)


def one_by_one(model, tokenizer, texts):
    """The mean loss over all tokens but the first of each text, one text at a time."""
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for text in texts:
            tokens = torch.tensor([tokenizer(text)["input_ids"]])
            said = torch.log_softmax(model(tokens).logits[0, :-1], -1)
            total -= float(said.gather(1, tokens[0, 1:, None]).sum())
            count += tokens.shape[1] - 1
    return total / count


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_the_loss_is_the_mean_over_tokens(folder, tokenizer, corpora, name):
    from transformers import AutoModelForCausalLM

    load = AutoModelForCausalLM.from_pretrained
    learner = HuggingFaceLearner(lambda: load(folder / name), tokenizer, RECIPE)
    fresh = learner.make(0)
    tuned = learner.fit(fresh, corpora[0])
    assert len({len(text.split()) for text in corpora[0].inputs}) > 1  # so that there is padding
    for model in (fresh, tuned):
        module = load(folder / name)
        module.load_state_dict(model.weights.read(), strict=False)
        for task in corpora:
            (measured,) = learner.score_many([model], [task])[0]
            assert measured.loss == pytest.approx(one_by_one(module, tokenizer, task.inputs), rel=1e-5)
            assert measured.chance == pytest.approx(one_by_one(load(folder / name), tokenizer, task.inputs), rel=1e-5)
            assert measured.examples.mean(axis=1).tolist() == pytest.approx([measured.loss, measured.chance, 0.0])
            assert score(learner, model, task)[:3] == (measured.loss, measured.chance, None)
    assert learner.loss(tuned, corpora[0]) < 0.8 * learner.loss(fresh, corpora[0])


def test_a_function_may_read_the_texts(gpt2, tokenizer, corpora):
    def tokens(texts):
        batch = tokenizer(texts, padding=True, return_tensors="pt")
        return {**batch, "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}

    losses = []
    for processor in (tokenizer, tokens):
        learner = HuggingFaceLearner(gpt2, processor, RECIPE)
        losses.append(learner.loss(learner.fit(learner.make(0), corpora[0]), corpora[0]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_prompts_have_no_loss(gpt2, tokenizer):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"ask": ["the film was", "the book"], "answer": ["very good", "was not bad"]})
    learner = HuggingFaceLearner(gpt2, tokenizer, column=("ask", "answer"))
    loss = learner.loss(learner.make(0), Task("talk", frame))
    model, total, count = gpt2().eval(), 0.0, 0
    for ask, answer in frame.itertuples(index=False):
        start, rest = (tokenizer(text)["input_ids"] for text in (ask, answer))
        with torch.no_grad():
            said = torch.log_softmax(model(torch.tensor([start + rest])).logits[0], -1)
        total -= sum(float(said[len(start) + k - 1, token]) for k, token in enumerate(rest))
        count += len(rest)
    assert loss == pytest.approx(total / count, rel=1e-5)


def test_what_marks_a_beginning_stands_there_once(gpt2, tokenizer):
    """Tokenizers of Llama and Gemma put it before every text; an example of several columns begins once."""
    pandas, processors = pytest.importorskip("pandas"), pytest.importorskip("tokenizers.processors")
    marking = copy.deepcopy(tokenizer)
    mark = marking.eos_token_id
    marking.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[EOS] $A", special_tokens=[("[EOS]", mark)]
    )
    words = {"topic": "the film", "ask": "was it", "answer": "very good"}
    plain = [tokenizer(text)["input_ids"] for text in words.values()]
    for count in (1, 2, 3):
        learner = HuggingFaceLearner(gpt2, marking, column=tuple(words)[-count:])
        encoded = learner.encoder.continued(pandas.DataFrame([words]), None)
        assert encoded["input_ids"][0].tolist() == [mark, *chain(*plain[-count:])]
        assert encoded["labels"][0].tolist()[-2:] == plain[-1]
        assert (encoded["labels"][0][:-2] == -100).all()


def test_knowledge_is_the_share_of_the_way_from_the_untouched_to_the_tuned_model(gpt2, tokenizer, corpora):
    learner = HuggingFaceLearner(gpt2, tokenizer, RECIPE)
    found = run_pilot(corpora, learner, pilot=1.0, seeds=2, draws=20)
    measured = found.measured
    untouched = np.array([learner.loss(learner.make(0), task) for task in corpora])
    alone = [measured.sequences.index((task,)) for task in range(3)]
    tuned = measured.losses[:, alone].mean(axis=0).diagonal()
    for row, sequence in enumerate(measured.sequences):
        model = learner.make(0)
        for task in sequence:
            model = learner.fit(model, corpora[task])
        losses = np.array([learner.loss(model, task) for task in corpora])
        by_hand = (untouched - losses) / (untouched - tuned)
        assert measured.knowledge()[0, row] == pytest.approx(by_hand, rel=1e-4, abs=1e-5)
    assert measured.knowledge()[:, alone].mean(axis=0).diagonal() == pytest.approx(np.ones(3))
    assert found.transfer.losses[:, range(3), range(3)].mean(axis=0) == pytest.approx(np.zeros(3), abs=0.1)
    plan = found.plan
    assert plan.prediction.unit == "knowledge"
    assert "knowledge of a task: 0 is the loss of the untouched model" in " ".join(plan.notes)
    assert "not converged" not in {caution.kind for caution in plan.warnings}


def test_what_pretraining_gave_can_be_lost(gpt2, tokenizer, corpora):
    """Texts that the model knows are a task of their own: it is learned already, and falls below 0."""
    learner = HuggingFaceLearner(gpt2, tokenizer, FineTuning(epochs=30, batch_size=4, learning_rate=1e-2))
    knows = learner.fit(learner.make(0), corpora[0])

    def pretrained():
        model = gpt2()
        model.load_state_dict(knows.weights.read(), strict=False)  # without the name of tied weights
        return model

    tasks = [Task("general", corpora[0].inputs), *corpora[1:]]
    learner = HuggingFaceLearner(pretrained, tokenizer, RECIPE)
    found = run_pilot(tasks, learner, pilot=1.0, seeds=1, draws=0, learned=["general"], model=learner.make(0))
    plan = found.plan
    assert sorted(set(plan.named_order) - {"general"}) == ["backward", "book"]
    row = found.measured.sequences.index((2,))
    assert found.measured.knowledge()[0, row, 0] < -0.1
    assert any(note.startswith("learning general alone lowers its loss by") for note in plan.notes)


def test_a_learner_that_learns_nothing_is_refused(gpt2, tokenizer, corpora):
    learner = HuggingFaceLearner(gpt2, tokenizer, FineTuning(epochs=1, learning_rate=3.0))
    models = [learner.fit(learner.make(0), task) for task in corpora]
    scores = {(k,): tuple(row) for k, row in enumerate(learner.score_many(models, corpora))}
    with pytest.raises(ValueError, match=r"^`learner` must lower the losses of the tasks that it learns, got \+"):
        measurements(corpora, learner, [scores]).knowledge()


def test_texts_of_one_token_have_no_loss(gpt2, tokenizer):
    learner = HuggingFaceLearner(gpt2, tokenizer)
    with pytest.raises(ValueError, match=r"^`inputs` of task 'short' must have texts of at least two tokens, got"):
        learner.loss(learner.make(0), Task("short", ["good", "bad"]))
    mixed = learner.score_many([learner.make(0)], [Task("mixed", ["good", "the film was bad"])])[0][0]
    assert mixed.loss == pytest.approx(one_by_one(gpt2(), tokenizer, ["the film was bad"]), rel=1e-5)
