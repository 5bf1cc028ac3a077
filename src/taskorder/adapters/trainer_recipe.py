"""Python to paste for trainers of TRL and transformers: one training a task, and one for all with a check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taskorder.adapters.literals import quoted

RECIPE = '''\
from {package} import {config}, {trainer}

ORDER = [
{names}]


def train_one_by_one(model, datasets, output_dir, settings=None, **more):
    """The model after one train() for each task of the order; `datasets` has a data set for each name."""
    for step, name in enumerate(ORDER):
        args = {config}(**{{**(settings or {{}}), "output_dir": f"{{output_dir}}/step-{{step:02d}}"}})
        trainer = {trainer}(model=model, args=args, train_dataset=datasets[name], **more)
        trainer.train()
        model = trainer.model
    return model


# The other way: all tasks in one run, with one optimizer and one learning rate schedule. Relies on the settings below,
# which need transformers 5.2 (shuffle_dataset=False alone still mixes tasks); a second epoch would start again with the
# first task. OrderCheck stops the run as soon as a row comes out of order.
def train_in_one_run(model, datasets, output_dir, settings=None, **more):
    """The model after one train() on all tasks in the planned order."""
    from datasets import concatenate_datasets

    from taskorder.adapters.trainer import STEP, OrderCheck

    parts = [datasets[name].add_column(STEP, [step] * len(datasets[name])) for step, name in enumerate(ORDER)]
    args = {config}(
        **{{
            **(settings or {{}}),
            "output_dir": output_dir,
{flags}        }}
    )
    trainer = {trainer}(model=model, args=args, train_dataset=concatenate_datasets(parts), **more)
    trainer.add_callback(OrderCheck(trainer, ORDER))
    trainer.train()
    return trainer.model
'''


def trainer_recipe(values: Mapping[str, Any], package: str, config: str, trainer: str) -> str:
    """Two functions, either of which trains a model in the order of `values`."""
    flags = {key: value for key, value in values.items() if key != "order"}
    return RECIPE.format(
        package=package,
        config=config,
        trainer=trainer,
        names="".join(f"    {quoted(name)},\n" for name in values["order"]),
        flags="".join(
            f'            "{key}": {quoted(value) if isinstance(value, str) else value},\n'
            for key, value in flags.items()
        ),
    )
