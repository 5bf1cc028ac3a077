"""A GPU that may go at any moment: what is finished is kept, the rest goes on, and time is not overrun."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from reproduction import borrowed_gpu, run_log, waiting
from reproduction.borrowed_gpu import main
from reproduction.run_log import LOG, Log, load_kept, rows_of
from reproduction.running import STORE, TABLES
from reproduction.waiting import NAMES, Part, language_flops, parts_of
from taskorder.runs.archive import read_archive
from taskorder.runs.local import run
from taskorder.runs.settings import Config
from taskorder.runs.specs import RunSpec, RunSpecs
from taskorder.runs.store import Store

OLD_STORE = Path(__file__).parents[1] / "runs" / "store_of_version_2.db"
SPECS = [RunSpec("square.1", {"x": x}) for x in range(6)]


def squares(batch):
    return [{"y": spec.params["x"] ** 2} for spec in batch]


def part_of(name="squares", specs=SPECS, run_batch=squares, seconds=0.01, size=2):
    return Part(name, specs, run_batch, seconds, lambda: "a device", partial(int, size), lambda: "a digest")


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    """A function that runs the command on parts of one experiment, and gives its lines."""

    def of(parts, *words, seconds=60.0):
        monkeypatch.setattr(borrowed_gpu, "parts_of", lambda name: parts)
        monkeypatch.setattr(sys, "argv", ["x", "squares", "--seconds", str(seconds), *map(str, words)])
        main()
        return capsys.readouterr().out.splitlines()

    return of


def kept_in(folder):
    with Store() as store:
        load_kept(folder, store)
        return store.get(SPECS)


def test_results_are_those_of_the_ordinary_loop(command, tmp_path):
    lines = command([part_of()], "--output", tmp_path)
    assert [line.split(",")[0] for line in lines[:-1]] == [f"squares: {count} of 6 runs" for count in (2, 4, 6)]
    assert lines[-1].startswith("done, with ")
    assert kept_in(tmp_path) == run(SPECS, squares, Store())
    with Store() as store:
        assert load_kept(tmp_path, store) == 6
        assert {(entry.device, entry.inputs) for entry in store.entries()} == {("a device", "a digest")}


def test_what_is_there_is_not_trained_again(command, tmp_path):
    asked = []

    def counted(batch):
        asked.extend(spec.params["x"] for spec in batch)
        return squares(batch)

    with Store(tmp_path / "kept" / "old.sqlite") as old:
        old.put(SPECS[:1], squares(SPECS[:1]), 1.0)
    Log(tmp_path / "kept").add(SPECS[3:4], squares(SPECS[3:4]), {"seconds": 1.0, "device": "", "inputs": ""})
    out = tmp_path / "out"
    command([part_of(run_batch=counted)], "--from", tmp_path / "kept", "--output", out)
    assert asked == [1, 2, 4, 5]
    assert command([part_of(run_batch=counted)], "--from", tmp_path / "kept", "--from", out, "--output", out)
    assert asked == [1, 2, 4, 5]


def test_a_store_of_an_older_version_is_read_and_stays_as_it_is(tmp_path):
    shutil.copy(OLD_STORE, tmp_path / "old.sqlite")
    with Store() as store:
        assert load_kept(tmp_path, store) > 0
    assert (tmp_path / "old.sqlite").read_bytes() == OLD_STORE.read_bytes()


SLOW = """
import sys, time
from tests.reproduction import test_borrowed_gpu as tests
from reproduction import borrowed_gpu

def slowly(batch):
    time.sleep({seconds} if batch[0].params["x"] < {slow_from} else 600)
    return tests.squares(batch)

