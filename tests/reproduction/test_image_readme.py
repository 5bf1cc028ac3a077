"""The first picture of the README: the task set is chosen by rule, and every order has its bar."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from reproduction.image_results import truth_of
from taskorder.ordering.rules import typicality
from taskorder.runs import settings
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store

SCRIPT = Path(__file__).parents[2] / "examples" / "readme_figure.py"
LEADS = (0.02, 0.30, 0.10, 0.05, 0.20)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("readme_figure", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def results(make_result, make_similarity):
    """Five task sets of four tasks; the more typical the last task, the better, by more and less."""

    def one(number, slope):
        C = make_similarity(4, number)
        t = typicality(C) - typicality(C).mean()
        return make_result(number, C, lambda order: 0.5 + slope * t[order[-1]] / np.abs(t).max() + 1e-3 * order[0])

    return [one(number, slope) for number, slope in enumerate(LEADS)]


def test_the_set_with_the_median_lead_is_drawn(script, results):
    truths = [truth_of(result, 0, 0) for result in results]
    leads = [truth.best - truth.mean for truth in truths]
    chosen = script.median_set(truths)
    assert chosen.best - chosen.mean == pytest.approx(np.median(leads))


def test_every_order_has_a_bar_and_every_rule_a_name(script, results):
    truth = truth_of(results[1], 0, 0)
    axes = script.draw(truth, "Made up").axes[0]
    tops = sorted(bar.get_y() + bar.get_height() for bar in axes.patches)
    np.testing.assert_allclose(tops, np.sort(truth.accuracy))
    words = " ".join(text.get_text() for text in axes.texts)
    for name in ("periphery-to-core", "max-path", "closed-form optimum", "min-path", "core-to-periphery", "best order"):
        assert name in words
    worst = truth.names[typicality(truth.similarity("test")).argmin()]
    assert f"the 6 orders that end with\n{worst}" in words


def test_the_script_reads_a_store_and_writes_a_picture(script, results, tmp_path):
    specs = RunSpecs(settings.Config(num_sets=len(results), num_tasks=4))
    with Store(tmp_path / "made-up.sqlite") as store:
        store.put(specs, results, 1.0)
    script.main(str(tmp_path / "made-up.sqlite"), str(tmp_path / "orders.png"))
    assert (tmp_path / "orders.png").stat().st_size > 10_000
    with Store(tmp_path / "empty.sqlite"):
        pass
    with pytest.raises(SystemExit, match="`store` must hold task sets with all orders"):
        script.main(str(tmp_path / "empty.sqlite"), str(tmp_path / "none.png"))
