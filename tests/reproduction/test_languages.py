"""Language models: verdicts that turn with the results, and what is trained."""

import itertools

import numpy as np
import pytest

from reproduction.corpora import CORPORA
from reproduction.figures.languages import LAW, PAPER, RUN, SUMS, Config, figure, model_of, order_scores, scored, specs
from reproduction.language_runs import NUM_TASKS, PILOTS, chosen_corpora, texts_of
from taskorder.arguments import BadArgument
from taskorder.prefixes import PrefixTree
from taskorder.theory.law import final_knowledge

ORDERS = list(itertools.permutations(range(NUM_TASKS)))
CONFIG = Config(num_sets=3, replays=())
START, OWN = np.full(NUM_TASKS, 8.0), np.array([1.0, 1.5, 2.0, 2.5, 3.0])


def result_of(table, retention, noise, rng, own=OWN, mixed=1.0):
    """Losses of a learner that follows the law, in bits a byte."""

    def losses(order):
        known = final_knowledge(table, order, retention) if order else np.zeros(NUM_TASKS)
        return (START - known * (START - own) + noise * rng.standard_normal(NUM_TASKS)).tolist()

    prefixes = list(PrefixTree(ORDERS).rows)
    pilot = {"start": START.tolist(), "loss": [losses((k,)) for k in range(NUM_TASKS)]}
    return {
        "corpora": list(chosen_corpora(0)),
        "beginnings": [".".join(map(str, prefix)) for prefix in prefixes],
        "loss": [losses(prefix) for prefix in prefixes],
        "pilots": dict.fromkeys(PILOTS, pilot),
        "mixed": [mixed] * NUM_TASKS,
    }


def transfer(rng):
    """A symmetric table: `transfer_table` leaves it as it is."""
    upper = np.triu(rng.uniform(-0.3, 0.6, (NUM_TASKS, NUM_TASKS)), 1)
    return upper + upper.T + np.eye(NUM_TASKS)


def results(config, retention, noise=0.0, **how):
    """Of all runs of a config."""
    rng = np.random.default_rng(0)
    tables = [transfer(rng) for _ in range(config.num_sets)]
    return [result_of(tables[spec.params["set"]], retention, noise, rng, **how) for spec in specs(config)]


@pytest.mark.parametrize("retention", [0.0, 0.1, 0.6])
def test_a_learner_that_follows_the_law_is_explained_by_it(retention):
    for one in scored(results(CONFIG, retention)[:2]):
        assert one.explained(LAW) == pytest.approx(1)
        assert one.rank(LAW) == pytest.approx(1)
        assert one.gain(LAW) == pytest.approx(one.truth.mean() - one.truth.min())
        assert one.gain(RUN) == pytest.approx(one.gain(LAW))
        np.testing.assert_allclose(one.truth, START.mean() - one.scores[LAW], rtol=1e-9)


VERDICTS = {
    "law explains": {"noise": 3.0},
    "Order explains": {"noise": 3.0},
    "keeps less": {"retention": 0.6},
    "well trained": {"own": OWN + 2},
    "Mixing": {"mixed": 7.0},
}


@pytest.mark.parametrize("words", VERDICTS)
def test_verdicts_turn_with_the_results(words):
    def verdict(**how):
        made = figure(CONFIG, results(CONFIG, **{"retention": 0.1, "noise": 0.01, **how})).claims
        return next(claim.verdict for claim in made if words in claim.claim)

    assert verdict() == "reproduced"
    assert verdict(**VERDICTS[words]) in ("not reproduced", "undecided")


def test_what_is_shown():
    made = figure(CONFIG, results(CONFIG, 0.1, 0.01))
    assert next(c.verdict for c in made.claims if c.claim == "The law's order is below the mean order") == "reproduced"
    assert [len(panel.series) > 2 for panel in made.panels] == [True, True]
    assert len(made.notes) == 3


