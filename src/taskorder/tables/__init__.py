"""Similarity matrices: reading and writing them."""
