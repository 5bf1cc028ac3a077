"""Settings that benchmarks/avalanche_strategies.py maps mean the same in Avalanche 0.6 as in the engine."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from taskorder.strategies import EWC, Distill

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Avalanche and what it pulls in
CLASSES, EXAMPLES = 4, 12


@pytest.fixture
def plugins(torchvision):
    return pytest.importorskip("avalanche.training.plugins")


@pytest.fixture
def mapped(monkeypatch, plugins):
    """Avalanche's plugin for a strategy."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import avalanche_strategies

    def make(strategy, batch_size=1):
        name, settings = avalanche_strategies.plugin_settings(strategy, batch_size)
        return getattr(plugins, name)(**settings)

    yield make
    for name in ("avalanche_strategies", "common"):
        del sys.modules[name]


def test_lwf_is_the_same_term(mapped):
    from taskorder.engine.lwf import divergence

    rng = np.random.default_rng(0)
    now, before = rng.normal(size=(2, EXAMPLES, CLASSES)).astype(np.float32)
    strategy, old = Distill(strength=0.7, temperature=3.0), [0, 2]
    ours = divergence(strategy, now, before, np.isin(np.arange(CLASSES), old)[None])
    plugin = mapped(strategy)
    plugin.lwf.prev_model, plugin.lwf.prev_classes_by_task = lambda x: torch.tensor(before), {0: set(old)}
    loss = SimpleNamespace(loss=0.0, mb_x=None, mb_output=torch.tensor(now), model=None)
    plugin.before_backward(loss)
    assert float(loss.loss) == pytest.approx(float(ours), rel=1e-4)


def test_ewc_pulls_as_hard_with_batches_of_one(mapped):
    from taskorder.engine.ewc import consolidated, pulled_back
    from taskorder.engine.nets import mlp
    from taskorder.engine.pools import make_pool

    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(EXAMPLES, 3)).astype(np.float32)
    labels, strategy = rng.integers(0, CLASSES, EXAMPLES), EWC(strength=7.0)
    net = mlp((3,), CLASSES, hidden=())
    params = jax.tree.map(lambda leaf: leaf[None], net.init(jax.random.key(0)))
    nothing = jax.tree.map(np.zeros_like, params)
    pool = make_pool(inputs, [np.arange(EXAMPLES)], [labels])
    F = consolidated(net, strategy, params, nothing, pool, np.array([0]), np.arange(EXAMPLES)[None])
    moved = jax.tree.map(lambda leaf: leaf + 0.5, params)
    ours = pulled_back(strategy, nothing, moved, params, F)[0]

    plugin, model = mapped(strategy), torch.nn.Linear(3, CLASSES)
    with torch.no_grad():
        model.weight.copy_(torch.tensor(np.array(params[0]["w"][0])).T)
        model.bias.copy_(torch.tensor(np.array(params[0]["b"][0])))
    data = torch.utils.data.TensorDataset(torch.tensor(inputs), torch.tensor(labels), torch.zeros(EXAMPLES))
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.CrossEntropyLoss()
    agent = SimpleNamespace(
        clock=SimpleNamespace(train_exp_counter=0), model=model, optimizer=optimizer, _criterion=criterion,
        experience=SimpleNamespace(dataset=data), device="cpu", train_mb_size=1, loss=torch.tensor(0.0),
    )  # fmt: skip
    plugin.after_training_exp(agent)
    with torch.no_grad():
        for leaf in model.parameters():
            leaf += 0.5
    agent.clock.train_exp_counter = 1
    optimizer.zero_grad()
    plugin.before_backward(agent)
    agent.loss.backward()
    assert np.allclose(model.weight.grad.T, ours["w"][0], rtol=1e-4)
    assert np.allclose(model.bias.grad, ours["b"][0], rtol=1e-4)
    assert np.abs(ours["w"]).max() > 0.01
