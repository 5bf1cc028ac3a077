"""SklearnLearner beside the same training written out with scikit-learn alone: the same numbers to the last digit."""

import zlib

import numpy as np
import pytest
import scipy.sparse

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from taskorder.learners import Replay, SklearnLearner, learn_orders
from taskorder.task import Task

from .plain_loops import ORDERS, Kept, as_tasks, draw, in_rounds, numbers

EPOCHS = 2
CLASSIFIERS = {
    "sgd": SGDClassifier(loss="log_loss"),
    "sgd of errors": SGDClassifier(loss="hinge"),
    "perceptron": Perceptron(),
    "averaged": SGDClassifier(loss="modified_huber", average=True, learning_rate="constant", eta0=0.1),
    "gaussian": GaussianNB(),
    "multinomial": make_pipeline(
        MinMaxScaler(clip=True).fit(np.concatenate([x for x, _ in numbers()])), MultinomialNB()
    ),
    "complement": make_pipeline(MinMaxScaler(clip=True).fit(np.concatenate([x for x, _ in numbers()])), ComplementNB()),
    "bernoulli": BernoulliNB(),
    "network": MLPClassifier((4,)),
    "network of small batches": MLPClassifier((4, 3), batch_size=5, solver="sgd", momentum=0.5, shuffle=False),
    "scaled": make_pipeline(StandardScaler().fit(numbers()[0][0]), None, SGDClassifier(loss="log_loss")),
}
REGRESSORS = {
    "sgd": SGDRegressor(),
    "network": MLPRegressor(hidden_layer_sizes=(4,), batch_size=7),
    "scaled": make_pipeline(StandardScaler().fit(numbers()[0][0]), SGDRegressor(loss="huber")),
}
READERS = {
    "lists": lambda x: x.tolist(),
    "single precision": lambda x: x.astype(np.float32),
    "sparse": scipy.sparse.csr_matrix,
    "sparse by columns": scipy.sparse.csc_array,
    "pandas": lambda x: pytest.importorskip("pandas").DataFrame(x, columns=[f"c{k}" for k in range(x.shape[1])]),
    "polars": lambda x: pytest.importorskip("polars").DataFrame(x, schema=[f"c{k}" for k in range(x.shape[1])]),
    "rows on demand": lambda x: x.__getitem__,
    "images": lambda x: np.rint(60 * x + 128).clip(0, 255).astype(np.uint8).reshape(len(x), 1, -1, 1),
}


def steps_and_last(estimator):
    """What transforms, and what learns."""
    steps = [step for _, step in getattr(estimator, "steps", [("", estimator)]) if step is not None]
    return steps[:-1], steps[-1]


def stacked(parts):
    """Rows of several arrays or sparse matrices."""
    return scipy.sparse.vstack(parts, format="csr") if scipy.sparse.issparse(parts[0]) else np.concatenate(parts)


def trained(estimator, inputs, targets, order, seed, kept=None):
    """The estimator after an order, by `partial_fit` alone. inputs: (n, columns) of each task; kept: for replay."""
    steps, last = steps_and_last(estimator)
    for step in steps:
        inputs = [step.transform(x) for x in inputs]
    model = clone(last)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    regression = targets[0].dtype.kind == "f"
    every = {} if regression else {"classes": np.unique(np.concatenate(targets))}
    for step, task in enumerate(order):
        visit, name, count = order[:step].count(task), f"t{task}", len(targets[task])
        shuffles = np.random.default_rng([seed, zlib.crc32(name.encode()), visit])
        old = list(kept.places.items()) if kept is not None else []
        if old:
            x_old, y_old = (stacked([parts[t][places] for t, places in old]) for parts in (inputs, targets))
            rng, size = draw(seed, name, visit, 1), model.get_params().get("batch_size")
            if size is not None:
                new = min(200 if size == "auto" else size, count)
                model.set_params(batch_size=2 * new)
        for _ in range(EPOCHS):
            places = shuffles.permutation(count)
            x, y = inputs[task][places], targets[task][places]
            if old:
                again = in_rounds(rng, len(y_old), count)
                mixed = rng.permutation(2 * count)
                x, y = (stacked(pair)[mixed] for pair in ((x, x_old[again]), (y, y_old[again])))
            model.partial_fit(x, y, **every)
        if old and size is not None:
            model.set_params(batch_size=size)
        if kept is not None:
            kept.remember(seed, task, visit, name)
    return model, inputs


