"""Plan the order of image tasks for a PyTorch network, and check the plan by training for real.

    python examples/own_tasks_torch.py [FOLDER]

FOLDER holds train/CLASS/*.png and test/CLASS/*.png, with an even number of classes; classes are paired in the order of
their names, and each pair is a task: which of the two is it? Without a FOLDER the handwritten digits that scikit-learn
ships are written to one. Needs torch and pillow.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from taskorder import solve
from taskorder.datasets.images import read_images
from taskorder.learners import TorchLearner, learn_orders
from taskorder.planning.estimate import measure_transfer
from taskorder.planning.pilot import pilot_sample
from taskorder.tables.loss_ratios import clip_similarity
from taskorder.task import Task, share_labels

NUM_RANDOM = 3


def write_digits(folder: Path) -> None:
    """1797 digits of 8 x 8 pixels as PNG files: train/0/17.png and so on, every third one to test on."""
    from PIL import Image
    from sklearn.datasets import load_digits

    data = load_digits()
    for number, (image, label) in enumerate(zip(data.images, data.target, strict=True)):
        path = folder / ("test" if number % 3 == 0 else "train") / str(label) / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.rint(image * (255 / 16)).astype(np.uint8)).save(path)


def read_tasks(folder: Path) -> tuple[Task, ...]:
    """Pairs of classes; the first of a pair is 0 and the second 1, so that all tasks share two outputs."""
    data = read_images(folder)
    tasks = []
    for first in range(0, data.num_classes - 1, 2):
        parts = []
        for inputs, labels in ((data.train_inputs, data.train_labels), (data.test_inputs, data.test_labels)):
            rows = np.isin(labels, (first, first + 1))
            parts += [inputs[rows].transpose(0, 3, 1, 2), labels[rows]]  # torch wants channels first
        tasks.append(Task(f"{data.class_names[first]} or {data.class_names[first + 1]}", *parts))
    return share_labels(tasks)


def main() -> None:
    """Print the similarity that a pilot shows, the plan, and the accuracy that orders really reach."""
    torch.set_num_threads(1)  # so small a network is faster on one core
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(made)
        if len(sys.argv) == 1:
            write_digits(folder)
        tasks = read_tasks(folder)
    channels = tasks[0].inputs.shape[1]

    def network() -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Conv2d(channels, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(8 * 4 * 4, 2),
        )  # fmt: skip

    learner = TorchLearner(network, lambda p: torch.optim.Adam(p, lr=0.005), epochs=4, batch_size=8)

    # a pilot of 40 images a task, measured on these images alone: the test images play no part in the choice
    table = measure_transfer(pilot_sample(tasks, 40, keep_eval=False), learner, seeds=3)
    similarity, _ = clip_similarity(table.similarity())
    print(f"similarity from {table.fits} fits on 40 images a task")
    for name, row in zip(table.names, similarity, strict=True):
        print(f"  {name:16}" + "".join(f"{value:7.2f}" for value in row))
    plan = solve(similarity, names=table.names)
    print("plan: " + " -> ".join(plan.named_order))

    # what the orders really reach, on all training images
    rng = np.random.default_rng(0)
    worst = solve(similarity, "worst").order
    orders = [plan.order, worst, *(tuple(rng.permutation(len(tasks)).tolist()) for _ in range(NUM_RANDOM))]
    found = learn_orders(learner, tasks, orders, seeds=(10,))
    reached = [np.mean([[one.accuracy for one in seed[order]] for seed in found]) for order in orders]
    planned, opposite, by_chance = reached[0], reached[1], np.mean(reached[2:])
    print("accuracy over all tasks after the last one:")
    print(f"  planned order {planned:.3f}, opposite {opposite:.3f}, {NUM_RANDOM} random orders {by_chance:.3f}")


if __name__ == "__main__":
    main()
