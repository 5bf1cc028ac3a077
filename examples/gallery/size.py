"""The two rules are good for few tasks and bad for many: error over that of a random order, on chains.

python examples/gallery/size.py docs/gallery/size.png
"""

import sys

from matplotlib.figure import Figure

from taskorder import chain, expected_random_error, solve
from taskorder.plots.style import ROLES, style_settings

sizes = (3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
with style_settings():
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot(xlabel="tasks", ylabel="error / random order", xscale="log", yscale="log")
    for rule in ("periphery-to-core", "max-path", "optimal"):
        ratios = []
        for size in sizes:
            similarity = chain(size, 0.8)
            ratios.append(solve(similarity, rule, retention=1).error / expected_random_error(similarity).mean)
        axes.plot(sizes, ratios, color=ROLES[rule].color, marker=ROLES[rule].mark, label=rule)
        print(f"{rule:18}" + " ".join(f"{size}:{ratio:.2f}" for size, ratio in zip(sizes, ratios, strict=True)))
    axes.axhline(1, color=ROLES["reference"].color, linewidth=1)
    axes.set_xticks(sizes, sizes)
    axes.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=110)
