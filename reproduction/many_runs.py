"""Sets of many image tasks: what single tasks and pilots tell, the orders that are chosen from it, and how these end.

    measure    networks of single tasks, from all data and from 10 to 300 examples a task; pairs of tasks
    choose     one order of the law, of every rule and of a race from each of these tables
    train      60 random orders and the chosen ones, each tested at its end

Tables and orders come from different seeds, so that no order is chosen by the luck of the run that it is judged by.
Results are plain JSON values, one for each task set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.fitting import rank_correlation
from taskorder.checks import Floats
from taskorder.datasets.class_tasks import size_shares
from taskorder.ordering.candidates import similarity_orders, table_orders
from taskorder.ordering.rules import typicality
from taskorder.ordering.solve import solve
from taskorder.prefixes import Prefix
from taskorder.runs.specs import RunSpec
from taskorder.tables.knowledge import knowledge, shrunken_table, transfer_table
from taskorder.tables.loss_ratios import measured_similarity
from taskorder.tables.reading import demo_similarity
from taskorder.theory.closed_form import final_error
from taskorder.theory.law import PLAIN_RETENTION, knowledge_from_similarity
from taskorder.theory.nearest import nearest_correlation
from taskorder.theory.random_orders import knowledge_after
from taskorder.theory.steps import retention_for_steps

KIND = "neural.many-tasks.2"
FULL = "all data"
LAW, RAW, BY_STEPS = "law", "law, raw table", "law, retention by steps"
SUMS, LAST = "row-sums", "last row sum"
TYPICAL, OPTIMAL = "periphery-to-core", "optimal"
RACE = "race"
DEMO = "demo similarity"
RACED = ((30, 1.0), (100, 0.5), (300, 0.25))
"""Examples a task and the share of the tasks, of each round of a race; the last two tasks are learned from all data."""
FINALISTS = 2
OPTIMAL_SECONDS = 3.0
CLASSES = 2
FEW_FROM = 20
"""With more tasks, or uneven ones, only some rules choose: an order is long to train."""
TABLE_SEED, ORDER_SEED = 1, 0
PAIRS_PER_TASK = 2

Tables = Mapping[str, Mapping[str, Any]]
Report = Callable[[int], object]


def measure(params: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each task set, tables of single tasks by source, and moments that tell the retention.

    params: of specs that agree in all but the set.
    """
    from taskorder.engine.estimates import task_pool
    from taskorder.engine.single import single_tasks, transfer_tables
    from taskorder.engine.tree import Curriculum
    from taskorder.engine.whole_orders import train_whole_orders

    data, sets, train, test, net, how = _setting(params)
    P, uneven = params[0]["num_tasks"], params[0]["uneven"]
    places = [tuple(range(P * place, P * (place + 1))) for place in range(len(sets))]
    alone = [single_tasks(tasks, 1000 * each["set"] + TABLE_SEED) for tasks, each in zip(places, params, strict=True)]
    tables = [{FULL: each["test"]} for each in transfer_tables(net, train, alone, {"test": test}, **how)]
    for most in params[0]["samples"]:
        sample = task_pool(data, sets, uneven=uneven, most=most, inputs=train.inputs, length=train.rows.shape[1])
        name = sample_name(most)
        for known, of_sample in zip(tables, transfer_tables(net, sample, alone, {name: sample}, **how), strict=True):
            known[name] = of_sample[name]
    measured: list[dict[str, Any]] = [
        {"tables": {name: _plain(table) for name, table in each.items()}} for each in tables
    ]
    if uneven == 1:  # pairs of uneven tasks would each take their own number of steps
        short = [
            Curriculum(tasks, ((*((k,) for k in range(P)), *_pairs(P, each["set"]))), 1000 * each["set"] + ORDER_SEED)
            for tasks, each in zip(places, params, strict=True)
        ]
        ends = train_whole_orders(net, train, test, short, **how)
        for result, table, curriculum, end in zip(measured, tables, short, ends, strict=True):
            result["retention"] = retention_moments(table[FULL], curriculum.orders, end._asdict())
    return measured