borrowed_gpu.parts_of = lambda name: [tests.part_of(run_batch=slowly)]
sys.argv = ["x", "squares", "--seconds", "{limit}", "--output", sys.argv[1]]
borrowed_gpu.main()
"""


def slow_process(folder, **how):
    root = Path(__file__).parents[2]
    words = [sys.executable, "-c", SLOW.format(**{"seconds": 0.0, "slow_from": 4, "limit": 60, **how}), str(folder)]
    paths = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=root, env={**os.environ, "PYTHONPATH": paths})


def test_a_kill_loses_the_batch_in_training_alone(command, tmp_path):
    with slow_process(tmp_path) as process:
        assert process.stdout is not None
        assert list(itertools.islice(process.stdout, 2))[1].startswith("squares: 4 of 6 runs")
        process.kill()
    assert kept_in(tmp_path) == [*squares(SPECS[:4]), None, None]
    assert command([part_of()], "--from", tmp_path, "--output", tmp_path)[1].startswith("squares: 6 of 6 runs")
    assert kept_in(tmp_path) == squares(SPECS)


def test_a_batch_that_does_not_end_is_ended_at_the_limit(tmp_path):
    with slow_process(tmp_path, limit=1) as process:
        lines = process.communicate()[0].splitlines()
    assert (process.returncode, lines[-1]) == (0, "the time is up")
    assert kept_in(tmp_path) == [*squares(SPECS[:4]), None, None]


def test_a_command_that_is_done_ends_nothing_later(command, tmp_path):
    before = threading.active_count()
    command([part_of()], "--output", tmp_path)
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_batch_that_would_end_late_is_not_begun_and_another_is(command, tmp_path):
    long, short = part_of("long", SPECS[:4], seconds=1000.0), part_of("short", SPECS[4:])
    lines = command([long, short], "--output", tmp_path)
    assert re.fullmatch(r"long: the next batch would take longer than the \d+ s that are left", lines[0])
    assert lines[1].startswith("short: 2 of 2 runs")
    assert kept_in(tmp_path) == [None] * 4 + squares(SPECS[4:])


def test_the_last_batch_tells_how_long_the_next_one_takes(command, tmp_path, monkeypatch):
    now = [0.0]

    def slower(batch):
        now[0] += 100 if batch[0].params["x"] else 10
        return squares(batch)

    monkeypatch.setattr(borrowed_gpu.time, "monotonic", lambda: now[0])
    lines = command([part_of(run_batch=slower, seconds=5.0)], "--output", tmp_path, seconds=200)
    assert "2 in 10.0 s, about 20 s to go" in lines[0]
    assert "2 in 100.0 s, about 100 s to go" in lines[1]
    assert lines[2] == "squares: the next batch would take longer than the 90 s that are left"


def test_a_run_that_fails_costs_no_other(command, tmp_path):
    def fails(batch):
        if any(spec.params["x"] == 2 for spec in batch):
            raise ValueError("no number")
        return squares(batch)

    lines = command([part_of(run_batch=fails), part_of("next", SPECS[:1])], "--output", tmp_path)
    assert "squares: failed {'x': 2}: ValueError: no number" in lines
    assert kept_in(tmp_path) == [None if spec.params["x"] == 2 else squares([spec])[0] for spec in SPECS]


def test_processes_share_the_runs(command, tmp_path):
    for number in (1, 2):
        lines = command([part_of()], "--output", tmp_path, "--share", f"{number}/2")
        assert lines[-2].startswith("squares: 3 of 3 runs")
        assert kept_in(tmp_path).count(None) == 6 - 3 * number


@pytest.mark.parametrize("share", ["0/2", "3/2", "1", "1/0", "a/b"])
def test_a_share_that_is_none(command, capsys, share):
    with pytest.raises(SystemExit):
        command([part_of()], "--share", share)
    assert f"`--share` must be I/N with I from 1 to N, got {share}." in capsys.readouterr().err


def test_a_part_that_cannot_begin_costs_no_other(command, tmp_path):
    def no_data():
        raise ValueError("no data")

    parts = [part_of("first")._replace(inputs=no_data), part_of("second")]
    lines = command(parts, "--output", tmp_path)
    assert lines[0] == "first: failed, and the rest goes on: ValueError: no data"
    assert kept_in(tmp_path) == squares(SPECS)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_log_that_ends_within_a_batch_gives_those_before(tmp_path, cut, capsys):
    log, about = Log(tmp_path), {"seconds": 1.0, "device": "", "inputs": ""}
    log.add(SPECS[:2], squares(SPECS[:2]), about)
    whole = log.num_bytes
    log.add(SPECS[2:4], squares(SPECS[2:4]), about)
    with open(log.path, "r+b") as file:
        file.truncate(whole + cut)
    assert [row["params"] for row in rows_of(log.path)][:2] == [spec.params for spec in SPECS[:2]]
    assert "ends within a batch" in capsys.readouterr().out
    assert kept_in(tmp_path)[:2] == squares(SPECS[:2])


def test_a_large_log_is_followed_by_another(command, tmp_path, monkeypatch):
    monkeypatch.setattr(run_log, "LOG_BYTES", 1)
    command([part_of()], "--output", tmp_path)
    assert len(list(tmp_path.glob(f"*{LOG}"))) == 3
    assert kept_in(tmp_path) == squares(SPECS)


def test_the_plan_counts_what_is_missing(command, tmp_path):
    Log(tmp_path).add(SPECS[:1], squares(SPECS[:1]), {"seconds": 1.0, "device": "", "inputs": ""})
    lines = command([part_of(seconds=2.0)], "--from", tmp_path)
    assert lines[2].split() == ["squares", "5", "of", "6", "2.0", "10"]
    assert lines[-1].split() == ["all", "10"]


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_runs_and_seconds(name):
    parts = parts_of(name)
    digests = [spec.digest for part in parts for spec in part.specs]
    assert len(set(digests)) == len(digests) > 0
    assert all(part.seconds > 0 for part in parts)


def test_a_cell_of_the_atlas_may_be_named_alone(capsys, monkeypatch):
    (cell,) = parts_of("atlas-fashion-shared-plain")
    (first, *_) = parts_of("atlas-fashion")
    assert (cell.name, cell.specs) == (first.name, first.specs)
    monkeypatch.setattr(sys, "argv", ["x", "atlas-fashion-shared-plane"])
    with pytest.raises(SystemExit):
        main()
    assert "`name` must be one of" in capsys.readouterr().err


def test_the_seconds_are_those_that_were_measured():
    """Of many tasks on an H200: reproduction/results/tables/many-tasks.runs.json.gz."""
    measured = {"many-tasks, 10": 16.4, "many-tasks, 20": 35.4, "many-tasks, 20, uneven": 12.6}
    found = {part.name: part.seconds for part in parts_of("many-tasks")}
    for name, seconds in measured.items():
        assert found[name] == pytest.approx(seconds, rel=0.25)


def test_operations_of_a_language_model_are_counted():
    """Beside what XLA counts of a step of a model whose blocks are computed once."""
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    from taskorder.engine.gpt import gpt

    params = {"width": 64, "depth": 1, "context": 128, "epochs": 1, "batch_size": 4}
    net = gpt(params["context"], width=params["width"], depth=1)
    tokens = jnp.zeros((4, params["context"]), jnp.int32)

    def loss(weights):
        return net.loss.losses(net.apply(weights, tokens), tokens, tokens[:, 0], None).mean()

    weights = jax.eval_shape(net.init, jax.random.key(0))
    counted = jax.jit(jax.grad(loss)).lower(weights).compile().cost_analysis()["flops"]
    steps = (waiting.TRAIN_BYTES // params["context"]) / 4 * 330
    assert language_flops(params) / steps == pytest.approx(counted, rel=0.3)


@pytest.mark.slow("training")
def test_runs_become_the_tables_of_the_ordinary_command(command, tmp_path, monkeypatch):
    pytest.importorskip("jax")
    from taskorder.cli import main as taskorder
    from taskorder.runs import training

    config = Config("digits", num_sets=2, num_tasks=2, epochs=1)
    part = part_of("tiny", RunSpecs(config), training.run_batch, size=1)
    part = part._replace(device=training.device_name, inputs=partial(training.inputs_digest, "digits"))
    command([part], "--output", tmp_path)
    (line,) = command([part], "--from", tmp_path, "--take", "--results", tmp_path / "results")[1:]
    assert line == f"tiny: 2 of 2 runs, in {tmp_path / 'results' / TABLES / 'tiny.csv.gz'}"

    (tmp_path / "tiny.toml").write_text('dataset = "digits"\nnum_sets = 2\nnum_tasks = 2\nepochs = 1\n')
    ordinary = tmp_path / "ordinary.sqlite"
    assert taskorder(["run", str(tmp_path / "tiny.toml"), "--store", str(ordinary)]) == 0
    with Store(ordinary) as expected, Store(tmp_path / "results" / STORE) as found:
        assert found.get(part.specs) == expected.get(part.specs)
        assert found.inputs(part.specs) == expected.inputs(part.specs)
    assert len(read_archive(tmp_path / "results" / TABLES / "tiny.json").runs) == 2

    # of a part with more task sets than there are, a table is written only where that is asked for
    larger = part._replace(specs=RunSpecs(replace(config, num_sets=3)))
    taken = ["--from", tmp_path, "--take", "--results", tmp_path / "more"]
    assert command([larger], *taken)[-1] == "tiny: 2 of 3 runs"
    line = command([larger], *taken, "--partly")[-1]
    assert line == f"tiny: 2 of 3 runs, in {tmp_path / 'more' / TABLES / 'tiny.csv.gz'}"
    assert len(read_archive(tmp_path / "more" / TABLES / "tiny.json").runs) == 2
