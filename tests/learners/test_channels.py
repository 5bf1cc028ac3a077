"""Images come in the layout that the module takes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from taskorder import Task, plan
from taskorder.learners import TorchLearner
from taskorder.learners.named import named_learner
from taskorder.learners.protocol import described


def network():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 2))


def images(count=24):
    """6 x 6 pixels of three colors; the class is which of two colors is brighter."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 200, size=(count, 6, 6, 3), dtype=np.uint8)
    pixels[np.arange(count), :, :, np.arange(count) % 2] += 50
    return pixels, np.arange(count) % 2


def test_images_with_channels_first_and_last_are_learned_alike():
    pixels, labels = images()
    losses = []
    for inputs, channels in ((pixels, "last"), (pixels.transpose(0, 3, 1, 2), "first")):
        learner, task = TorchLearner(network, channels=channels), Task("t", inputs, labels)
        losses.append(learner.loss(learner.fit(learner.make(0), task), task))
    assert losses[0] == losses[1]
    assert described(TorchLearner(network, channels="last")) != described(TorchLearner(network))


def test_the_wrong_layout_is_named_with_the_fix():
    task = Task("t", *images())
    learner = TorchLearner(network)
    with pytest.raises(ValueError, match=r"inputs of shape \(6, 6, 3\) for the module\. Try .*channels='last'\)"):
        learner.fit(learner.make(0), task)
    with pytest.raises(ValueError, match="`channels` must be one of first, last, got 'middle'"):
        TorchLearner(network, channels="middle")


def test_a_module_named_on_the_command_line_gets_channels_first(tmp_path, monkeypatch):
    (tmp_path / "my_cnn.py").write_text(
        "import torch\n"
        "def make():\n"
        "    layers = torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(64, 2)\n"
        "    return torch.nn.Sequential(*layers)\n"
    )
    monkeypatch.chdir(tmp_path)
    task = Task("t", *images())
    learner = named_learner("torch:my_cnn:make", [task], epochs=1)
    assert learner.fit(learner.make(0), task).seen == ("t",)


class Photos(torch.utils.data.Dataset):
    """A data set as torchvision has them: tensors with channels first, read one by one."""

    def __init__(self, classes, count=200):
        self.pixels, self.targets, self.classes = *images(count), classes
        self.read = 0

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, row):
        self.read += 1
        return torch.tensor(self.pixels[row]).permute(2, 0, 1) / 255, int(self.targets[row])


def test_a_data_set_of_photos_and_a_cnn_end_in_a_plan():
    """The tasks know their classes by name, and have an output for each."""
    made = {name: Photos(name.split(" or ")) for name in ("cat or dog", "car or ship", "dog or ship")}
    tasks = [Task(name, photos) for name, photos in made.items()]

    def wide():
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 4)
        )

    chosen = plan(tasks, TorchLearner(wide, epochs=2, batch_size=8), pilot=20, seeds=1, draws=10)
    assert sorted(chosen.named_order) == sorted(made)
    # twenty for the pilot and two for their shape; as many to learn and to test on beside a mixture of all tasks
    assert all(photos.read <= 62 for photos in made.values())
    assert "mean accuracy at the end" in chosen.summary()
    with pytest.raises(ValueError, match="an output for each of the 4 classes of all tasks, got 2"):
        plan(tasks, TorchLearner(network), pilot=20)
