"""Five corpora learned one after another by a language model, in all orders. Ours.

Question: how much does the order matter for a byte-level language model, how much does it keep, does the law of
retention explain its losses, and what do the law's order, the order of a pilot and simple rules earn; with replay,
too; and what would mixing all corpora give?

Fixed before the first of these models was trained:

- Sets of five corpora, drawn from thirteen (`reproduction/corpora.py`) with the numbers 0, 1, 2, ...; two seeds each;
  all 120 orders. Set 0 also with replay of 5 and of 20 % of each batch.
- Knowledge of a corpus is the share of the way from the loss of the untrained model (0) to the loss of the model of
  that corpus alone (1); it may be negative. Each corpus counts by the bits a byte between the two.
- Tables come from one seed and the truth from the other, both ways round. The retention is that of the pairs of the
  seed that the table comes from.
- Statistic: bits a byte of the mean loss over the five corpora at the end, below the mean order; mean over sets with a
  95 % interval over sets. Beside the law stand the last row sum, sorting by row sums, periphery-to-core, the law at
  retention 1 and the orders of another run.
- A model is well trained if it ends below 2.5 bits a byte on its own corpus.

Not trained yet. Settings are to be chosen first, by models of single corpora alone (`reproduction/language_trial.py`,
`reproduction/borrowed_gpu.md`): nobody has seen these reach 2.5 bits a byte. It is entered in `reproduction.FIGURES`
when it is trained, for all figures there have results.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import Claim, FigureData, inside
from reproduction.fitting import rank_correlation
from reproduction.image_claims import Number, mean_number, ratio_number
from reproduction.image_panels import dots
from reproduction.language_runs import KIND, PILOTS, run_batch
from taskorder.checks import Floats, Ints
from taskorder.ordering.rules import typicality
from taskorder.plots.records import Panel
from taskorder.runs.specs import RunSpec
from taskorder.tables.knowledge import transfer_table
from taskorder.theory.law import PLAIN_RETENTION
from taskorder.theory.random_orders import knowledge_after

LAW, PLAIN, ERROR, PAPER = "law", "law, d = 0.13", "law, error", "law, d = 1"
LAST, SUMS, TYPICAL, RUN = "last row sum", "row-sums", "periphery-to-core", "another run"
RULES = (LAW, PLAIN, ERROR, LAST, SUMS, TYPICAL, PAPER)
OURS = "ours"
WELL_TRAINED = 2.5
FORGETFUL = 0.25


@dataclass(frozen=True)
class Config:
    """Settings: how many sets of corpora, how large the model is and how it is trained."""

    num_sets: int = 4
    num_seeds: int = 2
    replays: tuple[float, ...] = (0.05, 0.2)
    """Shares of a batch, for set 0."""
    context: int = 256
    width: int = 256
    depth: int = 4
    epochs: int = 4
    batch_size: int = 16
    learning_rate: float = 1e-3
    max_networks: int = 120
    min_sets: int = 3
    """Claims about fewer sets are not tested."""

    def __post_init__(self) -> None:
        limits.whole(self, 1, "num_sets", "context", "width", "depth", "epochs", "batch_size", "max_networks")
        limits.whole(self, 2, "num_seeds", "min_sets")


QUICK = Config(num_sets=1, replays=(), context=64, width=32, depth=1, epochs=1, batch_size=64, min_sets=2)


def specs(config: Config) -> list[RunSpec]:
    """One run for each set and seed, and for each share of replay of set 0."""
    keys = ("context", "width", "depth", "epochs", "batch_size", "learning_rate", "max_networks")
    shared = {key: getattr(config, key) for key in keys}
    parts = [(number, 0.0) for number in range(config.num_sets)] + [(0, share) for share in config.replays]
    return [
        RunSpec(KIND, {**shared, "replay": share, "set": number, "seed": seed})
        for number, share in parts
        for seed in range(config.num_seeds)
    ]


class Model(NamedTuple):
    """What the models of one run did."""

    start: Floats
    """(P,) bits a byte of the untrained model."""
    alone: Floats
    """(P, P) row k: the model of corpus k alone."""
    pairs: Mapping[tuple[int, int], Floats]
    """(P,) after corpora i and k."""
    ends: Floats
    """(orders, P) at the end of every order."""

    @property
    def truth(self) -> Floats:
        """(orders,) mean loss at the end."""
        return np.asarray(self.ends.mean(axis=1))


def orders_of(num_tasks: int) -> Ints:
    """(orders, P) all of them.

    >>> orders_of(2).tolist()
    [[0, 1], [1, 0]]
    """
    return np.array(list(itertools.permutations(range(num_tasks))))


def model_of(result: Mapping[str, Any]) -> Model:
    """The losses of a result by what was learned."""
    rows = dict(zip(result["beginnings"], np.array(result["loss"]), strict=True))
    P = len(rows[""])
    pairs = {(i, k): rows[f"{i}.{k}"] for i, k in itertools.permutations(range(P), 2)}
    ends = np.array([rows[".".join(map(str, order))] for order in orders_of(P).tolist()])
    return Model(rows[""], np.array([rows[str(k)] for k in range(P)]), pairs, ends)


def known(start: Floats, alone: Floats, losses: Floats) -> Floats:
    """(..., P) share of the way from the untrained model's loss to that of each corpus' own model."""
    return np.asarray((start - losses) / (start - np.diagonal(alone)))


def retention_moments(model: Model, other: Model) -> tuple[float, float]:
    """The sums of x' y and of x' x over pairs, where x' is of another seed, so that noise does not bias the ratio."""
    m, again = (known(each.start, each.alone, each.alone) for each in (model, other))
    top = bottom = 0.0
    for (i, k), losses in model.pairs.items():
        others = np.arange(len(m)) != k
        x, x_again = ((table[i] - table[k] * table[i, k])[others] for table in (m, again))
        y = (known(model.start, model.alone, losses) - m[k])[others]
        top, bottom = top + float(x_again @ y), bottom + float(x_again @ x)
    return top, bottom


