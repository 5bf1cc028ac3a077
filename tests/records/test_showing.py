"""Pictures and pages of records in hand."""

import subprocess
import sys
from dataclasses import replace

import pytest

from taskorder import chain


def test_pictures_are_saved_with_their_text(solved, pilot, compared, tmp_path):
    pytest.importorskip("matplotlib")
    for name, record in (("solved", solved), ("pilot", pilot.plan), ("compared", compared)):
        picture = record.plot()
        picture.savefig(tmp_path / f"{name}.pdf")
        picture.savefig(tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        drawn = (tmp_path / f"{name}.svg").read_text()
        label = "row-sums" if name == "compared" else "cats"
        assert f">{label}</text>" in drawn


def test_a_notebook_gets_the_picture_itself(solved):
    pytest.importorskip("matplotlib")
    assert solved.plot()._repr_png_().startswith(b"\x89PNG")


def test_reports_are_written_whole(solved, compared, pilot, tmp_path):
    path = solved.report(tmp_path / "plan.html", chain(4, 0.6), title="Four animals")
    text = path.read_text()
    assert "<h1>Four animals</h1>" in text
    assert 'id="standing"' in text  # rivals and random orders: only the table tells
    assert 'id="standing"' not in solved.report(tmp_path / "alone.html").read_text()
    assert compared.verdict in compared.report(str(tmp_path / "rules.HTM")).read_text()
    assert "The order of 4 tasks" in pilot.plan.report(tmp_path / "pilot.html", pilot.table).read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.html", "pilot.html", "plan.html", "rules.HTM"]


def test_a_file_that_cannot_be_is_refused_first(solved, compared, tmp_path):
    with pytest.raises(ValueError, match=r"`path` must end in .html or .htm, got 'plan.pdf'"):
        solved.report(tmp_path / "plan.pdf")
    with pytest.raises(ValueError, match="`path` must be in a folder that exists"):
        compared.report(tmp_path / "no" / "x.html")
    with pytest.raises(ValueError, match="must be the matrix that the plan was made from"):
        solved.report(tmp_path / "x.html", chain(4, 0.5))
    with pytest.raises(ValueError, match="must be a square"):
        solved.report(tmp_path / "x.html", [[1, 2]])
    assert list(tmp_path.iterdir()) == []


def test_a_plan_with_nothing_to_learn_has_no_picture(solved):
    with pytest.raises(ValueError, match="`plan` must have a step to draw"):
        replace(solved, order=()).plot()


def test_records_load_neither_pictures_nor_pages():
    code = (
        "import sys, taskorder.records; print({'matplotlib', 'taskorder.plots', 'taskorder.report'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
