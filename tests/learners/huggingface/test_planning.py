"""From texts to a plan: in Python, from the shell, on Ray, and after a kill."""

import os
import signal
import subprocess
import sys
from functools import partial

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from taskorder import Task, plan
from taskorder.cli import main
from taskorder.learners import FineTuning, HuggingFaceLearner, Replay, learn_orders
from taskorder.learners.named import named_learner
from taskorder.records import Plan

pytestmark = pytest.mark.filterwarnings("default")
RECIPE = FineTuning(epochs=6, learning_rate=5e-3)


def test_data_sets_lead_to_a_plan(bert, tokenizer, reviews, adapter):
    datasets = pytest.importorskip("datasets")
    tasks = []
    for task in reviews:
        rows = {"text": list(task.inputs), "label": task.targets.tolist()}
        kinds = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])}
        tasks.append(Task(task.name, datasets.Dataset.from_dict(rows, datasets.Features(kinds)), "label"))
    learner = HuggingFaceLearner(bert, tokenizer, RECIPE, lora=adapter, strategy=Replay(4))
    found = plan(tasks, learner, pilot=1.0, seeds=2, draws=20)
    assert sorted(found.named_order) == ["book", "film", "phone"]
    assert found.prediction.unit == "accuracy"
    assert plan(reviews, learner, pilot=1.0, seeds=2, draws=20).named_order == found.named_order


def write(folder, tasks):
    """A file of each kind, and a list of them."""
    import pandas

    frames = [
        pandas.DataFrame({"review": list(task.inputs)} | ({"verdict": task.labels} if task.classes else {}))
        for task in tasks
    ]
    frames[0].to_json(folder / "one.jsonl", orient="records", lines=True)
    frames[1].to_csv(folder / "two.csv", index=False)
    frames[2].to_parquet(folder / "three.parquet")
    names = [task.name for task in tasks]
    label = 'label = "verdict"\n' if tasks[0].classes else ""
    files = dict(zip(names, ("one.jsonl", "two.csv", "three.parquet"), strict=True))
    lines = "".join(f'{name} = "{file}"\n' for name, file in files.items())
    (folder / "tasks.toml").write_text(f'text = "review"\n{label}\n[tasks]\n{lines}')


WORDS = ["plan", "tasks.toml", "--seeds", "1", "--pilot", "100%", "--epochs", "2"]


def test_files_lead_to_a_plan_from_the_shell(tmp_path, folder, reviews):
    write(tmp_path, reviews)
    command = [sys.executable, "-m", "taskorder", *WORDS, "--learner", f"hf:{folder / 'bert'}(lora=2)", "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert sorted(Plan.from_json(done.stdout).named_order) == ["book", "film", "phone"]
    assert (tmp_path / "plan" / "report.html").exists()


def test_texts_without_labels_lead_to_a_plan(tmp_path, monkeypatch, capsys, folder, corpora):
    write(tmp_path, corpora)
    monkeypatch.chdir(tmp_path)
    assert main([*WORDS, "--learner", f"hf:{folder / 'gpt2'}(lora=2)", "--learned", "film", "-o", "plan.json"]) == 0
    assert "knowledge at the end" in capsys.readouterr().out
    found = Plan.from_json((tmp_path / "plan.json").read_text())
    assert found.names == ("film", "book", "backward")
    assert found.notes[0] == "texts of review without labels, for a language model"
    assert "knowledge of a task: 0 is the loss of the untouched model" in " ".join(found.notes)


def said(capsys, *words):
    """The line that a command ends with, where it fails."""
    assert main([*WORDS, *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("one.jsonl", '{"reviews": "good", "verdict": "yes"}\n'), "`--text` must be one of the columns reviews"),
        (("tasks.toml", "[tasks]\na = 'one.jsonl'\n"), "must list at least two tasks, got 1."),
        (("tasks.toml", "texts = 'review'\n[tasks]\n"), "must have the keys text, label, tasks, got 'texts'."),
        (("tasks.toml", "[tasks]\na = 'one.jsonl'\nb = 'b.txt'\n"), "must name a table (CSV, TSV, JSON lines"),
        (("tasks.toml", "[tasks]\na = 'one.jsonl'\nb = 'two.csv'\n"), "must have the column 'text', got review"),
    ],
)
def test_a_list_that_is_wrong_is_one_line(tmp_path, monkeypatch, capsys, folder, reviews, change, message):
    write(tmp_path, reviews)
    monkeypatch.chdir(tmp_path)
    name, text = change
    (tmp_path / name).write_text(text)
    assert message in said(capsys, "--learner", f"hf:{folder / 'bert'}")


def test_a_learner_that_is_wrong_is_one_line(tmp_path, monkeypatch, capsys, folder, reviews):
    write(tmp_path, reviews)
    monkeypatch.chdir(tmp_path)
    for learner, message in (
        (f"hf:{tmp_path / 'nowhere'}", "`--learner` must name a folder with a model of transformers and its tokenizer"),
        (f"hf:{folder / 'bert'}(rank=8)", "`--learner` must be one of lora, merge, max_length, learning_rate"),
        (f"hf:{folder / 'bert'}(lora=0)", "`--learner` must have a rank of at least 1 as lora, got 0."),
        (f"hf:{folder / 'bert'}(max_length=0)", "`max_length` must be a positive integer, got 0."),
        (f"hf:{folder / 'bert'}(lora=2,merge='no')", "`--learner` must have True or False as merge, got 'no'."),
        (f"hf:{folder / 'bert'}(8)", "`--learner` must be like hf:MODEL_PATH(lora=8,learning_rate=1e-3)"),
        (f"hf:{folder / 'bert'}(lora=8)(merge=True)", "bert(lora=8)(merge=True)': more than one pair of brackets."),
        (f"hf:{folder / 'bert'}(precision=bf16)", "precision=bf16 is no plain value; texts stand in quotes."),
        (f"hf:{folder / 'bert'}(lora=8,lora=4)", "a setting that is given twice."),
        (f"hf:{folder / 'bert'}(schedule='cosin')", "must be one of linear, cosine"),
        (f"hf:{folder / 'bert'}(epochs=3)", "must have no epochs in brackets, got it in"),
        (f"hf:{folder / 'bert'}(epochs=3)", "Say it with `--epochs`."),
        (f"hf:{folder}", "and its tokenizer, got "),
        ("hf:made/up", "and its tokenizer, got 'made/up': no such folder, and no hub is asked."),
    ):
        assert message in said(capsys, "--learner", learner)