def order_scores(start: Floats, alone: Floats, retention: float) -> dict[str, Floats]:
    """By rule, (orders,) numbers that are larger where less loss is predicted; those of the law are in bits a byte."""
    S = transfer_table(known(start, alone, alone))
    bits = start - np.diagonal(alone)
    sums, typical = S @ bits, typicality((S + S.T) / 2)
    P, orders = len(S), orders_of(len(S))
    places = np.arange(P)

    def by_law(d: float) -> Floats:
        return knowledge_after(S, orders, np.full(P, d))

    return {
        LAW: by_law(retention) @ bits / P,
        PLAIN: by_law(PLAIN_RETENTION) @ bits / P,
        ERROR: -((1 - by_law(retention)) ** 2) @ bits,
        LAST: sums[orders[:, -1]],
        SUMS: sums[orders] @ places,
        TYPICAL: typical[orders] @ places,
        PAPER: -((1 - by_law(1.0)) ** 2) @ bits,
    }


class Scored(NamedTuple):
    """One truth beside what was predicted from another seed."""

    truth: Floats
    scores: Mapping[str, Floats]
    result: Mapping[str, Any]

    def gain(self, rule: str) -> float:
        """Bits a byte below the mean order, of the order that a rule takes."""
        score = self.scores[rule]
        chosen = score >= score.max() - 1e-9 * np.ptp(score)
        return float(self.truth.mean() - self.truth[chosen].mean())

    def explained(self, rule: str) -> float:
        """r^2 over orders."""
        return float(np.corrcoef(self.scores[rule], self.truth)[0, 1] ** 2)

    def rank(self, rule: str) -> float:
        """Spearman correlation over orders."""
        return rank_correlation(self.scores[rule], -self.truth)


