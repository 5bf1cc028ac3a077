"""Bad input gives exit code 2 and one line on stderr, never a traceback."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from taskorder.cli import main

GOOD = "task,A,B,C\nA,1,0.5,0.2\nB,0.5,1,0.1\nC,0.2,0.1,1\n"

BAD_FILES = {
    "ragged": ("1,0.5\n0.5\n", "line 2"),
    "text": ("1,x\n0.5,1\n", "'x' on line 1, column 2"),
    "nan": ("1,nan\nnan,1\n", "got none for A and B"),
    "infinity": ("1,inf\ninf,1\n", "finite"),
    "empty": ("", "empty"),
    "2 x 3": ("1,0,0\n0,1,0\n", "2 rows and 3 columns"),
    "duplicate names": ("A,A\n1,0\n0,1\n", "'A' more than once"),
    "diagonal": ("2,0\n0,1\n", "at most 1 (1 is perfect, 0 is chance), got 2 at row 1"),
    "distances": ("0,2\n2,0\n", "1 - distance of distances"),
    "past one": ("1,1.5\n1.5,1\n", "[-1, 1]"),
    "decimal commas": ("1,0,0,5\n0,5,1,0\n", "semicolons"),
}

BAD_OPTIONS = {
    "unknown before": (["--before", "A:Z"], "must name a known task, got 'Z'. Tasks: A, B, C."),
    "no colon": (["--before", "A"], "A:B"),
    "cycle": (["--before", "A:B", "--before", "B:C", "--before", "C:A"], "cycle"),
    "before itself": (["--before", "A:A"], "A"),
    "unknown in a group": (["--group", "A,Q"], "`--group` must name a known task, got 'Q'"),
    "group in a group": (["--group", "A,B", "--group", "B,A,C"], "`--group` must not lie inside each other"),
    "cycle of groups": (["--group", "A,B", "--before", "A:C", "--before", "C:B"], "[A, B] before C before [A, B]"),
    "first is last": (["--first", "A", "--last", "A"], "last"),
    "unknown first": (["--first", "Q"], "'Q'"),
    "unknown learned": (["--learned", "A,Q"], "'Q'"),
    "learned twice": (["--learned", "A,A"], "learned"),
    "unknown rule": (["--rule", "best"], "best"),
    "few visits": (["--visits", "2"], "visits"),
    "text visits": (["--visits", "many"], "--visits"),
    "time": (["--time-limit", "0"], "`--time-limit` must be a positive number"),
    "text time": (["--time-limit", "soon"], "seconds value: 'soon'"),
    "seed": (["--seed", "-1"], "seed"),
    "few weights": (["--weights", "1,2"], "weights"),
    "negative weights": (["--weights", "A=-1"], "weights"),
    "unknown weight": (["--weights", "Q=2"], "'Q'"),
    "missing output": (["--output-similarity", "nowhere.csv"], "no such file"),
    "demo and file": (["--demo"], "not both"),
    "unknown option": (["--fast"], "--fast"),
    "short option": (["--out", "x.csv"], "--out"),
    "line break in learned": (["--learned", "A\nB"], "`--learned` must be one line"),
    "line break in weights": (["--weights", "A=2\nB=3"], "`--weights` must be one line"),
    "missing weights": (["--weights", "nofile.csv"], "no such file: 'nofile.csv'"),
    "directory of weights": (["--weights", os.path.dirname(__file__)], "a directory"),
}


def refused(capsys, argv):
    try:
        code = main(argv)
    except SystemExit as end:
        code = end.code
    text, problems = capsys.readouterr()
    assert code == 2
    assert text == ""
    assert problems.startswith("taskorder: error: ")
    assert problems.count("\n") == 1
    return problems


@pytest.mark.parametrize("command", ["solve", "compare"])
@pytest.mark.parametrize(("text", "expected"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(command, text, expected, tmp_path, capsys):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert expected in refused(capsys, [command, str(path)])


@pytest.mark.parametrize(("options", "expected"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options(options, expected, tmp_path, capsys):
    path = tmp_path / "good.csv"
    path.write_text(GOOD)
    assert expected in refused(capsys, ["solve", str(path), *options])


def test_asymmetric_tables(tmp_path, capsys):
    path = tmp_path / "asymmetric.csv"
    path.write_text("1,0.5\n0.2,1\n")
    assert "`--retention` must be below 1 for a transfer table" in refused(
        capsys, ["solve", str(path), "--retention", "1"]
    )
    assert "must be left out with a transfer table" in refused(capsys, ["solve", str(path), "--no-repair"])
    assert main(["solve", str(path), "--retention", "1", "--kind", "similarity"]) == 0
    assert "repaired" in capsys.readouterr().out
    assert main(["solve", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["table"] == "transfer table, as given"


def test_output_with_other_names(tmp_path, capsys):
    path, output = tmp_path / "good.csv", tmp_path / "output.csv"
    path.write_text(GOOD)
    output.write_text(GOOD.replace("C", "D"))
    assert "same tasks as the table" in refused(capsys, ["solve", str(path), "--output-similarity", str(output)])


def test_ambiguous_before(tmp_path, capsys):
    path = tmp_path / "colons.csv"
    path.write_text("a,a:b,b:c,c\n" + "\n".join(",".join(map(str, row)) for row in np.eye(4)))
    assert "2 ways" in refused(capsys, ["solve", str(path), "--before", "a:b:c"])


@pytest.mark.parametrize("argv", [["solve"], ["compare"], ["draw"], ["solve", "-", "--output-similarity", "-"]])
def test_missing_arguments(argv, capsys):
    problem = refused(capsys, argv)
    assert len(argv) > 1 or argv == ["draw"] or f"taskorder {argv[0]} --help" in problem


def test_one_task(tmp_path, capsys):
    path = tmp_path / "one.csv"
    path.write_text("1\n")
    assert main(["solve", str(path)]) == 0
    assert "proven" in capsys.readouterr().out
    assert main(["compare", str(path)]) == 0


def test_directory_and_huge_files(tmp_path, capsys):
    assert "directory" in refused(capsys, ["solve", str(tmp_path)])
    with (tmp_path / "huge.csv").open("wb") as stream:
        stream.truncate(2 * 2**30)
    assert "at most 256 MB" in refused(capsys, ["solve", str(tmp_path / "huge.csv")])


def test_five_thousand_tasks(tmp_path, capsys):
    np.save(tmp_path / "p5000.npy", np.broadcast_to(np.float32(0), (5000, 5000)))
    assert "2000" in refused(capsys, ["solve", str(tmp_path / "p5000.npy")])


def test_pickles(tmp_path, capsys):
    np.savez(tmp_path / "objects.npz", similarity=np.array([[print]], dtype=object))
    assert "pickle" in refused(capsys, ["solve", str(tmp_path / "objects.npz")])


@pytest.mark.parametrize(
    "text", ["\ufeff" + GOOD, GOOD.replace("\n", "\r\n"), GOOD.replace(",", ";").replace(".", ",")]
)
def test_odd_dress_is_accepted(text, tmp_path, capsys):
    path = tmp_path / "dressed.csv"
    path.write_bytes(text.encode())
    assert main(["solve", str(path), "--before", "A:B"]) == 0
    assert "proven" in capsys.readouterr().out


def test_the_real_program_prints_one_line(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "taskorder", "solve", str(tmp_path / "missing.csv")]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=300)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"taskorder: error: ")
    assert done.stderr.count(b"\n") == 1


def test_interrupt_before_the_search(monkeypatch, capsys):
    class Keyboard(io.RawIOBase):
        def read(self, size=-1):
            raise KeyboardInterrupt

    class Stdin:
        buffer = Keyboard()

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert main(["solve", "-"]) == 130
    assert "interrupted before" in capsys.readouterr().err
