"""The best order to train a network on several tasks, from what each teaches of the others.

>>> import taskorder
>>> plan = taskorder.solve(taskorder.chain(5, 0.7))
>>> plan.named_order, plan.proven
(('B', 'D', 'E', 'A', 'C'), True)

Public names load on first use: importing the package costs no more than the standard library.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from taskorder._version import __version__

if TYPE_CHECKING:
    from taskorder.audit.audit import Audit, audit_results
    from taskorder.audit.methods import MethodAudit, audit_methods
    from taskorder.audit.next_runs import NextRuns, next_runs
    from taskorder.audit.results_file import read_methods, read_results
    from taskorder.linear.random_tasks import Sizes
    from taskorder.linear.simulate import simulate
    from taskorder.ordering.compare import compare
    from taskorder.ordering.solve import solve
    from taskorder.planning.estimate import TransferLosses, measure_transfer
    from taskorder.planning.pilot import pilot_sample
    from taskorder.planning.plan import PilotResult, plan, run_pilot
    from taskorder.portable import PortableOrder
    from taskorder.records import Comparison, Plan, Repair, Simulation
    from taskorder.tables.reading import demo_similarity, read_similarity
    from taskorder.tables.writing import write_similarity
    from taskorder.task import Task, align, share_labels
    from taskorder.theory.closed_form import error_path, final_error, task_errors
    from taskorder.theory.correlation import random_correlation
    from taskorder.theory.graphs import chain, leaves, ring, tree
    from taskorder.theory.law import final_knowledge, final_score, knowledge_from_similarity
    from taskorder.theory.nearest import nearest_correlation
    from taskorder.theory.perturbation import perturbation
    from taskorder.theory.random_orders import expected_random_error, expected_random_score

__all__ = [
    "Audit",
    "Comparison",
    "MethodAudit",
    "NextRuns",
    "PilotResult",
    "Plan",
    "PortableOrder",
    "Repair",
    "Simulation",
    "Sizes",
    "Task",
    "TransferLosses",
    "__version__",
    "align",
    "audit_methods",
    "audit_results",
    "chain",
    "compare",
    "demo_similarity",
    "error_path",
    "expected_random_error",
    "expected_random_score",
    "final_error",
    "final_knowledge",
    "final_score",
    "knowledge_from_similarity",
    "leaves",
    "measure_transfer",
    "nearest_correlation",
    "next_runs",
    "perturbation",
    "pilot_sample",
    "plan",
    "random_correlation",
    "read_methods",
    "read_results",
    "read_similarity",
    "ring",
    "run_pilot",
    "share_labels",
    "simulate",
    "solve",
    "task_errors",
    "tree",
    "write_similarity",
]

_HOMES = {
    "audit.audit": ("Audit", "audit_results"),
    "audit.methods": ("MethodAudit", "audit_methods"),
    "audit.next_runs": ("NextRuns", "next_runs"),
    "audit.results_file": ("read_methods", "read_results"),
    "linear.simulate": ("simulate",),
    "linear.random_tasks": ("Sizes",),
    "ordering.compare": ("compare",),
    "ordering.solve": ("solve",),
    "planning.estimate": ("TransferLosses", "measure_transfer"),
    "planning.pilot": ("pilot_sample",),
    "planning.plan": ("PilotResult", "plan", "run_pilot"),
    "portable": ("PortableOrder",),
    "records": ("Comparison", "Plan", "Repair", "Simulation"),
    "tables.reading": ("demo_similarity", "read_similarity"),
    "tables.writing": ("write_similarity",),
    "task": ("Task", "align", "share_labels"),
    "theory.correlation": ("random_correlation",),
    "theory.closed_form": ("error_path", "final_error", "task_errors"),
    "theory.graphs": ("chain", "leaves", "ring", "tree"),
    "theory.law": ("final_knowledge", "final_score", "knowledge_from_similarity"),
    "theory.nearest": ("nearest_correlation",),
    "theory.perturbation": ("perturbation",),
    "theory.random_orders": ("expected_random_error", "expected_random_score"),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
