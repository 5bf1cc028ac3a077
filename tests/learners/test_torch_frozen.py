"""TorchLearner with a frozen part beside loops on features by hand: each example goes through it once."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

torch = pytest.importorskip("torch")

from taskorder import Task, plan
from taskorder.learners import EWC, Distill, L2Init, Replay, TorchLearner, learn_orders
from taskorder.learners.protocol import described
from taskorder.runs.store import Store
from taskorder.task.mixed import MixedTask

from .plain_loops import ORDERS, as_tasks, numbers
from .test_torch_loops import PlainEWC, PlainPull, PlainReplay, losses_of, trained


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Steps on few numbers are slower on several cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Backbone(torch.nn.Module):
    """Dropout and batch normalization behave differently in training; it says what it was given, and counts calls."""

    def __init__(self, inputs=3, features=6, seed=7):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.first = torch.nn.Linear(inputs, features)
        self.norm, self.drop = torch.nn.BatchNorm1d(features), torch.nn.Dropout(0.5)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.drop.eval()  # as a person may have set it
        self.passed = []

    def forward(self, batch):
        assert not self.training
        assert not torch.is_grad_enabled()
        self.calls += 1
        self.passed += [row.numpy().tobytes() for row in batch]
        return self.drop(self.norm(self.first(batch)))


def head(outputs=3, features=6):
    """What is trained."""
    return torch.nn.Sequential(torch.nn.Linear(features, 5), torch.nn.Tanh(), torch.nn.Linear(5, outputs))


def by_hand(net, x):
    """Features of an array."""
    own = copy.deepcopy(net).eval()
    with torch.no_grad():
        return own(torch.tensor(np.asarray(x), dtype=torch.float32))


def state_of(net):
    """All bytes of a module, what would be trained, and the mode of each of its parts."""
    tensors = [*net.state_dict().values()]
    return (
        [tensor.numpy().tobytes() for tensor in tensors],
        [id(tensor) for tensor in (*net.parameters(), *net.buffers())],
        [weight.requires_grad for weight in net.parameters()],
        [module.training for module in net.modules()],
        [weight.grad is None for weight in net.parameters()],
    )


def wide(seed=0):
    """More examples than go through the frozen part at once."""
    return numbers(seed, count=100)


WAYS = {
    "plain": (None, lambda *_: None),
    "replay": (Replay(2), lambda x, y, seed: PlainReplay(2, x, y, seed)),
    "ewc": (EWC(5.0), lambda x, y, seed: PlainEWC(5.0, 1.0, x, y)),
    "l2init": (L2Init(0.1), lambda *_: PlainPull(0.1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_equal_to_a_plain_loop_on_features_by_hand(way):
    strategy, plain = WAYS[way]
    parts, net = numbers(1), Backbone()
    x, y = [by_hand(net, inputs) for inputs, _ in parts], [labels for _, labels in parts]
    learner = TorchLearner(head, epochs=2, batch_size=5, strategy=strategy, frozen=net)
    tasks = as_tasks(parts)
    for order in ORDERS[:4]:
        scores = learn_orders(learner, tasks, [order], (3,))[0][order]
        wanted = trained(head, torch.optim.Adam, x, y, order, 3, way=plain(x, y, 3))
        np.testing.assert_allclose([score[:3] for score in scores], losses_of(wanted, x, y), rtol=1e-4, atol=1e-6)
    assert len(net.passed) == len(set(net.passed)) == sum(map(len, y))


@pytest.mark.parametrize("heads", ["shared", "task"])
@pytest.mark.parametrize("strategy", [Replay(3, memory="reservoir"), Distill()], ids=["reservoir", "lwf"])
def test_equal_to_the_learner_on_features_as_inputs(heads, strategy):
    parts, net = wide(), Backbone()
    tasks, bare = as_tasks(parts), as_tasks([(by_hand(net, x).numpy(), y) for x, y in parts])
    orders = [(0, 1), (1, 0, 1)]
    settings = {"epochs": 1, "heads": heads, "strategy": strategy}
    ours = learn_orders(TorchLearner(head, **settings, frozen=net), tasks, orders)[0]
    theirs = learn_orders(TorchLearner(head, **settings), bare, orders)[0]
    assert ours.keys() == theirs.keys()
    for prefix in ours:
        np.testing.assert_allclose(
            [score[:3] for score in ours[prefix]], [score[:3] for score in theirs[prefix]], rtol=1e-4, atol=1e-6
        )


def test_a_plan_passes_each_example_once_and_leaves_the_frozen_part_as_it_was():
    net = Backbone()
    before = state_of(net)
    learner = TorchLearner(head, epochs=1, frozen=net, strategy=Replay(2), heads="task", reset_optimizer=True)
    torch.manual_seed(4)
    wanted = torch.rand(1)
    torch.manual_seed(4)
    found = plan(as_tasks(wide()), learner, pilot=0.5, seeds=2, draws=10)
    assert sorted(found.named_order) == ["t0", "t1", "t2"]
    assert 100 < len(net.passed) == len(set(net.passed)) < 300
    assert state_of(net) == before
    assert net.training
    assert not net.drop.training
    assert torch.equal(torch.rand(1), wanted)


def test_examples_are_known_by_their_content():
    net = Backbone()
    learner = TorchLearner(head, frozen=net)
    tasks = as_tasks(wide())
    first = learner.given(tasks[0].inputs)
    assert learner.given(tasks[0].inputs) is first  # no second copy
    assert len(net.passed) == 100
    twin = learner.with_strategy(Replay(2))
    some = twin.given(tasks[0].inputs[[7, 3, 3]].copy())
    assert torch.equal(some, first[[7, 3, 3]])
    mixed = learner.given(MixedTask.of(tasks).inputs)
    assert torch.equal(mixed[:100], first)
    assert len(net.passed) == len(set(net.passed)) == sum(len(task.targets) for task in tasks)
    assert sum(map(len, learner._frozen._blocks)) == len(net.passed)  # nothing is kept twice


def test_inputs_that_nobody_holds_any_more_are_forgotten_but_their_features_are_not():
    net = Backbone()
    learner = TorchLearner(head, frozen=net)
    inputs = wide()[0][0]
    for _ in range(3):
        learner.given(inputs.copy())
    assert learner._frozen._asked == {}
    assert len(net.passed) == 100


def test_rows_that_are_read_on_demand_are_read_once():
    x, y = wide()[0]
    read, net = [], Backbone()

    def rows(places):
        read.extend(np.asarray(places).tolist())
        return x[places]

    task = Task("far", rows, y)
    read.clear()
    learner = TorchLearner(head, epochs=2, frozen=net)
    model = learner.fit(learner.fit(learner.make(0), task), task)
    learner.loss(model, task)
    assert sorted(read) == list(range(100))
    assert len(net.passed) == 100


def test_a_module_that_writes_to_what_it_is_given_changes_no_features():
    learner = TorchLearner(
        lambda: torch.nn.Sequential(torch.nn.ReLU(inplace=True), torch.nn.Linear(6, 3)), epochs=1, frozen=Backbone()
    )
    task = as_tasks(numbers())[0]
    before = learner.given(task.inputs).clone()
    assert (before < 0).any()
    learner.loss(learner.fit(learner.make(0), task), task)
    assert torch.equal(learner.given(task.inputs), before)


def test_a_function_is_frozen_with_the_modules_that_it_uses():
    net = Backbone()
    before = state_of(net)
    task = as_tasks(numbers())[0]
    scale = torch.tensor(2.0, requires_grad=True)
    learner = TorchLearner(head, epochs=1, frozen=lambda batch: scale * net(batch))
    model = learner.fit(learner.make(0), task)
    assert torch.equal(learner.given(task.inputs), 2 * by_hand(net, task.inputs))
    assert not learner.given(task.inputs).requires_grad
    assert state_of(net) == before
    assert scale.grad is None
    assert np.isfinite(learner.loss(model, task))


def test_a_function_that_draws_random_numbers_gives_the_same_again_and_leaves_those_of_others_alone():
    inputs = numbers()[0][0]
    torch.manual_seed(1)
    first = TorchLearner(head, frozen=torch.rand_like).given(inputs)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(1), drawn)
    assert torch.equal(TorchLearner(head, frozen=torch.rand_like).given(inputs), first)


def counts_of(texts):
    """Letters of texts."""
    return torch.tensor([[text.count(letter) for letter in "abc"] for text in texts], dtype=torch.float32)


def test_texts_tables_and_sparse_matrices_come_as_they_do_without_a_frozen_part():
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).integers(0, 4, (30, 3)).astype(float)
    y = np.arange(30) % 3
    texts = ["a" * int(a) + "b" * int(b) + "c" * int(c) for a, b, c in x]
    net = Backbone()
    wanted = by_hand(net, x)
    kinds = {
        "texts": (texts, lambda batch: net(counts_of(batch))),
        "series": (pandas.Series(texts), lambda batch: net(counts_of(batch))),
        "table": (pandas.DataFrame(x, columns=list("abc")), net),
        "sparse": (scipy.sparse.csr_matrix(x), net),
    }
    for inputs, frozen in kinds.values():
        task = Task("letters", inputs, y)
        learner = TorchLearner(head, epochs=1, frozen=frozen)
        net.passed.clear()
        model = learner.fit(learner.make(0), task)
        assert np.isfinite(learner.loss(model, task))
        assert len(net.passed) == len(set(net.passed)) == len(np.unique(x, axis=0))
        torch.testing.assert_close(learner.given(task.inputs), wanted)


def test_images_reach_it_with_their_channels_first_and_from_0_to_1():
    images = np.random.default_rng(0).integers(0, 256, (12, 4, 5, 3), dtype=np.uint8)
    seen = []

    def frozen(batch):
        seen.append((tuple(batch.shape), float(batch.max()) <= 1))
        return batch.mean((2, 3))

    task = Task("pictures", images, [0, 1, 2] * 4)
    learner = TorchLearner(lambda: torch.nn.Linear(3, 3), epochs=1, channels="last", frozen=frozen)
    learner.fit(learner.make(0), task)
    assert seen == [((12, 3, 4, 5), True)]
    flat = TorchLearner(head, frozen=torch.nn.Conv2d(3, 2, 1))
    with pytest.raises(ValueError, match=r"Try TorchLearner\(\.\.\., channels='last'\)\.$"):
        flat.fit(flat.make(0), task)


def test_numbers_are_predicted_from_features():
    x, y = numbers()[0]
    task = Task("heights", x, x.sum(axis=1), regression=True)
    net = Backbone()
    learner = TorchLearner(lambda: torch.nn.Linear(6, 1), epochs=30, frozen=net)
    model = learner.make(0)
    before = learner.loss(model, task)
    assert learner.loss(learner.fit(model, task), task) < before
    assert len(net.passed) == len(y)


def test_pickled_learners_leave_features_behind_and_give_the_same():
    task = as_tasks(numbers())[0]
    learner = TorchLearner(head, epochs=1, frozen=Backbone())
    learner.frozen.eval()
    loss = learner.loss(learner.fit(learner.make(0), task), task)
    learner.frozen.passed.clear()
    size = len(pickle.dumps(learner))
    learner.given(np.random.default_rng(0).normal(size=(5000, 3)))
    learner.frozen.passed.clear()
    assert len(pickle.dumps(learner)) == size
    twin = pickle.loads(pickle.dumps(learner))
    assert twin.loss(twin.fit(twin.make(0), task), task) == loss
    assert len(twin.frozen.passed) == len(task.targets)
    assert described(twin) == described(learner)


def test_the_description_has_the_weights_of_the_frozen_part(tmp_path):
    def learner(seed=7, made=Backbone):
        return TorchLearner(head, epochs=1, frozen=made(seed=seed))

    assert described(learner()) == described(learner())
    assert described(learner()) != described(learner(seed=8))
    assert described(learner()).startswith(described(TorchLearner(head, epochs=1)) + " frozen=")
    tasks, order = as_tasks(numbers()), [(0, 1)]
    with Store(tmp_path / "fits.sqlite") as store:
        first = learn_orders(learner(), tasks, order, store=store)[0]
        again, other = learner(), learner(seed=8)
        assert learn_orders(again, tasks, order, store=store)[0][0, 1][0][:3] == first[0, 1][0][:3]
        assert again.frozen.passed == []
        learn_orders(other, tasks, order, store=store)
        assert len(other.frozen.passed) == 63


def test_a_frozen_part_that_somebody_trains_gives_new_features():
    net = Backbone()
    learner, inputs = TorchLearner(head, frozen=net), numbers()[0][0]
    before = learner.given(inputs).clone()
    with torch.no_grad():
        net.first.weight += 1
    assert torch.equal(learner.given(inputs), by_hand(net, inputs))
    assert not torch.equal(learner.given(inputs), before)


def test_a_function_may_name_its_module_later_and_then_another_one():
    def frozen(batch):
        return net(batch)

    learner, inputs = TorchLearner(head, frozen=frozen), numbers()[0][0]
    for seed in (1, 2):
        net = Backbone(seed=seed)
        assert torch.equal(learner.given(inputs), by_hand(net, inputs))
        assert net.training


def test_doubles_and_floats_of_the_same_value_are_the_same_example():
    net, inputs = Backbone(), wide()[0][0].astype(np.float32)
    learner = TorchLearner(head, frozen=net)
    assert torch.equal(learner.given(inputs), learner.given(inputs.astype(np.float64)))
    assert len(net.passed) == 100


def test_a_plan_goes_on_from_a_module_that_stands_on_features():
    net, mine = Backbone(), head()
    learner = TorchLearner(head, epochs=1, frozen=net)
    tasks = as_tasks(wide())
    before = [weight.clone() for weight in mine.parameters()]
    found = plan(tasks, learner, learned=["t0"], model=mine, pilot=0.3, seeds=1, draws=10)
    assert sorted(found.named_order) == ["t1", "t2"]
    assert all(torch.equal(a, b) for a, b in zip(before, mine.parameters(), strict=True))
    with pytest.raises(ValueError, match=r"^`model` must train only what stands on top of `frozen`, got 8 of its we.*"):
        learner.adopt(torch.nn.Sequential(net, mine), (0, 1, 2))
    with pytest.raises(ValueError, match=r"^`model` must train only what .* got 1 of its weights\. Leave them out.*$"):
        learner.adopt((mine, torch.optim.SGD([*mine.parameters(), net.first.weight], lr=0.1)), (0, 1, 2))


def test_what_would_be_trained_is_refused():
    net = Backbone()
    before = state_of(net)
    inside = TorchLearner(lambda: torch.nn.Sequential(net, head()), frozen=lambda batch: net(batch))
    with pytest.raises(
        ValueError, match=r"^`module_factory` must train only what stands on top of `frozen`, got 8 of .*"
    ):
        inside.make(0)
    beside = TorchLearner(head, lambda weights: torch.optim.Adam([*weights, *net.parameters()]), frozen=net)
    with pytest.raises(ValueError, match=r"^`optimizer_factory` must train only .* got 4 of its weights\. Leave them"):
        beside.make(0)
    assert state_of(net) == before


def test_what_is_no_module_or_function_is_refused():
    for given, got in ((3, "int"), (Backbone, "the class Backbone"), ([Backbone()], "list")):
        with pytest.raises(ValueError, match=rf"^`frozen` must be a module or a function .* got {got}\.$"):
            TorchLearner(head, frozen=given)


BAD = {
    "no tensor": (lambda batch: (batch, batch), r"one row of numbers for each example, got tuple for 23\. Take what"),
    "a mean": (
        lambda batch: batch.mean(),
        r"one row of numbers for each example, got tuple|got shape \(\) for 23\. Take",
    ),
    "rows gone": (lambda batch: batch[:5], r"one row of numbers for each example, got shape \(5, 3\) for 23\. Take"),
    "not finite": (
        lambda batch: batch.log(),
        r"finite numbers, got others for \d+ of 23 examples\. Look at its weights",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_features_are_refused(case):
    frozen, message = BAD[case]
    learner, task = TorchLearner(head, frozen=frozen), as_tasks(numbers())[0]
    with pytest.raises(ValueError, match=rf"^`frozen` must give .*{message}[^\n]*$"):
        learner.fit(learner.make(0), task)


def test_features_of_several_shapes_are_refused():
    task = Task("letters", ["a" * (1 + row) for row in range(100)], [0, 1] * 50)
    learner = TorchLearner(head, frozen=lambda texts: torch.ones(len(texts), max(map(len, texts))))
    with pytest.raises(ValueError, match=r"^`frozen` must give features of one shape, got \(64,\) and \(100,\)\. Fill"):
        learner.fit(learner.make(0), task)


def test_after_an_error_the_frozen_part_is_as_it_was_and_nothing_half_done_is_kept():
    net = Backbone()
    wrong = [True]

    def frozen(batch):
        features = net(batch)
        if wrong[0] and len(batch) < 64:
            raise RuntimeError("out of memory")
        return features

    before, inputs = state_of(net), wide()[0][0]
    learner = TorchLearner(head, frozen=frozen)
    with pytest.raises(RuntimeError, match="out of memory"):
        learner.given(inputs)
    assert state_of(net) == before
    wrong[0] = False
    torch.testing.assert_close(learner.given(inputs), by_hand(net, inputs))


def test_features_in_half_precision_become_single_and_tokens_stay_whole():
    task = as_tasks(numbers())[0]
    assert TorchLearner(head, frozen=lambda batch: batch.half()).given(task.inputs).dtype == torch.float32
    assert TorchLearner(head, frozen=lambda batch: batch.long()).given(task.inputs).dtype == torch.int64


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gets_the_frozen_part_for_as_long_as_it_is_used():
    net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.BatchNorm1d(6))
    before = state_of(net)
    task = as_tasks(wide())[0]
    learner = TorchLearner(head, epochs=1, device="cuda", frozen=net)
    learner.loss(learner.fit(learner.make(0), task), task)
    features = learner.given(task.inputs)
    assert features.device.type == "cuda"
    torch.testing.assert_close(features.cpu(), by_hand(net, task.inputs), rtol=1e-3, atol=1e-4)
    assert {weight.device.type for weight in net.parameters()} == {"cpu"}
    assert state_of(net) == before
