"""Gradient descent on random linear tasks, beside what the theory says."""

from __future__ import annotations

from dataclasses import dataclass

from taskorder.records.writing import Record


@dataclass(frozen=True)
class TaskSimulation:
    """One task of a simulation: its error after the last visit."""

    name: str
    simulated_mean: float
    simulated_sem: float | None
    closed_form: float
    stopped_form: float


@dataclass(frozen=True)
class Simulation(Record):
    """Gradient descent on random linear tasks beside the closed form.

    Examples
    --------
    >>> from taskorder import chain, simulate
    >>> simulation = simulate(chain(3, 0.5), [0, 2, 1], num_seeds=2)
    >>> simulation.named_order, round(simulation.closed_form, 4)
    (('A', 'C', 'B'), 0.0664)
    """

    order: tuple[int, ...]
    names: tuple[str, ...]
    simulated_mean: float
    """Sum of all task errors after the last visit, averaged over seeds."""
    simulated_sem: float | None
    """Its standard error over seeds; None for a single seed."""
    closed_form: float
    """The theory's value for tasks trained to convergence."""
    stopped_form: float
    """The theory's value for training that stops after `steps`; equal to `closed_form` for convergence."""
    finite_form: float | None
    """The theory's value for convergence with the first correction for finite N_x; None above 100 tasks."""
    per_task: tuple[TaskSimulation, ...]
    """By task index."""
    num_seeds: int
    seed: int
    steps: int | None
    """Gradient steps a task; None for convergence."""
    learning_rate: float
    """0 for convergence, which does not depend on it."""
    num_latent: int
    num_inputs: int
    num_outputs: int
    notes: tuple[str, ...] = ()

    @property
    def named_order(self) -> tuple[str, ...]:
        """The order as task names."""
        return tuple(self.names[i] for i in self.order)
