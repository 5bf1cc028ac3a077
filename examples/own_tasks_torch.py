"""Plan the order of image tasks for a PyTorch network, and check the plan by training for real.

    python examples/own_tasks_torch.py [FOLDER]

FOLDER holds train/CLASS/*.png and test/CLASS/*.png, with an even number of classes; classes are paired in the order of
their names, and each pair is a task: which of the two is it? Without a FOLDER the handwritten digits that scikit-learn
ships are written to one. The images are a data set of PyTorch, read one by one where they are needed: a pilot opens
only those of its sample. Needs torch and pillow.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset, Subset

from taskorder import Task, run_pilot, share_labels
from taskorder.learners import TorchLearner, learn_orders

NUM_RANDOM = 3


class Images(Dataset):
    """PNG files in folders of classes, as tensors with their channels first."""

    def __init__(self, folder: Path) -> None:
        self.classes = sorted(path.name for path in folder.iterdir())
        self.files = [(path, k) for k, name in enumerate(self.classes) for path in sorted((folder / name).iterdir())]
        self.targets = [target for _, target in self.files]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, int]:
        path, target = self.files[row]
        with Image.open(path) as image:
            pixels = np.array(image, dtype=np.float32) / 255
        return torch.from_numpy(np.atleast_3d(pixels)).permute(2, 0, 1), target


def write_digits(folder: Path) -> None:
    """1797 digits of 8 x 8 pixels as PNG files: train/0/17.png and so on, every third one to test on."""
    from sklearn.datasets import load_digits

    data = load_digits()
    for number, (image, label) in enumerate(zip(data.images, data.target, strict=True)):
        path = folder / ("test" if number % 3 == 0 else "train") / str(label) / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.rint(image * (255 / 16)).astype(np.uint8)).save(path)


def read_tasks(folder: Path) -> tuple[Task, ...]:
    """Pairs of classes. The first of each pair is to share an output with the first of the others, and so on."""
    train, test = Images(folder / "train"), Images(folder / "test")
    tasks = []
    for first in range(0, len(train.classes) - 1, 2):
        pair = (first, first + 1)
        parts = [Subset(data, np.flatnonzero(np.isin(data.targets, pair)).tolist()) for data in (train, test)]
        tasks.append(Task(f"{train.classes[first]} or {train.classes[first + 1]}", parts[0], eval_inputs=parts[1]))
    return share_labels(tasks)


def main() -> None:
    """Print the similarity that a pilot shows, the plan, and the accuracy that orders really reach."""
    torch.set_num_threads(1)  # so small a network is faster on one core
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(made)
        if len(sys.argv) == 1:
            write_digits(folder)
        plan_and_train(read_tasks(folder))


def plan_and_train(tasks: tuple[Task, ...]) -> None:
    """From the images to the accuracy of orders."""
    channels = tasks[0].rows[np.array([0])].shape[1]

    def network() -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Conv2d(channels, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(8 * 4 * 4, 2),
        )  # fmt: skip

    learner = TorchLearner(network, lambda p: torch.optim.Adam(p, lr=0.005), epochs=4, batch_size=8)

    # a pilot of 120 images a task, measured on these images alone: the test images play no part in the choice
    found = run_pilot(tasks, learner, pilot=120, seeds=2)
    plan = found.plan
    print("similarity on 120 images a task")
    for name, row in zip(plan.names, found.transfer.similarity(), strict=True):
        print(f"  {name:16}" + "".join(f"{value:7.2f}" for value in row))
    print("plan: " + " -> ".join(plan.named_order))
    if plan.confidence is not None:
        print(plan.confidence.summary())

    # what the orders really reach, on all training images
    rng = np.random.default_rng(0)
    orders = [plan.order, plan.order[::-1], *(tuple(rng.permutation(len(tasks)).tolist()) for _ in range(NUM_RANDOM))]
    scores = learn_orders(learner, tasks, orders, seeds=(10, 11))
    reached = [np.mean([[score.accuracy for score in seed[order]] for seed in scores]) for order in orders]
    planned, opposite, by_chance = reached[0], reached[1], np.mean(reached[2:])
    print("accuracy over all tasks after the last one:")
    print(f"  planned order {planned:.3f}, opposite {opposite:.3f}, {NUM_RANDOM} random orders {by_chance:.3f}")


if __name__ == "__main__":
    main()
