"""Orders in ms-swift itself: its own parser, loader and trainer, up to the batches."""

import json
import shlex
from pathlib import Path

import pytest

from taskorder import PortableOrder
from taskorder.adapters import usage

from ..finetune.tiny import TASKS, alpaca_rows, in_blocks, tasks_of

pytest.importorskip("swift")
pytestmark = pytest.mark.filterwarnings("ignore")  # of packages that are not ours
STAND_INS = ()
ORDER = PortableOrder(names=TASKS, order=(2, 0, 1))
FILES = {task: f"{task}.jsonl" for task in TASKS}
BASE = "--model_type llama --template llama3 --tuner_type full --output_dir out --report_to none \
--per_device_train_batch_size 2 --use_cpu true --torch_dtype float32 --check_model false"
PLANNED = "swift sft --dataset cats.jsonl ants.jsonl bees.jsonl"


@pytest.fixture
def batches(folder, monkeypatch):
    """A function (command) -> the tasks of the rows that its trainer would learn, and the epochs."""
    from swift.pipelines.train.sft import SwiftSft

    for name in (*TASKS, "kä se"):
        talks = [
            [{"role": "user", "content": row["instruction"]}, {"role": "assistant", "content": row["output"]}]
            for row in alpaca_rows(name if name in TASKS else "bees")
        ]
        Path(f"{name}.jsonl").write_text("\n".join(json.dumps({"messages": talk}) for talk in talks))

    def run(command):
        # a shell joins lines that end with a backslash
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        assert words[:2] == ["swift", "sft"]
        started = SwiftSft(["--model", f"{folder.folder}/model", *BASE.split(), *words[2:]])
        trainers = []
        started.train = trainers.append
        started.run()
        rows = [row for batch in trainers[0].get_train_dataloader() for row in batch["input_ids"]]
        return tasks_of(folder, rows), started.args.num_train_epochs

    return run


def test_the_fragment_keeps_the_order(batches):
    assert batches(usage(ORDER, "swift", FILES)) == (in_blocks(("cats", "ants", "bees")), 1)


@pytest.mark.parametrize("flags", ["", " --dataset_shuffle false", " --train_dataloader_shuffle false"])
def test_without_both_flags_tasks_are_mixed(batches, flags):
    rows, epochs = batches(PLANNED + flags)
    assert sorted(rows) == sorted(in_blocks(TASKS))
    assert rows != in_blocks(("cats", "ants", "bees"))
    assert epochs == 3


def test_several_visits_and_hostile_names(batches):
    order = PortableOrder(names=("cats", "ants", "x"), order=(0, 2, 1, 0))
    text = usage(order, "swift", {"cats": "cats.jsonl", "ants": "ants.jsonl", "x": "kä se.jsonl"})
    assert batches(text)[0] == in_blocks(("cats", "bees", "ants", "cats"))
