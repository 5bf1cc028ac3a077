"""What becomes of a command on Ray when the head of the cluster is lost, with a Ray that does as it is told."""

import time
from contextlib import contextmanager

import pytest

from taskorder.cli import onray
from taskorder.learners import LearnerError
from taskorder.runs import cluster, head
from taskorder.runs.cluster import Share
from taskorder.runs.head import HeadLost

SLOW_SECONDS = 1.5
"""Ray takes so long to let go: longer than the watch allows here, and than it waits between two looks."""


class FakeHead:
    gone = False

    def answers(self):
        if self.gone:
            raise HeadLost("there")


@pytest.fixture
def ends(monkeypatch):
    """The codes with which the process was ended, had it been ended."""
    codes = []

    @contextmanager
    def connected(*ignored, **options):
        try:
            yield
        finally:
            monkeypatch.setattr(FakeHead, "gone", True)  # a Ray of our own ends here, with its head
            time.sleep(SLOW_SECONDS)

    monkeypatch.setattr(cluster, "connected", connected)
    monkeypatch.setattr(head, "Head", FakeHead)
    monkeypatch.setattr(onray, "END_SECONDS", 0.2)
    monkeypatch.setattr(onray.os, "_exit", codes.append)
    return codes


def test_a_ray_that_we_end_ourselves_is_not_lost(ends, capsys):
    with onray.on_ray(cluster.LOCAL, Share()):
        pass
    with pytest.raises(KeyboardInterrupt), onray.on_ray(cluster.LOCAL, Share()):
        raise KeyboardInterrupt
    assert ends == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_lost_head_is_bad_input_and_an_end_where_ray_does_not_let_go(ends, capsys, wrapped):
    def lose():
        try:
            raise HeadLost("there")
        except HeadLost as problem:
            if wrapped:  # as a learner whose fits are on Ray says it
                raise LearnerError("`learner` must fit") from problem
            raise

    refused = pytest.raises(ValueError, match=r"^the head of the Ray cluster must answer, got nothing from there")
    with refused, onray.on_ray(cluster.LOCAL, Share()):
        lose()
    assert ends == [2]
    said = capsys.readouterr().err
    assert said.startswith("taskorder: error: the head of the Ray cluster must answer")
    assert said.count("\n") == 1


def test_a_command_that_is_held_by_ray_is_ended(ends, monkeypatch):
    with onray.on_ray(cluster.LOCAL, Share()):
        monkeypatch.setattr(FakeHead, "gone", True)
        time.sleep(SLOW_SECONDS)
    assert ends == [2]
