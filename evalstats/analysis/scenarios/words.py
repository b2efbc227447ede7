"""Small words that every sentence and table about scenarios shares: numbers in their unit, names in short, who breaks."""

import math
import re
from collections.abc import Iterable, Sequence

from evalstats.analysis.scenarios.result import DropRow, MeanRow, ScenarioModel
from evalstats.document.numbers import interval, p_value, scaled

AVERAGE = "average"
LISTED = 4
_CODE = 6
_LITTLE = frozenset({"a", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"})


def digits_of(result: ScenarioModel) -> int:
    """Return how many decimals scores and drops get: those that show the first digit of a usual standard error.

    At least one, as everywhere.
    """
    errors = sorted(row.std_error * result.scale for row in (*result.cells, *result.drops) if row.std_error)
    return 1 if not errors else min(max(1, -math.floor(math.log10(errors[len(errors) // 2]))), 6)


def score_text(value: float | None, result: ScenarioModel) -> str:
    """Write a score, with a percent sign where it is a percentage."""
    percent = "%" if result.score_unit == "%" and value is not None else ""
    return f"{scaled(value, result.scale, digits_of(result))}{percent}"


def change_text(value: float | None, result: ScenarioModel, *, unit: bool = True) -> str:
    """Write a difference of scores with its sign."""
    shown = scaled(value, result.scale, digits_of(result), sign=True)
    return f"{shown} {result.unit}".rstrip() if unit else shown


def ends_text(low: float | None, high: float | None, result: ScenarioModel, *, sign: bool = False) -> str:
    """Write an interval of scores or of differences."""
    return interval(low, high, result.scale, digits_of(result), sign=sign)


def level_text(result: ScenarioModel) -> str:
    """Write the level of the intervals."""
    return f"{100 * result.conf_level:g}%"


def p_text(p: float | None) -> str:
    """Write a p-value after the letter p."""
    shown = p_value(p)
    return f"p {shown}" if shown.startswith(("<", ">")) else f"p = {shown}"


def of(name: str, unit: str) -> str:
    """Write the heading of a column with its unit."""
    return f"{name} ({unit})" if unit else name


def capital(text: str) -> str:
    """Begin with a capital."""
    return text[:1].upper() + text[1:]


def stopped(text: str) -> str:
    """End with one full stop.

    Examples
    --------
    >>> stopped("two items differ"), stopped("two items differ.")
    ('two items differ.', 'two items differ.')
    """
    return text.rstrip(" .;") + "."


def some(names: Sequence[str], most: int = LISTED) -> str:
    """Write some names; of many the first ones and how many more there are.

    Examples
    --------
    >>> some(["a"]), some(["a", "b", "c"]), some("abcdefg")
    ('a', 'a, b and c', 'a, b, c, d and 3 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def against(result: ScenarioModel, *, several: bool = False) -> str:
    """Say what a scenario is set against."""
    if result.reference != AVERAGE:
        return f"in {result.reference}"
    return f"on average in {'their' if several else 'its'} other scenarios"


def worse(result: ScenarioModel, difference: float) -> bool:
    """Whether a difference of scores is one to the worse."""
    return difference < 0 if result.higher_is_better else difference > 0


def worst_first(rows: Iterable[DropRow], result: ScenarioModel) -> list[DropRow]:
    """Order drops, the largest one to the worse first; rows without an estimate come last."""
    sign = 1.0 if result.higher_is_better else -1.0
    return sorted(rows, key=lambda row: math.inf if row.estimate is None else sign * row.estimate)


def best_mean_first(rows: Iterable[MeanRow], result: ScenarioModel) -> list[MeanRow]:
    """Order means, the best first; rows without an estimate come last."""
    sign = -1.0 if result.higher_is_better else 1.0
    return sorted(rows, key=lambda row: math.inf if row.estimate is None else sign * row.estimate)


def worse_end(row: DropRow, result: ScenarioModel) -> float | None:
    """Return the end of a row's interval that lies farther to the worse."""
    return row.conf_low if result.higher_is_better else row.conf_high


def judged(result: ScenarioModel) -> list[DropRow]:
    """Return the rows that have a verdict other than "invalid"."""
    return [row for row in result.drops if row.verdict != "invalid"]


def short_codes(names: Sequence[str], most: int = _CODE) -> tuple[str, ...]:
    """Return a short code for each name, no two alike; a name of at most `most` characters is its own code.

    Examples
    --------
    >>> short_codes(["ideal", "goal_switching", "goal swimming", "underspecification", "the end of a session"])
    ('ideal', 'GoaSwi', 'GoaSw2', 'Unders', 'EndSes')
    """
    taken = {name for name in names if len(name) <= most}
    found: list[str] = []
    for name in names:
        code = name if len(name) <= most else _abbreviated(name, most)
        if len(name) > most:
            stem, n = code, 1
            while code in taken:
                n += 1
                code = f"{stem[: most - len(str(n))]}{n}"
        taken.add(code)
        found.append(code)
    return tuple(found)


def _abbreviated(name: str, most: int) -> str:
    words = [word for word in re.split(r"[^\w]+|_+", name) if word]
    words = [word for word in words if word.lower() not in _LITTLE] or words or [name]
    each = max(1, most // min(len(words), most))
    code = "".join(capital(word[:each]) for word in words)[:most]
    return code or name[:most]