def test_texts_without_labels_need_a_language_model(tmp_path, monkeypatch, capsys, corpora):
    write(tmp_path, corpora)
    monkeypatch.chdir(tmp_path)
    for words in ((), ("--learner", "mlp")):
        assert "`--learner` must be hf:MODEL_PATH, with a language model, for texts without labels" in said(
            capsys, *words
        )


def test_a_tilde_is_the_home_folder(monkeypatch, folder, reviews):
    monkeypatch.setenv("HOME", str(folder))
    assert named_learner("hf:~/bert", reviews).make(0).weights.read().keys() >= {"classifier.weight"}


def test_images_have_no_length_to_cut(folder, images):
    with pytest.raises(ValueError, match=r"^`learner` must have no max_length for images, got 8\. It cuts texts\."):
        named_learner(f"hf:{folder / 'vit'}(max_length=8)", images)


def test_a_model_is_trained_as_precisely_as_its_recipe_says(tmp_path, folder, tokenizer, reviews):
    """Not as its file is, which is what transformers does: small steps are lost in weights of 16 bits."""
    from transformers import AutoModelForSequenceClassification

    load = AutoModelForSequenceClassification.from_pretrained
    load(folder / "bert").to(torch.bfloat16).save_pretrained(tmp_path / "half")
    tokenizer.save_pretrained(tmp_path / "half")
    assert load(tmp_path / "half").dtype == torch.bfloat16
    learner = named_learner(f"hf:{tmp_path / 'half'}", reviews)
    assert {tensor.dtype for tensor in learner.make(0).weights.read().values()} == {torch.float32}


KILLED = """
import os, signal, sys
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from taskorder import Task, plan
from taskorder.cli import main
from taskorder.learners import FineTuning, HuggingFaceLearner
path, store, last = sys.argv[1:]
texts, labels = ["good film", "bad film"] * 8, ["yes", "no"] * 8
tasks = [Task(name, [f"{text} {name}" for text in texts], labels) for name in ("book", "meal", "phone")]
fits = []
class Counted(HuggingFaceLearner):
    def fit(self, model, task):
        fits.append(task.name)
        if len(fits) == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(model, task)
learner = Counted(lambda: AutoModelForSequenceClassification.from_pretrained(path),
                  AutoTokenizer.from_pretrained(path), FineTuning(epochs=1), in_memory=0)
found = plan(tasks, learner, pilot=1.0, seeds=1, draws=0, mix=False, store=store)
print(len(fits), *found.named_order, found.score)
"""


def test_a_pilot_that_is_killed_goes_on(tmp_path, monkeypatch, capsys, folder):
    arguments = [str(folder / "bert"), str(tmp_path / "killed.sqlite")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments, "8"], env=environment, capture_output=True)
    assert done.returncode == -signal.SIGKILL

    def told(store):
        monkeypatch.setattr(sys, "argv", ["", arguments[0], str(tmp_path / store), "0"])
        exec(KILLED, {"__name__": "killed"})
        return capsys.readouterr().out.split()

    resumed, whole = told("killed.sqlite"), told("whole.sqlite")
    assert (resumed[0], whole[0]) == ("3", "9")
    assert resumed[1:] == whole[1:]


def test_fits_on_a_cluster_are_those_from_here(tmp_path, monkeypatch, bert, tokenizer, reviews, adapter):
    """Ray is told of two GPUs: each worker has one, in its environment."""
    ray = pytest.importorskip("ray")
    from taskorder.learners.ray import RayLearner
    from taskorder.runs.cluster import Share, connected

    def load():
        (tmp_path / str(os.getpid())).write_text(os.environ.get("CUDA_VISIBLE_DEVICES", ""))
        return bert()

    learner = HuggingFaceLearner(load, tokenizer, FineTuning(epochs=1), lora=adapter, in_memory=0)
    orders = [(0, 1), (1, 0), (2,)]
    here = learn_orders(learner, reviews, orders)
    monkeypatch.setattr(ray, "init", partial(ray.init, num_cpus=2, num_gpus=2))
    share = Share(gpus=1)
    with connected(share=share):
        assert share.workers() == 2
        there = learn_orders(RayLearner(learner, share), reviews, orders)
    (tmp_path / str(os.getpid())).unlink()
    seen = [file.read_text() for file in tmp_path.iterdir()]
    assert 0 < len(seen) <= 2
    assert set(seen) <= {"0", "1"}
    assert len(set(seen)) == len(seen)
    for prefix, row in here[0].items():
        for ours, theirs in zip(row, there[0][prefix], strict=True):
            assert ours[:3] == pytest.approx(theirs[:3], rel=1e-5)
