import itertools
import json
import types

import numpy as np
import pytest
from hypothesis import given, settings

from taskorder import chain, compare, final_error, solve
from taskorder.ordering import clock
from taskorder.ordering.solve import RULES

from .questions import correlation, questions
from .reference import allowed_orders
from .reference import final_error as plain_error


@settings(max_examples=20)
@given(questions(min_size=1, max_size=6))
def test_statistics_equal_enumeration(question):
    similarity, options = question
    result = compare(similarity, **options, retention=1)
    scored = {key: options.get(key) for key in ("output", "weights")}
    limits = {key: value for key, value in options.items() if key not in scored}
    orders = list(allowed_orders(len(similarity), **limits))
    errors = np.array([plain_error(similarity, o, **scored, learned=options["learned"]) for o in orders])
    assert result.random_exact
    assert result.random_count == len(orders)
    assert (result.random_mean, result.random_std) == pytest.approx((errors.mean(), errors.std()), rel=1e-7, abs=1e-9)
    assert (result.best, result.worst) == pytest.approx((errors.min(), errors.max()), rel=1e-7, abs=1e-10)
    assert {score.rule for score in result.scores} == set(RULES) - {"random"}
    for score in result.scores:
        assert score.value == pytest.approx(
            plain_error(similarity, score.order, **scored, learned=options["learned"]), rel=1e-9, abs=1e-11
        )
        below, at_most = (errors < score.value - 1e-8).mean(), (errors <= score.value + 1e-8).mean()
        assert below - 1e-12 <= score.quantile <= at_most + 1e-12


def test_sampled_statistics_agree_with_the_whole_truth():
    similarity = correlation(9, 5)
    exact = compare(similarity[:8, :8], retention=1)
    sampled = compare(similarity, num_random=4000, retention=1)
    assert exact.random_exact
    assert not sampled.random_exact
    assert sampled.random_count == 4000
    from taskorder import expected_random_error

    truth = expected_random_error(similarity)
    assert truth.exact
    assert abs(sampled.random_mean - truth.mean) < 4 * sampled.random_sem
    assert sampled.random_std == pytest.approx(truth.std, rel=0.1)


def test_best_first_and_worst_last():
    result = compare(chain(6, 0.7), retention=1)
    errors = [score.value for score in result.scores]
    assert errors == sorted(errors)
    assert result.scores[0].value == pytest.approx(solve(chain(6, 0.7), retention=1).error, rel=1e-12)
    assert result.scores[0].quantile < 0.01
    assert result.scores[-1].rule == "worst"
    assert result.scores[-1].quantile > 0.99


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.eye(4), "Order does not matter here"),
        (chain(6, 0.8), "Order matters here"),
        (chain(4, 0.01), "hardly matters"),
    ],
)
def test_the_verdict_is_plain(matrix, sentence):
    assert sentence in compare(matrix, retention=1).verdict


def test_rules_that_cannot_use_weights_are_still_scored_under_them():
    weights = [5, 1, 1, 1]
    result = compare(chain(4, 0.6), weights=weights, retention=1)
    for score in result.scores:
        assert score.value == pytest.approx(final_error(chain(4, 0.6), score.order, weights=weights))


def test_json_holds_everything():
    result = compare(chain(4, 0.6), names=["a", "b", "c", "d"], retention=1)
    data = json.loads(result.to_json())
    assert data["names"] == ["a", "b", "c", "d"]
    assert len(data["scores"]) == len(RULES) - 1
    assert data["verdict"] == result.verdict


def test_a_foolish_sample_size_is_refused():
    with pytest.raises(ValueError, match="`num_random` must be an integer of at least 2, got 1"):
        compare(chain(4, 0.5), num_random=1, retention=1)


def test_rules_that_were_cut_short_are_named_and_no_others():
    done = compare(correlation(10, 3), time_limit=None, retention=1)
    assert all(score.complete for score in done.scores)
    assert done.notes == ()
    cut = compare(correlation(40, 3), watch=lambda *_: True, retention=1)
    unfinished = {score.rule for score in cut.scores if not score.complete}
    assert {"optimal", "worst"} <= unfinished <= {"optimal", "worst", "first-order", "max-path", "min-path"}
    said, _, named = cut.notes[-1].partition(": ")
    assert said == "stopped by request before these were finished"
    assert set(named.split(", ")) == unfinished
    assert cut.verdict.startswith("Order matters here: the best order found ends with ")
    assert "comes closest" not in cut.verdict


def test_searches_at_other_retentions_that_were_cut_short_are_told(monkeypatch):
    """They change with the machine, so the comparison says that they may."""

    def told(comparison):
        return [note for note in comparison.notes if note.startswith("out of time for ")]

    ticks = itertools.count()
    rules = {"optimal": RULES["optimal"], "row-sums": RULES["row-sums"]}
    monkeypatch.setattr("taskorder.ordering.compare.RULES", rules)
    assert told(compare(correlation(9, 3), num_random=50)) == []
    monkeypatch.setattr(clock, "time", types.SimpleNamespace(perf_counter=lambda: 0.05 * next(ticks)))
    cut = compare(correlation(12, 3), num_random=50)
    assert told(cut)
    assert cut["optimal"].proven
    assert told(compare(correlation(12, 3), num_random=50, retentions=())) == []


def test_a_count_of_numpy_is_a_count():
    assert compare(correlation(9, 5), num_random=np.int64(60), retention=1).random_count == 60


def test_the_retention_is_the_one_that_was_given():
    assert compare(chain(12, 0.5), retention=0.13, num_random=20, retentions=()).retention == 0.13
    assert compare(chain(2, 0.5), retention=[0.1, 0.3], retentions=()).retention == pytest.approx(0.2)