def scored(results: Sequence[Mapping[str, Any]]) -> list[Scored]:
    """The runs of one set, each beside the next seed, which predicts it."""
    models = [model_of(result) for result in results]
    made = []
    for place, (model, result) in enumerate(zip(models, results, strict=True)):
        at = (place + 1) % len(models)
        predictor, measured = models[at], results[at]
        top, bottom = retention_moments(predictor, predictor)
        retention = float(np.clip(top / bottom, 0, 1))
        scores = order_scores(predictor.start, predictor.alone, retention)
        for name, pilot in measured.get("pilots", {}).items():
            table = order_scores(np.array(pilot["start"]), np.array(pilot["loss"]), PLAIN_RETENTION)
            scores |= {f"{name}: {rule}": table[rule] for rule in (PLAIN, LAST, SUMS, TYPICAL)}
        made.append(Scored(model.truth, {**scores, RUN: -predictor.truth}, result))
    return made


def figure(config: Config, results: Sequence[Mapping[str, Any] | None]) -> FigureData:
    """Bits a byte below the mean order, r^2 and retention, plain and with replay."""
    parts: dict[float, dict[int, list[Mapping[str, Any]]]] = {}
    for spec, result in zip(specs(config), results, strict=True):
        if result is not None:
            parts.setdefault(spec.params["replay"], {}).setdefault(spec.params["set"], []).append(result)
    whole = {
        share: [runs for _, runs in sorted(sets.items()) if len(runs) == config.num_seeds]
        for share, sets in parts.items()
    }
    plain = whole.get(0.0, [])
    enough = len(plain) >= config.min_sets
    return FigureData(
        name="languages",
        title="Language models: five corpora in all orders",
        panels=panels([scored(runs) for runs in plain]) if enough else (),
        claims=tuple(claims(plain)) if enough else (_untested(len(plain), config),),
        config=asdict(config),
        columns=2,
        notes=tuple(_note(share, runs) for share, sets in sorted(whole.items()) for runs in sets),
    )


def _untested(count: int, config: Config) -> Claim:
    few = f"{count} sets; a claim needs {config.min_sets}"
    return Claim("The law's order is below the mean order", OURS, few, None, None, None, "not tested")


def over_sets(sets: Sequence[Sequence[Scored]], statistic: str, rule: str) -> Floats:
    """(sets,) gain, explained or rank; the mean of both ways round."""
    return np.array([np.mean([getattr(one, statistic)(rule) for one in each]) for each in sets])


def panels(sets: Sequence[Sequence[Scored]]) -> tuple[Panel, ...]:
    """What orders earn, and how well predictions rank them."""
    rules = (*RULES, RUN)
    gains = {rule: {"all data": mean_number(over_sets(sets, "gain", rule))} for rule in rules}
    for name in PILOTS:
        for rule in (PLAIN, LAST, SUMS, TYPICAL):
            gains[rule][name] = mean_number(over_sets(sets, "gain", f"{name}: {rule}"))
    explained = {rule: {"all data": mean_number(over_sets(sets, "explained", rule))} for rule in rules}
    return (
        dots("Chosen orders", "bits a byte below the mean order", gains, 0.0),
        dots("All orders", "r² with the loss at the end", explained, 0.0),
    )


