"""Training that stops early turns the rule around: both directions of typicality against the length of training.

python examples/gallery/early_stopping.py docs/gallery/early_stopping.png
"""

import sys

import numpy as np
from matplotlib.figure import Figure

from taskorder import demo_similarity, final_error, solve
from taskorder.plots.style import ROLES, style_settings

similarity, names = demo_similarity()
progress = np.linspace(0.05, 1, 39)
rng = np.random.default_rng(0)
random_orders = [rng.permutation(len(names)) for _ in range(200)]
by_chance = np.array([np.mean([final_error(similarity, o, progress=p) for o in random_orders]) for p in progress])
with style_settings():
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot(xlabel="progress: share of its error that a task loses in training")
    axes.set(ylabel="error / random order", yscale="log")
    curves = {}
    for rule in ("periphery-to-core", "core-to-periphery", "optimal"):
        order = solve(similarity, rule, retention=1).order
        curves[rule] = np.array([final_error(similarity, order, progress=p) for p in progress]) / by_chance
        axes.plot(progress, curves[rule], color=ROLES[rule].color, label=rule)
        print(f"{rule:18} {curves[rule][0]:.2f} at progress 0.05, {curves[rule][-1]:.2f} at convergence")
    turn = progress[np.argmax(curves["periphery-to-core"] < curves["core-to-periphery"])]
    print(f"periphery-to-core leads from progress {turn:.2f} on")
    axes.axhline(1, color=ROLES["reference"].color, linewidth=1)
    axes.set_yticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=110)
