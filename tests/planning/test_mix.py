"""Sequence or mix: what a sequence costs against all tasks at once, and what a strategy buys back."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import SGDClassifier, SGDRegressor

from taskorder import plan, run_pilot
from taskorder.learners import Replay, SklearnLearner, score
from taskorder.planning.mix import competing_outputs, mixable, sequence_or_mix, strategy_words
from taskorder.planning.pilot import pilot_sample, sample_apart
from taskorder.records import Plan, SequenceOrMix
from taskorder.strategies import EWC, Distill, L2Init
from taskorder.task import Task, align
from taskorder.task.mixed import MixedTask

from .pupils import black_box, learner, names, turned


def lines(count=4, size=120, apart=1.0):
    """Each task has a line of its own, turned by `apart`, and all share their outputs."""
    return align([Task(f"t{k}", *turned(k * apart, k, size)) for k in range(count)])


def replaying(kept=10, epochs=2):
    return SklearnLearner(SGDClassifier(loss="log_loss", alpha=0.01), epochs=epochs, strategy=Replay(kept))


def test_the_numbers_are_those_of_learning_it_by_hand():
    sample, order = sample_apart(lines(), 40), (2, 0, 3, 1)
    own = replaying()
    plain = own.with_strategy(None)
    found = sequence_or_mix(sample, mixable(own, sample), order, (0, 5), weights=np.array([1.0, 2, 1, 0]))

    def mean(learner, tasks, seed):
        model = learner.make(seed)
        for task in tasks:
            model = learner.fit(model, task)
        return np.array([score(learner, model, task).accuracy for task in sample]) @ [0.25, 0.5, 0.25, 0]

    in_order = [sample[k] for k in order]
    mixed = np.mean([mean(plain, [MixedTask.of(sample)], seed) for seed in (0, 5)])
    sequence, without = (np.mean([mean(each, in_order, seed) for seed in (0, 5)]) for each in (own, plain))
    assert (found.mixed, found.sequence, found.plain) == pytest.approx((mixed, sequence, without))
    assert (found.cost, found.back) == pytest.approx((mixed - sequence, sequence - without))
    assert found.cost_low < found.cost < found.cost_high
    assert found.back_low < found.back < found.back_high
    assert (found.unit, found.outputs, found.num_seeds) == ("accuracy", "shared", 2)


def test_what_is_tested_was_never_learned():
    for size in (10, 0.5, 1.0):
        for task, whole in zip(sample_apart(lines(), size), lines(), strict=True):
            learned, tested = ({row.tobytes() for row in part} for part in (task.inputs, task.eval_inputs))
            assert not learned & tested
            assert len(learned | tested) <= len(whole.targets)
            assert set(task.eval_targets) == {0, 1}
    (same,), (other,) = pilot_sample(lines(1), 10), sample_apart(lines(1), 10)
    np.testing.assert_array_equal(same.inputs, other.inputs)  # enough are left: what is learned stays
    (tiny,) = sample_apart([Task("a", [[1.0], [2.0]], [0, 1])], 1.0)
    assert tiny.eval_inputs is None


def places(count=3):
    """Each task has two classes of its own, at two places of a circle: all can be told apart."""
    rng, tasks = np.random.default_rng(0), []
    for k in range(count):
        label = np.arange(120) % 2 + 2 * k
        angle = label * np.pi / count
        tasks.append(Task(f"t{k}", np.stack([np.cos(angle), np.sin(angle)], 1) + rng.normal(0, 0.1, (120, 2)), label))
    return tasks


def test_numbers_that_are_nearly_all_alike_are_tested_on_what_is_learned():
    """And nothing is learned from equal numbers alone."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    rare = Task("rare", x, np.where(np.arange(400) % 33 == 0, x[:, 0], 0.0), regression=True)
    said, found = [], []
    for seed in range(30):
        try:
            found += sample_apart([rare], 40, seed)
        except ValueError as problem:
            said.append(str(problem))
    assert all(text.startswith("`tasks` must have different numbers to predict in a sample, got") for text in said)
    assert all(len(np.unique(sample.targets)) > 1 for sample in found)
    assert {sample.eval_inputs is None for sample in found} == {True, False}
    assert said
    few = [Task(f"t{k}", x[6 * k : 6 * k + 6], x[6 * k : 6 * k + 6, 0], regression=True) for k in range(2)]
    made = plan(few, SklearnLearner(SGDRegressor()), pilot=6, draws=0, seeds=1)
    assert made.mix is not None
    assert made.notes[-1].endswith("; 2 tasks too small to be tested on other examples than are learned")


