"""The example runs as a user would run it, on a model that it makes, and ends in a plan."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("peft")
EXAMPLE = Path(__file__).parents[3] / "examples" / "finetune_order.py"


def test_the_example_ends_in_a_plan(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, str(EXAMPLE)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^  (\w+) +((?: +-?\d\.\d\d){4})$", done.stdout, re.MULTILINE)
    (plan,) = re.findall(r"^plan: (.+)$", done.stdout, re.MULTILINE)
    assert sorted(plan.split(" -> ")) == sorted(name for name, _ in rows) == ["films", "news", "products", "tweets"]
    assert all(float(row.split()[place]) > 0.5 for place, (_, row) in enumerate(rows))  # each is learned alone
    reached = re.search(r"planned order (\S+), opposite (\S+), 2 random orders (\S+)", done.stdout)
    planned, opposite, others = map(float, reached.groups())
    assert 0.3 < others <= 1
    assert opposite < planned <= 1
    # nothing of ours is left behind
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("torchinductor")] == []
