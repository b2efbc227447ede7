"""How numbers are written: enough digits to decide by, never more than the data hold."""

import math
import re

MINUS = "−"
# Below this a number is rounding error of sums of ones.
_NOTHING = 1e-9
_PLAIN = re.compile(rf"[+{MINUS}]?[\d,]+(?:\.\d+)?")


def number(value: float | None, digits: int = 2, *, sign: bool = False) -> str:
    """Write a number with a true minus; a dash where there is none.

    A number that would round to 0 and is not 0 gets two significant digits instead, so that a cost of 0.0008 is not
    written as nothing.

    >>> number(1.5), number(-0.00083), number(2.0, 1, sign=True), number(0.0), number(None)
    ('1.50', '−0.00083', '+2.0', '0.00', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if _NOTHING < abs(value) < 0.5 * 10.0**-digits:
        digits = 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits) + 0.0
    text = f"{abs(rounded):.{digits}f}"
    if rounded < 0:
        return MINUS + text
    return f"+{text}" if sign and rounded > 0 else text


def declared(value: float, scale: float = 1.0, *, sign: bool = False) -> str:
    """Write a number that somebody gave (a margin, a level, a budget) as it was given: with all of its digits and no more.

    >>> declared(0.05), declared(0.005, 100), declared(-0.15, sign=True), declared(0.29, 100), declared(1250)
    ('0.05', '0.5', '−0.15', '29', '1250')
    """
    text = f"{abs(value * scale):.10g}"
    return f"{MINUS if value < 0 else '+' if sign and value > 0 else ''}{text}"


def p_value(p: float | None) -> str:
    """Write a p-value: three decimals, never 0 and never 1 by rounding.

    >>> p_value(0.0697), p_value(4.6e-6), p_value(1e-15), p_value(1.0), p_value(0.9999)
    ('0.070', '<0.001', '<0.001', '1', '>0.999')
    """
    if p is None or not math.isfinite(p):
        return "–"
    if p < 0.001:
        return "<0.001"
    if p < 0.9995:
        return f"{p:.3f}"
    return "1" if p >= 1 else ">0.999"


def interval(low: float | None, high: float | None, scale: float = 1.0, digits: int = 2, *, sign: bool = False) -> str:
    """Write an interval in brackets, after multiplying by `scale`; "none" where there is no interval.

    >>> interval(0.3462, 0.6325, 100), interval(None, None)
    ('[34.62, 63.25]', 'none')
    """
    if low is None or high is None:
        return "none"
    return f"[{number(low * scale, digits, sign=sign)}, {number(high * scale, digits, sign=sign)}]"


def digits_of_interval(low: float | None, high: float | None, scale: float = 1.0) -> int:
    """Return how many decimals a difference is shown with: one, so that every place says the same, more where one says nothing.

    The interval's half width has two figures then, with at most 4 decimals.

    >>> digits_of_interval(-0.1, 0.3, 100), digits_of_interval(-0.023, 0.009), digits_of_interval(None, None)
    (1, 3, 1)
    """
    half = 0.0 if low is None or high is None else (high - low) * scale / 2
    return min(max(1 - math.floor(math.log10(half)), 1), 4) if half > 0 else 1


def interval_words(
    low: float | None, high: float | None, scale: float = 1.0, digits: int = 1, *, sign: bool = False
) -> str:
    """Write an interval as running text does, after multiplying by `scale`; "none" where there is none, one end as a limit.

    >>> interval_words(0.2, None, 100, 0), interval_words(None, 0.8, 100, 0)
    ('at least 20', 'at most 80')
    >>> interval_words(0.3462, 0.6331, 100), interval_words(-0.1, 0.02, 100, 0, sign=True)
    ('34.6 to 63.3', '−10 to +2')
    """
    if low is None or high is None:
        end, words = (high, "at most") if low is None else (low, "at least")
        return "none" if end is None else f"{words} {number(end * scale, digits, sign=sign)}"
    return f"{number(low * scale, digits, sign=sign)} to {number(high * scale, digits, sign=sign)}"


def scaled(value: float | None, scale: float = 1.0, digits: int = 2, *, sign: bool = False) -> str:
    """Write `value * scale`."""
    return number(None if value is None else value * scale, digits, sign=sign)


def as_precise(*numbers: str) -> tuple[str, ...]:
    """Return written numbers with as many decimals as the one that has most; all as they are if one is no plain number.

    >>> as_precise("4.68", "5.6"), as_precise("0.8", ">0.99"), as_precise("1,200", "900")
    (('4.68', '5.60'), ('0.8', '>0.99'), ('1,200', '900'))
    """
    if not all(_PLAIN.fullmatch(each) for each in numbers):
        return numbers
    decimals = [each.partition(".")[2] for each in numbers]
    most = max(map(len, decimals), default=0)
    return tuple(
        each + ("" if "." in each or not most else ".") + "0" * (most - len(own))
        for each, own in zip(numbers, decimals, strict=True)
    )


def share_in_percent(share: float) -> str:
    """Write a share as a percentage with two significant digits.

    >>> share_in_percent(0.0582), share_in_percent(0.00299), share_in_percent(0.31)
    ('5.8%', '0.3%', '31%')
    """
    return f"{100 * share:.2g}%" if abs(share) < 0.995 else f"{100 * share:.0f}%"


def e_value_words(value: float | None) -> str:
    """Write an e-value with three digits; None is one too large to hold.

    >>> e_value_words(0.0123), e_value_words(34.567), e_value_words(2365666.8), e_value_words(None)
    ('0.0123', '34.6', '2.4e+06', 'over 1e300')
    """
    if value is None:
        return "over 1e300"
    return f"{value:.3g}" if value < 10_000 else f"{value:.1e}"


def p_words(p: float | None) -> str:
    """Write a p-value as running text does.

    >>> p_words(0.0297), p_words(4.6e-6), p_words(0.9999), p_words(None)
    ('p = 0.030', 'p < 0.001', 'p = 1.0', '')
    """
    if p is None or not math.isfinite(p):
        return ""
    if p < 0.001:
        return "p < 0.001"
    return "p = 1.0" if p > 0.9995 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def titled(title: str, unit: str) -> str:
    """Write a heading with its unit, where there is one that it does not name itself.

    >>> titled("score", "pp"), titled("rating", "rating")
    ('score (pp)', 'rating')
    """
    return f"{title} ({unit})" if unit and unit != title else title


def with_unit(text: str, unit: str) -> str:
    """Write a number with its unit behind it, where there is one.

    >>> with_unit("+3.1", "pp"), with_unit("88.4", "%"), with_unit("7", "")
    ('+3.1 pp', '88.4%', '7')
    """
    return f"{text}%" if unit == "%" else f"{text} {unit}".rstrip()


def rounded_up(value: float) -> int:
    """Round a needed number of things up to two digits, since it is not known better.

    >>> rounded_up(1234.0), rounded_up(99.2)
    (1300, 100)
    """
    if value < 100:
        return math.ceil(value)
    unit = 10 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit) * unit
