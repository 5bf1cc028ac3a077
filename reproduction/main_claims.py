"""The rows of the summary: the main claims of the paper, and the main questions of our own.

A row joins one or several claims of a figure. All claims are on the page of their figure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reproduction.claims import Claim, FigureData


@dataclass(frozen=True)
class Row:
    """A row of the summary: one or several claims of a figure."""

    words: str
    figure: str
    starts: tuple[str, ...]
    """How the texts of its claims start."""
    number: str = "^[^;]*"
    """A regular expression: the part of each answer that is shown."""
    quantity: str = ""
    """What the numbers are, where they do not say so."""

    def claims(self, figure: FigureData, *, ours: bool) -> list[Claim]:
        """Its claims among those of the paper, or among our own."""
        return [
            claim for claim in figure.claims if claim.claim.startswith(self.starts) and (claim.source == "ours") == ours
        ]

    def answer(self, claims: Sequence[Claim]) -> str:
        """The numbers of its claims, each with what tells it from the others."""
        matches = [re.search(self.number, claim.found) for claim in claims]
        numbers = [match[0] if match else claim.found for match, claim in zip(matches, claims, strict=True)]
        labels = _labels([claim.claim for claim in claims])
        each = [f"{label}: {number}" if label else number for label, number in zip(labels, numbers, strict=True)]
        return f"{self.quantity} {'; '.join(each)}".strip()


def _labels(texts: Sequence[str]) -> list[str]:
    """What tells the texts of claims apart: the part after a semicolon, or the rule or the order that they name."""
    for pattern in (r"(?<=; )[^;)]+$", r"periphery-to-core|max-path|^[A-E]{5}\b"):
        matches = [re.search(pattern, text) for text in texts]
        labels = [match[0] for match in matches if match]
        if len(set(labels)) == len(texts) > 1:
            return labels
    return [""] * len(texts)


INTERVAL = r"\[[^\]]*\]"
RATIO = rf"[\d.]+ {INTERVAL}"
TIMES_RANDOM = rf"[\d.e+]+ {INTERVAL} times random"
SHARE = rf"\d+ % {INTERVAL}"
POINTS = rf"^\S+ {INTERVAL} points"
PAPER = (
    Row("Of three CIFAR-10 tasks, the order C B A is better than A B C", "fig1c", ("The order CBA",)),
    Row("The closed form predicts the error after gradient descent", "fig2b", ("",), f"correlation {RATIO}"),
    Row(
        "The best order of three tasks depends on their similarities in a rich manner",
        "fig2c",
        ("The best order depends",),
        "rho_CA 0.4[^;]*",
    ),
    Row(
        "Similar first and second tasks raise the error, similar first and last tasks lower it",
        "fig3a",
        ("Raising the similarity",),
    ),
    Row("The first-order change of the error is the sum of G dM (Theorem 4.1)", "fig3a", ("The first-order change",)),
    Row("G+ decreases in both positions for 0 < m < 1", "fig3d", ("G+ decreases",)),
    Row(
        "For large average correlation m, periphery-to-core beats random orders",
        "fig3e",
        ("periphery-to-core has less error than random",),
        f"{RATIO}.*",
        quantity="ratio of errors",
    ),
    Row(
        "For large m, periphery-to-core beats core-to-periphery",
        "fig3e",
        ("periphery-to-core has less error than core",),
        f"{RATIO}.*",
        quantity="ratio of errors",
    ),
    Row("The coefficient of max-path is negative with sufficiently many tasks", "fig3f", ("alpha-minus",), "P m .*"),
    Row(
        "Max-path robustly beats random orders and min-path",
        "fig3g",
        ("max-path robustly",),
        f"over (?:random orders|min-path): {RATIO}",
        quantity="ratio of errors",
    ),
    Row(
        "On a chain of five tasks, A E C D B and A C E D B are among the best orders",
        "fig4a",
        ("AECDB is", "ACEDB is"),
        r"in the best tenth on [\d.]+% of the range",
    ),
    Row("On the chain, the worst order has about 7 times the error of the best", "fig4a", ("The worst order has",)),
    Row(
        "The optimal order of the chain is consistent with max-path",
        "fig4a",
        ("The optimal order is consistent",),
        "in the longest tenth.*",
    ),
    Row(
        "After all tasks of the chain, A E C D B beats random orders, A B C D E does not", "fig4c", ("After all",), ".*"
    ),
    Row("On a tree, leaves should be learned before inner nodes", "fig4d", ("The error is smallest",)),
    Row("The optimal order of the leaves of a tree hops", "fig4e", ("The optimal order hops",), "none on [^:]*"),
    Row(
        "On a tree, from the root down is better at first and worse after all tasks",
        "fig4f",
        ("At first", "After all"),
        "^[^;]*",
    ),
    Row(
        "On image tasks, periphery-to-core beats core-to-periphery",
        "fig5",
        ("periphery-to-core is above core-to-periphery",),
        POINTS,
    ),
    Row(
        "On image tasks, periphery-to-core beats the mean order",
        "fig5",
        ("periphery-to-core is above the mean",),
        POINTS,
    ),
    Row("On image tasks, max-path beats min-path", "fig5", ("max-path is above min-path",), POINTS),
    Row("On image tasks, max-path beats the mean order", "fig5", ("max-path is above the mean",), POINTS),
    Row(
        "The advantage of periphery-to-core grows from 3 to 7 tasks",
        "fig5",
        ("The advantage of periphery-to-core",),
        rf"\S+ {INTERVAL}",
        quantity="growth of the share of task sets won:",
    ),
    Row(
        "No such growth is evident for max-path",
        "fig5",
        ("Such a growth",),
        rf"\S+ {INTERVAL}",
        quantity="growth of the share of task sets won:",
    ),
    Row(
        "Periphery-to-core beats max-path, but not by much",
        "fig5",
        ("periphery-to-core is above max-path, but",),
        POINTS,
    ),
    Row(
        "The average correlation dominates the error",
        "fig6a",
        ("The average correlation",),
        f"{RATIO}$",
        quantity="variance between bins over variance between orders:",
    ),
    Row(
        "On matrices, the advantage of periphery-to-core grows with the number of tasks",
        "fig6c",
        ("The advantage of",),
        rf"\S+ {INTERVAL}",
        quantity="growth of the share of matrices won:",
    ),
    Row(
        "Both rules also help with tasks of five classes",
        "fig7",
        ("periphery-to-core is above the mean order; CIFAR-100", "max-path is above the mean order; CIFAR-100"),
        POINTS,
    ),
    Row(
        "Similarity from training data is as good as from test data",
        "fig7",
        ("Training data",),
        f"^{RATIO} of the gain",
    ),
    Row(
        "Similarity from 0.1 % of the data gives no significant gain",
        "fig9",
        ("The gain of periphery-to-core with 0.1 %", "The gain of max-path with 0.1 %"),
        POINTS,
    ),
    Row(
        "Similarity from 1 % of the data is as good as from all of it",
        "fig10",
        ("The gain of periphery-to-core",),
        f"^{RATIO} of the gain",
    ),
    Row(
        "Corrections to the closed form are O(N_s / N_x)",
        "finite-size",
        ("Corrections",),
        r"[\d.]+ \S+ \S+ for 5 tasks",
        quantity="exponent of N_s / N_x:",
    ),
)
"""The main claims of the paper; all others are on the pages of their figures."""
QUESTIONS = (
    Row(
        "In the linear model, does periphery-to-core beat random orders on positive matrices?",
        "fig3e",
        ("periphery-to-core has less error than random orders on matrices with",),
        f"{RATIO}.*",
        quantity="ratio of errors",
    ),
    Row("Does the last task explain most of how orders differ?", "truth", ("The last task alone",)),
    Row("Is the closed-form optimum above periphery-to-core on images?", "truth", ("The closed-form optimum",), POINTS),
    Row(
        "Is half of the best order's lead there with another seed?",
        "noise-ceiling",
        ("At least half",),
        r"\d+ % \S+ \S+$|\d+ % \[[^\]]*\]",
    ),
    Row("Does periphery-to-core earn half of that?", "noise-ceiling", ("periphery-to-core earns",), SHARE),
    Row(
        "Is the gain of periphery-to-core comparable with other training?",
        "training-choices",
        ("The gain of periphery-to-core",),
        f"^{RATIO}",
        quantity="ratio of gains:",
    ),
    Row(
        "Does the law of retention explain more of how orders differ than the closed form?",
        "law",
        ("Over all held-out sets, the law explains more of how orders differ than the closed form",),
    ),
    Row("Does it explain as much as another run?", "law", ("The law explains as much as another run",), SHARE),
    Row(
        "Does its order beat periphery-to-core?",
        "law",
        ("Over all held-out sets, the law's order is above that of periphery-to-core",),
        POINTS,
    ),
    Row(
        "Does its order beat sorting by row sums of the same table?",
        "law",
        ("Over all held-out sets, the law's order is above that of row-sums",),
        POINTS,
    ),
    Row(
        "Does that sort earn nearly as much?",
        "law",
        ("Over all held-out sets, row-sums earns nearly",),
        f"{SHARE}.*points",
    ),
    Row(
        "From 1 % of the data, is the law with its shrunken table at most 0.5 points below periphery-to-core?",
        "law",
        ("From a pilot of 1 % the law with its shrunken table",),
        r"(?<=\[)[^,]*",
        quantity="lower ends:",
    ),
    Row(
        "Does a network keep less than a quarter of its knowledge when it learns the next task?",
        "law",
        ("Over all held-out sets, a network keeps",),
        ".*",
    ),
    Row(
        "Does a network keep less, the longer it learns the next task?",
        "retention",
        ("Retention falls with the steps",),
        r"exponent [\d.]+ \[[^\]]*\]",
    ),
    Row(
        "Is the exponent the same on other data?",
        "retention",
        ("The exponent of the steps is",),
        f"^{RATIO}",
        quantity="exponent:",
    ),
    Row(
        "Is retention higher at the fifth task than at the second?", "retention", ("Retention is higher at",), "^[^:]*"
    ),
    Row("Does a small task take less away than a large one?", "retention", ("A small task takes",)),
    Row(
        "Do orders of uneven tasks need a retention for each task?",
        "retention",
        ("A retention for each task ranks",),
        quantity="rank correlation",
    ),
    Row(
        "Is the order of the law above the mean order of many image tasks?",
        "many-tasks",
        ("The law's order is above the mean random",),
        POINTS,
    ),
    Row(
        "Is it above sorting them by row sums?",
        "many-tasks",
        ("The law's order is above that of sorting",),
        POINTS,
    ),
    Row(
        "Is it above periphery-to-core there?",
        "many-tasks",
        ("The law's order is above that of periphery",),
        POINTS,
    ),
    Row(
        "Is it above the closed-form optimum there?",
        "many-tasks",
        ("The law's order is above that of optimal",),
        POINTS,
    ),
    Row(
        "Does order matter for a small network on features of a frozen pretrained model?",
        "finetuning",
        ("Order matters by more than a point; frozen",),
        POINTS,
    ),
    Row(
        "Is the order of the law above the mean order there?",
        "finetuning",
        ("The law's order is above the mean order; frozen",),
        POINTS,
    ),
    Row(
        "Is mixing all tasks above the best order there?",
        "finetuning",
        ("Mixing all tasks is above the best order of another run; frozen",),
        POINTS,
    ),
    Row(
        "Does order matter where MiniLM itself is tuned?",
        "finetuning",
        ("Order matters by more than a point; MiniLM",),
        POINTS,
    ),
    Row(
        "Does the best order of another run earn a point with one head over frozen features?",
        "atlas",
        ("Order matters by more than a point; frozen features, one head",),
        r"^\S+",
        quantity="points earned:",
    ),
    Row(
        "Is replay of 20 in any order above plain training in its best order?",
        "atlas",
        ("Replay of 20 in any order is above plain training in its best order; frozen features",),
        POINTS,
    ),
    Row(
        "Does order matter less where more is kept?",
        "atlas",
        ("Order matters less where more is kept; frozen features",),
        rf"rank correlation \S+ {INTERVAL}",
    ),
    Row(
        "In the linear model, is the rule reversed after short training?",
        "early-stopping",
        ("For positive similarities",),
        "periphery-to-core leads.*",
    ),
    Row(
        "In the linear model, does stopping early lower the error of a random order?",
        "early-stopping",
        ("Stopping before",),
    ),
    Row(
        "Does a first correction in N_s / N_x halve the error?",
        "finite-size",
        ("The first correction",),
        r"[\d.]+ \S+ \S+ for 5 tasks",
        quantity="share of the error left:",
    ),
    Row(
        "In the linear model, does periphery-to-core beat random orders at 200 tasks?",
        "rules-at-scale",
        ("periphery-to-core still",),
        TIMES_RANDOM,
    ),
    Row(
        "In the linear model, does max-path beat random orders at 200 tasks?",
        "rules-at-scale",
        ("max-path still",),
        TIMES_RANDOM,
    ),
    Row(
        "In the linear model, does the best order found beat random orders in every matrix?",
        "rules-at-scale",
        ("The best order found",),
        "^[^(]*",
    ),
)
"""The main questions of our own."""
