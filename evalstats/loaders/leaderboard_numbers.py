"""Published numbers of leaderboards as rows of `aggregates`: what is given is kept, what is not given is not made up."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from evalstats.loaders.values import as_number, as_text, as_time

LEVEL: Final = 0.95
_PLUS_MINUS = re.compile(r"\+?\s*(\d+(?:\.\d+)?)\s*/\s*[-−]\s*(\d+(?:\.\d+)?)")
_ENDS = re.compile(r"[(\[]\s*([-+−]?\d+(?:\.\d+)?)\s*,\s*([-+−]?\d+(?:\.\d+)?)\s*[)\]]")
_ABSENT: Final = frozenset({"", "-", "–", "nan", "none", "null", "n/a"})


@dataclass(slots=True)
class Numbers:
    """Rows read so far, and what is worth telling of them.

    `higher_is_better` is what the format says of all its metrics; None where it says nothing.
    """

    rows: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    metrics: dict[tuple[str, str], dict[str, object]] = field(default_factory=dict[tuple[str, str], dict[str, object]])
    unread: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])
    higher_is_better: bool | None = None
    n_without_width: int = 0
    n_outside: int = 0
    n_without_model: int = 0

    def add(
        self,
        value: object,
        *,
        model: str | None,
        benchmark: str,
        metric: str,
        unit: str | None,
        ends: tuple[float, float] | None = None,
        error: object = None,
        n: object = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        """Add one number with the interval or standard error that the source gives; an absent number gives no row.

        An interval without width, and a standard error of 0, stand for a number that is fixed by definition (a baseline
        against itself): they are left out and counted. So is an interval that the number lies outside of.
        """
        text = (as_text(value) or "").strip()
        if text.lower() in _ABSENT:
            return
        number = None if isinstance(value, bool) else as_number(value)
        if number is None:
            self.unread[metric] += 1
            return
        if not model or not model.strip():
            self.n_without_model += 1
            return
        spread = as_number(error)
        if ends is not None and ends[0] == ends[1]:
            ends, self.n_without_width = None, self.n_without_width + 1
        elif ends is not None and not ends[0] <= number <= ends[1]:
            ends, self.n_outside = None, self.n_outside + 1
        if spread == 0:
            spread, self.n_without_width = None, self.n_without_width + 1
        elif spread is not None and spread < 0:
            spread = None
            self.unread[f"standard error of {metric}"] += 1
        count = as_number(n)
        if count is None and (as_text(n) or "").strip().lower() not in _ABSENT:
            self.unread[f"number of votes or items behind {metric}"] += 1
        self.rows.append(
            {
                "model": model.strip(),
                "benchmark": benchmark,
                "metric": metric,
                "estimate": number,
                "std_error": spread,
                "conf_low": None if ends is None else ends[0],
                "conf_high": None if ends is None else ends[1],
                "conf_level": None if ends is None else LEVEL,
                "n": int(count) if count is not None and count >= 0 and count.is_integer() else None,
                "unit": unit,
                "value_raw": text,
                **(more or {}),
            }
        )
        self.metrics.setdefault((benchmark, metric), _metric(benchmark, metric, unit, self.higher_is_better))

    def doubts(self) -> list[str]:
        """Return what a reader should know."""
        found = list(self.notes)
        found += [f"{name} of {n} models could not be read and is left out" for name, n in self.unread.items()]
        if self.n_without_model:
            found.append(f"{self.n_without_model} numbers have no model and are left out")
        if self.n_without_width:
            found.append(
                f"{self.n_without_width} intervals or standard errors have no width, as of a baseline whose number is fixed by "
                "definition; they are left out, the number stays"
            )
        if self.n_outside:
            found.append(f"{self.n_outside} numbers lie outside their own interval; the interval is left out")
        rates = [float(str(row["estimate"])) for row in self.rows if row["unit"] == "percent"]
        if rates and (min(rates) < 0 or max(rates) > 100):
            found.append(f"its percentages lie between {min(rates):g} and {max(rates):g}; check their unit")
        elif rates and 0 < max(rates) <= 1:
            found.append(f"its percentages all lie between 0 and {max(rates):g}; they may be proportions")
        keys = Counter(
            tuple(row.get(name) for name in ("model", "benchmark", "task", "variant", "metric", "date"))
            for row in self.rows
        )
        twice = [key for key, n in keys.items() if n > 1]
        if twice:
            shown = ", ".join(str(key[0]) for key in twice[:5])
            found.append(f"{len(twice)} numbers stand more than once under one name ({shown}); all are kept")
        return found


def _metric(benchmark: str, metric: str, unit: str | None, better: bool | None) -> dict[str, object]:  # noqa: FBT001 - a value of the table
    bounds = {"percent": (0.0, 100.0), "proportion": (0.0, 1.0)}.get(unit or "", (None, None))
    return {
        "benchmark": benchmark,
        "metric": metric,
        "kind": "continuous" if bounds[0] is None else "bounded",
        "low": bounds[0],
        "high": bounds[1],
        "higher_is_better": better,
        "unit": unit,
    }


def plus_minus(value: object, number: object) -> tuple[float, float] | None:
    """Read an interval written as its distances from the number, the upper first: "+5/-3".

    Examples
    --------
    >>> plus_minus("+5/-3", 1470), plus_minus("5", 1470)
    ((1467.0, 1475.0), None)
    """
    found = _PLUS_MINUS.fullmatch((as_text(value) or "").strip())
    centre = as_number(number)
    if found is None or centre is None:
        return None
    return centre - float(found[2]), centre + float(found[1])


def offsets(value: object, number: object) -> tuple[float, float] | None:
    """Read an interval written as both distances from the number, the lower first and signed: "(-1.88, +1.97)".

    Examples
    --------
    >>> offsets("(-2.0, +1.5)", 50), offsets("(48, 51)", 50)
    ((48.0, 51.5), None)
    """
    found = _ENDS.fullmatch((as_text(value) or "").strip())
    centre = as_number(number)
    if found is None or centre is None:
        return None
    low, high = (float(end.replace("−", "-")) for end in found.groups())
    return (centre + low, centre + high) if low <= 0 <= high else None


def between(record: Mapping[str, object], low: str, high: str) -> tuple[float, float] | None:
    """Return both ends of an interval that a record holds under two names; None where one is missing.

    Examples
    --------
    >>> between({"p2.5": 1, "p97.5": 3}, "p2.5", "p97.5"), between({"p2.5": 1}, "p2.5", "p97.5")
    ((1.0, 3.0), None)
    """
    ends = as_number(record.get(low)), as_number(record.get(high))
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def day_of(value: object) -> date | None:
    """Return the day of a time, in UTC.

    Examples
    --------
    >>> day_of("2024-07-31 23:07:07").isoformat(), day_of(1770784106.0).isoformat(), day_of("latest")
    ('2024-07-31', '2026-02-11', None)
    """
    time = as_time(value)
    return None if time is None else time.date()
