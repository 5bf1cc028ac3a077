"""Every learner reads what it can of the inputs that people have, through plans and reports, and refuses the rest."""

import re

import numpy as np
import pytest
import scipy.sparse

pytest.importorskip("sklearn")
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from taskorder import Task, plan, run_pilot
from taskorder.learners import LearnerError, SklearnLearner, learn_orders, score
from taskorder.learners.protocol import described

TOPICS = {
    "billing": "invoice charge refund card",
    "fraud": "stolen suspicious blocked",
    "access": "password login locked",
    "praise": "thanks great love",
}


def mail(topics, count=60, seed=0):
    """Texts of a few words, and their topics."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(topics, count)
    return [" ".join(rng.choice(TOPICS[topic].split(), 3)) + " please" for topic in labels], labels


def customers():
    """Tables of three customers, whose topics overlap."""
    pandas = pytest.importorskip("pandas")
    groups = (("billing", "fraud"), ("access", "billing"), ("fraud", "praise", "access"))
    made = (mail(topics, seed=k) for k, topics in enumerate(groups))
    return [Task(f"customer {k}", pandas.DataFrame({"text": t, "topic": y}), "topic") for k, (t, y) in enumerate(made)]


def text_learner():
    return SklearnLearner(make_pipeline(HashingVectorizer(n_features=256), SGDClassifier(loss="log_loss")), epochs=3)


def slopes(count=3, regression=True):
    """Numbers to predict: each task has a slope of its own and one that all share."""
    rng = np.random.default_rng(0)
    tasks = []
    for k in range(count):
        x = rng.normal(size=(120, 4))
        tasks.append(Task(f"slope {k}", x, 2 * x[:, k] + x[:, 3], regression=regression))
    return tasks


def test_customers_with_overlapping_topics_end_in_a_plan_and_a_report(tmp_path):
    result = run_pilot(customers(), text_learner(), pilot=40, seeds=1, draws=20)
    assert result.sample[0].classes == ("access", "billing", "fraud", "praise")
    assert result.measured.guess.tolist() == [0.25] * 3  # guessing is among all outputs
    known = result.measured.accuracy[0]
    row = {sequence: known[k] for k, sequence in enumerate(result.measured.sequences)}
    assert row[(0,)][0] > 0.9
    # what customer 0 calls billing is billing to customer 1, whose other topic customer 0 has never seen
    share = (result.sample[1].labels == "billing").mean()
    assert row[(0,)][1] == pytest.approx(share, abs=0.05)
    assert any("4 outputs, 3 of them for classes of two tasks or more" in note for note in result.plan.notes)
    assert sorted(result.plan.named_order) == ["customer 0", "customer 1", "customer 2"]
    result.plan.report(tmp_path / "plan.html")
    assert "customer 2" in (tmp_path / "plan.html").read_text()
    assert "accuracy at the end" in result.plan.summary()


def test_labels_are_one_class_where_they_are_equal_and_nowhere_else():
    """By position "fraud" of one task was "billing" of another, for both came first."""
    first, other = mail(("billing", "fraud")), mail(("fraud", "praise"), seed=1)
    learner = text_learner()
    tasks = Task("a", *first), Task("b", *other)
    (scores,) = learn_orders(learner, tasks, [(0,)])
    fraud = (other[1] == "fraud").mean()
    assert scores[(0,)][1].accuracy == pytest.approx(fraud, abs=0.05)


def test_mixed_columns_go_through_the_steps_of_a_pipeline():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    tasks = []
    for k in range(3):
        frame = pandas.DataFrame({"age": rng.normal(40, 9, 80), "city": rng.choice(["Bonn", "Rome"], 80)})
        frame["note"] = np.where(frame["age"] > 40 + k, "older person", "younger person")
        tasks.append(Task(f"t{k}", frame.assign(label=(frame["age"] > 40 + k) & (frame["city"] == "Rome")), "label"))
    columns = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), ["city"]), (HashingVectorizer(n_features=16), "note")
    ).fit(tasks[0].inputs)
    learner = SklearnLearner(make_pipeline(columns, SGDClassifier(loss="log_loss")), epochs=10)
    result = run_pilot(tasks, learner, pilot=1.0, seeds=1, draws=10)
    assert np.diagonal(result.transfer.accuracy[0]).min() > 0.8
    assert len(result.plan.order) == 3


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_table_of_numbers_is_what_an_array_of_them_is(package):
    frames = pytest.importorskip(package)
    x = np.random.default_rng(0).normal(size=(60, 2))
    y = (x[:, 0] > 0).astype(int)
    table = frames.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    learner = SklearnLearner(SGDClassifier(loss="log_loss"))
    losses = []
    for inputs in (x, table):
        task = Task("t", inputs, y)
        losses.append(learner.loss(learner.fit(learner.make(0), task), task))
    assert losses[0] == losses[1]


def test_steps_must_be_fitted_and_stay_as_they_are():
    scaler = StandardScaler()
    said = "`estimator` must have steps before the last one that are fitted or need no fitting, got StandardScaler"
    with pytest.raises(ValueError, match=re.escape(said)):
        SklearnLearner(make_pipeline(scaler, SGDClassifier()))
    with pytest.raises(ValueError, match="classifier with partial_fit, got TfidfVectorizer"):
        SklearnLearner(make_pipeline(FunctionTransformer(), TfidfVectorizer()))
    x = np.random.default_rng(0).normal(5, 3, size=(60, 2))
    scaler.fit(x)
    before = scaler.mean_.tobytes()
    learner = SklearnLearner(make_pipeline(None, scaler, SGDClassifier(loss="log_loss")), epochs=20)
    task = Task("t", x, x[:, 0] > 5)
    assert learner.accuracy(learner.fit(learner.make(0), task), task) > 0.9
    assert scaler.mean_.tobytes() == before
    other = SklearnLearner(make_pipeline(StandardScaler().fit(x + 1), SGDClassifier(loss="log_loss")))
    assert described(learner) != described(other)


def test_texts_that_reach_no_vectorizer_or_the_wrong_way_are_named_with_the_fix():
    pandas = pytest.importorskip("pandas")
    texts, labels = mail(("billing", "fraud"))
    plain = SklearnLearner(SGDClassifier())
    with pytest.raises(
        ValueError, match=r"got SGDClassifier\. Write make_pipeline\(HashingVectorizer\(\), SGDClassifier"
    ):
        plain.fit(plain.make(0), Task("t", texts, labels))
    table = Task("t", pandas.DataFrame({"text": texts}), labels)
    with pytest.raises(ValueError, match=r"got 1 of 60 from HashingVectorizer\. Vectorizers read one column of texts"):
        text_learner().fit(text_learner().make(0), table)


def test_steps_transform_the_inputs_of_a_sample_once():
    calls = []

    def count(texts):
        calls.append(len(texts))
        return HashingVectorizer(n_features=64).transform(texts)

    tasks = [Task(name, *mail(("billing", "fraud"), seed=k)) for k, name in enumerate("ab")]
    learner = SklearnLearner(make_pipeline(FunctionTransformer(count), SGDClassifier(loss="log_loss")))
    learn_orders(learner, tasks, [(0, 1), (1, 0)], seeds=(0, 1))
    assert calls == [60, 60]


def test_numbers_are_predicted_and_the_variance_is_chance(tmp_path):
    tasks = slopes()
    learner = SklearnLearner(SGDRegressor(), epochs=9)
    model = learner.fit(learner.make(0), tasks[0])
    measured = score(learner, model, tasks[1])
    targets = tasks[1].targets
    assert measured.chance == pytest.approx(targets.var())
    assert measured.loss == pytest.approx(((model.estimator.predict(tasks[1].inputs) - targets) ** 2).mean())
    assert measured.accuracy is learner.accuracy(model, tasks[1]) is None
    result = run_pilot(tasks, learner, pilot=0.5, seeds=2, draws=20, store=tmp_path / "fits.sqlite")
    assert result.plan.prediction.unit == "knowledge"
    assert result.plan.confidence.unit == "score"
    assert np.diagonal(result.measured.knowledge().mean(axis=0)[:3]).min() > 0.8
    assert result.transfer.drawn(np.array([0]), [np.arange(9)] * 3).accuracy is None
    assert "classes" not in result.plan.summary()
    result.plan.report(tmp_path / "plan.html")
    assert "slope 2" in (tmp_path / "plan.html").read_text()
    raced = plan(tasks, learner, budget="600 examples", draws=0)
    assert sorted(raced.order) == [0, 1, 2]


def test_numbers_and_classes_do_not_mix():
    with pytest.raises(ValueError, match=r"must be classes, got the number .*Or predict them: regression=True"):
        slopes(regression=False)
    numbers, classes = slopes(1)[0], Task("signs", np.eye(4), [0, 1, 0, 1])
    with pytest.raises(
        ValueError, match="must all have classes or all have none, got numbers to predict for 'slope 0'"
    ):
        plan([numbers, classes], SklearnLearner(SGDRegressor()))
    with pytest.raises(LearnerError, match="must have classes for this learner, got numbers to predict in 'slope 0'"):
        plan(slopes(), SklearnLearner(SGDClassifier()), pilot=0.5)
    with pytest.raises(LearnerError, match="must have numbers to predict for this learner, got classes in 'signs'"):
        plan([classes], SklearnLearner(SGDRegressor()), pilot=1.0)
    with pytest.raises(ValueError, match=r"must be finite numbers with regression=True, got 'high'\."):
        Task("t", np.eye(2), ["high", "low"], regression=True)
    with pytest.raises(ValueError, match=r"must be different numbers, got only 3\. There is nothing to predict"):
        Task("t", np.eye(2), [3, 3], regression=True)


class Counting:
    """A learner without labels: what it knows of words is their frequency, and its loss is that of a language model."""

    def make(self, seed):
        return {}

    def fit(self, model, task):
        for word in " ".join(task.inputs).split():
            model[word] = model.get(word, 0) + 1
        return model

    def loss(self, model, task):
        words = " ".join(task.measured[0]).split()
        total = sum(model.values()) + 50
        return float(np.mean([-np.log((model.get(word, 0) + 1) / total) for word in words]))


def test_tasks_without_labels_are_planned_by_their_losses(tmp_path):
    tasks = [Task(topic, mail([topic])[0]) for topic in ("billing", "fraud", "praise")]
    result = run_pilot(tasks, Counting(), pilot=20, seeds=2, draws=20)
    assert result.measured.chance[0, 0, 0] == pytest.approx(np.log(50))
    assert len(result.sample[0].inputs) == 20
    assert result.plan.prediction.unit == "knowledge"
    result.plan.report(tmp_path / "plan.html")
    with pytest.raises(LearnerError, match=r"must have labels for this learner, got none for 'billing'\. Write Task"):
        plan(tasks, text_learner(), pilot=20)


def test_networks_read_numbers_of_every_kind_and_refuse_the_rest():
    torch, pandas = pytest.importorskip("torch"), pytest.importorskip("pandas")
    from taskorder.learners import TorchLearner

    x = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)
    learner = TorchLearner(lambda: torch.nn.Linear(3, 2), epochs=2)
    data = torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y))
    losses = []
    for inputs in (x, scipy.sparse.csr_matrix(x), pandas.DataFrame(x), data, lambda rows: x[rows]):
        task = Task("t", inputs, y)
        losses.append(learner.loss(learner.fit(learner.make(0), task), task))
    assert losses == pytest.approx([losses[0]] * 5, rel=1e-6)
    with pytest.raises(ValueError, match=r"must be numbers for this learner, got column 'city'. Encode it as numbers"):
        learner.fit(learner.make(0), Task("t", pandas.DataFrame({"a": y, "city": ["Bonn"] * 40}), y))


def test_a_module_may_read_texts():
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    class Bag(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = torch.nn.EmbeddingBag(64, 4)

        def forward(self, texts):
            words = [[sum(word.encode()) % 64 for word in text.split()] for text in texts]
            return torch.stack([self.bag(torch.tensor([row]))[0] for row in words])

    task = Task("mail", *mail(("billing", "fraud"), 40))
    learner = TorchLearner(Bag, lambda weights: torch.optim.Adam(weights, lr=0.1), epochs=9)
    assert learner.accuracy(learner.fit(learner.make(0), task), task) > 0.9


def test_a_module_predicts_numbers():
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    task = slopes(1)[0]
    learner = TorchLearner(lambda: torch.nn.Linear(4, 1), lambda weights: torch.optim.SGD(weights, lr=0.1))
    measured = score(learner, learner.fit(learner.make(0), task), task)
    assert measured.loss < 0.1 * measured.chance
    wide = TorchLearner(lambda: torch.nn.Linear(4, 3))
    with pytest.raises(ValueError, match=r"one output where labels are numbers, got shape \(32, 3\)"):
        wide.fit(wide.make(0), task)


def test_the_engine_takes_dense_numbers_and_classes():
    pytest.importorskip("jax")
    from taskorder.engine.nets import mlp
    from taskorder.learners import JaxLearner

    learner = JaxLearner(mlp((4,), 2, (4,)))
    for task, message in (
        (Task("t", scipy.sparse.eye_array(4).tocsr(), [0, 1, 0, 1]), "`inputs` must be dense for this learner, got a"),
        (Task("t", ["a", "b"], [0, 1]), "`inputs` must be numbers for this learner, got texts"),
        (slopes(1)[0], "must have classes for this learner, got numbers to predict in 'slope 0'"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            learner.fit(learner.make(0), task)
