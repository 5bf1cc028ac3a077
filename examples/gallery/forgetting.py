"""What each of twelve CIFAR-100 tasks forgets on the way, in the best and in the worst order found.

python examples/gallery/forgetting.py docs/gallery/forgetting.png
"""

import sys

import numpy as np
from matplotlib.figure import Figure

from taskorder import demo_similarity, solve
from taskorder.plots.style import style_settings

similarity, names = demo_similarity()
with style_settings():
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, rule in zip(panels, ("optimal", "core-to-periphery"), strict=True):
        plan = solve(similarity, rule, names=names, retention=1)
        path = np.array(plan.error_path)[1:]  # row s: errors of all tasks after step s + 1
        learned = np.array([[task in plan.order[: step + 1] for task in plan.order] for step in range(len(path))])
        shown = np.where(learned, path[:, plan.order], np.nan)
        image = axes.imshow(np.sqrt(shown.T), cmap="magma_r", vmin=0, vmax=1, extent=(0.5, 12.5, 12.5, 0.5))
        axes.set(title=f"{rule}: {plan.error:.2f}", xlabel="step", ylabel="task, as learned" * (axes is panels[0]))
        print(f"{rule:18} error {plan.error:.3f}  most forgotten: {names[int(np.argmax(plan.task_errors))]}")
    figure.colorbar(image, ax=panels, label="root of the error")
    figure.savefig(sys.argv[1], dpi=110)
