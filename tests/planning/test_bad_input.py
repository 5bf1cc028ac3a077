"""Options, tasks and learners that a plan refuses, and learners that fail on the way."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from taskorder.learners import LearnerError, SklearnLearner
from taskorder.planning.plan import plan
from taskorder.task import Task
from taskorder.theory.graphs import chain

from .pupils import black_box, learner, names, turned


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "best"}, "`rule` must be one of auto, optimal"),
        ({"learned": ["Z"]}, "`learned` must name a known task, got 'Z'. Tasks: A, B"),
        ({"learned": ["A", "A"]}, "`learned` must list a task at most once"),
        ({"learned": list("ABCDE")}, "at least one task to order"),
        ({"model": object()}, "`learned` must name the tasks that `model` has learned"),
        ({"budget": 3}, "`budget` must allow one fit for each of the 5 tasks"),
        ({"budget": "soon"}, "`budget` must be a number of fits like 200, a time like 30s"),
        ({"budget": "0 runs"}, "a share of one training run like '0.25 runs'"),
        ({"budget": "0.25 runs"}, "`budget` must be fits or a time for tasks without data"),
        ({"retention": 1.2}, r"`retention` must be in \[0, 1\], got 1.2. 0.13 is usual for plain networks."),
        ({"retention": [0.1, 0.2]}, "`retention` must be one number or 5, one for each task"),
        ({"retention": {"A": 0.1}}, "`retention` must have one number for each task, got a mapping where 'B' is"),
        ({"seeds": 0}, "`seeds` must"),
        ({"sample_seed": -1}, "`sample_seed` must be a nonnegative integer, got -1"),
        ({"draws": -1}, "`draws` must be a whole number of resamples"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        plan(names(), black_box(chain(5, 0.5)), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Task("a", [[1.0], [2.0]], [0, 0]), "at least two classes"),
        (lambda: Task("a", np.empty((0, 2)), []), "at least one example"),
        (lambda: Task("a", [[1.0], [np.nan]], [0, 1]), "must be finite"),
        (lambda: Task("a", np.ones((40, 3)), [0, 1] * 20), "inputs of one shape"),
    ],
)
def test_bad_tasks_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        plan([Task("b", *turned(0, 0)), make()], learner(), pilot=0.5)


@pytest.mark.parametrize(
    ("odd", "said"),
    [(SGDClassifier(), "got SGDClassifier"), (SklearnLearner, "the class SklearnLearner"), (None, "None")],
)
def test_what_is_no_learner_is_refused_with_what_to_write(odd, said):
    with pytest.raises(ValueError, match=rf"`learner` must have make, fit and loss, .*{said}.* SklearnLearner\("):
        plan([Task(name, *turned(0, 0)) for name in "ab"], odd, pilot=0.5)


def test_a_learner_that_cannot_say_what_it_is_is_named(tmp_path):
    class Nameless(SklearnLearner):
        def describe(self):
            raise KeyError("no\nweights")

    with pytest.raises(ValueError, match=r"^`learner` must say what it is, got KeyError: .*\. Mend"):
        plan(
            [Task(name, *turned(0, 0)) for name in "ab"], Nameless(SGDClassifier()), pilot=0.5, store=tmp_path / "kept"
        )


def test_a_pilot_smaller_than_the_classes():
    with pytest.raises(ValueError, match="at least one example of each of its 2 classes"):
        plan([Task(name, *turned(0, 0)) for name in "ab"], learner(), pilot=1)


@pytest.mark.parametrize("kind", ["raises", "nan"])
def test_a_learner_that_fails_on_the_third_fit_is_named_and_can_go_on(tmp_path, kind):
    tasks = [Task(f"turn {k}", *turned(k * 0.6, k)) for k in range(3)]
    fits = []

    class Failing(SklearnLearner):
        def fit(self, model, task):
            fits.append(task.name)
            if len(fits) == 3 and kind == "raises":
                raise MemoryError("no room")
            return super().fit(model, task)

        def losses_by_class(self, model, inputs):
            losses = super().losses_by_class(model, inputs)
            return losses * np.nan if len(fits) == 3 and kind == "nan" else losses

    broken = Failing(SGDClassifier(loss="log_loss", alpha=0.01), epochs=2)
    options = {"pilot": 0.5, "seeds": 1, "draws": 5, "store": tmp_path / "fits.sqlite"}
    with pytest.raises(LearnerError, match=r"learning 'turn \d'( after 'turn \d')?, seed 0, fit 3 of 9"):
        plan(tasks, broken, **options)
    counts = []
    resumed = plan(tasks, broken, **options, report=lambda done, total: counts.append((done, total)))
    assert counts[-1][0] == counts[-1][1] <= 9
    assert resumed.order == plan(tasks, learner(), pilot=0.5, seeds=1, draws=5).order
