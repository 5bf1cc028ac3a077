"""What pairs confirm of the law: predictions shrink only where the two orders of pairs end alike."""

import numpy as np
import pytest

from taskorder.learners import CallableLearner
from taskorder.learners.protocol import Score
from taskorder.planning.confidence import FINE, MATTERS, NOISY
from taskorder.planning.fitted_law import CARRIED, Pilot, fitted_law
from taskorder.planning.measurements import Measurements
from taskorder.planning.pair_orders import pair_orders, share_at_most
from taskorder.planning.plan import plan
from taskorder.planning.warnings import pairs_alike
from taskorder.theory.law import final_knowledge

from .pupils import names, random_table, retaining


def test_a_learner_that_follows_the_law_is_left_alone():
    sure = plan(names(), retaining(random_table(5), 0.1, noise=0.02), seeds=4, draws=30)
    assert sure.confidence.verdict == MATTERS
    assert "pairs alike" not in [caution.kind for caution in sure.warnings]


def adding(table, noise=0.0):
    """A learner that adds up what tasks teach, whatever their order."""
    index = {task.name: place for place, task in enumerate(names())}

    def answer(learned, test, seed):
        known = sum(table[index[name], index[test]] for name in learned) / 2
        known += noise * np.random.default_rng([seed, *map(ord, "".join(sorted(learned)) + test)]).normal()
        return {"loss": 1 - known, "chance": 1.0}

    return CallableLearner(answer, name="adding")


def test_a_learner_that_adds_up_is_told_that_any_order_is_fine():
    found = plan(names(), adding(random_table(5), noise=0.005), seeds=4, draws=30)
    assert found.confidence.verdict == FINE
    assert found.confidence.gain == pytest.approx(0, abs=0.005)
    (caution,) = [caution for caution in found.warnings if caution.kind == "pairs alike"]
    assert "10 pairs of tasks ended nearly alike in both orders" in caution.text


def measured(ends, table, carried=CARRIED):
    """A pilot with tasks alone and these pairs."""
    scores = {(k,): [Score(1 - known, 1.0, None) for known in row] for k, row in enumerate(table)}
    scores |= {pair: [Score(1 - known, 1.0, None) for known in row] for pair, row in ends.items()}
    usual = np.full(len(table), 0.13)
    return Pilot(Measurements.from_scores([scores, scores]), usual, usual, carried)


def both_orders(table, num_pairs):
    """All of them end as if both tasks were learned at once."""
    pairs = [(0, 1), (0, 2), (1, 2)][:num_pairs]
    return {order: (table[pair[0]] + table[pair[1]]) / 2 for pair in pairs for order in (pair, pair[::-1])}


def test_few_pairs_refute_nothing():
    table = random_table(4)
    for num_pairs, share in ((2, 1.0), (3, 0.0)):
        pilot = measured(both_orders(table, num_pairs), table)
        found = pair_orders(pilot, fitted_law(pilot))
        assert found.share == pytest.approx(share, abs=1e-9)
        assert (found.num_pairs == 3) == (num_pairs == 3)


def test_what_a_pilot_shows_of_its_first_steps_is_not_said_of_the_whole_run():
    """Pairs that end alike in a small pilot may differ in the real run: there the plan does not know."""
    from taskorder.constraints import Constraints
    from taskorder.planning.choice import best_order
    from taskorder.planning.confidence import confidence

    table = random_table(4)
    constraints = Constraints.of(4)
    verdicts = []
    for carried in (CARRIED, 1.0):
        pilot = measured(both_orders(table, 3), table, carried)
        order = best_order(fitted_law(pilot), constraints)
        verdicts.append(confidence(pilot, lambda law, part, order=order: order, order, constraints, draws=4).verdict)
    assert verdicts == [NOISY, FINE]


def test_a_learner_that_keeps_what_it_learned_first_is_not_told_that_any_order_is_fine():
    """As the law says, but with the first task in place of the last one."""
    table = random_table(5)
    place = {task.name: k for k, task in enumerate(names())}

    def answer(learned, test, seed):
        known = final_knowledge(table, [place[name] for name in learned[::-1]], np.full(5, 0.1))[place[test]]
        noise = np.random.default_rng([seed, *map(ord, "".join(learned) + test)]).normal()
        return {"loss": max(0.0, 1 - known + 0.005 * noise), "chance": 1.0}

    found = plan(names(), CallableLearner(answer, name="first"), seeds=4, draws=30)
    assert found.confidence.verdict == NOISY
    assert found.confidence.gain == pytest.approx(0, abs=0.005)
    (caution,) = [caution for caution in found.warnings if caution.kind.startswith("pairs")]
    assert caution.kind == "pairs otherwise"
    assert "15 points of knowledge apart in their two orders, but not as the law says" in caution.text


def test_noise_refutes_nothing():
    """In 200 draws of noise as large as twice the prediction a true law keeps its share in nearly all."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(200):
        x = rng.normal(size=10)
        shares.append(share_at_most(x, x + 2 * rng.normal(size=10)))
    assert np.mean(np.array(shares) == 1) > 0.9
    assert share_at_most(x, 0.1 * rng.normal(size=10)) < 0.3


def test_pairs_that_agree_need_no_word():
    assert pairs_alike(None) is None
