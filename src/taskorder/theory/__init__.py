"""The closed-form theory of task order, as pure functions."""
