"""Words that every explanation shares: differences in their unit, chances as frequencies, methods with their sources."""

import math
from collections.abc import Iterable, Sequence

from evalstats.analysis.method_texts import MethodText, texts_for
from evalstats.document.blocks import Block, Bullets, Heading
from evalstats.document.numbers import number, scaled


def with_unit(value: float | None, scale: float, unit: str, *, sign: bool = False) -> str:
    """Write a quantity with its unit.

    Examples
    --------
    >>> with_unit(0.125, 100, "pp", sign=True), with_unit(2.0, 1.0, "")
    ('+12.50 pp', '2.00')
    """
    shown = scaled(value, scale, sign=sign)
    return f"{shown}{unit}" if unit == "%" else f"{shown} {unit}".rstrip()


def span(low: float | None, high: float | None, scale: float, unit: str) -> str:
    """Write an interval as "from ... to ...".

    Examples
    --------
    >>> span(-0.01, 0.04, 100, "pp")
    'from −1.00 to +4.00 pp'
    """
    return f"from {scaled(low, scale, sign=True)} to {with_unit(high, scale, unit, sign=True)}"


def percent(level: float) -> str:
    """Write a level.

    Examples
    --------
    >>> percent(0.95), percent(1 - 0.95)
    ('95%', '5%')
    """
    return f"{100 * level:.4g}%"


def frequency(p: float) -> str:
    """Say a chance as how often something happens.

    Examples
    --------
    >>> frequency(0.07), frequency(0.0041), frequency(3e-7), frequency(0.9999)
    ('about 7 times in 100', 'about 4 times in 1,000', 'less than once in a million times', 'nearly always')
    """
    if p > 0.995:
        return "nearly always" if p < 1 else "always"
    for out_of, words in (
        (100, "100"),
        (1000, "1,000"),
        (10_000, "10,000"),
        (100_000, "100,000"),
        (1_000_000, "a million"),
    ):
        times = p * out_of
        if times >= 0.95:
            count = round(times)
            return f"about {'once' if count == 1 else f'{count} times'} in {words}"
    return "less than once in a million times"


def many(ratio: float) -> str:
    """Say how many times as much.

    Examples
    --------
    >>> many(1.07), many(1.6), many(12.3), many(40_000)
    ('about as many', 'about 1.6 times as many', 'about 12 times as many', 'more than a thousand times as many')
    """
    if ratio > 1000:
        return "more than a thousand times as many"
    if ratio < 1.1:
        return "about as many"
    return f"about {number(ratio, 0 if ratio >= 10 else 1)} times as many"


def rounded_up(value: float) -> int:
    """Round a needed number of things up to two digits, since it is not known better.

    Examples
    --------
    >>> rounded_up(1234.0), rounded_up(99.2)
    (1300, 100)
    """
    if value < 100:
        return math.ceil(value)
    unit = 10 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit) * unit


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop.

    Examples
    --------
    >>> sentence("two items differ")
    'Two items differ.'
    """
    stripped = text.strip()
    return stripped if not stripped else f"{stripped[0].upper()}{stripped[1:]}".rstrip(".") + "."


def described(method: str) -> tuple[MethodText, ...]:
    """Return the texts of a method; a method without one says so itself."""
    known = texts_for(method)
    if known:
        return known
    return (
        MethodText(what="it has no description here", how=f"There is no description of the method {method!r} here."),
    )


def sources_of(methods: Iterable[str]) -> list[Block]:
    """List where the methods come from, each source once, by author."""
    found = {source for method in methods for text in texts_for(method) for source in text.sources}
    if not found:
        return []
    return [Heading(text="Where the methods come from", level=2), Bullets(items=tuple(sorted(found)))]


def section(title: str, items: Sequence[str]) -> list[Block]:
    """Return a heading and a list of sentences; nothing where there are none."""
    told = tuple(sentence(item) for item in items if item)
    return [Heading(text=title, level=2), Bullets(items=told)] if told else []
