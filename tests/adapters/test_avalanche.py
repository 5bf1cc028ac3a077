"""Orders in Avalanche 0.6 itself: both APIs, a re-ordered benchmark, and training on it.

Avalanche is outside the default set of extras: pip install "taskorder[avalanche]".
"""

import warnings

import numpy as np
import pytest

from taskorder.adapters import settings
from taskorder.adapters.avalanche import reorder_benchmark
from taskorder.portable import PortableOrder

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Avalanche and what it pulls in
GROUPS = ((7, 2), (0, 5), (3, 9), (1, 4, 6, 8))
ORDER = PortableOrder(names=tuple("ABCD"), order=(3, 0, 2, 1), class_groups=GROUPS, num_classes=10)
TIMELINE = ("classes_in_this_experience", "previous_classes", "classes_seen_so_far", "future_classes")


@pytest.fixture(scope="module")
def benchmarks(torchvision):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("avalanche.benchmarks")


@pytest.fixture(scope="module")
def digits():
    """The 1797 handwritten digits of scikit-learn where it is installed, else blobs: train and test tensors."""
    try:
        from sklearn.datasets import load_digits

        inputs, labels = load_digits(return_X_y=True)
    except ImportError:
        rng = np.random.default_rng(0)
        labels = np.arange(1800) % 10
        inputs = 8 + 8 * rng.standard_normal((10, 64))[labels] + rng.standard_normal((1800, 64))
    return [
        (torch.tensor(inputs[part] / 16, dtype=torch.float32), torch.tensor(labels[part], dtype=torch.int64))
        for part in (slice(0, None, 2), slice(1, None, 2))
    ]


@pytest.fixture(scope="module")
def data(benchmarks, digits):
    from avalanche.benchmarks.utils import as_classification_dataset
    from torch.utils.data import TensorDataset

    def make(inputs, labels):
        pairs = TensorDataset(inputs, labels)
        pairs.targets = labels.tolist()
        return as_classification_dataset(pairs)

    return {name: make(*part) for name, part in zip(("train", "test"), digits, strict=True)}


def labels_of(experience):
    return {int(label) for label in experience.dataset.targets}


def test_the_new_api_learns_the_groups_in_order(benchmarks, data):
    made = benchmarks.class_incremental_benchmark(dict(data), **settings(ORDER, "avalanche"))
    for stream in (made.train_stream, made.test_stream):
        assert [labels_of(experience) for experience in stream] == [set(GROUPS[task]) for task in ORDER.order]
    assert sum(len(experience.dataset) for experience in made.train_stream) == len(data["train"])


def test_why_the_number_of_experiences_is_not_used(benchmarks, data):
    made = benchmarks.class_incremental_benchmark(
        dict(data), class_order=list(ORDER.class_order), num_experiences=len(ORDER.order)
    )
    assert sum(len(labels_of(experience)) for experience in made.train_stream) == 8  # of 10 classes


def test_the_old_api_learns_the_groups_in_order(benchmarks, data):
    made = benchmarks.nc_benchmark(data["train"], data["test"], task_labels=False, **settings(ORDER, "avalanche-nc"))
    assert [labels_of(experience) for experience in made.train_stream] == [set(GROUPS[task]) for task in ORDER.order]
    assert made.classes_order == list(ORDER.class_order)


def test_the_old_api_with_equal_sizes_and_classes_left_out(benchmarks, data):
    order = PortableOrder(names=tuple("AB"), order=(1, 0), class_groups=((7, 2), (0, 5)), num_classes=10)
    values = settings(order, "avalanche-nc")
    assert "per_exp_classes" not in values
    made = benchmarks.nc_benchmark(data["train"], data["test"], task_labels=False, **values)
    assert [labels_of(experience) for experience in made.test_stream] == [{0, 5}, {7, 2}]
    with pytest.raises(ValueError, match=r"for Avalanche's new API .* got none with 1, 3, 4, 6, 8, 9"):
        settings(order, "avalanche")


@pytest.fixture(scope="module")
def split(benchmarks, data):
    """Five tasks of two classes, in the order of the digits, with task labels 0 to 4."""
    made = benchmarks.class_incremental_benchmark(dict(data), class_order=list(range(10)), num_classes_per_exp=[2] * 5)
    return benchmarks.with_classes_timeline(benchmarks.task_incremental_benchmark(made, reset_task_labels=True))


NEW = (2, 0, 4, 1, 3)


def test_a_slice_of_a_stream_keeps_the_old_timeline(split):
    """Why `reorder_benchmark` is there."""
    second = split.train_stream[list(NEW)][1]
    assert labels_of(second) == {0, 1}
    assert sorted(second.previous_classes) == []  # and not 4 and 5, which came first
    third = split.train_stream[list(NEW)][2]
    assert sorted(third.previous_classes) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert third.current_experience == 4  # it is at position 2