def claims(plain: Sequence[Sequence[Mapping[str, Any]]]) -> list[Claim]:
    """What the law's order earns, how much order matters and how much is kept; plain training."""
    sets = [scored(runs) for runs in plain]
    models = [[model_of(result) for result in runs] for runs in plain]
    pilot = next(iter(PILOTS))
    leads = {
        "The law's order is below the mean order": (LAW, ""),
        **{f"The law's order is below that of {rule}": (LAW, rule) for rule in (LAST, SUMS, TYPICAL, PAPER)},
        "Periphery-to-core is above the mean order": ("", TYPICAL),
        f"The law's order from a pilot ({pilot}) is below the mean order": (f"{pilot}: {PLAIN}", ""),
        f"The law's order from a pilot ({pilot}) is below that of sorting by row sums": (
            f"{pilot}: {PLAIN}",
            f"{pilot}: {SUMS}",
        ),
    }
    made = [_lead(text, sets, *pair) for text, pair in leads.items()]
    explained = mean_number(over_sets(sets, "explained", LAW))
    made.append(
        Claim("The law explains more than half of the variance over orders", OURS,
              f"r^2 {explained.show()}; another run {mean_number(over_sets(sets, 'explained', RUN)).show()}",
              *explained, inside(explained, above=0.5))
    )  # fmt: skip
    shared = mean_number(np.array([_shared_variance(of_set) for of_set in models]))
    made.append(Claim("Order explains more than half of the variance between runs", OURS, shared.percent(), *shared,
                      inside(shared, above=0.5)))  # fmt: skip
    kept = _retention(models)
    made.append(Claim("A language model keeps less than a quarter of its knowledge when it learns the next corpus",
                      OURS, f"{kept.show()} on pairs", *kept, inside(kept, below=FORGETFUL)))  # fmt: skip
    own = np.array([np.mean([np.diagonal(model.alone) for model in of_set]) for of_set in models])
    trained = mean_number(own)
    made.append(Claim("Models of single corpora are well trained", OURS, f"{trained.show()} bits a byte", *trained,
                      inside(trained, below=WELL_TRAINED)))  # fmt: skip
    mixed = mean_number(np.array([_mixed_lead(each) for each in sets]))
    made.append(Claim("Mixing all corpora is below the best order", OURS, f"by {mixed.show(sign=True)} bits a byte",
                      *mixed, inside(mixed, above=0)))  # fmt: skip
    return made


def _lead(text: str, sets: Sequence[Sequence[Scored]], better: str, worse: str) -> Claim:
    none = np.zeros(len(sets))
    of_better, of_worse = (over_sets(sets, "gain", rule) if rule else none for rule in (better, worse))
    lead = mean_number(of_better - of_worse)
    return Claim(text, OURS, f"by {lead.show(sign=True)} bits a byte; {len(sets)} sets", *lead, inside(lead, above=0))


def _shared_variance(models: Sequence[Model]) -> float:
    """The covariance of two seeds over orders as a share of their variance."""
    return float(np.corrcoef([model.truth for model in models[:2]])[0, 1])


def _retention(models: Sequence[Sequence[Model]]) -> Number:
    sums = np.array(
        [np.sum([retention_moments(*pair) for pair in itertools.permutations(of_set, 2)], axis=0) for of_set in models]
    )
    return ratio_number(*sums.T)


def _mixed_lead(of_set: Sequence[Scored]) -> float:
    """Bits a byte by which mixing is below the best of all orders."""
    return float(np.mean([one.truth.min() - np.mean(one.result["mixed"]) for one in of_set]))


def _note(share: float, runs: Sequence[Mapping[str, Any]]) -> str:
    models = [model_of(run) for run in runs]
    truths = np.array([model.truth for model in models])
    kept = np.sum([retention_moments(*pair) for pair in itertools.permutations(models, 2)], axis=0)
    each = scored(runs)
    gains = ", ".join(f"{rule} {np.mean([one.gain(rule) for one in each]):+.2f}" for rule in (*RULES, RUN))
    best = float((truths.mean(axis=1) - truths.min(axis=1)).mean())
    how = f"replay of {100 * share:.0f} %" if share else "plain"
    return (
        f"{', '.join(runs[0]['corpora'])}, {how}: mean loss by order {truths.min():.2f} to {truths.max():.2f} bits a "
        f"byte, standard deviation {truths.std(axis=1).mean():.2f}, correlation of two seeds "
        f"{_shared_variance(models):.2f}, retention {kept[0] / kept[1]:.2f}; below the mean order: best {best:+.2f}, "
        f"{gains}."
    )


FIGURES = (Figure("languages", Config(), QUICK, specs, run_batch, figure, batch=8, keep=True),)
