"""Published numbers: rows of `aggregates` in which nothing is made up."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec

from evalstats.grammar import comma_list
from evalstats.loaders.column_map import SCALES, Scale
from evalstats.loaders.rows import metric_row, told
from evalstats.loaders.values import ABSENT, as_count, as_number, as_text

LEVEL: Final = 0.95
_WIDTH: Final = r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*%?"
_SINGLE = re.compile(rf"(?:±|\+/-)?\s*{_WIDTH}")
_ENDS_IN_ONE = re.compile(
    rf"[(\[]?\s*{_WIDTH.replace('(', '([-+]?', 1)}\s*(?:,|;|–|-|/|to)\s*{_WIDTH.replace('(', '([-+]?', 1)}\s*[)\]]?"
)
Ends = tuple[float, float]


_NO_MODEL: Final = "{n} numbers have no model and are dropped"
_NO_WIDTH: Final = (
    "{n} intervals or standard errors have no width, as of a baseline whose number is fixed by definition; they "
    "are dropped, the number is kept"
)
_OUTSIDE: Final = "{n} numbers lie outside their own interval; the interval is dropped"


class PublishedRows(msgspec.Struct):
    """Rows read so far, what is worth telling of them, and what was left out.

    `higher_is_better` and `scale` are what is known of all its metrics whose unit it does not say; None where nothing is.
    """

    rows: list[dict[str, object]] = msgspec.field(default_factory=list[dict[str, object]])
    metrics: dict[tuple[str, str], dict[str, object]] = msgspec.field(
        default_factory=dict[tuple[str, str], dict[str, object]]
    )
    unread: Counter[str] = msgspec.field(default_factory=Counter[str])
    notes: list[str] = msgspec.field(default_factory=list[str])
    higher_is_better: bool | None = None
    scale: Scale | None = None
    counts: Counter[str] = msgspec.field(default_factory=Counter[str])
    left_out: list[str] = msgspec.field(default_factory=list[str])

    def add(
        self,
        value: object,
        known: Mapping[str, object],
        *,
        ends: tuple[float, float] | None = None,
        error: object = None,
    ) -> None:
        """Add one number with the interval or standard error that the source gives; an absent number gives no row.

        `known` is what stands beside it under glossary names: model, benchmark and metric, and unit, n, task, ...

        An interval without width, and a standard error of 0, stand for a number that is fixed by definition (a baseline
        against itself): they are left out and counted. So is an interval that the number lies outside of.
        """
        model, benchmark, metric = (as_text(known.get(name)) or "" for name in ("model", "benchmark", "metric"))
        text = (as_text(value) or "").strip()
        if text.lower() in ABSENT:
            return
        number = None if isinstance(value, bool) else as_number(value)
        if number is None:
            self.unread[metric] += 1
            return
        if not model.strip():
            self.counts[_NO_MODEL] += 1
            return
        spread = as_number(error)
        if ends is not None and ends[0] == ends[1]:
            ends = None
            self.counts[_NO_WIDTH] += 1
        elif ends is not None and not ends[0] <= number <= ends[1]:
            ends = None
            self.counts[_OUTSIDE] += 1
        if spread == 0:
            spread = None
            self.counts[_NO_WIDTH] += 1
        elif spread is not None and spread < 0:
            spread = None
            self.unread[f"standard error of {metric}"] += 1
        count = as_count(known.get("n"))
        if count is None and (as_text(known.get("n")) or "").strip().lower() not in ABSENT:
            self.unread[f"number of votes or items behind {metric}"] += 1
        unknown = Scale(low=None, high=None, unit=as_text(known.get("unit")))
        scale = SCALES.get(unknown.unit, unknown) if unknown.unit else self.scale or unknown
        unit = scale.unit
        self.rows.append(
            {
                "std_error": spread,
                "conf_low": None if ends is None else ends[0],
                "conf_high": None if ends is None else ends[1],
                "method": "published",
                "value_raw": text,
                **known,
                "conf_level": None if ends is None else known.get("conf_level", LEVEL),
                "model": model.strip(),
                "estimate": number,
                "n": count,
                "unit": unit,
            }
        )
        kind, better = "continuous" if None in {scale.low, scale.high} else "bounded", self.higher_is_better
        row = metric_row(benchmark, metric, kind, low=scale.low, high=scale.high, unit=unit, higher_is_better=better)
        self.metrics.setdefault((benchmark, metric), row)

    def doubts(self) -> list[str]:
        """Return what a reader should know."""
        found = list(self.notes)
        found += [f"{name} of {n} models could not be read and is dropped" for name, n in self.unread.items()]
        found += told(self.counts)
        rates = [float(str(row["estimate"])) for row in self.rows if row["unit"] == "percent"]
        if rates and (min(rates) < 0 or max(rates) > 100):
            found.append(f"its percentages lie between {min(rates):g} and {max(rates):g}; check their unit")
        elif rates and 0 < max(rates) <= 1:
            found.append(f"its percentages all lie between 0 and {max(rates):g}; they may be proportions")
        keys = Counter(
            tuple(row.get(name) for name in ("model", "benchmark", "task", "scenario", "variant", "metric", "date"))
            for row in self.rows
        )
        twice = [key for key, n in keys.items() if n > 1]
        if twice:
            shown = comma_list(dict.fromkeys(str(key[0]) for key in twice))
            numbers = "1 number stands" if len(twice) == 1 else f"{len(twice):,} numbers stand"
            found.append(f"{numbers} more than once under one name ({shown}); all are kept")
        return found


def certainty_in(cell: object, number: float, *, half: bool = False) -> tuple[float | None, Ends | None]:
    """Read what a cell says of how certain a number is: a standard error, or the ends of an interval; None for neither.

    An interval may be written by its ends or by its distances from the number. A single number, with or without ±, is a
    standard error, or `half` of an interval.

    >>> (
    ...     certainty_in("±1.8", 70.1),
    ...     certainty_in("2", 60.0, half=True),
    ...     certainty_in("+5/-3", 9),
    ...     certainty_in("-3/+5", 9),
    ... )
    ((1.8, None), (None, (58.0, 62.0)), (None, (6.0, 14.0)), (None, (6.0, 14.0)))
    >>> certainty_in("[68.2, 71.9]", 70.1), certainty_in("-1 to 2", 70.0), certainty_in("about 2", 1.0)
    ((None, (68.2, 71.9)), (None, (69.0, 72.0)), (None, None))
    """
    text = (as_text(cell) or "").strip().replace("−", "-")
    if found := _SINGLE.fullmatch(text):
        width = float(found[1])
        return (None, (number - width, number + width)) if half else (width, None)
    if (found := _ENDS_IN_ONE.fullmatch(text)) is None:
        return None, None
    low, high = sorted(float(end) for end in found.groups())
    if low <= 0 <= high and ("+" in text or not low <= number <= high):
        return None, (number + low, number + high)
    return None, (None if "/" in text or low < float(found[1]) else (low, high))


def is_certainty(cell: object) -> bool:
    """Whether a cell says how certain a number is, and is no plain number itself.

    >>> is_certainty("±1.8"), is_certainty("[0.1, 0.2]"), is_certainty("1.8"), is_certainty("3-4 shots")
    (True, True, False, False)
    """
    text = (as_text(cell) or "").strip()
    return (
        (text.startswith(tuple("±+[(")) or "/+" in text)
        and as_number(cell) is None
        and certainty_in(cell, 0.0) != (None, None)
    )


def between(record: Mapping[str, object], low: str, high: str) -> tuple[float, float] | None:
    """Return both ends of an interval that a record holds under two names; None where one is missing.

    >>> between({"p2.5": 1, "p97.5": 3}, "p2.5", "p97.5"), between({"p2.5": 1}, "p2.5", "p97.5")
    ((1.0, 3.0), None)
    """
    ends = as_number(record.get(low)), as_number(record.get(high))
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])
