"""Hypothesis strategies: random matrices with random constraints."""

from itertools import pairwise

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


def clones(size, seed):
    """Some tasks are copies or opposites of others."""
    base = correlation(size, seed)
    rng = np.random.default_rng(seed)
    pick, sign = rng.integers(0, max(1, size // 2), size), rng.choice([1.0, -1.0], size, p=[0.8, 0.2])
    return base[np.ix_(pick, pick)] * np.outer(sign, sign)


def blocks(size, seed):
    """Two groups that have nothing in common, the second one almost independent inside."""
    matrix = np.eye(size)
    half = size // 2
    matrix[:half, :half] = correlation(half, seed) if half else np.zeros((0, 0))
    matrix[half:, half:] = 0.99 * np.eye(size - half) + 0.01 * correlation(size - half, seed + 1)
    return matrix


def equal(size, seed):
    """The same similarity everywhere."""
    rho = np.random.default_rng(seed).choice([0.0, 1e-4, 0.3, 0.999, 1.0])
    return rho + (1 - rho) * np.eye(size)


def graph(size, seed):
    """A chain or a ring: symmetric, with many ties."""
    place = np.arange(size)
    apart = np.abs(place[:, None] - place)
    a = np.random.default_rng(seed).choice([0.3, 0.7, 0.95])
    return a ** (apart if seed % 2 else np.minimum(apart, size - apart)).astype(float)


FAMILIES = {
    "generic": correlation,
    "low rank": lambda size, seed: correlation(size, seed, 2),
    "clones": clones,
    "blocks": blocks,
    "equal": equal,
    "graph": graph,
}
WEIGHTS = {
    "near one": lambda rng, size: rng.uniform(0.01, 2, size),
    "some zero": lambda rng, size: np.append(rng.integers(0, 2, size - 1), 1),
    "wild": lambda rng, size: 10.0 ** rng.uniform(-6, 6, size),
}


@st.composite
def questions(draw, min_size=1, max_size=7, grouped=False):
    """(similarity, options for solve): a hidden order makes sure that the constraints can be met."""
    size = draw(st.integers(min_size, max_size))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    similarity = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))](size, seed)
    hidden = rng.permutation(size).tolist()
    num_learned = draw(st.integers(0, max(0, size - 2)))
    learned, rest = hidden[:num_learned], hidden[num_learned:]
    options = {"learned": learned}
    if grouped:
        ends = sorted({0, size, *rng.integers(0, size + 1, draw(st.integers(0, 3))).tolist()})
        stretches = [rng.permutation(hidden[low:high]).tolist() for low, high in pairwise(ends)]
        options["groups"] = [stretch for stretch in stretches if rng.random() < 0.8]
    if draw(st.booleans()):
        pairs = [(hidden[i], hidden[j]) for i in range(size) for j in range(i + 1, size) if j >= num_learned]
        count = draw(st.integers(0, min(4, len(pairs))))
        options["before"] = [pairs[i] for i in rng.permutation(len(pairs))[:count]]
    if len(rest) > 1 and draw(st.booleans()):
        options["first"] = rest[0]
    if len(rest) > 1 and draw(st.booleans()):
        options["last"] = rest[-1]
    if draw(st.booleans()):
        options["weights"] = WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))](rng, size).astype(float)
    if draw(st.booleans()):
        options["output"] = correlation(size, seed + 1, draw(st.sampled_from([None, 1, 2])))
    return similarity, options
