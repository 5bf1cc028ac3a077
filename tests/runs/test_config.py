"""TOML files in, Configs out; what is wrong is named on one line."""

from pathlib import Path

import pytest

pytest.importorskip("jax")
from taskorder.engine.capacity import networks_that_fit
from taskorder.engine.nets import mlp
from taskorder.runs import settings
from taskorder.runs import training as runs
from taskorder.runs.settings import config_of, read_config
from taskorder.runs.specs import RunSpecs, num_trainings

ROOT = Path(__file__).parents[2]


def path_of(name):
    return ROOT / ("examples" if name == "quick" else "reproduction/configs") / f"{name}.toml"


@pytest.mark.parametrize("name", ["quick", "fashion-mnist", "cifar10"])
def test_our_configs_set_every_key(name):
    config = read_config(path_of(name))
    text = (path_of(name)).read_text()
    known = [key for key in settings.known_settings() if key not in settings.STRATEGY_SETTINGS]
    assert all(f"\n{key} = " in text for key in known)
    if name == "quick":  # plain training has none of the others: they are explained
        assert all(f"\n# {key} = " in text for key in settings.STRATEGY_SETTINGS)
    assert len(RunSpecs(config)) == config.num_sets
    shares = {name for name in config.similarities if name.endswith("%")}
    assert num_trainings(RunSpecs(config)[0]) == 325 + 5 * (1 + len(shares))  # the tree, and single tasks


def test_the_papers_settings():
    for name, num_sets, net in (("fashion-mnist", 100, "mlp"), ("cifar10", 30, "cnn")):
        measured = ("test", "train", "10%", "1%", "0.1%", "curvature")
        expected = settings.Config(
            name, num_sets, similarities=measured, net=net, epochs=5, batch_size=4, learning_rate=1e-3
        )
        assert read_config(path_of(name)) == expected


def test_whole_numbers_will_do():
    config = config_of({"orders": 7, "learning_rate": 1, "num_tasks": 9, "classes_per_task": 1})
    assert (config.orders, config.learning_rate) == ("7", 1.0)
    assert num_trainings(RunSpecs(config)[0]) <= 7 * 9 + 9
    assert config_of({"orders": "5+rules+law", "similarities": ["30 examples"]}).similarities == ("30 examples",)
    assert config_of({"similarities": ["1%", "curvature"], "reset_adam": True}).similarities == ("1%", "curvature")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first_set = -1", "`first_set` must be at least 0, got -1"),
        ("first_set = 10000001", "`first_set` must be at most 10000000, got 10000001"),
        ("epoch = 3", "`epoch` must be a known key. Did you mean 'epochs'? Known keys: dataset, num_sets"),
        ("[net]\nname = 1", "`net` must be a text in quotes, got {'name': 1}"),
        ("epochs = 2.5", "`epochs` must be a whole number, got 2.5"),
        ("epochs = true", "`epochs` must be a whole number, got True"),
        ("epochs = 0", "`epochs` must be at least 1, got 0"),
        ("learning_rate = '1e-3'", "`learning_rate` must be a number, got '1e-3'"),
        ("learning_rate = nan", "`learning_rate` must be a positive number, got nan"),
        ("orders = 0", "`orders` must be all, a positive number, or one like 30+rules, got '0'"),
        ("orders = 'rules'", "`orders` must be all, a positive number, or one like 30+rules, got 'rules'"),
        ("similarities = ['half']", "`similarities` must be test, train, curvature or a share like 1%, got 'half'"),
        ("similarities = ['half']", 'A number of examples is written like "100 examples".'),
        ("similarities = ['0 examples']", "got '0 examples'"),
        ("similarities = ['-3 examples']", "got '-3 examples'"),
        ("similarities = ['9999999999 examples']", "got '9999999999 examples'"),
        ("orders = '3+law+rules'", "got '3+law+rules'"),
        ("similarities = ['200%']", "got '200%'"),
        ("similarities = ['x%']", "got 'x%'"),
        ("similarities = ['1%', '1%']", "`similarities` must be different, got 1%, 1%"),
        ("similarities = 'test'", "`similarities` must be a list of texts in quotes, got 'test'"),
        ("similarities = [1]", "`similarities` must be a list of texts in quotes, got [1]"),
        ("tasks = ['3-5']", "`tasks` must be num_tasks = 5 tasks with num_sets = 1, got 1 tasks and num_sets = 2"),
        ("reset_adam = 1", "`reset_adam` must be true or false, got 1"),
        ("net = 'vit'", "`net` must be one of mlp, cnn, got 'vit'"),
        ("epochs = ", "`config` must be a TOML file"),
        ("epochs = 1\nepochs = 2", "`config` must be a TOML file"),
        ("#" * 200_000, "it has more than 100000 bytes"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ValueError) as problem:  # noqa: PT011 (matched below, with its brackets)
        read_config(path)
    assert message in str(problem.value)
    assert str(path) in str(problem.value)


def test_files_that_are_none(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    for name, message in (("no.toml", "no such file"), ("", "readable"), ("bytes.toml", "TOML")):
        with pytest.raises(ValueError, match=message):
            read_config(tmp_path / name)


def test_the_digest_of_the_inputs_sees_rows_and_order(monkeypatch):
    from dataclasses import replace

    from taskorder.datasets import load

    data = load("digits")
    changed = data.train_inputs.copy()
    changed[0, 0, 0] ^= 1
    others = {
        "same": replace(data, train_inputs=data.train_inputs.copy()),
        "value": replace(data, train_inputs=changed),
        "order": replace(data, train_inputs=data.train_inputs[::-1], train_labels=data.train_labels[::-1]),
    }
    monkeypatch.setattr(runs, "dataset_of", lambda name: others.get(name, data))
    digests = {name: runs.inputs_digest.__wrapped__(name) for name in ("digits", *others)}
    assert digests["same"] == digests["digits"]
    assert len(set(digests.values())) == 3


def test_networks_that_fit():
    """What the memory holds, on a CPU no more than are of use, and at least one."""
    net = mlp((28, 28, 1), 2)  # 109,058 parameters: 1.3 MB with both moments
    assert networks_that_fit(net) == 64
    assert networks_that_fit(mlp((64, 64, 3), 2)) == 16
    assert networks_that_fit(net, 109_058 * 4 * 12 * 9) == 8
    assert networks_that_fit(net, 1) == 1
