"""The audit: known variances come back, intervals cover, tests keep their level, and numbers of runs suffice."""

import csv
import gzip
import io
import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder.audit.audit import audit_results
from taskorder.audit.comparisons import order_test, pair_test, regret_of, scores
from taskorder.audit.components import crossed_split, design_of, nested_split
from taskorder.audit.disparity import disparities
from taskorder.audit.power import POWER, needs, power_of, runs_needed
from taskorder.audit.reading import read_results
from taskorder.audit.results import Results, results_from_rows

NUM = 300
"""Simulations; a coverage of 95 % has a standard error of 1.3 points."""


def draw(rng, orders, seeds, order, seed, rest):
    """A table with these variances."""
    effects = np.sqrt(order) * rng.standard_normal((orders, 1)) + np.sqrt(seed) * rng.standard_normal((1, seeds))
    return 0.5 + effects + np.sqrt(rest) * rng.standard_normal((orders, seeds))


def results(accuracy, **more):
    """Results of an (orders, seeds, tasks) array."""
    names = [tuple(str(place) for place in range(size)) for size in accuracy.shape]
    return Results(names[0], names[1], names[2], more.pop("task_names", names[2]), accuracy)


def test_components_are_those_of_the_analysis_of_variance():
    table = draw(np.random.default_rng(3), 7, 4, 1e-3, 5e-4, 2e-4)
    split = crossed_split(table)
    pairs = {
        "seed": np.mean([(row[i] - row[j]) ** 2 / 2 for row in table for i, j in itertools.permutations(range(4), 2)]),
        "order": np.mean(
            [(col[i] - col[j]) ** 2 / 2 for col in table.T for i, j in itertools.permutations(range(7), 2)]
        ),
        "both": np.mean(
            [
                (table[a, s] - table[b, t]) ** 2 / 2
                for a, b in itertools.permutations(range(7), 2)
                for s, t in itertools.permutations(range(4), 2)
            ]
        ),
    }
    # half the mean squared difference of runs that share the order, the seed, or neither
    assert split.variance("order") == pytest.approx(pairs["both"] - pairs["seed"])
    assert split.variance("seed") == pytest.approx(pairs["both"] - pairs["order"])
    assert split.variance("rest") == pytest.approx(pairs["seed"] + pairs["order"] - pairs["both"])
    assert sum(part.share for part in split.components) == pytest.approx(1)


@pytest.mark.parametrize(("orders", "seeds", "variances"), [(10, 3, (1.0, 0.2, 0.5)), (6, 6, (0.3, 0.0, 1.0))])
def test_intervals_cover_the_truth(orders, seeds, variances):
    rng = np.random.default_rng(0)
    hits, found = np.zeros((2, 3)), []
    for number in range(NUM):
        split = crossed_split(draw(rng, orders, seeds, *variances), seed=number)
        found.append([part.variance for part in split.components])
        for place, (part, truth) in enumerate(zip(split.components, variances, strict=True)):
            hits[0, place] += part.low <= truth <= part.high
            hits[1, place] += part.share_low <= truth / sum(variances) <= part.share_high
    assert (hits / NUM > 0.915).all(), hits / NUM
    assert hits.min() < NUM  # an interval that always covers says nothing
    np.testing.assert_allclose(np.mean(found, axis=0), variances, atol=0.08)


def test_intervals_of_runs_within_orders_cover_too():
    rng = np.random.default_rng(1)
    hits = np.zeros(2)
    for number in range(NUM):
        table = np.sqrt(0.5) * rng.standard_normal((8, 1)) + rng.standard_normal((8, 4))
        missing = rng.random((8, 4)) < 0.3
        missing[:, 0] = missing[0, 1] = False  # a run for every order, and two for one of them
        table[missing] = np.nan
        split = nested_split(table, seed=number)
        hits += [part.low <= truth <= part.high for part, truth in zip(split.components, (0.5, 1.0), strict=True)]
    assert (hits / NUM > 0.9).all(), hits / NUM


