"""What a terminal obeys, or nobody sees, stands as an escape in all that is printed: in Python."""

import contextlib
import io
import logging
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import Plan, Task, audit_methods, audit_results, compare, next_runs, progress, read_methods, solve
from taskorder.arguments import BadArgument
from taskorder.plots.results import plan_drawing
from taskorder.visible import visible, visible_lines

TABLE = [[1, 0.2, 0.6], [0.2, 1, 0.1], [0.6, 0.1, 1]]
HOSTILE = ("\x1b[2J\x1b]0;owned\x07", "a\nerror: b\r\x9b31mc\x7f", "\u202etxt.exe\u2066\u200b\u3164")


def is_plain(text, keep="\n"):
    """Whether a terminal shows every character of the text as it is."""
    return not [mark for mark in text if unicodedata.category(mark) in ("Cc", "Cf", "Cs") and mark not in keep]


@given(st.text())
def test_nothing_is_left_that_a_terminal_obeys(text):
    shown = visible(text)
    assert not {unicodedata.category(mark) for mark in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert visible(shown) == shown
    assert [
        mark for mark in shown if mark in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    ] == []


def test_each_control_and_each_mark_of_direction_is_an_escape_of_json():
    marks = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x200B]
    for code in marks:
        short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(chr(code), f"\\u{code:04x}")
        assert visible(f"a{chr(code)}b") == f"a{short}b"
    assert visible("\U000e0041") == "\\udb40\\udc41"
    assert visible("\ud800") == "\\ud800"
    assert visible("\uffff\ufdd0\U0001fffe") == "\\uffff\\ufdd0\\ud83f\\udffe"


@pytest.mark.parametrize("name", ["naïve", "猫", "👩‍👩‍👧", "می‌خواهم", "a\u00a0b", "é", "back\\slash", "{[$`'\"<&"])
def test_what_people_write_stays(name):
    assert visible(name) == name
    assert visible(f"a{name}\x1b") == f"a{name}\\u001b"


def test_joiners_hide_nothing_between_plain_letters():
    assert visible("a\u200db") == "a\\u200db"


def test_lines_stay_lines():
    assert visible_lines("a\x1b\nb") == "a\\u001b\nb"


def printed(value):
    with contextlib.redirect_stdout(io.StringIO()) as paper:
        print(value)
    return paper.getvalue()


def test_plans_and_comparisons_are_printed_line_by_line():
    plan, plain = solve(TABLE, names=HOSTILE, first=HOSTILE[1]), solve(TABLE, first=1)
    result = compare(TABLE, names=HOSTILE, before=[(HOSTILE[0], HOSTILE[1])])
    for text, usual in (
        (printed(plan), printed(plain)),
        (printed(plan.summary()), printed(plain.summary())),
        (printed(result), printed(compare(TABLE, before=[(0, 1)]))),
    ):
        assert is_plain(text)
        assert text.count("\n") == usual.count("\n")
        assert "\\u001b[2J" in text
    assert Plan.from_json(plan.to_json()).names == HOSTILE
    assert plan.to_dict()["names"] == [*HOSTILE]


def test_audits_are_printed_line_by_line():
    rng = np.random.default_rng(0)
    runs = [
        {"method": method, "order": order, "seed": seed, "task": task, "accuracy": rng.random()}
        for method in HOSTILE[:2]
        for order in ("0>1>2", "2>1>0", "1>0>2")
        for seed in (0, 1)
        for task in range(3)
    ]
    methods = read_methods(runs)
    assert set(methods) == {*HOSTILE[:2]}
    of_methods = printed(audit_methods(methods).summary())
    assert is_plain(of_methods)
    assert "\\u001b[2J" in of_methods
    names = {"0": HOSTILE[0], "1": HOSTILE[1], "2": HOSTILE[2]}
    wide = [
        {"order": list(order), "seed": seed, **{name: rng.random() for name in names.values()}}
        for order in (HOSTILE, HOSTILE[::-1])
        for seed in (0, 1)
    ]
    results = read_methods(wide)[""]
    audit = audit_results(results)
    assert is_plain(printed(audit.summary()))
    assert is_plain(printed(next_runs(8, table=TABLE, names=HOSTILE).summary()))


def test_messages_about_arguments_are_one_line():
    with pytest.raises(BadArgument) as caught:
        solve(TABLE, names=HOSTILE, first="a\n\x1b[2J")
    assert is_plain(str(caught.value), keep="")
    assert str(BadArgument("`a` must be b, got \x1b[2J\n.")) == "`a` must be b, got \\u001b[2J\\n."


def test_bars_and_logs_show_escapes(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(progress, "BAR_AFTER_SECONDS", 0.0)
    with contextlib.redirect_stderr(io.StringIO()) as log:
        bar = progress.ProgressBar("\x1b[2J\n")
        bar.count(1, 2)
        bar.stop()
    assert log.getvalue() == "\\u001b[2J\\n  1 of 2\n"


def test_pictures_name_tasks_on_one_line_without_formulas():
    plan = solve(TABLE, names=["$x^2$ \x1b[2J", "\u202ecats", "a\nb"])
    names = plan_drawing(plan).panels[0].steps
    assert sorted(names) == sorted(["\\$x^2\\$ \\u001b[2J", "\\u202ecats", "a b"])


def test_tasks_are_printed_with_escapes():
    assert is_plain(printed(Task(HOSTILE[0], np.zeros((2, 1)), [0, 1])))
    assert logging.getLogger("taskorder").handlers == []
