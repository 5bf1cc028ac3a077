"""What the pictures of plans and comparisons show, as numbers."""

from dataclasses import replace
from html import escape

import pytest

from taskorder import Task, chain, compare, run_pilot, solve
from taskorder.learners import CallableLearner
from taskorder.plots.draw import draw
from taskorder.plots.results import comparison_drawing, plan_drawing

from .figures import texts

NAMES = ["ants", "bees", "cats", "dogs"]


def by_label(panel):
    return {series.label: series for series in panel.series}


def test_a_plan_shows_each_task_at_its_step():
    plan = solve(chain(4, 0.6), names=NAMES)
    (panel,) = plan_drawing(plan).panels
    series = by_label(panel)
    assert panel.steps == plan.named_order
    assert series["at the end"].x == (0.5, 1.5, 2.5, 3.5)
    assert series["at the end"].y == tuple(plan.knowledge[task] for task in plan.order)
    assert series["when just learned"].y[1] == plan.knowledge_path[2][plan.order[1]]
    assert series["mean at the end"].y == (plan.score, plan.score)
    assert panel.y_label == "predicted knowledge"


def test_what_was_learned_before_comes_first_in_brackets():
    plan = solve(chain(4, 0.6), names=NAMES, learned=["dogs"])
    (panel,) = plan_drawing(plan).panels
    assert panel.steps == ("(dogs)", *plan.named_order)
    assert by_label(panel)["when just learned"].y[0] == plan.knowledge_path[0][3]
    assert by_label(panel)["at the end"].y[0] == plan.knowledge[3]


def test_errors_and_repeated_visits():
    plan = solve(chain(3, 0.6), retention=1, visits=5)
    (panel,) = plan_drawing(plan).panels
    assert panel.y_label == "predicted error"
    assert len(panel.steps) == 5
    assert by_label(panel)["at the end"].y == tuple(plan.task_errors[task] for task in plan.order)


def test_a_pilot_shows_intervals_beside_random_orders():
    def answer(learned, test, seed):
        return {"loss": 0.3 if learned[-1] == test else 0.8 - 0.1 * seed, "chance": 1.0}

    plan = run_pilot([Task(name) for name in NAMES], CallableLearner(answer), seeds=2, draws=20).plan
    told = plan.prediction
    (panel,) = plan_drawing(plan).panels
    series = by_label(panel)
    tasks = series["this order, 90 % interval"]
    assert (tasks.y, tasks.low, tasks.high) == tuple(
        tuple(values[task] for task in plan.order) for values in (told.tasks, told.tasks_low, told.tasks_high)
    )
    level = series["random orders, mean ± standard deviation"]
    assert level.y == (told.random_mean,) * 2
    assert level.high == (told.random_mean + told.random_std,) * 2
    assert series["this order, mean"].y == (told.mean,) * 2
    assert panel.y_label == f"predicted {told.unit} at the end"
    (alone,) = plan_drawing(replace(plan, prediction=replace(told, tasks_low=None, tasks_high=None))).panels
    assert by_label(alone)["this order"].low is None


def test_a_comparison_shows_its_rules_best_first():
    comparison = compare(chain(4, 0.6), names=NAMES)
    (panel,) = comparison_drawing(comparison).panels
    level, *points = panel.series
    assert panel.steps == tuple(comparison)
    assert [(point.role, point.y) for point in points] == [(s.rule, (s.value,)) for s in comparison.scores]
    assert level.label == "all orders, mean ± standard deviation"
    assert level.low == (comparison.random_mean - comparison.random_std,) * 2


@pytest.mark.parametrize("size", [1, 30, 90])
def test_many_tasks_fit_on_a_page(size):
    plan = solve(chain(size, 0.3), "row-sums", names=[f"task number {k} of many" for k in range(size)])
    picture = draw(plan_drawing(plan))
    assert picture.get_figwidth() <= 8
    (axes,) = picture.axes
    named = [label.get_text() for label in axes.get_xticklabels()]
    assert any(text.startswith("task number") for text in named) == (size <= 40)


def test_the_legend_stands_below_so_that_the_figure_fits_a_column():
    picture = draw(comparison_drawing(compare(chain(4, 0.6))))
    (legend,) = picture.legends
    assert texts(legend) == ["all orders, mean ± standard deviation"]
    picture.draw_without_rendering()
    assert legend.get_window_extent().y1 <= picture.axes[0].get_window_extent().y0
    assert picture.get_suptitle() == ""


@pytest.mark.parametrize("name", ["$\\frac{", "a $x$ b", "two\nlines", "% & # _ ^ { }", "<b>&amp;"])
def test_names_are_no_formulas(name, tmp_path):
    plan = solve(chain(2, 0.5), names=[name, "cats"])
    plan.plot().savefig(tmp_path / "plan.svg")
    svg = (tmp_path / "plan.svg").read_text()
    assert f">{escape(' '.join(name.split()), quote=False)}</text>" in svg
