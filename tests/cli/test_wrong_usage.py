"""What a newcomer gets wrong, command by command: one line, exit code 2, and every file as it was."""

import shlex

import pytest

from taskorder.cli import main
from taskorder.runs import settings
from taskorder.runs.results import SCORES
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store

TABLE = "task,ants,bees,cats\nants,1,0.6,0.1\nbees,0.6,1,0.2\ncats,0.1,0.2,1\n"
RESULT = {
    "task_set": {"names": ["a", "b"]},
    "network_steps": 1,
    "beginnings": ["", "0", "1", "0.1", "1.0"],
    **{key: [[0.5, 0.5], [0.2, 0.4], [0.5, 0.3], [0.2, 0.1], [0.1, 0.2]] for key in SCORES},
}
NO_TABLES = ("nowhere", "folder", "nothing", "bytes.bin", "words.txt", "runs.sqlite", "results.csv", "plan.json")

WRONG = {
    "solve": [
        "", *NO_TABLES, "table.csv table.csv", "table.csv --demo", "table.csv --rul optimal", "table.csv --rule best",
        "table.csv --first zebra", "table.csv --visits 2", "table.csv --visits 99999999", "table.csv --seed -3",
        "table.csv --time-limit -1", "table.csv --time-limit nan", "table.csv --weights ants=-1",
        "table.csv --chance 1", "table.csv --losses", "table.csv --before ants:bees --before bees:ants",
        "table.csv --output-similarity words.txt",
    ],
    "compare": [
        "", *NO_TABLES, "table.csv --num-random 1", "table.csv --num-random 1e3", "table.csv --visits 5",
        "table.csv --learned zebra", "table.csv --ratios --losses",
    ],
    "simulate": [
        "", *NO_TABLES, "table.csv --order ants,zebra", "table.csv --seeds 0", "table.csv --steps 0",
        "table.csv --num-latent 0", "table.csv --learning-rate nan", "table.csv --order",
    ],
    "status": [
        "", "nowhere", "folder", "nothing", "bytes.bin", "words.txt", "table.csv", "plan.json", "runs.sqlite more",
        "runs.sqlite --jsn", "''",
    ],
    "repair": [
        "", "nowhere", "folder", "nothing", "bytes.bin", "words.txt", "table.csv", "runs.sqlite more",
    ],
    "export": [
        "runs.sqlite", "runs.sqlite -o", "runs.sqlite -o ''", "runs.sqlite -o folder", "runs.sqlite -o x.xlsx",
        "runs.sqlite -o runs.sqlite", "table.csv -o x.csv", "folder -o x.csv", "nothing -o x.csv",
        "none.sqlite -o x.csv", "none.sqlite -o x.csv.gz --whole", "runs.sqlite -o x.csv --whole",
        "runs.sqlite -o x.csv --by test",
        "runs.sqlite -o x.csv --task-set 9", f"runs.sqlite -o x.csv --task-set {10**30}",
        "runs.sqlite -o x.csv --task-set 0 --by luck", "runs.sqlite -o x.pdf --task-set 0",
    ],
    "report": [
        "", "nowhere", "folder", "nothing", "bytes.bin", "words.txt", "order.json", "none.sqlite", "table.csv --demo",
        "table.csv -o x.pdf", "table.csv -o table.csv", "table.csv --task-set 0", "table.csv --time-limit 0",
        "table.csv --first zebra", "runs.sqlite --task-set 9", f"runs.sqlite --task-set {10**30}",
        "runs.sqlite --where set=0",
        "plan.json --first ants", "plan.json --similarity results.csv", "results.csv --used 5>6",
        "results.csv --difference 0", "results.csv --rule greedy",
    ],
    "audit": [
        "", "nowhere", "folder", "nothing", "bytes.bin", "words.txt", "table.csv", "plan.json", "none.sqlite",
        "runs.sqlite", "runs.sqlite --where set=9", "runs.sqlite --where color=red", "runs.sqlite --where set",
        "results.csv --used 9>8", "results.csv --compare 0>1", "results.csv --difference inf", "results.csv --seed -1",
    ],
    "order": [
        "", "nowhere", "folder", "nothing", "table.csv", "runs.sqlite", "plan.json --to luck", "plan.json --to renate",
        "plan.json --classes [[0]]", "plan.json --classes folder", "plan.json --num-classes 9",
        "plan.json --training-seeds -1", "plan.json -o plan.json", "order.json --classes [[0]]",
    ],
    "plan": [
        "", "nowhere", "folder", "nothing", "table.csv", "runs.sqlite", "plan.json", "digits --tasks words.txt",
        "digits --pilot 0", "digits --pilot nan%", "digits --epochs -1", "digits --batch-size 0", "digits --seeds 0",
        "digits --learner luck", "digits --first 5-6", "digits --budget soon", "digits --folder table.csv",
    ],
    "explore": [
        *NO_TABLES, "table.csv --demo", "table.csv --port -1", "table.csv --port 99999", "table.csv --port http",
    ],
    "demo": ["more", "-o x.txt", "-o folder", "-o no/x.png", "--seed -1", "--seed 1.5"],
    "data": ["", "get", "get luck", "gte digits", "list more", "check nowhere"],
    "run": ["", "nothing", "tiny.toml --batch 0", "tiny.toml --rey", "tiny.toml --ray luck", "tiny.toml more"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One file of every kind."""
    path = tmp_path_factory.mktemp("newcomer")
    (path / "folder").mkdir()
    (path / "nothing").write_bytes(b"")
    (path / "bytes.bin").write_bytes(bytes(range(256)) * 20)
    (path / "words.txt").write_text("hello\nworld\n")
    (path / "table.csv").write_text(TABLE)
    (path / "tiny.toml").write_text('dataset = "digits"\nnum_sets = 1\nnum_tasks = 2\n')
    rows = [f"{order},{seed},{task},0.{seed}\n" for order in ("0>1", "1>0") for seed in "12" for task in "01"]
    (path / "results.csv").write_text("".join(["order,seed,task,accuracy\n", *rows]))
    with Store(path / "none.sqlite"), Store(path / "runs.sqlite") as store:
        store.put(RunSpecs(settings.Config(num_sets=2, num_tasks=2)), [RESULT] * 2, 1.0)
    return path


@pytest.fixture
def here(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    if not (folder / "plan.json").exists():
        assert main(["solve", "table.csv", "--json"]) == 0
        (folder / "plan.json").write_text(capsys.readouterr().out)
        assert main(["order", "plan.json", "-o", "order.json"]) == 0
        capsys.readouterr()
    return folder


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(("command", "words"), [(command, words) for command in WRONG for words in WRONG[command]])
def test_one_line_and_nothing_lost(here, capsys, command, words):
    before = contents(here)
    assert main([command, *shlex.split(words)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("taskorder: error: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert contents(here) == before


@pytest.mark.parametrize("file", ["runs.sqlite", "plan.json"])
def test_what_is_no_table_but_ours_may_be_reported(here, capsys, file):
    assert main(["solve", file]) == 2
    command = capsys.readouterr().err.rstrip(".\n").partition("Read it with: taskorder ")[2]
    assert main([*command.split(), "-o", "page.html"]) == 0
