"""The recipes for TRL and the plain Trainer, run with the real packages on a tiny model."""

import re
import warnings

import pytest

from taskorder import PortableOrder
from taskorder.adapters import settings, usage
from taskorder.adapters.trainer import STEP, OrderCheck

from .tiny import ROWS, TASKS, in_blocks, save_tiny_model, tasks_of

for package in ("torch", "datasets", "transformers", "trl"):
    pytest.importorskip(package)

from datasets import Dataset, concatenate_datasets
from transformers import LlamaForCausalLM, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer

pytestmark = pytest.mark.filterwarnings("ignore")  # of packages that are not ours
ORDER = PortableOrder(names=TASKS, order=(2, 0, 1, 2))
LEARNED = ("cats", "ants", "bees", "cats")
QUIET = {"per_device_train_batch_size": 2, "report_to": "none", "use_cpu": True, "save_strategy": "no"}
KINDS = ("trl", "transformers")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tokenizer = save_tiny_model(folder)
    tokenizer.folder = folder
    return tokenizer


@pytest.fixture
def rows_seen(tokenizer):
    """A model, and the task of each row that reached it in training."""
    model, seen = LlamaForCausalLM.from_pretrained(tokenizer.folder), []

    def note(module, args, inputs):
        if module.training:
            seen.extend(tasks_of(tokenizer, inputs["input_ids"]))

    model.register_forward_pre_hook(note, with_kwargs=True)
    return model, seen


def data(kind, tokenizer):
    """A data set for each task: texts, or tokens for the plain Trainer."""
    texts = {task: [f"say {task} {k}" for k in range(ROWS)] for task in TASKS}
    if kind == "trl":
        return {task: Dataset.from_dict({"text": rows}) for task, rows in texts.items()}
    ids = {task: tokenizer(rows)["input_ids"] for task, rows in texts.items()}
    return {task: Dataset.from_dict({"input_ids": rows, "labels": rows}) for task, rows in ids.items()}


def train(kind, function, tokenizer, model, folder, text=None, **more):
    """Run a function of the recipe."""
    recipe = {}
    exec(text or usage(ORDER, kind), recipe)
    given = {"processing_class": tokenizer} if kind == "trl" else {}
    return recipe[function](model, data(kind, tokenizer), str(folder), {**QUIET, **more}, **given)


@pytest.mark.parametrize("kind", KINDS)
def test_one_by_one_keeps_the_order_with_any_settings(kind, tokenizer, rows_seen, tmp_path):
    model, seen = rows_seen
    trained = train(kind, "train_one_by_one", tokenizer, model, tmp_path, num_train_epochs=1)
    assert seen == in_blocks(LEARNED)
    assert trained is model
    assert {path.name for path in tmp_path.iterdir()} <= {f"step-{step:02d}" for step in range(4)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [0, 2])
def test_one_run_keeps_the_order(kind, workers, tokenizer, rows_seen, tmp_path):
    model, seen = rows_seen
    train(
        kind, "train_in_one_run", tokenizer, model, tmp_path, dataloader_num_workers=workers,
        num_train_epochs=3, gradient_accumulation_steps=3,
    )  # fmt: skip
    assert seen == in_blocks(LEARNED)


CONTROLS = {"train_sampling_strategy": '"random"', "num_train_epochs": "2", "shuffle_dataset": "True"}


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in KINDS for key in CONTROLS])
def test_each_setting_is_needed_and_the_check_sees_it(kind, key, tokenizer, rows_seen, tmp_path):
    if key not in settings(ORDER, kind):
        assert (kind, key) == ("transformers", "shuffle_dataset")
        return
    text, changes = re.subn(rf'("{key}": ).+,\n', rf"\g<1>{CONTROLS[key]},\n", usage(ORDER, kind))
    assert changes == 1
    model, seen = rows_seen
    with pytest.raises(
        ValueError, match=r"must come in the planned order, got '\w+' \(step \d of 4\) after"
    ) as stopped:
        train(kind, "train_in_one_run", tokenizer, model, tmp_path, text)
    assert "\n" not in str(stopped.value)
    blind = text.replace("trainer.add_callback(OrderCheck(trainer, ORDER))", "pass")
    seen.clear()
    train(kind, "train_in_one_run", tokenizer, model, tmp_path, blind)
    assert len(seen) >= 4 * ROWS
    assert seen[: 4 * ROWS + 1] != in_blocks(LEARNED)  # what would have happened


