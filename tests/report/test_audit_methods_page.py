"""The page of several methods: its numbers are the audit's, and it is the same from the table and from the JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from taskorder import audit_methods
from taskorder.audit.results import Results
from taskorder.cli import main
from taskorder.report.audit_methods_page import audit_methods_page
from taskorder.report.document import page_html

from .conftest import HOSTILE, embedded
from .test_document import Reader

EXPORTS = Path(__file__).parents[1] / "audit" / "exports"


def results(gain=0.0, num_orders=6, num_seeds=3, seed=0):
    """Averages in many orders."""
    rng = np.random.default_rng(seed)
    table = 0.6 + gain + 0.02 * rng.standard_normal((num_orders, num_seeds))
    orders = tuple(f"order {k}" for k in range(num_orders))
    return Results(orders, tuple(map(str, range(num_seeds))), ("x",), ("x",), table[:, :, None], (), True)


def page_of(audit):
    return page_html(audit_methods_page(audit, "A title", {"Input": "a file"}), "taskorder report a")


@pytest.mark.parametrize(("num_orders", "num_seeds"), [(6, 3), (60, 2), (12, 1), (1, 4), (400, 2)])
def test_every_design_has_a_page(num_orders, num_seeds):
    several = {
        name: results(gain, num_orders, num_seeds, seed)
        for seed, (name, gain) in enumerate([("a", 0.05), ("b", 0), ("c", 0)])
    }
    audit = audit_methods(several)
    text = page_of(audit)
    assert Reader(text).problems == []
    assert "NaN" not in text
    for pair in audit.pairs:
        assert f'data-value="{pair.difference!r}"' in text
        assert f'data-value="{pair.p_holm!r}"' in text
    assert audit.verdict in "".join(Reader(text).said)
    assert text.count("<figure") == (4 if num_orders > 1 else 1)
    assert len(embedded(text)["audit"]["pairs"][0]["gaps"]) == min(num_orders, 300)
    assert bool(embedded(text)["left_out"]) == (num_orders > 300)


def test_hostile_names_are_text():
    text = page_of(audit_methods({name: results(seed=k) for k, name in enumerate(HOSTILE[:4])}))
    assert Reader(text).problems == []
    assert "<script>alert" not in text


def test_the_table_and_its_json_give_the_same_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["method,order,seed,a,b"]
    lines += [
        f"{method},{order},{seed},{rng.uniform():.4f},{rng.uniform():.4f}"
        for method in ("plain", "replay") for order in ("a>b", "b>a") for seed in range(3)
    ]  # fmt: skip
    (tmp_path / "runs.csv").write_text("\n".join(lines))
    assert main(["audit", "runs.csv", "--json"]) == 0
    text = capsys.readouterr().out
    (tmp_path / "audit.json").write_text(text)
    assert main(["audit", "runs.csv"]) == 0
    assert json.loads(text)["verdict"] in capsys.readouterr().out.replace("\n", " ")
    pages = {}
    for name in ("runs.csv", "audit.json"):
        assert main(["report", name, "-o", "page.html"]) == 0
        pages[name] = embedded((tmp_path / "page.html").read_text())["audit"]
    assert pages["runs.csv"] == pages["audit.json"] == json.loads(text)
    assert main(["audit", "runs.csv", "--used", "a>b"]) == 2
    assert "`--used` must be left out for several methods, got 'a>b'. Choose one with --where method=plain." in (
        capsys.readouterr().err
    )
    (tmp_path / "odd.json").write_text(json.dumps({**json.loads(text), "pairs": []}))
    assert main(["report", "odd.json"]) == 2
    assert "must be what `taskorder audit --json` writes, got no methods" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(path.name for path in EXPORTS.iterdir()))
def test_exports_of_trackers_are_known_by_their_content(name, tmp_path):
    assert main(["report", str(EXPORTS / name), "-o", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text()
    assert [score["method"] for score in embedded(text)["audit"]["methods"]] == ["plain", "replay"]