def sample_name(most: int) -> str:
    """The source of a table from so many examples a task.

    >>> sample_name(30)
    '30 examples'
    """
    return f"{most} examples"


def _pairs(P: int, number: int) -> tuple[Prefix, ...]:
    """Ordered pairs: every task is as often first as second."""
    mixed = np.random.default_rng([number, P, 2]).permutation(P).tolist()
    return tuple((mixed[k], mixed[(k + shift) % P]) for shift in range(1, 1 + PAIRS_PER_TASK) for k in range(P))


def retention_moments(table: Mapping[str, Any], orders: Sequence[Prefix], ends: Mapping[str, Floats]) -> list[float]:
    """The sums of x' y, of x' x and of x x over pairs and tasks, whose ratios are the retention and the noise in x.

    y = M_ikj - m_kj on x = m_ij - m_kj m_ik for pairs (i, k) and tasks j other than k; x' is x in the other table,
    which is of another seed.
    """
    other = knowledge(table["loss"], table["chance"], table["accuracy"])
    by_accuracy = (ends["accuracy"] - 1 / CLASSES) / (1 - 1 / CLASSES)
    known = (by_accuracy + 1 - ends["loss"] / ends["chance"]) / 2
    row = {order: known[place] for place, order in enumerate(orders)}
    P = len(other)
    m = np.array([row[(k,)] for k in range(P)])
    sums = np.zeros(3)
    for i, k in (order for order in orders if len(order) == 2):
        others = np.arange(P) != k
        x, again = ((t[i] - t[k] * t[i, k])[others] for t in (m, other))
        sums += again @ (row[i, k] - m[k])[others], again @ x, x @ x
    return [float(value) for value in sums]


def choose(params: Mapping[str, Any], tables: Tables) -> dict[str, Prefix]:
    """The chosen orders of one task set, by "source: way to choose"."""
    P = params["num_tasks"]
    few = P > FEW_FROM or params["uneven"] > 1
    chosen: dict[str, Prefix] = {}
    for source in tables:
        S, C = law_table(params, tables, source), measured_similarity(tables[source])
        ways: dict[str, Prefix] = {}
        by_law = table_orders(S)
        ways[LAW], ways[SUMS] = by_law["law"], by_law["row-sums"]
        ways[TYPICAL] = tuple(np.argsort(typicality(C), kind="stable").tolist())
        if source != FULL and not few:
            ways[RAW] = table_orders(raw_table(tables, source))["law"]
        if source == FULL or not few:
            ways[OPTIMAL] = optimal_order(C)
        if source == FULL:
            last = int(S.sum(axis=1).argmax())
            rest = np.random.default_rng([params["set"], P, 1]).permutation(np.delete(np.arange(P), last))
            ways[LAST] = (*rest.tolist(), last)
            if params["uneven"] > 1:
                steps = np.maximum(1, np.round(2 * _per_class(params)))
                ways[BY_STEPS] = law_order(S, retention_for_steps(steps, PLAIN_RETENTION))
            for rule, orders in similarity_orders(C).items() if P <= FEW_FROM else ():
                for number, order in enumerate(orders):
                    ways[rule + ", reversed" * number] = order
        chosen |= {f"{source}: {way}": order for way, order in ways.items()}
    chosen[RACE] = table_orders(raced_table(params, tables))["law"]
    if params.get("tasks"):
        C, names = demo_similarity()
        assert tuple(params["tasks"]) == tuple(names)
        chosen |= {f"{DEMO}: {way}": order for way, order in demo_orders(C).items()}
    return chosen


def demo_orders(similarity: Floats) -> dict[str, Prefix]:
    """The orders that the similarity which ships with taskorder leads to."""
    by_law = table_orders(knowledge_from_similarity(similarity))
    typical = np.argsort(typicality(similarity), kind="stable")
    return {
        LAW: by_law["law"],
        SUMS: by_law["row-sums"],
        TYPICAL: tuple(typical.tolist()),
        OPTIMAL: optimal_order(similarity),
    }


def law_order(S: Floats, retention: Floats) -> Prefix:
    """The best order of a table under the law, with a retention for each task."""
    return solve(S, retention=retention).order


