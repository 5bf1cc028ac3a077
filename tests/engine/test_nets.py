"""Networks of ours travel to other processes, where they are made again."""

import pickle

import numpy as np
import pytest

jax = pytest.importorskip("jax")
from taskorder.engine.cnn import KERNELS, cnn
from taskorder.engine.nets import Net, mlp
from taskorder.learners import JaxLearner

KEY = jax.random.key(0)
MADE = {
    "mlp": lambda: mlp((4, 4), 3, hidden=[5]),
    "cnn": lambda: cnn([8, 8, 2], 3, [16], 16),
    KERNELS: lambda: cnn((8, 8, 2), 3, (16,), 16, KERNELS),
}


@pytest.mark.parametrize("name", MADE)
def test_a_pickled_network_is_the_same(name):
    net = MADE[name]()
    again = pickle.loads(pickle.dumps(net))
    inputs = np.random.default_rng(0).random((2, 4, 4) if name == "mlp" else (2, 8, 8, 2), np.float32)
    ours, theirs = (jax.jit(lambda key, each=each: each.apply(each.init(key), inputs))(KEY) for each in (net, again))
    np.testing.assert_array_equal(ours, theirs)
    assert (again.step is None) == (net.step is None) == (name != KERNELS)


def draw(key):
    return jax.random.normal(key, (4, 2))


def logits(params, x):
    return x @ params


def test_a_pickled_network_of_ones_own():
    net = Net(draw, logits)
    assert pickle.loads(pickle.dumps(net)) == net


def test_a_pickled_learner_has_its_settings():
    learner = JaxLearner(mlp((4,), 2))
    assert pickle.loads(pickle.dumps(learner)).describe() == learner.describe()


def test_a_cpu_always_takes_the_same_form(monkeypatch):
    """Measured on a busy machine it was now this, now that, and bits differed from process to process."""
    if jax.default_backend() != "cpu":
        pytest.skip("a CPU only")
    monkeypatch.setattr("taskorder.engine.ops._seconds", lambda form, networks: pytest.fail("measured"))
    params, inputs = jax.eval_shape(cnn((8, 8, 2), 3).init, KEY), np.zeros((2, 8, 8, 2), np.float32)
    chosen, columns = (jax.make_jaxpr(cnn((8, 8, 2), 3, form=form).apply)(params, inputs) for form in (None, "columns"))
    assert str(chosen) == str(columns)
