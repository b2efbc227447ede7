"""Tell what values a metric takes from the scores seen while reading, since harnesses do not declare it."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf


@dataclass(slots=True)
class _Seen:
    """Range of the scores of one metric."""

    low: float = inf
    high: float = -inf
    only_ends: bool = True
    averages: bool = False


class Ranges:
    """Range of the scores seen of each (benchmark, metric), and the row of `metrics` that follows from it.

    A metric of which only 0 and 1 were seen is binary; one with averages of several binary parts is a proportion; one
    inside [0, 1] is bounded by 0 and 1; anything else is continuous and has no known bounds. What was seen is all that
    is known: a scale from 0 to 10 of which only 0 and 1 were given is called binary, and so is, as the narrowest kind, a
    metric without any score. Where other files show more of the metric, the widest kind counts (`schema.metrics`).

    Examples
    --------
    >>> ranges = Ranges()
    >>> for score in (0.0, 1.0, 0.5):
    ...     ranges.add("demo", "match", score)
    >>> row = ranges.row("demo", "match")
    >>> row["kind"], row["low"], row["high"]
    ('bounded', 0.0, 1.0)
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = {}

    def add(self, benchmark: str, metric: str, score: float | None, *, average: bool = False) -> None:
        """Take note of one score; null makes the metric known without saying anything about its range.

        `average` says that the score is an average of several binary outcomes.
        """
        seen = self._seen.setdefault((benchmark, metric), _Seen())
        if score is None:
            return
        seen.low = min(seen.low, score)
        seen.high = max(seen.high, score)
        seen.only_ends = seen.only_ends and score in (0.0, 1.0)
        seen.averages = seen.averages or average

    def ends(self, benchmark: str, metric: str) -> tuple[float, float]:
        """Return the lowest and the highest score seen; inf and -inf where there is none."""
        seen = self._seen.get((benchmark, metric), _Seen())
        return seen.low, seen.high

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(tuple(self._seen))

    def row(
        self,
        benchmark: str,
        metric: str,
        *,
        higher_is_better: bool | None = None,
        primary: bool = False,
        unit: str | None = None,
    ) -> dict[str, object]:
        """Make the row of `metrics`; `higher_is_better` is None where nothing declares it."""
        seen = self._seen.get((benchmark, metric), _Seen())
        empty = seen.low > seen.high
        in_unit = empty or 0.0 <= seen.low <= seen.high <= 1.0
        if not in_unit:
            kind = "continuous"
        elif seen.averages:
            kind = "proportion"
        else:
            kind = "binary" if seen.only_ends else "bounded"
        return {
            "benchmark": benchmark,
            "metric": metric,
            "kind": kind,
            "low": 0.0 if in_unit else None,
            "high": 1.0 if in_unit else None,
            "higher_is_better": higher_is_better,
            "unit": unit or ("proportion" if in_unit and not empty else None),
            "primary": primary,
        }
