"""The notebook of the examples runs in a kernel, and shows tables and pictures."""

import json
import re
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "quickstart.ipynb"


def shown(cell):
    """The kinds of what a cell shows."""
    return {kind for output in cell.outputs for kind in output.get("data", {})}


def test_it_runs_and_shows_its_results(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    cells = {cell.source.splitlines()[-1]: cell for cell in notebook.cells if cell.cell_type == "code"}
    assert not [output for cell in cells.values() for output in cell.outputs if output.output_type == "error"]
    for last in ("order", "comparison", "planned"):
        assert {"text/html", "text/plain"} <= shown(cells[last]), last
    for last in ("comparison.plot()", "planned.plot()"):
        assert "image/png" in shown(cells[last]), last
    (table,) = [output for output in cells["planned"].outputs if "text/html" in output.get("data", {})][-1:]
    assert table.data["text/plain"].startswith("Plan of 4 tasks: ")
    assert "accuracy at the end" in table.data["text/html"]


def test_it_is_kept_without_outputs_and_without_traces_of_a_machine():
    text = NOTEBOOK.read_text()
    cells = json.loads(text)["cells"]
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in cells)
    assert not re.search(r"/(?:home|root|tmp|Users)/|[A-Z]:\\\\", text)
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\((\.\./[^)]+)\)", NOTEBOOK.read_text())
    assert len(links) == 3
    assert all((NOTEBOOK.parent / link).exists() for link in links)
