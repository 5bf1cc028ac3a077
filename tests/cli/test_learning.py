"""`taskorder plan` with strategies and heads."""

import argparse

import pytest

from taskorder.cli import main
from taskorder.cli.learning import add_learner, chosen_strategy
from taskorder.learners.named import named_learner
from taskorder.learners.protocol import described
from taskorder.strategies import EWC, Distill, L2Init, Replay
from taskorder.task import Task

SGD = 'sklearn:SGDClassifier(loss="log_loss")'
TEXTS = [Task("mail", ["where is it?", "thank you"], ["order", "praise"])]


def chosen(*words):
    parser = argparse.ArgumentParser()
    add_learner(parser)
    return chosen_strategy(parser.parse_args(words))


def test_options_name_a_strategy():
    assert chosen() is None
    assert chosen("--strategy", "plain") is None
    assert chosen("--replay", "7") == chosen("--strategy", "replay", "--replay", "7") == Replay(7)
    assert chosen("--strategy", "replay") == Replay()
    assert chosen("--strategy", "ewc", "--strength", "3") == EWC(3.0)
    assert (chosen("--strategy", "lwf"), chosen("--strategy", "l2init")) == (Distill(), L2Init())


@pytest.mark.parametrize("name", [SGD, "mlp", "torch:torch.nn:Identity"])
def test_named_learners_have_it(name):
    pytest.importorskip({"m": "jax", "t": "torch", "s": "sklearn"}[name[0]])
    tasks = TEXTS if name == SGD else [Task("points", [[1.0], [2.0]], [0, 1])]
    options = {} if name == SGD else {"heads": "task"}
    learner = named_learner(name, tasks, strategy=Replay(4), **options)
    assert learner.strategy == Replay(4)
    if name != SGD:
        assert learner.heads == "task"
    if name == "mlp":
        assert "heads=task strategy=Replay(kept=4" in described(learner)


@pytest.mark.parametrize("name", ["MLPClassifier", "MLPRegressor"])
def test_networks_of_scikit_learn_take_the_batch_size(name):
    pytest.importorskip("sklearn")
    tasks = [Task("points", [[1.0], [2.0]], [0, 1])]
    assert named_learner(f"sklearn:{name}()", tasks, batch_size=8).estimator.batch_size == 8
    assert named_learner(f"sklearn:{name}(batch_size=4)", tasks, batch_size=8).estimator.batch_size == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--replay", "5", "--strategy", "ewc"), "`--replay` must be left out with `--strategy` ewc, got 5."),
        (("--replay", "5", "--strength", "2"), "`--strength` must be a setting of the strategy replay"),
        (("--strength", "2"), "`--strength` must be a setting of the strategy plain"),
        (("--strategy", "rehearsal"), "`--strategy` must be one of plain, replay, ewc, lwf, l2init, got 'rehearsal'"),
        (("--replay", "0"), "`--replay` must be a whole number of examples of each class, at least 1, got 0."),
        (("--heads", "tasks"), "`--heads` must be one of shared, task, class, got 'tasks'. Did you mean 'task'?"),
        (("--heads", "task"), "`--heads` must be shared for a learner of scikit-learn, got 'task'."),
        (("--batch-size", "8"), "`--batch-size` must be left out for SGDClassifier, which has none, got 8."),
        (("--strategy", "ewc"), "`--strategy` must be one that SklearnLearner has, like Replay(20), got EWC("),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "digits", "--learner", SGD, *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
