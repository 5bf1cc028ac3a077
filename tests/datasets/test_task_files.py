"""Tasks out of files, as `taskorder plan` reads them."""

import numpy as np
import pytest

from taskorder.datasets.task_files import TaskSpec, read_tasks


@pytest.mark.parametrize("gap", ["", " "])
def test_blanks_around_cells_make_no_other_columns_and_tasks(tmp_path, gap):
    """`north ` used to be another task than `north`, and ` country` another column than `country`."""
    rows = ["age, country, label".replace(", ", f",{gap}")]
    for number in range(80):
        place = ("north", "south ", "north ", "south")[number % 4]
        rows.append(f"{number}.5,{gap}{place},{gap}{'yes' if number % 3 else 'no'}")
    path = tmp_path / "table.csv"
    path.write_text("\n".join(rows))
    files = read_tasks([path], TaskSpec(column="country"))
    assert [task.name for task in files.tasks] == ["north", "south"]
    assert files.tasks[0].own_classes == files.tasks[1].own_classes == ("no", "yes")


def test_classes_that_fit_in_no_task_are_told(tmp_path):
    path = tmp_path / "five.npz"
    np.savez(path, inputs=np.random.default_rng(0).normal(size=(100, 3)), labels=np.arange(100) % 5)
    files = read_tasks([path])
    assert [task.name for task in files.tasks] == ["0-1", "2-3"]
    assert "5 classes cannot be cut into tasks of 2: in no task is 4" in files.notes
    listed = read_tasks([path], TaskSpec({"low": ("0", "1"), "high": ("3", "4")}))
    assert not [note for note in listed.notes if "in no task" in note]
    np.savez(path, inputs=np.random.default_rng(0).normal(size=(80, 3)), labels=np.arange(80) % 4)
    assert not [note for note in read_tasks([path]).notes if "in no task" in note]
