"""The neural engine: thousands of continual learners at once, in JAX."""
