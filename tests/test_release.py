"""What a release says about itself: one version everywhere, and a workflow that calls targets that exist."""

import os
import re
from pathlib import Path

import pytest

import taskorder

ROOT = Path(__file__).parents[1]
yaml = pytest.importorskip("yaml")


def test_the_version_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## \[(\d\S*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert cited["version"] == newest[1] == taskorder.__version__


def test_the_citation_names_the_paper_and_us():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    (paper,) = cited["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Li", "Hiratani"]
    assert paper["title"] in " ".join((ROOT / "README.md").read_text().split())
    assert cited["authors"]


def test_the_workflow_calls_what_exists():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    makefile = (ROOT / "Makefile").read_text()
    targets = [target for command in commands for target in re.findall(r"^make (\S+)", command)]
    assert {"test", "demo"} <= set(targets)
    for target in targets:
        assert f"\n{target}:" in makefile, target
    assert ".ci/run" in commands
    assert os.access(ROOT / ".ci/run", os.X_OK)
