"""A task as people have it: inputs of many kinds with their labels, checked at the door."""

from taskorder.task.reading import rows_of
from taskorder.task.rows import Rows, number_array
from taskorder.task.task import Task
from taskorder.task.together import align, share_labels

__all__ = ["Rows", "Task", "align", "number_array", "rows_of", "share_labels"]