def test_forgotten_classes_cost_a_plain_sequence_and_replay_buys_some_back():
    found = plan(places(), replaying(20), pilot=40, draws=50).mix
    assert found.strategy == "replay of 20 examples a class"
    assert found.back_low > 0.1
    assert found.plain < found.sequence
    plain = plan(places(), learner(), pilot=40, draws=50)
    assert plain.mix.cost_low > 0.1
    assert plain.mix.verdict == "so mix the tasks where all data can be kept"
    assert plain.mix.plain is plain.mix.back is None


def test_equal_tasks_cost_nothing():
    tasks = [replace(task, name=f"t{k}") for k, task in enumerate(lines(1, 800) * 4)]
    found = plan(tasks, learner(), pilot=200, draws=50).mix
    assert abs(found.cost) < 0.03
    assert "mix the tasks" not in found.summary()


def test_a_learner_with_a_strategy_that_nobody_can_take_away():
    class Own:
        """Replays by itself."""

        strategy = "mine"

        def __init__(self):
            self.inner = replaying()
            self.make, self.fit, self.loss = self.inner.make, self.inner.fit, self.inner.loss
            self.losses_by_class, self.copy = self.inner.losses_by_class, self.inner.copy

    found = plan(lines(3), Own(), pilot=30, seeds=2, draws=20).mix
    assert found.strategy == "its strategy (str)"
    assert found.back is None
    assert found.cost_low < found.cost < found.cost_high


def test_where_nothing_can_be_mixed_a_note_says_why():
    def said(*args, **options):
        made = plan(*args, draws=0, **options)
        assert made.mix is None
        return [note for note in made.notes if "mixed" in note]

    known = learner().fit(learner().make(0), lines(3)[0])
    assert said(names(3), black_box(np.eye(3)), seeds=1) == [
        "a sequence was not compared with all tasks mixed: the tasks have no data to mix"
    ]
    assert "is not there to mix" in said(lines(3), learner(), model=known, learned=["t0"])[0]
    assert "a race spends its whole budget" in said(lines(3), learner(), budget="0.5 runs")[0]
    assert "only enough for the order" in said(lines(3), learner(), pilot=20, budget=9)[0]
    heads = learner()
    heads.heads, heads.mixes = "task", False
    assert "(`mixes`)" in said(lines(3), heads, pilot=20)[0]

    class ByName(SklearnLearner):
        def fit(self, model, task):
            assert {"t0": 1, "t1": 2, "t2": 3}[task.name]
            return super().fit(model, task)

    own = plan(lines(3), ByName(SGDClassifier(loss="log_loss")), pilot=20, draws=0)
    assert "the learner failed (KeyError: 't0 + t1 + t2'); if it cannot learn several tasks at once" in own.notes[-1]
    assert own.mix is None
    assert said(lines(3), learner(), pilot=20, mix=False) == []
    assert said(lines(1), learner(), pilot=20) == []


def test_the_cost_is_counted_and_kept_in_the_budget(tmp_path):
    tasks, fits = lines(3), []
    whole = plan(tasks, learner(), pilot=40, seeds=2, draws=20, report=lambda done, total: fits.append((done, total)))
    without = plan(tasks, learner(), pilot=40, seeds=2, draws=20, mix=False)
    assert whole.named_order == without.named_order
    assert whole.prediction.cost - without.prediction.cost == pytest.approx(2 * 2 * 3 * 40 / 360)
    assert whole.prediction.mean == without.prediction.mean
    small = run_pilot(tasks, learner(), pilot=40, seeds=2, draws=0, budget=30)
    assert "compared with all tasks mixed on 2 seeds" in small.plan.notes[-1]
    assert len(small.measured.sequences) == 9
    one = run_pilot(tasks, learner(), pilot=40, seeds=3, draws=0, budget=30)
    assert one.plan.mix.num_seeds == 1
    assert one.plan.mix.cost_low is None  # no draws
    store = tmp_path / "fits.sqlite"
    kept = plan(tasks, learner(), pilot=40, seeds=2, draws=20, store=store)
    again = []
    same = plan(tasks, learner(), pilot=40, seeds=2, draws=20, store=store, report=lambda *count: again.append(count))
    assert again == []
    assert kept.mix == same.mix == whole.mix