def test_the_tests_keep_their_level():
    """With orders that are all alike, the F-test and Tukey's find a difference in 5 % of the tables."""
    rng = np.random.default_rng(2)
    found = np.zeros(2)
    for _ in range(NUM):
        table = draw(rng, 6, 4, 0.0, 0.5, 1.0)
        split = crossed_split(table)
        found += [order_test(split).p < 0.05, not all(s.as_good_as_best for s in scores(table, tuple("abcdef"), split))]
    assert (found / NUM < 0.09).all(), found / NUM
    assert (found > 0).all()


def test_a_range_of_alike_orders_is_noise_and_one_of_different_orders_is_not():
    rng = np.random.default_rng(4)
    found = []
    for number in range(40):
        accuracy = rng.standard_normal((1, 4, 3)) + rng.standard_normal((8, 4, 3))
        parts, average, largest = disparities(accuracy, tuple("xyz"), replicated=True, crossed=True, seed=number)
        assert average.value == pytest.approx(np.mean([part.value for part in parts]))
        assert largest.value == max(part.value for part in parts)
        found.append([average.value, average.noise, largest.value, largest.noise])
    means = np.mean(found, axis=0)
    assert means[1] == pytest.approx(means[0], rel=0.07)
    assert means[3] == pytest.approx(means[2], rel=0.07)
    shifted = accuracy + 5 * np.arange(8)[:, None, None]
    _, average, _ = disparities(shifted, tuple("xyz"), replicated=True, crossed=True)
    assert average.value > 30
    assert average.noise == pytest.approx(means[1], rel=0.5)


def test_the_true_regret_lies_between_the_two_estimates():
    rng = np.random.default_rng(5)
    truth = np.linspace(0, 1, 8)
    observed, validated = [], []
    for _ in range(NUM):
        found = regret_of(truth[:, None] + rng.standard_normal((8, 4)), tuple("abcdefgh"), 2, crossed=True)
        observed.append(found.observed)
        validated.append(found.cross_validated)
    regret = truth.max() - truth[2]
    assert np.mean(validated) + 0.05 < regret < np.mean(observed) - 0.05


def test_the_number_of_runs_is_enough_and_no_more():
    """Simulated t-tests find the difference as often as promised."""
    from scipy.special import stdtrit

    rng = np.random.default_rng(6)
    order, seed, rest, gap = 2.0, 0.5, 1.0, 1.5
    asked = needs(order, seed, rest, gap, paired=True)
    trials = 2000
    for seeds, orders in asked.orders[:2]:
        scale = np.sqrt(order + (seed + rest) / seeds)
        a, b = (scale * rng.standard_normal((trials, orders)) for _ in range(2))
        pooled = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / orders)
        found = np.abs(a.mean(axis=1) - b.mean(axis=1) + gap) / pooled > stdtrit(2 * orders - 2, 0.975)
        assert np.mean(found) == pytest.approx(POWER, abs=0.04)
    pairs = gap + np.sqrt(2 * rest) * rng.standard_normal((trials, asked.seeds))
    tested = [pair_test(np.stack([row, 0 * row]), ("a", "b"), 0, 1).p < 0.05 for row in pairs]
    assert np.mean(tested) > POWER - 0.03
    assert (
        power_of(asked.seeds - 1, 2 * rest, gap, paired=True)
        < POWER
        <= power_of(asked.seeds, 2 * rest, gap, paired=True)
    )


@given(st.floats(1e-6, 10), st.floats(0.01, 3), st.booleans())
def test_the_number_of_runs_is_the_smallest(variance, gap, paired):
    num = runs_needed(variance, gap, paired=paired)
    assert power_of(num, variance, gap, paired=paired) >= POWER
    assert num <= 2 or power_of(num - 1, variance, gap, paired=paired) < POWER


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # of SciPy before 1.14
def test_the_power_is_that_of_the_noncentral_t():
    from scipy import stats

    for num, gap, paired in ((2, 0.5, True), (5, 1.0, False), (17, 1.0, False), (40, 0.3, True)):
        freedom, shift = (num - 1) * (1 if paired else 2), gap * np.sqrt(num / 2)
        limit = stats.t.ppf(0.975, freedom)
        truth = stats.nct.sf(limit, freedom, shift) + stats.nct.cdf(-limit, freedom, shift)
        assert power_of(num, 2.0, gap, paired=paired) == pytest.approx(truth, abs=1e-4)


