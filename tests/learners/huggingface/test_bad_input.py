"""One line with the fix, and nothing is lost."""

import copy
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from taskorder import Task, run_pilot
from taskorder.learners import EWC, FineTuning, HuggingFaceLearner, LearnerError
from taskorder.learners.huggingface_inputs import NO_LIMIT, most_tokens

pytestmark = pytest.mark.filterwarnings("default")
RECIPE = FineTuning(epochs=1, batch_size=8, learning_rate=5e-3)


def limit_memory(learner, most):
    """The model runs out of memory with more than so many examples a pass; sizes are written down."""
    sizes, factory = [], learner._work.factory

    def limited():
        model = factory()

        def check(module, args, options):
            sizes.append(len(options["input_ids"]))
            if sizes[-1] > most:
                raise torch.OutOfMemoryError("CUDA out of memory")

        model.register_forward_pre_hook(check, with_kwargs=True)
        return model

    learner._work.factory = limited
    return sizes


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_passes_are_halved_where_memory_runs_out(request, tokenizer, reviews, corpora, name):
    tasks = reviews if name == "bert" else corpora
    load, numbers = request.getfixturevalue(name), []
    for most in (100, 3):
        learner = HuggingFaceLearner(load, tokenizer, RECIPE)
        sizes = limit_memory(learner, most)
        model = learner.fit(learner.fit(learner.make(0), tasks[0]), tasks[1])
        numbers.append([score.loss for score in learner.score_many([model], tasks)[0]])
    sizes = sizes[2 * (name == "gpt2") :]  # of a language model, two looks at whether it sees the next token
    assert sizes[:5] == [8, 4, 2, 2, 2]
    assert max(sizes[2:]) == 2  # it does not try again
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-4)


def test_one_example_that_is_too_much_is_refused(bert, tokenizer, reviews):
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE)
    limit_memory(learner, 0)
    with pytest.raises(ValueError, match=r"^`learner` must fit into memory, got out of memory with one example"):
        learner.fit(learner.make(0), reviews[0])


def test_memory_that_halving_does_not_help_is_named(monkeypatch, bert, tokenizer, reviews):
    """What AdamW keeps of each weight, and the model itself, have no parts."""

    def spent(*_, **more):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    learner = HuggingFaceLearner(bert, tokenizer, RECIPE)
    model = learner.make(0)
    with monkeypatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "step", spent)
        with pytest.raises(ValueError, match=r"^`learner` must fit into memory, .* for what AdamW keeps .* Take lora="):
            learner.fit(model, reviews[0])
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Module, "to", spent)
        with pytest.raises(ValueError, match=r"^`learner` must fit into memory, got out of memory for the model"):
            learner.fit(model, reviews[0])
    assert learner.loss(learner.fit(model, reviews[0]), reviews[0]) > 0


def test_a_loss_that_is_no_number_is_refused_and_what_was_measured_is_kept(tmp_path, bert, tokenizer, reviews):
    fits, broken = [], [8]

    class Counted(HuggingFaceLearner):
        def fit(self, model, task):
            fits.append(task.name)
            return super().fit(model, task)

    def sometimes():
        model = bert()

        def spoil(module, args, output):
            if len(fits) in broken and module.training:
                output.logits = output.logits * float("nan")
            return output

        model.register_forward_hook(spoil)
        return model

    options = {"pilot": 1.0, "seeds": 1, "draws": 0, "mix": False}
    store = tmp_path / "fits.sqlite"
    learner = Counted(sometimes, tokenizer, RECIPE)
    message = r"^`learner` must have finite losses, got nan in step 1 of 3\. Lower learning_rate \(0\.005\) \("
    where = r"learning 'book' after 'phone', seed 0, fit 8 of 9\)\. The fits before it are kept: call again"
    with pytest.raises(LearnerError, match=message + where):
        run_pilot(reviews, learner, store=store, **options)
    broken.clear()
    fits.clear()
    plan = run_pilot(reviews, learner, store=store, **options).plan
    assert fits == ["phone", "book", "film"]  # of nine; the first one is what the others grow from
    again = run_pilot(reviews, HuggingFaceLearner(bert, tokenizer, RECIPE), **options).plan
    assert plan.named_order == again.named_order
    assert plan.score == again.score


