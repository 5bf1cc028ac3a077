"""What learners do against forgetting, each beside the same written out plainly."""

import zlib
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse

pytest.importorskip("sklearn")
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from taskorder.learners import EWC, Distill, KeptExamples, L2Init, Replay, SklearnLearner, learn_orders, score
from taskorder.learners.protocol import copied, described
from taskorder.learners.strategy import Replaying, ReplayMemory
from taskorder.task import Task, align
from taskorder.task.mixed import MixedTask


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Steps on few numbers are slower on several cores."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def points(name="a", seed=0, count=24, labels=(0, 1)):
    """Points in the plane and on which side of a line through zero they are; every task has a line of its own."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 2))
    return Task(name, x, np.where(x @ [np.cos(seed), np.sin(seed)] > 0, labels[1], labels[0]))


def linear(**options):
    return SklearnLearner(SGDClassifier(loss="log_loss"), 2, **options)


def after(learner, tasks, seed=0):
    model = learner.make(seed)
    for task in tasks:
        model = learner.fit(model, task)
    return model


def drawn(seed, task, purpose, visit=0):
    return np.random.default_rng([seed, zlib.crc32(task.encode()), visit, purpose])


def cycled(rng, size, count):
    """Places below `size`, in rounds."""
    rounds = [rng.permutation(size) for _ in range(-(-count // size))]
    return np.concatenate(rounds)[:count]


def kept_rows(task, kept, seed=0):
    priority = drawn(seed, task.name, 2).random(len(task.targets))
    best = np.argsort(-priority)
    return np.sort(np.concatenate([best[task.targets[best] == k][:kept] for k in (0, 1)]))


@pytest.mark.parametrize("network", [False, True], ids=["linear", "network"])
def test_replay_in_scikit_learn_is_a_mixed_pass(network):
    a, b = align([points("a"), points("b", 1)])
    estimator = MLPClassifier((3,), batch_size=6) if network else SGDClassifier(loss="log_loss")
    model = after(SklearnLearner(estimator, 2, strategy=Replay(3)), [a, b])

    plain = type(estimator)(**estimator.get_params()).set_params(random_state=0)
    rng = np.random.default_rng([0, zlib.crc32(b"a"), 0])
    for _ in range(2):
        order = rng.permutation(24)
        plain.partial_fit(a.inputs[order], a.targets[order], classes=[0, 1])
    rows = kept_rows(a, 3)
    if network:
        plain.set_params(batch_size=12)
    rng, other = np.random.default_rng([0, zlib.crc32(b"b"), 0]), drawn(0, "b", 1)
    for _ in range(2):
        order, old = rng.permutation(24), rows[cycled(other, 6, 24)]
        mixed = other.permutation(48)
        x = np.concatenate([b.inputs[order], a.inputs[old]])[mixed]
        plain.partial_fit(x, np.concatenate([b.targets[order], a.targets[old]])[mixed])
    for one, again in zip(
        model.estimator.coefs_ if network else [model.estimator.coef_],
        plain.coefs_ if network else [plain.coef_],
        strict=True,
    ):
        np.testing.assert_array_equal(one, again)
    assert model.estimator.get_params() == {**estimator.get_params(), "random_state": 0}
    if network:
        assert model.estimator.t_ / 24 % 1 == 0
        assert model.estimator.loss_curve_[-1] > 0


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("size", [4, 7, "auto"])
def test_a_network_of_scikit_learn_takes_as_many_steps_with_replay(size, share):
    tasks = align([points("a"), points("b", 1, 30)])
    steps = [
        after(SklearnLearner(MLPClassifier((3,), batch_size=size), 2, strategy=strategy), tasks).estimator._optimizer.t
        for strategy in (None, Replay(3, share=share))
    ]
    assert steps[0] == steps[1] > 0


def test_replay_remembers_what_is_forgotten_without_it():
    tasks = align([points("a", 0, 200), points("b", 1, 200)])
    plain, some, most = (
        score(learner, after(learner, tasks), tasks[0]).accuracy
        for learner in (linear(), linear(strategy=Replay(20)), linear(strategy=Replay(20, share=0.9)))
    )
    assert plain < some < most


def test_the_memory_holds_no_more_than_it_says_and_no_class_twice():
    tasks = align([points(name, k) for k, name in enumerate("abcd")])
    model = after(linear(strategy=Replay(5)), [*tasks, tasks[0]])
    assert [part.task for part in model.memory.parts] == ["b", "c", "d", "a"]
    assert [np.bincount(part.targets).tolist() for part in model.memory.parts] == [[5, 5]] * 4
    few = after(linear(strategy=Replay(500)), tasks[:1])
    assert len(few.memory.parts[0]) == 24
    for kept, room in ((3, 6), (500, 96)):
        reservoir = after(linear(strategy=Replay(kept, memory="reservoir")), tasks).memory
        assert sum(map(len, reservoir.parts)) == room


def test_a_reservoir_keeps_each_example_with_the_same_probability():
    tasks = align([points("a", 0, 10), points("b", 1, 30)])
    counts = {"a": 0, "b": 0}
    replay = Replaying(Replay(2, memory="reservoir"))
    for seed in range(300):
        memory = None
        for task in tasks:
            memory = replay.remember(memory, task, None, drawn(seed, task.name, 2))
        assert sum(map(len, memory.parts)) == 4
        for part in memory.parts:
            counts[part.task] += len(part)
    assert counts["a"] / 1200 == pytest.approx(0.25, abs=0.05)


def test_what_is_kept_depends_on_the_seed_and_the_task_alone():
    a, b, c = align([points(name, k) for k, name in enumerate("abc")])
    learner = linear(strategy=Replay(4))

    def of_c(tasks, seed=0):
        return next(part.inputs for part in after(learner, tasks, seed).memory.parts if part.task == "c")

    np.testing.assert_array_equal(of_c([a, c, b]), of_c([b, a, c]))
    reservoir = linear(strategy=Replay(4, memory="reservoir"))
    one, other = (after(reservoir, tasks).memory.parts for tasks in ([a, b, c], [c, b, a]))
    assert {part.task: part.inputs.tolist() for part in one} == {part.task: part.inputs.tolist() for part in other}
    assert (of_c([c], seed=1) != of_c([c])).any()


def torch_learner(outputs=2, **options):
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    def module():
        return torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, outputs))

    options = {"epochs": 2, "batch_size": 8, **options}
    return TorchLearner(module, lambda weights: torch.optim.SGD(weights, lr=0.1), **options)


def torch_steps(learner, tasks, penalty=None, after_task=None, more=None, masks=None):
    """Training written out: new batches as the learner draws them, with what is replayed and what is added."""
    import torch

    model = learner.make(0)
    module, optimizer = model.module, model.optimizer
    for number, task in enumerate(tasks):
        x, y = torch.tensor(task.inputs, dtype=torch.float32), torch.tensor(task.targets)
        with torch.random.fork_rng():
            torch.manual_seed(zlib.crc32(f"0 0 {task.name}".encode()))
            old = more(number) if more else None
            for _ in range(learner.epochs):
                for rows in torch.randperm(len(x)).split(learner.batch_size):
                    bx, by, bm = x[rows], y[rows], None if masks is None else masks[number].expand(len(rows), -1)
                    if old is not None:
                        ox, oy, om, rng = old
                        places = rng(len(rows))
                        bx, by = torch.cat([bx, ox[places]]), torch.cat([by, oy[places]])
                        bm = None if bm is None else torch.cat([bm, om[places]])
                    logits = module(bx)
                    if bm is not None:
                        logits = logits.masked_fill(~bm, -torch.inf)
                    loss = torch.nn.functional.cross_entropy(logits, by)
                    if penalty is not None and number:
                        loss = loss + penalty(module, x[rows])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        if after_task is not None:
            after_task(module, x, y, number)
    return [weight.detach().numpy() for weight in module.parameters()]


def same_weights(model, weights, exact=True):
    for one, other in zip(model.module.parameters(), weights, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other, rtol=0 if exact else 2e-4, atol=0 if exact else 1e-6)


def in_rounds(rng, size):
    """Places in rounds, as many as are asked for at a time."""

    def take(count):
        import torch

        return torch.from_numpy(cycled(rng, size, count))

    return take


def test_replay_in_pytorch_joins_old_examples_to_new_batches():
    torch = pytest.importorskip("torch")
    tasks = align([points("a"), points("b", 1)])
    learner = torch_learner(strategy=Replay(3))

    def more(number):
        if not number:
            return None
        rows = kept_rows(tasks[0], 3)
        x = torch.tensor(tasks[0].inputs[rows], dtype=torch.float32)
        return x, torch.tensor(tasks[0].targets[rows]), None, in_rounds(drawn(0, "b", 1), 6)

    same_weights(after(learner, tasks), torch_steps(learner, tasks, more=more))


def test_ewc_in_pytorch_holds_weights_by_the_squares_of_single_gradients():
    torch = pytest.importorskip("torch")
    tasks = align([points("a"), points("b", 1), points("c", 2)])
    learner = torch_learner(strategy=EWC(3.0, fading=0.5))
    known = {}

    def squares(module, x, y, number):
        total = [torch.zeros_like(weight) for weight in module.parameters()]
        for k in range(len(x)):
            module.zero_grad()
            torch.nn.functional.cross_entropy(module(x[k : k + 1]), y[k : k + 1]).backward()
            for each, weight in zip(total, module.parameters(), strict=True):
                each += weight.grad**2 / len(x)
        before = known.get("F", [torch.zeros_like(each) for each in total])
        known["F"] = [0.5 * old + new for old, new in zip(before, total, strict=True)]
        known["w"] = [weight.detach().clone() for weight in module.parameters()]

    def penalty(module, inputs):
        moved = zip(module.parameters(), known["F"], known["w"], strict=True)
        return 1.5 * sum((f * (now - before) ** 2).sum() for now, f, before in moved)

    same_weights(after(learner, tasks), torch_steps(learner, tasks, penalty, squares), exact=False)


def test_distillation_in_pytorch_answers_as_before():
    torch = pytest.importorskip("torch")
    from copy import deepcopy

    tasks = align([points("a"), points("b", 1)])
    learner = torch_learner(strategy=Distill(0.7, 3.0))
    teacher = {}

    def penalty(module, inputs):
        old = torch.softmax(teacher["module"](inputs).detach() / 3, 1)
        new = torch.log_softmax(module(inputs) / 3, 1)
        return 0.7 * 9 * (old * (old.log() - new)).sum(1).mean()

    def teach(module, x, y, number):
        teacher["module"] = deepcopy(module)

    same_weights(after(learner, tasks), torch_steps(learner, tasks, penalty, teach), exact=False)


def test_the_pull_to_the_first_weights_in_pytorch():
    torch = pytest.importorskip("torch")
    tasks = align([points("a"), points("b", 1)])
    learner = torch_learner(strategy=L2Init(0.5))
    first = [weight.detach().clone() for weight in learner.make(0).module.parameters()]
    plain = learner.with_strategy(None)

    class Pull:  # the same, as an object of one's own
        def remember(self, memory, task, model, rng):
            return memory

        def penalty(self, memory, module, inputs, outputs):
            return 0.25 * sum(((now - w) ** 2).sum() for now, w in zip(module.parameters(), first, strict=True))

        def __repr__(self):
            return "Pull()"

    same_weights(after(learner, tasks), [w.detach().numpy() for w in
                 after(learner.with_strategy(Pull()), tasks).module.parameters()])  # fmt: skip
    far, near = (
        sum(((now - w) ** 2).sum().item() for now, w in zip(after(each, tasks).module.parameters(), first, strict=True))
        for each in (plain, learner)
    )
    assert near < far
    assert torch.is_grad_enabled()


def heads_tasks():
    return align([points("a"), points("b", 1, labels=(2, 3))])


def test_a_head_a_task_trains_and_tests_the_outputs_of_its_own_classes():
    torch = pytest.importorskip("torch")
    tasks = heads_tasks()
    learner = torch_learner(outputs=4, heads="task")
    masks = torch.tensor([[True, True, False, False], [False, False, True, True]])
    model = after(learner, tasks)
    same_weights(model, torch_steps(learner, tasks, masks=masks))
    logits = model.module(torch.tensor(tasks[0].inputs, dtype=torch.float32)).detach()
    measured = score(learner, model, tasks[0])
    assert measured.accuracy == float((logits[:, :2].argmax(1).numpy() == tasks[0].targets).mean())
    assert measured.loss == pytest.approx(
        float(torch.nn.functional.cross_entropy(logits[:, :2], torch.tensor(tasks[0].targets))), rel=1e-5
    )
    # the outputs of another task have no say: a shared softmax would give them nearly all
    shared = score(torch_learner(outputs=4), model, tasks[0])
    assert shared.accuracy <= measured.accuracy
    assert shared.loss > measured.loss
    own = after(learner, tasks[:1]).module[2].weight.detach()
    np.testing.assert_array_equal(own[2:], learner.make(0).module[2].weight.detach()[2:])
    assert (own[:2] != learner.make(0).module[2].weight.detach()[:2]).any()


def test_replay_and_distillation_keep_to_the_head_of_the_old_task():
    torch = pytest.importorskip("torch")
    tasks = heads_tasks()
    learner = torch_learner(outputs=4, heads="task", strategy=Replay(3))
    masks = torch.tensor([[True, True, False, False], [False, False, True, True]])

    def more(number):
        if not number:
            return None
        rows = kept_rows(tasks[0], 3)
        x = torch.tensor(tasks[0].inputs[rows], dtype=torch.float32)
        return x, torch.tensor(tasks[0].targets[rows]), masks[0].expand(6, -1), in_rounds(drawn(0, "b", 1), 6)

    same_weights(after(learner, tasks), torch_steps(learner, tasks, more=more, masks=masks))

    from copy import deepcopy

    distilling = learner.with_strategy(Distill(0.7, 3.0))
    teacher = {}

    def penalty(module, inputs):
        old = torch.softmax(teacher["module"](inputs).detach()[:, :2] / 3, 1)
        new = torch.log_softmax(module(inputs)[:, :2] / 3, 1)
        return 0.7 * 9 * (old * (old.log() - new)).sum(1).mean()

    def teach(module, x, y, number):
        teacher["module"] = deepcopy(module)

    same_weights(after(distilling, tasks), torch_steps(distilling, tasks, penalty, teach, masks=masks), exact=False)


def test_all_tasks_at_once_are_one_task_of_all_their_rows():
    pytest.importorskip("torch")
    tasks = align([points("a"), points("b", 1)])
    learner, mixed = torch_learner(), MixedTask.of(tasks)
    together = Task("a + b", np.concatenate([t.inputs for t in tasks]), np.concatenate([t.labels for t in tasks]))
    assert mixed.digest == together.digest
    same_weights(after(learner, [mixed]), [w.detach().numpy() for w in after(learner, [together]).module.parameters()])
    heads = torch_learner(outputs=4, heads="task", epochs=30)
    tasks = heads_tasks()
    both = after(heads, [MixedTask.of(tasks)])
    assert min(score(heads, both, task).accuracy for task in tasks) > 0.85


STRATEGIES = {
    "replay": Replay(3),
    "reservoir": Replay(3, memory="reservoir"),
    "ewc": EWC(10.0),
    "lwf": Distill(1.0),
    "l2init": L2Init(0.1),
}


@pytest.mark.parametrize("name", ["linear", *STRATEGIES])
def test_copies_are_independent_and_share_the_rows_of_the_memory(name):
    tasks = align([points(name, k) for k, name in enumerate("abc")])
    learner = linear(strategy=Replay(3)) if name == "linear" else torch_learner(strategy=STRATEGIES[name])
    model = after(learner, tasks[:2])
    twin = copied(learner, model)
    assert twin.memory is model.memory
    before = [score(learner, model, task)[:3] for task in tasks]
    memory = model.memory
    learner.fit(twin, tasks[2])
    assert [score(learner, model, task)[:3] for task in tasks] == before
    assert model.memory is memory
    if isinstance(memory, ReplayMemory):
        old = {id(part) for part in memory.parts}
        assert name == "reservoir" or old <= {id(part) for part in twin.memory.parts}
    again = learner.fit(model, tasks[2])
    assert [score(learner, again, task)[:3] for task in tasks] == [score(learner, twin, task)[:3] for task in tasks]


@pytest.mark.parametrize("name", ["linear", *STRATEGIES])
def test_orders_with_shared_prefixes_are_those_learned_one_by_one(name):
    tasks = align([points(name, k) for k, name in enumerate("abc")])
    learner = linear(strategy=Replay(3)) if name == "linear" else torch_learner(strategy=STRATEGIES[name])
    orders = [(0, 1, 2), (0, 2, 1), (0, 1, 0)]
    (together,) = learn_orders(learner, tasks, orders)
    for order in orders:
        model = after(learner, [tasks[k] for k in order])
        assert [entry[:3] for entry in together[order]] == [score(learner, model, task)[:3] for task in tasks]


def test_rows_are_taken_and_never_all_of_them():
    taken = []
    x = np.random.default_rng(0).normal(size=(40, 2))

    def read(rows):
        taken.append(len(rows))
        return x[rows]

    tasks = align([Task(name, read, (x[:, k] > 0).astype(int)) for k, name in enumerate("ab")])
    learner = torch_learner(strategy=Replay(2)) if pytest.importorskip("torch") else None
    taken.clear()
    after(learner, tasks)
    assert max(taken) == 8
    assert taken.count(4) == 2  # what is kept of each task, once


@pytest.mark.parametrize("kind", ["sparse", "texts", "pandas"])
def test_replay_of_rows_of_every_kind(kind):
    x = np.random.default_rng(0).normal(size=(20, 2))
    y = (x[:, 0] > 0).astype(int)
    estimator = SGDClassifier(loss="log_loss")
    if kind == "sparse":
        inputs = scipy.sparse.csr_matrix(x)
    elif kind == "texts":
        inputs, estimator = (
            [f"{a:.0f} {b:.0f}" for a, b in x],
            make_pipeline(HashingVectorizer(n_features=8), estimator),
        )
    else:
        inputs = pytest.importorskip("pandas").DataFrame(x, columns=["p", "q"])
    learner = SklearnLearner(estimator, strategy=Replay(4))
    tasks = align([Task("a", inputs, y), Task("b", inputs, 1 - y)])
    model = after(learner, tasks)
    assert [len(part) for part in model.memory.parts] == [8, 8]
    assert (
        score(learner, model, tasks[0]).loss < score(learner, after(learner.with_strategy(None), tasks), tasks[0]).loss
    )


def test_numbers_to_predict_are_replayed_too():
    x = np.random.default_rng(0).normal(size=(40, 2))
    tasks = [Task(name, x, x[:, k], regression=True) for k, name in enumerate("ab")]
    learner = SklearnLearner(SGDRegressor(), 9, strategy=Replay(6))
    model = after(learner, tasks)
    assert [len(part) for part in model.memory.parts] == [6, 6]
    assert (
        score(learner, model, tasks[0]).loss < score(learner, after(learner.with_strategy(None), tasks), tasks[0]).loss
    )
    network = torch_learner(outputs=1, strategy=EWC(1.0))
    assert np.isfinite(score(network, after(network, tasks), tasks[0]).loss)


@dataclass(frozen=True)
class Latest:
    """Replays examples of the last task only."""

    count: int = 5

    def replayed(self, memory):
        return memory or []

    def remember(self, memory, task, model, rng):
        return [KeptExamples.of(task, rng.permutation(len(task.targets))[: self.count])]


@pytest.mark.parametrize("make", [linear, torch_learner])
def test_a_strategy_of_ones_own(make):
    tasks = align([points(name, k) for k, name in enumerate("abc")])
    learner = make(strategy=Latest())
    model = after(learner, tasks)
    assert [part.task for part in model.memory] == ["c"]
    assert (score(learner, model, tasks[0]).loss != score(learner, after(make(), tasks), tasks[0]).loss) is True
    assert described(learner).endswith("strategy=Latest(count=5)")


@pytest.mark.parametrize("trained", STRATEGIES)
@pytest.mark.parametrize("goes_on", ["replay", "ewc", "lwf", "l2init"])
def test_a_model_goes_on_with_what_its_own_strategy_remembers(trained, goes_on):
    tasks = align([points("a"), points("b", 1)])
    model = after(torch_learner(strategy=STRATEGIES[trained]), tasks[:1])
    learner = torch_learner(strategy=STRATEGIES[goes_on])
    if type(STRATEGIES[trained]) is not type(STRATEGIES[goes_on]):
        with pytest.raises(ValueError, match=r"^`model` must be one that was trained with .*, or with no strat"):
            learner.adopt(model, (0, 1))
        model = after(torch_learner(), tasks[:1])
    assert learner.fit(learner.adopt(model, (0, 1)), tasks[1]).seen == ("a", "b")


def test_rows_are_kept_by_number_or_by_mask():
    task = Task("mail", [f"letter {number}" for number in range(4)], ["good", "bad"] * 2)
    for rows in ([1, 3], np.array([1, 3]), [False, True, False, True], slice(1, 4, 2)):
        kept = KeptExamples.of(task, rows)
        assert (kept.inputs, kept.targets.tolist()) == (["letter 1", "letter 3"], [0, 0])
    assert len(KeptExamples.of(task, [])) == 0


def test_a_memory_of_ones_own_is_not_that_of_another_strategy():
    tasks = align([points("a"), points("b", 1)])
    model, own = after(linear(strategy=Replay(3)), tasks[:1]), linear(strategy=Latest())
    with pytest.raises(ValueError, match=r"^`model` must be one that was trained with Latest\(count=5\), or with no"):
        own.adopt(model, (0, 1))
    assert linear().adopt(model, (0, 1)).seen == own.adopt(after(own, tasks[:1]), (0, 1)).seen == ("a",)


def test_a_learner_says_its_strategy_and_nothing_where_it_has_none():
    assert "strategy" not in described(linear())
    texts = {described(linear(strategy=strategy)) for strategy in (None, Replay(3), Replay(4), Replay(3, share=0.2))}
    assert len(texts) == 4
    network = torch_learner()
    assert not {"strategy", "heads"} & set(described(network).split())
    assert described(torch_learner(outputs=2, heads="task")).endswith(" heads=task")


class Anonymous:
    def replayed(self, memory):
        return []

    def remember(self, memory, task, model, rng):
        return None


class Pairs(Anonymous):
    def replayed(self, memory):
        return [([1.0, 2.0], 0)]


def test_what_a_learner_cannot_do_is_refused_in_one_line():
    for strategy in (EWC(), Distill(), L2Init()):
        with pytest.raises(
            ValueError, match=r"^`strategy` must be one that SklearnLearner has, .* TorchLearner and JaxLearner"
        ):
            linear(strategy=strategy)
    replaying = linear(strategy=Pairs())
    with pytest.raises(ValueError, match=r"^`strategy` must replay KeptExamples, got tuple\. Keep them with Kept"):
        after(replaying, align([points("a"), points("b", 1)]))
    for wrong in ("replay", Replay, object(), 20):
        with pytest.raises(ValueError, match=r"^`strategy` must be Replay\(20\), another record .*OwnStrategy\.$"):
            linear(strategy=wrong)
    with pytest.raises(ValueError, match="must have data for this learner, got only the name 'golf'"):
        linear(strategy=Replay()).fit(linear().make(0), Task("golf"))
    with pytest.raises(ValueError, match=r"`learner` must say what it is.*Anonymous"):
        described(linear(strategy=Anonymous()))
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"^`heads` must be one of shared, task, class, got 'tasks'\. Did you mean"):
        torch_learner(heads="tasks")
    numbers = replace(points(), labels=np.arange(24.0), regression=True, classes=())
    with pytest.raises(ValueError, match=r"^`heads` must be 'shared' where labels are numbers, got 'task' for 'a'"):
        after(torch_learner(outputs=1, heads="task"), [numbers])
    with pytest.raises(ValueError, match=r"^`strategy` must be another one where labels are numbers, got Distill"):
        after(torch_learner(outputs=1, strategy=Distill()), [numbers])
