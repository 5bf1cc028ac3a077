"""`taskorder run --ray` and `taskorder plan --ray`: what they do, and what they refuse, in one line."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from taskorder.cli import main
from taskorder.runs.store import Store

from .conftest import environment, free_port

pytest.importorskip("jax")
pytest.importorskip("sklearn")


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text("dataset = 'digits'\nnum_sets = 2\nnum_tasks = 2\nfraction = 0.2\n")
    return "tiny.toml"


def test_without_ray_it_says_how_to_get_it(config, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["run", config, "--ray"]) == 2
    said = capsys.readouterr().err
    assert 'Ray is not installed. Install it with: pip install "taskorder[ray]".' in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "tiny.toml", "--gpus-per-worker", "1"], "`--gpus-per-worker` must come with --ray"),
        (["plan", "digits", "--cpus-per-worker", "1"], "`--cpus-per-worker` must come with --ray"),
        (["run", "tiny.toml", "--ray", "--cpus-per-worker", "0"], "`--cpus-per-worker` must be above 0, got 0.0"),
        (
            ["run", "tiny.toml", "--ray", "--gpus-per-worker", "1.5"],
            "`--gpus-per-worker` must be a share of one like 0.5 or a whole number, got 1.5",
        ),
        (["run", "--ray", "tiny.toml"], "got 'tiny.toml'. Put the file before it"),
    ],
)
def test_bad_options(config, words, message, capsys):
    pytest.importorskip("ray")
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    assert code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.slow("ray")
def test_an_address_where_no_cluster_answers(config):
    pytest.importorskip("ray")
    address = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "taskorder", "run", config, "--ray", address]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"`--ray` must lead to a Ray cluster that runs, got {address}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_head_that_dies_is_one_line(config, machines, monkeypatch, capsys):
    from taskorder.runs import ray
    from taskorder.runs.head import HeadLost

    def lost(*specs, **how):
        raise HeadLost("10.0.0.1:6379")

    monkeypatch.setattr(ray, "complete", lost)
    assert main(["run", config, "--ray"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("taskorder: error: the head of the Ray cluster must answer, got nothing from 10.0.0.1:6379")
    assert said.count("\n") == 1


def test_a_cluster_that_may_grow_is_waited_for(config, machines, monkeypatch, capsys):
    from taskorder.runs import ray

    monkeypatch.setattr(ray, "complete", lambda *specs, **how: 0)
    assert main(["run", config, "--ray", "auto", "--gpus-per-worker", "1"]) == 0
    assert capsys.readouterr().err == (
        "taskorder: no machine of the cluster has 1 CPUs and 1 GPUs free; waiting for one\n"
    )


@pytest.fixture
def regions(config):
    """Three tables that a linear classifier can learn, and a network for them in a file of one's own."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(("north", "south", "east")):
        x = rng.normal(size=(80, 2))
        labels = np.where(x @ [np.cos(number), np.sin(number)] > 0, "yes", "no")
        with open(f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["age", "income", "label"], *zip(*x.T.tolist(), labels, strict=True)])
    Path("my_net.py").write_text("import torch\n\ndef make():\n    return torch.nn.Linear(2, 2)\n")
    return ["north.csv", "south.csv", "east.csv", "--pilot", "50%", "--seeds", "2"]


@pytest.mark.parametrize("learner", ["sklearn:SGDClassifier(loss='log_loss')", "torch:my_net:make"])
@pytest.mark.slow("ray")
def test_a_pilot_on_ray_is_the_pilot_from_here(regions, learner, machines, monkeypatch, capsys):
    if learner.startswith("torch"):
        pytest.importorskip("torch")
        monkeypatch.syspath_prepend(".")
    for folder, more in (("here", []), ("there", ["--ray"])):
        assert main(["plan", *regions, "--learner", learner, "--folder", folder, *more]) == 0
    for name in ("transfer.csv", "similarity.csv", "losses.csv"):
        assert Path("here", name).read_bytes() == Path("there", name).read_bytes()
    with Store("here/fits.sqlite") as here, Store("there/fits.sqlite") as there:
        assert {entry.digest for entry in here.entries()} == {entry.digest for entry in there.entries()} != set()