def test_differences_too_small_for_a_million_runs():
    assert runs_needed(1.0, 1e-6, paired=False) is None
    assert runs_needed(0.0, 0.1, paired=True) == 2


def test_the_paired_test_is_that_of_scipy():
    from scipy import stats

    rng = np.random.default_rng(7)
    table = rng.standard_normal((2, 9))
    ours, theirs = pair_test(table, ("a", "b"), 0, 1), stats.ttest_rel(table[0], table[1])
    assert ours.p == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval()))
    apart = np.full((2, 9), np.nan)
    apart[0, :4], apart[1, 4:] = table[0, :4], table[1, 4:]
    ours, theirs = pair_test(apart, ("a", "b"), 0, 1), stats.ttest_ind(table[0, :4], table[1, 4:], equal_var=False)
    assert (ours.p, ours.num_pairs) == (pytest.approx(theirs.pvalue), 0)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_missing_runs():
    table = np.ones((4, 3))
    assert design_of(table)[0] == "crossed"
    table[2, 1] = np.nan
    design, rows, columns = design_of(table)
    assert (design, rows.tolist(), columns.tolist()) == ("crossed", [0, 1, 3], [0, 1, 2])
    own = np.full((3, 6), np.nan)  # every order has two seeds of its own
    own[[0, 0, 1, 1, 2, 2], range(6)] = 1
    assert design_of(own)[0] == "nested"
    assert design_of(own[:, ::2])[0] == "one seed"
    assert design_of(table[:1])[0] == "one order"
    assert design_of(table[:1, :1])[0] == "one run"


def accuracy_table(seed=0, order=0.05, noise=0.01, shape=(6, 4, 3)):
    rng = np.random.default_rng(seed)
    return 0.7 + order * rng.standard_normal((shape[0], 1, 1)) + noise * rng.standard_normal(shape)


def test_verdicts():
    strong = audit_results(results(accuracy_table()), used="3", compare=[("0", "1")])
    assert strong.verdict.startswith("Order matters: it makes 9")
    assert strong.test.p < 1e-6
    assert strong.orders[0].mean == max(score.mean for score in strong.orders)
    weak = audit_results(results(accuracy_table(order=0.0, shape=(12, 10, 3))))
    assert weak.verdict.startswith("No effect of the order stands out from the noise")
    few = audit_results(results(accuracy_table(seed=1, order=0.0, shape=(3, 2, 3))))
    assert few.verdict.startswith("These runs cannot tell whether order matters")
    same = audit_results(results(np.full((3, 2, 2), 0.5)))
    assert same.verdict.startswith("All runs have the same final average accuracy")
    one_seed = audit_results(results(accuracy_table(shape=(5, 1, 3))), used="0", compare=[("0", "1")])
    assert "order and noise cannot be told apart" in one_seed.verdict
    assert (one_seed.components, one_seed.test, one_seed.needs, one_seed.aopd.noise) == ((), None, None, None)
    assert (one_seed.regret.cross_validated, one_seed.pairs[0].p) == (None, None)
    one_order = audit_results(results(accuracy_table(shape=(1, 5, 3))))
    assert one_order.verdict.startswith("One order: nothing can be said about the order")
    assert [part.source for part in one_order.components] == ["seed"]
    assert "One run says nothing" in audit_results(results(accuracy_table(shape=(1, 1, 3)))).verdict
    for audit in (strong, weak, few, same, one_seed, one_order):
        assert json.loads(audit.to_json())["verdict"] == audit.verdict
        assert audit.summary().endswith(audit.verdict)


