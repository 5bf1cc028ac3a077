"""One accuracy of a table of results at a time: what is checked of it, and what a refusal says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from taskorder.audit.cells import accuracy_of, is_count
from taskorder.audit.collected import CheckedRow, Collected, Key, Location, Settings
from taskorder.audit.columns import MOST_NAMED, RECORDED, Layout, plain_name
from taskorder.checks import Floats, Ints, counted
from taskorder.tables.input_files import refusal

MEASURED = ("step", "task_name", "position", "loss", "chance")
"""What an export has in each row besides; its other columns are settings, and one value of each is one experiment."""


def at(location: Location) -> str:
    """Where, in words.

    >>> at(3), at("in set 0")
    ('on line 3', 'in set 0')
    """
    return f"on line {location}" if isinstance(location, int) else location


def checked_row(
    cell: str, cells: Mapping[str, str], layout: Layout, settings: Settings, location: Location, label: str, key: Key
) -> CheckedRow:
    """The accuracy in a cell of a row with what it belongs to."""
    accuracy = accuracy_of(cell)
    if accuracy is None:
        of_task = f" for task {key[-1]}" if layout.task_columns else ""
        got, fix = f"{cell!r}{of_task} {at(location)}", "Run it again or drop the row."
        if "±" in cell or "+-" in cell or "+/-" in cell:
            fix = "Give each run a row with its own accuracy, in place of mean and spread."
        raise refusal(label, "have accuracies from 0 to 1 or from 0 to 100", got, fix)
    step = "" if layout.log_step is None else cells[layout.log_step]
    run = "" if layout.run is None else cells[layout.run]
    try:
        return CheckedRow(key, location, accuracy.number, accuracy.signed, settings, float(step or 0), run)
    except ValueError:
        raise refusal(label, "have numbers as _step", f"{step!r} {at(location)}", "") from None


def is_last_step(step: str, steps: Sequence[str], location: Location, label: str) -> bool:
    """Whether a row with this step comes after the last task of its order."""
    if len(steps) == 1:
        rule, fix = "have orders like 2>0>1 beside a column step", "Or keep only the last step and drop the column."
        raise refusal(label, rule, f"{steps[0]!r} {at(location)}", fix)
    if not is_count(step):
        raise ValueError(f"`{label}` must have whole numbers as steps, got {step[:40]!r} {at(location)}.")
    return int(step) == len(steps)


def twice(old: CheckedRow, new: CheckedRow, names: Sequence[str], layout: Layout, label: str) -> ValueError:
    """The refusal of a second row for one order, seed and task of a method; `names` are those of the settings."""
    cells = zip(names, old.settings, new.settings, strict=True)
    setting = next(((name, a) for name, a, b in cells if a != b and plain_name(name) not in RECORDED), None)
    method, order, seed, task = new.key
    of_task = layout.task is not None or bool(layout.task_columns)
    of_method = layout.method is not None
    rule = f"{'method, ' * of_method}order{', seed and task' if of_task else ' and seed'}"
    got = f"{f'method {method}, ' * of_method}order {order}, seed {seed}{f', task {task}' * of_task}"
    fix = ["Drop one of them."]
    if setting is not None:
        fix = ["Choose one with ", "where", f": {'='.join(setting)}."]
    return refusal(label, f"have one row for each {rule}", f"{got} {at(old.location)} and {at(new.location)}", *fix)


def varying(values: Mapping[str, Mapping[str, None]], layout: Layout, label: str) -> Iterator[str]:
    """Refuse an export of several experiments; note other columns that vary."""
    varied = {}
    for column, cells in values.items():
        if column in layout.used or column in MEASURED or len(cells) == 1 or plain_name(column) in RECORDED:
            continue
        varied[column] = ", ".join(list(cells)[:MOST_NAMED]) + (", ..." if len(cells) > MOST_NAMED else "")
        if "kind" in values and "set" in values:  # an export: other settings are other experiments
            fix = "Choose one with ", "where", f": {column}={next(iter(cells))}."
            raise refusal(label, "hold one experiment", f"several with {column} {varied[column]}", *fix)
    # of a tracker's many columns most are measured, like losses
    settings = {column: shown for column, shown in varied.items() if not shown.endswith(", ...")}
    rest = len(varied) - len(settings)
    if len(settings) > 3 or (rest and settings):
        named = ", ".join([*settings][:MOST_NAMED]) + (", ..." if len(settings) > MOST_NAMED else "")
        yield f"columns that have several values are ignored ({named}); `where` keeps one value"
        return
    for column, shown in varied.items():
        yield f"column {column} has several values ({shown}) and is ignored; `where` keeps one value"


def shares(rows: Collected, kept: Ints, label: str) -> Floats:
    """The accuracies of rows from 0 to 1; a table that seems to mix percent and shares is refused."""
    numbers, signed = rows.accuracies[kept], rows.signed[kept]

    def shown(chosen: int) -> str:
        return f"{numbers[chosen]:g}{' %' * bool(signed[chosen])} {at(rows.location(int(kept[chosen])))}"

    if signed.any() and not signed.all():
        got = f"{shown(int(signed.argmax()))} but {shown(int(signed.argmin()))}"
        raise refusal(label, "have a percent sign in every accuracy or in none", got, "Write all in the same way.")
    highest = numbers.max()
    if not signed.any():
        if highest <= 1:
            return numbers
        small = np.count_nonzero((numbers > 0) & (numbers <= 1))
        if highest <= 1.5 or small > len(numbers) / 2:
            got = f"a mixture: {shown(int((numbers > 1).argmax()))}"
            fix = "Write all in the same way."
            raise refusal(label, "have accuracies all from 0 to 1 or all from 0 to 100", got, fix)
    return np.asarray(numbers / 100)


def incomplete(num: int, order: str, seed: str, task: str) -> str:
    """The note of runs without the accuracy of every task."""
    return f"{counted(num, 'incomplete run')} left out (order {order}, seed {seed} has no task {task})"
