"""Five pairs of handwritten digits: a plan from a fifth of the data, and what all 120 orders reach on all of it.

python examples/gallery/pilot.py docs/gallery/pilot.png
"""

import itertools
import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

from taskorder import Task, plan
from taskorder.learners import SklearnLearner, learn_orders
from taskorder.plots.style import ROLES, style_settings

images, labels = load_digits(return_X_y=True)
images, test = images / 16, np.arange(len(labels)) % 3 == 0
tasks = []
for low in (0, 2, 4, 6, 8):
    train, held = ((labels // 2 == low // 2) & part for part in (~test, test))
    tasks.append(Task(f"{low} or {low + 1}", images[train], labels[train] % 2, images[held], labels[held] % 2))

learner = SklearnLearner(SGDClassifier(loss="log_loss", alpha=0.01), epochs=5)
found = plan(tasks, learner, pilot=0.2)
orders = list(itertools.permutations(range(5)))
(scores,) = learn_orders(learner, tasks, orders, seeds=(10,))
reached = {order: 100 * np.mean([one.accuracy for one in scores[order]]) for order in orders}
planned, everything = reached[found.order], np.array(list(reached.values()))

print("plan: " + ", then ".join(found.named_order))
print(found.confidence.summary().partition(" Verdict")[0])
print(f"planned {planned:.1f} %, mean of all orders {everything.mean():.1f} %, best {everything.max():.1f} %; "
      f"{(everything > planned).sum()} of 120 orders are better")  # fmt: skip
with style_settings():
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot(xlabel="test accuracy over all five tasks at the end, %", ylabel="orders")
    axes.hist(everything, bins=24, color=ROLES["background"].color, label="all 120 orders")
    axes.axvline(everything.mean(), color=ROLES["random"].color, linewidth=1.5, label="their mean")
    axes.axvline(planned, color=ROLES["optimal"].color, linewidth=2.5, label="planned order")
    axes.legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=110)
