"""Real trackers keep what the page on trackers logs, under names that they allow, whatever tasks are called.

`make test-trackers` runs this where the trackers are installed.
"""

from pathlib import Path

import pytest

from taskorder import chain, compare, solve

from ..test_docs import run_page

pytestmark = pytest.mark.filterwarnings("default")  # of packages that are not ours
PAGE = Path(__file__).parents[2] / "docs" / "trackers.md"
HOSTILE = ["a/b", "..", "<script>", "100 %: käse", "very long " * 60, "a/b ", "ünïcode", "/etc", "a//b", "x" * 300]


def logged(records):
    """Numbers and descriptions of hostile tasks."""
    flat = {
        f"{k}/{name}": value for k, record in enumerate(records) for name, value in record.to_dict(flat=True).items()
    }
    numbers = {name: value for name, value in flat.items() if isinstance(value, float)}
    return numbers, {name: value for name, value in flat.items() if name not in numbers}


@pytest.fixture(scope="module")
def records():
    names = [name if name.strip() == name else name + "." for name in HOSTILE]
    table = chain(len(names), 0.5)
    return solve(table, names=names), compare(table, names=names, num_random=20)


def test_the_page_is_true(tmp_path, monkeypatch):
    for package in ("mlflow", "wandb", "tensorboard", "torch"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    assert run_page(text, "docs/trackers.md", tmp_path) == text.count("\n>>> ")


def test_mlflow_takes_every_name(records, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    numbers, described = logged(records)
    with mlflow.start_run() as run:
        mlflow.log_metrics(numbers)
        mlflow.log_params(described)
    kept = mlflow.get_run(run.info.run_id).data
    assert kept.metrics == pytest.approx(numbers)
    assert kept.params == {name: str(value) for name, value in described.items()}


def test_wandb_takes_every_name(records, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    numbers, described = logged(records)
    with wandb.init(mode="offline", dir=tmp_path, config=described, settings=wandb.Settings(silent=True)) as run:
        run.summary.update(numbers)
        assert dict(run.summary) == numbers
        assert dict(run.config) == described
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))


def test_tensorboard_takes_every_name(records, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    numbers, _ = logged(records)
    with SummaryWriter(tmp_path) as writer:
        for name, value in numbers.items():
            writer.add_scalar(name, value)
    kept = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0}).Reload()
    assert {name: kept.Scalars(name)[0].value for name in kept.Tags()["scalars"]} == pytest.approx(numbers)
