"""What was meant where a name is not known: one helper, wherever names are refused."""

import re

import pytest

from taskorder import Task, chain, plan, solve
from taskorder.arguments import BadArgument, did_you_mean, unknown
from taskorder.cli import main
from taskorder.datasets import load
from taskorder.datasets.sources import source_named
from taskorder.learners import CallableLearner
from taskorder.learners.named import named_learner
from taskorder.runs.settings import config_of

NAMES = ["ants", "bees", "cats"]


@pytest.mark.parametrize(
    ("given", "known", "meant"),
    [
        ("bes", NAMES, "bees"),
        ("BEES", NAMES, "bees"),
        (" cats", NAMES, "cats"),
        ("zebra", NAMES, None),
        ("", NAMES, None),
        ("x", [], None),
        (3, NAMES, None),
        ("a" * 10_000, ["a" * 10_000, "b"], None),
        ("Bees", ["bees", "Bees "], "bees"),
    ],
)
def test_the_closest_name_or_none(given, known, meant):
    assert did_you_mean(given, known) == ("" if meant is None else f" Did you mean {meant!r}?")


def test_only_so_many_names_are_compared():
    names = (f"column{k}" for k in range(10**9))
    assert did_you_mean("column17x", names) == " Did you mean 'column17'?"
    assert next(names) == "column2000"


def test_a_refusal_lists_the_names_and_asks():
    refusal = unknown("rule", "greed", ["greedy", "random"])
    assert isinstance(refusal, BadArgument)
    assert str(refusal) == "`rule` must be one of greedy, random, got 'greed'. Did you mean 'greedy'?"
    assert str(unknown("rule", "x", ["greedy"])) == "`rule` must be one of greedy, got 'x'."


REFUSED = {
    "rule": (lambda: solve(chain(3, 0.5), "optimum"), "optimal"),
    "rule of a pilot": (lambda: plan([Task("a")], CallableLearner(lambda *_: 1.0, chance=1.0), rule="atuo"), "auto"),
    "objective": (lambda: solve(chain(3, 0.5), objective="scores"), "score"),
    "kind": (lambda: solve(chain(3, 0.5), kind="similarities"), "similarity"),
    "first": (lambda: solve(chain(3, 0.5), names=NAMES, first="bee"), "bees"),
    "weights": (lambda: solve(chain(3, 0.5), names=NAMES, weights={"cat": 2}), "cats"),
    "before": (lambda: solve(chain(3, 0.5), names=NAMES, before=[("ant", "bees")]), "ants"),
    "learned": (lambda: solve(chain(3, 0.5), names=NAMES, learned=["catz"]), "cats"),
    "data set": (lambda: load("cifar-10"), "cifar10"),
    "source": (lambda: source_named("fashion_mnist"), "fashion-mnist"),
    "setting": (lambda: config_of({"num_taks": 3}), "num_tasks"),
    "learner": (lambda: named_learner("sklearn:SGDClasifier", [], epochs=1), "SGDClassifier"),
    "net": (lambda: config_of({"net": "mpl"}), "mlp"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_every_door_asks(case):
    call, meant = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(f"Did you mean '{meant}'?")):
        call()


def test_an_unknown_task_is_named_with_those_that_are_known():
    with pytest.raises(BadArgument) as refusal:
        solve(chain(30, 0.5), first="T3O")
    first = ", ".join(f"T{k:02d}" for k in range(1, 13))
    assert str(refusal.value).startswith("`first` must name a known task, got 'T3O'. Did you mean 'T30'?")
    assert str(refusal.value).endswith(f"Tasks: {first}, ....")


MISTYPED = {
    "sovle": "'solve'",
    "data gte digits": "'get'",
    "solve --demo --retentino 0.1": "'--retention'",
    "solve --demo --rul=optimal": "'--rule'",
    "solve --demo --rule optimum": "'optimal'",
    "solve --demo --first tulip-clok": "'tulip-clock'",
    "solve --demo --before tulip-clok:bear-bus": "'tulip-clock'",
    "solve --demo --objective scor": "'score'",
    "data get cifar-10": "'cifar10'",
    "plan digit": "'digits'",
    "data list --foldr x": "'--folder'",
}


@pytest.mark.parametrize("line", MISTYPED)
def test_the_command_line_asks(line, capsys):
    assert main(line.split()) == 2
    said = capsys.readouterr().err
    assert f"Did you mean {MISTYPED[line]}?" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("line", ["luck", "solve --demo --zebra", "solve --demo extra --json"])
def test_where_nothing_is_like_it_nothing_is_asked(line, capsys):
    assert main(line.split()) == 2
    assert "Did you mean" not in capsys.readouterr().err
