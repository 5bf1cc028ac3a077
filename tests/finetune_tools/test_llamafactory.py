"""Orders in LLaMA-Factory itself: its own parser, loader and trainer, up to the batches."""

import json
import sys
from pathlib import Path

import pytest

from taskorder import PortableOrder
from taskorder.adapters import usage

from ..finetune.tiny import ROWS, TASKS, alpaca_rows, in_blocks, tasks_of

pytest.importorskip("llamafactory")
pytestmark = pytest.mark.filterwarnings("ignore")  # of packages that are not ours
STAND_INS = ("torchaudio",)
ORDER = PortableOrder(names=TASKS, order=(2, 0, 1))
PLANNED = "dataset: cats,ants,bees\n"
BASE = """\
model_name_or_path: model
stage: sft
do_train: true
finetuning_type: full
dataset_dir: .
template: alpaca
cutoff_len: 64
output_dir: out
report_to: none
per_device_train_batch_size: 2
use_cpu: true
overwrite_cache: true
"""


@pytest.fixture
def batches(folder, monkeypatch):
    """A function (yaml) -> the tasks of the rows that its trainer would learn, and the epochs."""
    from llamafactory.data import SFTDataCollatorWith4DAttentionMask, get_dataset, get_template_and_fix_tokenizer
    from llamafactory.hparams import get_train_args
    from llamafactory.hparams.parser import read_args
    from llamafactory.model import load_model, load_tokenizer
    from llamafactory.train.sft.trainer import CustomSeq2SeqTrainer

    info = {}
    for task, file in (*((task, task) for task in TASKS), ("cats_again", "cats"), ("käse: #1", "bees")):
        Path(f"{file}.json").write_text(json.dumps(alpaca_rows(file)))
        info[task] = {"file_name": f"{file}.json"}
    Path("dataset_info.json").write_text(json.dumps(info))

    def run(text):
        Path("train.yaml").write_text(BASE + text, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["llamafactory-cli", "train.yaml"])
        model_args, data_args, training_args, finetuning_args, _ = get_train_args(read_args())
        tokens = load_tokenizer(model_args)
        template = get_template_and_fix_tokenizer(tokens["tokenizer"], data_args)
        data = get_dataset(template, model_args, data_args, training_args, stage="sft", **tokens)
        model = load_model(tokens["tokenizer"], model_args, finetuning_args, True)
        trainer = CustomSeq2SeqTrainer(
            model=model, args=training_args, finetuning_args=finetuning_args, **data, **tokens,
            data_collator=SFTDataCollatorWith4DAttentionMask(template=template, model=model, **tokens),
        )  # fmt: skip
        rows = [row for batch in trainer.get_train_dataloader() for row in batch["input_ids"]]
        return tasks_of(folder, rows), training_args.num_train_epochs

    return run


def test_the_fragment_keeps_the_order(batches):
    assert batches(usage(ORDER, "llamafactory")) == (in_blocks(("cats", "ants", "bees")), 1)


@pytest.mark.parametrize("text", [PLANNED, PLANNED + "mix_strategy: concat\n"])
def test_without_it_tasks_are_mixed(batches, text):
    rows, epochs = batches(text)
    assert sorted(rows) == sorted(in_blocks(TASKS))
    assert rows != in_blocks(("cats", "ants", "bees"))
    assert epochs == 3


def test_traps(batches):
    kept = PLANNED + "mix_strategy: concat\ndisable_shuffling: true\n"
    held_out, _ = batches(kept + "val_size: 0.25\n")
    assert held_out != sorted(held_out, key=["cats", "ants", "bees"].index)
    packed, _ = batches(kept + "packing: true\n")
    assert packed == in_blocks(("bees", "ants", "cats"))[::2]  # two rows in one, and the other way round
    twice, _ = batches(kept.replace("ants,bees", "ants,cats"))
    assert twice == in_blocks(("cats", "ants"))  # the second visit is lost


def test_a_second_visit_under_a_second_name(batches):
    order = PortableOrder(names=("cats", "ants"), order=(0, 1, 0))
    text = usage(order, "llamafactory", {"cats": ["cats", "cats_again"], "ants": "ants"})
    assert batches(text)[0] == in_blocks(("cats", "ants", "cats"))


def test_hostile_names_are_found(batches):
    order = PortableOrder(names=("käse: #1", "ants"), order=(0, 1))
    assert batches(usage(order, "llamafactory"))[0] == in_blocks(("bees", "ants"))


def test_saved_tokens_keep_their_old_order(batches):
    import datasets

    kept = usage(ORDER, "llamafactory").replace("tokenized_path: null", "tokenized_path: saved")
    batches(kept)
    assert Path("saved").is_dir()
    assert len(datasets.load_from_disk("saved")["train"]) == len(TASKS) * ROWS
    rows, _ = batches(kept.replace("cats,ants,bees", "bees,ants,cats"))
    assert rows == in_blocks(("cats", "ants", "bees"))
