"""The settings of strategies: defaults, names, and what is refused."""

import pytest

from taskorder.strategies import EWC, STRATEGIES, Distill, L2Init, Replay, strategy_of


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_a_strategy_by_name_has_the_defaults_of_its_record(name):
    assert strategy_of(name) == STRATEGIES[name]()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Replay(0), "`kept`"),
        (lambda: Replay(2.5), "`kept`"),
        (lambda: Replay(share=1.0), "`share`"),
        (lambda: Replay(share=float("nan")), "`share`"),
        (lambda: Replay(memory="ring"), "`memory`"),
        (lambda: EWC(0.0), "`strength`"),
        (lambda: EWC(fading=1.5), "`fading`"),
        (lambda: Distill(temperature=-1.0), "`temperature`"),
        (lambda: L2Init(float("inf")), "`strength`"),
        (lambda: strategy_of("replays"), "Did you mean"),
        (lambda: strategy_of("plain", kept=3), "`kept`"),
        (lambda: strategy_of("ewc", kept=3), "strength, fading"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_settings_are_refused_in_one_line_that_names_them(make, named):
    with pytest.raises(ValueError, match=named) as caught:
        make()
    assert "\n" not in str(caught.value)
