"""Every rule of the paper on the demo matrix, against random orders, by the paper's theory (retention 1).

python examples/picture.py docs/demo.png
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from taskorder import compare, demo_similarity
from taskorder.ordering.compare import random_paths
from taskorder.ordering.solver_input import solver_input

COLORS = {"optimal": "#0072B2", "periphery-to-core": "#009E73", "max-path": "#E69F00", "worst": "#D55E00"}


def main(path: str) -> None:
    """Draw the errors of 50,000 random orders with a line for each rule."""
    similarity, names = demo_similarity()
    result = compare(similarity, names=names, retention=1)
    errors = random_paths(solver_input(similarity, retention=1).problem(), 50_000, 0)[0][:, -1]
    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    axes.hist(errors, bins=np.linspace(0, result.worst, 120), color="0.8", label="50,000 random orders")
    top = axes.get_ylim()[1]
    for score in result.scores:
        if score.rule in COLORS:
            label = f"{score.rule}: {score.value:.3f}" + (" (proven)" if score.proven else "")
            axes.axvline(score.value, color=COLORS[score.rule], lw=2, label=label)
    axes.set(
        xlabel="error after the last of 12 tasks (sum over tasks; 12 before learning)",
        ylabel="number of orders",
        ylim=(0, top),
        xlim=(0, None),
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(0.94, 1.03))
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main(sys.argv[1])
