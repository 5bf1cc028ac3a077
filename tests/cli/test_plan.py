"""`taskorder plan`: from files to a folder with a plan, and back to work after Ctrl-C."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from taskorder import PortableOrder, read_similarity
from taskorder.cli import main
from taskorder.records import Plan

SGD = 'sklearn:SGDClassifier(loss="log_loss",alpha=0.01)'


def rows(angle, seed, count=80):
    x = np.random.default_rng(seed).normal(size=(count, 2)) * [1, 30]
    return [[*point, "yes" if side > 0 else "no"] for point, side in
            zip(x.tolist(), x[:, 0] * np.cos(angle) + x[:, 1] / 30 * np.sin(angle), strict=True)]  # fmt: skip


def write_tables():
    """A table with a column that says where a row comes from, and the same in three files."""
    with open("all.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "income", "country", "label"])
        for k, place in enumerate(("north", "south", "east")):
            table.writerows([[a, b, place, label] for a, b, label in rows(k * 0.7, k)])
    for k, place in enumerate(("north", "south", "east")):
        with open(f"{place}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["age", "income", "label"], *rows(k * 0.7, k)])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the tables, to work in."""
    monkeypatch.chdir(tmp_path)
    write_tables()
    return tmp_path


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """What `plan` printed for the tasks in a column, and its folder; all tests share the training."""
    folder, printed = tmp_path_factory.mktemp("planned"), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        write_tables()
        words = ("all.csv", "--column", "country", "--seeds", "2", "--learner", SGD, "--pilot", "50%", "--json")
        assert main(["plan", *words]) == 0
    return Plan.from_json(printed.getvalue()), folder / "plan"


def plan_of(capsys, *words):
    assert main(["plan", *words, "--learner", SGD, "--pilot", "50%", "--json"]) == 0
    return Plan.from_json(capsys.readouterr().out)


def refused(capsys, *words):
    assert main(["plan", *words]) == 2
    return capsys.readouterr().err


def test_a_column_gives_tasks_and_the_folder_holds_everything(planned):
    plan, folder = planned
    assert sorted(plan.named_order) == ["east", "north", "south"]
    assert Plan.from_json((folder / "plan.json").read_text()) == plan
    assert plan.confidence.num_orders == 6
    with open(folder / "similarity.csv") as file:
        header, *table = csv.reader(file)
    assert header[1:] == [row[0] for row in table] == list(plan.names)
    with open(folder / "losses.csv") as file:
        losses = list(csv.DictReader(file))
    assert len(losses) == 2 * 9 * 3
    assert all(float(row["loss"]) >= 0 and 0 <= float(row["accuracy"]) <= 1 for row in losses)
    assert {"north", "north>south", "south>north"} <= {row["learned"] for row in losses}
    assert "<html" in (folder / "report.html").read_text()


def test_tasks_may_be_called_like_comments_and_numbers(here, capsys):
    text = (here / "all.csv").read_text().replace("north", "#1").replace("south", "0.5").replace("east", "1.5")
    (here / "odd.csv").write_text(text)
    plan = plan_of(capsys, "odd.csv", "--column", "country", "--seeds", "1", "--seed", "7", "--folder", "out")
    assert sorted(plan.names) == ["#1", "0.5", "1.5"]
    assert read_similarity("out/similarity.csv")[1] == plan.names
    assert "<html" in (here / "out/report.html").read_text()
    assert PortableOrder.from_plan(plan).order_seed == 7


def test_a_race_spends_a_share_of_one_run(here, capsys):
    words = ("all.csv", "--column", "country", "--learner", SGD, "--budget", "0.5 runs", "--json", "--folder", "out")
    assert main(["plan", *words]) == 0
    plan = Plan.from_json(capsys.readouterr().out)
    assert 0 < plan.prediction.cost <= 0.5
    assert any("raced for the last places: all 3 tasks on" in note for note in plan.notes)


def test_a_person_may_say_what_the_learner_keeps(here, capsys):
    words = ("all.csv", "--column", "country", "--seeds", "1", "--retention", "0.5", "--folder", "out")
    assert "keeps 50 %" in plan_of(capsys, *words).prediction.retention


