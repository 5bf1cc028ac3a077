"""TorchLearner beside the same training written out with PyTorch alone: the same weights, losses and accuracies."""

import copy
import zlib

import numpy as np
import pytest
import scipy.sparse

torch = pytest.importorskip("torch")
from torch.nn.functional import cross_entropy, log_softmax

from taskorder.learners import EWC, Distill, L2Init, Replay, TorchLearner, learn_orders, score
from taskorder.task import Task, align

from .plain_loops import ORDERS, Kept, as_tasks, draw, in_rounds, numbers

EPOCHS, BATCH = 2, 5


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Steps on few numbers are slower on several cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def network(outputs=3, inputs=3):
    """Dropout and batch normalization draw random numbers and keep states of their own."""
    layers = torch.nn.Linear(inputs, 6, bias=False), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Dropout(0.3)
    return torch.nn.Sequential(*layers, torch.nn.Linear(6, outputs))


def smooth(outputs=3, inputs=3):
    """Without what differs between training and evaluation."""
    return torch.nn.Sequential(torch.nn.Linear(inputs, 5), torch.nn.Tanh(), torch.nn.Linear(5, outputs))


OPTIMIZERS = {
    "adam": torch.optim.Adam,
    "momentum": lambda weights: torch.optim.SGD(weights, lr=0.05, momentum=0.9, nesterov=True),
    "adamw": lambda weights: torch.optim.AdamW(weights, lr=0.01, weight_decay=0.1),
    "rmsprop": lambda weights: torch.optim.RMSprop(weights, lr=0.01),
}


class Plain:
    """What a strategy does where there is none; the others below say what they do otherwise."""

    old = None

    def begin(self, module):
        """Before the first task."""

    def enter(self, task, visit):
        """Before a task."""

    def joined(self, x, y):
        """The batch with old examples."""
        return x, y

    def penalty(self, module, x, outputs):
        return 0.0

    def leave(self, module, task, visit):
        """After a task."""


class PlainReplay(Plain):
    def __init__(self, count, inputs, targets, seed):
        self.kept, self.inputs, self.targets, self.seed = Kept(count, targets), inputs, targets, seed

    def enter(self, task, visit):
        old = list(self.kept.places.items())
        self.old = bool(old)
        if old:
            self.x = torch.cat([self.inputs[t][torch.tensor(places)] for t, places in old])
            self.y = torch.cat([torch.tensor(self.targets[t][places]) for t, places in old])
            self.rng = draw(self.seed, f"t{task}", visit, 1)

    def joined(self, x, y):
        if not self.old:
            return x, y
        places = torch.tensor(in_rounds(self.rng, len(self.y), len(y)))
        return torch.cat([x, self.x[places]]), torch.cat([y, self.y[places].to(y.dtype)])

    def leave(self, module, task, visit):
        self.kept.remember(self.seed, task, visit, f"t{task}")


class PlainEWC(Plain):
    def __init__(self, strength, fading, inputs, targets):
        self.strength, self.fading, self.inputs, self.targets = strength, fading, inputs, targets
        self.fisher = None

    def penalty(self, module, x, outputs):
        if self.fisher is None:
            return 0.0
        weights = zip(module.parameters(), self.fisher, self.before, strict=True)
        return self.strength / 2 * sum((f * (now - w) ** 2).sum() for now, f, w in weights)

    def leave(self, module, task, visit):
        module.eval()
        x, y = self.inputs[task], self.targets[task]
        squares = [torch.zeros_like(weight) for weight in module.parameters()]
        for row in range(len(x)):
            outputs = module(x[row : row + 1])
            if y.dtype.kind == "f":
                likelihood = (outputs[0, 0] - torch.tensor(y[row], dtype=torch.float32)) ** 2 / 2
            else:
                likelihood = -log_softmax(outputs, 1)[0, y[row]]
            for total, gradient in zip(
                squares, torch.autograd.grad(likelihood, list(module.parameters())), strict=True
            ):
                total += gradient**2 / len(x)
        if self.fisher is not None:
            squares = [new + self.fading * old for new, old in zip(squares, self.fisher, strict=True)]
        self.fisher, self.before = squares, [weight.detach().clone() for weight in module.parameters()]


