"""One module a figure of the paper or question of our own; panels with the same runs share one."""
