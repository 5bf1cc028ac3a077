"""Order or seed? Digits in all 24 orders of four tasks with three training seeds: a picture, and a table to audit.

python examples/gallery/order_or_seed.py docs/gallery/order_or_seed.png [RESULTS.csv]
"""

import csv
import itertools
import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from taskorder import Task
from taskorder.learners import SklearnLearner, learn_orders
from taskorder.plots.style import style_settings

images, labels = load_digits(return_X_y=True)
tasks = []
for low in (0, 2, 4, 6):
    rows = labels // 2 == low // 2
    tasks.append(Task(f"{low}{low + 1}", images[rows] / 16, labels[rows] % 2))

orders = list(itertools.permutations(range(4)))
learner = SklearnLearner(MLPClassifier((32,), batch_size=16, learning_rate_init=0.005), epochs=1)
scores = learn_orders(learner, tasks, orders, seeds=range(3))
accuracy = np.array(
    [[[one.accuracy for one in seed[order]] for seed in scores] for order in orders]
)  # order, seed, task
if len(sys.argv) > 2:
    with open(sys.argv[2], "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["order", "seed", "task", "accuracy"])
        for place in np.ndindex(accuracy.shape):
            writer.writerow([">".join(tasks[k].name for k in orders[place[0]]), place[1], tasks[place[2]].name,
                             accuracy[place]])  # fmt: skip

table = 100 * accuracy.mean(axis=2)
table = table[np.argsort(table.mean(axis=1))]
print(f"accuracy {table.mean():.1f} %, from {table.min():.1f} to {table.max():.1f}")
with style_settings():
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot(xlabel="order, from worst to best", ylabel="accuracy, %")
    axes.plot(table, ".", color="#0072B2", alpha=0.6)
    axes.plot(table.mean(axis=1), color="#D55E00", label="mean over three seeds")
    axes.legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=110)