class PlainDistill(Plain):
    def __init__(self, strength, temperature, targets):
        self.strength, self.T, self.targets = strength, temperature, targets
        self.teacher, self.seen = None, set()

    def penalty(self, module, x, outputs):
        if self.teacher is None:
            return 0.0
        classes = sorted(self.seen)
        with torch.no_grad():
            wanted = torch.softmax(self.teacher(x)[:, classes] / self.T, 1)
        divergence = (wanted * (wanted.log() - log_softmax(outputs[:, classes] / self.T, 1))).sum(1).mean()
        return self.strength * self.T**2 * divergence

    def leave(self, module, task, visit):
        self.teacher = copy.deepcopy(module).eval()
        self.seen |= set(self.targets[task].tolist())


class PlainPull(Plain):
    def __init__(self, strength):
        self.strength = strength

    def begin(self, module):
        self.first = [weight.detach().clone() for weight in module.parameters()]

    def penalty(self, module, x, outputs):
        weights = zip(module.parameters(), self.first, strict=True)
        return self.strength / 2 * sum(((now - w) ** 2).sum() for now, w in weights)


def trained(make, optimizer, inputs, targets, order, seed, *, reset=False, way=None, own=None):
    """The module after an order. own: by task the only classes that compete, for a head a task."""
    way = way or Plain()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = make()
    way.begin(module)
    steps = optimizer(module.parameters())
    for step, task in enumerate(order):
        visit = order[:step].count(task)
        way.enter(task, visit)
        x, y = inputs[task], torch.tensor(targets[task])
        if reset:
            steps = optimizer(module.parameters())
        with torch.random.fork_rng():
            torch.manual_seed(zlib.crc32(f"{seed} {visit} t{task}".encode()))
            for _ in range(EPOCHS):
                batches = list(torch.randperm(len(y)).split(BATCH))
                if len(batches[-1]) == 1:
                    batches = [*batches[:-2], torch.cat(batches[-2:])]
                for rows in batches:
                    module.train()
                    new = x[rows] if torch.is_tensor(x) else [x[row] for row in rows]
                    batch, answers = way.joined(new, y[rows])
                    outputs = module(batch)
                    if y.dtype.is_floating_point:
                        loss = ((outputs[:, 0] - answers.float()) ** 2).mean()
                    elif own is not None:
                        loss = cross_entropy(
                            outputs[:, own[task]], torch.searchsorted(torch.tensor(own[task]), answers)
                        )
                    else:
                        loss = cross_entropy(outputs, answers)
                    loss = loss + way.penalty(module, new, outputs[: len(rows)])
                    steps.zero_grad()
                    loss.backward()
                    steps.step()
        way.leave(module, task, visit)
    return module.eval()


def losses_of(module, inputs, targets, own=None):
    """(loss, chance, accuracy) on every task."""
    rows = []
    for task, (x, y) in enumerate(zip(inputs, targets, strict=True)):
        with torch.no_grad():
            outputs = module(x).double()
        if y.dtype.kind == "f":
            rows.append((float(((outputs[:, 0].numpy() - y) ** 2).mean()), y.var(), None))
            continue
        if own is not None:
            outputs, y = outputs[:, own[task]], np.searchsorted(own[task], y)
        logs = -log_softmax(outputs, 1).numpy()
        rows.append((logs[np.arange(len(y)), y].mean(), logs[:, y].mean(), (logs.argmin(axis=1) == y).mean()))
    return rows


def same(learner, tasks, inputs, targets, *, seed=3, orders=ORDERS, make_way=lambda: None, exact=True, own=None):
    """Compare all orders: as `learn_orders` learns them together, and the weights of one after the other."""
    (scores,) = learn_orders(learner, tasks, orders, (seed,))
    for order in orders:
        module = trained(learner.module_factory, learner.optimizer_factory, inputs, targets, order, seed,
                         reset=learner.reset_optimizer, way=make_way(), own=own)  # fmt: skip
        model = learner.make(seed)
        for task in order:
            model = learner.fit(model, tasks[task])
        for (name, ours), theirs in zip(model.module.state_dict().items(), module.state_dict().values(), strict=True):
            close = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-3, "atol": 1e-5}
            torch.testing.assert_close(ours, theirs, **close, msg=lambda text, name=name: f"{name}: {text}")
        for task, (loss, chance, accuracy) in enumerate(losses_of(module, inputs, targets, own)):
            for found in (scores[order][task], score(learner, model, tasks[task])):
                assert found.loss == pytest.approx(loss, rel=1e-5 if exact else 1e-3, abs=1e-6)
                assert found.chance == pytest.approx(chance, rel=1e-5 if exact else 1e-3, abs=1e-6)
                assert found.accuracy == (None if accuracy is None else pytest.approx(accuracy))


