"""Plan the order of tasks for a learner that is another process and only answers how well it did.

    python examples/black_box_process.py

This stands for whatever cannot be opened: a model behind a service, an animal, a class of students. Here the other
process is this file, run as `black_box_process.py --answer DATA`: it learns handwritten digits by its own perceptron.
It gets {"train": [names], "test": name, "seed": number} on standard input and prints {"loss": ..., "chance": ...}.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np


def answer(data: Path) -> None:
    """The other process: learn the tasks in the order asked for, and print the share of errors on one of them."""
    question, digits = json.load(sys.stdin), np.load(data)
    rng = np.random.default_rng(question["seed"])
    weights = np.zeros(65)
    for name in question["train"]:
        inputs, signs = digits[f"{name} inputs"], digits[f"{name} signs"]
        for row in np.concatenate([rng.permutation(len(signs)) for _ in range(3)]):
            if signs[row] * (inputs[row] @ weights) <= 0:
                weights += signs[row] * inputs[row]
    signs = digits[f"{question['test']} signs"]
    said = np.where(digits[f"{question['test']} inputs"] @ weights > 0, 1, -1)
    plus = (signs == 1).mean()
    shuffled = np.where(said == 1, 1 - plus, plus).mean()  # the share of errors to expect with shuffled labels
    print(json.dumps({"loss": float((said != signs).mean()), "chance": float(shuffled)}))


def write_digits(path: Path) -> list[str]:
    """Sixty examples of each of four tasks, 0 or 1, 2 or 3, 4 or 5, 6 or 7; their names."""
    from sklearn.datasets import load_digits

    found = load_digits()
    arrays, names = {}, []
    for low in (0, 2, 4, 6):
        rows = np.flatnonzero(np.isin(found.target, (low, low + 1)))[:60]
        names.append(f"{low} or {low + 1}")
        arrays[f"{names[-1]} inputs"] = np.hstack([found.data[rows] / 16, np.ones((60, 1))])
        arrays[f"{names[-1]} signs"] = np.where(found.target[rows] == low, -1, 1)
    np.savez(path, **arrays)
    return names


def main() -> None:
    """Ask for all transfer losses and print the plan."""
    from taskorder import Task, measure_transfer, solve
    from taskorder.learners import CommandLearner
    from taskorder.tables.loss_ratios import clip_similarity

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "digits.npz"
        tasks = [Task(name) for name in write_digits(data)]
        learner = CommandLearner([sys.executable, __file__, "--answer", str(data)], timeout=60)
        # what is answered is kept: if the process fails, the next call asks only what is missing
        table = measure_transfer(tasks, learner, seeds=1, store=Path(folder) / "answers.sqlite")
    similarity, _ = clip_similarity(table.similarity())
    print(f"similarity from {table.losses.size} answers")
    for name, row in zip(table.names, similarity, strict=True):
        print(f"  {name:8}" + "".join(f"{value:7.2f}" for value in row))
    print("plan: " + " -> ".join(solve(similarity, names=table.names).named_order))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        answer(Path(sys.argv[2]))
    else:
        main()
