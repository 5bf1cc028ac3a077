"""Black boxes: answers with and without the shuffled loss, programs that fail, hang or talk nonsense."""

import contextlib
import math
import sys
import time
from pathlib import Path

import pytest

from taskorder.learners import CallableLearner, CommandLearner, LearnerError, Replay, learn_orders
from taskorder.planning.estimate import measure_transfer
from taskorder.planning.pilot import pilot_sample
from taskorder.task import Task

SPORTS = [Task("tennis"), Task("squash"), Task("golf")]


def remembered(learned, test, seed):
    return 0.1 if test in learned else 0.4 if {test, *learned} == {"tennis", "squash"} else 0.65


def test_what_a_black_box_does_against_forgetting_it_does_by_itself():
    for make, what in ((CallableLearner, print), (CommandLearner, "true")):
        with pytest.raises(ValueError, match=r"^`strategy` must be left out for a black box, got Replay.* its own"):
            make(what, strategy=Replay(5))


def test_a_table_from_answers_alone():
    table = measure_transfer(SPORTS, CallableLearner(remembered, chance=0.7), seeds=1)
    assert table.names == ("tennis", "squash", "golf")
    assert table.losses[0].tolist() == [[0.1, 0.4, 0.65], [0.4, 0.1, 0.65], [0.65, 0.65, 0.1]]
    similarity = table.similarity()
    assert similarity[0, 1] == pytest.approx(1 - math.sqrt(0.4 / 0.7))
    assert similarity[0, 1] > similarity[0, 2] > 0
    assert table.accuracy is None


def test_every_question_is_asked_once():
    asked = []

    def answer(learned, test, seed):
        asked.append((learned, test, seed))
        return {"loss": 0.5, "chance": 0.7, "accuracy": 0.8}

    table = measure_transfer(SPORTS, CallableLearner(answer), seeds=2)
    assert len(asked) == len(set(asked)) == 18
    assert (table.accuracy == 0.8).all()


def test_chance_a_task_or_a_clear_error():
    given = {"tennis": 0.7, "squash": 1.1, "golf": 0.9}
    table = measure_transfer(SPORTS, CallableLearner(remembered, chance=given), seeds=1)
    assert table.chance[0, 2].tolist() == [0.7, 1.1, 0.9]
    with pytest.raises(LearnerError, match=r"`chance` must be known for task 'tennis'.*log\(K\)"):
        measure_transfer(SPORTS, CallableLearner(remembered), seeds=1)


def test_a_command_gets_the_question_and_its_answer_counts(tmp_path):
    script = tmp_path / "answer.py"
    script.write_text(
        "import json, sys\nq = json.load(sys.stdin)\n"
        "print(json.dumps({'loss': 0.1 * len(q['train']) + q['seed'], 'chance': 3.0, 'accuracy': 0.5}))\n"
    )
    learner = CommandLearner([sys.executable, str(script)])
    ((first,), (second,)) = (list(scores.values()) for scores in learn_orders(learner, SPORTS[:2], [(1,)], (0, 2)))
    assert [score.loss for score in first] == [0.1, 0.1]
    assert [score.loss for score in second] == [2.1, 2.1]
    assert "answer.py" in learner.describe()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('about 3')", "must print a number or JSON, got 'about 3'"),
        ("print('{}')", r"must be a loss or hold one, got {} for 'tennis' after \['tennis'\]"),
        ("print('NaN')", "must give a finite loss of at least 0, got nan for 'tennis'"),
        ("print(-1)", "must give a finite loss of at least 0, got -1.0 for 'tennis'"),
        ("raise SystemExit('no such subject')", "must end with code 0, got 1 .*: no such subject"),
    ],
)
def test_programs_that_go_wrong(code, message):
    learner = CommandLearner([sys.executable, "-c", code], chance=0.7)
    with pytest.raises(LearnerError, match=message) as caught:
        measure_transfer(SPORTS, learner, seeds=1)
    assert "learning 'tennis', seed 0, fit 1 of 3" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path):
    # the shell's child would keep the pipe open if only the shell were ended
    learner = CommandLearner(f"sh -c 'sleep 600 & echo $! > {tmp_path}/child; wait'", chance=0.7, timeout=0.5)
    with pytest.raises(LearnerError, match=r"within 0.5 seconds, got none for the loss on 'tennis'.*longer timeout"):
        measure_transfer(SPORTS, learner, seeds=1)
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")

    def runs():
        with contextlib.suppress(OSError):
            return child.read_text().rsplit(")", 1)[1].split()[0] not in "XZ"
        return False

    end = time.monotonic() + 30  # a killed process may still be on its way out
    while runs() and time.monotonic() < end:
        time.sleep(0.01)
    assert not runs()


def test_a_program_that_is_not_there():
    with pytest.raises(LearnerError, match="`command` must run, got 'no-such-program'"):
        measure_transfer(SPORTS, CommandLearner("no-such-program"), seeds=1)
    with pytest.raises(ValueError, match="`command` must name a program"):
        CommandLearner("")


def test_names_have_no_data_to_sample():
    with pytest.raises(ValueError, match="data to sample from, got only the name 'tennis'"):
        pilot_sample(SPORTS)


def test_a_store_needs_a_name(tmp_path):
    with pytest.raises(ValueError, match="`name` must be given to use this learner with a store"):
        measure_transfer(SPORTS, CallableLearner(lambda *_: 0.5, chance=0.7), store=tmp_path / "kept.sqlite")
    named = CallableLearner(lambda *_: 0.5, chance=0.7, name="half")
    assert (measure_transfer(SPORTS, named, store=tmp_path / "kept.sqlite").losses == 0.5).all()
