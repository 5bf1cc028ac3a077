"""`taskorder demo` tells the truth about what it trained."""

import itertools

import pytest

from taskorder.cli import demo, main
from taskorder.cli.demo import Run, digit_tasks, draw_runs, real_runs, sentence
from taskorder.learners import SklearnLearner

pytest.importorskip("sklearn")


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A quick linear learner, few seeds, and a folder to write in."""
    from sklearn.linear_model import SGDClassifier

    monkeypatch.setattr(demo, "SEEDS", (100,))
    monkeypatch.setattr(demo, "PILOT_SEEDS", 1)
    monkeypatch.setattr(demo, "_learner", lambda tasks: SklearnLearner(SGDClassifier(loss="log_loss"), epochs=1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_whole_story(small, capsys):
    pytest.importorskip("matplotlib")
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    runs = [line for line in lines if line.strip().startswith(("planned", "opposite", "random"))]
    assert len(runs) == 12
    accuracies = [float(line.split("%")[0].split()[-1]) for line in runs]
    assert accuracies == sorted(accuracies, reverse=True)
    assert "Confidence:" in shown
    assert "of all five tasks right at the end" in shown
    assert (small / "taskorder-demo.png").read_bytes().startswith(b"\x89PNG")


def test_no_picture_where_none_is_wanted_or_possible(small, capsys):
    assert main(["demo", "-o", "-"]) == 0
    assert "drawn" not in capsys.readouterr().out
    assert main(["demo", "-o", "nowhere/picture.png"]) == 2
    assert "`--output` must be in a folder that exists, got 'nowhere/picture.png'. Make it" in capsys.readouterr().err
    assert main(["demo", "--seed", "-1"]) == 2
    assert "`--seed` must be a nonnegative integer, got -1" in capsys.readouterr().err
    assert main(["demo", "-o", "picture.html"]) == 2
    said = capsys.readouterr()
    assert said.err == "taskorder: error: `--output` must end in .png, .svg or .pdf, got 'picture.html'.\n"
    assert said.out == ""


def test_tasks_are_five_pairs_with_data_to_test_on():
    tasks = digit_tasks()
    assert [task.name for task in tasks] == ["0 or 1", "2 or 3", "4 or 5", "6 or 7", "8 or 9"]
    assert all(len(task.eval_targets) > 50 and task.own_classes == (0, 1) for task in tasks)


def test_runs_are_different_orders_tested_on_unseen_digits(small):
    runs = real_runs(digit_tasks(), demo._learner(()), (3, 1, 0, 2, 4), 0, None)
    assert len({run.order for run in runs}) == 12
    assert [run.label for run in runs[:2]] == ["planned", "opposite"]
    assert runs[1].order == (4, 2, 0, 1, 3)
    assert all(0.3 < run.mean <= 1 for run in runs)


@pytest.mark.parametrize(
    ("planned", "opposite", "wanted"),
    [
        (0.9, 0.5, "better than 10 of 10 random orders).\n"),
        (0.4, 0.3, "The planned order did not pay this time"),
        (0.9, 0.9, "The opposite order happened to do as well or better this time.\n"),
        (0.8, 0.9, "The opposite order happened to do as well or better this time.\n"),
    ],
)
def test_the_sentence_follows_the_numbers(planned, opposite, wanted):
    orders = itertools.permutations(range(5))
    runs = [Run("planned", next(orders), (planned,)), Run("opposite", next(orders), (opposite,))]
    runs += [Run("random", order, (0.7,)) for order, _ in zip(orders, range(10), strict=False)]
    said = sentence(runs) + "\n"
    assert wanted in said
    assert f"{100 * planned:.1f} %" in said
    assert "70.0 % in random orders" in said
    assert f"{100 * opposite:.1f} % in the opposite one" in said


def test_without_matplotlib_there_is_no_picture(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    assert not draw_runs([], tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []
