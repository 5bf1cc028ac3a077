"""A planned order in the settings of tools that fine-tune one model on several data sets.

All of them mix the data sets unless they are told not to, each in several places. The settings turn off every one of
them that we know; the comment above them says what they rely on, and what undoes them.

=============  =======================================================  ==========================================
tool           a data set that is named twice                           refused names
=============  =======================================================  ==========================================
llamafactory   is loaded once: a second visit needs a name of its own   commas, blanks at the ends, ${
axolotl        is loaded twice                                          nothing
swift          is loaded twice                                          - first; : and # in the name of a task
trl            is learned twice                                         nothing
transformers   is learned twice                                         nothing
=============  =======================================================  ==========================================

No tool is imported.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from taskorder.adapters.data_steps import DataSets, DataStep, data_steps
from taskorder.adapters.literals import named, yaml_lines
from taskorder.adapters.trainer_recipe import trainer_recipe
from taskorder.arguments import BadArgument
from taskorder.portable import PortableOrder

ToolSettings = dict[str, Any]


class Tool(NamedTuple):
    """How one tool keeps an order."""

    settings: Callable[[list[DataStep]], ToolSettings]
    usage: Callable[[ToolSettings], str]
    """Lines to paste."""
    comment: str
    """What the settings rely on, and the traps."""
    entries: bool = False
    """Whether a data set may be a mapping."""


def tool_settings(order: PortableOrder, tool: str, datasets: DataSets | None) -> ToolSettings:
    """The settings that make a tool learn its data sets in this order."""
    return TOOLS[tool].settings(data_steps(order, datasets, entries=TOOLS[tool].entries))


def tool_usage(order: PortableOrder, tool: str, datasets: DataSets | None) -> str:
    """Lines to paste, below a comment that says what they rely on."""
    values = tool_settings(order, tool, datasets)
    made = " ".join(f"{package} {version}" for package, version in order.versions.items()) or "taskorder"
    head = [f"Planned order, from {_one_line(made)}: {named(order.named_order)}"]
    if order.learned:
        head.append(f"Already learned, and not trained again: {named(order.names[task] for task in order.learned)}")
    comment = [*head, *TOOLS[tool].comment.strip().splitlines()]
    return "".join(f"# {line}\n" for line in comment) + TOOLS[tool].usage(values)


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _llamafactory(steps: list[DataStep]) -> ToolSettings:
    """Keys of the YAML file; it splits the names at commas, and keeps one data set for each name."""
    names = [step.name for step in steps]
    for name in names:
        # OmegaConf reads the file, and stumbles over what begins like one of its references
        if "," in name or "${" in name or name != name.strip():
            raise BadArgument(
                "`datasets` must name data sets without commas, ${ and blanks at the ends for LLaMA-Factory, "
                f"got {name!r}. Enter it in dataset_info.json under another name."
            )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadArgument(
            "`datasets` must name another data set at every step for LLaMA-Factory, which loads one that is named "
            f"twice only once, got {twice[0]!r} more than once. Enter its file in dataset_info.json under a second "
            "name, and list both names."
        )
    return {
        "dataset": ",".join(names),
        "mix_strategy": "concat",
        "disable_shuffling": True,
        "streaming": False,
        "packing": False,
        "val_size": 0,
        "tokenized_path": None,
        "num_train_epochs": 1,
    }


def _axolotl(steps: list[DataStep]) -> ToolSettings:
    """Keys of the YAML file.

    A prepared data set is kept under a digest of the sorted data sets, without the settings that shuffle: another order
    finds the old one, so each gets a folder of its own.
    """
    datasets = [{"path": step.data} if isinstance(step.data, str) else dict(step.data) for step in steps]
    digest = hashlib.sha256(json.dumps(datasets, sort_keys=True).encode()).hexdigest()[:12]
    return {
        "datasets": datasets,
        "shuffle_merged_datasets": False,
        "shuffle_before_merging_datasets": True,
        "curriculum_sampling": True,
        "sample_packing_sequentially": True,
        "group_by_length": False,
        "dataset_exact_deduplication": False,
        "val_set_size": 0,
        "num_epochs": 1,
        "dataset_prepared_path": f"last_run_prepared/order-{digest}",
    }


def _swift(steps: list[DataStep]) -> ToolSettings:
    """Flags of `swift sft` and the like."""
    for step in steps:
        if step.name.startswith("-") or "\0" in step.name:
            raise BadArgument(
                f"`datasets` must name data sets that do not begin with - for ms-swift, got {step.name!r}. "
                "Put ./ before a file."
            )
        if not step.mapped and (":" in step.name or "#" in step.name):
            raise BadArgument(
                f"`datasets` must say what to load for {step.task!r}: ms-swift reads ID:SUBSET#COUNT, "
                "got a task name with : or # in it."
            )
    return {
        "dataset": [step.name for step in steps],
        "dataset_shuffle": False,
        "train_dataloader_shuffle": False,
        "streaming": False,
        "packing": False,
        "group_by_length": False,
        "split_dataset_ratio": 0,
        "num_train_epochs": 1,
    }


def _swift_usage(values: ToolSettings) -> str:
    names = " ".join(shlex.quote(name) for name in values["dataset"])
    flags = [f"--{key} {json.dumps(value)}" for key, value in values.items() if key != "dataset"]
    return " \\\n    ".join(["swift sft", f"--dataset {names}", *flags]) + "\n"


def _trainer(steps: list[DataStep]) -> ToolSettings:
    """Arguments of `TrainingArguments`, and the order."""
    return {"order": [step.name for step in steps], "train_sampling_strategy": "sequential", "num_train_epochs": 1}


def _trl(steps: list[DataStep]) -> ToolSettings:
    """Arguments of `SFTConfig`, and the order."""
    return {**_trainer(steps), "shuffle_dataset": False, "packing": False}


LOOP = """\
Relies on: one model that goes through one train() a task, so that nothing can mix tasks, whatever the settings.
Traps: every train() starts a new optimizer and learning rate schedule. With LoRA, make the PEFT model before the loop:
TRL refuses a peft_config at the second task.
"""

TOOLS = {
    "llamafactory": Tool(
        _llamafactory,
        yaml_lines,
        """\
Relies on: data sets are joined in the order of `dataset` (names in dataset_info.json), and disable_shuffling reads the
rows from first to last; mix_strategy: concat alone still mixes them.
Traps: val_size and streaming shuffle, packing reorders, a saved tokenized_path keeps the order it was saved in, and a
second epoch starts again with the first task. Only the stages pt, sft, rm, dpo and kto read disable_shuffling.
Rows of a task come in the order of its file, and one learning rate schedule spans all tasks.
Put these keys in place of those of the same name.
""",
    ),
    "axolotl": Tool(
        _axolotl,
        yaml_lines,
        """\
Relies on: data sets are joined in the order of `datasets`, each shuffled by itself, and curriculum_sampling reads the
rows from first to last; shuffle_merged_datasets: false alone still mixes them.
Traps: a prepared data set is found again whatever the order of `datasets`, so every order needs a dataset_prepared_path
of its own. val_set_size holds out the last rows: those of the last task. A second epoch starts again with the first
task. GRPO ignored curriculum_sampling until June 2026. One learning rate schedule spans all tasks.
Put these keys in place of those of the same name. Every data set also needs its type, like alpaca.
""",
        entries=True,
    ),
    "swift": Tool(
        _swift,
        _swift_usage,
        """\
Relies on: data sets are joined in the order of --dataset; both flags are needed to read the rows from first to last.
Traps: packing needs --packing_strategy sequential, and a second epoch starts again with the first task. With
--lazy_tokenize true a row that is too long is replaced by a random one of any task. `megatron sft` ignored
--train_dataloader_shuffle until December 2025.
Rows of a task come in the order of its file, and one learning rate schedule spans all tasks.
""",
    ),
    "trl": Tool(_trl, lambda values: trainer_recipe(values, "trl", "SFTConfig", "SFTTrainer"), LOOP),
    "transformers": Tool(
        _trainer, lambda values: trainer_recipe(values, "transformers", "TrainingArguments", "Trainer"), LOOP
    ),
}
"""How each tool keeps an order, by its name on the command line."""
