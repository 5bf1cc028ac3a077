"""How numbers are written on a page; `number` and `percent` of static/svg.js write them the same way in charts."""

from __future__ import annotations


def number(value: float) -> str:
    r"""Four significant digits, with a true minus sign.

    >>> number(0.123456), number(12345.6), number(0.0), number(-2.0) == "\N{MINUS SIGN}2"
    ('0.1235', '12346', '0', True)
    """
    if abs(value) < 1e-12:
        return "0"
    text = f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return text.replace("e-0", "e-").replace("-", "\N{MINUS SIGN}")


def percent(share: float) -> str:
    """A share as a percentage without needless digits.

    >>> percent(0.5), percent(0.0123), percent(0.00004)
    ('50 %', '1.2 %', '0.0 %')
    """
    value = 100 * share
    text = f"{value:.0f} %" if 10 <= abs(value) <= 99 or value in (0, 100) else f"{value:.1f} %"
    return text.replace("-", "\N{MINUS SIGN}")