def test_more_orders_than_there_are():
    found = results_from_rows(enumerate(rows_of(accuracy_table()), 2), "a")
    audit = audit_results(found, difference=0.02)
    assert audit.needs.possible_orders == 6
    assert audit.needs.orders[0][1] > 6
    assert "only 6 orders exist: run all of them with both methods" in audit.summary()
    assert "orders exist" not in audit_results(found, difference=0.3).summary()
    assert audit_results(results(accuracy_table())).needs.possible_orders is None  # orders with names of their own


def test_no_noise_at_all_is_an_infinite_f():
    accuracy = np.repeat(np.linspace(0.5, 0.9, 4)[:, None, None], 3, axis=1)
    audit = audit_results(results(accuracy))
    assert (audit.test.f, audit.test.p) == (None, 0.0)
    assert json.loads(audit.to_json())["test"]["f"] is None
    assert audit.components[0].share == 1


def test_adding_to_an_order_or_a_seed_changes_only_their_component():
    table = draw(np.random.default_rng(8), 5, 4, 1.0, 1.0, 1.0)
    base, shifted = crossed_split(table), crossed_split(table + np.linspace(0, 9, 4))
    assert shifted.order_f == pytest.approx(base.order_f)
    assert shifted.variance("order") == pytest.approx(base.variance("order"))
    assert shifted.variance("seed") > base.variance("seed") + 1


# reading


def rows_of(accuracy, scale=1.0, **extra):
    """Lines of a table of three tasks in all six orders."""
    ways = [">".join(map(str, way)) for way in itertools.permutations(range(3))]
    return [
        {"order": ways[o], "seed": str(s), "task": str(t), "accuracy": repr(float(scale * accuracy[o, s, t])), **extra}
        for o, s, t in itertools.product(*map(range, accuracy.shape))
    ]


def write(path, rows, mark=","):
    with io.StringIO() as text:
        writer = csv.DictWriter(text, list(rows[0]), delimiter=mark)
        writer.writeheader()
        writer.writerows(rows)
        data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_files_of_all_kinds_say_the_same(tmp_path):
    accuracy = accuracy_table()
    rows = rows_of(accuracy)
    plain = read_results(write(tmp_path / "a.csv", rows))
    np.testing.assert_array_equal(plain.accuracy, accuracy)
    assert plain.orders == ("0>1>2", "0>2>1", "1>0>2", "1>2>0", "2>0>1", "2>1>0")
    shuffled = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    spaced = [{**row, "order": row["order"].replace(">", " -> ")} for row in shuffled]
    for number, other in enumerate(
        (
            write(tmp_path / "b.csv.gz", shuffled),
            write(tmp_path / "c.tsv", spaced, "\t"),
            write(tmp_path / "d.csv", rows, ";"),
            write(tmp_path / "e.csv", rows_of(accuracy, scale=100)),
        )
    ):
        found = read_results(other)
        np.testing.assert_allclose(found.accuracy, accuracy, atol=0 if number < 3 else 1e-12)
        assert (found.orders, found.seeds, found.tasks) == (plain.orders, plain.seeds, plain.tasks)


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_names_of_tasks_orders_and_seeds_do_not_matter(seed):
    accuracy = accuracy_table(seed)
    base = audit_results(results_from_rows(enumerate(rows_of(accuracy), 2), "a"))
    names = dict(zip("012", ("owl", "cat", "emu"), strict=True))
    renamed = [
        {**row, "task": names[row["task"]], "order": ">".join(names[t] for t in row["order"].split(">")),
         "seed": f"run {row['seed']}"}
        for row in rows_of(accuracy)
    ]  # fmt: skip
    other = audit_results(results_from_rows(enumerate(renamed, 2), "a"))
    assert other.test.p == pytest.approx(base.test.p)
    assert other.aopd.value == pytest.approx(base.aopd.value)
    assert [s.mean for s in other.orders] == pytest.approx([s.mean for s in base.orders])