def test_the_timeline_of_a_reordered_benchmark(split):
    made = reorder_benchmark(split, NEW)
    for name in ("train", "test"):
        stream, seen = made.streams[name], []
        assert len(stream) == 5
        for place, (task, experience) in enumerate(zip(NEW, stream, strict=True)):
            here = [2 * task, 2 * task + 1]
            expected = here, sorted(seen), sorted(seen + here), sorted(set(range(10)) - set(seen + here))
            assert tuple(getattr(experience, attribute) for attribute in TIMELINE) == expected
            assert labels_of(experience) == set(here)
            assert (experience.current_experience, experience.task_label, experience.task_labels) == (
                place,
                task,
                [task],
            )
            old = split.streams[name][task].dataset
            assert len(experience.dataset) == len(old)
            assert torch.equal(experience.dataset[0][0], old[0][0])
            seen += here
    assert sorted(split.train_stream[1].previous_classes) == [0, 1]  # the old benchmark is untouched


def test_back_and_forth_is_the_same_benchmark(split):
    back = reorder_benchmark(reorder_benchmark(split, NEW), np.argsort(NEW))
    for old, new in zip(split.train_stream, back.train_stream, strict=True):
        assert list(old.dataset.targets) == list(new.dataset.targets)
        for attribute in TIMELINE:
            assert sorted(getattr(old, attribute)) == getattr(new, attribute)


def test_a_single_test_experience_stays(benchmarks, data, split):
    whole = [experience.dataset for experience in split.train_stream]
    sole = benchmarks.benchmark_from_datasets(train=whole, test=[data["test"]])
    made = reorder_benchmark(sole, NEW)
    assert [labels_of(experience) for experience in made.train_stream] == [{2 * task, 2 * task + 1} for task in NEW]
    (test,) = made.test_stream
    assert test.classes_in_this_experience == list(range(10))
    assert len(test.dataset) == len(data["test"])


def test_a_classic_benchmark_can_be_reordered(benchmarks, data):
    old = benchmarks.nc_benchmark(data["train"], data["test"], 5, task_labels=True, shuffle=False)
    made = reorder_benchmark(old, PortableOrder(names=tuple("ABCDE"), order=NEW))
    assert made.n_classes == 10
    assert [experience.task_label for experience in made.train_stream] == list(NEW)
    assert [experience.previous_classes for experience in made.train_stream][:2] == [
        [], sorted(labels_of(old.train_stream[2]))
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [(0, 1, 2, 3), (0, 1, 2, 3, 3), (1, 2, 3, 4, 5), ()])
def test_bad_orders_are_refused(split, bad):
    with pytest.raises(ValueError, match="`order` must list each of the 5 experiences exactly once"):
        reorder_benchmark(split, bad)


def test_streams_of_other_lengths_are_refused(benchmarks, split):
    whole = [experience.dataset for experience in split.train_stream]
    odd = benchmarks.benchmark_from_datasets(train=whole, test=whole[:2])
    with pytest.raises(ValueError, match="1 or 5 experiences in every stream, got 2 in 'test'"):
        reorder_benchmark(odd, NEW)


@pytest.mark.parametrize("multihead", [False, True])
def test_it_trains_end_to_end(benchmarks, split, multihead):
    from avalanche.evaluation.metrics import accuracy_metrics
    from avalanche.models import MultiHeadClassifier, MultiTaskModule, SimpleMLP
    from avalanche.training.plugins import EvaluationPlugin
    from avalanche.training.supervised import Naive

    class Heads(MultiTaskModule):
        """One linear layer a task."""

        def __init__(self):
            super().__init__()
            self.classifier = MultiHeadClassifier(64)

        def forward(self, x, task_labels):
            return self.classifier(x, task_labels)

    torch.manual_seed(0)
    made = reorder_benchmark(split, NEW)
    model = Heads() if multihead else SimpleMLP(num_classes=10, input_size=64, hidden_size=32)
    plugin = EvaluationPlugin(accuracy_metrics(experience=True, stream=True), loggers=[])
    strategy = Naive(
        model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), criterion=torch.nn.CrossEntropyLoss(),
        train_mb_size=32, train_epochs=5, eval_mb_size=256, evaluator=plugin, device="cpu",
    )  # fmt: skip
    for experience in made.train_stream:
        strategy.train(experience, num_workers=0)
        metrics = strategy.eval(made.test_stream, num_workers=0)
    keys = [f"Top1_Acc_Exp/eval_phase/test_stream/Task{task:03d}/Exp{place:03d}" for place, task in enumerate(NEW)]
    assert set(keys) <= set(metrics)
    assert metrics[keys[-1]] > 0.9  # the task learned last
    if multihead:
        assert min(metrics[key] for key in keys) > 0.8  # a head of its own for every task
    else:
        assert max(metrics[key] for key in keys[:-1]) < 0.5  # a single head forgets
