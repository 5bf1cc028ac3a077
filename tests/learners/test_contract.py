"""What every learner must do, over all adapters."""

from dataclasses import replace

import numpy as np
import pytest

from taskorder.learners import learn_orders, score
from taskorder.learners.protocol import copied, described
from taskorder.task import Task, align


def sklearn_mlp(epochs=20):
    network = pytest.importorskip("sklearn.neural_network")
    from taskorder.learners import SklearnLearner

    return SklearnLearner(network.MLPClassifier((16,), batch_size=8), epochs)


def sklearn_linear(loss="log_loss"):
    linear = pytest.importorskip("sklearn.linear_model")
    from taskorder.learners import SklearnLearner

    return SklearnLearner(linear.SGDClassifier(loss=loss))


def torch_mlp(epochs=5, **options):
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    def module():
        layers = torch.nn.Linear(64, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Dropout(0.1)
        return torch.nn.Sequential(*layers, torch.nn.Linear(16, 2))

    return TorchLearner(module, lambda p: torch.optim.Adam(p, lr=0.01), epochs=epochs, batch_size=4, **options)


def jax_mlp(epochs=5):
    pytest.importorskip("jax")
    from taskorder.engine.nets import mlp
    from taskorder.engine.train import Recipe
    from taskorder.learners import JaxLearner

    return JaxLearner(mlp((64,), 2, (16,)), Recipe(epochs=epochs, learning_rate=3e-3))


ADAPTERS = ["sklearn-mlp", "sklearn-linear", "sklearn-no-probabilities", "torch", "jax", "call", "command"]


@pytest.fixture(scope="session", params=ADAPTERS)
def learner(request):
    """Each adapter in turn; black boxes get the program with the digits."""
    from taskorder.learners import CallableLearner, CommandLearner

    if request.param == "command":
        return CommandLearner(request.getfixturevalue("command"), timeout=60)
    if request.param == "call":
        inner, tasks = sklearn_linear(), {task.name: task for task in request.getfixturevalue("digits")}

        def answer(learned, test, seed):
            model = inner.make(seed)
            for name in learned:
                model = inner.fit(model, tasks[name])
            return score(inner, model, tasks[test])._asdict()

        return CallableLearner(answer)
    made = {
        "sklearn-mlp": sklearn_mlp,
        "sklearn-linear": sklearn_linear,
        "sklearn-no-probabilities": lambda: sklearn_linear("perceptron"),
        "torch": torch_mlp,
        "jax": jax_mlp,
    }
    return made[request.param]()


@pytest.fixture
def sees_data(learner):
    """Skip where the learner is a black box."""
    if not hasattr(learner, "losses_by_class"):
        pytest.skip("a black box sees no data")


@pytest.fixture(scope="session")
def trained_once(learner, digits):
    return after(learner, digits[:1])


@pytest.fixture
def trained(learner, trained_once):
    """A model of its own that has learned the first task; all tests share the training."""
    return copied(learner, trained_once)


def after(learner, tasks, seed=0):
    model = learner.make(seed)
    for task in tasks:
        model = learner.fit(model, task)
    return model


def test_learns_and_the_same_seed_gives_the_same_answer(learner, digits):
    a = digits[0]
    models = [after(learner, [a], seed) for seed in (3, 3, 4)]
    same, again, other = (score(learner, model, digits[1]) for model in models)
    assert same[:3] == again[:3]
    assert same.loss != other.loss
    own = score(learner, models[0], a)
    assert own.loss == pytest.approx(learner.loss(models[0], a), rel=1e-6)
    assert own.loss < 0.5 * own.chance
    assert 0.9 < own.accuracy <= 1
    assert 0 <= same.accuracy <= 1


def test_training_goes_on_and_order_matters(learner, digits, trained):
    a, b = digits[0], digits[4]  # unlike tasks: the second overwrites the first
    alone, first = (after(learner, way) for way in ([b], [b, a]))
    last = learner.fit(trained, b)
    assert learner.loss(alone, a) != learner.loss(last, a)
    assert learner.loss(last, b) < learner.loss(first, b)
    assert learner.loss(first, a) < learner.loss(last, a)


def test_copies_are_independent(learner, digits, trained):
    a, b = digits[:2]
    before = learner.loss(trained, a)
    twin = learner.fit(copied(learner, trained), b)
    assert learner.loss(trained, a) == before
    assert learner.loss(twin, a) != before
    assert learner.loss(learner.fit(trained, b), a) == learner.loss(twin, a)


@pytest.mark.usefixtures("sees_data")
def test_the_shuffled_loss_is_the_mean_over_shuffles(learner, digits, trained):
    drawn = [learner.loss(trained, digits[2].shuffled(seed)) for seed in range(60)]
    measured = score(learner, trained, digits[2])
    assert measured.chance == pytest.approx(np.mean(drawn), abs=5 * np.std(drawn) / 60**0.5)
    assert measured.examples.mean(axis=1).tolist() == list(measured[:3])


def test_data_and_random_states_are_left_alone(learner, digits):
    digests = [task.digest for task in digits]
    np.random.seed(5)  # noqa: NPY002 (the state that must not move)
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    model = after(learner, digits[:2])
    learner.loss(model, digits[0])
    assert [task.digest for task in digits] == digests
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


@pytest.mark.usefixtures("sees_data")
def test_tasks_that_do_not_fit_together_are_refused(learner, digits, trained):
    a = digits[0]
    wide = Task("wide", np.hstack([a.inputs, a.inputs]), a.labels)
    with pytest.raises(ValueError, match=r"one shape and kind, got 64 float for '0 or 1' and 128 float for 'wide'"):
        learn_orders(learner, [a, wide], [(0, 1)])
    with pytest.raises(ValueError, match=r"'more' must have the classes that the model knows \(0, 1\), got 0, 1, 2"):
        learner.fit(trained, Task("more", a.inputs[:3], [0, 1, 2]))
    with pytest.raises(ValueError, match="only the name 'driving'"):
        learner.fit(learner.make(0), Task("driving"))


def test_a_learner_says_what_it_is(learner):
    assert described(learner) == described(learner)
    assert len(described(learner)) > 10


@pytest.mark.parametrize("make", [sklearn_mlp, torch_mlp, jax_mlp])
def test_other_settings_are_another_learner(make):
    assert described(make(epochs=3)) != described(make(epochs=4))


@pytest.mark.parametrize("make", [torch_mlp, jax_mlp])
def test_too_few_outputs_are_refused(make, digits):
    a, *_ = align([digits[0], Task("b", digits[1].inputs, digits[1].labels + 1)])
    with pytest.raises(ValueError, match="output for each of the 3 classes of all tasks, got 2"):
        after(make(), [a])


def test_images_as_bytes_are_read_as_numbers_from_0_to_1(digits):
    def as_bytes(inputs):
        return np.rint(inputs * 255).astype(np.uint8)

    def as_rounded_floats(inputs):
        return as_bytes(inputs).astype(np.float32) / 255

    for make in (sklearn_mlp, torch_mlp, jax_mlp):
        losses = []
        for change in (as_bytes, as_rounded_floats):
            task = replace(digits[0], inputs=change(digits[0].inputs), eval_inputs=change(digits[0].eval_inputs))
            learner = make()
            losses.append(learner.loss(after(learner, [task]), task))
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