def test_only_the_last_step_of_an_export_counts():
    accuracy = accuracy_table()
    last = rows_of(accuracy, step="3", kind="neural.orders.2", set="0", task_name="x", position="1", loss="0.1")
    early = rows_of(
        accuracy * 0 + 0.1, step="1", kind="neural.orders.2", set="0", task_name="x", position="1", loss="9"
    )
    found = results_from_rows(enumerate(early + last, 2), "a")
    np.testing.assert_array_equal(found.accuracy, accuracy)
    sets = last + [{**row, "set": "1"} for row in last]
    with pytest.raises(ValueError, match=r"on lines 2 and 74\. Choose one with --where set=0"):
        results_from_rows(enumerate(sets, 2), "a")
    other = [{**row, "set": "1", "seed": "9" + row["seed"]} for row in last]
    with pytest.raises(
        ValueError, match=r"must hold one experiment, got several with set 0, 1\. Choose one with --where set"
    ):
        results_from_rows(enumerate(last + other, 2), "a")
    assert results_from_rows(enumerate(sets, 2), "a", {"set": "1"}).accuracy.shape == (6, 4, 3)


def test_names_of_tasks_find_an_order():
    names = dict(zip("012", ("owl", "cat", "emu"), strict=True))
    rows = [{**row, "task_name": names[row["task"]]} for row in rows_of(accuracy_table())]
    found = results_from_rows(enumerate(rows, 2), "a")
    assert found.task_names == ("owl", "cat", "emu")
    assert found.find("emu -> owl -> cat", "--used") == found.find("2>0>1", "--used") == 4
    with pytest.raises(ValueError, match=r"`--used` must name an order of the results, got 'emu>cat'. Orders: 0>1>2, "):
        found.find("emu>cat", "--used")


def test_orders_with_names_of_their_own():
    rows = [{**row, "order": "abcdef"[int(row["order"][0])]} for row in rows_of(accuracy_table())]
    unique = {(row["order"], row["seed"], row["task"]): row for row in rows}
    assert results_from_rows(enumerate(unique.values(), 2), "a").orders == ("a", "b", "c")


def test_a_run_without_a_task_is_left_out_and_said():
    rows = rows_of(accuracy_table())
    found = results_from_rows(enumerate(rows[1:], 2), "a")
    assert found.notes == ("1 runs lack a task and are left out (order 0>1>2, seed 0 has no task 0)",)
    audit = audit_results(found)
    assert (audit.design, audit.num_runs) == ("crossed", 20)
    assert audit.notes[1].startswith("3 of 23 runs are left out")
    with pytest.raises(ValueError, match="`--used` must name an order with the seeds of the others, got '0>1>2'"):
        audit_results(found, used="0>1>2")