def test_shuffle_dataset_false_alone_mixes_tasks(tokenizer, rows_seen, tmp_path):
    """What threads recommend for TRL leaves the trainer's own sampler as it is."""
    model, seen = rows_seen
    joined = concatenate_datasets([data("trl", tokenizer)[task] for task in LEARNED])
    args = SFTConfig(output_dir=str(tmp_path), shuffle_dataset=False, packing=False, **{**QUIET, "num_train_epochs": 1})
    SFTTrainer(model=model, args=args, train_dataset=joined, processing_class=tokenizer).train()
    assert sorted(seen) == sorted(in_blocks(LEARNED))
    assert seen != in_blocks(LEARNED)


def test_packing_is_refused_by_the_check(tokenizer, rows_seen, tmp_path):
    text = usage(ORDER, "trl").replace('"packing": False', '"packing": True, "max_length": 16')
    with pytest.raises(ValueError, match="packing drops the column"):
        train("trl", "train_in_one_run", tokenizer, rows_seen[0], tmp_path, text)


def checked(tokenizer, model, folder, *, warn, steps=None, **more):
    """A plain trainer on all tasks with a check."""
    parts = [rows.add_column(STEP, [k] * ROWS) for k, rows in enumerate(data("transformers", tokenizer).values())]
    joined = concatenate_datasets(parts) if steps is None else concatenate_datasets(parts).take(steps)
    args = TrainingArguments(output_dir=str(folder), **{**QUIET, "num_train_epochs": 1, **more})
    trainer = Trainer(model=model, args=args, train_dataset=joined)
    trainer.add_callback(OrderCheck(trainer, TASKS, warn=warn))
    return trainer


def test_a_check_can_warn_once_and_let_training_go_on(tokenizer, rows_seen, tmp_path):
    model, seen = rows_seen
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        checked(tokenizer, model, tmp_path, warn=True).train()
    ours = [str(warning.message) for warning in told if "planned order" in str(warning.message)]
    assert len(ours) == 1
    assert len(seen) == len(TASKS) * ROWS


def test_training_that_ends_early_is_said(tokenizer, rows_seen, tmp_path):
    trainer = checked(tokenizer, rows_seen[0], tmp_path, warn=False, train_sampling_strategy="sequential", max_steps=5)
    with pytest.warns(RuntimeWarning, match=r"ended at 'bees' \(step 2 of 3\): later tasks were not learned"):
        trainer.train()


def test_training_goes_on_from_a_checkpoint(tokenizer, rows_seen, tmp_path):
    model, seen = rows_seen
    more = {"train_sampling_strategy": "sequential", "save_strategy": "steps", "save_steps": 6}
    checked(tokenizer, model, tmp_path, warn=False, **more).train()
    seen.clear()
    trainer = checked(tokenizer, model, tmp_path, warn=False, **more)
    trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-6"))
    assert seen == in_blocks(TASKS)[12:]


def test_a_stream_is_refused(tokenizer, rows_seen, tmp_path):
    trainer = checked(tokenizer, rows_seen[0], tmp_path, warn=False, max_steps=2)
    steps = trainer.train_dataset
    stream = steps.to_iterable_dataset()
    stream_trainer = Trainer(model=rows_seen[0], args=trainer.args, train_dataset=stream)
    check = OrderCheck(trainer, TASKS)
    stream_trainer.add_callback(check)
    with pytest.raises(ValueError, match="must take its examples by index to be checked, got a stream"):
        stream_trainer.train()


def test_a_second_lora_config_is_refused_by_trl(tokenizer, rows_seen, tmp_path):
    """The trap that the recipe names; a PEFT model that goes through the loop works."""
    peft = pytest.importorskip("peft")
    lora = peft.LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    recipe = {}
    exec(usage(ORDER, "trl"), recipe)
    given = (data("trl", tokenizer), str(tmp_path), {**QUIET, "max_steps": 2})
    with pytest.raises(ValueError, match="PeftModel"):
        recipe["train_one_by_one"](rows_seen[0], *given, processing_class=tokenizer, peft_config=lora)
    model = peft.get_peft_model(LlamaForCausalLM.from_pretrained(tokenizer.folder), lora)
    trained = recipe["train_one_by_one"](model, *given, processing_class=tokenizer)
    assert isinstance(trained, peft.PeftModel)
    assert len(trained.peft_config) == 1