def parts_of(parts):
    return [torch.tensor(x, dtype=torch.float32) for x, _ in parts], [y for _, y in parts]


def learner_of(module, optimizer="adam", **options):
    return TorchLearner(module, OPTIMIZERS[optimizer], epochs=EPOCHS, batch_size=BATCH, **options)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("make", [network, smooth])
def test_plain_training(make, optimizer, reset):
    parts = numbers()
    same(learner_of(make, optimizer, reset_optimizer=reset), as_tasks(parts), *parts_of(parts))


STRATEGIES = {
    "replay": (Replay(2), lambda x, y: PlainReplay(2, x, y, 3), True),
    "ewc": (EWC(30.0), lambda x, y: PlainEWC(30.0, 1.0, x, y), False),
    "ewc that fades": (EWC(30.0, fading=0.3), lambda x, y: PlainEWC(30.0, 0.3, x, y), False),
    "lwf": (Distill(0.7, 3.0), lambda x, y: PlainDistill(0.7, 3.0, y), False),
    "l2init": (L2Init(0.2), lambda x, y: PlainPull(0.2), False),
}


@pytest.mark.parametrize("optimizer", ["adam", "momentum"])
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("make", [network, smooth])
def test_strategies(make, name, optimizer):
    strategy, way, exact = STRATEGIES[name]
    parts = numbers()
    inputs, targets = parts_of(parts)
    same(learner_of(make, optimizer, strategy=strategy), as_tasks(parts), inputs, targets,
         make_way=lambda: way(inputs, targets), exact=exact)  # fmt: skip


@pytest.mark.parametrize("name", [None, "replay", "ewc", "l2init"])
def test_numbers_to_predict(name):
    inputs = [x for x, _ in numbers()]
    targets = [x @ [1.0, -2.0, k] for k, x in enumerate(inputs)]
    strategy, way, exact = (None, lambda x, y: None, True) if name is None else STRATEGIES[name]
    tasks = as_tasks(list(zip(inputs, targets, strict=True)), regression=True)
    tensors = [torch.tensor(x, dtype=torch.float32) for x in inputs]
    learner = learner_of(lambda: smooth(1), strategy=strategy)
    same(learner, tasks, tensors, targets, make_way=lambda: way(tensors, targets), exact=exact)


def test_a_head_a_task():
    """Tasks of classes of their own, and one that shares a class with another."""
    own = [[0, 1], [2, 3], [1, 4]]
    parts = [(x, np.array(own[task])[np.minimum(y, 1)]) for task, (x, y) in enumerate(numbers())]
    same(learner_of(lambda: smooth(5), heads="task"), as_tasks(parts), *parts_of(parts), own=own, exact=False)
    same(learner_of(lambda: smooth(9)), as_tasks(parts), *parts_of(parts))  # more outputs than classes


READERS = {
    "lists": lambda x: x.tolist(),
    "tensors": lambda x: torch.tensor(x),
    "sparse": scipy.sparse.csr_array,
    "pandas": lambda x: pytest.importorskip("pandas").DataFrame(x),
    "polars": lambda x: pytest.importorskip("polars").DataFrame(x),
    "rows on demand": lambda x: x.__getitem__,
    "items": lambda x: [row.tolist() for row in x],
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", [None, "replay"])
def test_inputs_of_all_kinds(kind, name):
    parts = numbers()
    inputs, targets = parts_of(parts)
    strategy, way, _ = (None, lambda x, y: None, True) if name is None else STRATEGIES[name]
    same(learner_of(network, strategy=strategy), as_tasks(parts, READERS[kind]), inputs, targets,
         orders=[(1, 0, 1)], make_way=lambda: way(inputs, targets))  # fmt: skip


def test_a_data_set_with_labels_and_one_with_transforms():
    parts = numbers()
    inputs, targets = parts_of(parts)

    class Doubled(torch.utils.data.Dataset):
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __len__(self):
            return len(self.y)

        def __getitem__(self, row):
            return self.x[row] * 2, int(self.y[row])

    tasks = align([Task(f"t{k}", Doubled(x, y)) for k, (x, y) in enumerate(zip(inputs, targets, strict=True))])
    same(learner_of(network), tasks, [2 * x for x in inputs], targets, orders=[(2, 0, 2)])


class Seeing(torch.nn.Module):
    """A small convolution over channels that come first."""

    def __init__(self):
        super().__init__()
        self.see, self.say = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 3)

    def forward(self, images):
        return self.say(torch.relu(self.see(images)).mean((2, 3)))


