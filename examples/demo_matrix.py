"""Make the demo similarity matrix from CIFAR-100: how well does a net trained on one task do on another, unseen one?

    python examples/demo_matrix.py DIR [--out demo.csv] [--seeds 5] [--images 500]

DIR holds `cifar-100-binary/` in the official binary layout. Needs scikit-learn beside taskorder. Each task is
"living thing (0) or man-made thing (1)?" on two classes that no other task uses. For every task A and seed a small
net is trained on A alone and then scored on every other task B, without training there (zero-shot transfer):

    loss ratio(A, B) = loss_B / (expected loss_B with shuffled labels),   loss = cross-entropy
    similarity(A, B) = 1 - (sqrt(loss ratio(A, B)) + sqrt(loss ratio(B, A))) / 2,   and 1 on the diagonal.

The expectation over shuffles is exact: each image's loss averaged over the label shares of B. Ratios are averaged
over seeds before the square root. The scored images are B's training images, which the net of A has never seen.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from taskorder.tables.writing import write_similarity

TASKS = (
    ("bear", "bus"),
    ("elephant", "tractor"),
    ("wolf", "streetcar"),
    ("cattle", "pickup_truck"),
    ("rose", "telephone"),
    ("tulip", "clock"),
    ("orchid", "lamp"),
    ("shark", "rocket"),
    ("dolphin", "skyscraper"),
    ("beetle", "bowl"),
    ("spider", "plate"),
    ("willow_tree", "wardrobe"),
)
EPOCHS = 10
PROBABILITY_FLOOR = 1e-6


def load_tasks(folder: Path, num_images: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(images, labels) of each task: `num_images` training images a class, 16 x 16 x 3 pixels in [-1, 1]."""
    names = (folder / "fine_label_names.txt").read_text().split()
    rows = np.fromfile(folder / "train.bin", dtype=np.uint8).reshape(-1, 3074)
    fine = rows[:, 1]
    tasks = []
    for pair in TASKS:
        images = [rows[fine == names.index(name), 2:][:num_images] for name in pair]
        labels = np.repeat([0, 1], [len(part) for part in images])
        pixels = np.concatenate(images).reshape(-1, 3, 16, 2, 16, 2).mean(axis=(3, 5), dtype=np.float64)
        tasks.append((pixels.reshape(len(pixels), -1) / 127.5 - 1, labels))
    return tasks


def loss_ratio(probability: np.ndarray, labels: np.ndarray) -> float:
    """Cross-entropy on the true labels over its exact expectation under shuffled labels (1 = nothing transfers)."""
    losses = -np.log(np.clip(probability, PROBABILITY_FLOOR, None))
    shares = np.bincount(labels, minlength=losses.shape[1]) / len(labels)
    return float(losses[np.arange(len(labels)), labels].mean() / (losses @ shares).mean())


def loss_ratios(tasks: list[tuple[np.ndarray, np.ndarray]], seed: int) -> np.ndarray:
    """Row a, column b: train on task a, score on task b."""
    ratios = np.empty((len(tasks), len(tasks)))
    for a, (images, labels) in enumerate(tasks):
        net = MLPClassifier((128, 64), batch_size=20, max_iter=EPOCHS, alpha=1e-3, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of epochs is meant
            net.fit(images, labels)
        ratios[a] = [loss_ratio(net.predict_proba(x), y) for x, y in tasks]
    return ratios


def main() -> None:
    """Make the matrix, write it and print what it looks like."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("demo.csv"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--images", type=int, default=500, help="training images a class")
    options = parser.parse_args()
    tasks = load_tasks(options.folder / "cifar-100-binary", options.images)
    ratios = np.stack([loss_ratios(tasks, seed) for seed in range(options.seeds)])
    roots = np.sqrt(ratios.mean(axis=0))
    similarity = np.round(1 - (roots + roots.T) / 2, 4)
    np.fill_diagonal(similarity, 1.0)
    write_similarity(options.out, similarity, [f"{living}-{made}" for living, made in TASKS])
    off = similarity[np.triu_indices(len(tasks), 1)]
    spread = (1 - (np.sqrt(ratios) + np.sqrt(ratios.transpose(0, 2, 1))) / 2).std(axis=0, ddof=1)
    sys.stdout.write(
        f"{options.out}: {len(tasks)} tasks, {options.seeds} seeds, off-diagonal mean {off.mean():.4f}, "
        f"min {off.min():.4f}, max {off.max():.4f}, {np.mean(off < 0):.1%} negative, "
        f"smallest eigenvalue {np.linalg.eigvalsh(similarity)[0]:.4f}, "
        f"spread between seeds {spread[np.triu_indices(len(tasks), 1)].mean():.4f} (mean standard deviation)\n"
    )


if __name__ == "__main__":
    main()
