import gzip

import pytest

from taskorder.datasets.task_files import TaskSpec
from taskorder.datasets.task_list import read_data, read_task_list


@pytest.fixture
def folder(tmp_path):
    """A list of two tables of texts, one packed."""
    (tmp_path / "one.csv").write_text('review,stars\n"good, very good",5\nbad,1\n')
    with gzip.open(tmp_path / "two.jsonl.gz", "wt") as file:
        file.write('{"stars": 1, "review": "not good"}\n{"stars": 5, "review": "fine"}\n')
    (tmp_path / "tasks.toml").write_text(
        'text = "review"\nlabel = "stars"\n[tasks]\nfilms = "one.csv"\nbooks = "two.jsonl.gz"\n'
    )
    return tmp_path


def test_tasks_have_the_names_of_the_list(folder):
    found = read_task_list(folder / "tasks.toml")
    films, books = found.tasks
    assert (films.name, books.name) == ("films", "books")
    assert (films.inputs, list(films.labels)) == (["good, very good", "bad"], ["5", "1"])
    assert books.inputs == ["not good", "fine"]
    assert films.classes == books.classes == ("1", "5")
    assert found.notes == ("learned from the text of review; labels are stars",)


def test_without_labels_the_tasks_are_texts(folder):
    lines = 'text = ["stars", "review"]', "[tasks]", 'films = "one.csv"', 'books = "two.jsonl.gz"'
    (folder / "tasks.toml").write_text("\n".join(lines))
    tasks = read_task_list(folder / "tasks.toml").tasks
    assert [task.inputs for task in tasks] == [["5\ngood, very good", "1\nbad"], ["1\nnot good", "5\nfine"]]
    assert [task.labels for task in tasks] == [None, None]


def test_a_table_may_have_one_column_of_texts(folder):
    (folder / "one.csv").write_text('text\n"good, very good"\nso bad that it hurts\n')
    (folder / "two.csv").write_text("text\nfine\nnot so fine\n")
    (folder / "tasks.toml").write_text('[tasks]\nfilms = "one.csv"\nbooks = "two.csv"\n')
    tasks = read_task_list(folder / "tasks.toml").tasks
    assert [task.inputs for task in tasks] == [["good, very good", "so bad that it hurts"], ["fine", "not so fine"]]


def test_options_go_before_the_list(folder):
    found = read_data([folder / "tasks.toml"], TaskSpec(text=("stars",), label="review", by_position=True))
    assert [task.inputs for task in found.tasks] == [["5", "1"], ["1", "5"]]
    assert found.tasks[0].classes == (0, 1)
    with pytest.raises(ValueError, match=r"^`column` must be left out with a list of tasks"):
        read_data([folder / "tasks.toml"], TaskSpec(column="stars"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tasks", r"must be a TOML file, got"),
        ('[tasks]\na = "one.csv"\na = "two.csv"', r"must be a TOML file, got: Cannot .* one line a task, like films"),
        ("tasks = 3", r"must list at least two tasks, got none\."),
        ('labels = "stars"\n[tasks]\na = "one.csv"', r"must have the keys text, label, tasks, got 'labels'\."),
        ('text = 3\n[tasks]\na = "one.csv"\nb = "one.csv"', r"must name the columns of text and label, got 3, None\."),
        ('[tasks]\na = "one.csv"\nb = 3', r"must name a table .* for each task, got 3 for 'b'\."),
        ('[tasks]\na = "one.csv"\nb = "two.jsonl.gz"', r"`.*one.csv` must have the column 'text', got review, stars\."),
        ('text = "review"\n[tasks]\na = "one.csv"\nb = "empty.jsonl"', r"must have a text in each row, got none on"),
        ('text = "review"\n[tasks]\na = "one.csv"\nb = "nowhere.csv"', r"nowhere.csv` must be"),
    ],
)
def test_a_list_that_is_wrong_is_refused(folder, text, message):
    (folder / "empty.jsonl").write_text('{"review": "good"}\n{"review": " "}\n')
    (folder / "tasks.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_task_list(folder / "tasks.toml")