def test_too_few_sets_are_not_tested():
    few = Config(num_sets=1, replays=())
    (claim,) = figure(few, results(few, 0.1)).claims
    assert claim.verdict == "not tested"


def test_runs_that_are_missing_are_left_out():
    some = results(CONFIG, 0.1)
    assert len(figure(CONFIG, [*some[:4], None, some[5]]).notes) == 2


def test_the_retention_is_that_of_the_law():
    model = model_of(results(CONFIG, 0.35)[0])
    S = transfer(np.random.default_rng(0))
    scores = order_scores(model.start, model.alone, 0.35)
    bits = START - OWN
    for order in ORDERS[::17]:
        predicted = scores[LAW][ORDERS.index(order)]
        assert predicted == pytest.approx(final_knowledge(S, order, 0.35) @ bits / NUM_TASKS)
    assert set(scores) > {PAPER, SUMS}


def test_one_run_for_each_set_seed_and_share_of_replay():
    made = specs(Config(num_sets=2, num_seeds=3, replays=(0.2,)))
    asked = [(spec.params["set"], spec.params["seed"], spec.params["replay"]) for spec in made]
    assert asked == [*((n, s, 0.0) for n in range(2) for s in range(3)), *((0, s, 0.2) for s in range(3))]


def test_a_missing_file_names_the_command(tmp_path):
    with pytest.raises(BadArgument, match=r"got no such file. Make it as `python -m reproduction.corpora --help` says"):
        texts_of(tmp_path / "corpora.npz", chosen_corpora(0), 8)


@pytest.fixture
def small_corpora(tmp_path, monkeypatch):
    """Corpora that are easy to tell apart: each has a few letters of its own."""
    rng = np.random.default_rng(0)
    names = list(CORPORA)

    def letters(count):
        return np.stack([rng.integers(5 * k, 5 * k + 5, count) for k in range(len(names))]).astype(np.uint8)

    np.savez(tmp_path / "corpora.npz", names=np.array(names), train=letters(1600), test=letters(320))
    monkeypatch.setenv("TASKORDER_DATA", str(tmp_path))


@pytest.mark.slow("training")
def test_models_are_trained_in_all_orders(small_corpora):
    pytest.importorskip("jax")
    from reproduction.language_runs import run_batch

    config = Config(
        num_sets=1, replays=(0.2,), context=16, width=16, depth=1, epochs=2, batch_size=16, learning_rate=0.01,
    )  # fmt: skip
    plain, again, replayed, _ = run_batch(specs(config))
    model = model_of(plain)
    np.testing.assert_allclose(model.start, 8, atol=0.2)
    own = np.diagonal(model.alone)
    assert (own < 7).all()
    assert (own < (model.alone + 9 * np.eye(NUM_TASKS)).min(axis=0)).all()
    assert plain["loss"] != again["loss"]
    # Replay has nothing to keep before the second corpus.
    first = np.array([beginning.count(".") == 0 for beginning in plain["beginnings"]])
    equal = (np.array(plain["loss"]) == np.array(replayed["loss"])).all(axis=1)
    assert equal[first].all()
    assert not equal[~first].any()
    assert max(plain["mixed"]) < 7
    assert set(plain["pilots"]) == set(PILOTS)
    assert "pilots" not in replayed


@pytest.mark.slow("training")
def test_a_trial_says_how_well_single_corpora_are_learned(small_corpora, monkeypatch, capsys):
    pytest.importorskip("jax")
    from reproduction import language_trial

    words = "--context 16 --width 16 --depth 1 --batch 4 --rate 0.01 --epochs 2"
    monkeypatch.setattr("sys.argv", ["trial", *words.split()])
    language_trial.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[0] for line in lines] == [str(6 * look) for look in range(1, 9)]
    first, last = (float(line.partition("mean ")[2].split(",")[0]) for line in (lines[0], lines[-1]))
    assert last < first < 8.1
    assert all(f" {name} " in lines[-1] for name in CORPORA)