def losses_of(model, inputs, targets):
    """Loss, chance and accuracy on every task, by scikit-learn's metrics."""
    rows = []
    for x, y in zip(inputs, targets, strict=True):
        if y.dtype.kind == "f":
            rows.append((mean_squared_error(y, model.predict(x)), np.var(y), None))
            continue
        right = accuracy_score(y, model.predict(x))
        if not hasattr(model, "predict_proba"):
            chance = np.mean([1 - accuracy_score(np.full(len(y), label), model.predict(x)) for label in y])
            rows.append((1 - right, chance, right))
            continue
        likely = model.predict_proba(x).clip(1e-15)
        expected = np.mean([-np.log(likely[:, label]).mean() for label in y])
        rows.append((-np.log(likely[np.arange(len(y)), y]).mean(), expected, likely.argmax(axis=1) == y))
        rows[-1] = (*rows[-1][:2], rows[-1][2].mean())
        if likely.dtype == np.float64 and likely.min() > 1e-10:
            assert rows[-1][0] == pytest.approx(log_loss(y, likely, labels=model.classes_), rel=1e-6)
    return rows


def same(learner, tasks, estimator, inputs, targets, seed, count=None):
    """Compare all orders."""
    (scores,) = learn_orders(learner, tasks, ORDERS, (seed,))
    for order in ORDERS:
        model, prepared = trained(
            estimator, inputs, targets, order, seed, None if count is None else Kept(count, targets)
        )
        for score, (loss, chance, accuracy) in zip(scores[order], losses_of(model, prepared, targets), strict=True):
            assert score.loss == pytest.approx(loss, rel=1e-6, abs=1e-12)
            assert score.chance == pytest.approx(chance, rel=1e-6, abs=1e-12)
            assert score.accuracy == (accuracy if accuracy is None else pytest.approx(accuracy))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("replay", [None, Replay(2)])
@pytest.mark.filterwarnings("ignore:Got `batch_size` less", "ignore:divide by zero:RuntimeWarning")
def test_classifiers(name, replay):
    parts = numbers()
    inputs, targets = zip(*parts, strict=True)
    learner = SklearnLearner(CLASSIFIERS[name], EPOCHS, strategy=replay)
    same(learner, as_tasks(parts), CLASSIFIERS[name], inputs, targets, seed=3, count=replay and replay.kept)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("replay", [None, Replay(2)])
@pytest.mark.filterwarnings("ignore:Got `batch_size` less")
def test_regressors(name, replay):
    inputs = [x for x, _ in numbers()]
    targets = [x @ [1.0, -2.0, k] for k, x in enumerate(inputs)]
    tasks = as_tasks(list(zip(inputs, targets, strict=True)), regression=True)
    learner = SklearnLearner(REGRESSORS[name], EPOCHS, strategy=replay)
    (scores,) = learn_orders(learner, tasks, ORDERS, (1,))
    assert scores[(0,)][0].accuracy is None
    same(learner, tasks, REGRESSORS[name], inputs, targets, seed=1, count=replay and replay.kept)


@pytest.mark.parametrize("name", ["sgd", "network", "multinomial"])
@pytest.mark.parametrize("kind", READERS)
@pytest.mark.filterwarnings("ignore:Got `batch_size` less")
def test_inputs_of_all_kinds(name, kind):
    parts, read, estimator = numbers(), READERS[kind], CLASSIFIERS[name]
    if kind in ("pandas", "polars") and name == "multinomial":
        pytest.skip("a scaler that was fitted to arrays warns of names")
    if kind.startswith("sparse") and name == "multinomial":
        estimator = MultinomialNB()
        parts = [(np.abs(x), y) for x, y in parts]
    inputs, targets = zip(*parts, strict=True)
    if kind == "images":
        if name == "multinomial":
            estimator = MultinomialNB()
        inputs = [read(x).reshape(len(x), -1).astype(np.float32) / 255 for x in inputs]
    elif kind == "single precision":
        inputs = [x.astype(np.float32) for x in inputs]
    elif kind.startswith("sparse"):  # the intercept learns more slowly from those
        inputs = [scipy.sparse.csr_matrix(x) for x in inputs]
    same(SklearnLearner(estimator, EPOCHS), as_tasks(parts, read), estimator, inputs, targets, seed=0)


def texts(seed=0):
    """Three tasks of short texts."""
    rng = np.random.default_rng(seed)
    words = np.array(["red", "green", "blue", "old", "new", "fast", "slow"])
    parts = []
    for task in range(3):
        chosen = rng.integers(0, len(words), (20, 3))
        parts.append(([" ".join(words[row]) for row in chosen], (chosen[:, 0] > 2 + task).astype(int)))
    return parts


