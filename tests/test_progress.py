"""A bar is shown where somebody can see it, and only after a while."""

import contextlib
import io

import pytest

from taskorder import Task, progress, run_pilot
from taskorder.learners import CallableLearner, LearnerError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A stream that says it is a terminal, and no waiting for bars."""
    monkeypatch.setattr(progress, "BAR_AFTER_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def pilot(terminal=None, answer=lambda learned, test, seed: 0.5 ** learned.count(test), **options):
    with contextlib.redirect_stderr(terminal or io.StringIO()):
        return run_pilot([Task("a"), Task("b")], CallableLearner(answer, chance=1.0), seeds=1, draws=0, **options)


def test_a_terminal_shows_how_many_fits_are_done(terminal):
    made = pilot(terminal)
    assert "fits  1 of 4" in terminal.getvalue()
    assert made.plan.order == pilot(progress=False).plan.order


def test_who_asks_for_no_bar_gets_none(terminal):
    pilot(terminal, progress=False)
    assert terminal.getvalue() == ""


def test_a_report_takes_the_place_of_the_bar(terminal):
    counts = []
    pilot(terminal, report=lambda done, total: counts.append((done, total)))
    assert terminal.getvalue() == ""
    pilot(terminal, report=lambda done, total: counts.append((done, total)), progress=True)
    assert "of 4" in terminal.getvalue()
    assert counts[: len(counts) // 2] == counts[len(counts) // 2 :]
    assert counts[-1] == (4, 4)


def test_a_log_file_gets_nothing_unless_asked(monkeypatch):
    monkeypatch.setattr(progress, "BAR_AFTER_SECONDS", 0.0)
    pilot(log := io.StringIO())
    assert log.getvalue() == ""
    pilot(log, progress=True)
    assert log.getvalue().splitlines() == [f"fits  {k} of 4" for k in (1, 2, 3, 4)]


def test_quick_work_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(progress, "BAR_AFTER_SECONDS", 60.0)
    pilot(terminal)
    assert terminal.getvalue() == ""


def test_a_failure_ends_the_bar(terminal):
    def fail(learned, test, seed):
        if len(learned) > 1:
            raise ValueError("no more")
        return 0.5

    with pytest.raises(LearnerError, match="no more"):
        pilot(terminal, fail)
    assert terminal.getvalue().endswith("\x1b[2K")  # the line of the bar was cleared


def test_a_notebook_gets_an_element_of_its_own(monkeypatch):
    display = pytest.importorskip("IPython.display")
    shown = []

    class Handle:
        def update(self, element):
            shown.append(element.data)

    monkeypatch.setattr(display, "display", lambda element, display_id: Handle())
    monkeypatch.setattr(progress, "BAR_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    pilot()
    assert shown[0].startswith("<progress value=")
    assert 'max="4"></progress> fits  4 of 4' in shown[-2]
    assert shown[-1] == ""


def test_a_plain_python_is_no_notebook():
    assert progress.in_notebook() is False
