"""What all tests share: skips that CI forbids, work for two processes, hypothesis without deadlines, some fixtures."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# The first call of a compiled kernel takes seconds, and CI machines are shared: time says nothing here.
settings.register_profile("taskorder", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("taskorder")


NO_SKIPS = os.environ.get("TASKORDER_NO_SKIPS")
"""A pattern: a skip whose reason has it is a failure, so that CI cannot pass because a package is missing."""


def failed_if_forbidden(report: Any) -> Any:
    """The same report, or a failure where it is a skip that must not be."""
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail") and re.search(NO_SKIPS, report.longrepr[2]):
        report.outcome, report.longrepr = "failed", f"TASKORDER_NO_SKIPS forbids this. {report.longrepr[2]}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Any:
    return failed_if_forbidden((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Any:
    return failed_if_forbidden((yield))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where files are shared out, all of tests/runs goes to one process: one Ray cluster at a time, and only one."""
    from xdist.scheduler import LoadFileScheduling

    class OneCluster(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "tests/runs" if nodeid.startswith("tests/runs/") else super()._split_scope(nodeid)

    return OneCluster(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def goldens() -> dict[str, dict[str, Any]]:
    """Best, worst, mean and all optimal orders of five small graphs, by brute force (tests/make_goldens.py)."""
    return json.loads((Path(__file__).parent / "goldens.json").read_text())


@pytest.fixture(scope="session")
def make_correlation() -> Callable[..., np.ndarray]:
    """A function (num_tasks, seed, rank=None) -> correlation matrix of random unit vectors, positive semidefinite."""

    def make(num_tasks: int, seed: int, rank: int | None = None) -> np.ndarray:
        vectors = np.random.default_rng(seed).standard_normal((num_tasks, rank or num_tasks + 1))
        vectors[:, 0] += 0.5
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        matrix = vectors @ vectors.T
        np.fill_diagonal(matrix, 1.0)
        return (matrix + matrix.T) / 2

    return make


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, where it and Playwright are installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()
