"""Hypothesis strategies: random matrices with random constraints."""

import numpy as np
from hypothesis import strategies as st


def correlation(size, seed, rank=None):
    """Gram matrix of random unit vectors with a common direction."""
    vectors = np.random.default_rng(seed).standard_normal((size, rank or size + 1))
    vectors[:, 0] += 0.7
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    matrix = vectors @ vectors.T
    np.fill_diagonal(matrix, 1.0)
    return (matrix + matrix.T) / 2


@st.composite
def questions(draw, min_size=1, max_size=7):
    """(similarity, options for solve): a hidden order makes sure that the constraints can be met."""
    size = draw(st.integers(min_size, max_size))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    similarity = correlation(size, seed, draw(st.sampled_from([None, 2, size])))
    hidden = rng.permutation(size).tolist()
    num_learned = draw(st.integers(0, max(0, size - 2)))
    learned, rest = hidden[:num_learned], hidden[num_learned:]
    options = {"learned": learned}
    if draw(st.booleans()):
        pairs = [(hidden[i], hidden[j]) for i in range(size) for j in range(i + 1, size) if j >= num_learned]
        count = draw(st.integers(0, min(4, len(pairs))))
        options["before"] = [pairs[i] for i in rng.permutation(len(pairs))[:count]]
    if len(rest) > 1 and draw(st.booleans()):
        options["first"] = rest[0]
    if len(rest) > 1 and draw(st.booleans()):
        options["last"] = rest[-1]
    if draw(st.booleans()):
        options["weights"] = rng.uniform(0, 2, size) + 0.01
    if draw(st.booleans()):
        options["output"] = correlation(size, seed + 1, draw(st.sampled_from([None, 1, 2])))
    return similarity, options