@pytest.mark.parametrize("channels", ["first", "last"])
@pytest.mark.parametrize("kind", ["uint8", "float"])
def test_images(channels, kind):
    rng = np.random.default_rng(0)
    parts = []
    for _, y in numbers():
        images = rng.integers(0, 256, (len(y), 3, 6, 5)).astype(np.uint8)
        images[:, 0] = np.minimum(images[:, 0], 80 * y[:, None, None])
        parts.append((images if kind == "uint8" else images / 255, y))
    floats = [torch.tensor(x.astype(np.float32) / 255 if kind == "uint8" else x.astype(np.float32)) for x, _ in parts]
    given = [(x if channels == "first" else np.moveaxis(x, 1, 3), y) for x, y in parts]
    same(learner_of(Seeing, channels=channels), as_tasks(given), floats, [y for _, y in parts], orders=[(0, 1, 0)])


class Reading(torch.nn.Module):
    """Tokens, or texts of one letter a token."""

    def __init__(self):
        super().__init__()
        self.embed, self.say = torch.nn.Embedding(30, 4), torch.nn.Linear(4, 3)

    def forward(self, tokens):
        if isinstance(tokens, list):
            tokens = torch.tensor([[ord(letter) - 97 for letter in text] for text in tokens])
        return self.say(self.embed(tokens).mean(1))


@pytest.mark.parametrize("kind", ["tokens", "texts"])
def test_tokens_and_texts(kind):
    rng = np.random.default_rng(0)
    tokens = [rng.integers(0, 26, (len(y), 5)) for _, y in numbers()]
    targets = [y for _, y in numbers()]
    if kind == "tokens":
        given = list(zip(tokens, targets, strict=True))
    else:
        texts = [["".join(chr(97 + token) for token in row) for row in part] for part in tokens]
        given = list(zip(texts, targets, strict=True))
    same(learner_of(Reading), as_tasks(given), [torch.tensor(part) for part in tokens], targets, orders=[(0, 1, 0)])


@pytest.mark.parametrize("with_optimizer", [False, True])
def test_a_module_goes_on_as_it_would_by_itself(with_optimizer):
    parts = numbers()
    inputs, targets = parts_of(parts)

    def before():
        torch.manual_seed(9)
        module = network()
        optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
        cross_entropy(module(inputs[2]), torch.tensor(targets[2])).backward()
        optimizer.step()
        return module, optimizer

    with torch.random.fork_rng():
        module, optimizer = before()
        given = (module, optimizer) if with_optimizer else module
        (scores,) = learn_orders(learner_of(network), as_tasks(parts), [(0, 1)], (0,), start=given)
        module, optimizer = before()
    if not with_optimizer:
        optimizer = torch.optim.Adam(module.parameters())
    module = trained(lambda: module, lambda _: optimizer, inputs, targets, (0, 1), 0)
    for found, (loss, _, accuracy) in zip(scores[0, 1], losses_of(module, inputs, targets), strict=True):
        assert (found.loss, found.accuracy) == (pytest.approx(loss, rel=1e-5), pytest.approx(accuracy))


@pytest.mark.slow("training")
@pytest.mark.parametrize("seed", range(6))
def test_other_data_and_seeds(seed):
    parts = numbers(seed, count=int(np.random.default_rng(seed).integers(14, 60)))
    inputs, targets = parts_of(parts)
    for optimizer in OPTIMIZERS:
        same(learner_of(network, optimizer), as_tasks(parts), inputs, targets, seed=seed)
        for strategy, way, exact in STRATEGIES.values():
            if optimizer == "rmsprop" and not exact:
                continue  # it divides rounding errors by their own size
            same(learner_of(smooth, optimizer, strategy=strategy), as_tasks(parts), inputs, targets, seed=3,
                 make_way=lambda way=way: way(inputs, targets), exact=exact)  # fmt: skip


def test_the_comparison_can_fail():
    parts = numbers()
    learner, tasks, data = learner_of(network, strategy=Replay(2)), as_tasks(parts), parts_of(parts)
    with pytest.raises(AssertionError, match="are not equal"):
        same(learner, tasks, *data)
    with pytest.raises(AssertionError, match="are not equal"):
        same(learner, tasks, *data, make_way=lambda: PlainReplay(3, *data, 3))
    with pytest.raises(AssertionError):
        same(
            learner_of(smooth, strategy=EWC(30.0)),
            tasks,
            *data,
            make_way=lambda: PlainEWC(24.0, 1.0, *data),
            exact=False,
        )