def optimal_order(similarity: Floats) -> Prefix:
    """The best order by the closed form, within a few seconds."""
    return solve(np.clip(similarity, -1.0, 1.0), retention=1, time_limit=OPTIMAL_SECONDS).order


def raw_table(tables: Tables, source: str) -> Floats:
    """The transfer table as it was measured."""
    table = tables[source]
    return transfer_table(knowledge(table["loss"], table["chance"], table["accuracy"]))


def law_table(params: Mapping[str, Any], tables: Tables, source: str) -> Floats:
    """The transfer table of the law: from a sample, with as much asymmetry as stands out from the noise."""
    if source == FULL:
        return raw_table(tables, source)
    table, most = tables[source], int(source.split()[0])
    counts = CLASSES * np.maximum(1, np.round(np.minimum(_per_class(params), most / CLASSES)))
    return shrunken_table(table["loss"], table["chance"], table["accuracy"], counts)[0]


def _per_class(params: Mapping[str, Any]) -> Floats:
    """(P,) training images of a class of each task."""
    return np.asarray(params["images"] / CLASSES * size_shares(params["num_tasks"], params["uneven"], params["set"]))


def raced_table(params: Mapping[str, Any], tables: Tables) -> Floats:
    """The table that a race ends with: every task on the largest sample that it was learned from.

    The better half by symmetric row sums goes on to 100 examples, a quarter by row sums to 300, two to all data.
    """
    P = params["num_tasks"]
    S = law_table(params, tables, sample_name(RACED[0][0]))
    rated = (S + S.T).sum(axis=1)
    for most, share in RACED[1:]:
        kept = np.argsort(-rated, kind="stable")[: max(FINALISTS, round(share * P))]
        S, rated = _with_rows(S, law_table(params, tables, sample_name(most)), kept)
    kept = np.argsort(-rated, kind="stable")[:FINALISTS]
    return _with_rows(S, law_table(params, tables, FULL), kept)[0]


def _with_rows(S: Floats, larger: Floats, kept: Any) -> tuple[Floats, Floats]:
    """The table with the rows of those that go on, and their row sums; the others are out."""
    S = S.copy()
    S[kept] = larger[kept]
    rated = np.full(len(S), -np.inf)
    rated[kept] = S[kept].sum(axis=1)
    return S, rated


def race_cost(params: Mapping[str, Any]) -> float:
    """The examples that a race learns from, as a share of one training run on all of them."""
    sizes = 2 * _per_class(params)
    P = len(sizes)
    cost = sum(np.minimum(sizes, most).mean() * max(FINALISTS, round(share * P)) for most, share in RACED)
    return float((cost + FINALISTS * sizes.mean()) / sizes.sum())


def random_orders(params: Mapping[str, Any]) -> list[Prefix]:
    """The random orders of a task set."""
    P = params["num_tasks"]
    rng = np.random.default_rng([params["set"], P])
    return [tuple(rng.permutation(P).tolist()) for _ in range(params["num_orders"])]


def train(
    params: Sequence[Mapping[str, Any]], chosen: Sequence[Mapping[str, Prefix]], report: Report | None = None
) -> list[dict[str, Any]]:
    """For each task set, (P,) accuracies at the end of each random order and of each chosen one, in percent."""
    from taskorder.engine.tree import Curriculum
    from taskorder.engine.whole_orders import train_whole_orders

    train_pool, test, net, how = _setting(params)[2:]
    P = params[0]["num_tasks"]
    curricula = [
        Curriculum(
            tuple(range(P * place, P * (place + 1))),
            tuple(dict.fromkeys([*random_orders(each), *orders.values()])),
            1000 * each["set"] + ORDER_SEED,
        )
        for place, (each, orders) in enumerate(zip(params, chosen, strict=True))
    ]
    ends = train_whole_orders(net, train_pool, test, curricula, report=report, **how)
    results = []
    for each, orders, curriculum, end in zip(params, chosen, curricula, ends, strict=True):
        by_order = {
            order: [round(100 * float(value), 2) for value in row]
            for order, row in zip(curriculum.orders, end.accuracy, strict=True)
        }
        results.append(
            {
                "random": [by_order[order] for order in random_orders(each)],
                "chosen": {name: {"order": list(order), "accuracy": by_order[order]} for name, order in orders.items()},
            }
        )
    return results


