"""Plan the order of tabular tasks for a scikit-learn model, and check the plan by training for real.

    python examples/own_tasks_sklearn.py

The table is the chemistry of 178 wines that ships with scikit-learn. Six of its columns are to be predicted, each a
task of its own: is this wine above the median in alcohol, in color, in hue, ...? The other seven are the inputs.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.neural_network import MLPClassifier

from taskorder import Task, run_pilot
from taskorder.learners import SklearnLearner, learn_orders

PREDICTED = ("alcohol", "malic_acid", "flavanoids", "color_intensity", "hue", "proline")
NUM_TEST = 58
NUM_RANDOM = 4


def read_tasks() -> list[Task]:
    """One task for each column to predict; labels 0 (below the median) and 1 are shared by all tasks."""
    data = load_wine()
    columns = dict(zip(data.feature_names, data.data.T, strict=True))
    inputs = np.stack([values for name, values in columns.items() if name not in PREDICTED], axis=1)
    inputs = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    rows = np.random.default_rng(0).permutation(len(inputs))
    test, train = rows[:NUM_TEST], rows[NUM_TEST:]
    tasks = []
    for name in PREDICTED:
        labels = (columns[name] > np.median(columns[name])).astype(int)
        tasks.append(Task(name, inputs[train], labels[train], inputs[test], labels[test]))
    return tasks


def main() -> None:
    """Print the similarity that a pilot shows, the plan with how sure it is, and what orders really reach."""
    tasks = read_tasks()
    learner = SklearnLearner(MLPClassifier((16,), batch_size=8, learning_rate_init=0.01), epochs=10)

    # a pilot on a third of the training data, measured on that sample alone: the test wines play no part in the choice
    found = run_pilot(tasks, learner, pilot=0.33, seeds=2, budget=72)
    plan = found.plan
    print(f"similarity on {len(found.sample[0].labels)} wines a task")
    for name, row in zip(plan.names, found.transfer.similarity(), strict=True):
        print(f"  {name:16}" + "".join(f"{value:7.2f}" for value in row))
    print("plan: " + " -> ".join(plan.named_order))
    if plan.confidence is not None:
        print(plan.confidence.summary())

    # what the orders really reach, on all training data
    rng = np.random.default_rng(1)
    orders = [plan.order, plan.order[::-1], *(tuple(rng.permutation(len(tasks)).tolist()) for _ in range(NUM_RANDOM))]
    scores = learn_orders(learner, tasks, orders, seeds=(10,))
    reached = [np.mean([[one.accuracy for one in seed[order]] for seed in scores]) for order in orders]
    planned, opposite, by_chance = reached[0], reached[1], np.mean(reached[2:])
    print("accuracy over all tasks after the last one:")
    print(f"  planned order {planned:.3f}, opposite {opposite:.3f}, {NUM_RANDOM} random orders {by_chance:.3f}")


if __name__ == "__main__":
    main()
