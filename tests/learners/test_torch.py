import pytest

torch = pytest.importorskip("torch")
from taskorder.learners import TorchLearner


def module():
    return torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01)


def moments(model):
    return [value["exp_avg"].clone() for value in model.optimizer.state_dict()["state"].values()]


def test_the_optimizer_goes_on_or_starts_afresh(digits):
    steps = {}
    for reset in (False, True):
        learner = TorchLearner(module, adam, epochs=1, reset_optimizer=reset)
        model = learner.fit(learner.fit(learner.make(0), digits[0]), digits[1])
        steps[reset] = int(model.optimizer.state_dict()["state"][0]["step"])
    assert steps == {False: 4, True: 2}


def test_a_copy_has_the_state_of_the_optimizer(digits):
    learner = TorchLearner(module, adam, epochs=1)
    model = learner.fit(learner.make(0), digits[0])
    twin = learner.copy(model)
    before = moments(twin)
    assert all(torch.equal(a, b) for a, b in zip(before, moments(model), strict=True))
    learner.fit(model, digits[1])
    assert all(torch.equal(a, b) for a, b in zip(before, moments(twin), strict=True))
    own = {id(parameter) for parameter in twin.module.parameters()}
    assert {id(parameter) for group in twin.optimizer.param_groups for parameter in group["params"]} == own


def test_losses_leave_the_statistics_of_batch_normalization_alone(digits):
    learner = TorchLearner(module, adam, epochs=1)
    model = learner.fit(learner.make(0), digits[0])
    before = model.module[1].running_mean.clone()
    assert learner.loss(model, digits[1]) == learner.loss(model, digits[1])
    assert torch.equal(model.module[1].running_mean, before)
    learner.fit(model, digits[1])
    assert not torch.equal(model.module[1].running_mean, before)


def test_the_random_state_of_torch_is_left_alone(digits):
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    learner = TorchLearner(module, adam, epochs=1)
    learner.fit(learner.make(5), digits[0])
    assert torch.equal(torch.rand(2), wanted)


def test_a_last_batch_of_one_joins_the_one_before(digits):
    learner = TorchLearner(module, adam, epochs=1, batch_size=20)  # 41 examples: batch normalization needs two
    assert sorted(len(rows) for rows in learner._batches(41)) == [20, 21]
    assert learner.fit(learner.make(0), digits[4]).seen == ("8 or 9",)


def test_what_is_no_module_is_refused():
    with pytest.raises(ValueError, match=r"`module_factory` must return an nn.Module, got int"):
        TorchLearner(lambda: 3).make(0)
    with pytest.raises(ValueError, match=r"^`module_factory` must be a function that makes .* got Sequential\.$"):
        TorchLearner(module())
    with pytest.raises(ValueError, match=r"^`optimizer_factory` must be a function of weights.* got Adam\.$"):
        TorchLearner(module, torch.optim.Adam(module().parameters()))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_about_what_the_processor_gives(digits):
    losses = []
    for device in ("cpu", "cuda"):
        learner = TorchLearner(module, adam, epochs=3, device=device)
        losses.append(learner.loss(learner.fit(learner.make(0), digits[0]), digits[0]))
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