def test_a_tokenizer_without_a_pad_token_is_refused(folder, bert, reviews, corpora, gpt2):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    bare = AutoTokenizer.from_pretrained(folder / "bert")
    bare.pad_token = None
    with pytest.raises(ValueError, match=r"^`processor` must have a pad token, got a tokenizer without one\."):
        (learner := HuggingFaceLearner(bert, bare)).fit(learner.make(0), reviews[0])

    def bare_model():
        model = AutoModelForSequenceClassification.from_pretrained(folder / "gpt2", num_labels=2)
        model.config.pad_token_id = None
        return model

    whole = AutoTokenizer.from_pretrained(folder / "bert")
    with pytest.raises(ValueError, match=r"^`model_factory` must make a model with a pad token, got pad_token_id None"):
        (learner := HuggingFaceLearner(bare_model, whole)).fit(learner.make(0), reviews[0])
    # a language model needs none: no loss is counted of what is filled up
    losses = []
    for tokenizer in (whole, bare):
        learner = HuggingFaceLearner(gpt2, tokenizer, RECIPE)
        losses.append(learner.loss(learner.fit(learner.make(0), corpora[0]), corpora[0]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_texts_that_are_too_long_are_refused_or_cut(bert, gpt2, tokenizer):
    texts = ["the film was good", "the film was " + "very " * 20 + "bad"] * 4
    for load, task in ((bert, Task("film", texts, ["yes", "no"] * 4)), (gpt2, Task("film", texts))):
        learner = HuggingFaceLearner(load, tokenizer, RECIPE)
        message = r"^`max_length` must be at most 16 for this model, got texts of up to 24 tokens, like 'the film"
        with pytest.raises(ValueError, match=message):
            learner.fit(learner.make(0), task)
        learner = HuggingFaceLearner(load, tokenizer, RECIPE, max_length=16)
        learner.fit(learner.make(0), task)


def test_models_and_tokenizers_that_say_no_limit_have_none():
    for model, limit in ((-1, 512), (64, 64), (None, 512)):
        tokenizer = SimpleNamespace(model_max_length=512)
        assert most_tokens(tokenizer, SimpleNamespace(max_position_embeddings=model)) == limit
    assert most_tokens(SimpleNamespace(model_max_length=10**30), SimpleNamespace()) == NO_LIMIT


def test_answers_that_were_cut_away_are_named(gpt2, tokenizer):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"ask": ["the film was very very", "the book was not"], "answer": ["good", "bad"]})
    learner = HuggingFaceLearner(gpt2, tokenizer, column=("ask", "answer"), max_length=4)
    with pytest.raises(ValueError, match=r"^`inputs` of task 'talk' must .* Were all answers cut\? max_length is 4\."):
        learner.loss(learner.make(0), Task("talk", frame))


def test_tokens_that_the_model_does_not_know_are_refused(bert, gpt2, tokenizer):
    larger = copy.deepcopy(tokenizer)
    larger.add_tokens(["unheard"])
    texts, last = ["the film was good", "the film was unheard"] * 4, len(tokenizer) - 1
    message = rf"^`processor` must have the tokens that the model knows, 0 to {last}, got {last + 1}\. Load both from"
    for load, task in ((bert, Task("film", texts, ["yes", "no"] * 4)), (gpt2, Task("film", texts))):
        learner = HuggingFaceLearner(load, larger, RECIPE)
        with pytest.raises(ValueError, match=message):
            learner.fit(learner.make(0), task)

        def resized(load=load):
            model = load()
            model.resize_token_embeddings(len(larger))
            return model

        learner = HuggingFaceLearner(resized, larger, RECIPE)
        assert learner.loss(learner.fit(learner.make(0), task), task) > 0


def test_a_language_model_that_sees_the_next_token_is_refused(tokenizer, corpora):
    """BERT as a language model would soon have no loss at all."""
    from transformers import BertConfig, BertLMHeadModel

    def fit(is_decoder):
        config = BertConfig(
            vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, initializer_range=0.5, is_decoder=is_decoder,
        )  # fmt: skip
        learner = HuggingFaceLearner(lambda: BertLMHeadModel(config), tokenizer, RECIPE)
        return learner.loss(learner.fit(learner.make(0), corpora[0]), corpora[0])

    assert fit(is_decoder=True) > 0
    with pytest.raises(ValueError, match=r"^`model_factory` must make a model that continues texts, .*\(BertLMHead"):
        fit(is_decoder=False)


