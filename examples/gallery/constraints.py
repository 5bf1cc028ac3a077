"""The price of a rule you must obey: how much error each "A before B" adds to the best order of the demo tasks.

python examples/gallery/constraints.py docs/gallery/constraints.png
"""

import sys

import numpy as np
from matplotlib.figure import Figure

from taskorder import demo_similarity, solve
from taskorder.plots.style import style_settings

similarity, names = demo_similarity()
similarity, names = similarity[:8, :8], names[:8]
free = solve(similarity, names=names, retention=1)
price = np.zeros((8, 8))
for first in range(8):
    for second in set(range(8)) - {first}:
        forced = solve(similarity, before=[(first, second)], retention=1)
        price[first, second] = 100 * (forced.error / free.error - 1)

first, second = np.unravel_index(np.argmax(price), price.shape)
print(f"best order of 8 tasks: error {free.error:.4f}")
print(f"free of charge: {(price < 1e-6).sum() - 8} of 56 pairs")
print(f"dearest: {names[first]} before {names[second]}, {price[first, second]:.0f} % more error")
with style_settings():
    figure = Figure(figsize=(6.0, 4.2), layout="constrained")
    axes = figure.add_subplot(ylabel="this task ...", xlabel="... before this task")
    image = axes.imshow(price, cmap="Blues")
    axes.set_xticks(range(8), names, rotation=40, ha="right")
    axes.set_yticks(range(8), names)
    figure.colorbar(image, label="% more error")
    figure.savefig(sys.argv[1], dpi=110)
