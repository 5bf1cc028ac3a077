"""`taskorder simulate` on real files."""

import json

import numpy as np
import pytest

from taskorder import chain, final_error
from taskorder.cli import main
from taskorder.tables.writing import write_similarity

FEW = ["--seeds", "4", "--num-latent", "5", "--num-inputs", "500"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    write_similarity(path, chain(3, 0.6), ("cats", "dogs", "owls"))
    return str(path)


def test_json_has_the_promised_keys(table, capsys):
    assert main(["simulate", table, "--order", "cats,owls,dogs", *FEW, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["closed_form"] == pytest.approx(final_error(chain(3, 0.6), [0, 2, 1]))
    assert abs(document["simulated_mean"] - document["closed_form"]) < 0.1
    assert document["simulated_sem"] > 0
    assert [task["name"] for task in document["per_task"]] == ["cats", "dogs", "owls"]
    assert sum(task["simulated_mean"] for task in document["per_task"]) == pytest.approx(document["simulated_mean"])
    assert sum(task["closed_form"] for task in document["per_task"]) == pytest.approx(document["closed_form"])
    assert (document["num_seeds"], document["steps"], document["order"]) == (4, 100, [0, 2, 1])


def test_the_table_shows_the_order_and_the_sum(table, capsys):
    assert main(["simulate", table, "--order", "cats,owls,dogs", *FEW]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["step", "task", "simulated", "+-", "closed", "form"]
    assert [line.split()[1] for line in lines[2:5]] == ["cats", "owls", "dogs"]
    assert lines[5].split()[0] == "sum"
    assert f"{final_error(chain(3, 0.6), [0, 2, 1]):.4f}" in lines[5]
    assert "4 seeds from 0; 100 x 0.001 steps a task; N_s = 5, N_x = 500, N_y = 10" in lines[6]
    assert "corrected for finite N_x" in lines[7]


def test_early_stopping_has_its_column(table, capsys):
    assert main(["simulate", table, "--order", "cats,owls,dogs", "--steps", "3", *FEW]) == 0
    said = capsys.readouterr().out
    assert "stopped" in said.splitlines()[0]
    stopped = final_error(chain(3, 0.6), [0, 2, 1], progress=1 - 0.9**3)
    assert f"{stopped:.4f}" in said
    assert "corrected" not in said


def test_without_an_order_a_rule_chooses(table, capsys):
    assert main(["simulate", table, *FEW]) == 0
    assert "note: order chosen by the rule optimal, proven" in capsys.readouterr().out
    assert main(["simulate", table, "--rule", "periphery-to-core", "--steps", "converged", *FEW]) == 0
    said = capsys.readouterr().out
    assert "note: order chosen by the rule periphery-to-core" in said
    assert "to convergence" in said


def test_tasks_left_out_are_named(table, capsys):
    assert main(["simulate", table, "--order", "owls,cats,owls", *FEW]) == 0
    said = capsys.readouterr().out
    assert "note: not in the order and never trained: dogs" in said


def test_same_seed_same_output(table, capsys):
    texts = []
    for seed in ("7", "7", "8"):
        main(["simulate", table, "--order", "cats,owls,dogs", "--seed", seed, *FEW, "--json"])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["simulated_mean"] != json.loads(texts[2])["simulated_mean"]


def test_an_output_similarity_counts(table, tmp_path, capsys):
    output = tmp_path / "output.npy"
    np.save(output, np.eye(3))
    main(["simulate", table, "--order", "cats,owls,dogs", "--output-similarity", str(output), *FEW, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["closed_form"] == pytest.approx(final_error(chain(3, 0.6), [0, 2, 1], np.eye(3)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--order", "cats,bats"], "must name a known task, got 'bats'. Did you mean 'cats'? Tasks: cats, dogs, owls."),
        (["--order", "cats", "--rule", "greedy"], "`--order` and `--rule` must not be given together"),
        (["--rule", "best"], "`--rule` must be one of"),
        (["--order", "cats", "--seeds", "0"], "`--seeds` must be a positive integer"),
        (["--order", "cats", "--steps", "many"], "argument --steps: invalid step_count value: 'many'"),
        (["--order", "cats", "--steps", "-3"], "`--steps` must be a positive integer"),
        (["--order", "cats", "--num-inputs", "0"], "`--num-inputs` must be a positive integer"),
        (["--order", "cats", "--learning-rate", "1"], "`--learning-rate` must be above 0 and below"),
        (["--order", "", "--seeds", "2"], "`--order` must name at least one task"),
    ],
)
def test_bad_input_is_one_line(table, capsys, words, message):
    assert main(["simulate", table, *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
