"""Every warning is triggered by what it is about, and by nothing else."""

import numpy as np
import pytest

from taskorder.learners import Replay, SklearnLearner
from taskorder.planning import warnings
from taskorder.planning.estimate import TransferLosses
from taskorder.planning.pair_orders import PairOrders
from taskorder.planning.plan import plan
from taskorder.planning.warnings import cautions
from taskorder.task import Task, align

SIMILARITY = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.3], [0.2, 0.3, 1.0]])


def table(similarity=SIMILARITY, own=0.04, scale=(1.0, 1.0, 1.0)):
    """Losses that show this similarity."""
    ratios = (1 - np.asarray(similarity, float)) ** 2
    np.fill_diagonal(ratios, own)
    chance = np.ones((2, 3, 1)) * np.asarray(scale)
    return TransferLosses(tuple("abc"), ratios * chance, chance, None, (0, 1))


def tasks(counts=(30, 40, 30), first=(0, 0, 0)):
    """Tasks with two classes each, from `first` on."""
    rng = np.random.default_rng(0)
    return align(
        Task(name, rng.normal(size=(count, 2)), np.arange(count) % 2 + low)
        for name, count, low in zip("abc", counts, first, strict=True)
    )


def test_nothing_to_say_about_tasks_that_fit_the_theory():
    assert cautions(tasks(), table()) == ()


TRIGGERS = {
    "small pilot": lambda: (tasks(counts=(30, 29, 30)), table()),
    "not converged": lambda: (tasks(), table(own=0.7)),
    "pairs alike": lambda: (tasks(), table(), "", (), False, None, PairOrders(0.2, 0.013, 0.001, 10)),
    "pairs otherwise": lambda: (tasks(), table(), "", (), False, None, PairOrders(0.2, 0.013, 0.1, 10)),
    "replay of the pilot": lambda: (tasks(), table(), "", tasks((500, 500, 500)), False, Replay(20)),
    "negative similarity": lambda: (tasks(), table([[1, 0.6, -0.2], [0.6, 1, 0.3], [-0.2, 0.3, 1]])),
    "uniform similarity": lambda: (tasks(), table(0.5 + 0.5 * np.eye(3))),
    "different classes": lambda: (tasks(first=(0, 1, 3)), table()),
    "different loss scales": lambda: (tasks(), table(scale=(1, 1, 5))),
}


@pytest.mark.parametrize("kind", TRIGGERS)
def test_each_warning_has_its_trigger_and_only_that(kind):
    given = cautions(*TRIGGERS[kind]())
    assert [caution.kind for caution in given] == [kind]
    assert given[0].text.endswith(".")
    assert ". " in given[0].text  # what it is, then what to do


def test_a_verdict_that_order_matters_is_not_contradicted():
    """Accuracies may differ where losses are alike: what says "order matters" does not advise any order."""
    for verdict, advice in (("order matters", "rests on accuracies."), ("any order is fine", "Take any order")):
        (caution,) = cautions(tasks(), table(0.5 + 0.5 * np.eye(3)), verdict)
        assert caution.kind == "uniform similarity"
        assert advice in caution.text
        assert ("any order" in caution.text) == (verdict != "order matters")


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("not converged", lambda: (tasks(), table(own=0.4))),
        ("negative similarity", lambda: (tasks(), table([[1, 0.6, -0.02], [0.6, 1, 0.3], [-0.02, 0.3, 1]]))),
        ("uniform similarity", lambda: (tasks(), table(0.5 + 0.5 * np.eye(3) + 0.1 * (SIMILARITY == 0.6)))),
        ("different loss scales", lambda: (tasks(), table(scale=(1, 1, 2)))),
        ("pairs alike", lambda: (tasks(), table(), "", (), False, None, PairOrders(0.6, 0.013, 0.001, 10))),
        ("pairs alike", lambda: (tasks(), table(), "", (), False, None, PairOrders(0.0, 0.001, 0.0, 10))),
        ("pairs otherwise", lambda: (tasks(), table(), "", (), False, None, PairOrders(0.6, 0.013, 0.1, 10))),
        ("pairs otherwise", lambda: (tasks(), table(), "", (), False, None, PairOrders(0.0, 0.001, 0.002, 10))),
    ],
)
def test_what_stays_below_the_limit_is_no_warning(kind, arguments):
    assert kind not in [caution.kind for caution in cautions(*arguments())]


def test_overlapping_classes_are_the_normal_case():
    assert cautions(tasks(first=(0, 1, 2)), table()) == ()


def test_tasks_without_a_class_in_common_are_told_what_to_ask_for():
    (caution,) = cautions(tasks(first=(0, 2, 4)), table())
    assert caution.text.startswith("no two tasks have a class in common: each class has an output of its own")
    assert "share_labels(tasks), or --labels by-position." in caution.text
    (caution,) = cautions(tasks(first=(0, 0, 4)), table())
    assert caution.text.startswith("task 'c' and the others have not a class in common")


def test_a_small_pilot_is_held_against_the_verdict_and_the_fix_can_be_done():
    sample = tasks(counts=(12, 40, 20))
    (caution,) = cautions(sample, table(), "order matters", tasks(counts=(500, 500, 500)))
    assert caution.text == (
        "the verdict (order matters) rests on 12 examples of 'a' and fewer than 30 of 1 more: below 30 little can be "
        "known about an order, and about 300 are worth having. Take a larger pilot (300 examples a task), or a "
        "larger budget."
    )
    (caution,) = cautions(sample, table(), "order matters", tasks(counts=(12, 500, 500)))
    assert caution.text.endswith("All of 'a' is in it: collect more of it, or merge it with another task.")


def test_names_without_data_and_losses_without_accuracies_are_no_trouble():
    names = tuple(Task(name) for name in "abc")
    assert cautions(names, table()) == ()


def test_heads_of_their_own_have_no_similarity_to_warn_of():
    contrary = table([[1, 0.6, -0.2], [0.6, 1, 0.3], [-0.2, 0.3, 1]])
    assert cautions(tasks(first=(0, 2, 4)), contrary, heads=True) == ()
    (caution,) = cautions(tasks(), table(own=0.7), heads=True)
    assert caution.kind == "not converged"


def test_every_check_is_asked():
    checks = [name for name, value in vars(warnings).items() if callable(value) and value.__module__ ==
              warnings.__name__ and not name.startswith("_")]  # fmt: skip
    assert len(checks) == len(TRIGGERS) + 1  # and `cautions` itself


def test_a_plan_carries_its_warnings():
    from sklearn.linear_model import SGDClassifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    opposite = [Task("left", x, x[:, 0] > 0), Task("right", x, x[:, 0] <= 0), Task("up", x, x[:, 1] > 0)]
    learner = SklearnLearner(SGDClassifier(loss="log_loss", alpha=0.01))
    chosen = plan(opposite, learner, pilot=1.0, seeds=2, draws=0)
    assert "negative similarity" in [caution.kind for caution in chosen.warnings]
    assert "warning" in chosen.summary()