def test_a_plan_shows_it_everywhere(tmp_path):
    made = plan(lines(3), replaying(), pilot=40, seeds=2, draws=20)
    sentence = made.mix.summary()
    assert f"mix     {sentence}" in made.summary().splitlines()
    assert Plan.from_json(made.to_json()) == made
    flat = made.to_dict(flat=True)
    assert (flat["mix/cost"], flat["mix/verdict"]) == (made.mix.cost, made.mix.verdict)
    assert "Sequence or mix: at the size of the pilot" in made._repr_html_()
    assert "- **Sequence or mix:** at the size of the pilot" in made.to_markdown()
    page = made.report(tmp_path / "page.html").read_text()
    assert "Sequence or mix: at the size of the pilot" in page


@pytest.fixture
def torch():
    """On one thread: more make steps on few numbers slower."""
    module = pytest.importorskip("torch")
    before = module.get_num_threads()
    module.set_num_threads(1)
    yield module
    module.set_num_threads(before)


def test_heads_and_classes_are_named(torch):
    from taskorder.learners import TorchLearner

    def network():
        return torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 6))

    own = align(places())
    options = {"optimizer_factory": lambda weights: torch.optim.Adam(weights, lr=0.05), "epochs": 5, "batch_size": 16}
    heads = TorchLearner(network, heads="task", **options)
    assert competing_outputs(own, heads) == "task"
    assert competing_outputs(own, learner()) == "class"
    assert competing_outputs(own, heads.with_strategy(None)) == "task"
    assert competing_outputs(lines(3), heads) == "shared"  # equal labels are one head
    assert competing_outputs(lines(3), learner()) == "shared"
    found = plan(own, heads, pilot=40, seeds=2, draws=20)
    assert "all tasks at once, each with a head of its own, reach" in found.mix.summary()
    assert found.mix.mixed > 0.95
    assert "; tested on others" in " ".join(found.notes)
    one = plan(own, TorchLearner(network, **options), pilot=40, seeds=2, draws=20)
    assert "all tasks at once, with all classes in one output layer, reach" in one.mix.summary()
    assert one.mix.cost > found.mix.cost + 0.2


def said(cost, low, high, back=None, ends=(None, None), plain=None):
    strategy = "" if back is None else "replay"
    numbers = (0.8, 0.8 - cost, cost, low, high, plain, back, *ends)
    return SequenceOrMix("accuracy", "shared", strategy, *numbers).summary()


def test_sentences():
    mix = "so mix the tasks where all data can be kept."
    assert said(0.2, 0.1, 0.3).endswith(f"costs 20 points [10, 30], {mix}")
    assert said(0.01, -0.1, 0.2).endswith("costs 1 point [-10, 20], too noisy to tell.")
    assert said(0.0, -0.005, 0.006).endswith("so a sequence costs next to nothing.")
    assert said(-0.05, -0.08, -0.02).endswith("so the sequence does better than the mixture.")
    assert said(0.2, None, None).endswith("costs 20 points, with a noise that nobody knows.")
    bought = said(0.1, 0.05, 0.15, 0.2, (0.1, 0.3), 0.5)
    assert bought.endswith("Its replay buys back 20 [10, 30] of the 30 points that a plain learner loses.")
    assert said(0.1, 0.05, 0.15, 0.02, (-0.1, 0.1), 0.68).endswith("too noisy to tell (2 points [-10, 10]).")
    assert said(0.1, 0.05, 0.15, -0.1, (-0.2, -0.05), 0.8).endswith("than plain training, by 10 points.")
    assert said(-0.1, -0.15, -0.05, 0.1, (0.05, 0.2), 0.8).endswith("adds 10 points [5, 20] to a plain learner.")
    more = said(-0.06, -0.1, -0.02, 0.09, (0.04, 0.14), 0.77)
    assert more.endswith("adds 9 points [4, 14] to a plain learner, which loses 3 points.")
    assert [strategy_words(s) for s in (Replay(1), EWC(3.0), Distill(), L2Init(0.5))] == [
        "replay of 1 example a class", "EWC at strength 3", "distillation at strength 1",
        "a pull to the first weights at strength 0.5",
    ]  # fmt: skip
