"""Learners that only answer: humans, animals, closed models, another program.

Nobody sees a model here. A model is the list of tasks learned so far; the loss after learning them is asked for, one
question at a time, as a function call or as a JSON text for a command.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from taskorder.arguments import BadArgument
from taskorder.checks import seconds_limit, seed_number
from taskorder.parsing import json_values
from taskorder.task import Task

Answer = Any
"""A loss, or a mapping with "loss" and, if known, "chance" (the loss with shuffled labels) and "accuracy"."""


class History(NamedTuple):
    """What a black box has learned."""

    seed: int
    learned: tuple[str, ...] = ()
    """Names of tasks, in order."""


def refuse_strategy(strategy: object) -> None:
    """Nothing can be done to a black box."""
    if strategy is not None:
        raise BadArgument(
            f"`strategy` must be left out for a black box, got {strategy!r}. It does its own: let its answers be those "
            "of a learner that has it."
        )


class CallableLearner:
    """A learner that is a function: it answers with the loss on one task after learning others.

    Parameters
    ----------
    answer : callable
        `answer(learned, test, seed)`, with task names, returns the loss on `test` after learning `learned`, or a
        mapping with "loss" and, if known, "chance" and "accuracy".
    chance : float or mapping of str to float, optional
        The loss with shuffled labels, where the answers do not hold it: one number, or a number for each task name.
    name : str, optional
        What a store knows the learner by; by default the name of the function.
    strategy : None
        Only None: what a black box does against forgetting it does by itself.

    Examples
    --------
    >>> from taskorder import Task
    >>> learner = CallableLearner(lambda learned, test, seed: 0.1 if test in learned else 0.6, chance=0.7, name="guess")
    >>> learner.loss(learner.fit(learner.make(0), Task("tennis")), Task("golf"))
    0.6
    """

    def __init__(
        self,
        answer: Callable[[tuple[str, ...], str, int], Answer],
        *,
        chance: float | Mapping[str, float] | None = None,
        name: str | None = None,
        strategy: None = None,
    ) -> None:
        refuse_strategy(strategy)
        self.answer = answer
        self.given_chance = chance
        self.name = name
        self._answers: dict[tuple[History, str], dict[str, float]] = {}

    def make(self, seed: int) -> History:
        """Nothing learned yet."""
        return History(seed_number(seed))

    def fit(self, model: History, task: Task) -> History:
        """One more task learned; nothing is asked before a loss is wanted."""
        return History(model.seed, (*model.learned, task.name))

    def adopt(self, given: Any, classes: tuple[Any, ...]) -> History:
        """A history, or what a list of names of tasks stands for."""
        if isinstance(given, History):
            return given
        if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(n, str) for n in given):
            raise ValueError(f"`model` must be the names of the tasks that were learned, in order, got {given!r}.")
        return History(0, tuple(given))

    def copy(self, model: History) -> History:
        """The history itself: nothing changes it."""
        return model

    def loss(self, model: History, task: Task) -> float:
        """The answer."""
        return self._answered(model, task)["loss"]

    def chance(self, model: History, task: Task) -> float:
        """The loss with shuffled labels, from the answer or as given."""
        given, answer = self.given_chance, self._answered(model, task)
        if "chance" in answer:
            return answer["chance"]
        value = given.get(task.name) if isinstance(given, Mapping) else given
        if value is None:
            raise ValueError(
                f"`chance` must be known for task {task.name!r}: the loss with shuffled labels. Give chance=..., "
                'or answer {"loss": ..., "chance": ...}. For K equally frequent classes and cross-entropy it is log(K).'
            )
        return float(value)

    def accuracy(self, model: History, task: Task) -> float | None:
        """From the answer, None if it does not say."""
        return self._answered(model, task).get("accuracy")

    def describe(self) -> str:
        """The name of the learner, or of the function."""
        name = self.name or f"{getattr(self.answer, '__module__', '')}.{getattr(self.answer, '__qualname__', '')}"
        if "<lambda>" in name or name.endswith("."):
            raise ValueError(f"`name` must be given to use this learner with a store, got {self.answer!r}.")
        return f"black box {name} chance={self.given_chance}"

    def _answered(self, model: History, task: Task) -> dict[str, float]:
        """The answer to one question, asked once."""
        question = model, task.name
        if question not in self._answers:
            self._answers[question] = _checked(self.answer(model.learned, task.name, model.seed), model, task)
        return self._answers[question]


class CommandLearner(CallableLearner):
    """A learner that is a program, run once for each loss.

    It gets {"train": [names], "test": name, "seed": number} on standard input and prints a number, or
    {"loss": number, "chance": number, "accuracy": number}, the last two if known.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments; a text is split as a shell does.
    chance : float or mapping of str to float, optional
        The loss with shuffled labels, where the program does not print it.
    timeout : float or None
        Seconds that one answer may take; None for no limit.
    strategy : None
        As in `CallableLearner`.

    Examples
    --------
    >>> import sys
    >>> from taskorder import Task
    >>> learner = CommandLearner([sys.executable, "-c", "print(0.25)"], chance=0.7)
    >>> learner.loss(learner.fit(learner.make(0), Task("tennis")), Task("golf"))
    0.25
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        chance: float | Mapping[str, float] | None = None,
        timeout: float | None = 600.0,
        strategy: None = None,
    ) -> None:
        refuse_strategy(strategy)
        try:
            words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
        except ValueError as problem:
            raise ValueError(f"`command` must be words as a shell reads them, got {command!r}: {problem}.") from None
        if not words or not words[0]:
            raise ValueError(f"`command` must name a program, got {command!r}.")
        if any("\0" in word for word in words):
            raise ValueError(f"`command` must have no zero characters, got {command!r}.")
        super().__init__(self._run, chance=chance, name=shlex.join(words))
        self.command = words
        self.timeout = seconds_limit(timeout, "timeout")

    def _run(self, learned: tuple[str, ...], test: str, seed: int) -> Answer:
        question = json.dumps({"train": list(learned), "test": test, "seed": seed})
        where = f"for the loss on {test!r} after {list(learned)}"
        try:
            # a session of its own, so that whatever it starts can be ended with it
            process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                errors="replace", start_new_session=True,
            )  # fmt: skip
        except OSError as problem:
            raise ValueError(f"`command` must run, got {self.command[0]!r}: {problem.strerror}.") from None
        try:
            limit = None if math.isinf(self.timeout) else self.timeout
            text, errors = process.communicate(question, timeout=limit)
        except subprocess.TimeoutExpired:
            _end(process)
            raise ValueError(
                f"`command` must answer within {self.timeout:g} seconds, got none {where}. Give a longer timeout=..."
            ) from None
        except BaseException:
            _end(process)
            raise
        if process.returncode:
            last = (errors.strip().splitlines() or ["no message"])[-1][:200]
            raise ValueError(f"`command` must end with code 0, got {process.returncode} {where}: {last}")
        try:
            return json_values(text)
        except ValueError:
            raise ValueError(f"`command` must print a number or JSON, got {text.strip()[:80]!r} {where}.") from None


def _checked(answer: Answer, model: History, task: Task) -> dict[str, float]:
    """The answer as a mapping with a loss."""
    given = dict(answer) if isinstance(answer, Mapping) else {"loss": answer}
    known = {key: given.get(key) for key in ("loss", "chance", "accuracy")}
    try:
        numbers = {key: float(value) for key, value in known.items() if value is not None}
    except (TypeError, ValueError, OverflowError):
        numbers = {}
    if "loss" not in numbers:
        raise ValueError(
            f"`answer` must be a loss or hold one, got {answer!r} for {task.name!r} after {list(model.learned)}."
        )
    return numbers


def _end(process: subprocess.Popen[str]) -> None:
    """End a program of ours and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