def predictions(params: Mapping[str, Any], tables: Tables, source: str) -> dict[str, Floats]:
    """For each way, a number for each random order that is larger where more accuracy is predicted."""
    S, C = law_table(params, tables, source), measured_similarity(tables[source])
    orders = np.array(random_orders(params))
    sums, typical, near = S.sum(axis=1), typicality(C), nearest_correlation(C)[0]
    places = np.arange(len(S))
    return {
        LAW: knowledge_after(S, orders, np.full(len(S), PLAIN_RETENTION)).mean(axis=1),
        LAST: sums[orders[:, -1]],
        SUMS: sums[orders] @ places,
        TYPICAL: typical[orders] @ places,
        OPTIMAL: np.array([-final_error(near, order) for order in orders.tolist()]),
    }


def ranks(params: Mapping[str, Any], tables: Tables, random: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
    """By source and way, the rank correlation of predictions with true mean accuracy over the random orders."""
    accuracy = np.mean(random, axis=1)
    return {
        source: {
            name: round(rank_correlation(each, accuracy), 6)
            for name, each in predictions(params, tables, source).items()
        }
        for source in tables
    }


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Results of specs; those that agree in all but the set are trained together."""
    by_setting: dict[str, list[int]] = {}
    for place, spec in enumerate(specs):
        alike = {key: value for key, value in spec.params.items() if key != "set"}
        by_setting.setdefault(RunSpec(spec.kind, alike).digest, []).append(place)
    by_place: dict[int, dict[str, Any]] = {}
    for places in by_setting.values():
        params = [specs[place].params for place in places]
        measured = measure(params)
        chosen = [choose(each, known["tables"]) for each, known in zip(params, measured, strict=True)]
        for place, result in zip(places, joined(params, measured, train(params, chosen)), strict=True):
            by_place[place] = result
    return [by_place[place] for place in range(len(specs))]


def joined(
    params: Sequence[Mapping[str, Any]], measured: Sequence[Mapping[str, Any]], trained: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The results of task sets from their parts, with the rank correlations of what was predicted."""
    return [
        {**known, **ends, "ranks": ranks(each, known["tables"], ends["random"])}
        for each, known, ends in zip(params, measured, trained, strict=True)
    ]


def _setting(params: Sequence[Mapping[str, Any]]) -> Any:
    """Data, task sets, training and test pools, network and options of specs that agree in all but the set."""
    from taskorder.engine.capacity import networks_that_fit
    from taskorder.engine.estimates import task_pool
    from taskorder.engine.train import Recipe
    from taskorder.runs.training import dataset_of, network, task_set

    shared = params[0]
    data = dataset_of(shared["dataset"])
    settings: dict[str, Any] = {"num_tasks": shared["num_tasks"], "classes_per_task": CLASSES}
    if shared.get("tasks"):
        settings["tasks"] = shared["tasks"]
    sets = [task_set(data, settings, each["set"]) for each in params]
    if shared.get("tasks"):  # sizes and seeds are those of the numbered sets
        sets = [replace(drawn, seed=each["set"]) for drawn, each in zip(sets, params, strict=True)]
    share = min(1.0, shared["images"] / CLASSES / int((data.train_labels == data.train_labels[0]).sum()))
    train = task_pool(data, sets, share=share, uneven=shared["uneven"])
    test = task_pool(data, sets, "test")
    net = network(shared["net"], tuple(train.inputs.shape[1:]), CLASSES)
    how = {"recipe": Recipe(shared["epochs"], shared["batch_size"]), "max_networks": networks_that_fit(net)}
    return data, sets, train, test, net, how


def _plain(table: Mapping[str, Floats]) -> dict[str, list[list[float]]]:
    return {kind: [[float(f"{value:.6g}") for value in row] for row in values] for kind, values in table.items()}
