"""The 8 x 8 handwritten digits that scikit-learn ships: 1797 images of 10 classes, no download."""

from __future__ import annotations

import numpy as np

from taskorder.datasets.dataset import Dataset, held_out

NUM_TEST = 297


def read_digits() -> Dataset:
    """1500 digits to train on and 297 to test on, with 0..16 stretched to 0..255; the split is always the same."""
    try:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ValueError(
            "`digits` must come from scikit-learn, got no such package. "
            'Install it with: pip install "taskorder[neural]".'
        ) from None
    digits = load_digits()
    images = np.rint(digits.images * (255 / 16)).astype(np.uint8)[..., np.newaxis]
    labels = digits.target.astype(np.int64)
    train, test = held_out(labels, NUM_TEST)
    names = tuple(map(str, range(10)))
    return Dataset("digits", images[train], labels[train], images[test], labels[test], names)
