"""A second look: how far the error falls when some tasks may be visited again.

python examples/gallery/repeats.py docs/gallery/repeats.png
"""

import sys

from matplotlib.figure import Figure

from taskorder import chain, solve, tree
from taskorder.plots.style import CYCLE, style_settings

graphs = {"chain of 5": chain(5, 0.7), "tree of 7": tree(7, 0.6)}
with style_settings():
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot(xlabel="visits beyond one each", ylabel="predicted error", yscale="log")
    for look, (name, similarity) in zip(CYCLE, graphs.items(), strict=False):
        plans = [solve(similarity, visits=len(similarity) + extra, time_limit=60, retention=1) for extra in range(4)]
        axes.plot([plan.error for plan in plans], color=look.color, marker=look.mark, label=name)
        print(f"{name:10} {' '.join(f'{plan.error:.4f}' for plan in plans)}  {''.join(plans[1].named_order)}")
    axes.set_xticks(range(4))
    axes.legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=110)
