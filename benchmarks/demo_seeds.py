"""How often the plan of `taskorder demo` ends ahead: pilots of 20 seeds, with each learner that the demo may take.

    python benchmarks/demo_seeds.py [mlp] [sklearn:MLPClassifier]

Every order of the five tasks is learned as the demo learns its twelve, so that each plan is held against its opposite
and against the mean over all orders.
"""

import sys
from itertools import permutations

import numpy as np

from taskorder.cli.demo import PILOT, PILOT_SEEDS, SEEDS, digit_tasks, learner_named
from taskorder.learners.orders import learn_orders
from taskorder.planning.plan import plan

NUM_PILOTS = 20


def main() -> None:
    """Print one row a learner."""
    tasks = digit_tasks()
    orders = list(permutations(range(len(tasks))))
    print("learner                 ahead of the opposite, by     ahead of the mean over orders, by")
    for name in sys.argv[1:] or ("mlp", "sklearn:MLPClassifier"):
        learner = learner_named(name, tasks)
        seeds = learn_orders(learner, tasks, orders, SEEDS)
        accuracy = {
            order: float(np.mean([[score.accuracy for score in scores[order]] for scores in seeds])) for order in orders
        }
        mean = np.mean(list(accuracy.values()))
        planned = [
            plan(tasks, learner, PILOT, seeds=PILOT_SEEDS, sample_seed=seed, draws=100).order
            for seed in range(NUM_PILOTS)
        ]
        leads = np.array([[accuracy[order] - accuracy[order[::-1]], accuracy[order] - mean] for order in planned])
        told = [f"{(lead > 0).sum()} of {NUM_PILOTS}, {100 * lead.mean():+.1f} points" for lead in leads.T]
        print(f"{name:24}{told[0]:30}{told[1]}", flush=True)


if __name__ == "__main__":
    main()
