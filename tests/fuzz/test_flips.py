"""Single flipped bits in files that are kept are noticed or harmless (`flips.py`)."""

import pytest

from .flips import SUBJECTS, experiment, tell


@pytest.mark.slow("sizes")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_flip_is_silent(subject):
    counts = experiment(subject, 60, seed=1)
    assert set(counts) <= {"noticed", "harmless"}
    assert counts["noticed"] >= 6


def test_what_a_flip_is():
    """The comparison can fail."""
    assert tell(["a", "b"], ["a", "b"]) == "harmless"
    assert tell(["a", "b"], ["a", "refused"]) == "noticed"
    assert tell(["a", "b"], ["c", "refused"]) == "silent"
