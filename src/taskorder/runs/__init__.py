"""Runs: settings, specs, the store of results, and execution here and on Ray; nothing here loads JAX at import."""
