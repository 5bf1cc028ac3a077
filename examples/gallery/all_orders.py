"""Every order of five tasks on a chain, and where the rules land among them.

python examples/gallery/all_orders.py docs/gallery/all_orders.png
"""

import itertools
import sys

import numpy as np
from matplotlib.figure import Figure

from taskorder import chain, final_error, solve
from taskorder.plots.style import ROLES, style_settings

similarity = chain(5, 0.7)
errors = np.sort([final_error(similarity, order) for order in itertools.permutations(range(5))])

with style_settings():
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot(xlabel="order, from best to worst", ylabel="predicted error", yscale="log")
    axes.plot(errors, color="#999999")
    for rule in ("optimal", "max-path", "periphery-to-core", "core-to-periphery", "min-path"):
        plan = solve(similarity, rule, retention=1)
        rank = int(np.searchsorted(errors, plan.error - 1e-9))
        axes.plot(rank, plan.error, ROLES[rule].mark, color=ROLES[rule].color, label=rule, markersize=8)
        print(f"{rule:18} {''.join(plan.named_order)}  error {plan.error:.4f}  better orders: {rank} of 120")
    axes.set_yticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=110)
