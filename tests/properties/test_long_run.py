"""The long run tries every property there is."""

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("starlette")

from . import test_audits, test_planner, test_solver
from .long_run import _tried, properties


def test_no_property_takes_the_place_of_another():
    """Two of the same name were one: that of the solver was never tried."""
    listed = properties(None)
    assert len({(part, name) for part, name, _ in listed}) == len(listed)
    for module in (test_audits, test_planner, test_solver):
        assert set(module.PROPERTIES) <= {holds for *_, holds in listed}


def test_a_property_that_does_not_hold_is_told_with_its_seed(capsys):
    def small(rng):
        if rng.random() > 0.5:
            raise ArithmeticError("large")

    assert _tried("small", small, 20, 0) == 1
    assert " x ArithmeticError: large (small:" in (said := capsys.readouterr().out)
    assert said.endswith(", seed 0\n")