@pytest.mark.parametrize("read", [list, np.array, "series"], ids=["list", "array", "series"])
@pytest.mark.parametrize("replay", [None, Replay(3)])
def test_texts(read, replay):
    if read == "series":
        read = pytest.importorskip("pandas").Series
    parts = texts()
    hashing = HashingVectorizer(n_features=32)
    pipeline = make_pipeline(hashing, SGDClassifier(loss="log_loss"))
    arrays = [hashing.transform(text) for text, _ in parts]
    same(SklearnLearner(pipeline, EPOCHS, strategy=replay), as_tasks(parts, read), SGDClassifier(loss="log_loss"),
         arrays, [y for _, y in parts], seed=2, count=replay and replay.kept)  # fmt: skip


def test_columns_of_a_table_with_texts_and_labels():
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer

    parts = texts()
    frames = [
        pandas.DataFrame({"text": text, "size": np.arange(20.0) + k, "label": np.where(y, "yes", "no")})
        for k, (text, y) in enumerate(parts)
    ]
    columns = make_column_transformer(
        (HashingVectorizer(n_features=16), "text"), (StandardScaler(), ["size"]), sparse_threshold=0
    ).fit(frames[0])
    estimator = SGDClassifier(loss="log_loss")
    tasks = [Task(f"t{k}", frame, "label") for k, frame in enumerate(frames)]
    arrays = [columns.transform(frame.drop(columns="label")) for frame in frames]
    same(SklearnLearner(make_pipeline(columns, estimator), EPOCHS), tasks, estimator, arrays,
         [(frame["label"] == "yes").to_numpy().astype(int) for frame in frames], seed=0)  # fmt: skip


@pytest.mark.parametrize("labels", [["b", "a", "c"], [7, -1, 30], [True, False]])
def test_classes_are_outputs_in_their_sorted_order(labels):
    parts = [(x, np.minimum(y, len(labels) - 1)) for x, y in numbers()]
    rank = np.argsort(np.argsort(labels))
    targets = [rank[y] for _, y in parts]
    named = [(x, [labels[k] for k in y]) for x, y in parts]
    same(SklearnLearner(CLASSIFIERS["sgd"], EPOCHS), as_tasks(named), CLASSIFIERS["sgd"],
         [x for x, _ in parts], targets, seed=0)  # fmt: skip


def test_a_fitted_estimator_goes_on_as_it_would_by_itself():
    parts = numbers()
    inputs, targets = zip(*parts, strict=True)
    tasks, seed = as_tasks(parts), 0
    before = SGDClassifier(loss="log_loss", random_state=5).partial_fit(inputs[2], targets[2], classes=[0, 1, 2])
    learner = SklearnLearner(SGDClassifier(loss="log_loss"), EPOCHS)
    (scores,) = learn_orders(learner, tasks, [(0, 1)], (seed,), start=before)
    model = SGDClassifier(loss="log_loss", random_state=5).partial_fit(inputs[2], targets[2], classes=[0, 1, 2])
    for task in (0, 1):
        shuffles = np.random.default_rng([seed, zlib.crc32(f"t{task}".encode()), 0])
        for _ in range(EPOCHS):
            places = shuffles.permutation(len(targets[task]))
            model.partial_fit(inputs[task][places], targets[task][places])
    for score, (loss, _, right) in zip(scores[(0, 1)], losses_of(model, inputs, targets), strict=True):
        assert (score.loss, score.accuracy) == (pytest.approx(loss, rel=1e-9), pytest.approx(right))


@pytest.mark.slow("training")
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:Got `batch_size` less", "ignore:divide by zero:RuntimeWarning")
def test_other_data_and_seeds(seed):
    rng = np.random.default_rng(seed)
    parts = numbers(seed, count=int(rng.integers(14, 60)))
    inputs, targets = zip(*parts, strict=True)
    for estimator in CLASSIFIERS.values():
        for count in (None, int(rng.integers(1, 6))):
            learner = SklearnLearner(estimator, EPOCHS, strategy=count and Replay(count))
            same(learner, as_tasks(parts), estimator, inputs, targets, seed=seed, count=count)


def test_the_comparison_can_fail():
    parts = numbers()
    inputs, targets = zip(*parts, strict=True)
    learner = SklearnLearner(CLASSIFIERS["sgd"], EPOCHS)
    with pytest.raises(AssertionError):
        same(learner, as_tasks(parts), SGDClassifier(loss="log_loss", alpha=1.1e-4), inputs, targets, seed=3)
    with pytest.raises(AssertionError):
        same(learner, as_tasks(parts), CLASSIFIERS["sgd"], inputs, targets, seed=3, count=1)
