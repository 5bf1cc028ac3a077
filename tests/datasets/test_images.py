"""Folders of images."""

import sys

import numpy as np
import pytest

from taskorder.datasets import load

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path):
    """A folder pets with 2 classes of 3 + 1 gray images, each of one value."""
    for split, count in (("train", 3), ("test", 1)):
        for label, name in enumerate(("cat", "dog")):
            for number in range(count):
                save(tmp_path / "pets" / split / name / f"{number}.png", 10 * label + number)
    return tmp_path / "pets"


def save(path, value, size=(5, 4), mode="L"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value).save(path)


def test_gray_images_have_one_channel(folder):
    (folder / "train" / "cat" / ".hidden.png").write_text("no image")
    (folder / "train" / "cat" / "notes.txt").write_text("no image")
    data = load(folder)
    assert (data.name, data.class_names) == ("pets", ("cat", "dog"))
    assert data.train_inputs.shape == (6, 4, 5, 1)
    assert data.train_inputs[:, 0, 0, 0].tolist() == [0, 1, 2, 10, 11, 12]
    assert data.train_labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert data.test_labels.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["val", "valid"])
def test_one_color_image_makes_all_color(folder, name):
    (folder / "test").rename(folder / name)
    save(folder / "train" / "dog" / "9.bmp", (1, 2, 3), mode="RGB")
    data = load(str(folder))
    assert data.train_inputs.shape == (7, 4, 5, 3)
    assert data.train_inputs[-1, 0, 0].tolist() == [1, 2, 3]
    assert data.train_inputs[3, 0, 0].tolist() == [10, 10, 10]


@pytest.mark.parametrize("inside", [".", "train"])
def test_without_a_folder_to_test_on_a_fifth_is_drawn(tmp_path, inside):
    for label, name in enumerate(("cat", "dog")):
        for number in range(10):
            save(tmp_path / "pets" / inside / name / f"{number}.png", 10 * label + number)
    data = load(tmp_path / "pets")
    assert (data.name, data.class_names) == ("pets", ("cat", "dog"))
    assert [len(data.train_labels), len(data.test_labels)] == [16, 4]
    drawn = np.concatenate([data.train_inputs, data.test_inputs])[:, 0, 0, 0]
    assert sorted(drawn.tolist()) == list(range(20))
    assert (drawn // 10).tolist() == [*data.train_labels.tolist(), *data.test_labels.tolist()]


def test_one_image_a_class_leaves_none_to_test_on(tmp_path):
    for name in ("cat", "dog"):
        save(tmp_path / name / "1.png", 0)
    with pytest.raises(ValueError, match="must have two images of a class, to test on one, got 2 of 2 classes"):
        load(tmp_path)


def test_sizes_and_modes_must_agree(folder):
    odd = folder / "test" / "dog" / "7.png"
    save(odd, 0, size=(5, 5))
    with pytest.raises(ValueError, match=rf"`{odd}` must be 5 x 4 pixels like .*0\.png, got 5 x 5\. Bring all"):
        load(folder)
    save(odd, (1, 2, 3, 4), mode="RGBA")
    with pytest.raises(ValueError, match="must be a gray or RGB image, got mode RGBA"):
        load(folder)


def test_damaged_images_are_named(folder):
    path = folder / "train" / "cat" / "1.png"
    whole = path.read_bytes()
    for data in (b"", b"junk", whole[:-30], whole[:40], whole[:20] + b"\xff" * 20 + whole[40:]):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"must be a whole image|must be a gray|pixels") as refusal:
            load(folder)
        assert str(path) in str(refusal.value)
        assert "\n" not in str(refusal.value)


def test_a_promise_of_too_many_pixels_takes_no_memory(tmp_path):
    for split in ("train", "test"):
        save(tmp_path / split / "a" / "1.png", 0, size=(5000, 5000), mode="1")
    with pytest.raises(ValueError, match="got 2 images of 5000 x 5000 pixels"):
        load(tmp_path)


def test_the_layout_is_explained(folder, tmp_path):
    with pytest.raises(
        ValueError, match=r"must hold one folder for each class, got none\. Lay images out as cat/1\.png, or"
    ):
        load(folder / "train" / "cat")
    (folder / "train").rename(folder / "training")
    with pytest.raises(
        ValueError, match=r"train` must be a folder .* got no such folder\. Lay images out as cat/1\.png, or"
    ):
        load(folder)
    (folder / "training").rename(folder / "train")
    save(folder / "test" / "owl" / "1.png", 0)
    with pytest.raises(ValueError, match="must have the class folders that train has, got 'owl' too"):
        load(folder)
    (folder / "train" / "owl").mkdir()
    with pytest.raises(ValueError, match=r"owl` must hold images .* got none\. Lay images out as"):
        load(folder)
    (folder / "train" / "owl" / "snowy").mkdir()
    with pytest.raises(ValueError, match=r"got none\. Is every folder in it a task\? Then name them: .*train/\*\.$"):
        load(folder)


def test_pillow_is_asked_for(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ValueError, match=r'pip install "taskorder\[images\]"'):
        load(folder)


def test_colors_are_exact(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 7, 3), dtype=np.uint8)
    for split in ("train", "test"):
        (tmp_path / split / "a").mkdir(parents=True)
        Image.fromarray(pixels).save(tmp_path / split / "a" / "1.png")
    assert np.array_equal(load(tmp_path).train_inputs[0], pixels)
