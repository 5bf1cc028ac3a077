"""What a plan carries besides its order: repair, confidence, prediction, warnings, alternatives."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST_COST = 0.01
"""One point: what costs less matters to nobody."""


@dataclass(frozen=True)
class Repair:
    """How far a similarity matrix had to move to become a correlation matrix.

    Examples
    --------
    >>> from taskorder import solve
    >>> plan = solve([[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]], retention=1)
    >>> round(plan.repair.largest_change, 3), plan.repair.min_eigenvalue < 0
    (0.157, True)
    """

    asymmetry: float
    """Largest |C - C.T| before symmetrizing; 0 for a symmetric input."""
    min_eigenvalue: float
    """Smallest eigenvalue of the symmetrized input; negative when it was not positive semidefinite. Above 300 tasks a
    positive definite input gets 0 here."""
    distance: float
    """Frobenius norm of the total change."""
    largest_change: float
    """Largest change of any one entry."""

    def summary(self) -> str:
        """One line of text."""
        return (
            f"repaired to the nearest correlation matrix: largest entry change {self.largest_change:.3g}, "
            f"Frobenius distance {self.distance:.3g} (asymmetry {self.asymmetry:.3g}, "
            f"smallest eigenvalue {self.min_eigenvalue:.3g})"
        )


@dataclass(frozen=True)
class Confidence:
    """How sure a plan from a pilot is: the choice is made again on resampled examples and seeds of the pilot."""

    verdict: str
    """order matters, too noisy to say, or any order is fine."""
    beats_random: float
    """Probability that the chosen order beats a random order in the real run."""
    gain: float
    """Mean advantage of the chosen order over a random one, in `unit`."""
    gain_low: float
    """Lower end of the 90 % interval of the gain in the real run."""
    gain_high: float
    unit: str
    """accuracy: mean accuracy of all tasks at the end; score: mean knowledge, where accuracy is unknown. Plans of older
    versions may have error: share of the mean predicted error."""
    same_first: float
    """Share of bootstrap draws that begin with the same task as the plan."""
    same_last: float
    same_neighbors: float
    """Mean share of the plan's neighbors that are neighbors in a bootstrap draw's order, too."""
    as_good: tuple[tuple[int, ...], ...]
    """Orders that may be as good as the chosen one in the real run, best first; at most ten."""
    num_as_good: int
    """How many such orders there are among `num_orders`."""
    num_orders: int
    """Orders that were compared."""
    num_draws: int

    def summary(self) -> str:
        """One line of text."""
        unit = "% of the predicted error" if self.unit == "error" else f"points of {self.unit}"
        gain, low, high = (f"{100 * value:z.1f}" for value in (self.gain, self.gain_low, self.gain_high))
        return (
            f"Confidence: {100 * self.beats_random:.0f} % likely to beat a random order; expected gain "
            f"{gain} {unit} (90 % interval {low} to {high}). "
            f"Verdict: {self.verdict}; {self.num_as_good} of {self.num_orders} orders may be as good."
        )


@dataclass(frozen=True)
class Prediction:
    """What a plan from a pilot expects at the end of the real run, with 90 % intervals."""

    unit: str
    """accuracy; knowledge (the share of the loss of guessing that is gone) where accuracies are unknown."""
    mean: float
    """Weighted mean over all tasks."""
    low: float | None
    high: float | None
    tasks: tuple[float, ...]
    """By task index."""
    tasks_low: tuple[float, ...] | None
    tasks_high: tuple[float, ...] | None
    random_mean: float
    """The mean over random orders."""
    random_std: float
    """The standard deviation between random orders."""
    retention: str = ""
    """How much the learner keeps, in a sentence."""
    cost: float | None = None
    """What the pilot cost, as a share of training once on all examples; None where tasks have no data."""

    def lines(self) -> list[str]:
        """Two lines of text: what to expect, and what the learner keeps."""
        interval = "" if self.low is None or self.high is None else f" [{100 * self.low:.0f}, {100 * self.high:.0f}]"
        mean = f"{100 * self.mean:.0f} % mean {self.unit} at the end{interval}"
        others = f"{100 * self.random_mean:.0f} % +- {100 * self.random_std:.1f}"
        return [f"expect  {mean}; random orders {others}", f"learner {self.retention.removeprefix('the learner ')}"]


@dataclass(frozen=True)
class SequenceOrMix:
    """What a sequence costs against learning all tasks at once, and what a strategy buys back, by a pilot.

    All numbers are weighted means over tasks, tested on examples that nobody has learned, where a task has enough of
    them; intervals hold 90 %.

    Examples
    --------
    >>> found = SequenceOrMix("accuracy", "shared", "replay", mixed=0.85, sequence=0.8, cost=0.05, cost_low=0.02,
    ...                       cost_high=0.08, plain=0.6, back=0.2, back_low=0.16, back_high=0.24)
    >>> found.verdict
    'so mix the tasks where all data can be kept'
    >>> found.summary().split(". ")[-1]
    'Its replay buys back 20 [16, 24] of the 25 points that a plain learner loses.'
    """

    unit: str
    """accuracy, or knowledge where accuracies are unknown."""
    outputs: str
    """Which outputs compete when a task is tested: shared, those of the task, or those of every class."""
    strategy: str
    """What the learner does against forgetting; empty where it trains plainly."""
    mixed: float
    """All tasks at once, by a plain learner."""
    sequence: float
    """One after another in the order of the plan, by the learner as it is."""
    cost: float
    """mixed - sequence"""
    cost_low: float | None = None
    cost_high: float | None = None
    plain: float | None = None
    """One after another without the strategy; None where the learner has none, or cannot be without it."""
    back: float | None = None
    """sequence - plain"""
    back_low: float | None = None
    back_high: float | None = None
    num_seeds: int = 1

    @property
    def verdict(self) -> str:
        """What the cost means."""
        if self.cost_low is None or self.cost_high is None:
            return "with a noise that nobody knows"
        if self.cost_high <= -SMALLEST_COST:
            return "so the sequence does better than the mixture"
        if self.cost_low > 0 and self.cost >= SMALLEST_COST:
            return "so mix the tasks where all data can be kept"
        if self.cost_high < SMALLEST_COST:
            return "so a sequence costs next to nothing"
        return "too noisy to tell"

    def summary(self) -> str:
        """One sentence on the cost, and one on the strategy if there is one."""
        heads = {"task": ", each with a head of its own,", "class": ", with all classes in one output layer,"}
        words = (
            f"at the size of the pilot all tasks at once{heads.get(self.outputs, '')} reach {100 * self.mixed:.0f} % "
            f"mean {self.unit}, one after another {100 * self.sequence:.0f} %: the sequence costs "
            f"{_points(self.cost)}{_interval(self.cost_low, self.cost_high)}, {self.verdict}."
        )
        return words if self.back is None else f"{words} {self._bought(self.back)}"

    def _bought(self, back: float) -> str:
        """What the strategy does."""
        interval, lost = _interval(self.back_low, self.back_high), self.mixed - (self.plain or 0.0)
        if self.back_low is not None and self.back_high is not None and self.back_low <= 0 <= self.back_high:
            return f"What its {self.strategy} buys back is too noisy to tell ({_points(back)}{interval})."
        if back < 0:
            return f"Its {self.strategy} makes it worse than plain training, by {_points(-back)}."
        added = f"Its {self.strategy} adds {_points(back)}{interval} to a plain learner"
        if lost < SMALLEST_COST:
            return f"{added}."
        if round(100 * back) > round(100 * lost):  # nobody buys back more than was lost
            return f"{added}, which loses {_points(lost)}."
        whole = f"the {_points(lost)} that a plain learner loses"
        return f"Its {self.strategy} buys back {100 * back:.0f}{interval} of {whole}."


def _points(share: float) -> str:
    number = f"{100 * share:z.0f}"
    return f"{number} point{'' if number in ('1', '-1') else 's'}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{100 * low:z.0f}, {100 * high:z.0f}]"


@dataclass(frozen=True)
class Caution:
    """Something about the tasks or the learner that makes a plan less sure, and what to do."""

    kind: str
    text: str


@dataclass(frozen=True)
class Alternative:
    """What another rule would have chosen."""

    rule: str
    order: tuple[int, ...]
    error: float
    """Its predicted error, as that of the plan."""
    expected: float | None = None
    """Its predicted mean accuracy (or knowledge), as in the prediction of the plan."""
