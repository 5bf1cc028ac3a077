"""What figures 5 and 10 share: both pairs of rules on three data sets, and by number of tasks on CIFAR-100."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from reproduction._image_claims import pair_claims, share_grows
from reproduction._image_panels import Bins, accuracy_panels, win_panels
from reproduction._image_runs import Shared, progress_notes
from reproduction._image_scores import PATHS, TYPICALITY
from reproduction._image_truth import Sets
from taskorder.plots.figuredata import Check, FigureData

DATASETS = ("fashion-mnist", "cifar10", "cifar100-p5")
SIZES = ("cifar100-p3", "cifar100-p5", "cifar100-p7")


@dataclass(frozen=True)
class Config(Shared):
    """Settings: the number of task sets of each part; the paper has 100."""

    fashion_mnist: int = 100
    cifar10: int = 30
    cifar10_sampled: int = 70
    cifar100_p3: int = 100
    cifar100_p5: int = 100
    cifar100_p7: int = 100


def rules_figure(
    name: str,
    source: str,
    title: str,
    config: Config,
    sets: Mapping[str, Sets],
    estimate: str,
    more: Callable[[Mapping[str, Sets]], list[Check]],
) -> FigureData:
    """Accuracy against mean similarity for each data set, and the shares of wins by number of tasks."""
    bins = Bins(config.bin_width, config.min_count)
    sizes = [sets[size] for size in SIZES]
    panels = [panel for one in DATASETS for panel in accuracy_panels(sets[one].label, sets[one], estimate, bins)]
    panels += win_panels("CIFAR-100", sizes, estimate, bins)
    checks: list[Check] = []
    for one, letters in zip(DATASETS, ("ab", "cd", "ef"), strict=True):
        checks += pair_claims(sets[one], estimate, [f"{source}{letter}" for letter in letters])
    few, many = sizes[0], sizes[-1]
    claims = (
        (f"The advantage of {TYPICALITY[0]} over {TYPICALITY[1]} grows from 3 to 7 tasks", f"{source}g", TYPICALITY),
        (f"Such a growth is not evident for {PATHS[0]} over {PATHS[1]}", f"{source}h", PATHS),
    )
    checks += [
        share_grows(claim, panel, few, many, estimate, pair, evident=pair == TYPICALITY)
        for claim, panel, pair in claims
    ]
    return FigureData(
        name=name,
        title=title,
        panels=tuple(panels),
        checks=(*checks, *more(sets)),
        config=asdict(config),
        columns=4,
        notes=progress_notes(config, sets),
    )
