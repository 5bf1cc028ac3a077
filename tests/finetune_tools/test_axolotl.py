"""Orders in axolotl itself: its own schema, preparation of data and trainer, up to the batches."""

import json
from pathlib import Path

import pytest

from taskorder import PortableOrder
from taskorder.adapters import settings, usage

from ..finetune.tiny import TASKS, alpaca_rows, in_blocks, tasks_of

pytest.importorskip("axolotl")
pytestmark = pytest.mark.filterwarnings("ignore")  # of packages that are not ours
STAND_INS = ("triton", "xformers", "bitsandbytes")
ORDER = PortableOrder(names=TASKS, order=(2, 0, 1))
OTHER = PortableOrder(names=TASKS, order=(1, 2, 0))
FILES = {task: {"path": f"{task}.jsonl", "ds_type": "json", "type": "alpaca"} for task in TASKS}
BASE = """\
base_model: model
output_dir: out
sequence_len: 64
micro_batch_size: 2
gradient_accumulation_steps: 1
learning_rate: 0.001
optimizer: adamw_torch
lr_scheduler: constant
bf16: false
fp16: false
tf32: false
use_cpu: true
dataset_num_proc: 1
special_tokens:
  pad_token: "<pad>"
"""


@pytest.fixture
def batches(folder):
    """A function (yaml) -> the tasks of the rows that its trainer would learn, those held out, and the epochs."""
    from axolotl.cli.config import load_cfg
    from axolotl.core.builders import HFCausalTrainerBuilder
    from axolotl.loaders import load_tokenizer
    from axolotl.utils.data import prepare_datasets
    from transformers import LlamaForCausalLM

    for task in TASKS:
        Path(f"{task}.jsonl").write_text("\n".join(map(json.dumps, alpaca_rows(task))))

    def run(text):
        Path("train.yaml").write_text(BASE + text)
        config = load_cfg("train.yaml")
        tokenizer = load_tokenizer(config)
        train, held_out, steps, _ = prepare_datasets(config, tokenizer)
        builder = HFCausalTrainerBuilder(config, LlamaForCausalLM.from_pretrained("model"), tokenizer)
        builder.train_dataset, builder.eval_dataset = train, held_out
        rows = [row for batch in builder.build(steps).get_train_dataloader() for row in batch["input_ids"]]
        return tasks_of(folder, rows), tasks_of(folder, held_out["input_ids"] if held_out else []), config.num_epochs

    return run


def test_the_fragment_keeps_the_order_of_each_plan(batches):
    """One after the other in one folder: what the first has prepared must not be taken for the second."""
    assert batches(usage(ORDER, "axolotl", FILES)) == (in_blocks(("cats", "ants", "bees")), [], 1)
    assert batches(usage(OTHER, "axolotl", FILES)) == (in_blocks(("bees", "cats", "ants")), [], 1)


def test_a_prepared_data_set_of_another_order_is_found_again(batches):
    """The trap that the path of its own avoids."""
    shared = [
        usage(order, "axolotl", FILES).replace(settings(order, "axolotl", FILES)["dataset_prepared_path"], "prepared")
        for order in (ORDER, OTHER)
    ]
    assert batches(shared[0])[0] == in_blocks(("cats", "ants", "bees"))
    assert batches(shared[1])[0] == in_blocks(("cats", "ants", "bees"))  # not what it says


@pytest.mark.parametrize("removed", ["curriculum_sampling: true\n", "shuffle_merged_datasets: false\n"])
def test_without_each_of_both_tasks_are_mixed(batches, removed):
    text = usage(ORDER, "axolotl", FILES)
    assert removed in text
    rows, _, _ = batches(text.replace(removed, ""))
    assert sorted(rows) == sorted(in_blocks(TASKS))
    assert rows != in_blocks(("cats", "ants", "bees"))


def test_rows_held_out_are_those_of_the_last_task(batches):
    text = usage(ORDER, "axolotl", FILES).replace("val_set_size: 0\n", "val_set_size: 0.25\n")
    rows, held_out, _ = batches(text)
    assert set(held_out) == {"bees"}
    assert len(rows) + len(held_out) == len(in_blocks(TASKS))


def test_a_second_visit_is_loaded_again(batches):
    order = PortableOrder(names=("cats", "ants"), order=(0, 1, 0))
    text = usage(order, "axolotl", {task: FILES[task] for task in ("cats", "ants")})
    assert batches(text)[0] == in_blocks(("cats", "ants", "cats"))
