"""Retention from pairs: learners that obey the law exactly, with known retention and known noise."""

import numpy as np
import pytest

from taskorder.learners.protocol import Score
from taskorder.planning.measurements import Measurements, halves
from taskorder.planning.retention import Retention, retention_from_pairs, sampled_pairs
from taskorder.theory.law import final_knowledge


def simulated(retention, *, P=5, seeds=3, examples=0, noise=0.0, draw=0):
    """All tasks alone and 2 P pairs of a learner that obeys the law, with noise of seeds and of examples."""
    rng = np.random.default_rng([draw, P])
    table = rng.uniform(-0.2, 0.3, (P, P))
    np.fill_diagonal(table, rng.uniform(0.5, 0.7, P))
    sequences = [(task,) for task in range(P)] + sampled_pairs(range(P), 2 * P, rng)

    def score(known):
        if not examples:
            return Score(max(0.0, 1 - known), 1.0, None)
        right = rng.random(examples) < (1 + known) / 2
        losses = max(0.0, 1 - known) * rng.exponential(size=examples)
        each = np.stack([losses, np.ones(examples), right])
        return Score(*each.mean(axis=1).tolist(), each)

    scores = []
    for _ in range(seeds):
        states = {q: final_knowledge(table, q, retention) + noise * rng.normal(size=P) for q in sequences}
        scores.append({q: tuple(score(known) for known in state) for q, state in states.items()})
    return Measurements.from_scores(scores, np.full(P, 0.5) if examples else None)


@pytest.mark.parametrize("d", [0.05, 0.13, 0.5, 0.95])
def test_without_noise_the_retention_is_found_exactly(d):
    measured = retention_from_pairs(simulated(d, seeds=1))
    assert measured.value == pytest.approx(d)
    assert measured.low == pytest.approx(d)
    assert measured.high == pytest.approx(d)
    assert measured.num_pairs == 10


NOISES = [
    {"seeds": 3, "noise": 0.1},
    {"seeds": 1, "examples": 100},
    {"seeds": 2, "examples": 60, "noise": 0.1},
    {"P": 8, "seeds": 1, "examples": 40},
]


@pytest.mark.parametrize("d", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("how", NOISES)
def test_noise_does_not_bias_and_the_interval_covers(how, d):
    estimates = [retention_from_pairs(simulated(d, draw=draw, **how), draws=60) for draw in range(30)]
    assert all(estimate is not None for estimate in estimates)
    values = np.array([estimate.value for estimate in estimates])
    # clipping at 0 and 1 moves the mean a little; three standard errors beyond that are a bias
    assert abs(values.mean() - d) < 0.012 + 3 * values.std() / np.sqrt(len(values))
    assert np.mean([estimate.low <= d <= estimate.high for estimate in estimates]) >= 0.8


def test_plain_least_squares_would_be_too_small():
    """What the second half of the examples is for: noise of 15 examples turns 0.9 into less than 0.8."""
    corrected, plain = [], []
    for draw in range(20):
        measured = simulated(0.9, seeds=1, examples=15, draw=draw)
        corrected.append(retention_from_pairs(measured, draws=1))
        whole = Measurements(measured.sequences, measured.losses, measured.chance, measured.accuracy, measured.guess)
        plain.append(retention_from_pairs(whole, draws=1).value)
    assert np.mean(plain) < 0.8
    assert np.mean([estimate.value for estimate in corrected if estimate is not None]) == pytest.approx(0.9, abs=0.06)


def test_pairs_that_cannot_tell_give_none():
    assert retention_from_pairs(simulated(0.3, seeds=2, noise=3.0)) is None
    assert retention_from_pairs(simulated(0.3, seeds=1, examples=3, draw=1)) is None
    rng = np.random.default_rng(0)
    same = np.broadcast_to(rng.random(3), (2, 6, 3))  # whatever is learned, the same is known
    sequences = ((0,), (1,), (2,), (0, 1), (1, 2), (2, 0))
    assert retention_from_pairs(Measurements(sequences[:3], 1 - same[:, :3], np.ones((2, 3, 3)), None, None)) is None
    unlearned = Measurements(sequences, np.ones((2, 6, 3)), np.ones((2, 6, 3)), None, None)
    assert retention_from_pairs(unlearned) is None


@pytest.mark.parametrize("P", [2, 3, 5, 12])
def test_every_task_is_first_and_second_equally_often(P):
    pairs = sampled_pairs(range(P), 2 * P, np.random.default_rng(0))
    assert len(set(pairs)) == len(pairs) == min(2 * P, P * (P - 1))
    for place in (0, 1):
        counts = np.bincount([pair[place] for pair in pairs])
        assert (counts == len(pairs) // P).all()
    assert all(a != b for a, b in pairs)
    assert pairs == sampled_pairs(range(P), 2 * P, np.random.default_rng(0))


def test_halves_have_no_example_in_common_even_when_they_are_resampled():
    measured = simulated(0.3, seeds=1, examples=21)
    for again in (False, True):
        half, other = halves(measured, np.random.default_rng(0), again=again)
        for mine, others in zip(half[1], other[1], strict=True):
            assert not set(mine.tolist()) & set(others.tolist())
            assert len(mine) + len(others) == 21


def test_knowledge_of_a_part_is_that_of_its_seeds_and_examples():
    measured = simulated(0.3, seeds=2, examples=6)
    assert measured.knowledge(measured.everything) == pytest.approx(measured.knowledge())
    rows = [np.array([0, 0, 5])] * 5
    losses, _, accuracy = measured.drawn((np.array([1]), rows))
    assert losses[0, 3, 2] == pytest.approx(measured.examples[2][1, 3, 0, [0, 0, 5]].mean())
    known = measured.knowledge((np.array([1]), rows))[0, 3, 2]
    assert known == pytest.approx(1 - ((1 - accuracy[0, 3, 2]) / 0.5 + losses[0, 3, 2]) / 2)


def test_the_sentence_says_where_the_number_comes_from():
    assert Retention(0.13, 0.13, 0.13).sentence.endswith("learned (assumed)")
    assert Retention(0.13, 0.1, 0.2, 1).sentence.endswith("learned (measured on 1 pair)")
    assert Retention(0.5, 0.5, 0.5, given=True).sentence.startswith("keeps 50 % of what")
