"""Settings are checked before anything runs, with one line that names the field."""

import re

import pytest

from reproduction import NAMES, load


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_good_settings(name):
    figure = load(name)
    assert figure.name == name
    assert isinstance(figure.quick, type(figure.full))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("fig2b", {"num_pairs": 1}, "`num_pairs` must be a whole number of at least 2, got 1."),
        ("fig2b", {"num_tasks": ()}, "`num_tasks` must have at least one entry, got none."),
        ("fig2b", {"learning_rate": 1.0}, "`learning_rate` must be a number above 0 and below 0.02, got 1.0."),
        ("fig2b", {"steps": 2.5}, "`steps` must be a whole number of at least 1, got 2.5."),
        ("fig2c", {"rho_ca": (0.2, 1.0)}, "`rho_ca` must be a number above -1 and below 1, got 1.0."),
        ("fig2c", {"resolution": 1}, "`resolution` must be a whole number from 2 to 1000, got 1."),
        ("fig3a", {"m": 1.0}, "`m` must be a number above 0 and below 1, got 1.0."),
        ("fig3d", {"num_tasks": 2}, "`num_tasks` must be a whole number from 3 to 100, got 2."),
        ("fig3d", {"num_checked": 5}, "`drawn_every` must be a whole number from 1 to 5, got 20."),
        ("fig3f", {"num_points": 1}, "`num_points` must be a whole number of at least 2, got 1."),
        ("fig4a", {"low": 0.5}, "`low` must be a number above 0 and below 0.5, got 0.5."),
        ("fig4c", {"num_seeds": 1}, "`num_seeds` must be a whole number of at least 2, got 1."),
        ("fig4f", {"a": float("nan")}, "`a` must be a number above 0 and below 1, got nan."),
        ("fig3e", {"num_tasks": (1,)}, "`num_tasks` must be a whole number from 3 to 9, got 1."),
        ("finite-size", {"num_tasks": (("ring", (2, 3)),)}, "`num_tasks` must name only uniform, chain, scattered"),
        ("finite-size", {"num_tasks": (("chain", (5,)),)}, "`num_tasks` must give chain two or more rising numbers"),
        ("finite-size", {"num_draws": 3}, "`num_draws` must be even, got 3."),
        ("finite-size", {"num_inputs": (300, 100)}, "`num_inputs` must have two or more above N_s / 0.031, got 0."),
    ],
)
def test_bad_settings_are_refused(name, settings, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        type(load(name).full)(**settings)
