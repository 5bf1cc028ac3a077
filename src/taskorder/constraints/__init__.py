"""What an order must obey, and how much each task counts."""

from taskorder.constraints.constraints import Constraints
from taskorder.constraints.precedence import closure
from taskorder.constraints.reading import MAX_VISITS, TaskName

__all__ = ["MAX_VISITS", "Constraints", "TaskName", "closure"]