def test_images_among_several_columns_are_refused(folder, images):
    """Datasets of images often come with names of files, and with other labels."""
    datasets, image = pytest.importorskip("datasets"), pytest.importorskip("PIL.Image")
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    learner = HuggingFaceLearner(
        lambda: AutoModelForImageClassification.from_pretrained(folder / "vit"),
        AutoImageProcessor.from_pretrained(folder / "vit"),
        RECIPE,
    )
    task = images[0]
    rows = {"image": list(map(image.fromarray, task.inputs)), "file": ["a"] * 16, "label": list(task.labels)}
    data = datasets.Dataset.from_dict(rows)
    with pytest.raises(ValueError, match=r"^`tasks` must have images in the only column .* image, file\. Write da"):
        learner.fit(learner.make(0), Task("gray", data, "label"))
    alone = Task("gray", data.select_columns(["image", "label"]), "label", classes=task.classes)
    model = learner.fit(learner.make(0), alone)
    assert learner.loss(model, alone) == learner.loss(learner.fit(learner.make(0), task), task)


def test_columns_are_named(bert, tokenizer):
    datasets = pytest.importorskip("datasets")
    texts = ["the film was good", "the film was bad"] * 4
    data = datasets.Dataset.from_dict({"number": range(8), "review": texts, "stars": ["5", "1"] * 4})
    task = Task("film", data, "stars")

    def fit(column):
        learner = HuggingFaceLearner(bert, tokenizer, RECIPE, column=column)
        return learner.loss(learner.fit(learner.make(0), task), task)

    with pytest.raises(ValueError, match=r"^`column` must name the column of the texts, got none.*number, review"):
        fit(None)
    with pytest.raises(ValueError, match=r"^`column` must name a column of the tasks, got 'reviews'\. Did you mean"):
        fit("reviews")
    plain = HuggingFaceLearner(bert, tokenizer, RECIPE)
    alone = Task("film", texts, ["5", "1"] * 4)
    assert fit("review") == plain.loss(plain.fit(plain.make(0), alone), alone)
    assert fit(("review", "number")) != fit("review")
    with pytest.raises(ValueError, match=r"`labels` of task 'film' must name a column, got 'star'\. Did you mean"):
        Task("film", data, "star")


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_texts_that_are_missing_in_a_column_are_refused(bert, tokenizer, missing):
    """They would be the words None and nan."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"review": ["good", missing, "bad", "poor"], "stars": [5, 4, 1, 1]})
    frame["review"] = frame["review"].astype(object)
    task = Task("film", frame, ["yes", "yes", "no", "no"])
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE, column="review")
    with pytest.raises(
        ValueError, match=r"^`tasks` must have a text in every row of the column 'review', got (None|nan)\."
    ):
        learner.fit(learner.make(0), task)
    numbers = HuggingFaceLearner(bert, tokenizer, RECIPE, column=("stars",))
    assert numbers.fit(numbers.make(0), task).seen == ("film",)


def test_models_and_tasks_must_go_together(bert, gpt2, tokenizer, reviews, corpora, images, folder):
    from transformers import AutoModel

    def fit(factory, task):
        learner = HuggingFaceLearner(factory, tokenizer, RECIPE)
        learner.fit(learner.make(0), task)

    with pytest.raises(ValueError, match=r"^`model_factory` must make a classifier for these tasks, got logits of"):
        fit(gpt2, reviews[0])
    with pytest.raises(ValueError, match=r"^`model_factory` must make a language model for these tasks, got"):
        fit(bert, corpora[0])
    with pytest.raises(ValueError, match=r"^`model_factory` must make a classifier for these tasks, got no logits"):
        fit(lambda: AutoModel.from_pretrained(folder / "bert"), reviews[0])
    with pytest.raises(ValueError, match=r"^`learner` must have an output for each of the 3 classes of all tasks"):
        fit(bert, Task("film", ["good", "bad", "not"], ["a", "b", "c"]))
    with pytest.raises(ValueError, match=r"^`tasks` must have classes for this learner, got numbers to predict"):
        fit(bert, Task("film", ["good", "bad"], [0.5, 1.5], regression=True))
    with pytest.raises(ValueError, match=r"^`tasks` must have texts or images for this learner, got rows of"):
        fit(bert, Task("film", [[1.0, 2.0], [2.0, 1.0]], [0, 1]))


def test_weights_of_16_bits_that_cannot_be_trained_are_refused(bert, tokenizer, reviews):
    def fit(dtype, precision):
        learner = HuggingFaceLearner(
            lambda: bert().to(dtype), tokenizer, FineTuning(epochs=1, precision=precision), device="cpu"
        )
        learner.fit(learner.make(0), reviews[0])

    fit(torch.bfloat16, "bf16")
    message = r"^`model_factory` must make a model with weights of 32 bits to train, got torch\.{}\. Write from_pre"
    for dtype, precision in (("float16", "fp32"), ("float16", "fp16"), ("bfloat16", "fp16")):
        with pytest.raises(ValueError, match=message.format(dtype)):
            fit(getattr(torch, dtype), precision)


def test_a_lora_that_fits_nothing_is_refused(bert, tokenizer):
    peft = pytest.importorskip("peft")
    learner = HuggingFaceLearner(bert, tokenizer, lora=peft.LoraConfig(target_modules=["q_proj"]))
    with pytest.raises(ValueError, match=r"^`lora` must name modules of BertForSeq.*, got: .*q_proj.* Name others"):
        learner.make(0)


def test_a_lora_that_leaves_the_last_layer_out_is_refused(bert, tokenizer, reviews):
    peft = pytest.importorskip("peft")
    for merge in (False, True):
        lora = peft.LoraConfig(r=2, target_modules=["query"])
        learner = HuggingFaceLearner(bert, tokenizer, RECIPE, lora=lora, merge=merge)
        with pytest.raises(ValueError, match=r"^`lora` must train the last layer of a classifier as well"):
            learner.fit(learner.make(0), reviews[0])


def test_arguments_are_checked(bert, tokenizer):
    for arguments, message in (
        ((bert(), tokenizer), r"^`model_factory` must be a function that makes the model, .* got BertForSequence"),
        ((bert, "model"), r"^`processor` must be the tokenizer .* got str\."),
        ((bert, tokenizer, {"epochs": 3}), r"^`recipe` must be FineTuning\(\.\.\.\) or TrainingArguments, got dict\."),
    ):
        with pytest.raises(ValueError, match=message):
            HuggingFaceLearner(*arguments)
    for options, message in (
        ({"merge": True}, r"^`merge` must come with lora=LoraConfig"),
        ({"max_length": 0}, r"^`max_length` must be"),
        ({"heads": "tasks"}, r"^`heads` must be one of .* Did you mean 'task'\?"),
        ({"strategy": EWC(1.0)}, r"^`strategy` must be one that HuggingFaceLearner has, like Replay\(20\), got EWC"),
        ({"in_memory": -1}, r"^`in_memory` must be a number of bytes, got -1\."),
    ):
        with pytest.raises(ValueError, match=message):
            HuggingFaceLearner(bert, tokenizer, **options)
    for options, message in (
        ({"epochs": 0}, r"^`epochs` must be a number above 0, got 0\."),
        ({"batch_size": 2.5}, r"^`batch_size` must be a whole number of at least 1, got 2\.5\."),
        ({"schedule": "linaer"}, r"^`schedule` must be one of linear, cosine, .* Did you mean 'linear'\?"),
        ({"schedule": "reduce_lr_on_plateau"}, r"^`schedule` must be one of linear, cosine, .* got 'reduce_lr_on_pl"),
        ({"precision": "bf32"}, r"^`precision` must be one of fp32, bf16, fp16, got 'bf32'\. Did you mean"),
    ):
        with pytest.raises(ValueError, match=message):
            FineTuning(**options)
    with pytest.raises(ValueError, match=r"^`model_factory` must return a model of transformers, got int\."):
        HuggingFaceLearner(lambda: 3, tokenizer).make(0)
