"""A small pool of real tasks: five pairs of scikit-learn's digits."""

import numpy as np
import pytest

PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))


@pytest.fixture(scope="session")
def digits():
    """(train, test) pools of five binary tasks, 60 and 20 examples each; the last has fewer to train on."""
    pools = pytest.importorskip("taskorder.engine.pools")
    data = pytest.importorskip("sklearn.datasets").load_digits()
    inputs = (data.data * 255 / 16).astype(np.uint8).reshape(-1, 8, 8, 1)
    splits = []
    for part in (slice(0, 60), slice(60, 80)):
        rows = [np.flatnonzero(np.isin(data.target, pair))[part] for pair in PAIRS]
        if part.start == 0:
            rows[4] = rows[4][:41]
        labels = [(data.target[of_pair] == pair[1]).astype(int) for of_pair, pair in zip(rows, PAIRS, strict=True)]
        splits.append(pools.make_pool(inputs, rows, labels))
    return tuple(splits)
