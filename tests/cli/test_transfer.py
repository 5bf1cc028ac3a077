"""`taskorder solve` and `compare` from tables of transfer losses, ratios and accuracies."""

import json

import numpy as np
import pytest

from taskorder import solve
from taskorder.cli import main
from taskorder.tables.knowledge import knowledge, transfer_table
from taskorder.tables.loss_ratios import loss_ratios, loss_ratios_from_accuracy, similarity_from_loss_ratios
from taskorder.tables.writing import write_similarity

NAMES = ("cats", "dogs", "owls", "cars")
LOSSES = np.array([[0.05, 0.3, 0.5, 0.9], [0.2, 0.1, 0.45, 0.7], [0.4, 0.5, 0.1, 1.0], [0.8, 0.75, 0.9, 0.02]])
CHANCE = np.array([[0.9, 1.1, 0.8, 1.0], [0.9, 0.9, 0.7, 0.8], [1.2, 0.9, 0.9, 0.9], [0.8, 0.7, 0.8, 1.0]])
ACCURACY = np.array([[1, 0.9, 0.7, 0.45], [0.85, 1, 0.7, 0.5], [0.7, 0.75, 0.95, 0.4], [0.5, 0.55, 0.4, 1]])


@pytest.fixture
def file(tmp_path):
    def write(name, table, names=NAMES):
        write_similarity(tmp_path / name, table, names)
        return str(tmp_path / name)

    return write


def plan(capsys, *argv, command="solve"):
    assert main([command, *argv, "--json"]) == 0
    text, problems = capsys.readouterr()
    assert problems == ""
    return json.loads(text)


def expected(similarity):
    return solve(similarity, names=NAMES, retention=1)


def test_losses_with_a_table_of_chance(file, capsys):
    back = [3, 1, 0, 2]  # the same table with its tasks in another order
    chance = file("chance.csv", CHANCE[np.ix_(back, back)], [NAMES[i] for i in back])
    document = plan(capsys, file("losses.csv", LOSSES), "--losses", "--chance", chance, "--retention", "1")
    wanted = expected(similarity_from_loss_ratios(loss_ratios(LOSSES, CHANCE)))
    assert document["names"] == list(NAMES)
    assert document["order"] == list(wanted.order)
    assert document["error"] == pytest.approx(wanted.error)
    assert document["similarity_digest"] == wanted.similarity_digest
    assert document["notes"][0] == "similarity from the losses in the file"


@pytest.mark.parametrize(
    ("chance", "table"), [("0.7", np.full((4, 4), 0.7)), ("0.7,0.8,0.9,1", np.tile([0.7, 0.8, 0.9, 1], (4, 1)))]
)
def test_losses_with_numbers_of_chance(file, capsys, chance, table):
    document = plan(capsys, file("losses.csv", LOSSES), "--losses", "--chance", chance, "--retention", "1")
    assert document["error"] == pytest.approx(expected(similarity_from_loss_ratios(loss_ratios(LOSSES, table))).error)
    document = plan(capsys, file("losses.csv", LOSSES), "--losses", "--chance", chance)
    wanted = solve(transfer_table(knowledge(LOSSES, table)), names=NAMES)
    assert document["order"] == list(wanted.order)
    assert document["score"] == pytest.approx(wanted.score)
    assert document["notes"][0] == "knowledge from the losses in the file"


def test_ratios(file, capsys):
    document = plan(capsys, file("ratios.csv", LOSSES), "--ratios", "--retention", "1")
    assert document["error"] == pytest.approx(expected(similarity_from_loss_ratios(LOSSES)).error)
    assert document["repair"] is None  # an asymmetric table is what is wanted here


def test_accuracies(file, capsys):
    document = plan(capsys, file("accuracy.json", ACCURACY), "--accuracy", "--chance", "0.5", "--retention", "1")
    wanted = expected(similarity_from_loss_ratios(loss_ratios_from_accuracy(ACCURACY, np.full((4, 4), 0.5))))
    assert document["order"] == list(wanted.order)
    assert document["error"] == pytest.approx(wanted.error)


def test_compare_reads_the_same_tables(file, capsys):
    losses = file("losses.csv", LOSSES)
    document = plan(capsys, losses, "--losses", "--chance", "0.7", command="compare")
    best = plan(capsys, losses, "--losses", "--chance", "0.7")
    assert document["best"] == pytest.approx(best["score"])
    assert document["notes"][0] == "knowledge from the losses in the file"


def test_similarities_below_minus_one_are_taken_as_minus_one_and_said(file, capsys):
    ratios = LOSSES.copy()
    ratios[0, 3] = ratios[3, 0] = 9.0
    document = plan(capsys, file("ratios.csv", ratios), "--ratios", "--retention", "1")
    assert document["notes"][1] == "1 pair of tasks with similarity below -1: taken as -1"
    assert main(["solve", file("ratios.csv", ratios), "--ratios", "--retention", "1"]) == 0
    assert "taken as -1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (LOSSES, ["--losses"], "`--losses` must come with --chance, got none. Give a file, or a number: 0.693 (log 2)"),
        (ACCURACY, ["--accuracy"], "or a number: 0.5 for two equal classes"),
        (LOSSES, ["--chance", "0.7"], "`--chance` must come with --losses or --accuracy, got neither"),
        (LOSSES, ["--ratios", "--chance", "0.7"], "`--chance` must come with --losses or --accuracy"),
        (LOSSES, ["--losses", "--chance", "0.7,0.7"], "`--chance` must be one number or 4, one a task, got 2"),
        (LOSSES, ["--losses", "--chance", "0"], "`--chance` must be above 0, got 0"),
        (LOSSES, ["--losses", "--chance", "nan"], "`--chance` must be finite"),
        (LOSSES, ["--losses", "--chance", "nowhere.csv"], "no such file"),
        (-LOSSES, ["--losses", "--chance", "1"], "`--losses` must be at least 0, got -1"),
        (-LOSSES, ["--ratios"], "`--ratios` must be at least 0"),
        (100 * ACCURACY, ["--accuracy", "--chance", "0.5"], "from 0 to 1, got 100. Divide percentages by 100."),
        (ACCURACY, ["--accuracy", "--chance", "1"], "`--chance` must be at least 0 and below 1, got 1"),
        (LOSSES, ["--losses", "--ratios"], "not allowed with"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(file, capsys, table, options, message):
    assert main(["solve", file("table.csv", table), *options]) == 2
    text, problems = capsys.readouterr()
    assert text == ""
    assert message in problems
    assert problems.count("\n") == 1


def test_a_table_of_chance_for_other_tasks(file, capsys):
    losses = file("losses.csv", LOSSES)
    assert main(["solve", losses, "--losses", "--chance", file("c.csv", CHANCE[:3, :3], NAMES[:3])]) == 2
    assert "`--chance` must have 4 rows like FILE, got 3" in capsys.readouterr().err
    assert main(["solve", losses, "--losses", "--chance", file("c.csv", CHANCE, ["a", "dogs", "owls", "cars"])]) == 2
    assert "must name the same tasks" in capsys.readouterr().err
    assert main(["solve", "--demo", "--ratios"]) == 2
    assert "`--ratios` must come with a FILE, got --demo" in capsys.readouterr().err