def test_similarity_and_plan_work_with_the_other_commands(planned, tmp_path, capsys):
    folder = str(planned[1])
    assert main(["compare", f"{folder}/similarity.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == ["north", "south", "east"]
    words = f"{folder}/plan.json", "--similarity", f"{folder}/transfer.csv", "-o", str(tmp_path / "again.html")
    assert main(["report", *words]) == 0


def test_constraints_are_those_of_solve(here, capsys):
    words = ["all.csv", "--column", "country", "--seeds", "1", "--before", "south:east", "--last", "north",
             "--weights", "north=3"]  # fmt: skip
    plan = plan_of(capsys, *words)
    assert plan.named_order == ("south", "east", "north")
    assert plan.options["weights"] == [3.0, 1.0, 1.0]
    assert plan.confidence is None
    free = plan_of(capsys, "all.csv", "--column", "country", "--seeds", "1", "--first", "east", "--folder", "free")
    assert free.named_order[0] == "east"
    assert free.confidence.num_orders == 2
    words = ["all.csv", "--column", "country", "--seeds", "1", "--group", "north,south", "--folder", "together"]
    together = plan_of(capsys, *words)
    assert together.named_order.index("east") != 1
    assert together.confidence.num_orders == 4
    assert main(["report", "plan", "-o", "again.html"]) == 0


def test_files_are_tasks(here, planned, capsys):
    files, (column, _) = plan_of(capsys, "north.csv", "south.csv", "east.csv", "--seeds", "2"), planned
    assert files.names == column.names
    assert files.order == column.order


def test_groups_of_classes(here, capsys):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.array(["cat", "dog", "car", "bus"]), 40)
    np.savez("things.npz", inputs=rng.normal(size=(160, 4)) + np.repeat(np.eye(4), 40, axis=0) * 3, labels=labels)
    (here / "spec.toml").write_text('[tasks]\npets = ["cat", "dog"]\nwheels = ["car", "bus"]\n')
    plan = plan_of(capsys, "things.npz", "--tasks", "spec.toml", "--seeds", "1")
    assert plan.names == ("pets", "wheels")
    default = plan_of(capsys, "things.npz", "--seeds", "1", "--folder", "default")
    assert len(default.names) == 2


def test_an_order_of_digits_for_other_frameworks(here, capsys):
    plan = plan_of(capsys, "digits", "--seeds", "1", "--epochs", "1", "--folder", "out")
    assert main(["order", "out/order.json", "--to", "continuum", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)
    assert settings["increment"] == 2
    assert sorted(settings["class_order"]) == list(range(10))
    pairs = zip(settings["class_order"][::2], settings["class_order"][1::2], strict=True)
    assert tuple(f"{a}-{b}" for a, b in pairs) == plan.named_order
    assert main(["order", "out/order.json", "--to", "mammoth", "--json"]) == 0
    inverse = json.loads(capsys.readouterr().out)["class_order"]
    assert [inverse[label] for label in settings["class_order"]] == list(range(10))


def test_an_order_of_chosen_classes_keeps_their_ids_in_the_data(here, capsys):
    (here / "spec.toml").write_text('[tasks]\nround = ["8", "0"]\nstraight = ["7", "1", "4"]\n')
    words = ("digits", "--tasks", "spec.toml", "--seeds", "1", "--epochs", "1", "--learned", "straight")
    plan_of(capsys, *words)
    order = PortableOrder.from_json((here / "plan/order.json").read_text())
    assert (order.names, order.class_groups, order.num_classes) == (("round", "straight"), ((8, 0), (7, 1, 4)), 10)
    assert order.class_names == (("8", "0"), ("7", "1", "4"))
    assert order.class_order == (7, 1, 4, 8, 0)
    assert order.classes_left_out == (2, 3, 5, 6, 9)


def test_an_order_of_tasks_that_are_no_groups_of_classes(planned, capsys):
    plan, folder = planned
    assert main(["order", f"{folder}/order.json", "--to", "clarena", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"train_tasks": [task + 1 for task in plan.order]}
    assert main(["order", f"{folder}/order.json", "--to", "avalanche"]) == 2
    assert "must list the classes of each task, got none" in capsys.readouterr().err


def test_images_and_the_network(here, capsys):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    for split, count in (("train", 12), ("test", 2)):
        for name, light in (("a", 40), ("b", 200), ("c", 60), ("d", 180)):
            (here / "shots" / split / name).mkdir(parents=True)
            for k in range(count):
                pixels = np.clip(rng.normal(light, 20, (8, 8)), 0, 255).astype(np.uint8)
                image.fromarray(pixels).save(here / "shots" / split / name / f"{k}.png")
    assert main(["plan", "shots", "--pilot", "1.0", "--seeds", "1", "--epochs", "1", "--learner", "mlp"]) == 0
    shown = capsys.readouterr().out
    assert "a-b" in shown
    assert "c-d" in shown


def test_a_full_disk_leaves_no_half_of_a_file(here, capsys):
    resource = pytest.importorskip("resource")
    words = ("all.csv", "--column", "country", "--learner", SGD, "--pilot", "50%", "--seeds", "1", "--folder", "out")
    assert main(["plan", *words]) == 0
    there = {path.name: path.read_bytes() for path in (here / "out").iterdir() if path.suffix != ".sqlite"}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(there["report.html"]) // 2, before[1]))
    try:
        assert main(["plan", *words]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert capsys.readouterr().err == "taskorder: error: cannot write to out: File too large\n"
    left = {path.name: path.read_bytes() for path in (here / "out").iterdir() if path.suffix != ".sqlite"}
    assert left.keys() == there.keys()
    assert left["report.html"] == there["report.html"]


def test_the_table_says_what_a_person_needs(here, capsys):
    assert main(["plan", "all.csv", "--column", "country", "--learner", SGD, "--pilot", "50%", "--seeds", "2"]) == 0
    shown = capsys.readouterr().out
    assert "accuracy at the end" in shown
    assert "likely to beat a random order" in shown
    assert "plan.json" in shown


BAD_WORDS = {
    ("nowhere.csv",): "must be an existing file",
    ("all.csv", "--column", "planet"): "`--column` must be one of the columns age, income, country, label",
    ("north.csv", "--tasks", "odd.toml"): "must have one of the keys tasks, column, classes_per_task",
    ("north.csv", "--tasks", "unknown.toml"): "got 'maybe' in task 'one'",
    ("north.csv", "south.csv", "--tasks", "odd.toml"): "must have one of the keys",
    ("north.csv", "--tasks", "nowhere.toml"): "`nowhere.toml` must be a readable TOML file, got: No such file",
    ("north.csv", "--tasks", "north.csv"): "`north.csv` must be a TOML file, got: ",
    ("north.csv", "south.csv", "--column", "age"): "`--column` must be left out with several files, got 2: each is",
    ("north.csv",): "at least two tasks of two classes",
    ("north.csv", "south.csv", "--learner", "magic"): "`--learner` must be mlp, cnn, sklearn:CLASS",
    ("north.csv", "south.csv", "--learner", "sklearn:Magic"): "must name a class of scikit-learn's",
    ("north.csv", "south.csv", "--learner", "sklearn:SGDClassifier(speed=1)"): "must have settings that",
    ("north.csv", "south.csv", "--learner", "sklearn:SGDClassifier(print())"): "settings without a name",
    ("north.csv", "south.csv", "--learner", "sklearn:SGDClassifier(loss=hinge)"): "loss=hinge is no plain value",
    ("nowhere.csv", "--folder", "north.csv"): "must be a folder, got 'north.csv', and north.csv is a file",
    ("nowhere.csv", "--folder", "north.csv/a/b"): "must be a folder, got 'north.csv/a/b', and north.csv is a file",
    ("north.csv", "south.csv", "--epochs", "0"): "`--epochs` must be a positive integer, got 0",
    ("north.csv", "south.csv", "--batch-size", "0"): "`--batch-size` must be a positive integer, got 0",
    ("nowhere",): "`DATA` must be one of digits, fashion-mnist",
    ("north.csv", "south.csv", "--learner", "torch:nowhere:net"): "must name a module that can be imported",
    ("north.csv", "south.csv", "--learner", "cnn"): "must be mlp for inputs that are no images",
    ("north.csv", "south.csv", "--learner", SGD, "--pilot", "1"): "one example of each of its 2 classes",
    ("north.csv", "south.csv", "--learner", SGD, "--pilot", "50%", "--budget", "1"): "`--budget` must allow",
    ("north.csv", "south.csv", "--learner", SGD, "--budget", "2 weeks"): "`--budget` must be a number of fits",
    ("north.csv", "south.csv", "--learner", SGD, "--budget", "0.001 runs"): "`--budget` must be enough for a race",
    ("north.csv", "south.csv", "--learner", SGD, "--retention", "1.5"): "`--retention` must be in [0, 1], got 1.5",
    ("north.csv", "south.csv", "--learner", SGD, "--rule", "luck"): "`--rule` must be one of auto, optimal",
    ("north.csv", "south.csv", "--pilot", "some"): "argument --pilot: must be a share like 5% or",
    ("north.csv", "south.csv", "--before", "north"): "`--before` must be A:B (A before B)",
    ("north.csv", "south.csv", "--before", "north:west"): "must name a known task, got 'west'. Tasks: north, south",
    ("north.csv", "south.csv", "--first", "west"): "`--first` must name a known task, got 'west'",
    ("north.csv", "south.csv", "--weights", "west=1"): "`--weights` must name a known task, got 'west'",
    ("north.csv", "south.csv", "--before", "north:south", "--last", "north"): "must not contradict `--before`",
    ("north.csv", "south.csv", "--rule", "first-order", "--weights", "1,2"): "Use rule 'auto' or 'optimal'",
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), BAD_WORDS.items(), ids=map(" ".join, BAD_WORDS))
def test_bad_input_is_one_line(words, message, here, capsys):
    (here / "odd.toml").write_text("speed = 3\n")
    (here / "unknown.toml").write_text('[tasks]\none = ["yes", "maybe"]\ntwo = ["no", "yes"]\n')
    said = refused(capsys, *words)
    assert message in said
    assert said.count("\n") == 1


BAD_TASKS = {
    ("north.csv", "one.csv"): "`labels` of task 'one' must have at least two classes, got only 'yes'",
    ("north.csv", "empty.csv"): "`empty.csv` must have rows of features and a label, got none",
    ("north.csv", "missing.csv"): "got nan at row 1, column 1. Fill or drop",
    ("north.csv", "wide.csv"): "must have only the columns of north.csv (age, income, label), got 'height' too",
    ("north.csv", "short.csv"): "`short.csv` must have the column 'income' of north.csv, got age, incom, label. Rename",
    ("north.csv", "bare.csv"): "the columns of north.csv (age, income, label), got 4 without names",
    ("north.csv", "north.csv"): "files of different names, got 'north' more than once",
    ("blank.csv", "--column", "where"): "a task in column 'where' of each row, got none on line 5",
    ("four.npz", "--tasks", "single.toml"): "task 'a' two different classes or more, got '0'",
    ("four.npz", "--tasks", "twice.toml"): "task 'a' two different classes or more, got '0', '0'",
    ("four.npz", "--tasks", "no.toml"): "task 'a' two different classes or more, got none",
    ("four.npz", "--tasks", "none.toml"): "`none.toml` must list the classes of each task",
}


@pytest.mark.parametrize(("words", "message"), BAD_TASKS.items(), ids=map(" ".join, BAD_TASKS))
def test_bad_tasks_are_named(words, message, here, capsys):
    def table(name, header, lines):
        with open(name, "w", newline="") as file:
            csv.writer(file).writerows([header, *lines])

    names, good = ["age", "income", "label"], rows(0.0, 5)
    table("one.csv", names, [[a, b, "yes"] for a, b, _ in good])
    table("empty.csv", names, [])
    table("missing.csv", names, [["nan", b, label] for a, b, label in good])
    table("wide.csv", ["age", "income", "height", "label"], [[a, b, a, label] for a, b, label in good])
    table("short.csv", ["age", "incom", "label"], good)
    table("bare.csv", [0.5, 0.1, 0.2, "yes"], [[a, b, a, label] for a, b, label in good])
    table("blank.csv", [*names, "where"], [[*row, "" if k == 3 else "north"] for k, row in enumerate(good)])
    np.savez("four.npz", inputs=np.random.default_rng(0).normal(size=(80, 2)), labels=np.repeat([0, 1, 2, 3], 20))
    for name, text in {"single": 'a = ["0"]', "twice": 'a = ["0", "0"]', "no": "a = []", "none": ""}.items():
        (here / f"{name}.toml").write_text(f"[tasks]\n{text}\n")
    said = refused(capsys, *words, "--learner", SGD, "--pilot", "50%")
    assert message in said
    assert said.count("\n") == 1
    assert not (here / "plan").exists()


def test_tasks_that_share_some_labels_are_told_and_keep_them(here, capsys):
    for name, labels in (("p", "ab"), ("q", "bc"), ("r", "ca")):
        with open(f"{name}.csv", "w", newline="") as file:
            lines = [[a, b, labels[label == "yes"]] for a, b, label in rows(0.3, 1)]
            csv.writer(file).writerows([["age", "income", "label"], *lines])
    plan = plan_of(capsys, "p.csv", "q.csv", "r.csv", "--seeds", "1")
    assert any("classes are matched by name: 3 outputs, 3 of them for" in note for note in plan.notes)
    assert not any("shares a label" in note for note in plan.notes)


def test_a_network_that_fails_on_the_third_fit_is_named_and_the_command_goes_on(here, capsys):
    pytest.importorskip("torch")
    (here / "shaky.py").write_text(
        "import torch\n\nclass Net(torch.nn.Linear):\n    fits = 0\n    def train(self, mode=True):\n"
        "        Net.fits += mode\n        return super().train(mode)\n    def forward(self, x):\n"
        "        return super().forward(x) * (float('nan') if Net.fits == 3 else 1)\n\n"
        "def make():\n    return Net(2, 2)\n"
    )
    words = ["all.csv", "--column", "country", "--learner", "torch:shaky:make", "--pilot", "50%", "--seeds", "1"]
    said = refused(capsys, *words)
    assert "got nan for 'north'" in said
    assert "fit 3 of 9)" in said
    assert "The fits before it are kept: call again to go on." in said
    assert main(["plan", *words, "--json"]) == 0
    assert sorted(Plan.from_json(capsys.readouterr().out).order) == [0, 1, 2]


def test_a_module_of_ones_own(here, capsys):
    pytest.importorskip("torch")
    (here / "my_net.py").write_text("import torch\n\ndef make():\n    return torch.nn.Linear(2, 2)\n")
    words = ["north.csv", "south.csv", "--learner", "torch:my_net:make", "--pilot", "50%", "--seeds", "1", "--json"]
    assert main(["plan", *words]) == 0
    assert sorted(Plan.from_json(capsys.readouterr().out).order) == [0, 1]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.slow("interrupt")
def test_ctrl_c_keeps_what_is_done(here, capsys):
    words = ["all.csv", "--column", "country", "--learner", SGD, "--pilot", "1.0", "--epochs", "60", "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "taskorder", "plan", *words], stderr=subprocess.PIPE, text=True, env=environment
    )
    from taskorder.runs.store import Store

    deadline = time.monotonic() + 120
    kept = 0
    while kept < 3 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        if (here / "plan/fits.sqlite").exists():
            with Store(here / "plan/fits.sqlite") as store:
                kept = len(store.entries())
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130, said
    assert "what is finished is kept" in said
    with Store(here / "plan/fits.sqlite") as store:
        before = len(store.entries())
    assert before >= 3
    assert main(["plan", *words]) == 0
    assert sorted(Plan.from_json(capsys.readouterr().out).order) == [0, 1, 2]


@pytest.mark.parametrize("first", ["task,a,b\n", ""])
def test_a_table_of_similarities_is_for_solve(here, capsys, first):
    names = ("a,", "b,") if first else ("", "")
    (here / "table.csv").write_text(f"{first}{names[0]}1,0.5\n{names[1]}0.5,1\n")
    told = refused(capsys, "table.csv")
    assert told.count("\n") == 1
    assert told.endswith("with: taskorder solve table.csv\n")
    assert not (here / "plan").exists()


def test_next_to_nothing_is_no_negative_zero():
    from taskorder import Task, run_pilot
    from taskorder.cli.output import page
    from taskorder.cli.plan import pilot_table
    from taskorder.learners import CallableLearner

    learner = CallableLearner(lambda learned, test, seed: 0.5 if test in learned else 1.001, chance=1.0)
    result = run_pilot([Task("a"), Task("b")], learner, seeds=1, draws=0)
    shown = page(lambda width: (pilot_table(result, width), []))
    assert " 0 %" in shown
    assert "-0 %" not in shown
