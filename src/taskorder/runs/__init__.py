"""Executors: specs in, results into the store."""