def test_other_columns_that_vary_are_noted():
    rows = [{**row, "host": "ab"[int(row["seed"]) % 2]} for row in rows_of(accuracy_table())]
    (note,) = results_from_rows(enumerate(rows, 2), "a").notes
    assert note == "column host has several values (a, b) and is not looked at; --where host=... keeps one"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accuracy": "nan"}, "accuracies from 0 to 1 or from 0 to 100, got 'nan' on line 3"),
        ({"accuracy": "high"}, "got 'high' on line 3"),
        ({"accuracy": ""}, "got '' on line 3"),
        ({"accuracy": "-0.1"}, "got '-0.1' on line 3"),
        ({"accuracy": "101"}, "got '101' on line 3"),
        ({"accuracy": "1.2"}, "all from 0 to 1 or all from 0 to 100, got a mixture: 1.2 on line 3"),
        ({"accuracy": "70"}, "all from 0 to 1 or all from 0 to 100, got a mixture: 70 on line 3"),
        ({"order": "0>1>3"}, "must have the same tasks in every order, got '0>1>3' on line 3"),
        ({"order": "0>1"}, "must have the same tasks in every order, got '0>1' on line 3"),
        ({"order": "mine"}, "must have the same tasks in every order, got 'mine' on line 3"),
        ({"order": "0>1>1"}, "must have orders like 2>0>1 with each task once, got '0>1>1' on line 3"),
        ({"order": ""}, "must have orders like 2>0>1 with each task once, got '' on line 3"),
        ({"task": "7"}, "got task '7' on line 3, which is not in '0>1>2'"),
        ({"seed": ""}, "must have a seed and a task in every row, got a blank on line 3"),
        ({"task": "0"}, "got order 0>1>2, seed 0, task 0 on lines 2 and 3. Drop one of them"),
        ({"task": "0", "seed": "0"}, "on lines 2 and 3"),
    ],
)
def test_bad_rows_are_named_with_their_line(change, message):
    rows = rows_of(accuracy_table())
    rows[1] = {**rows[1], **change}
    with pytest.raises(ValueError) as found:  # noqa: PT011
        results_from_rows(enumerate(rows, 2), "a.csv")
    assert message in str(found.value)
    assert str(found.value).startswith("`a.csv` must")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "must have rows of results below a header, got none"),
        (b"order,seed,task,accuracy\n", "must have rows of results below a header, got none"),
        (b"order,seed,accuracy\n0>1,1,0.5\n", "must have the columns order, seed, task, accuracy, got no 'task' among"),
        (b"order,seed,task,accuracy\n0>1,1,0\n", "must have 4 cells a row, got 3 on line 2"),
        (b"order,seed,seed,accuracy\n", "must name each column once, got 'seed' twice on line 1"),
        (b"order,seed,task,accuracy\n\xff,1,0,0.5\n", "must be UTF-8 text, got an odd byte on line 2"),
        (
            b"order,seed,task,accuracy,step\n0>1,1,0,0.5,first\n",
            "must have whole numbers as steps, got 'first' on line 2",
        ),
        (b"order,seed,task,accuracy,step\n0>1,1,0,0.5,1\n", "must have rows of the last step of an order, got none"),
        (b"order,seed,task,accuracy,step\nmine,1,0,0.5,1\n", "must have orders like 2>0>1 beside a column step"),
        (b"order,seed,task,accuracy\n0>1,1,0,0.5\n0>1,2,1,0.5\n", "must have runs with every task, got none"),
        (b"\x1f\x8b damaged", "must be a readable file, got"),
    ],
)
def test_bad_files_are_named(tmp_path, data, message):
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(ValueError) as found:  # noqa: PT011
        read_results(tmp_path / "a.csv")
    assert message in str(found.value)
    assert "\n" not in str(found.value)


@given(st.lists(st.lists(st.text("0>1,.n-\"'a;\t ", max_size=6), min_size=4, max_size=4), max_size=6))
def test_any_text_is_read_or_refused_in_one_line(cells):
    rows = [dict(zip(("order", "seed", "task", "accuracy"), row, strict=True)) for row in cells]
    said = ""
    try:
        found = results_from_rows(enumerate(rows, 2), "a")
    except ValueError as problem:
        said = str(problem)
    if said:
        assert "must" in said
        assert "\n" not in said
    else:
        assert audit_results(found).verdict


def test_bad_options():
    found = results(accuracy_table())
    for gap in (0, 1, -1, float("nan")):
        with pytest.raises(ValueError, match="`difference` must be above 0 and below 1"):
            audit_results(found, difference=gap)
    with pytest.raises(ValueError, match="`--compare` must name an order"):
        audit_results(found, compare=[("0", "z")])
    with pytest.raises(ValueError, match="`--where` must name a column, got 'color'"):
        results_from_rows(enumerate(rows_of(accuracy_table()), 2), "a", {"color": "red"})
    with pytest.raises(ValueError, match="`--where` must leave rows of a last step, got none for seed=99"):
        results_from_rows(enumerate(rows_of(accuracy_table()), 2), "a", {"seed": "99"})
