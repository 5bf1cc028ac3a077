"""Figure 7: five tasks of five CIFAR-100 classes each, and CIFAR-10 with the similarity from training data.

"Nearly identical" is fixed as gains whose ratio is within 10 % of 1, the interval included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reproduction import Figure
from reproduction.claims import FigureData
from reproduction.image_claims import identical, pair_claims
from reproduction.image_panels import Bins, accuracy_panels
from reproduction.image_results import PATHS, TYPICALITY
from reproduction.image_runs import BATCH, Shared, progress_notes, run_batch, sets_by_part, specs
from reproduction.image_runs import QUICK as SMALL


@dataclass(frozen=True)
class Config(Shared):
    """Settings: the number of task sets of each part; the paper has 100, and no Fashion-MNIST here."""

    fashion_mnist: int = 100
    cifar10: int = 30
    cifar10_sampled: int = 70
    cifar100_25labels: int = 100


QUICK = Config(**SMALL, fashion_mnist=12, cifar10=10, cifar10_sampled=0, cifar100_25labels=0)


def figure(config: Config, results: Sequence[dict[str, Any] | None]) -> FigureData:
    """Accuracy against mean similarity."""
    sets = sets_by_part(config, results)
    labels, cifar10, fashion = (sets[name] for name in ("cifar100-25labels", "cifar10", "fashion-mnist"))
    bins = Bins(config.bin_width, config.min_count)
    claims = [
        *pair_claims(labels, "test", ("paper, Fig. 7a", "paper, Fig. 7b")),
        *pair_claims(cifar10, "train", ("paper, Fig. 7c", "paper, Fig. 7d"), ", similarity from training data"),
        *pair_claims(fashion, "train", ("ours", "ours"), ", similarity from training data"),
    ]
    claims += [
        identical(
            f"Training data instead of test data give {rule} a nearly identical gain; {part.label}",
            source, part, rule, "train", "test",
        )
        for part, panels in ((cifar10, ("c", "d")), (fashion, ()))
        for rule, source in zip(
            (TYPICALITY[0], PATHS[0]), [f"paper, Fig. 7{letter}" for letter in panels] or ["ours"] * 2, strict=True
        )
    ]  # fmt: skip
    return FigureData(
        name="fig7",
        title="Tasks of five classes, and similarity from training data",
        panels=(
            *accuracy_panels(labels.label, labels, "test", bins),
            *accuracy_panels(f"{cifar10.label}, training data", cifar10, "train", bins),
            *accuracy_panels(f"{fashion.label}, training data", fashion, "train", bins),
        ),
        claims=tuple(claims),
        config=asdict(config),
        columns=2,
        notes=progress_notes(config, sets),
    )


FIGURES = (Figure("fig7", Config(), QUICK, specs, run_batch, figure, BATCH),)
